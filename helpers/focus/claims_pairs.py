"""Claims about biased pairs (Focus paper, section I-C), and whether a planted one is found."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from helpers import stats
from helpers.explain import METHODS
from helpers.focus import pairs, trials
from helpers.run.findings import UNDECIDED, Finding, judge, untested

BIAS = "paper, section I-C"
SUITE = "this suite"
STAR = 0.05
UNKNOWN = "what these images share is not known: they are not from the world, or the dose is 0"
JOWL = "most of it, on the iguana's subtympanic shield"


def of_ranking(table: pd.DataFrame, planted: tuple[str, str] | None) -> list[Finding]:
    """Judge the pair in which the patch was planted against its null; else the starred pairs.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.pairs.ranked`.
    planted : (target, outer) or None
        Whose patch it is, and who comes to carry it; None where nothing was planted. Then every
        pair with a corrected p below 0.05 is a finding, or, where none has, the one with the least.
    """
    claim = "Relevance for {} falls more on {} than on the target's other outer classes"
    if planted is None:
        unknown = untested("The pair that shares the patch is confused", SUITE, UNKNOWN)
        first = table.dropna(subset=["p"]).sort_values(["p", "difference"])
        starred = first[first["p_adjusted"] < STAR]
        rows = (starred if len(starred) else first.head(1)).to_dict("records")
        return [unknown, *[_of_pair(row, claim) for row in rows]]
    [row] = pairs.of_pair(table, *planted).to_dict("records")
    ends = row["difference"], row["difference_low"], row["difference_high"]
    return [judge(claim.format(*planted), SUITE, ends, below=0, unit="difference in Focus")]


def _of_pair(row: dict, claim: str) -> Finding:
    """A pair that nobody planted: it holds only where p, corrected for all pairs, is small."""
    ends = row["difference"], row["difference_low"], row["difference_high"]
    names = (row[name] for name in pairs.PAIR)
    judged = judge(claim.format(*names), SUITE, ends, below=0, unit="difference in Focus")
    note = f"{judged.note}; p {row['p_adjusted']:.3f}, corrected for all pairs"
    verdict = judged.verdict if row["p_adjusted"] < STAR else UNDECIDED
    return replace(judged, note=note, verdict=verdict)


def of_feature(placed: pd.DataFrame | None) -> list[Finding]:
    """Judge that what falls on the outer images falls on the shared feature, method by method.

    Parameters
    ----------
    placed : DataFrame or None
        From :func:`helpers.focus.feature.by_method`; None where no patch is known.
    """
    claim = "The wrong relevance falls on what the classes share"
    if placed is None:
        return [untested(claim, BIAS, UNKNOWN, JOWL)]
    unit = "share of the outer images' relevance, beyond the patch's area"
    return [
        judge(
            f"{claim} ({row.method}, this model)",
            BIAS,
            (row.excess, row.low, row.high),
            above=0,
            paper=JOWL if row.method == "GradCAM" else "",
            unit=unit,
        )
        for row in placed.itertuples()
    ]


def of_trials(found: pd.DataFrame) -> list[Finding]:
    """Judge what trials over seeds and doses show; each dose is compared with dose 0.

    Parameters
    ----------
    found : DataFrame
        From :func:`helpers.focus.trials.run`. A seed, with its several trainings, counts once.
    """
    if found.empty:
        return [untested("A planted pair comes first", SUITE, "no trials were run")]
    same = trials.alike(found)
    judged = [_oftener(row) for row in trials.against_none(trials.rates(same)).to_dict("records")]
    clean = same[same["dose"] == 0]
    if len(clean):
        starred = int(((clean["alarms"] > 0) | clean["starred"]).sum())
        ends = starred / len(clean), *stats.wilson(starred, len(clean))
        claim = "Where nothing is planted, most trials have no starred pair"
        judged.append(judge(claim, SUITE, ends, below=0.5, unit=f"share of {len(clean)} seeds"))
    every = trials.marked(found)
    return judged + _pointing(every) + _remedy(every)


def _oftener(row: dict) -> Finding:
    """One dose against none: Newcombe's interval decides, where Fisher's exact test agrees."""
    claim = f"Planted at dose {row['dose']:g}, the pair comes first oftener than unplanted"
    ends, n = (row["difference"], row["low"], row["high"]), row["trials"]
    judged = judge(claim, BIAS, ends, above=0, unit=f"difference in share of {n} seeds")
    note = f"{judged.note}; Fisher's p {row['p']:.3f}"
    return replace(judged, note=note, verdict=judged.verdict if row["p"] < 0.05 else UNDECIDED)


def _pointing(every: pd.DataFrame) -> list[Finding]:
    """Whether the methods point at the patch, over the seeds of the highest dose."""
    top = every[every["dose"] == every["dose"].max()]
    unit = f"share of relevance beyond the patch's area, mean of {len(top)} seeds"
    return [
        judge(
            f"At dose {top['dose'].iloc[0]:g} the wrong relevance falls on the eyespot "
            f"({METHODS[name].name})",
            BIAS,
            stats.mean(top[f"excess_{name}"]).interval(),
            above=0,
            paper=JOWL if name == "gradcam" else "",
            unit=unit,
        )
        for name in trials.EXPLAINED
    ]


def _remedy(every: pd.DataFrame) -> list[Finding]:
    """Whether Focus is higher after training with fewer marks, on the same held-out images."""
    wide = every.pivot(index="seed", columns="dose", values="focus")
    high = wide.columns.max()
    return [
        judge(
            f"Trained at dose {low:g} and not {high:g}, the pair has more Focus on the same images",
            BIAS,
            stats.mean((wide[low] - wide[high]).dropna()).interval(),
            above=0,
            paper="proposed as a remedy, not tried" if low else "",
            unit=f"difference in Focus, mean of {len(wide)} seeds",
        )
        for low in wide.columns[:-1]
    ]


def of_paper(printed: pd.DataFrame, rated: pd.DataFrame, pair: tuple[str, str]) -> list[Finding]:
    """The paper's printed mosaics beside the most extreme ones of a pair here.

    Parameters
    ----------
    printed : DataFrame
        ``data/paper/focus_pairs.csv``.
    rated : DataFrame
        From :func:`helpers.focus.rate`.
    pair : (target, outer)
        The pair that is shown.
    """
    here = pairs.of_pair(rated, *pair)["focus"]
    shown = {"best": here.max(), "worst": here.min()}
    reason = (
        "other classes here (exercise 5 asks for these); the {mosaic} of {} beside {} has {:.2f}"
    )
    return [
        untested(
            f"The {row['mosaic']} mosaic of {row['target']} beside {row['outer']}",
            BIAS,
            reason.format(*pair, shown[row["mosaic"]], mosaic=row["mosaic"]),
            f"Focus {row['focus']:.4f}",
        )
        for row in printed.to_dict("records")
    ]


def by_eye() -> Finding:
    """What only a person can judge."""
    return untested(
        "A person can name the shared feature from the best and worst mosaics",
        BIAS,
        "needs people: look at the figure, then at the trials for whether it was there",
        "ocellus and subtympanic shield",
    )
