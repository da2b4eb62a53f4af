"""What notebook 06 compares: accuracy with Focus, one choice with another, time with Focus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.data import Collection, ImageSet
from helpers.explain import NotConserved
from helpers.focus.means import differences, summary
from helpers.focus.study import (
    AS_IT_IS,
    Networks,
    Trainings,
    answers,
    method_settings,
    one,
    rated_here,
    right,
)
from helpers.models.networks import Classifier

MOST = 48  # mosaics on which choices are tried
FOLLOWED = ("lrp", "lime", "gradcam")  # methods whose Focus is set beside accuracy
FURTHER = ("lrp-epsilon-plus", "gradient", "input-x-gradient", "guided-gradcam", "occlusion")


def with_accuracy(
    networks: Networks,
    collection: Collection,
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    settings: SimpleNamespace,
    early: Iterable[int] = (),
) -> pd.DataFrame:
    """Accuracy beside Focus for better and worse networks.

    The networks on their own set; those of the set C on the other sets; and the first architecture
    stopped after few (`early`) epochs. Each training is a network: it is in several rows where it
    is on several sets.

    Returns
    -------
    DataFrame
        network (a name for each), model (its name without the training), architecture, set (of the
        mosaics), how ("own set", "other set" or "stopped early"), training, accuracy, and the mean
        Focus of lrp, of gradcam and, where it is among the run's methods, of lime.
    """
    methods = [m for m in FOLLOWED if m != "lime" or m in settings.methods]
    rows = []
    for case, trainings in _cases(networks, collection, images, settings, early):
        shown = images[case["set"]], tables[case["set"]]
        logit = answers(case["architecture"], shown[0], settings)
        found = {"accuracy": right(trainings, shown[0], logit).mean(1)}
        for method in methods:
            try:
                rated = rated_here(trainings, *shown, method, settings, logit)
            except NotConserved:
                continue
            found[method] = rated.groupby("training")["focus"].mean().reindex(range(len(trainings)))
        rows.append(pd.DataFrame(found).assign(training=range(len(trainings)), **case))
    table = pd.concat(rows, ignore_index=True)
    table.insert(0, "network", table["model"] + ", training " + table["training"].astype(str))
    return table


def by_case(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the trainings of each case: model, set, how, accuracy, and Focus by method."""
    values = [name for name in ("accuracy", *FOLLOWED) if name in table]
    return table.groupby(["model", "set", "how"], sort=False)[values].mean().reset_index()


def _cases(networks, collection, images, settings, early) -> list[tuple[dict, Trainings]]:
    """Each case's own columns, and its trainings."""
    cases = [(a, s, s, "own set", trainings) for (a, s), trainings in networks.items()]
    if settings.model.fit != AS_IT_IS:
        first = settings.architectures[0]
        for (a, s), trainings in networks.items():
            others = [other for other in images if s == "C" and other != s]
            cases += [(a, s, other, "other set", trainings) for other in others]
        for epochs in early:
            trainings = one(first, "C", collection, settings, epochs)
            cases.append((first, f"C stopped after {epochs}", "C", "stopped early", trainings))
    columns = ("architecture", "set", "how")
    return [
        ({"model": f"{a} {trained}"} | dict(zip(columns, (a, s, how), strict=True)), trainings)
        for a, trained, s, how, trainings in cases
    ]


def rank_correlation(table: pd.DataFrame, method: str) -> stats.Interval:
    """Spearman's correlation of accuracy and Focus over cases; its interval is over networks.

    Parameters
    ----------
    table : DataFrame
        From :func:`with_accuracy`. All cases of a network are drawn together, for they share it.
    method : str

    Returns
    -------
    Interval
        NaN for fewer than five networks.
    """
    known = table.dropna(subset=[method]) if method in table else table.head(0)
    parts = [part[["accuracy", method]].to_numpy() for _, part in known.groupby("network")]
    if len(parts) < 5:
        return stats.Interval(np.nan, np.nan, np.nan)
    cases = np.full((1, len(parts), max(map(len, parts)), 2), np.nan)
    for at, part in enumerate(parts):
        cases[0, at, : len(part)] = part
    return stats.bootstrap(_spearman, [cases])


def _spearman(cases: list[np.ndarray]) -> float:
    pairs = cases[0].reshape(-1, 2)
    pairs = pairs[~np.isnan(pairs).any(1)]
    ranks = scipy.stats.rankdata(pairs, axis=0) - (len(pairs) + 1) / 2
    spread = np.sqrt((ranks**2).sum(0).prod())
    return float(ranks.prod(1).sum() / spread) if spread else np.nan


def most_typical(rated: pd.DataFrame) -> int:
    """The mosaic whose Focus is nearest to each method's median, summed over the methods.

    Parameters
    ----------
    rated : DataFrame
        Ratings of several methods by one network, on one design.

    Returns
    -------
    int
        Its number in the column `mosaic`; mosaics without a Focus for some method come last.
    """
    wide = rated.pivot(index="mosaic", columns="method", values="focus").dropna(axis=1, how="all")
    apart = (wide - wide.median()).abs().sum(axis=1, skipna=False)
    return int(apart.fillna(np.inf).idxmin())


