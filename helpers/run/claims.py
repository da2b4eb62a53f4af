"""Claims and their verdicts: what a paper says, what was measured here, and how the two compare.

Every claim is a row of ``data/paper/claims.csv`` with an id, the side and the bound by which it is
judged, and the printed value. A paper's room returns estimates by the claim's id; :func:`judge`
puts the two together. Nothing reads a claim's sentence.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from helpers.run import project

TABLE = project.root() / "data" / "paper" / "claims.csv"
AGREES, CONTRADICTS = "agrees with the paper", "contradicts the paper"
HOLDS, FAILS = "holds", "does not hold"  # the same of a claim that this suite makes
UNDECIDED, NO_COUNTERPART = "undecided", "no counterpart here"
SUITE, OURS = "suite", "this suite"  # in the table, and as people read it
LEVEL = 0.05  # of the p values
MANY = 3  # claims without a counterpart for one reason that still have a line each


@dataclass(frozen=True)
class Estimate:
    """What was measured for one claim.

    Attributes
    ----------
    claim : str
        The claim's id.
    interval : tuple of three float, optional
        Value, lower and upper end of its interval, in the claim's quantity. None or NaN where this
        run cannot measure it; `note` then says why.
    of : dict
        What the claim's sentence is about, where it is made of several things: it fills the
        sentence's ``{names}`` and tells the estimates of one claim apart.
    p : float, optional
        A p value, corrected for multiplicity. Where there is one it decides, with the side on which
        the value lies; the interval is only shown.
    note : str
        What the reader must know of this value.
    """

    claim: str
    interval: tuple[float, float, float] | None = None
    of: Mapping[str, object] = field(default_factory=dict)
    p: float | None = None
    note: str = ""


@cache
def read(path: Path = TABLE) -> pd.DataFrame:
    """The claims, indexed by `id`.

    Returns
    -------
    DataFrame
        notebook : str
            What the name of the notebook that judges it begins with, such as 03 or 03b.
        by : {"contexts", "focus", "icon2", "blocks", "suite"}
            The paper that makes the claim, or this suite.
        section : str
            Section, figure or table of the paper.
        claim, quantity : str
            The claim in our words, and what is measured, with its unit.
        side : {"above", "below", "equal", ""}
            Where the quantity must lie from `bound` for the claim to be right; empty for a claim
            that no run measures.
        bound : float
        printed, n : str
            The value as the paper prints it, and the number of cases behind it.
        same : {"yes", "no", ""}
            Whether ours is the quantity that the paper printed.
        otherwise : str
            Why there is no counterpart, where a run gives no estimate.
        exhibit : str
            Figures and tables of the paper that the claim is about, "; " between them; may be
            empty.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id")
    return table.assign(bound=pd.to_numeric(table["bound"]))


def judge(notebook: str, estimates: Iterable[Estimate]) -> pd.DataFrame:
    """Judge the claims of a notebook by what it measured; a row a claim, with the `COLUMNS`.

    A claim is right where the whole interval lies on its side of the bound, wrong where the whole
    interval lies on the other side, and undecided between. A paper's claim without an estimate has
    no counterpart here; a claim of this suite without one is not made. An id that the notebook does
    not have in ``claims.csv`` is a KeyError.
    """
    known = read()
    chapter = notebook.split("_")[0]
    known = known[known["notebook"] == chapter]
    estimates = list(estimates)
    for unknown in {e.claim for e in estimates} - set(known.index):
        raise KeyError(f"{TABLE.name} has no claim {unknown!r} of notebook {chapter}")
    given = {e.claim for e in estimates}
    estimates += [
        Estimate(name, note=claim["otherwise"])
        for name, claim in known.iterrows()
        if name not in given and claim["by"] != SUITE
    ]
    order = {name: place for place, name in enumerate(known.index)}
    estimates.sort(key=lambda estimate: order[estimate.claim])
    return pd.DataFrame([_judged(known.loc[e.claim], e) for e in estimates], columns=COLUMNS)


COLUMNS = (
    "id", "of", "claim", "where", "paper", "measured", "low", "high", "unit", "side", "bound", "p",
    "verdict", "note",
)  # fmt: skip


