"""What a cell is worth: intervals, permutation nulls, and the price of looking at many cells.

The permutation null shuffles the groups over the rows (within strata, where these are held fixed).
A worst case is far from 0 under it, the farther the more groups and the fewer rows there are.

Where all measures follow from counts, tables are drawn directly: a bootstrap draw is multinomial, a
shuffle keeps both margins and is multivariate hypergeometric. That costs the same for a thousand
rows and for ten million. Scores need rows drawn; clusters are drawn and exchanged as wholes.

The percentile interval fails for a worst case: the largest of many noisy differences is too large
already, and resampling adds the noise again. Intervals of max and min are bounds for the largest of
several quantities instead (Chernozhukov, Lee and Rosen, *Intersection bounds*, Econometrica 81,
2013). In sums and means without sign, what is of doubtful sign counts with the size of its error.
All else has the outer ends of the percentile and the reversed ("basic") interval.
"""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.blocks import blocks
from helpers.blocks.blocks import Grid, Sample
from helpers.blocks.counts import Table, places
from helpers.stats import permutation

AT_ONCE = 8_000_000  # numbers in one block of resampled counts
MOST = 40_000_000  # draws x comparisons held at once
MOST_ROWS = 2_000_000  # between which groups are exchanged row by row
SIDE = 0.025  # intervals are 95% intervals
FAR = 1e60  # stands for an infinite error, where arithmetic still works
SIGNED = {"abs": "sabs", "rel": "srel"}


# --- resampled tables ---


