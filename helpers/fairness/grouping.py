"""Groups of rows: values of categorical columns, their intersections, and complements.

The finest non-empty intersections of all columns are called *atoms*. Every group is a union of
atoms, so whatever is counted once for the atoms is counted for all groups, overlapping or not
(*Towards Standardizing AI Bias Exploration*, sections 3 and 4.1, Equations 6 to 10).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from helpers.fairness import columns

EACH, JOINT, ALL = "each", "joint", "all"
AND = " & "
EVERYONE, NOT = "everyone", "not "
MOST_GROUPS = 100_000


@dataclass(frozen=True)
class Groups:
    """Named sets of rows.

    Attributes
    ----------
    names : tuple of str (G,)
        Such as ``night`` or ``night & rainy``.
    atoms : int64 array (n,)
        Atom of each row, 0..K-1.
    member : scipy.sparse CSR of float64 (G, K)
        1 where an atom belongs to a group.
    partitions : tuple of (int array (K,), int array (P,))
        Groups that exclude one another, together: the place of each atom in the partition (P: in
        none of them), and the place in `names` of each.
    """

    names: tuple[str, ...]
    atoms: np.ndarray
    member: scipy.sparse.csr_array
    partitions: tuple[tuple[np.ndarray, np.ndarray], ...]

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Place of a group.

        Raises
        ------
        KeyError
            When there is no such group; it lists the groups there are.
        """
        if name not in self.names:
            raise KeyError(f"no group {name!r}; there are {', '.join(self.names[:20])}")
        return self.names.index(name)

    def rows(self, name: str) -> np.ndarray:
        """Rows of a group, ``everyone``, or ``not <group>``, as int64 indices."""
        if name == EVERYONE:
            return np.arange(len(self.atoms))
        if name not in self.names and name.startswith(NOT):
            inside = self.member[[self.index(name[len(NOT) :])]].toarray()[0] > 0
            return np.flatnonzero(~inside[self.atoms])
        inside = self.member[[self.index(name)]].toarray()[0] > 0
        return np.flatnonzero(inside[self.atoms])


def groups(by: Any, intersect: str = EACH, most: int = MOST_GROUPS) -> Groups:
    """Groups from categorical columns (section 4.1).

    Parameters
    ----------
    by : DataFrame, mapping of name to column, one column, list of columns, Groups, or None
        None makes every row a group of its own: individual fairness, Equation 9 (then the number
        of rows has to come from elsewhere, so `helpers.fairness.table` does it).
    intersect : {"each", "joint", "all"}
        ``each`` value of each column is a group; ``joint``: each non-empty intersection of one
        value of every column; ``all``: the non-empty intersections of the values of any number of
        columns, single ones included (Equation 10).
    most : int
        Refuse more groups than this.

    Raises
    ------
    ValueError
        For an unknown `intersect`, a column with one value or missing ones, differing lengths,
        names that collide, or too many groups.
    """
    if isinstance(by, Groups):
        return by
    given = _columns(by)
    parts = {name: columns.codes(column, name) for name, column in given.items()}
    columns.same_length({f"group column {k!r}": v[0] for k, v in parts.items()})
    for name, (found, names) in parts.items():
        _refuse_constant(name, found, names)
        _refuse_many(len(names), most, f"group column {name!r} has")
    atoms, values = _atoms([found for found, _ in parts.values()])
    labels = [names for _, names in parts.values()]
    return _build(atoms, values, labels, _subsets(len(parts), intersect), list(parts), most)


def branches(members: Mapping[str, Any], dimension: Sequence[int] | None = None) -> Groups:
    """Groups from binary membership columns, overlapping or not (the paper's forks, section 5.1).

    Parameters
    ----------
    members : mapping of group name to a column of 0 and 1
    dimension : sequence of int (G,), optional
        Groups of the same number exclude one another; by default each stands alone.

    Raises
    ------
    ValueError
        For columns that are not binary or differ in length, or when nothing is in any group.
    """
    marks = {name: columns.binary(column, f"group {name!r}") for name, column in members.items()}
    if not marks:
        raise ValueError("no groups were given")
    columns.same_length({f"group {k!r}": v for k, v in marks.items()})
    empty = [name for name, column in marks.items() if not column.any()]
    kept = [name for name in marks if name not in empty]
    if not kept:
        raise ValueError(f"all groups are empty: {', '.join(empty[:20])}; nobody is in any of them")
    atoms, values = _atoms([marks[name] for name in kept])
    member = scipy.sparse.csr_array(values.T.astype(float))
    partitions = tuple((1 - values[:, g], np.array([g])) for g in range(len(kept)))
    return Groups(tuple(kept), atoms, member, partitions)


