"""How often is each method right about a context? By pairs of sweeps/context_worlds.py: a world
with a bias and its clean twin. The pair is the unit of every interval."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.contexts.calibration import area_under_curve, clear

PLANTED = 0.5  # the least dose that is called planted where a table has no doses
BINS = {
    "found at doses below .5": (0.25, 0.5),
    "found at .5 to .75": (0.5, 0.75),
    "found above .75": (0.75, 1.01),
}
A_CONTEXT, A_PAGE = "false alarms by context", "false alarms by page"
ALL = "mean of the contexts"
# of the comparisons without a reference the best on six pairs that were not recorded
BEST = "context alone, logits, less other contexts"


def by_pair(worlds: pd.DataFrame, column: str) -> np.ndarray:
    """A column of the pairs as (pairs, contexts, 2): the biased world, and its twin."""
    keys = ["pair", "context_class", "world"]
    wide = worlds.set_index(keys)[column].unstack(keys[1:]).sort_index(axis=1)
    return wide.to_numpy(float).reshape(len(wide), -1, 2)


def contexts(worlds: pd.DataFrame) -> list[str]:
    """The classes of the contexts, in the order of :func:`by_pair`."""
    return sorted(worlds["context_class"].unique())


def rates(worlds: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """How often each measure calls a context (`calibration.clear`): *more* or *less* in the twins,
    by context and page; *more* in the biased worlds, by dose. A row a measure and kind with the
    share of a pair's contexts, mean over pairs with its interval; less is the share of *less*."""
    dose, rows = by_pair(worlds, "dose")[..., 0], []
    for measure in measures:
        planted, nothing = np.moveaxis(clear(by_pair(worlds, measure)), 2, 0)
        kinds = {
            A_CONTEXT: (nothing != 0, dose >= 0),
            A_PAGE: (nothing != 0, dose >= 0),
        }
        for kind, (low, high) in BINS.items():
            kinds[kind] = planted > 0, (dose >= low) & (dose < high)
        for kind, (called, these) in kinds.items():
            some, by = these.any(1), np.nanmax if kind == A_PAGE else np.nanmean
            each = by(np.where(these, called, np.nan)[some], axis=1)
            row = {"measure": measure, "kind": kind, "pairs": len(each)}
            row["less"] = (planted < 0)[these].mean() if kind in BINS else np.nan
            rows.append(
                row
                | dict(zip(("share", "low", "high"), stats.share(each), strict=True))
            )
    return pd.DataFrame(rows)


def told_apart(
    worlds: pd.DataFrame, measures: Sequence[str], truth: str = "dose"
) -> pd.DataFrame:
    """The area under the ROC curve of each measure, by context and for all: contexts that were
    planted (dose of .5 and more) against the twins'; or, by *reliance*, contexts on which the
    network relies more than 95% of the twins' do, against all others. For all it is the contexts'
    mean: pooled, any number that differs between contexts would seem to tell."""
    dose = by_pair(worlds, "dose")
    planted = dose >= PLANTED
    if truth != "dose":
        relied = by_pair(worlds, truth)
        planted = relied > np.quantile(relied[..., 1], 0.95, axis=0)[:, None]
    nothing = ~planted if truth != "dose" else dose <= dose.min()
    return _by_context(worlds, measures, "auc", _curve, planted, nothing)


def _curve(values: np.ndarray) -> float:
    effects, yes, no = values.T
    return area_under_curve(effects[yes > 0], effects[no > 0])


def follows(worlds: pd.DataFrame, measures: Sequence[str], truth: str) -> pd.DataFrame:
    """Rank correlation of each measure with a truth (*dose*, *reliance*), by context, and the mean
    of these: pooled, even random maps would follow the reliance, for planes are small."""

    def correlation(values: np.ndarray) -> float:
        ranks = scipy.stats.rankdata(values.T, axis=1)  # of effects and of truth
        varies = np.ptp(ranks, axis=1).all()
        return float(np.corrcoef(ranks)[0, 1]) if varies else np.nan

    return _by_context(
        worlds, measures, "rank_correlation", correlation, by_pair(worlds, truth)
    )


def _by_context(worlds, measures, name: str, number: Callable, *truths) -> pd.DataFrame:
    """A number of effects and truths, by measure and context, and their mean; pairs are drawn, the
    same ones for each context: the mean's numbers are those that the contexts had."""

    def numbers(arrays: list[np.ndarray]) -> np.ndarray:
        by_context = np.moveaxis(arrays[0][:, 0], 1, 0)
        each = [number(one.reshape(-1, one.shape[-1])) for one in by_context]
        return np.array([*each, np.mean(each)])

    tables = []
    for measure in measures:
        values = np.stack([by_pair(worlds, measure), *truths], -1)
        ends = stats.bootstrap_ci([values[:, None]], numbers, resamples=400)
        columns = {"measure": measure, "context_class": [*contexts(worlds), ALL]}
        columns |= {"pairs": len(values), name: ends.estimate}
        tables.append(pd.DataFrame(columns | {"low": ends.low, "high": ends.high}))
    return pd.concat(tables, ignore_index=True)
