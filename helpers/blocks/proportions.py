"""Intervals of differences of rates, which keep a width where a rate is 0 or 1.
Resampling rows shows no variation there, so Wilson's interval of each rate is the basis."""

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.sparse
import scipy.stats

from helpers import stats
from helpers.blocks import blocks, intervals
from helpers.blocks.blocks import Sample
from helpers.blocks.counts import Table, ratio
from helpers.stats.proportions import newcombe, wilson_end

MOST_UNITS = (
    20_000_000  # units x counts, up to which units have an interval of their own
)
LIKE_THE_OTHERS = (
    2  # rows with the group's overall rate that are added to each of its strata
)


def with_units(data: Table) -> Table:
    """Return the same table with all its units as groups: groups, everyone and complements."""
    member = data.groups.member.toarray()
    everyone = np.ones((1, member.shape[1]))
    units = scipy.sparse.csr_array(np.vstack([member, everyone, 1 - member]))
    groups = dataclasses.replace(data.groups, names=data.units, member=units)
    return dataclasses.replace(data, groups=groups)


def differences(
    data: Table, of: str, which: str | Callable = "pairs"
) -> tuple[np.ndarray, np.ndarray]:
    """Compute Newcombe's intervals of the differences of a rate over all pairs of a set.

    Parameters
    ----------
    data : Table
        Counts of groups. Weighted or clustered rows count as many independent rows as have the
        same error; clusters with rows of both sides make the two rates dependent.
    of : str
        A rate of `blocks.SHARES`.
    which : str or callable, default="pairs"
        The comparison set. Both sides of a pair must be different rows.

    Returns
    -------
    low, high : numpy.ndarray of shape (P,)
        Ends for first minus second side; NaN where one of them has no rows that count.
        With strata both sides have the mix of them that everyone has, which is taken as known.
    """
    units = with_units(data)
    i, j = blocks.sides(data, which)
    if data.counts.ndim == 3:
        first, second = _standardised(data, units, of, i, j)
        correlation = 0.0
    else:
        value = blocks.share(
            units.kinds, units.mass(units.pooled)[: len(units.groups)], of
        )
        _, _, off = intervals.deviations(units, of, value)
        _, trials = intervals.independent(units, of, value)
        ends = (value, *_wilson(value, trials))
        first = tuple(end[i] for end in ends)
        second = tuple(end[j] for end in ends)
        correlation = _correlation(off.tocsr(), i, j)
    difference = newcombe(first, second, correlation)
    return difference.low, difference.high


