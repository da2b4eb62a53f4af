"""Columns as they come (lists, numpy, torch, pandas, a CSV file), made into checked arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROLES = {
    "y_true": ("y_true", "label", "labels"),
    "y_pred": ("y_pred", "prediction", "predictions"),
    "y_score": ("y_score", "score", "scores"),
}
"""What a column of a CSV is taken for, by its name."""
MANY = 50  # values of a column that may be a group each without anybody asking for it
SAMPLE = 10_000  # rows looked at for the objects that a column of text refers to
FEW = 100  # most of them that comparing is faster for than hashing


def read(path: str | Path, groups: list[str] | None = None, cluster: str | None = None) -> dict:
    """The columns of a CSV, recognised by their names (`ROLES`), as `counts.table` takes them.

    `groups` are the columns that are groups, by default all that are nothing else; `cluster` is the
    column whose rows are not independent of one another, such as the image's name.

    Raises
    ------
    ValueError
        When there is no such CSV, nothing is measured in it, a column is missing, or a column of
        identifiers would become groups.
    """
    path = Path(path)
    try:
        rows = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name}: is not a CSV table ({error})") from None
    roles = {role: [name for name in names if name in rows] for role, names in ROLES.items()}
    for role, here in roles.items():
        if len(here) > 1:
            raise ValueError(f"{path.name}: {' and '.join(here)} are both {role}; keep one of them")
    found = {role: rows[here[0]] for role, here in roles.items() if here}
    taken = [cluster, *(column.name for column in found.values())]
    chosen = [name for name in rows if name not in taken] if groups is None else groups
    missing = [name for name in (*chosen, cluster) if name is not None and name not in rows]
    if missing or not found or not chosen:
        lack = f"no column {missing[0]!r}" if missing else "no groups, or nothing measured"
        raise ValueError(
            f"{path.name}: {lack}; it has {', '.join(rows)}. Needed are y_true and y_pred or "
            "y_score, and at least one group column"
        )
    for name in chosen:
        values = rows[name].nunique()
        if values > MANY and (groups is None or values > len(rows) / 10):
            raise ValueError(
                f"{path.name}: column {name!r} would make {values:,} groups of {len(rows):,} rows. "
                "If it says which rows belong together (an image, a person), give it as cluster; "
                "otherwise merge its values, or name the columns that are groups"
            )
    clusters = None if cluster is None else rows[cluster]
    return {"sensitive_features": rows[chosen], **found, "clusters": clusters}


def array(values: Any, name: str) -> np.ndarray:
    """One column, from a list, array, tensor on any device or Series; `name` is for its errors."""
    if hasattr(values, "detach"):  # torch, without importing it
        values = values.detach().cpu().numpy()
    found = values if isinstance(values, np.ndarray) else np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"{name} has shape {found.shape}; expected one value a row, shape (n,)")
    if len(found) == 0:
        raise ValueError(f"{name} is empty: there is nothing to measure")
    return found


def binary(values: Any, name: str) -> np.ndarray:
    """A column of 0 and 1 (or False and True) as int8."""
    found = _numbers(array(values, name), name)
    bad = (found != 0) & (found != 1)
    what = f"not 0 or 1, the first is {found[bad.argmax()]!s}"
    _refuse(bad, name, what, "give a class at a time (values == class), or y_score")
    return found.astype(np.int8)


def real(values: Any, name: str) -> np.ndarray:
    """A column of finite numbers as float64."""
    found = _numbers(array(values, name), name).astype(np.float64, copy=False)
    advice = "drop these rows, or give them a score, before measuring"
    _refuse(~np.isfinite(found), name, "NaN or infinite, the first is", advice)
    return found


def _numbers(found: np.ndarray, name: str) -> np.ndarray:
    if found.dtype.kind in "biuf":
        return found
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError):
        at = int(pd.isna(pd.to_numeric(pd.Series(found), errors="coerce")).argmax())
        raise ValueError(f"{name} holds {str(found[at])!r} in row {at}: expected numbers") from None


def _refuse(bad: np.ndarray, name: str, what: str, advice: str) -> None:
    """Refuse a column with bad values: how many there are, what they are, and where the first."""
    if bad.any():
        raise ValueError(
            f"{name}: {bad.sum()} of {len(bad)} values are {what} in row {int(bad.argmax())}; "
            f"{advice}"
        )


def same_length(columns: Mapping[str, np.ndarray | None]) -> None:
    """Refuse columns that differ in length; those that are None are not there."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise ValueError(f"columns differ in length: {each}; every row needs all of them")


def codes(values: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """A categorical column as int64 codes and the names of its values, sorted where possible.

    `name` is what an error calls the column, such as "group column 'age'".
    """
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        values = array(values, name)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = pd.Categorical(values)
        found, names = values.codes, list(values.categories)
    else:
        found, names = _factorized(values)
    advice = "name them (for example 'unknown') or drop the rows"
    _refuse(found < 0, name, "missing, the first is", advice)
    fractions = [v for v in names if isinstance(v, float) and not v.is_integer()]
    if fractions:
        raise ValueError(
            f"{name} holds fractions, such as {fractions[0]:g}: it measures something and names "
            "nothing. Leave it out, or cut it into ranges (pandas.cut)"
        )
    return found.astype(np.int64, copy=False), [str(value) for value in names]


def _factorized(values: Any) -> tuple[np.ndarray, Any]:
    """Codes and sorted names of a column; -1 where a value is missing.

    Text read by pandas, or drawn from a list, refers to the same few objects again and again:
    comparing references is over twenty times as fast as hashing the text of every row.
    """
    if values.dtype == object or getattr(values.dtype, "storage", "") == "python":
        objects = np.ascontiguousarray(np.asarray(values, dtype=object))
        references = np.frombuffer(objects, np.intp)
        seen, first = np.unique(references[:SAMPLE], return_index=True)
        found, names = pd.factorize(objects[first], sort=True)  # several objects can be equal
        marks = np.zeros(len(objects), np.int8)  # code + 2; 1: missing, 0: no object seen so far
        for reference, code in zip(seen, found, strict=True) if len(seen) <= FEW else ():
            marks += (references == reference).view(np.int8) * np.int8(code + 2)
        if marks.all():
            return marks - np.int8(2), names
    return pd.factorize(values, sort=True)
