"""A rendered street written as BDD100K is given out, with GPS tracks of a city and its incomes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from helpers import store
from helpers.worlds.driving.street import HEIGHT, KINDS, LOOKS, WIDTH

SIDE = 6  # areas along each side of the city
SOUTH, WEST, STEP = 40.5, -74.1, 0.02  # degrees
START = 1_500_000_000_000  # milliseconds, as in BDD100K's files
SECONDS = np.arange(0, 41, 4)  # of the fixes: that at 10 s, which is asked for, is between two


def write(
    folder: str | Path, frames: pd.DataFrame, images: np.ndarray, boxes: pd.DataFrame
) -> dict[str, Path]:
    """Write rendered frames as a folder like BDD100K's; the paths of images (PNG), labels (with the
    look and distance of each thing), gps, areas and incomes. What has been written stays."""
    folder = Path(folder)
    of_image, rows = dict(list(boxes.groupby("image"))), []
    for number, frame in enumerate(frames.to_dict("records")):
        own = of_image.get(number, boxes.iloc[:0]).to_dict("records")
        row = {"name": frame["name"], "videoName": frame["video"]}
        row["attributes"] = {key: frame[key] for key in ("weather", "scene", "timeofday")}
        row["size"] = {"width": WIDTH, "height": HEIGHT}
        rows.append(row | {"labels": [_label(box) for box in own]})
    labels, text = folder / "labels.json", json.dumps(rows)
    paths = {"images": folder / "images", "labels": labels}
    paths |= write_city(folder, frames["video"].tolist(), frames["income"].cat.codes.to_numpy())
    if not (labels.is_file() and labels.read_text() == text):  # they are written last
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for name, image in zip(frames["name"], images, strict=True):
            picture = Image.fromarray(image.transpose(1, 2, 0))
            picture.save(folder / "images" / name, compress_level=1)
        store.write_text(labels, text)
    return paths


def _label(box: dict) -> dict:
    about = {"occluded": bool(box["occluded"]), "truncated": bool(box["truncated"])}
    about |= {"look": LOOKS[box["look"]], "distance": round(box["distance"], 1)}
    corners = {name: float(box[name]) for name in ("x1", "y1", "x2", "y2")}
    return {"category": KINDS[box["category"]], "attributes": about, "box2d": corners}


def incomes() -> pd.DataFrame:
    """Median income of every area, 21.4k to 250k dollars, shuffled over the grid."""
    names = [f"{row}-{column}" for row in range(SIDE) for column in range(SIDE)]
    dollars = np.round(np.geomspace(21_400, 250_000, len(names)), -2)
    return pd.DataFrame({"area": names, "income": np.random.default_rng(0).permutation(dollars)})


def write_city(
    folder: Path, videos: list[str], groups: np.ndarray, missing: float = 0.1
) -> dict[str, Path]:
    """Write the city as gps (a folder of tracks), areas (GeoJSON) and incomes (CSV). At 10 s each
    video is in an area of its income group (0 poorest to 2 richest); a share has no track."""
    table, rng = incomes(), np.random.default_rng(0)
    third = len(table) // 3
    chosen = third * np.asarray(groups) + rng.integers(0, len(table), len(videos)) % third
    chosen = np.argsort(table.income.to_numpy(), kind="stable")[chosen]
    away = rng.uniform(-0.35, 0.35, (len(videos), 2))
    speed = rng.normal(0, 0.0005, (len(videos), 2))  # degrees a second
    kept = rng.random(len(videos)) >= missing
    square = np.column_stack(np.divmod(chosen, SIDE))
    at_ten = np.array([SOUTH, WEST]) + STEP * (square + 0.5 + away)
    places = at_ten[:, None] + speed[:, None] * (SECONDS - 10)[:, None]
    for video, track in zip(np.array(videos)[kept].tolist(), places[kept], strict=True):
        fixes = pd.DataFrame(track, columns=["latitude", "longitude"])
        fixes = fixes.assign(timestamp=START + 1000 * SECONDS).to_dict("records")
        content = json.dumps({"startTime": START, "locations": fixes})
        store.write_text(folder / "gps" / f"{video}.json", content)
    features = []
    for name in table.area:
        row, column = map(int, name.split("-"))
        corners = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))  # to the east and to the north
        ring = [[WEST + STEP * (column + x), SOUTH + STEP * (row + y)] for x, y in corners]
        square = {"geometry": {"type": "Polygon", "coordinates": [ring]}}
        features.append({"type": "Feature", "properties": {"area": name}} | square)
    content = json.dumps({"type": "FeatureCollection", "features": features})
    areas = store.write_text(folder / "areas.geojson", content)
    table.to_csv(folder / "incomes.csv", index=False)
    return {"gps": folder / "gps", "areas": areas, "incomes": folder / "incomes.csv"}