def other_normalisation(network: Classifier) -> Classifier:
    """The same network fed as the authors' code feeds it: mean and deviation of 0.5."""
    half = (0.5, 0.5, 0.5)
    changed = Classifier(network.network, mean=half, std=half)
    return changed.to(next(network.parameters()).device).eval()


def choices(
    trainings: Trainings,
    images: ImageSet,
    table: pd.DataFrame,
    settings: SimpleNamespace,
    logit: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """What each choice does to Focus on the same mosaics (facts of the paper's code; Rao 2022).

    One choice at a time, from quick settings; methods that the run does not rate are left out, but
    for Input x Gradient.

    Returns
    -------
    DataFrame
        As rows of :func:`helpers.focus.rate`, with training, choice, method and option.
    """
    if len(table) > MOST:
        table = table.sample(MOST, random_state=settings.seed).sort_index()
    half = [other_normalisation(network) for network in trainings]
    found = []
    for choice, method, option, changes in TRIED:
        if method not in (*settings.methods, "input-x-gradient"):
            continue
        which = half if changes is HALF else trainings
        more = method_settings(method, "quick") | ({} if changes is HALF else changes)
        try:
            rated = rated_here(which, images, table, method, settings, logit, **more)
        except NotConserved:
            continue
        found.append(rated.assign(choice=choice, option=option))
    return pd.concat(found, ignore_index=True)


HALF: dict = {}
"""Stands for another normalisation, which is the network's and no setting of a method."""
LAST = {"layer": "last map"}
PAPERS_NOISE = {"reduce": "max absolute", "samples": 10, "sigma": 0.2}
TRIED = (
    ("sign", "smoothgrad", "signed", {}),
    ("sign", "smoothgrad", "absolute", {"reduce": "max absolute"}),
    ("sign", "integrated-gradients", "signed", {}),
    ("sign", "integrated-gradients", "absolute", {"reduce": "absolute sum"}),
    ("paper's noise", "smoothgrad", "absolute, 6 × 0.15", {"reduce": "max absolute"}),
    ("paper's noise", "smoothgrad", "absolute, 10 × 0.2", PAPERS_NOISE),
    ("values", "lime", "weights", {}),
    ("values", "lime", "five best", {"best": 5}),
    ("grid", "lime", "5 × 5, across the seams", {}),
    ("grid", "lime", "4 × 4, on the seams", {"segments": 4}),
    *(
        ("layer", method, option, changes)
        for method in ("lrp", "input-x-gradient", "smoothgrad", "integrated-gradients")
        for option, changes in (("input", {}), ("last map", LAST))
    ),
    *(
        ("normalisation", method, option, changes)
        for method in ("gradcam", "lrp", "integrated-gradients")
        for option, changes in (("as trained", {}), ("0.5", HALF))
    ),
)
"""Choice, method, option and changed settings; what changes nothing is found in the store."""


def paired(chosen: pd.DataFrame) -> pd.DataFrame:
    """What each choice changes: the second option's Focus less the first's, on the same mosaics.

    Parameters
    ----------
    chosen : DataFrame
        From :func:`choices`.

    Returns
    -------
    DataFrame
        choice, method, first, second (the options), first_mean, second_mean, difference, low, high
        (95%, of the paired difference, over trainings and images), undefined (maps without Focus
        under an option, which count in none of these).
    """
    rows = []
    for (choice, method), part in chosen.groupby(["choice", "method"], sort=False):
        first, second = part["option"].unique()
        one, other = (
            part[part["option"] == option].reset_index(drop=True) for option in (first, second)
        )
        gap = differences(other, one)
        known = one["focus"].notna() & other["focus"].notna()
        row = {"choice": choice, "method": method, "first": first, "second": second}
        row |= {
            "first_mean": one["focus"][known].mean(),
            "second_mean": other["focus"][known].mean(),
        }
        rows.append(row | {name: gap[name] for name in ("difference", "low", "high", "undefined")})
    return pd.DataFrame(rows)


def timed(rated: pd.DataFrame, set_name: str = "C") -> pd.DataFrame:
    """Focus on one set beside the shortest time that a mosaic took on any: the first call warms up.

    Parameters
    ----------
    rated : DataFrame
        Ratings of one architecture, with the column set.
    set_name : str

    Returns
    -------
    DataFrame
        As from :func:`helpers.focus.summary`.
    """
    found = summary(rated[rated["set"] == set_name])
    return found.assign(seconds=found["method"].map(rated.groupby("method")["seconds"].min()))


def pareto(table: pd.DataFrame, equal: float = 0.1) -> list[str]:
    """Methods that no other beats in both time and Focus, the fastest first.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.summary`: method, seconds, mean.
    equal : float
        Times that differ by no more than this share count as equal: the better method is then the
        one of more Focus.
    """
    known = table.dropna(subset=["mean"]).sort_values("seconds")
    rows = known[["method", "seconds", "mean"]].to_dict("records")
    return [a["method"] for a in rows if not any(_beats(b, a, 1 + equal) for b in rows)]


def _beats(one: dict, other: dict, equal: float) -> bool:
    if one["mean"] == other["mean"]:
        return one["seconds"] * equal < other["seconds"]
    return one["mean"] > other["mean"] and one["seconds"] <= other["seconds"] * equal
