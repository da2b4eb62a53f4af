"""``python -m helpers.audit.table [TABLE] ...``: run notebook 13 on a table, into a folder."""

import shlex
import sys
from pathlib import Path

import papermill

from helpers import store

NOTEBOOK = "13_audit_your_table"


def main(arguments: list[str]) -> None:
    """Run the notebook; what it refuses is one sentence, and what stood there before is kept."""
    table, options = (arguments[0], arguments[1:]) if arguments else (None, [])
    name = "sample" if table is None else Path(table).stem or "table"
    output = f"audit/{''.join(c if c.isalnum() or c in '.-' else '_' for c in name)}"
    (folder := store.outputs() / output).mkdir(parents=True, exist_ok=True)
    given = {
        "table": table and str(Path(table).resolve()),
        "options": shlex.join(options),
        "output": output,
    }
    source, ran = store.root() / "notebooks" / f"{NOTEBOOK}.ipynb", folder / "running.ipynb"
    try:
        papermill.execute_notebook(source, ran, given, progress_bar=False, log_output=False)
    except papermill.PapermillExecutionError as error:
        ran.unlink(missing_ok=True)
        raise SystemExit(f"audit: {error.evalue}") from None
    ran.replace(folder / "notebook.ipynb")
    print(f"open {folder / 'page.html'}")


if __name__ == "__main__":
    main(sys.argv[1:])
