"""The count table: one pass over the rows, from which all measures of classification follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from helpers.fairness import columns
from helpers.fairness.grouping import EACH, EVERYONE, JOINT, NOT, Groups, groups, individuals

CELLS = ("tn", "fn", "fp", "tp")  # place = 2 * prediction + label


@dataclass(frozen=True)
class Table:
    """What is measured, and for whom.

    Attributes
    ----------
    groups : Groups
        G groups over K atoms.
    counts : int64 array (K, 4)
        Rows of each atom with (prediction, label) = (0, 0), (0, 1), (1, 0), (1, 1). A column that
        was not given counts as 0 here; measures that need it refuse.
    prediction, label : int8 array (n,) or None
    score, target : float64 array (n,) or None
    min_size : int
        Sides smaller than this are kept in every table, marked, and not compared.
    strata : int64 array (n,) or None
        Stratum of each row, 0..Z-1, of the confounders held fixed.
    stratum_names : tuple of str (Z,)
    clusters : int64 array (n,) or None
        Cluster of each row, 0..M-1: what is drawn and exchanged together.
    """

    groups: Groups
    counts: np.ndarray
    prediction: np.ndarray | None
    label: np.ndarray | None
    score: np.ndarray | None
    target: np.ndarray | None
    min_size: int = 1
    strata: np.ndarray | None = None
    stratum_names: tuple[str, ...] = ()
    clusters: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.groups.atoms)

    @property
    def has(self) -> frozenset[str]:
        """Which of predictions, labels, scores and targets there are."""
        given = {
            "predictions": self.prediction,
            "labels": self.label,
            "scores": self.score,
            "targets": self.target,
        }
        return frozenset(name for name, column in given.items() if column is not None)

    @property
    def units(self) -> tuple[str, ...]:
        """Names of all that a measure is computed for: the groups, everyone, the complements."""
        names = self.groups.names
        return (*names, EVERYONE, *(NOT + name for name in names))

    @cached_property
    def descending(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows from the highest score, and the tie block of each place in it."""
        order = np.argsort(-self.score, kind="stable")
        score = self.score[order]
        return order, np.concatenate([[0], np.cumsum(score[1:] != score[:-1])])

    def frame(self) -> pd.DataFrame:
        """Counts of every group and of everyone: group, n, tn, fn, fp, tp, small."""
        counts = unit_counts(self.groups, self.counts)[: len(self.groups) + 1].astype(int)
        found = pd.DataFrame(counts, columns=list(CELLS))
        found.insert(0, "group", self.units[: len(found)])
        found.insert(1, "n", counts.sum(1))
        return found.assign(small=found["n"] < self.min_size)


def table(
    by: Any = None,
    *,
    predictions: Any = None,
    labels: Any = None,
    scores: Any = None,
    targets: Any = None,
    intersect: str = EACH,
    min_size: int = 1,
    strata: Any = None,
    clusters: Any = None,
) -> Table:
    """Count once (sections 3 and 4.2).

    Parameters
    ----------
    by : see `helpers.fairness.groups`
        Group columns; None makes each row a group of its own.
    predictions, labels : columns of 0 and 1, (n,)
    scores, targets : columns of finite numbers, (n,)
        Targets are what scores should be, for the errors of regression; where there are none, the
        labels are taken.
    intersect : {"each", "joint", "all"}
    min_size : int, 1 or more
    strata : group columns, optional
        Confounders, for comparisons in which they are held fixed (`report(..., adjust=...)`): rows
        with the same value in every one of these columns are a stratum.
    clusters : column, optional
        Rows with the same value are not independent (boxes of an image, frames of a video): they
        are drawn together, and groups are exchanged between clusters and inside of them, not
        between single rows.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        For columns that are missing, differ in length, or hold what they may not.
    """
    if min_size < 1:
        raise ValueError(f"min_size={min_size} must be 1 or more")
    given = {
        "predictions": None if predictions is None else columns.binary(predictions, "predictions"),
        "labels": None if labels is None else columns.binary(labels, "labels"),
        "scores": None if scores is None else columns.real(scores, "scores"),
        "targets": None if targets is None else columns.real(targets, "targets"),
    }
    if all(column is None for column in given.values()):
        raise ValueError("nothing to measure: give predictions, labels, scores or targets")
    n = columns.same_length(given)
    chosen = individuals(n) if by is None else groups(by, intersect)
    columns.same_length({**given, "the group columns": chosen.atoms})
    prediction, label, score, target = given.values()
    counts = _count(chosen, prediction, label)
    by_stratum = None if strata is None else groups(strata, JOINT)
    at = None if by_stratum is None else by_stratum.atoms
    columns.same_length({**given, "strata": at})
    names = () if by_stratum is None else by_stratum.names
    cluster = None if clusters is None else columns.clusters(clusters)
    columns.same_length({**given, "clusters": cluster})
    return Table(chosen, counts, prediction, label, score, target, min_size, at, names, cluster)


def within(data: Table, stratum: int) -> Table:
    """The rows of one stratum as a table with the same groups, empty ones included."""
    at = np.flatnonzero(data.strata == stratum)
    chosen = replace(data.groups, atoms=data.groups.atoms[at])
    taken = [
        None if c is None else c[at] for c in (data.prediction, data.label, data.score, data.target)
    ]
    return Table(chosen, _count(chosen, *taken[:2]), *taken, data.min_size)


def unit_counts(chosen: Groups, counts: np.ndarray) -> np.ndarray:
    """Counts of the groups, everyone and the complements, from those of the atoms.

    Parameters
    ----------
    chosen : Groups
    counts : array (..., K, 4)

    Returns
    -------
    float64 array (..., 2 G + 1, 4)
    """
    lead, (k, cells) = counts.shape[:-2], counts.shape[-2:]
    flat = np.moveaxis(counts.reshape(-1, k, cells), 1, 0).reshape(k, -1).astype(float)
    inside = chosen.member @ flat
    total = flat.sum(0, keepdims=True)
    units = np.concatenate([inside, total, total - inside])
    return np.moveaxis(units.reshape(len(units), -1, cells), 0, 1).reshape(*lead, -1, cells)


def _count(chosen: Groups, prediction, label) -> np.ndarray:
    key = chosen.atoms * 4
    if prediction is not None:
        key += 2 * prediction
    if label is not None:
        key += label
    k = chosen.member.shape[1]
    return np.bincount(key, minlength=4 * k).reshape(k, 4)
