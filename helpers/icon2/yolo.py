"""Read YOLO's text files, which have one box per line, as shares of the image.

There is one file per image. A line is ``class x y width height``, where x and y are the
middle of the box, and for detections also the score.
"""

from pathlib import Path

import pandas as pd
import yaml
from PIL import Image

from helpers.icon2.file_checks import DetectionDataError

NUMBERS = ["category", "x", "y", "width", "height"]
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


def read_images(folder: Path) -> pd.DataFrame:
    """List the images of a folder of labels, with their sizes in pixels.

    Raises
    ------
    DetectionDataError
        If the folder ``images`` in the place of ``labels`` is missing.
    """
    parts = ["images" if part == "labels" else part for part in folder.parts]
    pictures = Path(*parts)
    files = []
    if pictures.is_dir():
        files = [file for file in pictures.iterdir() if file.suffix.lower() in PICTURES]
    if pictures == folder or not files:
        raise DetectionDataError(
            f"The sizes of the images of {folder.name!r} are not known, and YOLO's "
            "boxes are shares of them. Keep the images in a folder 'images' next to "
            "'labels', as YOLO does (images/val for labels/val)."
        )
    rows = []
    for file in sorted(files):
        with Image.open(file) as image:
            width, height = image.size
        row = {"id": file.stem, "name": file.name, "width": width, "height": height}
        rows.append(row)
    return pd.DataFrame(rows)


def read_names(folder: Path) -> dict[str, str]:
    """Return the names of the classes by number, from data.yaml near the labels."""
    for place in (folder, *list(folder.resolve().parents)[:2]):
        file = place / "data.yaml"
        if file.is_file():
            names = yaml.safe_load(file.read_text())["names"]
            numbered = names if isinstance(names, dict) else dict(enumerate(names))
            return {str(number): str(name) for number, name in numbered.items()}
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
        If a line has other numbers, or the sizes of the images are not known.
    """
    if not {"width", "height"} <= set(images) or images["width"].isna().any():
        raise DetectionDataError(
            f"{folder.name}: YOLO's boxes are shares of the image, and the labels do "
            "not have the 'width' and 'height' of each image. Add them to the labels."
        )
    columns = [*NUMBERS, "score"] if scored else NUMBERS
    rows = []
    for file in sorted(folder.glob("*.txt")):
        for line in filter(str.strip, file.read_text().splitlines()):
            words = line.split()
            if len(words) != len(columns):
                raise DetectionDataError(
                    f"{file.name} has a line of {len(words)} numbers. Expected are "
                    f"{len(columns)}: {', '.join(columns)}. With save_conf=True, YOLO "
                    "writes the score of a detection."
                )
            rows.append([file.stem, *words])
    table = pd.DataFrame(rows, columns=["stem", *columns])
    table = table.astype(dict.fromkeys(columns[1:], float))
    sizes = images.set_index(images["name"].map(lambda name: Path(name).stem))
    sizes = sizes[["id", "width", "height"]].add_prefix("image_")
    table = table.join(sizes, on="stem")
    left = table["x"] - table["width"] / 2
    top = table["y"] - table["height"] / 2
    right = table["x"] + table["width"] / 2
    bottom = table["y"] + table["height"] / 2
    boxes = pd.DataFrame({"image": table["image_id"].fillna(table["stem"])})
    boxes["category"] = table["category"]
    boxes["x1"] = left * table["image_width"]
    boxes["y1"] = top * table["image_height"]
    boxes["x2"] = right * table["image_width"]
    boxes["y2"] = bottom * table["image_height"]
    if scored:
        boxes["score"] = table["score"]
    return boxes
