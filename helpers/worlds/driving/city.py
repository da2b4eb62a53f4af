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
    fixes = START + 1000 * SECONDS
    tracks = {}
    for video, track in zip(np.array(videos)[kept].tolist(), places[kept], strict=True):
        table_of = pd.DataFrame(track, columns=["latitude", "longitude"]).assign(timestamp=fixes)
        tracks[video] = {"startTime": START, "locations": table_of.to_dict("records")}
    return tracks, table.area.iloc[chosen].tolist()


def write(
    folder: Path, videos: list[str], groups: np.ndarray, missing: float = 0.0, seed: int = 0
) -> dict[str, Path]:
    """Write the city of :func:`drives` as the files that a reader brings; the paths by name.

    They are gps (a folder), areas (GeoJSON) and incomes (CSV).
    """
    for video, track in drives(videos, groups, missing, seed)[0].items():
        artifacts.write_text(folder / "gps" / f"{video}.json", json.dumps(track))
    table, features = incomes(seed), []
    for name in table.area:
        row, column = map(int, name.split("-"))
        south, west = SOUTH + STEP * row, WEST + STEP * column
        north, east = south + STEP, west + STEP
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        square = {"geometry": {"type": "Polygon", "coordinates": [ring]}}
        features.append({"type": "Feature", "properties": {"area": name}} | square)
    content = json.dumps({"type": "FeatureCollection", "features": features})
    areas = artifacts.write_text(folder / "areas.geojson", content)
    table.to_csv(folder / "incomes.csv", index=False)
    return {"gps": folder / "gps", "areas": areas, "incomes": folder / "incomes.csv"}
