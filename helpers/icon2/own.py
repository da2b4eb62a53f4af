"""Attributes of the reader's own: a CSV joined to the frames by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from helpers.detection import DetectionDataError, GroundTruth
from helpers.detection.data import counted
from helpers.icon2 import attributes, pixels
from helpers.icon2.attributes import Attribute

DISTINCT = 6  # numbers with more distinct values than this are cut into thirds


def join(truth: GroundTruth, path: str | Path) -> tuple[GroundTruth, list[str]]:
    """Join a CSV's columns to the frames.

    Parameters
    ----------
    truth
    path
        CSV with a column ``name`` (of the frame, with or without its extension) and one column an
        attribute; frames that it does not list have no value.

    Returns
    -------
    truth : GroundTruth
        With the columns among its images' and a sentence in its report for what did not join.
    columns : list of str
        Their names.

    Raises
    ------
    DetectionDataError
        When the file is absent or empty, has no column ``name``, lists a frame twice, names a
        column as the frames' own, or lists none of the frames.
    """
    path = Path(path)
    table = _read(path)
    columns = [c for c in table.columns if c != "name"]
    known = [c for c in columns if c in truth.images or c in truth.boxes]
    if known or not columns:
        what = f"column {known[0]!r} is one of the labels'" if known else "no column but 'name'"
        raise DetectionDataError(f"{path.name}: {what}; name your attributes otherwise")
    stem = truth.images.name.map(lambda name: Path(name).stem)
    listed = stem.isin(table.index)
    if not listed.any():
        raise DetectionDataError(f"{path.name}: none of its names is that of a frame")
    found = table[columns].reindex(stem).reset_index(drop=True)
    report = counted(
        {
            f"frames are not listed in {path.name}": int((~listed).sum()),
            f"rows of {path.name} are of no frame here": int((~table.index.isin(stem)).sum()),
        }
    )
    joined = truth.with_images(**{c: found[c] for c in columns})
    return replace(joined, report=(*truth.report, *report)), columns


def attribute(truth: GroundTruth, column: str) -> Attribute:
    """A column as an attribute; numbers with many values as low, middle and high thirds."""
    for level, table in (("image", truth.images), ("box", truth.boxes)):
        if column in table:
            numbers = is_numeric_dtype(table[column]) and table[column].nunique() > DISTINCT
            if numbers:
                return pixels.thirds(column, table[column], level)
            break
    return attributes.from_column(truth, column)


def _read(path: Path) -> pd.DataFrame:
    """The file, by the stems of its frames' names."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file")
    try:
        table = pd.read_csv(path, dtype={"name": str})
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise DetectionDataError(f"{path.name}: is not a CSV table ({error})") from None
    if "name" not in table:
        raise DetectionDataError(f"{path.name}: no column 'name'; it names the frame of each row")
    table = table.set_index(table.name.map(lambda name: Path(str(name)).stem).rename(None))
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise DetectionDataError(f"{path.name}: frame {twice[0]!r} is listed twice")
    return table
