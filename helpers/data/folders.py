"""Folders of photographs: one per class, read as torchvision's ImageFolder does."""

import re
import unicodedata
from pathlib import Path

import pandas as pd

SETS = ("C", "NC", "WB")
CONTEXTS = "contexts"
COLUMNS = ["file", "path", "class", "name"]
SPLIT_NAMES = ("train", "training", "val", "valid", "validation", "test", "testing")


def plain(name: str) -> str:
    """Return a name in lower case, with one space for blanks, "_" and "-"."""
    composed = unicodedata.normalize("NFC", name)
    return re.sub(r"[\s_\-]+", " ", composed).strip().casefold()


def subfolders(folder: Path) -> list[Path]:
    """List the folders in a folder by name, without hidden ones."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder. Give a folder of class folders.")
    inside = [path for path in folder.iterdir() if path.is_dir()]
    return sorted(path for path in inside if not path.name.startswith((".", "__")))


def image_sets(folder: Path) -> dict[str, Path]:
    """Find the image sets of a folder: C, NC and WB, or the folder itself as C."""
    names = {path.name for path in subfolders(folder)} - {CONTEXTS}
    if "C" in names and names <= set(SETS):
        return {name: folder / name for name in SETS if name in names}
    return {"C": folder}


def list_images(folder: Path, fewest: int = 2) -> pd.DataFrame:
    """List the images of the class folders (or context folders) in a folder.

    Parameters
    ----------
    folder : Path
    fewest : int
        Number of class folders that are needed.

    Returns
    -------
    pandas.DataFrame
        One row per image file, by class and path: `file` (Path), `path` (relative),
        `class`, and `name` (the path inside its class folder, without its ending).

    Raises
    ------
    ValueError
        If there are too few class folders, one without an image, or folders of splits
        instead of classes.
    """
    from torchvision.datasets import folder as image_folder  # takes seconds

    classes = [path.name for path in subfolders(folder) if path.name != CONTEXTS]
    if len(classes) < fewest:
        raise ValueError(
            f"{folder} holds {len(classes)} class folders "
            f"({', '.join(classes) or 'none'}), and at least {fewest} are needed. Give "
            "the folder that holds one folder per class."
        )
    _refuse_splits_as_classes(folder, classes)
    numbers = {name: number for number, name in enumerate(classes)}

    def is_image(file: str) -> bool:
        hidden = Path(file).name.startswith(".")
        return image_folder.is_image_file(file) and not hidden

    try:
        found = image_folder.make_dataset(folder, numbers, is_valid_file=is_image)
    except FileNotFoundError as error:
        raise ValueError(
            f"{folder}: {error} Add images ({', '.join(image_folder.IMG_EXTENSIONS)}), "
            "or remove the folder."
        ) from None
    rows = []
    for path, number in found:
        file = Path(path)
        inside = file.relative_to(folder / classes[number])
        name = inside.with_suffix("").as_posix()
        rows.append((file, file.relative_to(folder).as_posix(), classes[number], name))
    return pd.DataFrame(rows, columns=COLUMNS)


def _refuse_splits_as_classes(folder: Path, classes: list[str]) -> None:
    """Raise a ValueError if class folders are splits that hold the class folders."""
    splits = []
    for name in classes:
        if plain(name) in SPLIT_NAMES and subfolders(folder / name):
            splits.append(name)
    if len(splits) > 1:
        raise ValueError(
            f"{folder} holds splits ({', '.join(splits)}), which would be read as "
            "classes. One folder per class is expected, because this suite splits the "
            "images itself. Give the folder of one split (usually train), or merge "
            "the class folders of all."
        )
