"""Columns as they come, groups of rows, and one table of counts that all measures follow from.

The finest non-empty intersections of all group columns are called *atoms*. Every group is a union
of atoms, so what is counted once for the atoms is counted for all groups, overlapping or not
(sections 3 and 4.1 of the paper, Equations 6 to 10).
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

AND, EVERYONE, NOT = " & ", "everyone", "not "
MOST_GROUPS = 100_000
CELLS = ("tn", "fn", "fp", "tp")  # place = 2 * y_pred + y_true
ROWS = ("y_pred", "y_true", "y_score", "strata", "clusters", "sample_weight")


# --- columns: lists, numpy, torch, pandas ---


def array(values: Any, name: str) -> np.ndarray:
    """One column, from a list, array, tensor on any device or Series; `name` is for its errors."""
    if hasattr(values, "detach"):  # torch, without importing it
        values = values.detach().cpu().numpy()
    found = np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"{name} has shape {found.shape}; expected one value a row, shape (n,)")
    if len(found) == 0:
        raise ValueError(f"{name} is empty: there is nothing to measure")
    return found


def numbers(
    values: Any,
    name: str,
    allowed: Callable = np.isfinite,
    what: str = "NaN or infinite",
    advice: str = "drop these rows, or give them a number, before measuring",
) -> np.ndarray:
    """A column of numbers as float64; refused are those not `allowed`, with the first of them."""
    found = array(values, name)
    if found.dtype.kind not in "biuf":
        as_numbers = pd.to_numeric(pd.Series(found), errors="coerce")
        wrong = as_numbers.isna() & pd.notna(found)
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(f"{name} holds {str(found[at])!r} in row {at}: expected numbers")
        found = as_numbers
    found = np.asarray(found, np.float64)
    bad = ~allowed(found)
    if bad.any():
        first = int(bad.argmax())
        where = f"the first is {found[first]:g} in row {first}"
        raise ValueError(f"{name}: {bad.sum()} of {len(bad)} values are {what}, {where}; {advice}")
    return found


def binary(values: Any, name: str) -> np.ndarray:
    """A column of 0 and 1 (or False and True) as int8."""
    advice = "give a class at a time (values == class), or y_score"
    return numbers(values, name, lambda x: (x == 0) | (x == 1), "not 0 or 1", advice).astype(
        np.int8
    )


def weights(values: Any) -> np.ndarray:
    """A column of weights as float64: finite, none negative, not all zero."""
    name, advice = "sample_weight", "a weight says how much a row counts"
    right = lambda x: np.isfinite(x) & (x >= 0)  # noqa: E731
    found = numbers(values, name, right, "negative, NaN or infinite", advice)
    if not found.any():
        raise ValueError(f"{name}: all weights are 0, so nothing would count")
    return found


def same_length(columns: Mapping[str, np.ndarray | None]) -> None:
    """Refuse columns that differ in length; those that are None are not there."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise ValueError(f"columns differ in length: {each}; every row needs all of them")


