"""The four blocks of a measure of bias, each a plain function, and one cell made of them.

A base measure F looks at a group, a comparison set C says which sides are compared, a comparison
makes two values of F one number, and a reduction makes all comparisons one (Equation 5). Every
block is a name or a function of the reader's own.

Base measures give a value for every *unit*: the G groups, everyone, and the G complements. Where a
denominator is zero a measure is not estimable: NaN, never 0. Comparison sets are places of units;
comparisons and reductions work on arrays whose last axis runs over the pairs, so that a thousand
resampled tables are handled like one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from helpers.blocks import scores
from helpers.blocks.counts import Table, counted, unit_counts

MOST_PAIRS = 4_000_000
CURVES = ("curve", "curve_dcg")


def ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """over / under; NaN for 0/0 and infinite for x/0, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return over / under


# --- base measures F(S), section 4.2 ---


@dataclass(frozen=True)
class Measure:
    """One base measure, with the columns it needs.

    `of_counts` makes (...) of counts (..., 4) in the order of `counts.CELLS`; for what counts do
    not say, `of_rows` makes (2 G + 1,) of (Table, atoms (n,), weights (n,), complements: bool).
    `curves` are the curve comparisons it allows, `depth` the k of top-k measures.
    """

    name: str
    needs: frozenset[str]
    of_counts: Callable | None = None
    of_rows: Callable | None = None
    curves: tuple[str, ...] = ()
    depth: int = 0


def _share(top: tuple[int, ...], bottom: tuple[int, ...]) -> Callable:
    return lambda c: ratio(sum(c[..., i] for i in top), sum(c[..., i] for i in bottom))


TN, FN, FP, TP = range(4)
_SHARES = {
    "pr": ((FP, TP), (TN, FN, FP, TP)),
    "tpr": ((TP,), (TP, FN)),
    "tnr": ((TN,), (TN, FP)),
    "fpr": ((FP,), (TN, FP)),
    "fnr": ((FN,), (TP, FN)),
    "ppv": ((TP,), (TP, FP)),
    "npv": ((TN,), (TN, FN)),
    "acc": ((TN, TP), (TN, FN, FP, TP)),
    "error": ((FN, FP), (TN, FN, FP, TP)),
}
_PRED, _SCORE, _TRUE = (frozenset({name}) for name in ("y_pred", "y_score", "y_true"))
MEASURES = {
    name: Measure(name, _PRED if name == "pr" else _PRED | _TRUE, _share(*parts))
    for name, parts in _SHARES.items()
} | {
    "score": Measure("score", _SCORE, of_rows=scores.mean_score),
    "auc": Measure("auc", _SCORE | _TRUE, of_rows=scores.auc, curves=("curve",)),
}
_TOP = {
    "hr": (scores.hit_rate, _SCORE | _TRUE, ()),
    "skew": (scores.skew, _SCORE, ()),
    "ar": (scores.average_representation, _SCORE, CURVES),
}


def measure(of: str | Measure | Callable[[pd.DataFrame], float]) -> Measure:
    """A base measure by name, or from a function of the reader's.

    Parameters
    ----------
    of : str, Measure or callable
        Names: pr, tpr, tnr, fpr, fnr, ppv, npv, acc, error, score (mean), auc, and with a depth
        after @: hr@10 (top-k hit rate within the group), skew@10, ar@10 (average representation). A
        callable gets the rows of a group as a DataFrame (y_pred,
        y_true, y_score where there are any) and returns a number; resampling calls it once a group
        and draw.
    """
    if isinstance(of, Measure):
        return of
    if callable(of):
        return Measure(name_of(of), frozenset(), of_rows=scores.each_unit(of))
    if of in MEASURES:
        return MEASURES[of]
    found = re.fullmatch(r"(hr|skew|ar)@(\d+)", of)
    if found and int(found[2]) > 0:
        of_rows, needs, curves = _TOP[found[1]]
        depth = int(found[2])
        return Measure(of, needs, of_rows=of_rows(depth), curves=curves, depth=depth)
    raise ValueError(
        f"base measure {of!r} is not known; there are {', '.join(MEASURES)}, and hr@k, skew@k, "
        "ar@k with a depth k, such as hr@10; or give a function of a group's rows"
    )


def lacking(data: Table) -> dict[str, str]:
    """The named measures that a table cannot give, and the columns they would need."""
    return {
        name: " and ".join(sorted(of.needs - data.has))
        for name, of in MEASURES.items()
        if not of.needs <= data.has
    }


