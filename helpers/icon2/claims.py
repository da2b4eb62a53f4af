"""The claims of ICON2, judged by what was measured here.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import ranks
from helpers.driving_world import Law
from helpers.findings import Finding, equal, judge, untested
from helpers.icon2 import printed, verdicts
from helpers.icon2.resampling import interval
from helpers.icon2.statistics import shares
from helpers.icon2.tables import POINTS, Analysis

SUITE = "this suite"
CARS = 102_506  # in BDD100K's validation set; the paper's groups are a part of it, so have fewer
UNIT = "AP points"


def of_printed() -> list[Finding]:
    """What the paper's Tables 1 to 3 say when they are computed again."""
    sigmas, deltas, orders = printed.sigmas(), printed.deltas(), printed.orders()
    averages, foretold = printed.averages(), printed.foretold()
    off = (averages.printed - averages["mean of the classes"]).abs().max()
    text = "Table 1's σ follow Eq. 5, which divides by n"
    eq5 = int((sigmas.nearer == "population").sum())
    deltas_hold = int((deltas.off == 0).sum())
    table3 = orders[orders.source == "Table 3"]
    best = int(foretold.top_is_best.sum())
    least = foretold.loc[foretold.correlation.idxmin(), "class"]
    pairs = deltas[deltas["class"] == least]
    correlation = ranks.spearman(pairs.proxy_sigma, pairs.delta)
    return [
        equal(text, "paper, Eq. 5 and Table 1", eq5, len(sigmas), unit="rows nearer to Eq. 5"),
        judge(
            'Table 1\'s row "All Classes" is the mean of its class rows, up to rounding',
            "paper, Table 1",
            (off, off, off),
            below=0.1,
            unit="AP points apart at most",
        ),
        equal(
            "Table 2's Δ is σ less the mean σ within values",
            "paper, Table 2",
            deltas_hold,
            len(deltas),
            unit="rows",
        ),
        equal(
            "Table 3's columns are in the order of their ranks",
            "paper, Table 3",
            int(table3.sorted.sum()),
            len(table3),
            unit="columns",
        ),
        _smaller(),
        equal(
            "In Table 2 the attribute ranked first has the largest Δ",
            "paper, Table 2",
            best,
            len(foretold),
            paper="consistently",
            unit="classes",
        ),
        judge(
            "In Table 2 a larger σ of ProxyAP goes with a larger Δ, in every class",
            SUITE,
            correlation,
            above=0.0,
            unit=f"rank correlation of five attributes, least class ({least})",
        ),
    ]


def _smaller() -> Finding:
    """Table 3's caption: all its sigmas are smaller than those that rank first in Table 2."""
    others, control = printed.read("ranking"), printed.read("control")
    least = control.groupby("class").proxy_sigma.max().min()
    return equal(
        "Table 3's σ of ProxyAP are all smaller than those that rank first in Table 2",
        "paper, Table 3",
        int((others.proxy_sigma < least).sum()),
        len(others),
        unit="values",
    )


def of_analysis(
    analysis: Analysis, null: pd.DataFrame, shown: Sequence[str], law: Law | None
) -> list[Finding]:
    """What Table 1, Figures 2 to 6 and Tables 2 and 3 say, in their direction.

    Parameters
    ----------
    analysis
        With resamples.
    null
        From :func:`helpers.icon2.nulls.sigma_null`.
    shown
        Classes of the figures, the paper's car and pedestrian.
    law
        What is planted about the sensitive attribute; None for real data.
    """
    found = [_gap(analysis, null, name) for name in shown]
    if "car" in shown:
        found.append(_narrow(analysis, "car"))
    for number, name in zip((2, 3), shown, strict=False):
        found += _figure(analysis, name, number)
    for table, name in zip("ab", shown, strict=False):
        found += _control(analysis, name, f"paper, Table 2{table}")
    if law is not None:
        if law.confounding:
            found.append(_first(analysis, shown, law.confounder))
        found += _said(analysis, shown, law)
    return [*found, *_support(analysis)]


def _gap(analysis: Analysis, null: pd.DataFrame, name: str) -> Finding:
    row = analysis.sigmas().set_index("class").loc[name]
    chance = null.set_index("class").null_high[name]
    paper = printed.read("groups").set_index("class").sigma.get(name)
    claim = f"AP differs over the groups by more than chance ({name})"
    said = "" if paper is None else f"σ {paper:.2f}"
    estimate = (row.sigma, row.low, row.high)
    return judge(claim, "paper, Table 1", estimate, above=round(chance, 2), paper=said, unit=UNIT)


def _narrow(analysis: Analysis, name: str) -> Finding:
    """Half-widths of our intervals, brought to more boxes than the paper can have had.

    Its groups are the frames with GPS in New York City: more boxes than those of the whole
    validation set they cannot hold, and with fewer the intervals would be wider.
    """
    table = analysis.groups()
    part = table[table["class"] == name]
    half = ((part.high - part.low) / 2) * np.sqrt(part.boxes / (CARS / 3))
    claim = f"Resampling images gives intervals as narrow as Table 1's ({name}, at {CARS:,} boxes)"
    estimate = (half.mean(), half.min(), half.max())
    return judge(
        claim,
        "paper, Table 1",
        estimate,
        below=0.15,
        paper="±0.1",
        unit="AP points, half a width: mean [least, most] of the groups",
    )


