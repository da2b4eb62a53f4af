"""Read YOLO's text files, which have one box per line, as shares of the image.

There is one file per image. A line is ``class x y width height``, where x and y are the
middle of the box, and for detections also the score.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from PIL import Image

from helpers.icon2.file_checks import DetectionDataError, positions

NUMBERS = ["x", "y", "width", "height"]
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


def read_images(folder: Path) -> pd.DataFrame:
    """List the images of a folder of labels, with their sizes in pixels.

    They are in a folder ``images`` in the place of ``labels``.
    """
    parts = ["images" if part == "labels" else part for part in folder.parts]
    rows = []
    for file in sorted(Path(*parts).glob("*")):
        if file.suffix.lower() in PICTURES:
            with Image.open(file) as image:
                width, height = image.size
            rows.append([file.stem, file.name, width, height])
    return pd.DataFrame(rows, columns=["id", "name", "width", "height"])


def read_names(folder: Path) -> dict[str, str]:
    """Return the names of the classes by number, from data.yaml near the labels."""
    for place in (folder, *folder.resolve().parents[:2]):
        file = place / "data.yaml"
        if file.is_file():
            content = yaml.safe_load(file.read_text())
            names = pd.Series(content["names"])
            return {str(number): str(name) for number, name in names.items()}
    return {}


def read_boxes(folder: Path, images: pd.DataFrame, scored: bool) -> pd.DataFrame:
    """Read the boxes of a folder of text files, in pixels.

    Parameters
    ----------
    folder : Path
    images : pandas.DataFrame
        With ``id``, ``name``, ``width`` and ``height``. A text file has the name of its
        image.
    scored : bool
        Whether lines end with a score.

    Returns
    -------
    pandas.DataFrame
        With ``image`` (the id, or the name of the text file if it has no image), the
        number of the class as ``category``, corners and, for detections, ``score``.

    Raises
    ------
    DetectionDataError
        If the sizes of the images are not known.
    """
    sizes = images.reindex(columns=["width", "height"]).to_numpy(float)
    if images.empty or np.isnan(sizes).any():
        raise DetectionDataError(
            f"{folder.name}: YOLO's boxes are shares of the image, so the 'width' and "
            "'height' of each image are needed. YOLO's labels need the images in a "
            "folder 'images' next to 'labels' (images/val for labels/val). Other "
            "labels have to say the sizes themselves."
        )
    columns = ["stem", "category", *NUMBERS]
    if scored:
        columns.append("score")
    rows = []
    for file in sorted(folder.glob("*.txt")):
        lines = file.read_text().splitlines()
        for line in filter(str.strip, lines):
            rows.append([file.stem, *line.split()])
    table = pd.DataFrame(rows, columns=columns)
    stems = images["name"].map(lambda name: Path(name).stem)
    number = positions(folder, table["stem"], stems)
    size = sizes[number]
    shares = table[NUMBERS].to_numpy(float)
    middle = shares[:, :2]
    half = shares[:, 2:] / 2
    table[["x1", "y1"]] = (middle - half) * size
    table[["x2", "y2"]] = (middle + half) * size
    ids = images["id"].reindex(number)
    table["image"] = ids.to_numpy()
    return table.fillna({"image": table["stem"]})
