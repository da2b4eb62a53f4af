"""Columns as they come (lists, numpy, torch on any device, pandas) made into checked arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

ROW_LIMIT = 10**9  # numpy draws hypergeometric numbers below this
SAMPLE = 10_000  # rows looked at for the objects that a column of text refers to
FEW = 100  # most of them that comparing is faster for than hashing


def array(values: Any, name: str) -> np.ndarray:
    """One column as a one-dimensional numpy array.

    Parameters
    ----------
    values : list, numpy array, torch tensor (any device), pandas Series or anything iterable
    name : str
        What to call it in an error.

    Returns
    -------
    array (n,)

    Raises
    ------
    ValueError
        When it has not exactly one dimension, or is empty.
    """
    if hasattr(values, "detach"):  # torch, without importing it
        values = values.detach().cpu().numpy()
    found = values if isinstance(values, np.ndarray) else np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"{name} has shape {found.shape}; expected one value a row, shape (n,)")
    if len(found) == 0:
        raise ValueError(f"{name} is empty: there is nothing to measure")
    if len(found) >= ROW_LIMIT:
        raise ValueError(f"{name} has {len(found):,} rows; at most {ROW_LIMIT - 1:,} are handled")
    return found


def binary(values: Any, name: str) -> np.ndarray:
    """A column of 0 and 1 (or False and True) as int8.

    Raises
    ------
    ValueError
        For any other value; it names the first, its row, and what to do.
    """
    found = array(values, name)
    if found.dtype == bool:
        return found.astype(np.int8)
    numbers = _numbers(found, name)
    bad = (numbers != 0) & (numbers != 1)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"{name}: {bad.sum()} of {len(bad)} values are not 0 or 1, the first is "
            f"{found[at]!s} in row {at}; give a class at a time (values == class), or scores="
        )
    return numbers.astype(np.int8)


def real(values: Any, name: str) -> np.ndarray:
    """A column of finite numbers as float64.

    Raises
    ------
    ValueError
        For NaN, infinite or non-numeric values; it names the first row.
    """
    found = array(values, name)
    numbers = _numbers(found, name).astype(np.float64, copy=False)
    bad = ~np.isfinite(numbers)
    if bad.any():
        raise ValueError(
            f"{name}: {bad.sum()} of {len(bad)} values are NaN or infinite, the first in row "
            f"{int(bad.argmax())}; drop these rows, or give them a score, before measuring"
        )
    return numbers


def same_length(columns: Mapping[str, np.ndarray | None]) -> int:
    """Length shared by all columns that are there.

    Raises
    ------
    ValueError
        When they differ; it lists every length.
    """
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise ValueError(f"columns differ in length: {said}; every row needs all of them")
    return next(iter(lengths.values()))


def codes(values: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """A categorical column as int codes and the names of its values, sorted where that is possible.

    Raises
    ------
    ValueError
        For missing values; it says how many and where the first is.
    """
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        values = array(values, name)
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.CategoricalDtype):
        values = values.array
    if isinstance(values, pd.Categorical):
        found, names = values.codes, list(values.categories)
    else:
        found, names = _factorized(values)
    missing = found < 0
    if missing.any():
        what = name if name == "clusters" else f"group column {name!r}"
        raise ValueError(
            f"{what}: {missing.sum()} of {len(found)} values are missing, the first "
            f"in row {int(missing.argmax())}; name them (for example 'unknown') or drop the rows"
        )
    return found.astype(np.int64, copy=False), [str(value) for value in names]


def clusters(values: Any) -> np.ndarray:
    """A column that says which rows belong together, as int64 codes.

    Raises
    ------
    ValueError
        For missing values, or when all rows are one cluster.
    """
    found, names = codes(values, "clusters")
    if len(names) < 2 or found.min() == found.max():
        raise ValueError(f"clusters: all {len(found)} rows belong to one; give two or more")
    return np.unique(found, return_inverse=True)[1]


def _factorized(values: Any) -> tuple[np.ndarray, list]:
    """Codes and sorted names of a column; -1 where a value is missing."""
    coded = by_reference(np.asarray(values, dtype=object)) if _is_text(values) else None
    if coded is not None:
        return coded
    found, names = pd.factorize(values)
    return _sorted(found, list(names))


def by_reference(objects: np.ndarray) -> tuple[np.ndarray, list] | None:
    """Codes and sorted names of an array of references to few objects; None where they are many.

    Text that was read by pandas, or drawn from a list, refers to the same few objects again and
    again. Comparing references is about ten times faster than hashing the text of every row.

    Parameters
    ----------
    objects : object array (n,)

    Returns
    -------
    codes : int8 array (n,)
        -1 where a value is missing.
    names : list
    """
    references = np.frombuffer(np.ascontiguousarray(objects), np.intp)
    seen, first = np.unique(references[:SAMPLE], return_index=True)
    if len(seen) > FEW:
        return None
    found, names = pd.factorize(objects[first])  # several objects can be equal
    found, names = _sorted(found, list(names))
    marks = np.zeros(len(objects), np.int8)  # code + 2; 1: missing, 0: no object seen so far
    for reference, code in zip(seen, found, strict=True):
        marks += (references == reference).view(np.int8) * np.int8(code + 2)
    return (marks - np.int8(2), names) if marks.all() else None


def _is_text(values: Any) -> bool:
    """Whether pandas or numpy hold it as references to objects."""
    return isinstance(values.dtype, np.dtypes.ObjectDType) or (
        isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "python"
    )


def _sorted(found: np.ndarray, names: list) -> tuple[np.ndarray, list]:
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:  # mixed types stay in order of appearance
        return found, names
    place = np.empty(len(names) + 1, np.int64)
    place[order], place[-1] = np.arange(len(names)), -1
    return place[found], [names[i] for i in order]


def _numbers(found: np.ndarray, name: str) -> np.ndarray:
    if found.dtype.kind not in "biuf":
        try:
            return found.astype(np.float64)
        except (TypeError, ValueError):
            at = int(pd.isna(pd.to_numeric(pd.Series(found), errors="coerce")).argmax())
            raise ValueError(
                f"{name} holds {str(found[at])!r} in row {at}: expected numbers"
            ) from None
    return found
