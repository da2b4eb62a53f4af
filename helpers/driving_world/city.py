"""A synthetic city: areas with median incomes, and the GPS tracks of drives through them.

The areas are squares on a grid, so that the area of every position is known without any join.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

SOUTH, WEST, STEP = 40.5, -74.1, 0.02  # degrees
START = 1_500_000_000_000  # milliseconds, as in BDD100K's files


@dataclass(frozen=True)
class City:
    """A grid of areas: GeoJSON with an ``area`` property, and a table ``area income``."""

    side: int
    areas: dict
    incomes: pd.DataFrame

    def edges(self) -> tuple[float, ...]:
        """Edges of three bins with a third of the areas in each."""
        income = np.sort(self.incomes.income.to_numpy())
        third = len(income) // 3
        between = [(income[i - 1] + income[i]) / 2 for i in (third, 2 * third)]
        return (income[0], *between, income[-1])

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write ``areas.geojson`` and ``incomes.csv``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "areas.geojson").write_text(json.dumps(self.areas), encoding="utf-8")
        self.incomes.to_csv(folder / "incomes.csv", index=False)
        return folder / "areas.geojson", folder / "incomes.csv"


def make(side: int = 6, seed: int = 0) -> City:
    """A city of side x side areas, incomes between 21.4k and 250k, shuffled over the grid."""
    rng = np.random.default_rng(seed)
    names = [f"{row}-{column}" for row in range(side) for column in range(side)]
    incomes = np.round(np.geomspace(21_400, 250_000, side * side), -2)
    features = [
        {
            "type": "Feature",
            "properties": {"area": name},
            "geometry": {"type": "Polygon", "coordinates": [_square(*map(int, name.split("-")))]},
        }
        for name in names
    ]
    table = pd.DataFrame({"area": names, "income": rng.permutation(incomes)})
    return City(side, {"type": "FeatureCollection", "features": features}, table)


def drives(
    city: City,
    videos: list[str],
    missing: float = 0.0,
    seed: int = 0,
    groups: np.ndarray | None = None,
) -> tuple[dict, list]:
    """GPS tracks, one a video, each through the middle of one area at 10 s.

    Parameters
    ----------
    city
    videos
        Names of the videos.
    missing : float in [0, 1]
        Share of videos without GPS.
    seed
    groups : int array (n videos,), optional
        Third of the areas by income (0 poorest to 2 richest) that each video is taken in.

    Returns
    -------
    tracks : dict
        Video -> BDD100K's structure (``startTime``, ``locations``); none for those missing.
    areas : list
        The area each video is in at 10 s.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(city.incomes), len(videos))
    if groups is not None:  # the areas by rising income, a third of them a group
        third = len(city.incomes) // 3
        by_income = np.argsort(city.incomes.income.to_numpy(), kind="stable")
        chosen = by_income[third * np.asarray(groups) + chosen % third]
    row, column = np.divmod(chosen, city.side)
    away = rng.uniform(-0.35, 0.35, (len(videos), 2))
    speed = rng.normal(0, 0.0005, (len(videos), 2))  # degrees a second
    kept = rng.random(len(videos)) >= missing
    tracks = {}
    for i, video in enumerate(videos):
        if kept[i]:
            centre = np.array([row[i], column[i]]) + 0.5 + away[i]
            tracks[video] = _track(np.array([SOUTH, WEST]) + STEP * centre, speed[i])
    return tracks, [f"{r}-{c}" for r, c in zip(row, column, strict=True)]


def write_tracks(tracks: dict, folder: Path) -> Path:
    """Write ``<video>.json`` for each track."""
    folder.mkdir(parents=True, exist_ok=True)
    for video, track in tracks.items():
        (folder / f"{video}.json").write_text(json.dumps(track), encoding="utf-8")
    return folder


def _square(row: int, column: int) -> list[list[float]]:
    south, west = SOUTH + STEP * row, WEST + STEP * column
    north, east = south + STEP, west + STEP
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def _track(at_ten: np.ndarray, speed: np.ndarray) -> dict:
    """Positions every 4 s, so that the one at 10 s lies between two of them."""
    seconds = np.arange(0, 41, 4)
    places = at_ten + speed * (seconds - 10)[:, None]
    locations = [
        {"latitude": lat, "longitude": lon, "timestamp": START + 1000 * int(s)}
        for (lat, lon), s in zip(places.tolist(), seconds, strict=True)
    ]
    return {"startTime": START, "endTime": START + 40_000, "locations": locations}