def codes(values: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """A categorical column as int64 codes and the names of its values, sorted where possible."""
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        values = array(values, name)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = pd.Categorical(values)
        found, names = values.codes, list(values.categories)
    else:
        found, names = pd.factorize(values, sort=True)
    missing = found < 0
    if missing.any():
        raise ValueError(
            f"{name}: {missing.sum()} of {len(found)} values are missing, the first is in row "
            f"{int(missing.argmax())}; name them (for example 'unknown') or drop the rows"
        )
    fractions = [v for v in names if isinstance(v, float) and not v.is_integer()]
    if fractions:
        raise ValueError(
            f"{name} holds fractions, such as {fractions[0]:g}: it measures something and names "
            "nothing. Leave it out, or cut it into ranges (pandas.cut)"
        )
    return found.astype(np.int64, copy=False), [str(value) for value in names]


# --- groups, and what is counted for them ---


@dataclass(frozen=True)
class Groups:
    """Named sets of rows, such as ``night & rainy``."""

    names: tuple[str, ...]
    atoms: np.ndarray  # the atom of each row (n,), in 0..K-1
    member: scipy.sparse.csr_array  # (G, K), 1 where an atom is member of a group

    def __len__(self) -> int:
        return len(self.names)

    def place(self, name: str) -> int:
        """Where a group stands; an unknown one is refused with the names there are."""
        if name not in self.names:
            raise KeyError(f"no group {name!r}; there are {', '.join(self.names[:20])}")
        return self.names.index(name)

    def rows(self, name: str) -> np.ndarray:
        """Rows of a group, ``everyone``, or ``not <group>``, as int64 places."""
        if name == EVERYONE:
            return np.arange(len(self.atoms))
        outside = name not in self.names and name.startswith(NOT)
        at = self.place(name.removeprefix(NOT) if outside else name)
        return np.flatnonzero((self.member[[at]].toarray()[0] > 0)[self.atoms] != outside)


@dataclass(frozen=True)
class Table:
    """What is measured, and for whom: groups, counts, and the columns (n,) that there are.

    `counts` (K, 4), or (Z, K, 4) by stratum, are the rows of each atom in the order of `CELLS`; a
    column that was not given counts as 0. `strata` and `clusters` are codes 0, 1, .... A row that
    stands for several (of a tally) says in `times` for how many; weighted rows count as their
    `sample_weight`.
    """

    groups: Groups
    counts: np.ndarray
    y_pred: np.ndarray | None = None
    y_true: np.ndarray | None = None
    y_score: np.ndarray | None = None
    strata: np.ndarray | None = None
    clusters: np.ndarray | None = None
    sample_weight: np.ndarray | None = None
    times: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.groups.atoms)

    @property
    def number(self) -> np.ndarray:
        """For how many rows each row stands: int64 (n,)."""
        return np.ones(len(self), np.int64) if self.times is None else self.times

    @property
    def mass(self) -> np.ndarray:
        """How much each row counts, as a number of rows or as their weight: (n,)."""
        return self.number if self.sample_weight is None else self.number * self.sample_weight

    def columns(self) -> pd.DataFrame:
        """The columns of `ROWS` that there are, one row a row of the table."""
        return pd.DataFrame({n: getattr(self, n) for n in ROWS if getattr(self, n) is not None})

    @property
    def has(self) -> frozenset[str]:
        """Which of y_pred, y_true and y_score there are."""
        return frozenset(n for n in ROWS[:3] if getattr(self, n) is not None)

    @property
    def units(self) -> tuple[str, ...]:
        """Names of all that a measure is computed for: the groups, everyone, the complements."""
        names = self.groups.names
        return (*names, EVERYONE, *(NOT + name for name in names))

    @cached_property
    def descending(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows from the highest score, and the tie block of each place in it."""
        order = np.argsort(-self.y_score, kind="stable")
        score = self.y_score[order]
        return order, np.concatenate([[0], np.cumsum(score[1:] != score[:-1])])

    def frame(self, complements: bool = False) -> pd.DataFrame:
        """Counts of groups, everyone and complements where wanted: group, n, tn, fn, fp, tp."""
        counts = self.counts.reshape(-1, *self.counts.shape[-2:]).sum(0)
        counts = unit_counts(self.groups, counts).astype(self.counts.dtype)
        columns = {"group": self.units, "n": counts.sum(1)}
        found = pd.DataFrame(columns | dict(zip(CELLS, counts.T, strict=True)))
        return found if complements else found[: len(self.groups) + 1]


def table(
    sensitive_features: Any,
    *,
    y_true: Any = None,
    y_pred: Any = None,
    y_score: Any = None,
    intersect: str = "each",
    strata: Any = None,
    clusters: Any = None,
    sample_weight: Any = None,
    times: Any = None,
) -> Table:
    """Count once (sections 3 and 4.2).

    Parameters
    ----------
    sensitive_features : DataFrame, mapping of name to column, one column, or Groups
    y_true, y_pred : columns of 0 and 1, (n,)
    y_score : column of finite numbers, (n,)
    intersect : {"each", "joint", "all"}
        ``each`` value of each column is a group; ``joint``: each non-empty intersection of one
        value of every column; ``all``: the non-empty intersections of the values of any number of
        columns, single ones included (Equation 10).
    strata : group columns, optional
        Confounders that all comparisons hold fixed: both sides are given everyone's mix of strata.
        Rows with the same value in every one of these columns are a stratum.
    clusters : column, optional
        Rows with the same value are not independent (boxes of an image, frames of a video): they
        are drawn together, and groups are exchanged between clusters and inside of them.
    sample_weight : column of numbers, 0 or more, optional
        How much each row counts. Intervals draw rows, and nulls exchange the groups of rows, with
        the weight that belongs to the row.
    times : column of whole numbers, 1 or more, optional
        For how many equal rows each row stands, as in a tally.

    Raises
    ------
    ValueError
        For columns that are missing, differ in length, or hold what they may not, and for more than
        `MOST_GROUPS` groups.
    """
    if y_pred is None and y_score is None and y_true is None:
        raise ValueError("nothing to measure: give y_pred (decisions), y_score (scores) or y_true")
    checks = {"y_pred": binary, "y_true": binary, "y_score": numbers}
    given = {"y_pred": y_pred, "y_true": y_true, "y_score": y_score}
    given = {n: None if c is None else checks[n](c, n) for n, c in given.items()}
    by = groups(sensitive_features, intersect)
    given["strata"] = None if strata is None else groups(strata, "joint").atoms
    given["clusters"] = None if clusters is None else codes(clusters, "clusters")[0]
    given["sample_weight"] = None if sample_weight is None else weights(sample_weight)
    given["times"] = None if times is None else array(times, "times").astype(np.int64)
    same_length({"the group columns": by.atoms} | given)
    if clusters is not None:
        given["clusters"] = np.unique(given["clusters"], return_inverse=True)[1]
        if given["clusters"].max() == 0:
            raise ValueError(f"clusters: all {len(by.atoms)} rows belong to one; give two or more")
    found = Table(by, np.empty(0), **given)
    mass = None if sample_weight is None and times is None else found.mass  # without is faster
    counts = count(found, by.atoms, mass)
    exact = counts if sample_weight is not None else np.round(counts).astype(np.int64)
    return replace(found, counts=exact)


def ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """over / under; NaN for 0/0 and infinite for x/0, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return over / under


def unit_counts(by: Groups, counts: np.ndarray) -> np.ndarray:
    """Counts of groups, everyone and complements: (..., K, 4) of the atoms -> (..., 2 G + 1, 4)."""
    lead, (k, cells) = counts.shape[:-2], counts.shape[-2:]
    flat = np.moveaxis(counts.reshape(-1, k, cells), 1, 0).reshape(k, -1).astype(float)
    inside = by.member @ flat
    total = flat.sum(0, keepdims=True)
    units = np.concatenate([inside, total, total - inside])
    return np.moveaxis(units.reshape(len(units), -1, cells), 0, 1).reshape(*lead, -1, cells)


def places(data: Table, atoms: np.ndarray) -> np.ndarray:
    """Place of each row in the flat table of counts (K, 4), or (Z, K, 4) by stratum."""
    place, stratum = atoms * 4, 4 * data.groups.member.shape[1]
    for column, step in ((data.y_pred, 2), (data.y_true, 1), (data.strata, stratum)):
        if column is not None:
            place += column * step
    return place


def count(data: Table, atoms: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    """Counts (K, 4), or (Z, K, 4) by stratum, of rows with these atoms and masses."""
    strata = () if data.strata is None else (int(data.strata.max()) + 1,)
    shape = (*strata, data.groups.member.shape[1], 4)
    return np.bincount(places(data, atoms), mass, minlength=np.prod(shape)).reshape(shape)


def groups(by: Any, intersect: str = "each") -> Groups:
    """Groups from categorical columns (section 4.1); `by` and `intersect` as in `table`."""
    if isinstance(by, Groups):
        return by
    if not isinstance(by, pd.DataFrame | Mapping):
        by = {(by.name if isinstance(by, pd.Series) else None) or "group": by}
    if len(by.keys()) == 0:
        raise ValueError("no group columns were given")
    parts = {str(name): codes(by[name], f"group column {str(name)!r}") for name in by}
    for name, (found, names) in parts.items():
        if found.min() == found.max():
            raise ValueError(
                f"group column {name!r} has one value, {names[found[0]]!r}, in all {len(found)} "
                "rows: there is nothing to compare; leave the column out"
            )
    count = len(parts)
    sizes = {"each": [1], "joint": [count], "all": range(1, count + 1)}
    if intersect not in sizes:
        raise ValueError(f"intersect={intersect!r} is not known; give 'each', 'joint' or 'all'")
    subsets = [s for size in sizes[intersect] for s in itertools.combinations(range(count), size)]
    names, full, rows = [], [], []
    labels, titles = [of for _, of in parts.values()], list(parts)
    atoms, values = _atoms({f"group column {t!r}": found for t, (found, _) in parts.items()})
    for subset in subsets:
        seen, place = np.unique(values[:, subset], axis=0, return_inverse=True)
        found = len(names) + len(seen)
        if found > MOST_GROUPS:
            raise ValueError(
                f"{', '.join(titles)}: {found:,} groups, more than the {MOST_GROUPS:,} allowed; is "
                "it an identifier? Merge rare values, or cut numbers into ranges (pandas.cut)"
            )
        rows.append(len(names) + place.reshape(-1))
        for combination in seen:
            each = [labels[c][v] for c, v in zip(subset, combination, strict=True)]
            names.append(AND.join(each))
            full.append(AND.join(f"{titles[c]}={v}" for c, v in zip(subset, each, strict=True)))
    k = np.tile(np.arange(len(values)), len(subsets))
    shape = (len(names), len(values))
    member = scipy.sparse.csr_array((np.ones(len(k)), (np.concatenate(rows), k)), shape=shape)
    names = names if len(set(names)) == len(names) else full  # two columns share a value
    return Groups(tuple(names), atoms, member)


def branches(*dimensions: Mapping[str, Any], **named: Any) -> Groups:
    """Groups from binary columns of members, by name; they may overlap (section 5.1)."""
    marks = {}
    for name, column in [pair for part in (*dimensions, named) for pair in part.items()]:
        if isinstance(column, Mapping):
            raise ValueError(
                f"branch {name!r} is a whole dimension: give it without a name, as in "
                "Fork(categories @ column), or unpack its branches"
            )
        if name in marks:
            raise ValueError(f"branches of one name: {name}; rename the values")
        marks[name] = binary(column, f"branch {name!r}")
    kept = [name for name in marks if marks[name].any()]
    if not kept:
        raise ValueError(f"all groups are empty: {', '.join(list(marks)[:20])}")
    atoms, values = _atoms({f"branch {name!r}": marks[name] for name in kept})
    return Groups(tuple(kept), atoms, scipy.sparse.csr_array(values.T.astype(float)))


def _atoms(parts: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The combination of codes of each row, and the codes of each combination that occurs."""
    same_length(parts)
    atoms, values = np.int64(0), np.zeros((1, 0), np.int64)
    for part in parts.values():
        width = int(part.max()) + 1
        atoms, seen = pd.factorize(atoms * width + part, sort=True)
        values = np.column_stack([values[seen // width], seen % width])
    return atoms, values