def _wilson(value: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's ends of shares, NaN where there is no share."""
    low, high = stats.wilson(np.nan_to_num(value).clip(0, 1) * trials, trials)
    missing = np.isnan(value)
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def _correlation(
    off: scipy.sparse.csr_array, i: np.ndarray, j: np.ndarray
) -> np.ndarray:
    """Correlate two sides' rates, from what each cluster adds to the error of either."""
    together = np.asarray(off[i].multiply(off[j]).sum(1)).ravel()
    size = np.sqrt(np.asarray(off.multiply(off).sum(1)).ravel())
    return np.nan_to_num(ratio(together, size[i] * size[j])).clip(-1, 1)


def _rows_by_stratum(data: Table, units: Table, of: str) -> np.ndarray:
    """Count the rows of each stratum and unit that a rate is a share of (Z, U), as independent."""
    kinds = units.kinds.drop(columns="sample_weight", errors="ignore")
    rows = dataclasses.replace(units, kinds=kinds).mass()[..., : len(units.groups), :]
    counted = np.isin(units.kinds["cell"], blocks.SHARES[of][1])
    weight = counted * np.asarray(units.kinds.get("sample_weight", 1.0))
    trials = np.nan_to_num(ratio((rows @ weight) ** 2, rows @ weight**2))
    if data.rows is None:
        return trials
    value = blocks.share(units.kinds, units.mass(units.pooled)[: len(units.groups)], of)
    _, clustered = intervals.independent(units, of, value)
    _, single = intervals.independent(dataclasses.replace(units, rows=None), of, value)
    return trials * np.nan_to_num(ratio(clustered, single)).clip(0, 1)


def _standardised(
    data: Table, units: Table, of: str, i: np.ndarray, j: np.ndarray
) -> tuple:
    """Return both sides' rates with everyone's mix of strata, and Wilson's ends of each."""
    size = len(units.groups)
    mass = units.mass()[..., :size, :]
    value = blocks.share(units.kinds, mass, of)
    rows = _rows_by_stratum(data, units, of)
    known = ~np.isnan(value[:, i]) & ~np.isnan(value[:, j])
    mix = np.where(known, mass.sum(-1)[:, [len(data.groups)]], 0)
    mix = ratio(mix, mix.sum(0))
    sides = []
    for side in (i, j):
        rate = np.nan_to_num(value[:, side])
        together = np.where(known.any(0), (mix * rate).sum(0), np.nan)
        trials = _trials(rate, rows[:, side], together, mix)
        sides.append((together, *_wilson(together, trials)))
    return tuple(sides)


def _trials(rate, rows, together, mix) -> np.ndarray:
    """Count the independent rows that would have the error of a rate over strata: (P,)."""
    shrunken_count = rate * rows + LIKE_THE_OTHERS * together
    # a stratum of few rows may be all 0 by chance
    shrunken_rate = shrunken_count / (rows + LIKE_THE_OTHERS)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(mix > 0, mix**2 / rows, 0)
        variance = (share * shrunken_rate * (1 - shrunken_rate)).sum(0)
        trials_interior = together * (1 - together) / variance
        trials_boundary = 1 / share.sum(0)
    trials = np.where(np.isin(together, (0, 1)), trials_boundary, trials_interior)
    return np.nan_to_num(trials, posinf=0)


# --- resampled rates with the widths of Wilson's intervals ---


def wilson_shaped(
    data: Table, seen: Sample, drawn: Sample, seed: int, *, logarithms: bool
):
    """Replace each unit's draws by quantiles of its Wilson interval.

    The rank of a draw gives its normal quantile z. Tied draws are ranked at random.

    Parameters
    ----------
    data : Table
        Whose rates were drawn.
    seen, drawn : Sample
        The observed rates, and the resampled ones.
    seed : int
        Seed of the random ranks of tied draws.
    logarithms : bool
        Intervals are estimates minus errors. So draws lie on the other side of the estimate than
        Wilson's ends, by the same difference or, for ratios, by the same factor.

    Returns
    -------
    Sample
        As `drawn`; rates that fit no table of units, and what is no rate, are as they were.
    """
    if len(data.units) * data.counts.size > MOST_UNITS:
        return drawn
    units, f = with_units(data), dict(drawn.f)
    rng = np.random.default_rng([seed, 2])
    _, same_rows = np.unique(units.groups.member.toarray(), axis=0, return_inverse=True)
    many = len(drawn.sizes), same_rows.max() + 1
    for measure in seen.grid.measures:
        if measure.name not in blocks.SHARES or not measure.needs:
            continue
        name = measure.name
        estimate, draws = seen.f[name], drawn.f[name]
        ties = rng.random(many)[
            :, same_rows.reshape(-1)
        ]  # units of the same rows move as one
        if data.counts.ndim == 3:
            f[name] = _at_the_edge(data, units, name, estimate, draws, ties, logarithms)
        else:
            _, trials = intervals.independent(units, name, estimate)
            f[name] = _shaped(estimate, trials, draws, ties, logarithms)
    return drawn._replace(f=f)


def _shaped(estimate, trials, draws, ties, logarithms: bool) -> np.ndarray:
    """Return draws (D, U) of rates (U,) with the widths of Wilson's intervals."""
    missing = np.isnan(draws)
    order = np.lexsort(
        (ties, draws), axis=0
    )  # NaN is last, so the other draws have ranks from 0
    rank = np.argsort(order, axis=0)
    level = ratio(rank + 0.5, (~missing).sum(0))
    z = scipy.stats.norm.ppf(np.where(missing, np.nan, level))
    opposite = wilson_end(estimate, trials, -z)
    if logarithms:
        none = wilson_end(estimate, trials, z)
        shaped = np.where(estimate > 0, ratio(estimate**2, opposite), none)
    else:
        shaped = 2 * estimate - opposite
    return np.where(np.isnan(shaped) | np.isnan(draws), draws, shaped)


def _at_the_edge(
    data, units, name: str, estimate, draws, ties, logarithms: bool
) -> np.ndarray:
    """Return draws (D, Z, U) with a spread for units that are 0, or 1, in every stratum."""
    known = ~np.isnan(estimate)
    rows = _rows_by_stratum(data, units, name)
    mix = np.where(known, units.mass().sum(-1)[:, [len(data.groups)]], 0)
    mix = ratio(mix, mix.sum(0))
    shaped = draws.copy()
    for edge in (0.0, 1.0):
        at = known.any(0) & (np.where(known, estimate, edge) == edge).all(0)
        if at.any():
            whole = np.full(at.sum(), edge)
            trials = _trials(
                np.nan_to_num(estimate[:, at]), rows[:, at], whole, mix[:, at]
            )
            alike = np.full((len(draws), at.sum()), edge)
            one = _shaped(whole, trials, alike, ties[:, at], logarithms)
            shaped[..., at] = np.where(
                np.isnan(draws[..., at]), np.nan, one[:, None, :]
            )
    return shaped
