"""The four blocks of a measure of bias, each a plain function, and one cell made of them. Measures
have a value for each *unit*: G groups, everyone, G complements; NaN where a denominator is 0."""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers import store
from helpers.blocks import chance
from helpers.blocks.counts import PLACES, UNKNOWN, Table, confusion, known, limit, ratio
from helpers.blocks.curves import auc, between_rocs, by_score, representation

MOST_PAIRS = 4_000_000
BINS = 10  # of the calibration error
CURVE = "curve"  # the comparison of curves, of the measures that have one


# --- base measures F(S), section 4.2: of what units have of each kind, (..., U, J) -> (..., U) ---


class Measure(NamedTuple):
    """One base measure: the columns it needs, and F of the table of kinds and of their masses."""

    name: str
    needs: set[str]
    of: Callable[[pd.DataFrame, np.ndarray], np.ndarray]
    curve: Callable | None = None


def mean_score(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """Mean of the scores of a group's rows."""
    return ratio(mass @ kinds["y_score"].to_numpy(), mass.sum(-1))


def calibration_error(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """The mean of |mean score - share of positives| over bins, by what they hold."""
    known = (kinds["y_true"] != UNKNOWN).to_numpy()
    kinds, mass = kinds[known], mass[..., known]
    bins = np.minimum((kinds["y_score"].to_numpy() * BINS).astype(int), BINS - 1)
    wrong = (kinds["y_score"] - kinds["y_true"]).to_numpy()[:, None]
    return ratio(
        np.abs(mass @ (wrong * (bins[:, None] == range(BINS)))).sum(-1), mass.sum(-1)
    )


def auc_error(data: Table) -> np.ndarray:
    """Half the share of pairs of one score: how far auc is off at most if it was rounded."""
    negative, positive = by_score(data.kinds, data.mass())
    return ratio((negative * positive).sum(-1), 2 * negative.sum(-1) * positive.sum(-1))


TN, FN, FP, TP, PREDICTED_0, PREDICTED_1 = range(
    PLACES
)  # the last two without a known y_true
SHARES = {  # of each rate: the cells that are counted, and those they are a share of
    "pr": ((FP, TP, PREDICTED_1), (TN, FN, FP, TP, PREDICTED_0, PREDICTED_1)),
    "tpr": ((TP,), (TP, FN)),
    "tnr": ((TN,), (TN, FP)),
    "fpr": ((FP,), (TN, FP)),
    "fnr": ((FN,), (TP, FN)),
    "ppv": ((TP,), (TP, FP)),
    "npv": ((TN,), (TN, FN)),
    "acc": ((TN, TP), (TN, FN, FP, TP)),
    "error": ((FN, FP), (TN, FN, FP, TP)),
    "prevalence": ((FN, TP), (TN, FN, FP, TP)),
}


def share(kinds: pd.DataFrame, mass: np.ndarray, name: str) -> np.ndarray:
    """A rate of `SHARES`."""
    cells = confusion(kinds, mass)
    return ratio(*(sum(cells[..., i] for i in part) for part in SHARES[name]))


ALONE = {"pr": {"y_pred"}, "prevalence": {"y_true"}}
MEASURES = {
    of: Measure(
        of, ALONE.get(of, {"y_pred", "y_true"}), functools.partial(share, name=of)
    )
    for of in SHARES
} | {
    "score": Measure("score", {"y_score"}, mean_score),
    "calibration": Measure("calibration", {"y_score", "y_true"}, calibration_error),
    "ar": Measure("ar", {"y_score"}, representation),
    "ar_dcg": Measure(
        "ar_dcg", {"y_score"}, functools.partial(representation, dcg=True)
    ),
    "auc": Measure("auc", {"y_score", "y_true"}, auc, between_rocs),
}


def measure(of: str | Measure | Callable[[pd.DataFrame], float]) -> Measure:
    """A base measure by its name, or from a function of a group's rows (a DataFrame)."""
    if not callable(of):
        return of if isinstance(of, Measure) else _block("base measure", MEASURES, of)

    def of_units(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
        times = np.round(mass).astype(int).reshape(-1, len(kinds))
        parts = (kinds.loc[kinds.index.repeat(row)] for row in times)
        values = [float(of(part)) if len(part) else np.nan for part in parts]
        return np.reshape(values, mass.shape[:-1])

    return Measure(name_of(of), set(), of_units)


def lacking(data: Table) -> dict[str, str]:
    """The named measures that a table cannot give, and the columns or rows they would need."""
    needed = {name: sorted(of.needs - data.has) for name, of in MEASURES.items()}
    if "y_score" in data.has and not data.kinds["y_score"].between(0, 1).all():
        needed["calibration"] = ["scores between 0 and 1"]
    if {"y_pred", "y_true"} <= data.has:
        rows = confusion(data.kinds, data.pooled.sum(0))
        for predicted, cells, unknown in (
            (0, [TN, FN], PREDICTED_0),
            (1, [FP, TP], PREDICTED_1),
        ):
            if rows[unknown] and not rows[cells].any():
                for name, (_, of) in SHARES.items():
                    if name != "pr" and {*of} & {*cells}:
                        needed[name] = [
                            f"outcomes of rows that were predicted {predicted}"
                        ]
    return {name: " and ".join(columns) for name, columns in needed.items() if columns}


# --- comparison sets C(S), section 4.1: places (i, j) of the two sides, none with itself ---


def both_ways(i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every comparison of i with j, and of j with i."""
    return np.concatenate([i, j]), np.concatenate([j, i])


def pairs(g: int) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of groups (Equation 7)."""
    advice = (
        "merge small groups, or compare with everyone ('vsany') or the rest ('compl')"
    )
    limit(g * (g - 1), MOST_PAIRS, f"pairs of {g:,} groups", advice)
    return np.nonzero(~np.eye(g, dtype=bool))


def alone(g: int) -> tuple[np.ndarray, np.ndarray]:
    """Every group once, with everyone as its other side: for means over groups of F itself."""
    return np.arange(g), np.full(g, g)


def with_everyone(g: int) -> tuple[np.ndarray, np.ndarray]:
    """Every group once, and everyone as one group more."""
    return np.arange(g + 1), np.full(g + 1, g)


SETS = {
    "vsany": lambda g: both_ways(
        np.arange(g), np.full(g, g)
    ),  # with everyone, Equation 6
    "pairs": pairs,
    "compl": lambda g: both_ways(
        np.arange(g), g + 1 + np.arange(g)
    ),  # with the rest, Equation 8
}


def sides(data: Table, which: str | Callable) -> tuple[np.ndarray, np.ndarray]:
    """Return the comparisons of a set, by its name or from a function of the number of groups."""
    return _block("comparison set", SETS, which)(len(data.groups))


def _block(kind: str, named: dict, which: str | Callable):
    """Return a block by its name, or the user's function; an unknown name is refused."""
    if callable(which):
        return which
    known(kind, named, which)
    return named[which]


# --- comparisons of two sides, section 4.3: a ratio over 0 is infinite, 0/0 is NaN ---

COMPARISONS = {
    "none": lambda fi, fj: np.array(fi, float),
    "abs": lambda fi, fj: np.abs(fi - fj),
    "rel": lambda fi, fj: np.abs(1 - ratio(fi, fj)),
    "sabs": lambda fi, fj: fi - fj,
    "srel": lambda fi, fj: 1 - ratio(fi, fj),
}


def threshold(compared: np.ndarray, epsilon: float | None) -> np.ndarray:
    """max(0, comparison - epsilon), or the comparison itself for None (0 cuts negative ones)."""
    return compared if epsilon is None else np.maximum(compared - epsilon, 0)


# --- reductions of all comparisons, section 4.4: (x, known, weight), each (..., P) -> (...) ---


def _sum(x, known):
    return (x if known.all() else np.where(known, x, 0)).sum(-1)


def _gini(x, known, weight):
    """Mean absolute difference over twice the mean; NaN where one is negative or all are 0."""
    m, place = known.sum(-1), np.arange(1, x.shape[-1] + 1)
    ordered = np.sort(np.where(known, x, np.inf), -1)
    ordered = np.where(place <= m[..., None], ordered, 0)
    total = ordered.sum(-1)
    coefficient = ratio((ordered * (2 * place - m[..., None] - 1)).sum(-1), m * total)
    return np.where((ordered.min(-1) >= 0) & (total > 0), np.abs(coefficient), np.nan)


REDUCTIONS = {
    "max": lambda x, known, weight: np.fmax.reduce(x, -1),
    "min": lambda x, known, weight: np.fmin.reduce(x, -1),
    "mean": lambda x, known, weight: ratio(_sum(x, known), known.sum(-1)),
    "wmean": lambda x, known, weight: _sum(
        x * weight, known
    ),  # `chance.wmean`: as printed
    "wmean_normalised": lambda x, known, weight: ratio(
        _sum(x * weight, known), np.where(known, weight, 0).sum(-1)
    ),
    "gini": _gini,
}


def reduce(compared: np.ndarray, how: str | Callable, weight: np.ndarray):
    """Many comparisons (..., P) to one number (...), of those that are estimable (not NaN). A
    callable gets these (m,) and their `weights`, and returns a number."""
    block, known = _block("reduction", REDUCTIONS, how), ~np.isnan(compared)
    if callable(how):
        parts = (compared, known, np.broadcast_to(weight, compared.shape))
        rows = zip(
            *(part.reshape(-1, compared.shape[-1]) for part in parts), strict=True
        )
        values = [float(how(x[k], w[k])) if k.any() else np.nan for x, k, w in rows]
        return np.reshape(values, compared.shape[:-1])
    with np.errstate(invalid="ignore"):
        return np.where(known.any(-1), block(compared, known, weight), np.nan)


# --- cells: all combinations of blocks, on the table itself or on a stack of resampled ones ---


class Grid(NamedTuple):
    """Which blocks are combined; every combination that has a meaning is a cell."""

    measures: tuple[Measure, ...]
    sets: tuple[str | Callable, ...]
    comparisons: tuple[str | Callable, ...]
    reductions: tuple[str | Callable, ...]
    epsilon: float | None = None
    wmean: Callable | None = None  # an edited `chance.wmean`, of lesson 09

    def combinations(self) -> list[tuple[Measure, str | Callable, str | Callable]]:
        """Combinations of measure, set and comparison; curves only for measures that have one."""
        every = itertools.product(self.measures, self.sets, self.comparisons)
        return [block for block in every if block[2] != CURVE or block[0].curve]


class Sample(NamedTuple):
    """A table or resampled ones: `f`, by measure F (..., U), or (..., Z, U) by stratum, of units,
    and by (measure, set) the areas between curves (..., P); `sizes` are like an F."""

    data: Table
    grid: Grid
    f: dict
    sizes: np.ndarray

    def sides(self, name: str, which: str | Callable) -> tuple[np.ndarray, np.ndarray]:
        """F of both sides of a set, (..., P) each; of strata, with everyone's mix of these."""
        f, (i, j) = self.f[name], sides(self.data, which)
        if self.data.counts.ndim == 2:
            return f[..., i], f[..., j]
        over, total = np.zeros((2, *f.shape[:-2], len(i))), 0
        for z in range(f.shape[-2]):
            both = np.stack([f[..., z, i], f[..., z, j]])
            known = ~np.isnan(both).any(0)
            share = np.where(known, self.sizes[..., z, len(self.data.groups), None], 0)
            over += share * np.where(known, both, 0)
            total += share
        return tuple(ratio(over, total))

    def compared(self, block: tuple) -> np.ndarray:
        """All comparisons of one combination of measure, set and comparison: (..., P)."""
        of, which, how = block
        if how == CURVE:
            return threshold(self.f[of.name, which], self.grid.epsilon)
        comparison = _block("comparison", COMPARISONS, how)
        with np.errstate(invalid="ignore"):
            return threshold(comparison(*self.sides(of.name, which)), self.grid.epsilon)

    def weights(self, which: str | Callable) -> np.ndarray:
        """1 - |P(x in Si) - P(x in Sj)| of all comparisons (section 4.4): (..., P)."""
        share_i, share_j = self.shares(which)
        return 1 - np.abs(share_i - share_j)

    def shares(self, which: str | Callable) -> tuple[np.ndarray, np.ndarray]:
        """The shares of all rows that both sides of all comparisons are: (..., P) each."""
        sizes, (i, j) = self.sizes, sides(self.data, which)
        sizes = sizes.sum(-2) if self.data.counts.ndim == 3 else sizes
        share = sizes / sizes[..., len(self.data.groups), None]
        return share[..., i], share[..., j]

    def reduced(
        self, compared: np.ndarray, how, which, weight: np.ndarray
    ) -> np.ndarray:
        """The comparisons (..., P) of a set `which` as one number (...), given their `weight`."""
        if how != "wmean" or self.grid.wmean is None:
            return reduce(compared, how, weight)
        known = ~np.isnan(compared)
        value = self.grid.wmean(np.where(known, compared, 0), *self.shares(which))
        return np.where(known.any(-1), value, np.nan)

    def cells(self) -> np.ndarray:
        """Values of all cells: (..., number of cells)."""
        heavy, values = {which: self.weights(which) for which in self.grid.sets}, []
        for block in self.grid.combinations():
            every = self.compared(block)
            which = block[1]
            values += [
                self.reduced(every, how, which, heavy[which])
                for how in self.grid.reductions
            ]
        return np.stack(values, axis=-1)


def name_of(block: str | Measure | Callable) -> str:
    """Return the name of a block, or of the user's function."""
    return getattr(block, "name", getattr(block, "__name__", str(block)))


def grid_of(
    data: Table,
    measures,
    sets,
    comparisons,
    reductions,
    epsilon=None,
    wmean: Callable = chance.wmean,
) -> Grid:
    """A grid from names and functions; None measures: all that the table has the columns for."""
    if epsilon is not None and epsilon < 0:
        raise ValueError(f"epsilon={epsilon} must be 0 or more")
    fixed, missing = data.counts.ndim == 3, lacking(data)
    if measures is None:
        held = [
            of for of in MEASURES if of not in missing and (of in SHARES or not fixed)
        ]
        measures = [
            of for of in held if of != "prevalence"
        ] or held  # no measure of a model
    measured = tuple(measure(of) for of in measures)
    for of in measured:
        if of.needs and of.name in missing:
            raise ValueError(f"{of.name} needs {missing[of.name]}, which was not given")
        if fixed and of.name not in SHARES:
            raise ValueError(f"strata can be held fixed for rates, not for {of.name}")
    own = None if store.same_function(wmean, chance.wmean) else wmean
    grid = Grid(
        measured, tuple(sets), tuple(comparisons), tuple(reductions), epsilon, own
    )
    if not grid.combinations():
        raise ValueError(
            "nothing to compute: only rates have strata, and only auc has a curve"
        )
    return grid


def drawn(data: Table, grid: Grid, counts: np.ndarray | None = None) -> Sample:
    """F of all units of the table, or of resampled counts (D, ...)."""
    mass = data.mass(counts)
    f = {of.name: of.of(data.kinds, mass) for of in grid.measures}
    for of, which, how in grid.combinations():
        if how == CURVE:
            f[of.name, which] = of.curve(data.kinds, mass, *sides(data, which))
    return Sample(data, grid, f, mass.sum(-1).round(9))


def bias(
    data: Table,
    measure: str | Callable,
    set: str | Callable = "pairs",
    comparison: str | Callable = "abs",
    reduction: str | Callable = "max",
    *,
    wmean: Callable = chance.wmean,
) -> float:
    """Compute a measure of bias from its four blocks (Equation 5); NaN if nothing is estimable.

    `set` is vsany, pairs or compl, or a function of the number of groups G that gives the places of
    both sides: 0..G-1 are groups, G is everyone, and G+1..2G are the groups' complements. A
    `comparison` is none, abs, rel, sabs or srel, or a function (f_i, f_j) -> array; for auc also
    ``curve``, the area between the two curves (abroca). Lesson 09 hands on its own `wmean`. A
    ValueError lists the names there are."""
    grid = grid_of(data, [measure], [set], [comparison], [reduction], wmean=wmean)
    return float(drawn(data, grid).cells()[0])
