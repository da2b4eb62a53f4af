"""Synthetic street scenes written as BDD100K's folder, with GPS tracks of a city and its incomes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import shapely
from PIL import Image

from helpers import store
from synthetic.street import APPEARANCES, HEIGHT, KINDS, WIDTH

DOLLARS = np.round(
    np.geomspace(21_400, 250_000, 36), -2
)  # of areas a degree wide, to the east
START = 1_500_000_000_000  # milliseconds, as in BDD100K's files
SECONDS = np.arange(
    0, 41, 4
)  # of the fixes: that at 10 s, which is asked for, is between two


def write(
    folder: Path, frames: pd.DataFrame, images: np.ndarray, boxes: pd.DataFrame, results
) -> dict[str, Path]:
    """Write rendered frames and detections as BDD100K's folder, and return the paths.

    These are images, labels (with each thing's appearance and distance), predictions, and the city.
    """
    paths = {"images": folder / "images/100k/val"}
    for name, place, table in (
        ("labels", "labels/det_20/det_val.json", boxes),
        ("predictions", "predictions.json", results),
    ):
        rows = []
        for frame in frames.to_dict("records"):
            about = {key: frame[key] for key in ("weather", "scene", "timeofday")}
            row = {
                "name": frame["name"],
                "videoName": frame["video"],
                "attributes": about,
            }
            rows.append(
                row | {"size": {"width": WIDTH, "height": HEIGHT}, "labels": []}
            )
        for box in table.to_dict("records"):
            rows[box["image"]]["labels"].append(_label(box))
        paths[name] = store.write_text(folder / place, json.dumps(rows))
    paths["images"].mkdir(parents=True)
    for name, image in zip(frames["name"], images, strict=True):
        picture = Image.fromarray(image.transpose(1, 2, 0))
        picture.save(paths["images"] / name, compress_level=1)
    groups = frames["income"].cat.codes.to_numpy()
    return paths | _city(folder, frames["video"].tolist(), groups)


def _label(box: dict) -> dict:
    corners = {name: float(box[name]) for name in ("x1", "y1", "x2", "y2")}
    label = {"category": KINDS[box["category"]], "box2d": corners}
    if "score" in box:
        return label | {"score": box["score"]}
    about = {"occluded": bool(box["occluded"]), "truncated": bool(box["truncated"])}
    about["appearance"] = APPEARANCES[box["appearance"]]
    about["distance"] = round(box["distance"], 1)
    return label | {"attributes": about}


def _city(folder: Path, videos: list[str], groups: np.ndarray) -> dict[str, Path]:
    """At 10 s each video is in an area of its income group; one of ten has no track."""
    rng, third = np.random.default_rng(0), len(DOLLARS) // 3
    west = third * np.asarray(groups) + rng.integers(third, size=len(videos))
    at_ten = rng.uniform(0.1, 0.9, (len(videos), 2)) + west[:, None] * [0, 1]
    speed = rng.normal(0, 0.03, (len(videos), 2))  # degrees a second
    places = at_ten[:, None] + speed[:, None] * (SECONDS - 10)[:, None]
    kept = rng.random(len(videos)) >= 0.1
    for video, track in zip(np.array(videos)[kept].tolist(), places[kept], strict=True):
        fixes = pd.DataFrame(track, columns=["latitude", "longitude"])
        fixes = fixes.assign(timestamp=START + 1000 * SECONDS).to_dict("records")
        content = json.dumps({"startTime": START, "locations": fixes})
        store.write_text(folder / "info/100k/val" / f"{video}.json", content)
    table, features = pd.DataFrame({"income": DOLLARS}), []
    table["area"] = [f"area {east}" for east in table.index]
    for east, name in table["area"].items():
        square = json.loads(shapely.to_geojson(shapely.box(east, 0, east + 1, 1)))
        features.append(
            {"type": "Feature", "properties": {"area": name}, "geometry": square}
        )
    content = json.dumps({"type": "FeatureCollection", "features": features})
    areas = store.write_text(folder / "areas.geojson", content)
    table.sample(frac=1, random_state=0).to_csv(folder / "incomes.csv", index=False)
    return {
        "gps": folder / "info/100k/val",
        "areas": areas,
        "incomes": folder / "incomes.csv",
    }
