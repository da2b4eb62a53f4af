"""Income of the place where a frame was taken: GPS, areas and a table of incomes, joined.

ICON2, section 4.1: the position of each labelled frame is looked up in a map of areas, and the
area's median income puts the frame into one of three bins. The user brings the map (GeoJSON, or a
CSV of centres) and the table; no such table ships here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.detection.data import DetectionDataError
from helpers.places import areas_of, positions

PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
BINS = ("low", "middle", "high")
NO_GPS, NO_AREA, NO_INCOME, OUTSIDE = (
    "without GPS",
    "outside of every area",
    "in an area without income",
    "outside of the bins' edges",
)


@dataclass(frozen=True)
class Income:
    """Income of every frame.

    Attributes
    ----------
    table : DataFrame, one row a video
        ``video latitude longitude area income bin``; NaN where not known.
    report : dict
        How many frames were joined, and how many were left out for which reason.
    edges : tuple of float
        Of the bins.
    """

    table: pd.DataFrame
    report: dict[str, int]
    edges: tuple[float, ...]


def join(
    videos: Iterable[str],
    gps: str | Path,
    areas: str | Path | dict,
    incomes: str | Path | pd.DataFrame,
    *,
    key: str = "area",
    edges: str | tuple[float, ...] = "equal",
) -> Income:
    """Income bin of every frame.

    Parameters
    ----------
    videos
        One a frame (BDD100K labels one frame of each video).
    gps
        Folder of BDD100K's info files.
    areas
        As in :func:`areas_of`.
    incomes
        CSV or table with `key` and ``income`` (dollars a year).
    edges
        ``equal`` (a third of the joined frames in each bin), ``paper`` (21.4k, 62.1k, 93.4k, 250k)
        or four edges of your own, rising. A bin holds its lower edge, the last both.

    Returns
    -------
    Income

    Raises
    ------
    DetectionDataError
        When a file is unusable, an area is listed twice, or no frame can be joined.
    """
    table = positions(videos, gps)
    table["area"] = areas_of(table, areas, key)
    listed = _incomes(incomes, key)
    table["income"] = table.area.map(listed).astype(float)
    known = table.income.dropna()
    if known.empty:
        raise DetectionDataError("no frame could be joined with an income: check the map and `key`")
    given = _edges(edges, known)
    table["bin"] = pd.cut(table.income, given, labels=BINS, right=False, include_lowest=True)
    table.loc[table.income == given[-1], "bin"] = BINS[-1]
    return Income(table, _report(table), given)


def _incomes(incomes: str | Path | pd.DataFrame, key: str) -> pd.Series:
    table = incomes if isinstance(incomes, pd.DataFrame) else pd.read_csv(incomes, dtype={key: str})
    missing = {key, "income"} - set(table.columns)
    if missing:
        raise DetectionDataError(f"the table of incomes has no column {sorted(missing)[0]!r}")
    twice = table[key][table[key].duplicated()]
    if len(twice):
        raise DetectionDataError(f"area {twice.iloc[0]!r} is listed twice in the table of incomes")
    return table.set_index(table[key].astype(str))["income"]


def _edges(edges: str | tuple[float, ...], known: pd.Series) -> tuple[float, ...]:
    if edges == "paper":
        return PAPER_EDGES
    if edges == "equal":
        edges = tuple(np.quantile(known, [0, 1 / 3, 2 / 3, 1]))
    if isinstance(edges, str) or len(edges) != 4 or not (np.diff(edges) > 0).all():
        raise DetectionDataError(f"edges={edges!r}: 'equal', 'paper' or four rising numbers")
    return tuple(float(e) for e in edges)


def _report(table: pd.DataFrame) -> dict[str, int]:
    no_gps = table.latitude.isna()
    no_area = ~no_gps & table.area.isna()
    no_income = table.area.notna() & table.income.isna()
    return {
        "frames": len(table),
        "joined": int(table["bin"].notna().sum()),
        NO_GPS: int(no_gps.sum()),
        NO_AREA: int(no_area.sum()),
        NO_INCOME: int(no_income.sum()),
        OUTSIDE: int((table.income.notna() & table["bin"].isna()).sum()),
    }
