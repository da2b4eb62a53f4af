"""What notebooks 09 and 09b measure for the claims of the paper and of this suite.

The paper prints no measured values: its claims are about what its blocks can express, and are
judged by whether ours give the same as its printed code, its own library and others.
"""

import numpy as np
import pandas as pd

from helpers.blocks import counts, examples, named
from helpers.blocks.report import KEYS, Report
from helpers.run.claims import Estimate

LIBRARIES = {"1 - prule": 0.447639, "cv": 0.263303, "|dfpr|": 0.228450, "|dfnr|": 0.226814}
"""Four libraries on COMPAS, African-American defendants against the rest."""
FRAMES = ("night", "snowy")
HELD = {"nothing": "as it is", "scene": "with scene held fixed"}


def of_paper(
    compas: counts.Table,
    whole: Report,
    snippet: Report,
    answers: pd.DataFrame,
    unbiased: pd.DataFrame,
) -> list[Estimate]:
    """Notebook 09: COMPAS, the whole grid of an example and the report of the paper's `snippet`,
    other toolkits' cells (`examples.answers`), and a null (`evidence.without_bias`).
    """
    ours = named.table_1(compas, "African-American").set_index("measure")["value"]
    found, cells = 0, whole.cells[whole.cells["reduction"].isin(["max", "min", "mean"])]
    for names, part in cells.groupby(KEYS[:3], sort=False):
        behind = whole.pairs(*names)["compared"].agg(["max", "min", "mean"])
        found += _differ(part["reduction"].map(behind), part["value"])
    value, printed = (made.cells.set_index(KEYS)["value"] for made in (whole, snippet))
    same = [
        np.isclose(value[one, "pairs", how, "max"], value[other, "pairs", how, "max"])
        for one, other in (("tpr", "fnr"), ("tnr", "fpr"))
        for how in ("abs", "srel")
    ]
    plain = answers[~answers["example"].isin(examples.REASONS)]
    medians = unbiased[unbiased["n"] == 1000].set_index("groups")
    measured = {
        "libraries": np.isclose(ours[list(LIBRARIES)], list(LIBRARIES.values()), 0, 1e-6).sum(),
        "deo": abs(ours["cv"] - ours["|deo|"]),  # the row of |deo| as printed is that of cv
        "backtracking": found,
        "snippet": _differ(printed, value.reindex(printed.index)),
        "balance": sum(same),
        "toolkits": (~plain["agree"]).sum(),
    }
    exact = [Estimate(f"blocks/{claim}", (it, it, it)) for claim, it in measured.items()]
    return [*exact, _less("suite/blocks/sixty", medians.loc[60], medians.loc[2], "median")]


def of_readings(ten: pd.DataFrame, between: pd.DataFrame) -> list[Estimate]:
    """Ten readings of one table, and the areas `between` two curves that cross; ends as there."""
    by_value = ten.query("comparison == 'abs' and reduction == 'max'").sort_values("value")
    apart = between["value"].diff().iloc[1]
    return [
        Estimate("blocks/crossing", (apart, apart, apart)),
        _less("suite/blocks/readings", by_value.iloc[-1], by_value.iloc[0], "value"),
    ]


def of_frames(contrasts: pd.DataFrame) -> list[Estimate]:
    """Real frames (`examples.frames`), by p values corrected for all rows of the table."""
    found = []
    for row in contrasts[contrasts["group"].isin(FRAMES)].itertuples():
        about = {"group": row.group, "held": HELD[row.fixed]}
        ends = row.worse, row.low, row.high
        found.append(Estimate("suite/blocks/frames", ends, about, p=row.p_holm))
    return found


def _differ(one: pd.Series, other: pd.Series) -> int:
    return int((~np.isclose(one, other, equal_nan=True)).sum())


def _less(claim: str, one: pd.Series, other: pd.Series, value: str) -> Estimate:
    """How much more one measured value is than another; the ends lie farthest from each other."""
    ends = one[value] - other[value], one["low"] - other["high"], one["high"] - other["low"]
    return Estimate(claim, ends)
