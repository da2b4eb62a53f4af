"""Where a frame was taken, by GPS, and which area of a map the place lies in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from helpers.detection.data import DetectionDataError
from helpers.detection.files import load

LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame


def positions(videos: Iterable[str], folder: str | Path, at: float = LABELLED_AT) -> pd.DataFrame:
    """Where each video's labelled frame was taken.

    Parameters
    ----------
    videos
        Their names; ``<video>.json`` is looked for in `folder`, which holds BDD100K's info files.
    folder
    at
        Seconds after the start of the video; between two fixes the position is interpolated.

    Returns
    -------
    DataFrame
        ``video latitude longitude``, NaN where there is no file or no fix in it.

    Raises
    ------
    DetectionDataError
        When a file is cut short, or a fix has no coordinates or time.
    """
    folder = Path(folder)
    rows = [(v, *_position(folder / f"{v}.json", at)) for v in videos]
    return pd.DataFrame(rows, columns=["video", "latitude", "longitude"])


def _position(path: Path, at: float) -> tuple[float, float]:
    if not path.is_file():
        return np.nan, np.nan
    track = load(path)
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
    moment = float(track.get("startTime", times.min())) + 1000 * at
    found = [np.interp(moment, times[order], part[order]) for part in (latitudes, longitudes)]
    return float(found[0]), float(found[1])


def areas_of(
    places: pd.DataFrame, areas: str | Path | dict, key: str = "area", farthest: float = 0.02
) -> pd.Series:
    """Area that each place lies in.

    Parameters
    ----------
    places : DataFrame
        ``latitude`` and ``longitude``, degrees.
    areas
        GeoJSON (polygons whose properties have `key`; a file or its content), or a CSV of centres
        with columns `key`, ``latitude``, ``longitude``: then the nearest one.
    key
        What names an area.
    farthest
        Degrees of latitude beyond which a centre is too far.

    Returns
    -------
    Series of str, None where no area holds the place.

    Raises
    ------
    DetectionDataError
        When the file has no area, or one without a name.
    """
    if not isinstance(areas, dict) and Path(areas).suffix.lower() == ".csv":
        return _nearest(places, pd.read_csv(areas, dtype={key: str}), key, farthest)
    content = areas if isinstance(areas, dict) else load(Path(areas))
    features = content.get("features") or []
    if not features:
        raise DetectionDataError("the map of areas holds no 'features'; GeoJSON has them")
    found = pd.Series([None] * len(places), index=places.index, dtype=object)
    x, y = places.longitude.to_numpy(float), places.latitude.to_numpy(float)
    for number, feature in enumerate(features):
        name = (feature.get("properties") or {}).get(key)
        if name is None:
            raise DetectionDataError(f"feature {number} of the map has no property {key!r}")
        found[_inside(x, y, feature.get("geometry") or {})] = str(name)
    return found


def _nearest(places, centres: pd.DataFrame, key: str, farthest: float) -> pd.Series:
    missing = {key, "latitude", "longitude"} - set(centres.columns)
    if missing:
        raise DetectionDataError(f"the table of areas has no column {sorted(missing)[0]!r}")
    middle = np.cos(np.deg2rad(centres.latitude.mean()))
    scale = np.array([1.0, middle])  # a degree of longitude is shorter than one of latitude
    tree = cKDTree(centres[["latitude", "longitude"]].to_numpy(float) * scale)
    known = places[["latitude", "longitude"]].notna().all(axis=1).to_numpy()
    found = pd.Series([None] * len(places), index=places.index, dtype=object)
    at = places.loc[known, ["latitude", "longitude"]].to_numpy(float) * scale
    distance, which = tree.query(at, distance_upper_bound=farthest)
    near = np.isfinite(distance)
    found[np.flatnonzero(known)[near]] = centres[key].astype(str).to_numpy()[which[near]]
    return found


def _inside(x: np.ndarray, y: np.ndarray, geometry: dict) -> np.ndarray:
    """Places inside of a polygon: those that a ray to the right leaves an odd number of times."""
    kind, coordinates = geometry.get("type"), geometry.get("coordinates") or []
    polygons = {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(kind, [])
    inside = np.zeros(len(x), bool)
    for polygon in polygons:
        odd = np.zeros(len(x), bool)
        for ring in polygon:  # holes are rings too: they turn it back
            odd ^= _crossings(x, y, np.asarray(ring, float)) % 2 == 1
        inside |= odd
    return inside


def _crossings(x: np.ndarray, y: np.ndarray, ring: np.ndarray) -> np.ndarray:
    number = np.zeros(len(x), int)
    for (x1, y1), (x2, y2) in zip(ring[:-1, :2], ring[1:, :2], strict=True):
        if y1 != y2:
            between = (y1 > y) != (y2 > y)
            number += between & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return number
