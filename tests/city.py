"""Synthetic street scenes written as BDD100K's folder, with a table of incomes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from helpers import store
from synthetic.street import APPEARANCES, HEIGHT, KINDS, WIDTH

DOLLARS = {"low": 30_000, "middle": 80_000, "high": 120_000}  # by the paper's bounds


def write(
    folder: Path, frames: pd.DataFrame, images: np.ndarray, boxes: pd.DataFrame, results
) -> dict[str, Path]:
    """Write rendered frames and detections as BDD100K's folder, and return the paths.

    These are images, labels (with each thing's appearance and distance), predictions, and the
    incomes of nine in ten frames.
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
    known = np.random.default_rng(0).random(len(frames)) >= 0.1
    incomes = frames["income"].astype(str).map(DOLLARS) + np.arange(len(frames))
    about = pd.DataFrame({"image": frames["name"], "income": incomes})
    paths["attributes"] = folder / "attributes.csv"
    about[known].to_csv(paths["attributes"], index=False)
    return paths


def _label(box: dict) -> dict:
    corners = {name: float(box[name]) for name in ("x1", "y1", "x2", "y2")}
    label = {"category": KINDS[box["category"]], "box2d": corners}
    if "score" in box:
        return label | {"score": box["score"]}
    about = {"occluded": bool(box["occluded"]), "truncated": bool(box["truncated"])}
    about["appearance"] = APPEARANCES[box["appearance"]]
    about["distance"] = round(box["distance"], 1)
    return label | {"attributes": about}
