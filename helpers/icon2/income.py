"""Income of the place where a frame was taken: GPS, a map of areas and a table of incomes, joined.

ICON2, section 4.1: the position of each labelled frame is looked up in a map of areas, and the
area's median income puts the frame into one of three bins. The reader brings the map and the table;
none ships here.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from helpers.icon2.reading import DetectionDataError, load_json

PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
BINS = ("low", "middle", "high")
LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame
FARTHEST = 0.02  # degrees of latitude beyond which an area's centre is too far
JOINED, NO_GPS = "joined", "without GPS"
NO_AREA, NO_INCOME = "outside of every area", "in an area without income"
OUTSIDE = "outside of the bins' edges"


def join(
    videos: Iterable[str],
    gps: str | Path,
    areas: str | Path,
    incomes: str | Path,
    edges: str | tuple[float, ...] = "equal",
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Income bin of every frame.

    Parameters
    ----------
    videos
        One a frame (BDD100K labels one frame of each video).
    gps
        Folder of BDD100K's info files, ``<video>.json``.
    areas
        GeoJSON of polygons with a property ``area``, or a CSV of centres with columns ``area
        latitude longitude``: then the nearest one.
    incomes
        CSV with the columns ``area`` and ``income`` (dollars a year).
    edges
        ``equal`` (a third of the joined frames in each bin), ``paper`` (21.4k, 62.1k, 93.4k, 250k)
        or four edges of your own, rising. A bin holds its lower edge, the last both.

    Returns
    -------
    table : DataFrame, one row a video
        ``video latitude longitude area income bin``; NaN where not known.
    report : dict
        How many frames there are, were joined, and were left out for which reason.

    Raises
    ------
    DetectionDataError
        When a file is unusable, an area is listed twice, an income is no number, or no frame can
        be joined.
    """
    table = positions(videos, gps)
    table["area"] = areas_of(table, areas)
    table["income"] = table.area.map(_incomes(Path(incomes))).astype(float)
    known = table.income.dropna()
    if known.empty:
        raise DetectionDataError(
            "no frame could be joined with an income: check that the map and the table name their "
            "areas alike in 'area'"
        )
    edges = _edges(edges, known)
    table["bin"] = pd.cut(table.income, edges, labels=BINS, right=False, include_lowest=True)
    table.loc[table.income == edges[-1], "bin"] = BINS[-1]
    no_gps, no_area = table.latitude.isna(), table.area.isna()
    counts = {
        JOINED: table["bin"].notna(),
        NO_GPS: no_gps,
        NO_AREA: ~no_gps & no_area,
        NO_INCOME: ~no_area & table.income.isna(),
        OUTSIDE: table.income.notna() & table["bin"].isna(),
    }
    return table, {"frames": len(table)} | {name: int(n.sum()) for name, n in counts.items()}


def positions(videos: Iterable[str], folder: str | Path) -> pd.DataFrame:
    """Where each video's labelled frame was taken, between two fixes interpolated.

    Columns ``video latitude longitude``, NaN where there is no file or no fix in it.
    """
    rows = [(v, *_position(Path(folder) / f"{v}.json")) for v in videos]
    return pd.DataFrame(rows, columns=["video", "latitude", "longitude"])


def _position(path: Path) -> tuple[float, float]:
    track = load_json(path) if path.is_file() else {}
    fixes = track.get("locations") or []
    if not fixes:
        return np.nan, np.nan
    names = ("timestamp", "latitude", "longitude")
    try:
        times, latitudes, longitudes = np.array([[float(f[n]) for n in names] for f in fixes]).T
    except (KeyError, TypeError, ValueError):
        raise DetectionDataError(
            f"{path.name}: every entry of 'locations' needs {', '.join(names)}"
        ) from None
    order = np.argsort(times)
    moment = float(track.get("startTime", times.min())) + 1000 * LABELLED_AT
    found = [np.interp(moment, times[order], part[order]) for part in (latitudes, longitudes)]
    return float(found[0]), float(found[1])


