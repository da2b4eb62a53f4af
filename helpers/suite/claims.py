"""Claims and their verdicts: what a paper says, what was measured here, and how the two compare.
A claim is a row of ``data/paper/claims.csv``; a paper's room returns estimates by its id."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from helpers import store
from helpers.stats import Estimate

TABLE = store.root() / "data" / "paper" / "claims.csv"
AGREES, CONTRADICTS = "agrees with the paper", "contradicts the paper"
HOLDS, FAILS = "holds", "does not hold"  # the same of a claim that this suite makes
UNDECIDED, NO_COUNTERPART = "undecided", "no counterpart here"
SUITE, OURS = "suite", "this suite"  # in the table, and as people read it
LEVEL = 0.05  # of the p values
MANY = 3  # claims without a counterpart for one reason that still have a line each


@cache
def read(path: Path = TABLE) -> pd.DataFrame:
    """The claims, indexed by `id`; all columns but `bound` are texts.

    They are what the judging `notebook`'s name begins with (03, 03b); `by` whom it is made
    (contexts, focus, icon2, blocks, suite), in which `section`; the `claim` in our words; the
    `quantity` measured, with its unit; on which `side` of `bound` it must lie (above, below, equal;
    "" where no run measures it); the value `printed` by the paper, of `n` cases; whether ours is
    the `same` quantity (yes, no, ""); why there is no counterpart `otherwise`; and the paper's
    figures and tables that it is about (`exhibit`, "; " between)."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id")
    return table.assign(bound=pd.to_numeric(table["bound"]))


def judge(notebook: str, estimates: Iterable[Estimate]) -> pd.DataFrame:
    """Judge the claims of a notebook by what it measured: `COLUMNS`, a row a claim.

    A claim is right (wrong) where the whole interval lies on its side (the other side) of the
    bound. Without an estimate a paper's claim has no counterpart, and one of the suite no row."""
    chapter, rows = notebook.split("_")[0], []
    known, estimates = read().query("notebook == @chapter"), list(estimates)
    for unknown in {estimate.claim for estimate in estimates} - set(known.index):
        raise KeyError(f"{TABLE.name} has no claim {unknown!r} of notebook {chapter}")
    for name, claim in known.iterrows():
        missing = [] if claim["by"] == SUITE else [Estimate(name, note=claim["otherwise"])]
        given = [estimate for estimate in estimates if estimate.claim == name]
        rows += [_judged(claim, estimate) for estimate in given or missing]
    return pd.DataFrame(rows, columns=COLUMNS)


NUMBERS = "measured", "low", "high", "bound", "p"
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
    words = {True: HOLDS, False: FAILS} if mine else {True: AGREES, False: CONTRADICTS}
    unmeasured = any(map(math.isnan, (measured, low, high)))
    verdict = NO_COUNTERPART if unmeasured else words.get(right, UNDECIDED)
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
    Where many claims have no counterpart for one and the same reason, the first stands for all."""
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
