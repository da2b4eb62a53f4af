"""Make the sample of lesson 12: labels of synthetic street scenes, detections, and the injected
biases. It renders every frame twice, which takes some minutes.

python tests/street_sample.py data/audit"""

import helpers  # noqa: F401  before numpy: it pins the kernels

# ruff: isort: split
import sys
from pathlib import Path

import pandas as pd
from PIL import Image

from helpers.icon2 import formulas, match
from helpers.icon2.attributes import CORNERS
from helpers.icon2.streets import SHARES_OF_B, observe, train_detector
from sweeps.appearances import ap_by_appearance
from synthetic import street

SHARE_OF_B, DIFFICULTY, FRAMES, SEED = 0.12, 0.5, 900, 5000
SHOWN = (
    8  # frames of the low district by day, with most misses of a class, that are kept
)
ATTRIBUTES = {
    "income": "district",
    "timeofday": "time",
    "weather": "weather",
    "scene": "scene",
}


def table(boxes: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    corners = boxes[CORNERS].round(1)
    kinds = boxes["category"].map(dict(enumerate(street.KINDS)))
    return corners.assign(image=names[boxes["image"]].to_numpy(), **{"class": kinds})[
        ["image", "class", *CORNERS]
    ]


def main(folder: Path) -> None:
    frames, things = street.scenes(FRAMES, SEED, DIFFICULTY)
    detector = train_detector(SHARE_OF_B, 0)
    own = observe(detector, frames, things, SHARES_OF_B)
    other = observe(detector, frames, things, SHARES_OF_B[::-1])
    names = frames["name"].str.removesuffix(".png") + ".jpg"
    labels = table(own.boxes, names).assign(occluded=own.boxes["occluded"])
    empty = pd.DataFrame({"image": sorted({*names} - {*labels["image"]})})
    labels = pd.concat([labels, empty], ignore_index=True)
    results = table(own.detections, names).assign(
        score=own.detections["score"].round(4)
    )
    packed = {"index": False, "compression": {"method": "gzip", "mtime": 0}}
    labels.to_csv(folder / "street_labels.csv.gz", **packed)
    results.to_csv(folder / "street_predictions.csv.gz", **packed)
    about = frames[[*ATTRIBUTES]].rename(columns=ATTRIBUTES)
    about.insert(0, "image", names)
    about.to_csv(folder / "street_images.csv", index=False)
    rows = []
    for kind, ap in ap_by_appearance(own, other).items():
        parts = formulas.divided(ap)
        row = {"class": kind}
        for name, part in parts.items():
            row[name] = round(part[0], 1)
        rows.append(row)
    pd.DataFrame(rows).to_csv(folder / "street_truth.csv", index=False)
    matches = match(own)
    missed = []
    for kind in street.TWO_APPEARANCES:
        of_kind = matches.of(kind)
        boxes = of_kind.boxes
        lost = boxes["image"][~boxes.index.isin(of_kind.detections["box"])]
        count = lost.value_counts().reindex(range(FRAMES), fill_value=0)
        bright = (frames["income"] == "low") & (frames["timeofday"] == "daytime")
        missed += count[bright].nlargest(SHOWN).index.tolist()
    chosen = sorted({*missed})
    own_things = street.dressed(frames, things, SHARES_OF_B)
    images, _ = street.render(frames, own_things)
    (folder / "street").mkdir(exist_ok=True)
    for n in chosen:
        Image.fromarray(images[n].transpose(1, 2, 0)).save(
            folder / "street" / names[n], quality=80
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
