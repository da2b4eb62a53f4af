"""The claims of ICON2, judged by what was measured here.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas, printed, verdicts
from helpers.icon2.analysis import INTERVALS, POINTS, Analysis
from helpers.icon2.bootstrap import interval
from helpers.icon2.error_rates import (
    BOTH,
    CONFOUNDED,
    EQ3,
    FALLS,
    FIRST,
    HALF_RULE,
    PAPER_RULE,
    PART_RULE,
    PER_IMAGE,
    PLAIN,
    REAL,
    STANDARD_RULE,
    SUITE_RULE,
)
from helpers.run.findings import Finding, equal, judge, untested
from helpers.stats import ranks
from helpers.worlds.driving import Law

SUITE = "this suite"
CONTROL = "paper, section 3.2.2"
CARS = 102_506  # in BDD100K's validation set; the paper's groups are a part of it, so have fewer
UNIT = "AP points"


def _count(claim: str, where: str, right: pd.Series, unit: str, paper: str = "") -> Finding:
    """Judge that all of some rows are right."""
    return equal(claim, where, right.sum(), len(right), paper=paper, unit=unit)


def of_printed() -> list[Finding]:
    """What the paper's Tables 1 to 3 say when they are computed again."""
    averages, deltas = printed.averages(), printed.deltas()
    sigmas, orders, foretold = printed.sigmas(), printed.orders(), printed.foretold()
    off = (averages.printed - averages["mean of the classes"]).abs().max()
    first = printed.read("control").groupby("class").proxy_sigma.max()
    least = foretold.loc[foretold[printed.CORRELATION].idxmin(), "class"]
    pairs = deltas[deltas["class"] == least]
    eq5 = "Table 1's σ follow Eq. 5, which divides by n"
    mean = 'Table 1\'s row "All Classes" is the mean of its class rows, up to rounding'
    delta = "Table 2's Δ is σ less the mean σ within values"
    order = "Table 3's columns are in the order of their ranks"
    small = "Table 3's σ of ProxyAP are all smaller than those that rank first in Table 2"
    best = "In Table 2 the attribute ranked first has the largest Δ"
    goes = "In Table 2 a larger σ of ProxyAP goes with a larger Δ, in every class"
    five = f"rank correlation of five attributes, least class ({least})"
    population = sigmas.nearer == "population"
    in_order = orders.sorted[orders.source == "Table 3"]
    smaller = printed.read("ranking").proxy_sigma < first.min()
    spearman = ranks.spearman(pairs.proxy_sigma, pairs.delta)
    apart = {"below": 0.1, "unit": "AP points apart at most"}
    return [
        _count(eq5, "paper, Eq. 5 and Table 1", population, "rows nearer to Eq. 5"),
        judge(mean, "paper, Table 1", (off, off, off), **apart),
        _count(delta, "paper, Table 2", deltas.off == 0, "rows"),
        _count(order, "paper, Table 3", in_order, "columns"),
        _count(small, "paper, Table 3", smaller, "values"),
        _count(best, "paper, Table 2", foretold[printed.LARGEST], "classes", "consistently"),
        judge(goes, SUITE, spearman, above=0.0, unit=five),
    ]


def of_analysis(
    analysis: Analysis, null: pd.DataFrame, shown: Sequence[str], law: Law | None
) -> list[Finding]:
    """What Table 1, Figures 2 to 6 and Tables 2 and 3 say, in their direction.

    From an analysis with resamples and :func:`helpers.icon2.sigma_null`, for the classes `shown`
    (the paper's car and pedestrian). `law` is what is planted; None for real data.
    """
    ranking = analysis.ranking()
    first = ranking.drop_duplicates("class").set_index("class").attribute
    found = [_gap(analysis, null, name) for name in shown]
    if "car" in shown:
        found.append(_narrow(analysis, "car"))
    for number, name in zip((2, 3), shown, strict=False):
        found += _figure(analysis, name, first[name], f"paper, Figure {number}")
    tables = ("paper, Table 2a and Figure 4", "paper, Table 2b and Figure 5")
    for where, name in zip(tables, shown, strict=False):
        found += _control(analysis, name, first[name], where)
    if law is not None and law.confounding:
        claim = f"The planted confounder ({law.confounder}) ranks first"
        top = ranking[ranking["rank"].eq(1)].set_index("class").attribute.reindex(shown)
        top = top == law.confounder
        found.append(_count(claim, "paper, Algorithm 1", top, "classes shown"))
    if law is not None:
        said = verdicts.table(analysis, law)
        right = verdicts.right(said[said["class"].isin(shown)])
        paper = "The paper's rule names what was planted, more often than not"
        suite = "The suite's verdict is what was planted, more often than not"
        found += [
            _often(paper, CONTROL, right.paper),
            _often(suite, SUITE, right.verdict),
        ]
    return [*found, _support(analysis)]


def _often(claim: str, where: str, right: pd.Series) -> Finding:
    """More than half of the answers, by Wilson's interval: ten answers are too few for "all"."""
    k, n = int(right.sum()), len(right)
    ends = (k / n, *stats.wilson(k, n))
    return judge(claim, where, ends, above=0.5, unit=f"share of {n} answers")


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
    return judge(
        f"Resampling images gives intervals as narrow as Table 1's ({name}, at {CARS:,} boxes)",
        "paper, Table 1",
        (half.mean(), half.min(), half.max()),
        below=0.15,
        paper="±0.1",
        unit="AP points, half a width: mean [least, most] of the groups",
    )


