"""A planted city: areas with median incomes, and the GPS tracks of drives through them.

The areas are squares on a grid, so that the area of every position is known without any join.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.run import artifacts

SIDE = 6  # areas along each side of the city
SOUTH, WEST, STEP = 40.5, -74.1, 0.02  # degrees
START = 1_500_000_000_000  # milliseconds, as in BDD100K's files
SECONDS = np.arange(0, 41, 4)  # of the fixes: that at 10 s, which is asked for, is between two


def incomes(seed: int = 0) -> pd.DataFrame:
    """Median income of every area, 21.4k to 250k dollars, shuffled over the grid."""
    names = [f"{row}-{column}" for row in range(SIDE) for column in range(SIDE)]
    dollars = np.round(np.geomspace(21_400, 250_000, len(names)), -2)
    return pd.DataFrame({"area": names, "income": np.random.default_rng(seed).permutation(dollars)})


def drives(
    videos: list[str], groups: np.ndarray, missing: float = 0.0, seed: int = 0
) -> tuple[dict[str, dict], list[str]]:
    """GPS tracks of videos, each taken in an area of its income group (0 poorest to 2 richest).

    Returns
    -------
    tracks : dict
        Video -> BDD100K's structure (``startTime``, ``locations``); none for the share `missing`.
    areas : list of str
        The area that each video is in at 10 s.
    """
    table, rng = incomes(seed), np.random.default_rng(seed)
    third = len(table) // 3
    chosen = third * np.asarray(groups) + rng.integers(0, len(table), len(videos)) % third
    chosen = np.argsort(table.income.to_numpy(), kind="stable")[chosen]
    away = rng.uniform(-0.35, 0.35, (len(videos), 2))
    speed = rng.normal(0, 0.0005, (len(videos), 2))  # degrees a second
    kept = rng.random(len(videos)) >= missing
    square = np.column_stack(np.divmod(chosen, SIDE))
    at_ten = np.array([SOUTH, WEST]) + STEP * (square + 0.5 + away)
    places = at_ten[:, None] + speed[:, None] * (SECONDS - 10)[:, None]
    tracks = {v: _track(places[i]) for i, v in enumerate(videos) if kept[i]}
    return tracks, table.area.iloc[chosen].tolist()


def _track(places: np.ndarray) -> dict:
    locations = [
        {"latitude": lat, "longitude": lon, "timestamp": START + 1000 * int(s)}
        for (lat, lon), s in zip(places.tolist(), SECONDS, strict=True)
    ]
    return {"startTime": START, "locations": locations}


def write(
    folder: Path, videos: list[str], groups: np.ndarray, missing: float = 0.0, seed: int = 0
) -> dict[str, Path]:
    """Write the city as the files that a reader brings: GPS tracks, a map, a table of incomes.

    Returns the paths by name: gps (a folder), areas (GeoJSON), incomes (CSV). The other parameters
    are those of :func:`drives`.
    """
    for video, track in drives(videos, groups, missing, seed)[0].items():
        artifacts.write_text(folder / "gps" / f"{video}.json", json.dumps(track))
    table = incomes(seed)
    features = [
        {
            "type": "Feature",
            "properties": {"area": name},
            "geometry": {"type": "Polygon", "coordinates": [_square(*map(int, name.split("-")))]},
        }
        for name in table.area
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features})
    areas = artifacts.write_text(folder / "areas.geojson", content)
    table.to_csv(folder / "incomes.csv", index=False)
    return {"gps": folder / "gps", "areas": areas, "incomes": folder / "incomes.csv"}


def _square(row: int, column: int) -> list[list[float]]:
    south, west = SOUTH + STEP * row, WEST + STEP * column
    north, east = south + STEP, west + STEP
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]
