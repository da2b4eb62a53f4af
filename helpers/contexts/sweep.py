"""Count how often each method is right about a context, by pairs of datasets.

Each pair of ``data/context_worlds.csv`` has a dataset with injected biases and its
unbiased counterpart. The pair is the unit of every interval.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from helpers import stats
from helpers.contexts.calibration import area_under_curve, flag_contexts

# Lower ends of a medium and of a strong bias: thirds of the range, in the two digits
# that the recorded table has.
MEDIUM, STRONG = 0.33, 0.66
STRENGTHS = {
    "detection rate, weak bias": (0, MEDIUM),
    "detection rate, medium bias": (MEDIUM, STRONG),
    "detection rate, strong bias": (STRONG, 1.01),
}
FPR, FWER = "false positive rate", "family-wise error rate per report"
STRONG_BIAS = "detection rate, strong bias"
ALL = "mean of the contexts"
# The best comparison without a control model on six pairs that were not recorded.
BEST = "context alone, logits, minus other contexts"


def by_pair(recorded: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column as (pairs, contexts, 2): biased datasets, then counterparts."""
    columns = ["context_class", "dataset"]
    wide = recorded.pivot(index="pair", columns=columns, values=column)
    wide = wide.sort_index(axis=1)
    return wide.to_numpy(float).reshape(len(wide), -1, 2)


def contexts(recorded: pd.DataFrame) -> list[str]:
    """Return the classes of the contexts, in the order of :func:`by_pair`."""
    return sorted(recorded["context_class"].unique())


def detection_rates(
    flags: np.ndarray, strength: np.ndarray, kinds: Mapping[str, tuple[float, float]]
) -> pd.DataFrame:
    """Compute the false positive rate, and detection rates by bias strength.

    Parameters
    ----------
    flags : array of float (datasets, contexts, 2)
        Flags from `calibration.flag_contexts`, with the bias and without it. Every flag
        without the bias is a false positive. A detection is a bias that is flagged as
        *more*.
    strength : array of float (datasets, contexts)
        Strength of each bias.
    kinds : mapping of str to (float, float)
        Ranges of bias strengths, lower ends included, by the rate's name.

    Returns
    -------
    pandas.DataFrame
        One row per rate: the mean over the `n` datasets that it is defined for, with
        its interval.
    """
    is_false = flags[..., 1] != 0
    is_detected = flags[..., 0] > 0
    shares = {FPR: is_false.mean(axis=1)}
    for kind, (lower, upper) in kinds.items():
        in_range = (strength >= lower) & (strength < upper)
        counted = np.where(in_range, is_detected, np.nan)[in_range.any(axis=1)]
        if len(counted):
            shares[kind] = np.nanmean(counted, axis=1)
    rows = [
        [kind, len(of_kind), *stats.share(of_kind)] for kind, of_kind in shares.items()
    ]
    return pd.DataFrame(rows, columns=["kind", "n", "share", "low", "high"])


def rates(
    recorded: pd.DataFrame,
    measures: Sequence[str],
    flag: Callable = flag_contexts,
) -> pd.DataFrame:
    """Compute the error and detection rates of each measure, over pairs of datasets.

    These are :func:`detection_rates` of the flags by `flag`. The last row of each
    measure is the share of unbiased datasets with a false positive in any context.
    """
    strength = by_pair(recorded, "bias_strength")[..., 0]
    tables = []
    for measure in measures:
        flags = flag(by_pair(recorded, measure))
        table = detection_rates(flags, strength, STRENGTHS)
        is_in_error = (flags[..., 1] != 0).any(axis=1)
        table.loc[len(table)] = [FWER, len(flags), *stats.share(is_in_error * 1.0)]
        tables.append(table.assign(measure=measure))
    return pd.concat(tables, ignore_index=True)