def _figure(analysis: Analysis, name: str, first: str, where: str) -> list[Finding]:
    """Figures 2 and 3: hard values are found worse; and a group has more of them."""
    (part,) = [p for p in analysis.estimates[name].parts if p.name == first]
    known = np.flatnonzero(~np.isnan(part.ap[0]))
    if len(known) < 2:
        reason = f"fewer than two values of {first} are estimable"
        return [untested(f"AP differs over the values of {first} ({name})", where, reason)]
    worst, best = known[part.ap[0][known].argsort()[[0, -1]]]
    gap = POINTS * (part.ap[:, best] - part.ap[:, worst])
    share = formulas.shares(part.cell_boxes)[:, worst]
    spread = POINTS * (share.max(-1) - share.min(-1))
    hard, easy = part.values[worst], part.values[best]
    worse = f"{name}: {first} '{hard}' is detected worse than '{easy}'"
    more = f"{name}: the groups differ in their share of '{hard}'"
    unit = "percentage points between groups"
    return [
        judge(worse, f"{where}, above", (gap[0], *interval(gap)), above=0.0, unit=UNIT),
        judge(more, f"{where}, below", (spread[0], *interval(spread)), above=5.0, unit=unit),
    ]


def _control(analysis: Analysis, name: str, first: str, where: str) -> list[Finding]:
    """Table 2 and Figures 4 and 5: does controlling for the first attribute lower sigma?"""
    control, paper = analysis.control(), printed.read("control")
    row = control[(control["class"] == name) & (control.attribute == first)].iloc[0]
    said = paper[(paper["class"] == name) & (paper["rank"] == 1)]
    text = "" if said.empty else f"Δ {said.delta.iloc[0]:.2f} ({said.attribute.iloc[0]})"
    strata = f"{name}: within values of {first}, ranked first, σ is less than before"
    standard = f"{name}: with {first} standardised, σ is less than before"
    by_strata, by_standard = (tuple(row[[fall, *ends]]) for fall, ends in INTERVALS.items())
    return [
        judge(strata, where, by_strata, above=0.0, paper=text, unit=UNIT),
        judge(standard, SUITE, by_standard, above=0.0, unit=UNIT),
    ]


def _support(analysis: Analysis) -> Finding:
    """Figure 6 and Table 3: rare classes have too few boxes once they are split."""
    cells = analysis.cells()
    rare = cells[cells["class"].isin(["bus", "motorcycle", "bicycle"])]
    claim = "Bus, motorcycle and bicycle have too few boxes within the values to be estimable"
    where = "paper, Figure 6 and Table 3"
    if rare.empty:
        return untested(claim, where, "the classes are not among those analysed")
    share = round(100 * float((~rare.estimable).mean()))
    return judge(
        claim, where, (share, share, share), above=50, paper="too low", unit="% of their cells"
    )


def of_error_rates(ranked: pd.DataFrame, rates: pd.DataFrame) -> list[Finding]:
    """What the planted worlds say of the method: often right, and seldom wrong?

    From :func:`helpers.icon2.error_rates.ask_readings` and :func:`helpers.icon2.error_rates.rates`.
    """
    ends = ["share", "low", "high"]
    of = ranked.set_index(["confounder", "question", "by"])[ends]
    names, firsts = ranked.confounder.unique(), ranked[ranked.question == FIRST]
    least = firsts.sort_values("share").drop_duplicates("by").set_index("by")[ends]
    algorithm, planted = "paper, Algorithm 1", "planted as the confounder"
    asked = [
        (f"ProxyAP ranks a planted confounder first ({n})", algorithm, of.loc[n, FIRST, EQ3])
        for n in names
    ]
    asked += [
        (f"σ falls within strata of {n}, {planted} ({by})", where, of.loc[n, FALLS, by])
        for n in names
        for by, where in ((EQ3, "paper, Eq. 3 and section 3.2.2"), (PER_IMAGE, SUITE))
    ]
    per_image = "Per image, ProxyAP ranks first whichever confounder was planted (least of four)"
    plain = "Ranking by an attribute's own σ does as well (least of four)"
    asked += [(per_image, SUITE, least.loc[PER_IMAGE]), (plain, SUITE, least.loc[PLAIN])]
    found = [judge(c, where, tuple(e), above=0.8, unit="of worlds") for c, where, e in asked]
    said = rates.set_index(["rule", "world"])
    for rule, world, claim in RULES:
        row = said.loc[rule, world]
        bound = {"above": 0.8} if row.right else {"below": 0.1}
        where = CONTROL if rule == PAPER_RULE else SUITE
        found.append(judge(claim, where, tuple(row[ends]), unit="of worlds", **bound))
    return found


RULES = [
    (PAPER_RULE, CONFOUNDED, "A fall of σ within strata is seen where only the scenes are harder"),
    (PAPER_RULE, REAL, "A fall of σ within strata is not seen where only the detector is worse"),
    (HALF_RULE, BOTH, "Where both are planted, half of σ is seldom gone within strata"),
    (STANDARD_RULE, BOTH, "Where both are planted, half of σ is seldom gone by standardising"),
    (
        SUITE_RULE,
        CONFOUNDED,
        "The suite's verdict explains the gap where only the scenes are harder",
    ),
    (
        SUITE_RULE,
        REAL,
        "The suite's verdict does not explain the gap where only the detector is worse",
    ),
    (PART_RULE, REAL, "The suite's verdict explains no part where only the detector is worse"),
    (PART_RULE, BOTH, "Where both are planted the suite's verdict says: in part"),
]


def not_tested() -> list[Finding]:
    """What needs the paper's own detector and incomes."""
    reason = "needs BDD100K, its GPS and a table of incomes, and the paper's detector"
    falls, rises = "AP falls as income rises, over all classes", "For car, AP rises with income"
    return [
        untested(falls, "paper, section 4.2", reason, "38.4, 37.3, 35.4"),
        untested(rises, "paper, Table 1", reason, "48.7, 49.6, 53.2"),
    ]
