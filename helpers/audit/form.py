"""What every audit leaves in its folder: a page, tables as CSV, and findings.json."""

import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from helpers import store

SCHEMA = 1  # of findings.json
LIBRARIES = ("duckdb", "numpy", "pandas", "scipy")
COLUMNS = ("finding", "name", "measure", "by", "value", "low", "high", "p", "verdict", "sentence")
QUESTIONS = {
    "pr": "demographic parity, disparate impact",
    "tpr": "equal opportunity; with fpr equalized odds",
    "fpr": "equalized odds, with tpr",
    "ppv": "predictive parity",
    "calibration": "calibration within groups",
    "acc": "accuracy equality",
}
"""What the gap in a measure is usually called."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet begins a formula


def defused(text):
    """A text that no spreadsheet takes for a formula; anything else as it is."""
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text


def csv(table: pd.DataFrame) -> str:
    """A table as CSV, its texts and the names of its columns defused."""
    texts = table.select_dtypes(exclude="number").columns
    found = table.assign(**{name: table[name].map(defused) for name in texts})
    return found.rename(columns=defused).to_csv(index=False)


def write(
    folder: Path, page: str, tables: Mapping[str, pd.DataFrame], findings: Iterable, **about
) -> Path:
    """Write page.html, a CSV a table, and findings.json: `findings` (by `COLUMNS`), what they are
    `about`, and the versions that made them."""
    for name, table in tables.items():
        store.write_text(folder / f"{name}.csv", csv(table))
    rows = pd.DataFrame([*findings], columns=COLUMNS).astype(object)
    found = rows.where(rows.notna(), None).to_dict("records")
    versions = {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
    record = {"schema": SCHEMA, **about, "versions": versions, "findings": found}
    store.write_text(folder / "findings.json", json.dumps(record, indent=1, default=str))
    store.write_text(folder / "page.html", page)
    return folder
