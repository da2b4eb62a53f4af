"""Groups of rows, and one table of counts that all measures follow from.

Counts are of *atoms*, the finest intersections of group columns. Every group is a union
of atoms (Equations 6 to 10).
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

AND, EVERYONE, NOT = " & ", "everyone", "not "
MOST_GROUPS = 100_000
MOST_COUNTS = 20_000_000  # atoms x kinds
CELLS = ("tn", "fn", "fp", "tp")  # place = 2 * y_pred + y_true
PLACES = 6  # those of `CELLS`, and 4 + y_pred of rows whose y_true is not known
UNKNOWN = -1  # y_true in the kinds of these rows


# --- columns: lists, numpy, torch, pandas ---


def array(values: Any, name: str) -> np.ndarray:
    """Return one column (n,), from a list, array, tensor or Series."""
    column = np.asarray(values)
    if column.ndim != 1 or len(column) == 0:
        raise ValueError(
            f"{name} has shape {column.shape}; expected (n,), one value a row"
        )
    return column


def known(kind: str, names: Iterable[str], name: str) -> None:
    """Refuse an unknown name."""
    if name not in (names := list(names)):
        raise ValueError(
            f"{kind} {name!r} is not known; there are {', '.join(names[:20])}"
        )


def limit(number: int, most: int, what: str, advice: str) -> None:
    """Refuse more than can be held, or compared in a reasonable time."""
    if number > most:
        raise ValueError(
            f"{number:,} {what} are too many (more than {most:,}): {advice}"
        )


BINARY = (
    lambda x: (x == 0) | (x == 1),
    "not 0 or 1",
    "give a class at a time (values == class), or y_score",
)
NUMBERS = {  # which are allowed in a column, what others are, and what to do
    "y_pred": BINARY,
    "y_true": BINARY,
    "y_score": (
        np.isfinite,
        "no finite numbers",
        "drop these rows, or give them a number",
    ),
    "sample_weight": (
        lambda x: np.isfinite(x) & (x >= 0),
        "negative or no finite numbers",
        "a weight says how much a row counts",
    ),
}


def numbers(values: Any, name: str) -> np.ndarray:
    """Return a column of numbers; what :data:`NUMBERS` does not allow is refused."""
    column, (allowed, what, advice) = array(values, name), NUMBERS[name]
    converted = pd.to_numeric(pd.Series(column), errors="coerce").to_numpy(np.float64)
    _refuse(name, column, ~allowed(converted), what, advice)
    if name == "sample_weight" and not converted.any():
        raise ValueError(f"{name}: all weights are 0, so nothing would count")
    return converted.astype(np.int8) if NUMBERS[name] is BINARY else converted


def _refuse(name: str, values: Any, bad: np.ndarray, what: str, advice: str) -> None:
    """Refuse a column for its `bad` values, with the first of them."""
    if bad.any():
        at = int(bad.argmax())
        where = f"the first is {np.asarray(values, object)[at]} in row {at}"
        raise ValueError(
            f"{name}: {bad.sum()} of {len(bad)} values are {what}, {where}; {advice}"
        )


def codes(values: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """Return a categorical column as int64 codes (n,), and its values.

    There are two or more values, which are sorted if possible.
    """
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        values = array(values, name)
    places, names = pd.factorize(values, sort=True)
    _refuse(
        name, values, places < 0, "missing", "name them ('unknown'), or drop these rows"
    )
    if any(fractions := [isinstance(v, float) and not v.is_integer() for v in names]):
        advice = "leave the column out, or cut it into ranges (pandas.cut)"
        _refuse(
            name, values, np.array(fractions)[places], "fractions, and no names", advice
        )
    if len(names) == 1:
        one = f"one value, {str(names[0])!r}, in all rows"
        raise ValueError(
            f"{name} has {one}: there is nothing to compare; leave the column out"
        )
    return places.astype(np.int64, copy=False), [str(value) for value in names]


# --- groups, and what is counted for them ---


@dataclass(frozen=True)
class Groups:
    """Named sets of rows, such as ``night & rainy``."""

    names: tuple[str, ...]
    atoms: np.ndarray  # the atom of each row (n,), in 0..K-1
    member: scipy.sparse.csr_array  # (G, K), 1 where an atom is member of a group

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.names)

    def place(self, name: str) -> int:
        """Return the place of a group."""
        known("group", self.names, name)
        return self.names.index(name)


@dataclass(frozen=True)
class Table:
    """Counts of rows by group and kind, from which all measures follow."""

    groups: Groups
    kinds: (
        pd.DataFrame
    )  # J kinds of rows, by ascending score: `cell` (of `CELLS`), given columns
    counts: np.ndarray  # rows of each atom and kind (K, J), or (Z, K, J) by stratum
    rows: pd.DataFrame | None = (
        None  # of clusters: place in the flat counts, cluster, times
    )

    @property
    def has(self) -> set[str]:
        """Return which of y_pred, y_true and y_score the table has."""
        return set(self.kinds) & {"y_pred", "y_true", "y_score"}

    @property
    def units(self) -> tuple[str, ...]:
        """Name all that a measure is computed for: groups, everyone and complements."""
        names = self.groups.names
        return (*names, EVERYONE, *(NOT + name for name in names))

    @property
    def pooled(self) -> np.ndarray:
        """Counts of atoms and kinds over all strata: (K, J)."""
        return self.counts.reshape(-1, *self.counts.shape[-2:]).sum(0)

    def mass(self, counts: np.ndarray | None = None) -> np.ndarray:
        """Return how much each unit has of each kind, by weight: (..., U, J).

        `counts` may be those of drawn tables.
        """
        counts = self.counts if counts is None else counts
        lead, (k, kinds) = counts.shape[:-2], counts.shape[-2:]
        flat = (
            np.moveaxis(counts.reshape(-1, k, kinds), 1, 0).reshape(k, -1).astype(float)
        )
        inside = self.groups.member @ flat
        total = flat.sum(0, keepdims=True)
        units = np.concatenate([inside, total, total - inside])
        units = np.moveaxis(units.reshape(len(units), -1, kinds), 0, 1).reshape(
            *lead, -1, kinds
        )
        weighted = "sample_weight" in self.kinds
        return units * self.kinds["sample_weight"].to_numpy() if weighted else units

    def frame(self, complements: bool = False) -> pd.DataFrame:
        """Return the counts of groups, everyone and complements where wanted.

        The columns are group, n, tn, fn, fp and tp.
        """
        cells = confusion(self.kinds, self.mass(self.pooled))
        whole = "sample_weight" not in self.kinds
        cells = cells.astype(int) if whole else cells
        rows = cells.sum(axis=1)
        cells = pd.DataFrame(cells[:, : len(CELLS)], columns=CELLS)
        cells.insert(0, "group", self.units)
        cells.insert(1, "n", rows)
        return cells if complements else cells[: len(self.groups) + 1]


def confusion(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """Sum the mass of units by `CELLS`: (..., U, J) by kinds -> (..., U, 6).

    The last two are rows predicted 0 and 1 whose y_true is not known.
    """
    return mass @ (kinds["cell"].to_numpy()[:, None] == np.arange(PLACES)).astype(float)


READERS = dict.fromkeys(NUMBERS, numbers) | {
    "strata": lambda values, name: groups(values, "joint").atoms,
    "clusters": lambda values, name: codes(values, name)[0],
    "times": lambda values, name: array(values, name).astype(np.int64),
    "outcome_known": lambda values, name: array(values, name).astype(bool),
}


def table(sensitive_features: Any, *, intersect: str = "each", **columns: Any) -> Table:
    """Count the rows of a table once (sections 3 and 4.2).

    `columns` (n,) are y_pred and y_true of 0 and 1, y_score, sample_weight, strata,
    clusters and times; those that are None are not there. Where `outcome_known` is
    false, y_true is not read, and the row counts in rates without y_true alone.

    Groups (a column, or a table of columns) are the values of ``each`` column, their
    ``joint`` non-empty intersections, or ``all`` of any number of columns (Equation
    10); with None each row is a group (Equation 9). `strata` are held fixed: both sides
    are given everyone's mix of them. Rows of one of the `clusters` are drawn and
    exchanged together; `times` says for how many rows one stands. What a column may not
    hold is a ValueError.
    """
    present = {name: column for name, column in columns.items() if column is not None}
    for name in present:
        known("column", READERS, name)
    if not {"y_pred", "y_score", "y_true"} & set(present):
        raise ValueError(
            "nothing to measure: give y_pred (decisions), y_score (scores) or y_true"
        )
    present = {
        name: read(present[name], name)
        for name, read in READERS.items()
        if name in present
    }
    if sensitive_features is None:
        sensitive_features = {"row": np.arange(len(next(iter(present.values()))))}
    by = groups(sensitive_features, intersect)
    # pandas refuses columns that differ in length
    rows = pd.DataFrame({"atom": by.atoms, **present})
    if "y_true" in rows and "outcome_known" in rows:
        rows["y_true"] = rows["y_true"].where(rows["outcome_known"], UNKNOWN)
    kind, kinds = _kinds(rows)
    atoms, strata = by.member.shape[1], present.get("strata", np.zeros(1, int))
    shape = (
        (strata.max() + 1, atoms, len(kinds))
        if "strata" in present
        else (atoms, len(kinds))
    )
    advice = "round the scores, or merge small groups or strata"
    limit(np.prod(shape), MOST_COUNTS, "counts of groups and scores", advice)
    place = (strata * atoms + by.atoms) * len(kinds) + kind
    times = present.get("times")
    counts = np.bincount(place, times, np.prod(shape)).astype(np.int64).reshape(shape)
    if "clusters" not in present:
        return Table(by, kinds, counts)
    rows = {
        "place": place,
        "cluster": present["clusters"],
        "times": present.get("times", 1),
    }
    return Table(by, kinds, counts, pd.DataFrame(rows))


def with_unknown(columns: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
    """Return columns for `table` of which y_true may be `UNKNOWN` in some rows."""
    columns = dict(columns)
    if "y_true" in columns and (columns["y_true"] == UNKNOWN).any():
        columns["outcome_known"] = columns["y_true"] != UNKNOWN
        columns["y_true"] = columns["y_true"].where(columns["outcome_known"], 0)
    return columns


def _kinds(rows: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the kind of each row (n,), and the table of kinds: `Table.kinds`."""
    columns = ("y_score", "sample_weight", "y_pred", "y_true")
    columns_present = rows[[name for name in columns if name in rows]]
    if {"y_score", "sample_weight"} & set(columns_present):
        kind = columns_present.groupby([*columns_present]).ngroup().to_numpy()
        kinds = columns_present.drop_duplicates().sort_values(
            [*columns_present], ignore_index=True
        )
    else:  # all four, which takes no sorting
        kind = _cell(rows)
        kinds = pd.DataFrame({"y_pred": [0, 0, 1, 1], "y_true": [0, 1, 0, 1]})
        if (kind >= len(CELLS)).any():
            unknown = pd.DataFrame({"y_pred": [0, 1], "y_true": [UNKNOWN, UNKNOWN]})
            kinds = pd.concat([kinds, unknown], ignore_index=True)
        kinds = kinds[[*columns_present]]
    return kind, kinds.assign(cell=_cell(kinds))


