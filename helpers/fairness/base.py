"""Base measures F(S): what is measured in one group (section 4.2).

A measure is computed for all units of a table at once: the G groups, everyone, and the G
complements. Where its denominator is zero it is not estimable: NaN, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.fairness import ranking
from helpers.fairness.counts import Table, unit_counts


@dataclass(frozen=True)
class Measure:
    """One base measure.

    Attributes
    ----------
    name : str
    needs : frozenset of str
        Among predictions, labels, scores, targets.
    of_counts : callable, or None
        (..., 4) counts in the order of `counts.CELLS` -> (...).
    of_rows : callable, or None
        (Table, atoms (n,), weights (n,), complements: bool) -> (2 G + 1,), for what counts
        cannot say.
    curve : {"roc", "representation", None}
        What `curves.curve` makes of a group for curve comparisons.
    depth : int
        The k of top-k measures, else 0.
    """

    name: str
    needs: frozenset[str]
    of_counts: Callable | None = None
    of_rows: Callable | None = None
    curve: str | None = None
    depth: int = 0


def measure(of: str | Measure | Callable[[pd.DataFrame], float]) -> Measure:
    """A base measure by name, or from a function of the user's.

    Parameters
    ----------
    of : str, Measure or callable
        Names: pr, tpr, tnr, fpr, fnr, ppv, npv, acc, error, score (mean), auc, mabs and mse (of
        scores against targets), exposure, and with a depth after @: hr@10 (top-k hit rate within
        the group), repr@10, skew@10, ar@10 (average representation). A callable gets the rows of a
        group as a DataFrame (prediction, label, score, target where there are any) and returns a
        number; resampling calls it once a group and draw.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if isinstance(of, Measure):
        return of
    if callable(of):
        name = getattr(of, "__name__", "measure")
        return Measure(name, frozenset(), of_rows=ranking.each_unit(of))
    if of in BASE:
        return BASE[of]
    found = re.fullmatch(r"(hr|repr|skew|ar)@(\d+)", of)
    if found and int(found[2]) > 0:
        return _top(found[1], int(found[2]))
    raise ValueError(
        f"base measure {of!r} is not known; there are {', '.join(BASE)}, and hr@k, repr@k, skew@k, "
        "ar@k with a depth k, such as hr@10; or give a function of a group's rows"
    )


def available(data: Table) -> list[str]:
    """Names of the measures without depth that a table has the columns for."""
    return [name for name, found in BASE.items() if found.needs <= data.has]


def values(
    of: Measure, data: Table, counts=None, atoms=None, weights=None, complements: bool = True
) -> np.ndarray:
    """F of every unit, for the table or for a resampled one.

    Parameters
    ----------
    of : Measure
    data : Table
    counts : array (..., K, 4), optional
        Resampled counts, for measures of counts.
    atoms, weights : arrays (n,), optional
        Resampled rows, for the others: the atom of each row and how often it was drawn.
    complements : bool
        Without them, measures of rows leave NaN in their places.

    Returns
    -------
    float64 array (..., 2 G + 1)

    Raises
    ------
    ValueError
        When the table lacks a column that the measure needs.
    """
    require(of, data)
    if of.of_counts is not None:
        units = unit_counts(data.groups, data.counts if counts is None else counts)
        return of.of_counts(units)
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    return of.of_rows(data, atoms, weights, complements)


def require(of: Measure, data: Table) -> None:
    """Refuse a measure whose columns a table lacks.

    Raises
    ------
    ValueError
        Naming the columns.
    """
    missing = of.needs - data.has
    if missing:
        raise ValueError(f"{of.name} needs {' and '.join(sorted(missing))}, which were not given")


def ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """over / under; NaN for 0/0 and infinite for x/0, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return over / under


def _share(top: tuple[int, ...], bottom: tuple[int, ...]) -> Callable:
    def of_counts(c: np.ndarray) -> np.ndarray:
        return ratio(sum(c[..., i] for i in top), sum(c[..., i] for i in bottom))

    return of_counts


TN, FN, FP, TP = range(4)
_BOTH, _ALL = frozenset({"predictions", "labels"}), (TN, FN, FP, TP)
_SHARES = {
    "pr": ((FP, TP), _ALL),
    "tpr": ((TP,), (TP, FN)),
    "tnr": ((TN,), (TN, FP)),
    "fpr": ((FP,), (TN, FP)),
    "fnr": ((FN,), (TP, FN)),
    "ppv": ((TP,), (TP, FP)),
    "npv": ((TN,), (TN, FN)),
    "acc": ((TN, TP), _ALL),
    "error": ((FN, FP), _ALL),
}


def _absolute(data: Table) -> np.ndarray:
    return np.abs(data.score - _target(data))


def _squared(data: Table) -> np.ndarray:
    return (data.score - _target(data)) ** 2


def _target(data: Table) -> np.ndarray:
    if data.target is None and data.label is None:
        raise ValueError("errors of scores need targets or labels, which were not given")
    return data.label if data.target is None else data.target


def _top(kind: str, depth: int) -> Measure:
    of_rows = {
        "hr": ranking.hit_rate,
        "repr": ranking.representation,
        "skew": ranking.skew,
        "ar": ranking.average_representation,
    }[kind](depth)
    needs = frozenset({"scores", "labels"} if kind == "hr" else {"scores"})
    curve = "representation" if kind == "ar" else None
    return Measure(f"{kind}@{depth}", needs, of_rows=of_rows, curve=curve, depth=depth)


_SCORES = frozenset({"scores"})
BASE: dict[str, Measure] = {
    name: Measure(name, frozenset({"predictions"}) if name == "pr" else _BOTH, _share(*parts))
    for name, parts in _SHARES.items()
} | {
    "score": Measure("score", _SCORES, of_rows=ranking.mean_of(lambda data: data.score)),
    "auc": Measure("auc", _SCORES | {"labels"}, of_rows=ranking.auc, curve="roc"),
    "mabs": Measure("mabs", _SCORES, of_rows=ranking.mean_of(_absolute)),
    "mse": Measure("mse", _SCORES, of_rows=ranking.mean_of(_squared)),
    "exposure": Measure("exposure", _SCORES, of_rows=ranking.exposure),
}