def samples(data: Table, grid: Grid, draws: int, seed: int, null: bool) -> Iterator[Sample]:
    """Resampled tables in stacks; `null`: groups shuffled, else rows (or clusters) drawn anew."""
    rng = np.random.default_rng([seed, int(null)])
    by_rows = any(of.of_counts is None for of in grid.measures)
    by_rows |= not (data.clusters is None and data.sample_weight is None)
    rows = (_shuffled_rows if null else _drawn_rows)(data, draws, rng)
    size = max(1, min(AT_ONCE // data.counts.size, MOST // 4 // _most_pairs(data, grid)))
    for start in range(0, draws, size):
        number, parts = min(size, draws - start), []
        for of, atoms, mass in itertools.islice(rows, number) if by_rows else ():
            table = np.bincount(places(of, atoms), mass, minlength=data.counts.size)
            table = table.reshape(1, *data.counts.shape)
            parts.append(blocks.drawn(of, grid, table, atoms, mass))
        if by_rows:
            yield _joined(parts)
        elif null:
            yield blocks.drawn(data, grid, shuffled_counts(data.counts, number, rng))
        else:
            n, shape = data.counts.sum(), (number, *data.counts.shape)
            tables = rng.multinomial(n, data.counts.ravel() / n, size=number)
            yield blocks.drawn(data, grid, tables.reshape(shape))


def shuffled_counts(counts: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Tables with the groups shuffled over the rows (of each stratum): (draws, *counts.shape)."""
    if counts.ndim == 3:
        return np.stack([shuffled_counts(part, draws, rng) for part in counts], axis=1)
    found = np.zeros((draws, *counts.shape), np.int64)
    left = np.broadcast_to(counts.sum(0), (draws, counts.shape[1])).copy()
    for k, size in enumerate(counts.sum(1)):
        needed, rest = np.full(draws, int(size)), left.sum(1)
        for outcome in range(counts.shape[1] - 1):
            rest = rest - left[:, outcome]
            found[:, k, outcome] = rng.hypergeometric(left[:, outcome], rest, needed)
            needed = needed - found[:, k, outcome]
        found[:, k, -1] = needed
        left -= found[:, k]
    return found


def _times(data: Table, draws: int, rng) -> Iterator[np.ndarray]:
    """How often each cluster (else each row) is drawn, (some draws, clusters), in stacks."""
    units = len(data) if data.clusters is None else int(data.clusters.max()) + 1
    step, n = max(1, AT_ONCE // units), int(data.number.sum())
    for start in range(0, draws, step):
        some = min(step, draws - start)
        if data.clusters is not None:
            yield stats.cluster_bootstrap(units, some, rng)
        else:
            yield rng.multinomial(n, data.number / n, size=some)


def _drawn_rows(data: Table, draws: int, rng) -> Iterator[tuple]:
    """The table, its atoms, and the mass of each row when rows, or clusters, are drawn anew."""
    whole = data.clusters is not None
    unit = data.clusters if whole else np.arange(len(data))
    each = data.mass if whole else data.mass / data.number
    for times in itertools.chain.from_iterable(_times(data, draws, rng)):
        yield data, data.groups.atoms, times[unit] * each


def _shuffled_rows(data: Table, draws: int, rng) -> Iterator[tuple]:
    """The table, and atoms and masses of its rows when groups are exchanged between them."""
    if data.times is not None and data.clusters is None:
        yield from _shuffled_tally(data, draws, rng)
        return
    data = repeated(data)
    strata = np.zeros(len(data), int) if data.strata is None else data.strata
    cluster = np.arange(len(data)) if data.clusters is None else data.clusters
    strata = [np.flatnonzero(strata == z) for z in range(int(strata.max()) + 1)]
    parts = [(rows, permutation.Clusters(cluster[rows])) for rows in strata]
    for _ in range(draws):
        atoms = data.groups.atoms.copy()
        for rows, clusters in parts:
            whole = clusters.constant(atoms[rows])
            given = atoms[rows][clusters.between(rng)]
            atoms[rows] = given if whole else given[clusters.within(rng)]
        yield data, atoms, data.mass


def _shuffled_tally(data: Table, draws: int, rng) -> Iterator[tuple]:
    """As `_shuffled_rows`, of rows that stand for many: the table of atoms by outcomes is drawn."""
    fixed = np.zeros(len(data), int) if data.strata is None else data.strata
    names = ("y_pred", "y_true", "y_score", "sample_weight")
    outcomes = pd.DataFrame({n: getattr(data, n) for n in names if getattr(data, n) is not None})
    alike = outcomes.groupby(list(outcomes))
    kinds, kind = alike.size().reset_index()[list(outcomes)], alike.ngroup()
    shape = int(fixed.max()) + 1, data.groups.member.shape[1], len(kinds)
    held = np.zeros(shape, np.int64)
    np.add.at(held, (fixed, data.groups.atoms, kind), data.times)
    stratum, atoms, of = (place.ravel() for place in np.indices(shape))
    columns = {name: kinds[name].to_numpy()[of] for name in kinds}
    strata = None if data.strata is None else stratum
    whole = replace(data.groups, atoms=atoms)
    crossed = replace(data, groups=whole, strata=strata, times=held.ravel(), **columns)
    weight = crossed.sample_weight if crossed.sample_weight is not None else 1
    step = max(1, AT_ONCE // held.size)
    for start in range(0, draws, step):
        for times in shuffled_counts(held, min(step, draws - start), rng):
            yield crossed, atoms, times.ravel() * weight


def repeated(data: Table) -> Table:
    """The table with one row for each that a row stands for; refused beyond `MOST_ROWS`."""
    if data.times is None:
        return data
    if data.times.sum() > MOST_ROWS:
        raise ValueError(
            f"clusters: groups are exchanged between {data.times.sum():,} rows, more than "
            f"{MOST_ROWS:,}; leave out the permutations, and judge by the intervals"
        )
    names = ("y_pred", "y_true", "y_score", "strata", "clusters", "sample_weight")
    columns = {name: getattr(data, name) for name in names if getattr(data, name) is not None}
    columns = {name: np.repeat(column, data.times) for name, column in columns.items()}
    by = replace(data.groups, atoms=np.repeat(data.groups.atoms, data.times))
    return replace(data, groups=by, times=None, **columns)


def _joined(parts: list[Sample]) -> Sample:
    f, curves = (
        {key: np.concatenate([getattr(s, name)[key] for s in parts]) for key in values}
        for name, values in (("f", parts[0].f), ("curves", parts[0].curves))
    )
    return replace(parts[0], f=f, sizes=np.concatenate([s.sizes for s in parts]), curves=curves)


def _most_pairs(data: Table, grid: Grid) -> int:
    return max(len(blocks.sides(data, which)[0]) for which in grid.sets)


# --- permutation null and multiplicity ---


def null_draws(data: Table, grid: Grid, draws: int, seed: int = 0) -> np.ndarray:
    """Values of all cells with the groups shuffled: float64 (draws, cells)."""
    return np.concatenate([s.cells() for s in samples(data, grid, draws, seed, null=True)])


def tails(grid: Grid) -> list[str]:
    """Which end of the null speaks of bias, of every cell: "upper", "lower" or "both"."""
    found = []
    for _, _, comparison in grid.combinations():
        for reduction in grid.reductions:
            signed = comparison in ("none", "sabs", "srel") and reduction not in ("max", "gini")
            found.append(("lower" if reduction == "min" else "both") if signed else "upper")
    return found


def p_values(observed: np.ndarray, null: np.ndarray, tails: list[str]) -> pd.DataFrame:
    """p of every cell from its null (D, C), and corrected for the number of cells; one row a cell.

    p is (1 + draws as far out) / (1 + D), NaN where a cell is not estimable or cannot vary; a draw
    that is not estimable counts as far out. p_minp is that of Westfall and Young.
    """
    signs = {"upper": (1,), "lower": (-1,), "both": (1, -1)}
    both = np.vstack([observed, null])  # under the null the observed table is one draw more
    p_all = np.ones(both.shape)
    for c, end in enumerate(tails):
        found = [_upper(sign * both[:, c]) for sign in signs[end]]
        p_all[:, c] = np.minimum(1, len(found) * np.min(found, axis=0))
    with np.errstate(invalid="ignore"):  # all draws may be infinite
        spread = np.nanmax(null, axis=0, initial=-np.inf) - np.nanmin(null, axis=0, initial=np.inf)
    untested = np.isnan(observed) | ~(spread > 1e-12)
    p = np.where(untested, np.nan, p_all[0])
    smallest = np.sort(p_all[:, ~untested].min(1)) if (~untested).any() else np.ones(1)
    minp = np.searchsorted(smallest, p + 1e-12, side="right") / len(smallest)
    several = len(p) > 1  # one cell needs no correction, and statsmodels takes its time
    holm, bh = (stats.adjust(p, how) if several else p for how in ("holm", "fdr_bh"))
    minp = np.where(untested, np.nan, minp)
    return pd.DataFrame({"p": p, "p_holm": holm, "p_bh": bh, "p_minp": minp, "tail": tails})


def _upper(values: np.ndarray) -> np.ndarray:
    """Share of values as large, of each; what is not estimable is as large as any."""
    size = np.nanmax(np.abs(values), initial=0, where=np.isfinite(values)) or 1.0
    ties = np.round(np.where(np.isnan(values), np.inf, values) / size, 9)
    return scipy.stats.rankdata(-ties, method="max") / len(ties)


def without_bias(
    rows: Sequence[int], group_counts: Sequence[int], *, draws: int = 400, seed: int = 0
) -> pd.DataFrame:
    """What differential bias (db) reads where every group has the same positive rate of 10%.

    DataFrame: n, groups (equally large on average), median, low, high (the middle 90% of `draws`
    tables where it is estimable).
    """
    rng, found = np.random.default_rng(seed), []
    for count in group_counts:
        share = np.outer(np.full(count, 1 / count), [0.9, 0, 0.1, 0]).ravel()
        for n in rows:
            drawn = rng.multinomial(n, share, size=draws).reshape(draws, count, 4)
            rates = blocks.ratio(drawn[..., 2], drawn.sum(-1))
            values = 1 - blocks.ratio(np.nanmin(rates, 1), np.nanmax(rates, 1))
            low, middle, high = np.nanquantile(values, [0.05, 0.5, 0.95])
            found.append([n, count, middle, low, high])
    return pd.DataFrame(found, columns=["n", "groups", "median", "low", "high"])


# --- intervals ---


def bootstrap(
    data: Table, grid: Grid, values: np.ndarray, draws: int, seed: int = 0
) -> pd.DataFrame:
    """95% interval of every cell, given its observed value: low, high; NaN where not estimable."""
    most = _most_pairs(data, grid)
    if draws * most > MOST:
        raise ValueError(
            f"{draws:,} bootstrap draws of {most:,} comparisons are too many "
            f"to hold ({MOST:,}); fewer draws, fewer groups, or sets=('vsany', 'compl')"
        )
    plain, ends = replace(grid, epsilon=None), []
    seen = blocks.drawn(data, plain)
    drawn = _joined(list(samples(data, plain, draws, seed, null=False)))
    heavy = {which: drawn.weights(which) for which in grid.sets}
    for block in grid.combinations():
        of, which, how = block
        signed = of, which, SIGNED.get(how, how)
        estimate, many, logs = seen.compared(signed), drawn.compared(signed), None
        known = ~np.isnan(estimate)
        errors = None if how == blocks.CURVE else errors_of(estimate, many)
        if signed[2] == "srel" and not callable(which):
            ratios = (of, which, _log_ratio)
            logs = errors_of(seen.compared(ratios), drawn.compared(ratios))
        for reduction in grid.reductions:
            found = None
            if errors and (grid.epsilon is None or reduction in ("max", "min")):
                found = _of_ratios(how, reduction, errors, logs)
                found = found or _of_cell(block, reduction, errors, seen.weights(which)[known])
                found = found and blocks.threshold(np.array(found), grid.epsilon)
            if found is None:
                size = blocks.threshold(np.abs(many) if how in SIGNED else many, grid.epsilon)
                found = outer(values[len(ends)], blocks.reduce(size, reduction, heavy[which]))
                found = np.maximum(found, 0) if how in SIGNED else found
            ends.append(found)
    return pd.DataFrame(np.array(ends).reshape(-1, 2), columns=["low", "high"])


def of_groups(data: Table, grid: Grid, draws: int, seed: int = 0) -> np.ndarray:
    """Percentile intervals of the first measure of the grid and every unit: (2, units)."""
    drawn = _joined(list(samples(data, grid, draws, seed, null=False)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a unit that no draw can estimate is NaN
        return np.nanquantile(drawn.f[grid.measures[0].name], [SIDE, 1 - SIDE], axis=0)


class Errors(NamedTuple):
    """Estimable comparisons, signed, and how far each bootstrap draw is off."""

    estimate: np.ndarray  # (P,)
    error: np.ndarray  # (D, P), draw less estimate, 0 where a draw is not estimable
    spread: np.ndarray  # (P,), standard errors


def errors_of(estimate: np.ndarray, draws: np.ndarray) -> Errors:
    """Errors and their spread, from estimates (P,) and draws (D, P)."""
    known = ~np.isnan(estimate)
    if not known.all():
        estimate, draws = estimate[known], draws[:, known]
    with np.errstate(invalid="ignore"):
        error = draws - estimate
    if np.isfinite(error).all():
        return Errors(estimate, error, error.std(0))
    error = np.nan_to_num(error, nan=0.0, posinf=FAR, neginf=-FAR)
    low, high = np.quantile(error, [0.1587, 0.8413], axis=0)  # a few infinite draws do not matter
    return Errors(estimate, error, (high - low) / 2)


def largest(estimate: np.ndarray, error: np.ndarray, spread: np.ndarray) -> tuple[float, float]:
    """Ends of an interval for the largest of several quantities (P,), with errors (D, P)."""
    if len(estimate) == 0:
        return np.nan, np.nan
    reach = _reach(len(estimate)) * spread
    near = estimate + reach >= np.max(estimate - reach)
    estimate, error = estimate[near], error[:, near]
    spread = error.std(0)
    steps = np.divide(error, spread, out=np.zeros_like(error), where=spread > 0)
    step = np.quantile(steps.max(1), 1 - SIDE)
    low = np.max(estimate - step * spread)
    high = np.max(estimate - np.quantile(error, SIDE, axis=0))
    return float(low), float(max(high, estimate.max()))


def weighted(drawn: Errors, weight: np.ndarray, unsigned: bool) -> tuple[float, float]:
    """Ends of an interval for sum(weight * x), or with `unsigned` for sum(weight * |x|)."""
    if len(drawn.estimate) == 0:
        return np.nan, np.nan
    if not unsigned:
        off = np.quantile(drawn.error @ weight, [1 - SIDE, SIDE])
        return tuple((drawn.estimate @ weight - off).tolist())
    size = np.abs(drawn.estimate)
    doubtful = size < _reach(len(size)) * drawn.spread
    signed = drawn.error @ (np.sign(drawn.estimate) * weight)
    over = drawn.error @ (np.where(doubtful, 0, np.sign(drawn.estimate)) * weight)
    over += np.abs(drawn.error[:, doubtful]) @ weight[doubtful]
    low, high = np.quantile(over, 1 - SIDE), np.quantile(signed, SIDE)
    return float(max(size @ weight - low, 0)), float(size @ weight - high)


def outer(estimate: float, draws: np.ndarray) -> tuple[float, float]:
    """The outer ends of the percentile and the basic interval of one number: draws (D,)."""
    draws = draws[~np.isnan(draws)]
    if np.isnan(estimate) or len(draws) == 0:
        return np.nan, np.nan
    low = np.quantile(draws, SIDE, method="lower")
    high = np.quantile(draws, 1 - SIDE, method="higher")
    with np.errstate(invalid="ignore"):
        ends = [low, high, 2 * estimate - high, 2 * estimate - low]
    return float(np.nanmin(ends)), float(np.nanmax(ends))


def _of_cell(block, reduction, drawn: Errors, weight: np.ndarray) -> tuple[float, float] | None:
    """Interval of a cell made of the named blocks; None for other reductions."""
    _, which, how = block
    x, error, spread = drawn
    one_way = how == "abs" and callable(which)  # named sets hold each difference with both signs
    if reduction == "max" and (how == "rel" or one_way):
        ends = largest(np.hstack([x, -x]), np.hstack([error, -error]), np.hstack([spread, spread]))
    elif reduction == "max":
        ends = largest(x, error, spread)
    elif reduction == "min":
        if how in SIGNED:
            with np.errstate(invalid="ignore"):  # an infinite ratio is never the smallest
                x, error = np.abs(x), np.abs(x + error) - np.abs(x)
        low, high = largest(-x, -error, spread)
        ends = -high, -low
    else:
        linear = {"sum": 1, "mean": 1 / max(len(x), 1), "wmean": weight}
        linear["wmean_normalised"] = weight / weight.sum() if weight.any() else 1
        if reduction not in linear:
            return None
        ends = weighted(drawn, linear[reduction] * np.ones(len(x)), how in SIGNED)
    if how in SIGNED:
        ends = max(ends[0], 0.0), ends[1]
    return tuple(np.copysign(np.inf, e) if abs(e) > FAR / 1e20 else e for e in ends)


def _log_ratio(fi: np.ndarray, fj: np.ndarray) -> np.ndarray:
    """log(fj / fi), with which 1 - fi / fj increases; NaN where a side is negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(fj) - np.log(fi)


def _of_ratios(how: str, reduction, errors: Errors, logs: Errors | None) -> tuple | None:
    """Interval of a largest or smallest relative comparison, from that of the largest log ratio x.

    The named sets hold every pair both ways: the largest of 1 - fi / fj is 1 - exp(-x), the
    smallest 1 - exp(x), and the largest |1 - fi / fj| is exp(x) - 1. None where a side is 0.
    """
    of = {("rel", "max"): (1, 1), ("srel", "max"): (-1, -1), ("srel", "min"): (1, -1)}
    if logs is None or len(logs.estimate) < len(errors.estimate) or (how, reduction) not in of:
        return None
    inside, outside = of[how, reduction]
    with np.errstate(over="ignore"):
        return tuple(sorted(outside * np.expm1(inside * np.clip(largest(*logs), 0, None))))


def _reach(count: int) -> float:
    """Standard errors that all estimates at once stay within, nineteen times in twenty."""
    return float(scipy.stats.norm.ppf(1 - 0.05 / (2 * count)))