def _cell(of: Mapping) -> np.ndarray:
    """Return the place in `CELLS` of rows, whose labels count as 0 if absent."""
    return cell(of.get("y_pred", 0), of.get("y_true", 0))


def cell(y_pred, y_true) -> np.ndarray:
    """Return the place of predictions and labels in `CELLS`.

    It is 4 or 5 where y_true is `UNKNOWN`.
    """
    y_pred, y_true = np.asarray(y_pred, np.int64), np.asarray(y_true, np.int64)
    return np.where(y_true == UNKNOWN, len(CELLS) + y_pred, 2 * y_pred + y_true)


def ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """Divide without warnings: 0/0 is NaN, and x/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return over / under


def groups(by: Any, intersect: str = "each") -> Groups:
    """Return the groups of categorical columns (section 4.1).

    `by` and `intersect` are as in `table`.
    """
    if not isinstance(by, pd.DataFrame | Mapping):
        by = {(by.name if isinstance(by, pd.Series) else None) or "group": by}
    if len(by.keys()) == 0:
        raise ValueError("no group columns were given")
    columns = {f"group column {str(name)!r}": by[name] for name in by}
    parts = {name: codes(column, name) for name, column in columns.items()}
    count, titles, labels = len(parts), [*by], [names for _, names in parts.values()]
    sizes = {"each": [1], "joint": [count], "all": range(1, count + 1)}
    known("intersect", sizes, intersect)
    subsets = [
        s
        for size in sizes[intersect]
        for s in itertools.combinations(range(count), size)
    ]
    rows = {name: codes_of for name, (codes_of, _) in parts.items()}
    rows = pd.DataFrame(rows)
    atoms = rows.groupby([*parts]).ngroup().to_numpy()
    values = rows.drop_duplicates().sort_values([*parts]).to_numpy()
    every, places = [], []
    for subset in subsets:
        seen, place = np.unique(values[:, subset], axis=0, return_inverse=True)
        what = f"groups of {', '.join(parts)}"
        advice = (
            "is one an identifier? Merge rare values, or cut numbers into ranges "
            "(pandas.cut)"
        )
        limit(len(every) + len(seen), MOST_GROUPS, what, advice)
        places.append(len(every) + place.reshape(-1))
        every += [list(zip(subset, combination, strict=True)) for combination in seen]
    names = [AND.join(labels[c][v] for c, v in group) for group in every]
    if len(set(names)) < len(names):  # two columns share a value
        names = [
            AND.join(f"{titles[c]}={labels[c][v]}" for c, v in group) for group in every
        ]
    k = np.tile(np.arange(len(values)), len(subsets))
    shape = (len(names), len(values))
    member = scipy.sparse.csr_array(
        (np.ones(len(k)), (np.concatenate(places), k)), shape=shape
    )
    return Groups(tuple(names), atoms, member)
