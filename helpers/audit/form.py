"""Write the report of an audit as an HTML page, tables as CSV, and findings as JSON."""

import io
import json
import platform
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import store

SCHEMA = 2
"""The version of the form of findings.json."""
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
# characters with which a spreadsheet begins a formula
FORMULA = ("=", "+", "-", "@", "\t", "\r")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }}
h1 {{ line-height: 1.2; font-size: 1.5rem; }} h2 {{ margin-top: 2rem; }}
table {{ border-collapse: collapse; margin: .5rem 0 1rem; display: block;
  overflow-x: auto; }}
th, td {{ padding: .25rem .8rem .25rem 0; text-align: left;
  border-bottom: 1px solid #ddd; }}
svg {{ max-width: 100%; height: auto; }} figure {{ margin: 1rem 0; }}
figcaption {{ color: #555; }}
</style>
</head>
<body>
<h1>{headline}</h1>
{body}
</body>
</html>
"""


def page(title: str, headline: str, parts: Iterable[tuple]) -> str:
    """Write a report as one HTML file that needs no other.

    Parameters
    ----------
    title, headline : str
    parts : iterable of tuple
        A heading and its contents. A text is a paragraph, a list of texts a list, a
        DataFrame a table, and (figure, caption) a picture. What is empty is left out.

    Returns
    -------
    str
        HTML in which every text is escaped.
    """
    body = []
    for heading, *contents in parts:
        filled = [part for part in contents if part is not None and len(part)]
        if filled:
            body.append(f"<h2>{escape(heading)}</h2>")
            body += [_as_html(part) for part in filled]
    return PAGE.format(
        title=escape(title), headline=escape(headline), body="\n".join(body)
    )


def _as_html(content: Any) -> str:
    """Write a paragraph, a list, a table or a picture as HTML."""
    if isinstance(content, pd.DataFrame):
        with pd.option_context("display.max_colwidth", None):
            return content.to_html(
                index=False, border=0, float_format=_format_number, na_rep="–"
            )
    if isinstance(content, list):
        items = [f"<li>{escape(text)}</li>" for text in content]
        return f"<ul>{''.join(items)}</ul>"
    if isinstance(content, tuple):
        figure, caption = content
        file = io.StringIO()
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        svg = file.getvalue()
        picture = svg[svg.index("<svg") :]
        return (
            f'<figure><div role="img" aria-label="{escape(caption)}">{picture}</div>'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
    return f"<p>{escape(content)}</p>"


def _format_number(value: float) -> str:
    """Format a number with three digits, or without decimals if it is large."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _without_formula(text: Any) -> Any:
    """Quote a text that a spreadsheet would take for a formula."""
    if isinstance(text, str) and text.startswith(FORMULA):
        return f"'{text}"
    return text


def as_csv(table: pd.DataFrame) -> str:
    """Write a table as CSV without formulas of spreadsheets."""
    safe = table.copy()
    for name in table.select_dtypes(exclude="number"):
        safe[name] = table[name].map(_without_formula)
    return safe.rename(columns=_without_formula).to_csv(index=False)


def write(
    folder: str | Path,
    page: str,
    tables: Mapping[str, pd.DataFrame],
    findings: Iterable[Mapping],
    **about,
) -> Path:
    """Write page.html, one CSV per table, and findings.json.

    Parameters
    ----------
    folder : path
        CSVs of an earlier audit in it are deleted.
    page : str
        What `page` returns.
    tables : mapping of str to pandas.DataFrame
    findings : iterable of mapping
        With the keys of `COLUMNS`.
    **about
        Further fields of findings.json.
    """
    folder = Path(folder)
    names = {f"{name}.csv" for name in tables}
    for earlier in folder.glob("*.csv"):
        if earlier.name not in names:
            earlier.unlink()
    for name, table in tables.items():
        store.write_text(folder / f"{name}.csv", as_csv(table))
    rows = pd.DataFrame([*findings], columns=COLUMNS).astype(object)
    versions = {name: version(name) for name in LIBRARIES}
    versions["python"] = platform.python_version()
    record = {
        "schema": SCHEMA,
        **about,
        "versions": versions,
        "findings": rows.where(rows.notna(), None).to_dict("records"),
    }
    text = json.dumps(record, indent=1, default=str)
    store.write_text(folder / "findings.json", text)
    store.write_text(folder / "page.html", page)
    return folder


def command(values: Mapping[str, Any], audit: str) -> str:
    """Return the command that makes an audit again.

    Parameters
    ----------
    values : mapping
        The parameters of the lesson that were given.
    audit : {"table", "detector", "model"}
    """
    words = ["make", f"audit-{audit}"]
    for name, value in values.items():
        if value is None or name == "output":
            continue
        if isinstance(value, Mapping):
            value = [f"{key}={text}" for key, texts in value.items() for text in texts]
        words.append(f"{name.upper()}={_joined(value)}")
    return shlex.join(words)


def _joined(value: Any) -> str:
    """Join a list by commas."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
