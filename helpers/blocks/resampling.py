"""What a cell is worth: intervals, permutation nulls, and the price of many cells."""

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.blocks import blocks, proportions
from helpers.blocks.blocks import Grid, Sample
from helpers.blocks.clusters import exchanged, redrawn
from helpers.blocks.counts import Table, limit
from helpers.blocks.intervals import errors, extreme, extreme_ratio, outer, total

AT_ONCE = 2_000_000  # numbers in one block of resampled counts
MOST = 40_000_000  # draws x comparisons held at once
MOST_ROWS = 2_000_000  # between which groups are exchanged row by row
SIGNED = {"abs": "sabs", "rel": "srel"}


# --- resampled tables ---


def samples(
    data: Table, grid: Grid, draws: int, seed: int, null: bool
) -> Iterator[Sample]:
    """Resampled tables in stacks; `null`: groups shuffled, else rows (or clusters) drawn anew."""
    rng = np.random.default_rng([seed, int(null)])
    if data.rows is not None:
        advice = "leave out the permutations, and judge by the intervals"
        many = data.rows["times"].sum() * null
        limit(many, MOST_ROWS, "rows of clusters to exchange", advice)
        by_cluster = (exchanged if null else redrawn)(data, rng)
    size = max(
        1, min(AT_ONCE // data.counts.size, MOST // 4 // _most_pairs(data, grid))
    )
    for start in range(0, draws, size):
        number = min(size, draws - start)
        if data.rows is not None:
            tables = np.stack([*itertools.islice(by_cluster, number)])
        elif null:
            tables = shuffled_counts(data.counts, number, rng)
        else:
            n = data.counts.sum()
            tables = rng.multinomial(n, data.counts.ravel() / n, size=number)
        yield blocks.drawn(data, grid, tables.reshape(number, *data.counts.shape))


def shuffled_counts(
    counts: np.ndarray, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Tables with the groups shuffled over the rows (of each stratum): (draws, *counts.shape)."""
    drawn = [
        scipy.stats.random_table(part.sum(1), part.sum(0)).rvs(draws, "patefield", rng)
        for part in counts.reshape(-1, *counts.shape[-2:])
    ]
    return np.stack(drawn, axis=1).reshape(draws, *counts.shape)


def resampled(data: Table, grid: Grid, draws: int, seed: int) -> Sample:
    """All bootstrap tables as one stack."""
    parts = list(samples(data, grid, draws, seed, null=False))
    f = {key: np.concatenate([part.f[key] for part in parts]) for key in parts[0].f}
    return parts[0]._replace(f=f, sizes=np.concatenate([part.sizes for part in parts]))


def _most_pairs(data: Table, grid: Grid) -> int:
    return max(len(blocks.sides(data, which)[0]) for which in grid.sets)


# --- permutation null and multiplicity ---


def tested(grid: Grid) -> np.ndarray:
    """Whether more is more bias, of every cell: no sign is left, or a largest one is kept."""
    signed = {"none", *SIGNED.values()}
    every = itertools.product(grid.combinations(), grid.reductions)
    return np.array(
        [how not in signed or last in ("max", "gini") for (_, _, how), last in every]
    )


def p_values(
    observed: np.ndarray, null: np.ndarray, tested: np.ndarray
) -> pd.DataFrame:
    """Return p of every cell from its null (D, C), and p_minp, adjusted for all `tested` cells."""
    table = stats.permutation_test(np.where(tested, observed, np.nan), null)
    return table.rename(columns={"p_adjusted": "p_minp"})


# --- intervals ---
# Resampling adds noise to a worst case that is too large already. So intervals of max and min are
# intersection bounds (Chernozhukov, Lee and Rosen, Econometrica 81, 2013), of ratios on the scale
# of their logarithms; in means without sign, what is of doubtful sign counts with the size of its
# error; all else has the outer ends of the percentile and the basic interval.


def bootstrap(
    data: Table, grid: Grid, values: np.ndarray, draws: int, seed: int = 0
) -> pd.DataFrame:
    """95% interval of every cell, given its observed value: low, high; NaN where not estimable."""
    advice = "take fewer draws or groups, or sets=('vsany', 'compl')"
    limit(draws * _most_pairs(data, grid), MOST, "drawn comparisons", advice)
    plain, ends = grid._replace(epsilon=None), []
    seen = blocks.drawn(data, plain)
    rows = resampled(data, plain, draws, seed)
    drawn = proportions.wilson_shaped(data, seen, rows, seed, logarithms=False)
    factors = proportions.wilson_shaped(data, seen, rows, seed, logarithms=True)
    heavy = {which: drawn.weights(which) for which in grid.sets}
    linear = set(LINEAR) if grid.wmean is None else set(LINEAR) - {"wmean"}
    for of, which, how in grid.combinations():
        signed, unsigned = (of, which, SIGNED.get(how, how)), how in SIGNED
        ratios = signed[2] == "srel"
        estimate = seen.compared(signed)
        many = (factors if ratios else drawn).compared(signed)
        known = ~np.isnan(estimate)
        weight = seen.weights(which)[known]
        off = errors(estimate[known], many[:, known]) if known.any() else None
        for reduction in grid.reductions:
            if how != blocks.CURVE and reduction in ("max", "min"):
                least, both_ways = reduction == "min", not callable(which)
                ratios_both_ways = both_ways and ratios
                # of differences both ways, which have both signs, the largest is that of their size
                sizes = unsigned and (least or ratios_both_ways or not both_ways)
                interval = (extreme_ratio if ratios_both_ways else extreme)(
                    estimate, many, sizes, least
                )
                interval = blocks.threshold(np.array(interval), grid.epsilon)
            elif (
                how != blocks.CURVE
                and grid.epsilon is None
                and off
                and reduction in linear
            ):
                interval = total(
                    estimate[known], *off, LINEAR[reduction](weight), unsigned
                )
            else:
                again = factors.compared(signed)  # whose rates are never below 0
                size = blocks.threshold(
                    np.abs(again) if unsigned else again, grid.epsilon
                )
                reduced = factors.reduced(size, reduction, which, heavy[which])
                interval = outer(values[len(ends)], reduced)
            ends.append(np.maximum(interval, 0) if unsigned else interval)
    return pd.DataFrame(np.array(ends).reshape(-1, 2), columns=["low", "high"])


LINEAR = {  # what each comparison counts in a reduction, of their weights
    "mean": lambda weight: np.full(len(weight), 1 / len(weight)),
    "wmean": lambda weight: weight,
    "wmean_normalised": lambda weight: weight / (weight.sum() or 1),
}
