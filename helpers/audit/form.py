"""What every audit leaves in its folder: a page, tables as CSV, and findings.json."""

import io
import json
import os
import platform
import re
import shlex
import time
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import run_lesson, store

SCHEMA = 1  # of findings.json
NOTEBOOKS = {"table": "13_audit_your_table", "model": "11_audit_your_model"}
NOTEBOOKS |= {"detector": "12_audit_your_detector"}
OPTIONS = {"network": "model", "photographs": "images", "places": "contexts"}
OPTIONS = {
    "model": OPTIONS | {"group_table": "groups", "class_table": "classes"},
    "table": {
        "roles": "map",
        "groups": "sensitive",
        "second": "beside",
        "limit": "ratio",
    },
    "detector": {},
}
"""How a parameter is called on the command line, where that is another word."""
LIBRARIES = ("duckdb", "numpy", "pandas", "scipy")
COLUMNS = (
    "finding",
    "name",
    "measure",
    "by",
    "value",
    "low",
    "high",
    "p",
    "verdict",
    "sentence",
)
OLD = "<p><b>A later audit began and has not ended. This page is of an earlier one.</b></p>"
REFUSALS = "ValueError", "ParameterError", "DetectionDataError", "UnreadableArtifact"
MEMORY = "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
"""Settings of glibc, read when a process begins: freed memory is kept for the next large array."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet begins a formula

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; font-size: 1.5rem; } h2 { margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0 1rem; display: block; overflow-x: auto; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; border-bottom: 1px solid #ddd; }
svg { max-width: 100%; height: auto; } figure { margin: 1rem 0; } figcaption { color: #555; }"""


def page(title: str, headline: str, parts: Iterable[tuple]) -> str:
    """One HTML file that needs no other, from a headline and `parts` (heading, content, ...). A
    text is a paragraph, a list of texts a list, a DataFrame a table, and (figure, alternative
    text) a picture. What is empty is left out, and every text is escaped."""
    body = [f"<h1>{escape(headline)}</h1>"]
    for heading, *contents in parts:
        if full := [one for one in contents if one is not None and len(one)]:
            body += [f"<h2>{escape(heading)}</h2>", *map(_element, full)]
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>'
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        f"<head>{head}</head>",
        "<body>",
        *body,
    ]
    return "\n".join([*lines, "</body>", "</html>", ""])


def _element(content: Any) -> str:
    if isinstance(content, pd.DataFrame):
        with pd.option_context("display.max_colwidth", None):
            return content.to_html(
                index=False, border=0, float_format=_number, na_rep="–"
            )
    if isinstance(content, list):
        return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in content)}</ul>"
    if isinstance(content, tuple):
        text, (figure, told) = io.StringIO(), content
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
        picture = text.getvalue()[text.getvalue().index("<svg") :]
        picture = f'<div role="img" aria-label="{escape(told)}">{picture}</div>'
        return f"<figure>{picture}<figcaption>{escape(told)}</figcaption></figure>"
    return f"<p>{escape(content)}</p>"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def defused(text):
    """A text that no spreadsheet takes for a formula; anything else as it is."""
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text


def csv(table: pd.DataFrame) -> str:
    """A table as CSV, its texts and the names of its columns defused."""
    texts = table.select_dtypes(exclude="number").columns
    safe = table.assign(**{name: table[name].map(defused) for name in texts})
    return safe.rename(columns=defused).to_csv(index=False)


def write(
    folder: Path,
    page: str,
    tables: Mapping[str, pd.DataFrame],
    findings: Iterable,
    **about,
) -> Path:
    """Write page.html, a CSV a table, and findings.json: `findings` (by `COLUMNS`), what they are
    `about`, and the versions that made them."""
    for old in {*folder.glob("*.csv")} - {folder / f"{name}.csv" for name in tables}:
        old.unlink()  # of an earlier audit
    for name, table in tables.items():
        store.write_text(folder / f"{name}.csv", csv(table))
    rows = pd.DataFrame([*findings], columns=COLUMNS).astype(object)
    records = rows.where(rows.notna(), None).to_dict("records")
    versions = {"python": platform.python_version()} | {
        name: version(name) for name in LIBRARIES
    }
    record = {"schema": SCHEMA, **about, "versions": versions, "findings": records}
    store.write_text(
        folder / "findings.json", json.dumps(record, indent=1, default=str)
    )
    store.write_text(folder / "page.html", page)
    return folder


