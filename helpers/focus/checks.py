"""The controls of a run as one table: what is expected, what is found, what is wrong if it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus import controls
from helpers.focus.design import design
from helpers.focus.means import mean
from helpers.focus.study import QUICK, Trainings, method_settings, rated_here
from helpers.models.networks import Classifier

ENOUGH = 96  # mosaics of class-blind maps, about
NETWORKS = 12  # of random weights
FEW = 2  # mosaics, and as many twins, that each explains
HEADS = 12  # mosaics in disconnected heads: two of each layout
ROUNDING = 1e-3  # LIME's regression is solved, not summed
LEVEL = 0.995  # of each interval: about ten are looked at, and all are to hold together


def class_blind(
    network: Classifier, images: ImageSet, settings: SimpleNamespace, logit: Mapping[str, int]
) -> pd.DataFrame:
    """Random, uniform and edge maps on the run's kind of mosaics, and with each one's twin.

    These maps ask no network anything, so one is enough.
    Intervals are of 99.5%, not 95%: of ten controls that hold, two in five runs would lose one.

    Returns
    -------
    DataFrame
        control, on ("mosaics" or "mosaics and twins"), mosaics, mean, low, high, expected, holds,
        and why, where it does not.
    """
    each = -(-ENOUGH // len(images.classes))
    shared = {"per_class": each, "seed": settings.seed}
    plain = design(images.table, images.classes, **shared)
    pairs = controls.twins(design(images.table, images.classes, outer="one class", **shared))
    rows = []
    for name, control in controls.MAPS.items():
        for on, table in (("mosaics", plain), ("mosaics and twins", pairs)):
            rated = rated_here([network], images, table, control, settings, logit, name=name)
            found = mean(rated).interval(LEVEL)
            reason = "classes differ in it: images of some have more of it than others'"
            rows.append({"control": name, "on": on} | _verdict(len(table), found, 0.5, reason))
    return pd.DataFrame(rows)


def knows_nothing(
    network: Classifier,
    images: ImageSet,
    methods: Iterable[str | Callable],
    settings: SimpleNamespace,
    logit: Mapping[str, int],
) -> pd.DataFrame:
    """Every method on networks of randomized weights; the interval is over the networks.

    Methods may be callables, as for :func:`helpers.focus.rate`. Each network explains other mosaics
    and their twins. Rows as of :func:`class_blind`; a method that refuses the network has one, too.
    """
    rows = []
    for method in methods:
        means, count = [], 0
        for seed in range(NETWORKS):
            table = design(images.table, images.classes, outer="one class", per_class=1, seed=seed)
            table = controls.twins(table.sample(min(FEW, len(table)), random_state=seed))
            more = {**method_settings(method, settings.effort), **FEWER.get(method, {})}
            blank = controls.randomized(network, seed)
            try:
                rated = rated_here([blank], images, table, method, settings, logit, **more)
            except NotConserved as refusal:
                rows.append(_refused(f"random weights: {called(method)}", "twins", 0.5, refusal))
                break
            means.append(rated["focus"].mean())
            count += int(rated["focus"].notna().sum())
        if len(means) < NETWORKS:
            continue
        known = np.array(means)[~np.isnan(means)]
        ends = scipy.stats.t.interval(
            LEVEL, max(len(known) - 1, 1), known.mean(), known.std(ddof=1) / np.sqrt(len(known))
        )
        reason = "the map follows the picture, and its classes differ"
        name = f"random weights: {called(method)}"
        found = (known.mean(), *ends)
        rows.append({"control": name, "on": "twins"} | _verdict(count, found, 0.5, reason))
    return pd.DataFrame(rows)


FEWER = {
    "smoothgrad": {"samples": 4},
    "integrated-gradients": {"steps": 4},
    "lime": {**QUICK["lime"], "samples": 24},
}
ON_SEAMS = {**QUICK["lime"], "segments": 4}
LIME = {
    "LIME": QUICK["lime"],
    "LIME, grid on seams": ON_SEAMS,
    "LIME, grid on seams, no penalty": {**ON_SEAMS, "penalty": 1e-9},
}
"""One change at a time, until LIME is right in disconnected heads."""
WHY = {
    "LIME": "superpixels across the seams show both sides, and the ridge penalty leaks",
    "LIME, grid on seams": "the ridge penalty gives a share to superpixels that do not count",
}


def heads(
    images: ImageSet, methods: Iterable[str | Callable], settings: SimpleNamespace
) -> pd.DataFrame:
    """Every method in a network of disconnected heads, of own and of shared channels.

    Methods may be callables, as for :func:`helpers.focus.rate`. LIME is there three times, with one
    change at a time, and with own channels only: it reads nothing but logits, and those are the
    same with shared ones. Rows as of :func:`class_blind`; low and high are the worst and the best
    mosaic. A method that refuses these networks has a row, too.
    """
    each = -(-HEADS // len(images.classes))
    table = design(images.table, images.classes, per_class=each, seed=settings.seed)
    table = table.sample(min(HEADS, len(table)), random_state=settings.seed)
    rows = []
    for method in methods:
        options = LIME if method == "lime" else {called(method): QUICK.get(method, {})}
        for own in (True,) if method == "lime" else (True, False):
            for name, more in options.items():
                which = "own channels" if own else "shared channels"
                control = f"disconnected heads: {name}"
                try:
                    focus = controls.disconnected(
                        images.images, table, method, own_channels=own, **more
                    )
                except NotConserved as refusal:
                    rows.append(_refused(control, which, 1.0, refusal))
                    continue
                found = (np.nanmean(focus), np.nanmin(focus), np.nanmax(focus))
                row = {"control": control, "on": which}
                rows.append(row | _verdict(len(table), found, 1.0, _reason(name, own)))
    return pd.DataFrame(rows)


def positions(
    trainings: Trainings,
    images: ImageSet,
    settings: SimpleNamespace,
    logit: Mapping[str, int],
    groups: int = 24,
) -> tuple[pd.DataFrame, float]:
    """GradCAM's Focus for the six layouts of the same four images, and Friedman's p of no effect.

    Returns
    -------
    DataFrame
        layout, groups, mean, low, high: deviation from the mean of a group's six layouts, with its
        interval over trainings and groups.
    float
        Of each group's means over the trainings.
    """
    each = -(-groups // len(images.classes))
    table = design(images.table, images.classes, per_class=each, seed=settings.seed)
    chosen = table.sample(min(groups, len(table)), random_state=settings.seed)
    table = controls.six_layouts(chosen)
    rated = rated_here(trainings, images, table, "gradcam", settings, logit)
    names, shape = list(controls.LAYOUT_NAMES), (len(trainings), -1, len(controls.LAYOUT_NAMES))
    wide = rated.pivot(index=["training", "group"], columns="layout", values="focus")[names]
    focus = wide.to_numpy().reshape(shape)
    apart = focus - focus.mean(2, keepdims=True)
    ends = [stats.mean(apart[:, :, at]).interval() for at in range(len(names))]
    rows = pd.DataFrame(ends, columns=["mean", "low", "high"])
    rows.insert(0, "layout", names)
    rows.insert(1, "groups", focus.shape[1])
    each = np.nanmean(focus, 0)
    each = each[~np.isnan(each).any(1)]
    return rows, float(scipy.stats.friedmanchisquare(*each.T).pvalue)


def _verdict(count: int, found: tuple[float, float, float], expected: float, reason: str) -> dict:
    estimate, low, high = map(float, found)
    margin = ROUNDING if expected == 1 else 1e-6
    holds = low - margin <= expected <= high + margin
    if expected == 1:
        holds = low >= 1 - ROUNDING
    row = {"mosaics": count, "mean": estimate, "low": low, "high": high, "expected": expected}
    return row | {"holds": holds, "why": "" if holds else reason}


def _refused(control: str, on: str, expected: float, reason: Exception) -> dict:
    """The row of a method that gives no map there."""
    found = dict.fromkeys(("mean", "low", "high"), np.nan)
    row = {"control": control, "on": on, "mosaics": 0, **found, "expected": expected}
    return row | {"holds": False, "why": f"gives no map: {reason}"}


def called(method: str | Callable) -> str:
    """A method's shown name, or a callable's own."""
    if callable(method):
        return getattr(method, "__name__", type(method).__name__)
    return METHODS[method].name


def _reason(name: str, own_channels: bool) -> str:
    if name in ("GradCAM", "GradCAM++") and not own_channels:
        return "it weighs whole channels, and a channel that the cells share is active in all"
    return WHY.get(name, "relevance leaves the cells that the logit sees")