def _figure(analysis: Analysis, name: str, number: int) -> list[Finding]:
    """Figures 2 and 3: hard values are found worse; and a group has more of them."""
    ranking = analysis.ranking()
    first = ranking[ranking["class"] == name].attribute.iloc[0]
    (part,) = [p for p in analysis.estimates[name].parts if p.name == first]
    known = ~np.isnan(part.ap[0])
    if known.sum() < 2:
        reason = f"fewer than two values of {first} are estimable"
        return [
            untested(
                f"AP differs over the values of {first} ({name})", f"paper, Figure {number}", reason
            )
        ]
    worst, best = (np.flatnonzero(known)[i] for i in part.ap[0][known].argsort()[[0, -1]])
    gap = POINTS * (part.ap[:, best] - part.ap[:, worst])
    share = shares(part.cell_boxes)[:, worst]
    spread = POINTS * (share.max(-1) - share.min(-1))
    return [
        judge(
            f"{name}: {first} '{part.values[worst]}' is detected worse than '{part.values[best]}'",
            f"paper, Figure {number}, above",
            _ends(gap, analysis.level),
            above=0.0,
            unit=UNIT,
        ),
        judge(
            f"{name}: the groups differ in their share of '{part.values[worst]}'",
            f"paper, Figure {number}, below",
            _ends(spread, analysis.level),
            above=5.0,
            unit="percentage points between groups",
        ),
    ]


def _control(analysis: Analysis, name: str, where: str) -> list[Finding]:
    """Table 2 and Figures 4 and 5: does controlling for the first attribute lower sigma?"""
    ranking, control = analysis.ranking(), analysis.control()
    first = ranking[ranking["class"] == name].attribute.iloc[0]
    row = control[(control["class"] == name) & (control.attribute == first)].iloc[0]
    paper = printed.read("control")
    said = paper[(paper["class"] == name) & (paper["rank"] == 1)]
    text = "" if said.empty else f"Δ {said.delta.iloc[0]:.2f} ({said.attribute.iloc[0]})"
    strata, standard = (
        (row.delta, row.low, row.high),
        (row.standardised_delta, row.standardised_low, row.standardised_high),
    )
    return [
        judge(
            f"{name}: within values of {first}, ranked first, σ is less than before",
            where + (" and Figure 4" if where.endswith("a") else " and Figure 5"),
            strata,
            above=0.0,
            paper=text,
            unit=UNIT,
        ),
        judge(
            f"{name}: with {first} standardised, σ is less than before",
            SUITE,
            standard,
            above=0.0,
            unit=UNIT,
        ),
    ]


def _first(analysis: Analysis, shown: Sequence[str], planted: str) -> Finding:
    ranking = analysis.ranking()
    top = ranking[(ranking["rank"] == 1) & ranking["class"].isin(shown)]
    claim = f"The planted confounder ({planted}) ranks first"
    right = int((top.attribute == planted).sum())
    return equal(claim, "paper, Algorithm 1", right, len(shown), unit="classes shown")


def _said(analysis: Analysis, shown: Sequence[str], law: Law) -> list[Finding]:
    """Both rules on every class shown and attribute, against what was planted."""
    said = verdicts.table(analysis, law)
    right = verdicts.right(said[said["class"].isin(shown)])
    return [
        equal(
            "The paper's rule names the planted confounder, and nothing else",
            "paper, section 3.2.2",
            int(right.paper.sum()),
            len(right),
            unit="right answers",
        ),
        equal(
            "The suite's verdict on every attribute is what was planted",
            SUITE,
            int(right.verdict.sum()),
            len(right),
            unit="right answers",
        ),
    ]


def _support(analysis: Analysis) -> list[Finding]:
    """Figure 6 and Table 3: rare classes have too few boxes once they are split."""
    cells = analysis.cells()
    rare = cells[cells["class"].isin(["bus", "motorcycle", "bicycle"])]
    claim = "Bus, motorcycle and bicycle have too few boxes within the values to be estimable"
    where = "paper, Figure 6 and Table 3"
    if rare.empty:
        return [untested(claim, where, "the classes are not among those analysed")]
    share = round(100 * float((~rare.estimable).mean()))
    estimate = (share, share, share)
    return [judge(claim, where, estimate, above=50, paper="too low", unit="% of their cells")]


def not_tested() -> list[Finding]:
    """What needs the paper's own detector and incomes."""
    reason = "needs BDD100K, its GPS and a table of incomes, and the paper's detector"
    return [
        untested(
            "AP falls as income rises, over all classes",
            "paper, section 4.2",
            reason,
            "38.4, 37.3, 35.4",
        ),
        untested("For car, AP rises with income", "paper, Table 1", reason, "48.7, 49.6, 53.2"),
    ]


def _ends(values: np.ndarray, level: float) -> tuple[float, float, float]:

    low, high = interval(values, level)
    return float(values[0]), float(low), float(high)
