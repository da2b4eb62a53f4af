"""Judged claims as people read them, alike in JupyterLab, in the book and as text."""

import html
import math
from collections.abc import Mapping
from pathlib import Path

import jinja2
import pandas as pd

from helpers.suite import claims

BOOK = (
    Path(__file__).parent / "book"
)  # the pages' settings, templates, style and script
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=lambda name: name.endswith(".html.jinja"),  # the other is Markdown
    trim_blocks=True,
)
MANY = 3  # claims without a counterpart for one reason that still have a line each
# sign and ground of a verdict: people who are colour-blind tell blue from orange
RIGHT, WRONG, NOT_COUNTED = ("✓", "#005b8f"), ("✗", "#a34400"), ("–", "#5c5c5c")
LOOKS = {
    **dict.fromkeys((claims.AGREES, claims.HOLDS), RIGHT),
    **dict.fromkeys((claims.DIFFERS, claims.CONTRADICTS, claims.FAILS), WRONG),
    **dict.fromkeys((claims.TOLD, claims.NO_COUNTERPART), NOT_COUNTED),
    claims.UNDECIDED: ("?", "#5c5c5c"),
    claims.BLIND: ("=", "#7a3b69"),
}
COUNTED = [verdict for verdict, look in LOOKS.items() if look != NOT_COUNTED]


def sentence(row: Mapping) -> str:
    """A judged claim with our number, the paper's, and in how many seeds it came out so."""
    if math.isnan(row["measured"]):
        return row["claim"] + (f" ({row['note']})" if row["note"] else "")
    paper = f"the paper: {row['paper']}" if row["paper"] else ""
    measured = f"{row['claim']}: {ours(row)} {unit(row)}"
    return "; ".join(part for part in (measured, paper, row["seeds"]) if part)


def markdown(row: Mapping) -> str:
    """A verdict and its sentence, for the pages."""
    if row["verdict"] == claims.BLIND:  # it is said of what stands before it
        return f"{html.escape(sentence(row), quote=False)}: **{claims.BLIND}**."
    return f"**{row['verdict']}**: {html.escape(sentence(row), quote=False)}."


def text(judged: pd.DataFrame) -> str:
    """The verdicts and their sentences as plain text, a line each."""
    return "\n".join(f"{row['verdict']}: {sentence(row)}." for row in folded(judged))


def page(judged: pd.DataFrame) -> str:
    """The findings as HTML: a list that wraps where there is little room."""
    rows = [
        row | {"unit": unit(row), "details": _details(row)} for row in folded(judged)
    ]
    rows = [
        row | {"ours": "" if math.isnan(row["measured"]) else ours(row)} for row in rows
    ]
    return TEMPLATES.get_template("findings.html.jinja").render(rows=rows, looks=LOOKS)


def folded(judged: pd.DataFrame) -> list[dict]:
    """The rows of `judged`; of many without a counterpart for one reason, the first says it."""
    nowhere = judged["verdict"] == claims.NO_COUNTERPART
    alike = (
        judged.groupby(["verdict", "note"])["id"].transform("size").where(nowhere, 1)
    )
    many = alike > MANY
    counted = alike.map("{} claims of the paper, such as: ".format).where(many, "")
    table = judged.assign(claim=counted + judged["claim"])
    return table[~many | ~judged.duplicated(["verdict", "note"])].to_dict("records")


def _details(row: Mapping) -> list[tuple[str, str]]:
    """What stands behind a verdict: names and texts, those that there are."""
    details = {"claimed by": row["where"], "cases in the paper": row["cases"]}
    if not math.isnan(row["measured"]):
        p = "" if math.isnan(row["p"]) else f", p = {row['p']:.2g}"
        side = "equal to" if row["side"] == "equal" else row["side"]
        details["measured"] = row["unit"]
        details["right where it is"] = f"{side} {row['bound']:g}{p}"
        details["in networks that cannot know"] = row["reference"]
        details["note"] = row["note"]
    return [(name, told) for name, told in details.items() if told]


def ours(row: Mapping) -> str:
    """What was measured, with its interval."""
    return claims.interval(row["measured"], row["low"], row["high"])


def unit(row: Mapping) -> str:
    """The unit of a quantity, without how it is measured, which follows after a comma."""
    return row["unit"].replace(";", ",").split(", ")[0]
