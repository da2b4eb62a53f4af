"""Run papermill so that an error in an exercise does not count as a failure.

Papermill goes on after an error in a cell with the tag ``raises-exception``, but
reports the error at the end. ``python -m helpers.run_lesson`` takes papermill's
arguments. The last argument is the executed notebook.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

ERROR_BANNER = "papermill-error-cell-tag"  # papermill's tag of the cells that it adds


@contextmanager
def exercises_may_fail(executed_notebook: Path | str) -> Iterator[None]:
    """Ignore papermill's error if only cells tagged ``raises-exception`` failed."""
    from papermill.exceptions import PapermillExecutionError  # takes a second

    try:
        yield
    except PapermillExecutionError:
        notebook = nbformat.read(executed_notebook, as_version=4)
        if any(_stops_notebook(cell) for cell in notebook.cells):
            raise
        notebook.cells = [
            cell for cell in notebook.cells if ERROR_BANNER not in _tags(cell)
        ]
        nbformat.write(notebook, executed_notebook)


def _stops_notebook(cell: nbformat.NotebookNode) -> bool:
    """Return whether a cell failed and has no tag ``raises-exception``."""
    outputs = cell.get("outputs", [])
    failed = any(output.output_type == "error" for output in outputs)
    return failed and "raises-exception" not in _tags(cell)


def _tags(cell: nbformat.NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def main() -> None:
    """Call papermill with the arguments of this command."""
    from papermill.cli import papermill
    from papermill.exceptions import PapermillExecutionError

    arguments = sys.argv[1:]
    executed_notebook = arguments[-1]
    try:
        with exercises_may_fail(executed_notebook):
            papermill(arguments, standalone_mode=False)
    except PapermillExecutionError as error:
        print(f"{error.ename}: {error.evalue}", file=sys.stderr)
        sys.exit(f"The cell that stopped is in {executed_notebook}.")


if __name__ == "__main__":
    main()