def by_interval(recorded: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Compute false positives of a rule without a threshold.

    The rule flags a context where its 95% interval excludes zero.

    Returns
    -------
    pandas.DataFrame
        One row per measure, from the unbiased counterparts: the false positive rate per
        context (`fpr`), the family-wise error rate per report (`fwer`, any context of a
        dataset), and the most frequent false positive with its number of datasets.
    """
    unbiased = recorded[recorded["dataset"] == "unbiased"]
    rows = []
    for measure in measures:
        direction = unbiased[f"direction: {measure}"]
        is_flagged = direction != 0
        by_dataset = is_flagged.groupby(unbiased["pair"])
        sign = direction.map({1: "more", -1: "less"})  # NaN if not flagged
        counts = (unbiased["context_class"] + ": " + sign).value_counts(sort=False)
        most_frequent = "none"
        if len(counts):
            most_frequent = f"{counts.idxmax()} in {counts.max()}"
        row = {
            "measure": measure,
            "fpr": is_flagged.mean(),
            "fwer": by_dataset.any().mean(),
            "most_frequent": most_frequent,
        }
        rows.append(row)
    return pd.DataFrame(rows).set_index("measure")


def auc_by_context(
    recorded: pd.DataFrame,
    measures: Sequence[str],
    area: Callable = area_under_curve,
) -> pd.DataFrame:
    """Compute the area under the ROC curve of each measure, by context and on average.

    Contexts with a medium or strong bias are compared with contexts of the unbiased
    counterparts. AUC is averaged over contexts, because in a pooled AUC any number
    that differs between contexts would seem to detect a bias.
    """
    auc = partial(_auc, area=area)
    return _by_context(recorded, measures, "auc", auc, *_is_biased(recorded))


def _is_biased(recorded: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Say which contexts have a medium or strong bias, and which have none."""
    strength = by_pair(recorded, "bias_strength")
    return strength >= MEDIUM, strength <= strength.min()


def _auc(values: np.ndarray, area: Callable) -> float:
    """Compute the AUC from rows of effect, is biased, and is unbiased."""
    effect, is_biased, is_unbiased = values.T
    return area(effect[is_biased > 0], effect[is_unbiased > 0])


def auc_difference(
    first: pd.DataFrame,
    second: pd.DataFrame,
    measures: tuple[str, str],
    area: Callable = area_under_curve,
) -> stats.Interval:
    """Subtract the second measure's mean AUC from the first measure's.

    Parameters
    ----------
    first, second : pandas.DataFrame
        The recorded rows of the same pairs, from which the first and the second measure
        are taken.
    measures : tuple of str
        The two measures.
    area : callable
        Computes the area under the curve, from lesson 05b.

    Returns
    -------
    Interval
        The difference, with an interval over pairs. The standard error is the
        jackknife's, from the differences without one pair each.
    """
    auc = partial(_auc, area=area)
    areas = []
    for recorded, measure in zip((first, second), measures, strict=True):
        positive, negative = _is_biased(recorded)
        values = np.stack([by_pair(recorded, measure), positive, negative], -1)
        without_one = [np.delete(values, n, axis=0) for n in range(len(values))]
        areas.append([_numbers(part, auc)[-1] for part in [values, *without_one]])
    gap, *gaps = np.subtract(*areas)
    error = np.std(gaps) * np.sqrt(len(gaps) - 1)
    return stats.Mean(gap, error, len(gaps) - 1).interval()


def rank_correlations(
    recorded: pd.DataFrame, measures: Sequence[str], truth: str
) -> pd.DataFrame:
    """Correlate the ranks of each measure and of a truth, by context and as their mean.

    The truth is *bias_strength* or *reliance*. Pooled over contexts, even random maps
    would correlate with the reliance, because planes are small.
    """

    def correlation(values: np.ndarray) -> float:
        return stats.spearman(*values.T).estimate

    truths = by_pair(recorded, truth)
    return _by_context(recorded, measures, "rank_correlation", correlation, truths)


def _by_context(
    recorded: pd.DataFrame,
    measures: Sequence[str],
    name: str,
    statistic: Callable,
    *truths: np.ndarray,
) -> pd.DataFrame:
    """Bootstrap a statistic of effects and truths, by context and on average.

    Pairs are resampled, the same ones for each context.
    """
    tables = []
    for measure in measures:
        values = np.stack([by_pair(recorded, measure), *truths], -1)
        interval = stats.bootstrap_ci(
            [values[:, None]],
            lambda arrays: _numbers(arrays[0][:, 0], statistic),
            resamples=400,
        )
        table = {
            "measure": measure,
            "context_class": [*contexts(recorded), ALL],
            "pairs": len(values),
            name: interval.estimate,
            "low": interval.low,
            "high": interval.high,
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def _numbers(values: np.ndarray, statistic: Callable) -> np.ndarray:
    """Compute a statistic of each context, and append their mean.

    `values` is (pairs, contexts, datasets, columns).
    """
    of_contexts = [
        statistic(part.reshape(-1, values.shape[-1]))
        for part in np.moveaxis(values, 1, 0)
    ]
    return np.array([*of_contexts, np.mean(of_contexts)])