def values(of: Measure, data: Table, units=None, atoms=None, weights=None, complements=True):
    """F of every unit, (..., 2 G + 1).

    `units` are counts (..., 2 G + 1, 4), `atoms` and `weights` (n,) those of resampled rows; by
    default all are those of the table itself.
    """
    missing = of.needs - data.has
    if missing:
        raise ValueError(f"{of.name} needs {' and '.join(sorted(missing))}, which was not given")
    if of.of_counts is not None:
        return of.of_counts(unit_counts(data.groups, data.counts) if units is None else units)
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    return of.of_rows(data, atoms, weights, complements)


# --- comparison sets C(S), section 4.1: places (i, j) of the two sides, none with itself ---


def vsany(g: int) -> tuple[np.ndarray, np.ndarray]:
    """Every group with everyone, both ways (Equation 6)."""
    every, all_ = np.arange(g), np.full(g, g)
    return np.concatenate([every, all_]), np.concatenate([all_, every])


def pairs(g: int) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of groups (Equation 7)."""
    if g * (g - 1) > MOST_PAIRS:
        raise ValueError(
            f"pairs: {g:,} groups make {g * (g - 1):,} comparisons, more than {MOST_PAIRS:,}; "
            "merge small groups, or compare each with everyone ('vsany') or with the rest ('compl')"
        )
    if g < 2:
        raise ValueError("pairs: there is one group; give 'vsany' or 'compl' to compare it")
    return np.nonzero(~np.eye(g, dtype=bool))


def compl(g: int) -> tuple[np.ndarray, np.ndarray]:
    """Every group with its complement, both ways (Equation 8)."""
    every, rest = np.arange(g), g + 1 + np.arange(g)
    return np.concatenate([every, rest]), np.concatenate([rest, every])


def alone(g: int) -> tuple[np.ndarray, np.ndarray]:
    """Every group once, with everyone as its other side: for means over groups of F itself."""
    return np.arange(g), np.full(g, g)


SETS = {"vsany": vsany, "pairs": pairs, "compl": compl}


def sides(data: Table, which: str | Callable) -> tuple[np.ndarray, np.ndarray]:
    """The comparisons of a set, by its name or from a function of the number of groups."""
    if not callable(which) and which not in SETS:
        raise ValueError(f"comparison set {which!r} is not known; give one of {', '.join(SETS)}")
    return (which if callable(which) else SETS[which])(len(data.groups))


# --- comparisons of two sides, section 4.3 ---

COMPARISONS = {
    "none": lambda fi, fj: np.array(fi, float),
    "abs": lambda fi, fj: np.abs(fi - fj),
    "rel": lambda fi, fj: np.abs(1 - ratio(fi, fj)),
    "sabs": lambda fi, fj: fi - fj,
    "srel": lambda fi, fj: 1 - ratio(fi, fj),
}


def compare(fi: np.ndarray, fj: np.ndarray, how: str | Callable, epsilon: float | None = None):
    """Compare two sides, by a name or a function (fi, fj) -> array; see `threshold` for epsilon.

    A ratio over 0 is infinite, 0/0 is NaN.
    """
    if not callable(how) and how not in COMPARISONS:
        known = ", ".join((*COMPARISONS, *CURVES))
        raise ValueError(f"comparison {how!r} is not known; give one of {known}")
    with np.errstate(invalid="ignore"):
        found = (how if callable(how) else COMPARISONS[how])(fi, fj)
    return threshold(found, epsilon)


def threshold(compared: np.ndarray, epsilon: float | None) -> np.ndarray:
    """max(0, comparison - epsilon), or the comparison itself for None (0 cuts negative ones)."""
    if epsilon is None:
        return compared
    if epsilon < 0:
        raise ValueError(f"epsilon={epsilon} must be 0 or more")
    return np.maximum(compared - epsilon, 0)


# --- reductions of all comparisons, section 4.4: (x, known, weight), each (..., P) -> (...) ---


def _or(x: np.ndarray, known: np.ndarray, instead: float) -> np.ndarray:
    return x if known.all() else np.where(known, x, instead)


def _mean(x, known, weight):
    return ratio(_or(x, known, 0).sum(-1), known.sum(-1))


def _wmean(x, known, weight):
    return _or(x * weight, known, 0).sum(-1)


def _wmean_normalised(x, known, weight):
    return ratio(_wmean(x, known, weight), np.where(known, weight, 0).sum(-1))


def _gini(x, known, weight):
    """Mean absolute difference over twice the mean; NaN where one is negative or all are 0."""
    m, place = known.sum(-1), np.arange(1, x.shape[-1] + 1)
    ordered = np.sort(np.where(known, x, np.inf), -1)
    ordered = np.where(place <= m[..., None], ordered, 0)
    total = ordered.sum(-1)
    found = ratio((ordered * (2 * place - m[..., None] - 1)).sum(-1), m * total)
    return np.where((ordered.min(-1) >= 0) & (total > 0), np.abs(found), np.nan)


REDUCTIONS = {
    "max": lambda x, known, weight: _or(x, known, -np.inf).max(-1),
    "min": lambda x, known, weight: _or(x, known, np.inf).min(-1),
    "mean": _mean,
    "wmean": _wmean,
    "wmean_normalised": _wmean_normalised,
    "sum": lambda x, known, weight: _or(x, known, 0).sum(-1),
    "gini": _gini,
}


def reduce(compared: np.ndarray, how: str | Callable, weight: np.ndarray):
    """Many comparisons (..., P) to one number (...); those not estimable (NaN) are left out.

    ``wmean`` is the paper's sum of weighted comparisons, as printed not divided by the sum of the
    weights; ``wmean_normalised`` divides. A callable gets the estimable comparisons (m,) and their
    `weights`, and returns a number.
    """
    known = ~np.isnan(compared)
    if callable(how):
        return _by_row(compared, known, how, np.broadcast_to(weight, compared.shape))
    if how not in REDUCTIONS:
        raise ValueError(f"reduction {how!r} is not known; give one of {', '.join(REDUCTIONS)}")
    with np.errstate(invalid="ignore"):
        return np.where(known.any(-1), REDUCTIONS[how](compared, known, weight), np.nan)


def _by_row(compared: np.ndarray, known: np.ndarray, how: Callable, weight: np.ndarray):
    flat = [a.reshape(-1, compared.shape[-1]) for a in (compared, known, weight)]
    rows = zip(*flat, strict=True)
    found = [float(how(x[k], w[k])) if k.any() else np.nan for x, k, w in rows]
    return np.reshape(found, compared.shape[:-1])


def weights(sizes: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """1 - |P(x in Si) - P(x in Sj)| of every comparison (section 4.4): (..., U) -> (..., P)."""
    g = (sizes.shape[-1] - 1) // 2
    share = sizes / sizes[..., g : g + 1]
    return 1 - np.abs(share[..., i] - share[..., j])


# --- cells: all combinations of blocks, on the table itself or on a stack of resampled ones ---


@dataclass(frozen=True)
class Grid:
    """Which blocks are combined; every combination that has a meaning is a cell."""

    measures: tuple[Measure, ...]
    sets: tuple[str | Callable, ...]
    comparisons: tuple[str | Callable, ...]
    reductions: tuple[str | Callable, ...]
    epsilon: float | None = None
    adjust: str | None = None

    def combinations(self) -> Iterator[tuple[Measure, str | Callable, str | Callable]]:
        """Combinations of measure, set and comparison; curves only for measures that have one."""
        for of in self.measures:
            for which in self.sets:
                for how in self.comparisons:
                    if how not in CURVES or how in of.curves:
                        yield of, which, how

    @property
    def needs_rows(self) -> bool:
        """Whether something is measured that counts cannot say."""
        return any(of.of_counts is None for of in self.measures)


@dataclass(frozen=True)
class Sample:
    """F of every unit: `f[measure]` (..., U), or (..., Z, U) by stratum, and the sizes alike.

    `curves` holds comparisons of curves (..., P) by (measure, set, comparison).
    """

    f: dict[str, np.ndarray]
    sizes: np.ndarray
    curves: dict[tuple, np.ndarray] = field(default_factory=dict)


def name_of(block: str | Callable) -> str:
    """Name of a block: itself, or that of the reader's function."""
    return block if isinstance(block, str) else getattr(block, "__name__", "function")


