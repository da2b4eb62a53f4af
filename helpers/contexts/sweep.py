"""How often each method is right about a context, by pairs of synthetic datasets.

Each pair of `data/context_worlds.csv` has a dataset with injected biases and its
unbiased counterpart. The pair is the unit of every interval.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import scipy.stats

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
    keys = ["pair", "context_class", "dataset"]
    wide = recorded.set_index(keys)[column].unstack(keys[1:]).sort_index(axis=1)
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
    shares = {FPR: (flags[..., 1] != 0).mean(1)}
    for kind, (lower, upper) in kinds.items():
        counted = (strength >= lower) & (strength < upper)
        detected = np.where(counted, flags[..., 0] > 0, np.nan)
        shares[kind] = np.nanmean(detected[counted.any(1)], axis=1)
    rows = [_row(kind, values) for kind, values in shares.items() if len(values)]
    return pd.DataFrame(rows)


def _row(kind: str, shares: np.ndarray) -> dict:
    """Average the shares of datasets, with an interval."""
    share, low, high = stats.share(shares)
    return {
        "kind": kind,
        "n": len(shares),
        "share": share,
        "low": low,
        "high": high,
    }


def rates(recorded: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Compute the error and detection rates of each measure, over pairs of datasets.

    These are :func:`detection_rates`, and after the first row of each measure the share
    of unbiased datasets with a false positive in any of their contexts.
    """
    strength = by_pair(recorded, "bias_strength")[..., 0]
    tables = []
    for measure in measures:
        flags = flag_contexts(by_pair(recorded, measure))
        table = detection_rates(flags, strength, STRENGTHS)
        false_reports = (flags[..., 1] != 0).any(1).astype(float)
        family = pd.DataFrame([_row(FWER, false_reports)])
        parts = pd.concat([table[:1], family, table[1:]])
        tables.append(parts.assign(measure=measure))
    return pd.concat(tables, ignore_index=True)


def auc_by_context(
    recorded: pd.DataFrame, measures: Sequence[str], truth: str = "bias_strength"
) -> pd.DataFrame:
    """Compute the area under the ROC curve of each measure, by context and on average.

    By *bias_strength*, biased contexts (of a medium or strong bias) are compared with
    contexts of the unbiased counterparts. By *reliance*, contexts on which the network
    relies more than on 95% of the unbiased ones are compared with all others. AUC is
    averaged over contexts: in a pooled AUC, any number that differs between contexts
    would seem to detect a bias.
    """
    strength = by_pair(recorded, "bias_strength")
    if truth == "bias_strength":
        positive, negative = strength >= MEDIUM, strength <= strength.min()
    else:
        relied = by_pair(recorded, truth)
        positive = relied > np.quantile(relied[..., 1], 0.95, axis=0)[:, None]
        negative = ~positive
    return _by_context(recorded, measures, "auc", _curve, positive, negative)


def _curve(values: np.ndarray) -> float:
    effects, yes, no = values.T
    return area_under_curve(effects[yes > 0], effects[no > 0])


def rank_correlations(
    recorded: pd.DataFrame, measures: Sequence[str], truth: str
) -> pd.DataFrame:
    """Correlate the ranks of each measure and of a truth, by context and as their mean.

    The truth is *bias_strength* or *reliance*. Pooled over contexts, even random maps
    would correlate with the reliance, because planes are small.
    """

    def correlation(values: np.ndarray) -> float:
        ranks = scipy.stats.rankdata(values.T, axis=1)  # of effects and of truth
        varies = np.ptp(ranks, axis=1).all()
        return float(np.corrcoef(ranks)[0, 1]) if varies else np.nan

    return _by_context(
        recorded, measures, "rank_correlation", correlation, by_pair(recorded, truth)
    )


def _by_context(
    recorded, measures, name: str, number: Callable, *truths
) -> pd.DataFrame:
    """Bootstrap a statistic of effects and truths, by context and on average.

    Pairs are resampled, the same ones for each context.
    """

    def numbers(arrays: list[np.ndarray]) -> np.ndarray:
        by_context = np.moveaxis(arrays[0][:, 0], 1, 0)
        each = [number(values.reshape(-1, values.shape[-1])) for values in by_context]
        return np.array([*each, np.mean(each)])

    tables = []
    for measure in measures:
        values = np.stack([by_pair(recorded, measure), *truths], -1)
        interval = stats.bootstrap_ci([values[:, None]], numbers, resamples=400)
        table = pd.DataFrame(
            {
                "measure": measure,
                "context_class": [*contexts(recorded), ALL],
                "pairs": len(values),
                name: interval.estimate,
                "low": interval.low,
                "high": interval.high,
            }
        )
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