def areas_of(places: pd.DataFrame, areas: str | Path) -> pd.Series:
    """Area that each place (``latitude``, ``longitude``) lies in, None where there is none."""
    if Path(areas).suffix.lower() == ".csv":
        return _nearest(places, _read(Path(areas), ["area", "latitude", "longitude"]))
    features = load_json(Path(areas)).get("features") or []
    if not features:
        raise DetectionDataError(f"{Path(areas).name}: holds no 'features'; GeoJSON has them")
    found = pd.Series([None] * len(places), index=places.index, dtype=object)
    x, y = places.longitude.to_numpy(float), places.latitude.to_numpy(float)
    for number, feature in enumerate(features):
        name = (feature.get("properties") or {}).get("area")
        if name is None:
            raise DetectionDataError(f"{Path(areas).name}: feature {number} has no property 'area'")
        found[_inside(x, y, feature.get("geometry") or {})] = str(name)
    return found


def _nearest(places: pd.DataFrame, centres: pd.DataFrame) -> pd.Series:
    middle = np.cos(np.deg2rad(centres.latitude.mean()))
    scale = np.array([1.0, middle])  # a degree of longitude is shorter than one of latitude
    columns = ["latitude", "longitude"]
    tree = cKDTree(centres[columns].to_numpy(float) * scale)
    known = places[columns].notna().all(axis=1).to_numpy()
    found = pd.Series([None] * len(places), index=places.index, dtype=object)
    at = places.loc[known, columns].to_numpy(float) * scale
    distance, which = tree.query(at, distance_upper_bound=FARTHEST)
    near = np.isfinite(distance)
    found[np.flatnonzero(known)[near]] = centres.area.to_numpy()[which[near]]
    return found


def _inside(x: np.ndarray, y: np.ndarray, geometry: dict) -> np.ndarray:
    """Places inside of a polygon: those that a ray to the right leaves an odd number of times."""
    kind, coordinates = geometry.get("type"), geometry.get("coordinates") or []
    polygons = {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(kind, [])
    inside = np.zeros(len(x), bool)
    for polygon in polygons:
        odd = np.zeros(len(x), bool)
        for ring in polygon:  # holes are rings too: they turn it back
            points = np.asarray(ring, float)[:, :2]
            for (x1, y1), (x2, y2) in pairwise(points):
                if y1 != y2:
                    between = (y1 > y) != (y2 > y)
                    odd ^= between & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
        inside |= odd
    return inside


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file")
    table = pd.read_csv(path, dtype={"area": str})
    missing = [name for name in columns if name not in table]
    if missing:
        raise DetectionDataError(f"{path.name}: no column {missing[0]!r}")
    return table


def _incomes(path: Path) -> pd.Series:
    """Income by area; "142,500" and "$142,500" are numbers too."""
    table = _read(path, ["area", "income"])
    twice = table.area[table.area.duplicated()]
    if len(twice):
        raise DetectionDataError(f"{path.name}: area {twice.iloc[0]!r} is listed twice")
    text = table.income.astype(str).str.replace(r"[$,\s]", "", regex=True)
    income = pd.to_numeric(text, errors="coerce")
    strange = table[income.isna() & table.income.notna()]
    if len(strange):
        raise DetectionDataError(
            f"{path.name}: the income {strange.income.iloc[0]!r} of area {strange.area.iloc[0]!r} "
            "is no number; give dollars a year, such as 142500, or leave it empty"
        )
    return income.set_axis(table.area)


def _edges(edges: str | tuple[float, ...], known: pd.Series) -> tuple[float, ...]:
    if edges == "paper":
        return PAPER_EDGES
    if edges == "equal":
        edges = tuple(np.quantile(known, [0, 1 / 3, 2 / 3, 1]))
    if isinstance(edges, str) or len(edges) != 4 or not (np.diff(edges) > 0).all():
        raise DetectionDataError(f"edges={edges!r}: 'equal', 'paper' or four rising numbers")
    return tuple(float(e) for e in edges)
