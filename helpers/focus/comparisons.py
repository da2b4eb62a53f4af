"""What notebook 06 compares: accuracy with Focus, one choice with another, time with Focus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.attribution import NotConserved
from helpers.focus.intervals import summary
from helpers.focus.study import AS_IT_IS, QUICK, Networks, accuracy, answers, one, rated_here
from helpers.networks import Classifier
from helpers.sources import Collection, ImageSet

MOST = 48  # mosaics on which choices are tried
FURTHER = ("lrp-epsilon-plus", "gradient", "input-x-gradient", "guided-gradcam", "occlusion")


def with_accuracy(
    networks: Networks,
    collection: Collection,
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    settings: SimpleNamespace,
    early: Iterable[int] = (),
) -> pd.DataFrame:
    """Accuracy beside Focus for better and worse networks: rows architecture, on, accuracy, ...

    The networks on their own set; those of the set C on the other sets; and the first architecture
    stopped after few (`early`) epochs.

    Returns
    -------
    DataFrame
        architecture, set (of the mosaics), how ("own set", "other set" or "stopped early"),
        accuracy, and the mean Focus of gradcam and of lrp, each with `_low` and `_high`.
    """
    cases = [(a, s, "own set", network) for (a, s), network in networks.items()]
    for (a, s), network in networks.items():
        if s == "C" and settings.family != AS_IT_IS:
            cases += [(a, other, "other set", network) for other in images if other != s]
    if settings.family != AS_IT_IS:
        first = settings.architectures[0]
        stopped = [one(first, "C", collection, settings, epochs) for epochs in early]
        cases += [(first, "C", "stopped early", network) for network in stopped]
    rows = []
    for architecture, name, how, network in cases:
        logit = answers(architecture, images[name], settings)
        row = {"architecture": architecture, "set": name, "how": how}
        row["accuracy"] = accuracy(network, images[name], logit)["accuracy"]
        for method in ("gradcam", "lrp"):
            try:
                rated = rated_here(network, images[name], tables[name], method, settings, logit)
            except NotConserved:
                continue
            [mean] = summary(rated).to_dict("records")
            row |= {f"{method}{end}": mean[f"mean{end}"] for end in ("", "_low", "_high")}
        rows.append(row)
    return pd.DataFrame(rows)


def rank_correlation(table: pd.DataFrame, method: str, seed: int = 0) -> stats.Interval:
    """Spearman's correlation of accuracy and Focus over networks, which are resampled."""
    pairs = table[["accuracy", method]].dropna().to_numpy() if method in table else np.empty((0, 2))
    if len(pairs) < 5:
        return stats.Interval(np.nan, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    drawn = [_spearman(pairs[rng.integers(len(pairs), size=len(pairs))]) for _ in range(1000)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return stats.Interval(_spearman(pairs), float(low), float(high))


def _spearman(pairs: np.ndarray) -> float:
    return pd.DataFrame(pairs).corr("spearman").iloc[0, 1]


def other_normalisation(network: Classifier) -> Classifier:
    """The same network fed as the authors' code feeds it: mean and deviation of 0.5."""
    half = (0.5, 0.5, 0.5)
    changed = Classifier(network.network, mean=half, std=half)
    return changed.to(next(network.parameters()).device).eval()


def choices(
    network: Classifier,
    images: ImageSet,
    table: pd.DataFrame,
    settings: SimpleNamespace,
    logit: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """What each choice does to Focus on the same mosaics (facts of the paper's code; Rao 2022).

    Returns
    -------
    DataFrame
        As rows of :func:`helpers.focus.rate`, with choice, method and option.
    """
    if len(table) > MOST:
        table = table.sample(MOST, random_state=settings.seed).sort_index()
    half = other_normalisation(network)
    smooth, path = QUICK["smoothgrad"], QUICK["integrated-gradients"]
    tried = [
        ("sign", "smoothgrad", "signed", network, smooth),
        ("sign", "smoothgrad", "absolute", network, {**smooth, "reduce": "max absolute"}),
        ("sign", "integrated-gradients", "signed", network, path),
        ("sign", "integrated-gradients", "absolute", network, {**path, "reduce": "absolute sum"}),
        ("paper's settings", "smoothgrad", "sound", network, smooth),
        ("paper's settings", "smoothgrad", "paper", network, {"preset": "paper", "samples": 10}),
        ("LIME's values", "lime", "weights", network, QUICK["lime"]),
        ("LIME's values", "lime", "five best", network, {**QUICK["lime"], "best": 5}),
    ]
    for method in ("lrp", "input-x-gradient", "smoothgrad", "integrated-gradients"):
        for option, layer in (("input", "input"), ("last map", "last map")):
            more = {**QUICK.get(method, {}), "layer": layer}
            tried.append(("layer", method, option, network, more))
    for method in ("gradcam", "lrp", "integrated-gradients"):
        for option, which in (("as trained", network), ("0.5", half)):
            tried.append(("normalisation", method, option, which, QUICK.get(method, {})))
    found = []
    for choice, method, option, which, more in tried:
        try:
            rated = rated_here(which, images, table, method, settings, logit, **more)
        except NotConserved:
            continue
        found.append(rated.assign(choice=choice, option=option))
    return pd.concat(found, ignore_index=True)


def pareto(table: pd.DataFrame) -> list[str]:
    """Methods that no other beats in both time and Focus, the fastest first.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.summary`: method, seconds, mean.
    """
    ordered = table.dropna(subset=["mean"]).sort_values(
        ["seconds", "mean"], ascending=[True, False]
    )
    best = ordered["mean"].cummax()
    return ordered.loc[ordered["mean"] > best.shift(fill_value=-1.0), "method"].tolist()
