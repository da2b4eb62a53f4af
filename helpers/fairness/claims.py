"""What notebook 09 claims, judged by what it measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.fairness.counts import Table
from helpers.fairness.literature import named
from helpers.fairness.reports import KEYS, Report
from helpers.findings import Finding, equal, judge

SUITE = "this suite"
LIBRARIES = {"1-prule": 0.447639, "cv": 0.263303, "dfpr": 0.228450, "dfnr": 0.226814}
"""Four libraries on COMPAS, African-American defendants against the rest."""
DARK_OR_WET = ("night", "rainy", "snowy")


def findings(
    compas: Table,
    report: Report,
    ten: pd.DataFrame,
    unbiased: pd.DataFrame,
    answers: pd.DataFrame,
    suite: pd.DataFrame,
    contrasts: pd.DataFrame,
) -> list[Finding]:
    """Judge the claims of notebook 09.

    Parameters
    ----------
    compas
        COMPAS counts; `ten` its readings (`readings.readings`).
    report
        The whole grid of an example.
    unbiased
        From `readings.without_bias`, with 60 groups and 1,000 rows among its rows.
    answers
        From `toolkits.answers`.
    suite
        From `suite_rows.one_report`.
    contrasts
        From `frames.contrasts`.
    """
    matched = sum(
        abs(named(compas, name, "African-American") - value) < 1e-6
        for name, value in LIBRARIES.items()
    )
    claim = "Measures composed from blocks are the ones other libraries define"
    found = [
        equal(claim, "paper, section 3, Table 1", matched, len(LIBRARIES), unit="of 4 on COMPAS")
    ]
    plain = answers[answers["example"].isin(["compas", "six groups"])]
    claim = "Without 0/0 and ties, fairlearn and FairBench agree with every cell"
    differ = int((~plain["agree"]).sum())
    found.append(equal(claim, "paper, Figure 1", differ, 0, unit="cells differ"))
    found += _of_report(report)
    largest, smallest = ten.loc[ten["value"].idxmax()], ten.loc[ten["value"].idxmin()]
    spread = (
        largest["value"] / smallest["value"],
        largest["low"] / smallest["high"],
        largest["high"] / max(smallest["low"], 1e-9),
    )
    claim = "One gap reads five times larger or smaller, by the measure chosen"
    found.append(judge(claim, SUITE, spread, above=5, unit="largest / smallest"))
    at = unbiased[(unbiased["n"] == 1000) & (unbiased["groups"] == 60)].iloc[0]
    claim = "Sixty groups without bias read above 0.5 in a thousand rows (db)"
    found.append(judge(claim, SUITE, tuple(at[["median", "low", "high"]]), above=0.5, unit="db"))
    return [*found, _of_suite(suite), *_of_frames(contrasts)]


def _of_report(report: Report) -> list[Finding]:
    """Sections 5.2: the way back from cells to pairs, and what is said of the example there."""
    again, cells = 0, report.cells[report.cells["reduction"].isin(["max", "min", "mean"])]
    for blocks, part in cells.groupby(KEYS[:3], sort=False):
        pairs = report.pairs(*blocks)["compared"]
        back = part["reduction"].map(
            {name: getattr(pairs, name)() for name in ("max", "min", "mean")}
        )
        again += int(np.isclose(back, part["value"], equal_nan=True).sum())
    claim = "The pairs behind a cell give its value again"
    found = [equal(claim, "paper, Figure 2", again, len(cells), unit=f"of {len(cells)} cells")]
    value = report.cells.set_index(KEYS)["value"]
    same = [
        np.isclose(value[one, "pairs", how, "max"], value[other, "pairs", how, "max"])
        for one, other in (("tpr", "fnr"), ("tnr", "fpr"))
        for how in ("abs", "srel")
    ]
    claim = "Balance of tpr and tnr is balance of fnr and fpr, in differences and in ratios"
    where = "paper, section 5.2"
    return [*found, equal(claim, where, sum(same), 4, unit="of 4 cells of the example")]


def _of_suite(suite: pd.DataFrame) -> Finding:
    first = suite.loc[suite["value"].idxmax()]
    claim = "The widest gap that the other notebooks measure is more than shuffled groups reach"
    ends = tuple(first[["value", "low", "high"]])
    return judge(claim, SUITE, ends, above=first["null_high"], unit="share served right")


def _of_frames(contrasts: pd.DataFrame) -> list[Finding]:
    found = []
    asked = contrasts[contrasts["group"].isin(DARK_OR_WET)]
    for (group, fixed), row in asked.set_index(["group", "fixed"]).iterrows():
        held = "as it is" if fixed == "nothing" else f"with {fixed} held fixed"
        claim = f"Real {group} frames are served worse, {held}"
        ends = tuple(row[["worse", "low", "high"]])
        found.append(judge(claim, SUITE, ends, above=0, unit="share right"))
    return found