def individuals(n: int, most: int = MOST_GROUPS) -> Groups:
    """Each of n rows a group of its own (Equation 9)."""
    _refuse_many(n, most, "individuals:")
    every = np.arange(n)
    eye = scipy.sparse.eye_array(n, format="csr")
    return Groups(tuple(f"row {i}" for i in every), every, eye, ((every, every),))


def _columns(by: Any) -> dict[str, Any]:
    if isinstance(by, pd.DataFrame):
        by = {str(name): by[name] for name in by}
    elif isinstance(by, pd.Series):
        by = {str(by.name or "group"): by}
    elif isinstance(by, np.ndarray) and by.ndim == 2:
        by = {f"column {i}": by[:, i] for i in range(by.shape[1])}
    elif not isinstance(by, Mapping):
        several = isinstance(by, list | tuple) and by and np.ndim(by[0]) == 1
        by = {f"column {i}": c for i, c in enumerate(by)} if several else {"group": by}
    if not by:
        raise ValueError("no group columns were given; give None for individual fairness")
    return dict(by)


def _atoms(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct combinations of the codes: the combination of each row, and each one's codes."""
    atoms, values = np.zeros(len(parts[0]), np.int64), np.zeros((1, 0), np.int64)
    for part in parts:
        width = int(part.max()) + 1
        joint = atoms * width
        joint += part
        seen, atoms = _compressed(joint, len(values) * width)
        values = np.column_stack([values[seen // width], seen % width])
    return atoms, values


def _compressed(joint: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    if most > 50_000_000:
        return np.unique(joint, return_inverse=True)
    seen = np.flatnonzero(np.bincount(joint, minlength=most))
    place = np.zeros(most, np.int64)
    place[seen] = np.arange(len(seen))
    return seen, place[joint]


def _subsets(columns_: int, intersect: str) -> list[tuple[int, ...]]:
    every = range(columns_)
    if intersect == EACH:
        return [(i,) for i in every]
    if intersect == JOINT:
        return [tuple(every)]
    if intersect == ALL:
        sizes = range(1, columns_ + 1)
        return [s for size in sizes for s in itertools.combinations(every, size)]
    raise ValueError(f"intersect={intersect!r} is not known; give 'each', 'joint' or 'all'")


def _build(atoms, values, labels, subsets, column_names, most) -> Groups:
    names, rows, partitions = [], [], []
    for subset in subsets:
        seen, place = np.unique(values[:, subset], axis=0, return_inverse=True)
        _refuse_many(len(names) + len(seen), most, "the columns and intersections make")
        at = np.arange(len(names), len(names) + len(seen))
        names += [
            AND.join(labels[c][v] for c, v in zip(subset, combo, strict=True)) for combo in seen
        ]
        partitions.append((place.reshape(-1), at))
        rows.append(at[place.reshape(-1)])
    names = _unambiguous(names, subsets, values, labels, column_names)
    k = np.tile(np.arange(len(values)), len(subsets))
    shape = (len(names), len(values))
    member = scipy.sparse.csr_array((np.ones(len(k)), (np.concatenate(rows), k)), shape=shape)
    return Groups(tuple(names), atoms, member, tuple(partitions))


def _unambiguous(names, subsets, values, labels, column_names) -> list[str]:
    """Put the column before the value where two groups would have one name."""
    if len(set(names)) == len(names):
        return names
    full = []
    for subset in subsets:
        for combo in np.unique(values[:, subset], axis=0):
            pairs = zip(subset, combo, strict=True)
            full.append(AND.join(f"{column_names[c]}={labels[c][v]}" for c, v in pairs))
    return full


def _refuse_constant(name: str, found: np.ndarray, names: list[str]) -> None:
    if found.min() == found.max():
        raise ValueError(
            f"group column {name!r} has one value, {names[found[0]]!r}, in all {len(found)} rows: "
            "there is nothing to compare; leave the column out"
        )


def _refuse_many(count: int, most: int, what: str) -> None:
    if count > most:
        raise ValueError(
            f"{what} {count:,} groups, more than the {most:,} allowed: is it an identifier? Merge "
            "rare values, or cut numbers into ranges (pandas.cut), or raise most="
        )