def grid_of(
    data: Table,
    measures: Sequence | None = None,
    sets: Sequence = tuple(SETS),
    comparisons: Sequence = tuple(COMPARISONS),
    reductions: Sequence = tuple(REDUCTIONS),
    epsilon: float | None = None,
    adjust: str | None = None,
) -> Grid:
    """A grid from names and functions; None measures: all that the table has the columns for."""
    if adjust not in (None, "standardised"):
        raise ValueError(f"adjust={adjust!r}: give 'standardised' or None")
    if adjust and data.strata is None:
        raise ValueError("adjust needs strata: give table(..., strata=the confounders' columns)")
    if measures is None:
        held = [of for of in MEASURES.values() if of.needs <= data.has]
        measures = [of for of in held if of.of_counts or not adjust]
    found = tuple(measure(of) for of in measures)
    by_rows = [of.name for of in found if of.of_counts is None]
    if adjust and by_rows:
        raise ValueError(f"strata can be held fixed for rates, not for {', '.join(by_rows)}")
    return Grid(found, tuple(sets), tuple(comparisons), tuple(reductions), epsilon, adjust)


def drawn(data: Table, grid: Grid, counts: np.ndarray, rows=(None, None)) -> Sample:
    """F of every unit, from counts (..., K, 4), or (..., Z, K, 4) where strata are held fixed.

    `rows` are the atoms and weights (n,) of a resampled table, for what counts cannot say.
    """
    units = unit_counts(data.groups, counts)
    sizes = np.round(units.sum(-1))
    complements = any(which not in ("vsany", "pairs") for which in grid.sets)
    f = {}
    for of in grid.measures:
        found = values(of, data, units, *rows, complements)
        f[of.name] = np.broadcast_to(found, sizes.shape)
    found = Sample(f, sizes)
    for of, which, how in grid.combinations():
        if how in CURVES:
            curves = _between_curves(data, of, how, sides(data, which), rows)
            found.curves[of.name, which, how] = curves.reshape(*sizes.shape[:-1], -1)
    return found


