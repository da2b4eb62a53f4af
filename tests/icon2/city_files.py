"""The planted city as the files that a reader would bring: map, incomes and GPS."""

import json

from helpers.worlds.driving.city import SOUTH, STEP, WEST, incomes


def write_city(folder, seed=0):
    """Write ``areas.geojson`` and ``incomes.csv``, as a reader would bring them."""
    table = incomes(seed)
    features = [
        {
            "type": "Feature",
            "properties": {"area": name},
            "geometry": {"type": "Polygon", "coordinates": [_square(*map(int, name.split("-")))]},
        }
        for name in table.area
    ]
    content = {"type": "FeatureCollection", "features": features}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "areas.geojson").write_text(json.dumps(content), encoding="utf-8")
    table.to_csv(folder / "incomes.csv", index=False)
    return folder / "areas.geojson", folder / "incomes.csv"


def write_tracks(tracks, folder):
    """Write ``<video>.json`` for each track."""
    folder.mkdir(parents=True, exist_ok=True)
    for video, track in tracks.items():
        (folder / f"{video}.json").write_text(json.dumps(track), encoding="utf-8")
    return folder


def _square(row, column):
    south, west = SOUTH + STEP * row, WEST + STEP * column
    north, east = south + STEP, west + STEP
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]
