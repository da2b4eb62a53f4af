"""Income of the place where a frame was taken: GPS, a map of areas and a table of incomes, joined.

ICON2, section 4.1: the area's median income puts each frame into one of three bins.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.path import Path as Outline
from pydantic import BaseModel

from helpers.icon2.reading import DetectionDataError, load_json, numbered, valid

PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
BINS = ("low", "middle", "high")
PLACE = ["latitude", "longitude"]
LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame
GAP = 5.0  # seconds from the nearest fix, above which the position is not known
JOINED, NO_GPS = "joined", "without GPS"
NO_AREA, NO_INCOME = "outside of every area", "in an area without income"
OUTSIDE = "outside of the bins' edges"


class _Fix(BaseModel):
    timestamp: float
    latitude: float
    longitude: float


class _Track(BaseModel):
    startTime: float | None = None
    locations: list[_Fix] | None = None


def join(
    videos: Iterable[str],
    gps: str | Path,
    areas: str | Path,
    incomes: str | Path,
    edges: str = "equal",
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Columns ``video latitude longitude area income bin`` of every frame, NaN where not known.

    The counts say how many frames there are, were joined, and were left out for which reason.
    """
    table = positions(videos, Path(gps))
    table["area"] = areas_of(table, Path(areas))
    table["income"] = table.area.map(_incomes(Path(incomes))).astype(float)
    known = table.income.dropna()
    if known.empty:
        raise DetectionDataError(
            "no frame could be joined with an income: check that the map and the table name their "
            "areas alike in 'area'"
        )
    bounds = np.quantile(known, [0, 1 / 3, 2 / 3, 1]) if edges == "equal" else PAPER_EDGES
    if not (np.diff(bounds) > 0).all():
        raise DetectionDataError("edges='equal': too many frames have the same income for thirds")
    bounds = [*bounds[:3], np.nextafter(bounds[3], np.inf)]
    table["bin"] = pd.cut(table.income, bounds, labels=BINS, right=False)
    missing = [table[column].isna() for column in ("latitude", "area", "income", "bin")]
    reasons = [NO_GPS, NO_AREA, NO_INCOME, OUTSIDE]
    outcome = np.select(missing, reasons, JOINED)
    counts = {name: int((outcome == name).sum()) for name in (JOINED, *reasons)}
    return table, {"frames": len(table)} | counts


def positions(videos: Iterable[str], folder: Path) -> pd.DataFrame:
    """Where each video's labelled frame was taken, NaN where there is no file or no fix in it."""
    rows = [(v, *_position(folder / f"{v}.json")) for v in videos]
    return pd.DataFrame(rows, columns=["video", *PLACE])


def _position(path: Path) -> tuple[float, float]:
    """Latitude and longitude, between two fixes interpolated; NaN in a gap of the track."""
    track = valid(_Track, load_json(path), path.name) if path.is_file() else _Track()
    if not track.locations:
        return np.nan, np.nan
    fixes = pd.DataFrame([dict(fix) for fix in track.locations]).sort_values("timestamp")
    begin = fixes.timestamp.iloc[0] if track.startTime is None else track.startTime
    moment = begin + 1000 * LABELLED_AT
    if (fixes.timestamp - moment).abs().min() > 1000 * GAP:
        return np.nan, np.nan
    latitude, longitude = (np.interp(moment, fixes.timestamp, fixes[axis]) for axis in PLACE)
    return float(latitude), float(longitude)


def areas_of(places: pd.DataFrame, areas: Path) -> pd.Series:
    """Area that each place (``latitude``, ``longitude``) lies in, NaN where there is none."""
    features = load_json(areas).get("features") or []
    names = [(feature.get("properties") or {}).get("area") for feature in features]
    if not features or None in names:
        raise DetectionDataError(
            f"{areas.name}: GeoJSON holds 'features', and each needs a property 'area'"
        )
    found = pd.Series(None, index=places.index, dtype=object)
    points = places[PLACE[::-1]].to_numpy(float)
    for name, feature in zip(names, features, strict=True):
        geometry = feature.get("geometry") or {}
        kind, coordinates = geometry.get("type"), geometry.get("coordinates") or []
        for polygon in {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(kind, []):
            rings = [Outline(np.asarray(ring, float)[:, :2]) for ring in polygon]  # holes are, too
            within = np.sum([ring.contains_points(points) for ring in rings], axis=0) % 2 == 1
            found[within] = str(name)
    return found


def _incomes(path: Path) -> pd.Series:
    """Income by area; "142,500" and "$142,500" are numbers too."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file")
    try:
        table = pd.read_csv(path, dtype={"area": str})
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise DetectionDataError(f"{path.name}: is not a CSV table ({error})") from None
    for column in {"area", "income"}.difference(table):
        raise DetectionDataError(f"{path.name}: no column {column!r}")
    numbered(table["area"], path)
    text = table.income.astype(str).str.replace(r"[$,\s]", "", regex=True)
    income = pd.to_numeric(text, errors="coerce")
    strange = table[income.isna() & table.income.notna()]
    if len(strange):
        raise DetectionDataError(
            f"{path.name}: the income {strange.income.iloc[0]!r} of area {strange.area.iloc[0]!r} "
            "is no number; give dollars a year, such as 142500, or leave it empty"
        )
    return income.set_axis(table.area)