def observed(data: Table, grid: Grid) -> Sample:
    """F of every unit of the table itself."""
    return drawn(data, grid, counted(data, True) if grid.adjust else data.counts)


def compared(data: Table, grid: Grid, sample: Sample, block) -> np.ndarray:
    """All comparisons of one combination of measure, set and comparison: (..., P)."""
    of, which, how = block
    if how in CURVES:
        return threshold(sample.curves[of.name, which, how], grid.epsilon)
    both = sides_of(data, grid, sample, of.name, which)
    return compare(*both, how, grid.epsilon)


def sides_of(data: Table, grid: Grid, sample: Sample, name: str, which) -> tuple:
    """F of both sides of all comparisons; where strata are held fixed, with everyone's mix."""
    i, j = sides(data, which)
    if grid.adjust:
        return standardised(sample, name, i, j)
    return sample.f[name][..., i], sample.f[name][..., j]


def pair_weights(data: Table, grid: Grid, sample: Sample, which: str | Callable) -> np.ndarray:
    """Weights of the paper's wmean for all comparisons of a set: (..., P)."""
    sizes = sample.sizes.sum(-2) if grid.adjust else sample.sizes
    return weights(sizes, *sides(data, which))


def compute(data: Table, grid: Grid, sample: Sample) -> np.ndarray:
    """Values of all cells: (..., number of cells)."""
    heavy = {which: pair_weights(data, grid, sample, which) for which in grid.sets}
    found = []
    for block in grid.combinations():
        every = compared(data, grid, sample, block)
        found += [reduce(every, reduction, heavy[block[1]]) for reduction in grid.reductions]
    return np.stack(found, axis=-1) if found else np.empty((*sample.sizes.shape[:-1], 0))


def bias(
    data: Table,
    measure: str | Measure | Callable,
    set: str | Callable = "pairs",
    comparison: str | Callable = "abs",
    reduction: str | Callable = "max",
    *,
    epsilon: float | None = None,
    adjust: str | None = None,
) -> float:
    """One measure of bias from its four blocks (Equation 5); NaN where nothing is estimable.

    Parameters
    ----------
    data : Table
    measure : name, Measure or function of a group's rows
    set : {"vsany", "pairs", "compl"}, or a function of the number of groups G that gives the places
        of both sides: 0..G-1 are groups, G is everyone, and G+1..2G are the groups' complements
    comparison : see `compare`; also ``curve`` and ``curve_dcg`` for measures that have a curve
    reduction : see `reduce`
    epsilon : float, optional
        Accepted deviation, taken off every comparison.
    adjust : {None, "standardised"}
        Hold the table's strata fixed: F of both sides with everyone's mix of strata.
    """
    chosen = grid_of(data, [measure], [set], [comparison], [reduction], epsilon, adjust)
    found = compute(data, chosen, observed(data, chosen))
    if found.shape[-1] == 0:
        raise ValueError(
            f"{chosen.measures[0].name} has no curve for comparison {comparison!r}: 'curve' is for "
            "auc and ar@k, 'curve_dcg' for ar@k"
        )
    return float(found[0])


def standardised(sample: Sample, name: str, i, j) -> tuple[np.ndarray, np.ndarray]:
    """F of both sides with everyone's mix of strata, over the strata where both are estimable."""
    f, everyone = sample.f[name], (sample.sizes.shape[-1] - 1) // 2
    over_i, over_j, total = (np.zeros((*f.shape[:-2], len(i))) for _ in range(3))
    for z in range(f.shape[-2]):
        fi, fj = f[..., z, :][..., i], f[..., z, :][..., j]
        both = ~(np.isnan(fi) | np.isnan(fj))
        share = np.where(both, sample.sizes[..., z, everyone, None], 0)
        over_i += share * np.where(both, fi, 0)
        over_j += share * np.where(both, fj, 0)
        total += share
    return ratio(over_i, total), ratio(over_j, total)


def _between_curves(data: Table, of: Measure, how: str, pair, rows) -> np.ndarray:
    if not of.depth:
        return scores.between_rocs(data, *pair, *rows)
    return scores.between_representations(data, of.depth, how == "curve_dcg", *pair, *rows)
