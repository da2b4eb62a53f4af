"""Claims about biased pairs (Focus paper, section I-C), and whether a planted one is found."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import stats
from helpers.findings import Finding, judge, untested
from helpers.focus import pairs, trials

BIAS = "paper, section I-C"
SUITE = "this suite"
UNKNOWN = "these images are not from the embedded world: what is shared in them is not known"


def of_ranking(table: pd.DataFrame, planted: tuple[str, str] | None, dose: float) -> list[Finding]:
    """Judge the pair in which the patch was planted against its null.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.pairs.ranked`.
    planted : (target, outer) or None
        Whose patch it is, and who comes to carry it; None outside the world.
    dose : float
        Where it is 0 nothing was planted.
    """
    claim = "Relevance for {} falls more on {} than on the target's other outer classes"
    if planted is None or not dose:
        reason = UNKNOWN if planted is None else "nothing was planted"
        return [untested("The pair that shares the patch is confused", SUITE, reason)]
    [row] = pairs.of_pair(table, *planted).to_dict("records")
    ends = row["difference"], row["difference_low"], row["difference_high"]
    return [judge(claim.format(*planted), SUITE, ends, below=0, unit="difference in Focus")]


def of_feature(excess: tuple[float, float, float] | None) -> Finding:
    """Judge that what falls on the outer images falls on the shared feature.

    Parameters
    ----------
    excess
        Share of the outer images' relevance on the patch beyond its share of their area, with its
        interval; None where no patch is known.
    """
    claim = "The wrong relevance falls on what the classes share"
    paper = "most of it, on the iguana's subtympanic shield"
    if excess is None:
        return untested(claim, BIAS, UNKNOWN, paper)
    unit = "share of the outer images' relevance, beyond the patch's area"
    return judge(claim, BIAS, excess, above=0, paper=paper, unit=unit)


def of_trials(found: pd.DataFrame, whose: str, seed: int = 0) -> list[Finding]:
    """Judge how often a planted pair comes first, false finds, and what a lower dose does.

    Parameters
    ----------
    found : DataFrame
        From :func:`helpers.focus.trials.run`.
    whose : str
        Which trials: a part of the claims.
    seed : int
        Of the resampling.
    """
    if found.empty:
        return [untested(f"A planted pair comes first ({whose})", SUITE, "no trials were run")]
    rates = trials.rates(found).to_dict("records")
    judged = []
    for row in rates:
        share = {"unit": f"share of {row['trials']} seeds"}
        ends = row["rate"], row["low"], row["high"]
        if row["dose"] == 0:
            claim = f"Where nothing is planted, the drawn pair rarely comes first ({whose})"
            judged.append(judge(claim, SUITE, ends, below=0.5, **share))
        else:
            claim = f"Planted at dose {row['dose']:g}, the pair comes first oftener than blindly"
            judged.append(judge(f"{claim} ({whose})", BIAS, ends, above=trials.BLIND, **share))
    low, high = found["dose"].min(), found["dose"].max()
    if low == 0 < high:
        claim = f"Planted at dose {high:g}, the pair comes first oftener than unplanted ({whose})"
        unit = f"difference in share of seeds, dose {high:g} - 0"
        judged.append(judge(claim, SUITE, _gap(rates[-1], rates[0]), above=0, unit=unit))
    if low < high:
        wide = found.pivot(index="seed", columns="dose", values="focus")
        gap = (wide[low] - wide[high]).dropna().to_numpy()
        judged.append(
            judge(
                f"With the patch on fewer images the pair's Focus rises ({whose})",
                BIAS,
                tuple(stats.bootstrap(gap, seed=seed)),
                above=0,
                paper="proposed as a remedy, not tried",
                unit=f"Focus at dose {low:g} - at {high:g}",
            )
        )
    return judged


def _gap(more: dict, less: dict) -> tuple[float, float, float]:
    """Difference of two shares, with Newcombe's interval (Statistics in Medicine 17, 1998)."""
    gap = more["rate"] - less["rate"]
    down = np.hypot(more["rate"] - more["low"], less["high"] - less["rate"])
    up = np.hypot(more["high"] - more["rate"], less["rate"] - less["low"])
    return gap, gap - float(down), gap + float(up)


def of_paper(printed: pd.DataFrame, ends: pd.DataFrame) -> list[Finding]:
    """The paper's printed mosaics beside the most extreme ones here.

    Parameters
    ----------
    printed : DataFrame
        ``data/paper/focus_pairs.csv``.
    ends : DataFrame
        From :func:`helpers.focus.pairs.extremes`, of the pair that came first.
    """
    shown = dict(zip(ends["kind"], ends["focus"], strict=True))
    found = []
    for row in printed.to_dict("records"):
        claim = f"The {row['mosaic']} mosaic of {row['target']} beside {row['outer']}"
        here = ", ".join(f"{kind} {value:.2f}" for kind, value in shown.items())
        reason = f"other classes here; those of the first pair: {here}"
        found.append(untested(claim, BIAS, reason, f"Focus {row['focus']:.4f}"))
    return found


def by_eye() -> Finding:
    """What only a person can judge."""
    return untested(
        "A person can name the shared feature from the best and worst mosaics",
        BIAS,
        "needs people: look at the figure, then at the trials for whether it was there",
        "ocellus and subtympanic shield",
    )