def _judged(claim: pd.Series, estimate: Estimate) -> dict:
    measured, low, high = map(float, estimate.interval or (math.nan,) * 3)
    if low > high:
        raise ValueError(f"{claim.name}: the interval's lower end {low} is above its upper {high}")
    mine, about = claim["by"] == SUITE, defaultdict(lambda: "…", estimate.of)
    right = _right(claim["side"], claim["bound"], (measured, low, high), estimate.p)
    verdict = {
        None: UNDECIDED,
        True: HOLDS if mine else AGREES,
        False: FAILS if mine else CONTRADICTS,
    }[right]
    if math.isnan(measured) or math.isnan(low) or math.isnan(high):
        verdict = NO_COUNTERPART
    return {
        "id": claim.name,
        "of": ", ".join(map(str, estimate.of.values())),
        "claim": claim["claim"].format_map(about),
        "where": OURS if mine else f"{claim['by']}, {claim['section']}",
        "paper": claim["printed"] + (f" (of {claim['n']})" if claim["n"] else ""),
        "measured": measured,
        "low": low,
        "high": high,
        "unit": claim["quantity"].format_map(about),
        "side": claim["side"],
        "bound": claim["bound"],
        "p": math.nan if estimate.p is None else float(estimate.p),
        "verdict": verdict,
        "note": estimate.note or ("another quantity than the paper's" * (claim["same"] == "no")),
    }


def _right(side: str, bound: float, interval: tuple, p: float | None) -> bool | None:
    """Whether the quantity lies on its side of the bound; None where that is undecided."""
    value, low, high = interval
    if side == "equal":
        return value == bound
    if p is not None:
        low, high = (value, value) if p <= LEVEL else (-math.inf, math.inf)
    above = True if low > bound else False if high <= bound else None
    below = True if high < bound else False if low >= bound else None
    return above if side == "above" else below


def shown(judged: pd.DataFrame) -> pd.DataFrame:
    """The judged claims as people read them: claim, paper, measured here, judged by, verdict.

    Where many claims have no counterpart for one and the same reason, the first stands for all.
    """
    rule = judged["side"].where(judged["side"] != "equal", "equal to")
    rule = rule + " " + judged["bound"].map("{:g}".format).where(judged["side"] != "", "")
    rule = rule.where(judged["p"].isna(), rule + ", p = " + judged["p"].map("{:.2g}".format))
    nowhere = judged["verdict"] == NO_COUNTERPART
    alike = judged.groupby(["verdict", "note"])["id"].transform("size").where(nowhere, 1)
    many = alike > MANY
    counted = alike.map("{} claims of the paper, such as: ".format).where(many, "")
    table = pd.DataFrame(
        {
            "claim": counted + judged["claim"],
            "paper": judged["paper"].where(judged["paper"] != "", "–"),
            "measured here": [measured(row) for row in judged.to_dict("records")],
            "judged by": rule.where(~nowhere, judged["note"]),
            "verdict": judged["verdict"],
        }
    )
    return table[~many | ~judged.duplicated(["verdict", "note"])].reset_index(drop=True)


def measured(row: Mapping) -> str:
    """The value of a judged claim with its interval and its unit, in two digits."""
    if math.isnan(row["measured"]):
        return "–"
    if row["low"] == row["high"]:
        return f"{row['measured']:g} {row['unit']}".strip()
    value, low, high = (_rounded(row[name]) for name in ("measured", "low", "high"))
    return f"{value}\N{NO-BREAK SPACE}[{low},\N{NO-BREAK SPACE}{high}] {row['unit']}".strip()


def _rounded(value: float) -> str:
    """Two digits, and three where two would hide on which side of zero it lies."""
    return f"{value:.3f}" if value and abs(value) < 0.005 else f"{value:.2f}"


def scorecard(folder: Path) -> pd.DataFrame:
    """All judged claims of a run, with the notebook's name, from its ``findings/*.json``."""
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("findings/*.json"))]
    rows = [{"notebook": r["notebook"], **f} for r in records for f in r["findings"]]
    return pd.DataFrame(rows, columns=["notebook", *COLUMNS])
