"""``python -m helpers.audit.table [TABLE] ...``: run notebook 13 on a table, into a folder."""

import contextlib
import os
import shlex
import sys
from pathlib import Path

import papermill

from helpers import store
from helpers.audit import options

NOTEBOOK = "13_audit_your_table"
OLD = "<p><b>The latest audit did not succeed. This page is of an earlier one.</b></p>"


def main(arguments: list[str]) -> None:
    """Run the notebook; what it refuses is one sentence, and a page of before says that it is."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    table = options.parser().parse_args(arguments).table
    name = "sample" if table is None else Path(table).stem or "table"
    output = f"audit/{''.join(c if c.isalnum() or c in '.-' else '_' for c in name)}"
    (folder := store.outputs() / output).mkdir(parents=True, exist_ok=True)
    path = table and str(Path(table).resolve())
    rest = shlex.join(one for one in arguments if one != table)
    values = {"table": path, "options": rest, "output": output}
    source, ran = store.root() / "notebooks" / f"{NOTEBOOK}.ipynb", folder / "running.ipynb"
    try:
        papermill.execute_notebook(source, ran, values, progress_bar=False, log_output=False)
        ran.replace(folder / "notebook.ipynb")
    except papermill.PapermillExecutionError as error:
        hint = ' (to make, as ASK="...")' if "--" in error.evalue else ""
        page = folder / "page.html"
        old = f"\n{page} is the page of an earlier table." if _outdated(page) else ""
        raise SystemExit(f"audit: {error.evalue}{hint}{old}") from None
    except BaseException:
        _outdated(folder / "page.html")
        raise
    finally:
        ran.unlink(missing_ok=True)
    print(f"open {folder / 'page.html'}")


def _outdated(page: Path) -> bool:
    """Say in a page of before that it is one."""
    with contextlib.suppress(OSError, UnicodeError):
        text = page.read_text(encoding="utf-8")
        if OLD not in text:
            store.write_text(page, text.replace("<body>", f"<body>\n{OLD}", 1))
    return page.exists()


if __name__ == "__main__":
    main(sys.argv[1:])