def run(kind: str, name: str, values: Mapping[str, Any]) -> None:
    """Run an audit's notebook with these parameters into ``audit/NAME``; a bar names the heading
    that is reached. What it refuses is one sentence, another error is named with its cell, and a
    page of before says that it is one until there is another."""
    store.writable_home()
    import papermill  # takes a second, and notebooks have no need of it

    os.environ |= {
        "TQDM_DISABLE": "1",
        "SUITE_AUDIT": "1",
    }  # of the kernel, which begins here
    os.environ.setdefault("GLIBC_TUNABLES", MEMORY)
    usual = re.sub(r"[^\w.-]", "_", name).lstrip(".-") or kind
    values, notebook = {"output": f"audit/{usual}", **values}, NOTEBOOKS[kind]
    (folder := store.outputs() / values["output"]).mkdir(parents=True, exist_ok=True)
    source, ran = (
        store.root() / "notebooks" / f"{notebook}.ipynb",
        folder / "running.ipynb",
    )
    page = folder / "page.html"
    if earlier := page.exists():
        text = page.read_text(encoding="utf-8").replace(f"\n{OLD}", "")
        store.write_text(page, text.replace("<body>", f"<body>\n{OLD}", 1))
    began = time.time()
    try:
        with store.progress(total=len(headings := steps(source)), unit="cell") as bar:

            def told(cell, cell_index):
                bar.set_description(headings.get(cell.id, "begins"), refresh=False)
                bar.update(cell_index - bar.n)

            with run_lesson.exercises_may_fail(ran):
                papermill.execute_notebook(
                    source, ran, values, progress_bar=False, on_cell_start=told
                )
        ran.replace(folder / "notebook.ipynb")
        for old in folder.glob(
            f"[ft]*/{notebook}/*"
        ):  # figures and tables of an earlier audit
            if old.stat().st_mtime < began - 2:  # as coarsely as some disks keep time
                old.unlink()
    except papermill.PapermillExecutionError as error:
        where = f" ({error.ename}, in cell {error.exec_count} of {notebook})"
        where *= error.ename not in REFUSALS
        where += ' (to make, as ASK="...")' * ("--" in error.evalue)
        where += f"\n{page} is the page of an earlier audit." * earlier
        raise SystemExit(f"audit: {error.evalue}{where}") from None
    finally:
        ran.unlink(missing_ok=True)
    print(f"open {page}")


def steps(notebook: Path) -> dict[str, str]:
    """Under which heading each cell of a notebook stands."""
    headings, heading = {}, "begins"
    for cell in json.loads(notebook.read_text())["cells"]:
        text = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
        heading = [heading, *re.findall("^## (.+)", text, re.MULTILINE)][-1]
        headings[cell["id"]] = heading
    return headings


def command(values: Mapping[str, Any], kind: str) -> str:
    """The command that makes an audit again, of the notebook's parameters that were given; where
    nothing was given: that of the sample."""
    values = {name: value for name, value in values.items() if value}
    if isinstance(values.get("positive"), Mapping):
        values["positive"] = [
            f"{column}={','.join([one] if isinstance(one, str) else one)}"
            for column, one in values["positive"].items()
        ]
    words = [] if values.keys() & {"table", "network", "labels"} else ["--sample", kind]
    for name, value in values.items():
        one = value if isinstance(value, list) else [value]
        if name == "positive":
            words += [word for text in one for word in ("--positive", str(text))]
            continue
        texts = [
            f'"{text}"' if "," in str(text) and one is value else str(text)
            for text in one
        ]
        texts = texts if name == "roles" else [",".join(texts)]
        words += [f"--{OPTIONS[kind].get(name, name)}", *texts]
    return shlex.join(["visual-bias", "audit", *words])
