"""Count the rows of a table by group, prediction, label and score.

All measures of bias follow from these counts, so their cost does not depend on the
number of rows.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.stats

from helpers.blocks import measures

VALUES = ("score", "y_pred", "y_true", "second")
EVERYONE = "everyone"
BATCH = 2_000_000  # counts of permuted or resampled tables that are held at once


@dataclass(frozen=True)
class Counts:
    """Hold how many rows of each kind each group has.

    Attributes
    ----------
    groups : list of str
        Names of the G groups, which may overlap.
    kinds : pandas.DataFrame
        One row per combination of the columns of `VALUES` that the table has, with
        ascending scores. An unknown y_true is `measures.UNKNOWN`.
    cells : integer array of shape (..., strata, atoms, kinds)
        Rows of each atom and kind. Atoms are the finest intersections of groups.
    member : array of shape (2 G + 1, atoms)
        1 where an atom belongs to a unit. Units are the groups, everyone, and the
        complement of each group.
    """

    groups: list[str]
    kinds: pd.DataFrame
    cells: np.ndarray
    member: np.ndarray

    @property
    def units(self) -> list[str]:
        """Name the groups, everyone and the complements."""
        return [*self.groups, EVERYONE, *(f"not {name}" for name in self.groups)]

    @cached_property
    def mass(self) -> np.ndarray:
        """Count the rows of units and kinds over all strata: (..., units, kinds)."""
        return self.member @ self.cells.sum(-3)

    @cached_property
    def mass_of_strata(self) -> np.ndarray:
        """Count the rows of units and kinds: (..., strata, units, kinds)."""
        return self.member @ self.cells

    @property
    def shares(self) -> np.ndarray:
        """Return each unit's share of all rows: (..., units)."""
        rows = self.mass.sum(-1)
        return rows / rows[..., [len(self.groups)]]

    def values(self, measure: str | tuple[str, str]) -> np.ndarray:
        """Compute a base measure of each unit (section 4.2): (..., units).

        Parameters
        ----------
        measure : str or tuple of str
            A name of `measures.RATES` or `measures.OF_SCORES`, or your own rate as a
            pair: the rows of its numerator, and the rows of its denominator.

        Returns
        -------
        array
            NaN for units without rows that count.
        """
        return measures.values(measure, self.kinds, self.mass)

    def frame(self) -> pd.DataFrame:
        """Return n, tn, fn, fp and tp of each group and of everyone."""
        number = len(self.groups) + 1
        mass = self.mass[:number].astype(int)
        columns = {"group": self.units[:number], "n": mass.sum(axis=-1)}
        for name, rows in measures.CONFUSION.items():
            columns[name] = mass @ self.kinds.eval(rows).to_numpy()
        return pd.DataFrame(columns)

    def permuted(self, number: int, seed: int) -> Iterator["Counts"]:
        """Yield batches of tables whose groups are permuted within each stratum."""
        rng = np.random.default_rng([seed, 1])
        for size in self._batches(number):
            strata = []
            for stratum in self.cells:
                distribution = scipy.stats.random_table(
                    stratum.sum(axis=1),
                    stratum.sum(axis=0),
                )
                strata.append(distribution.rvs(size, "patefield", rng))
            yield replace(self, cells=np.stack(strata, axis=1))

    def resampled(self, number: int, seed: int) -> Iterator["Counts"]:
        """Yield batches of tables whose rows are drawn with replacement."""
        rng = np.random.default_rng([seed, 0])
        n = self.cells.sum()
        for size in self._batches(number):
            drawn = rng.multinomial(n, self.cells.ravel() / n, size=size)
            yield replace(self, cells=drawn.reshape(size, *self.cells.shape))

    def _batches(self, number: int) -> Iterator[int]:
        """Yield the sizes of batches of `number` tables."""
        most = max(1, BATCH // self.cells.size)
        for start in range(0, number, most):
            yield min(most, number - start)


def over(batches: Iterator[Counts], statistic: Callable) -> np.ndarray:
    """Compute a statistic of each permuted or resampled table."""
    return np.concatenate([statistic(batch) for batch in batches])


def count(
    groups: pd.Series | pd.DataFrame,
    values: Mapping[str, pd.Series],
    *,
    intersect: bool = False,
    strata: pd.DataFrame | None = None,
    times: pd.Series | None = None,
) -> Counts:
    """Count the rows of a table.

    Parameters
    ----------
    groups : pandas.Series or pandas.DataFrame
        One column of groups, or several.
    values : mapping of str to pandas.Series
        Columns of `VALUES`: predictions and labels of 0 and 1, and scores.
    intersect : bool, default=False
        Whether the intersections of several columns are groups as well (Equation 10).
        Intersections without rows are left out.
    strata : pandas.DataFrame, optional
        Columns whose combinations are strata.
    times : pandas.Series, optional
        How many rows each row represents; 1 by default.

    Returns
    -------
    Counts

    Raises
    ------
    ValueError
        If predictions or labels are not 0 and 1.
    """
    groups = pd.DataFrame(groups).reset_index(drop=True)
    columns = {name: values[name] for name in VALUES if name in values}
    kinds = pd.DataFrame(columns).reset_index(drop=True)
    _check_labels(kinds)
    atom = groups.groupby([*groups], observed=True).ngroup()
    kind = kinds.groupby([*kinds]).ngroup()
    stratum = pd.Series(0, groups.index)
    if strata is not None:
        stratum = strata.groupby([*strata], observed=True).ngroup()
    places = np.stack([stratum, atom, kind])
    shape = places.max(axis=1) + 1
    flat = np.ravel_multi_index(places, shape)
    cells = np.bincount(flat, times, minlength=np.prod(shape)).astype(np.int64)
    atoms = groups.drop_duplicates().sort_values([*groups])
    names, inside = _groups(atoms, intersect)
    everyone = np.ones((1, len(atoms)))
    return Counts(
        names,
        kinds.drop_duplicates().sort_values([*kinds], ignore_index=True),
        cells.reshape(shape),
        np.vstack([inside, everyone, 1 - inside]),
    )


def _check_labels(kinds: pd.DataFrame) -> None:
    """Refuse predictions and labels other than 0 and 1."""
    for name in kinds.columns.difference(["score"]):
        values = {*kinds[name].unique()} - {measures.UNKNOWN}
        if not values <= {0, 1}:
            raise ValueError(
                f"The column {name} has the values {sorted(values)[:5]}. Give 0 and 1, "
                "such as (table[name] == 'yes').astype(int)."
            )


def _groups(atoms: pd.DataFrame, intersect: bool) -> tuple[list[str], np.ndarray]:
    """Name the groups, and return which atoms belong to each."""
    atoms = atoms.astype(str)
    values = [value for name in atoms for value in atoms[name].unique()]
    if len(values) > len(set(values)):  # two columns share a value
        for name in atoms:
            atoms[name] = f"{name}=" + atoms[name]
    largest = len(atoms.columns) if intersect else 1
    names = []
    inside = []
    for size in range(1, largest + 1):
        for subset in itertools.combinations(atoms, size):
            labels = atoms[subset[0]]
            for column in subset[1:]:
                labels = labels + " & " + atoms[column]
            for name in labels.unique():
                names.append(name)
                inside.append((labels == name).to_numpy(float))
    return names, np.array(inside)
