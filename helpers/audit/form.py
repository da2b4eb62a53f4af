"""Write the report of an audit as an HTML page, tables as CSV, and findings as JSON."""

import io
import json
import platform
import shlex
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment
from matplotlib.figure import Figure

from helpers import store

LIBRARIES = ("duckdb", "numpy", "pandas", "scipy")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; font-size: 1.5rem; } h2 { margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0 1rem; display: block;
  overflow-x: auto; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left;
  border-bottom: 1px solid #ddd; }
svg { max-width: 100%; height: auto; } figure { margin: 1rem 0; }
figcaption { color: #555; }
</style>
</head>
<body>
<h1>{{ headline }}</h1>
{% for heading, contents in parts if contents %}
<h2>{{ heading }}</h2>
{% for content in contents %}
{% if content is string %}
<p>{{ content }}</p>
{% elif content.to_html %}
{{ content.to_html(index=False, border=0, na_rep="–", float_format=number) | safe }}
{% elif content[0].savefig %}
<figure><div role="img" aria-label="{{ content[1] }}">{{ svg(content[0]) | safe }}</div>
<figcaption>{{ content[1] }}</figcaption></figure>
{% else %}
<ul>{% for item in content %}<li>{{ item }}</li>{% endfor %}</ul>
{% endif %}
{% endfor %}
{% endfor %}
</body>
</html>
"""
TEMPLATE = Environment(autoescape=True, trim_blocks=True).from_string(PAGE)


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
    filled = []
    for heading, *contents in parts:
        contents = [part for part in contents if part is not None and len(part)]
        filled.append((heading, contents))
    with pd.option_context("display.max_colwidth", None):
        return TEMPLATE.render(
            title=title, headline=headline, parts=filled, svg=_svg, number=_number
        )


def _svg(figure: Figure) -> str:
    """Draw a figure as an element of an HTML page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    _, tag, picture = file.getvalue().partition("<svg")
    return tag + picture


def _number(value: float) -> str:
    """Format a number with three digits, or without decimals if it is large."""
    if 0 < value < 0.001:
        return "< 0.001"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def write(
    folder: str | Path,
    page: str,
    tables: Mapping[str, pd.DataFrame],
    findings: pd.DataFrame | list[dict],
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
    findings : pandas.DataFrame or list of dict
        One row per finding.
    **about
        Further fields of findings.json.
    """
    folder = Path(folder)
    for earlier in folder.glob("*.csv"):
        earlier.unlink()
    for name, table in tables.items():
        store.write_text(folder / f"{name}.csv", table.to_csv(index=False))
    versions = {name: version(name) for name in LIBRARIES}
    findings = pd.DataFrame(findings)
    with_null = findings.to_json(orient="records", double_precision=15)  # for NaN
    record = {
        **about,
        "versions": {"python": platform.python_version(), **versions},
        "findings": json.loads(with_null),
    }
    store.write_text(
        folder / "findings.json", json.dumps(record, indent=1, default=str)
    )
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
        if isinstance(value, Mapping):
            value = [f"{key}={text}" for key, texts in value.items() for text in texts]
        if isinstance(value, list):
            value = ",".join(map(str, value))
        if name != "output":
            words.append(f"{name.upper()}={value}")
    return shlex.join(words)
