"""List photographs in one folder per class, as torchvision's ImageFolder does."""

import hashlib
from pathlib import Path

import pandas as pd

CONTEXTS = "contexts"
SPLIT_NAMES = {"train", "training", "val", "valid", "validation", "test", "testing"}


def subfolders(folder: Path) -> list[Path]:
    """List the folders in a folder by name, without hidden ones."""
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path for path in inside if not path.name.startswith((".", "__"))]


def image_sets(folder: Path) -> dict[str, Path]:
    """Find the folders of C, NC, WB and contexts; C may be the folder itself."""
    inside = {path.name: path for path in subfolders(folder)}
    if "C" in inside and set(inside) <= {"C", "NC", "WB", CONTEXTS}:
        return inside
    contexts = {name: inside[name] for name in inside if name == CONTEXTS}
    return {"C": folder, **contexts}


def list_images(folder: Path, seed: int, fewest: int = 2) -> pd.DataFrame:
    """List the images of the class folders (or context folders) in a folder.

    Parameters
    ----------
    folder : Path
    seed : int
        Decides the hashes.
    fewest : int
        Number of class folders that are needed.

    Returns
    -------
    pandas.DataFrame
        One row per image file, by class and path: `file` (Path), `path` (relative),
        `class`, and `hash` (of the path without its ending, which decides the split).

    Raises
    ------
    ValueError
        If there are too few class folders, or folders of splits instead of classes.
    FileNotFoundError
        If a class folder has no image.
    """
    from torchvision.datasets import folder as image_folder  # takes seconds

    classes = [path.name for path in subfolders(folder) if path.name != CONTEXTS]
    if len(classes) < fewest:
        raise ValueError(
            f"{folder} holds {len(classes)} class folders "
            f"({', '.join(classes) or 'none'}), and at least {fewest} are needed. Give "
            "the folder that holds one folder per class."
        )
    splits = [name for name in classes if name.lower() in SPLIT_NAMES]
    if len(splits) > 1:
        raise ValueError(
            f"{folder} holds splits ({', '.join(splits)}), which would be read as "
            "classes. One folder per class is expected, because this suite splits the "
            "images itself. Give the folder of one split (usually train), or merge "
            "the class folders of all."
        )
    labels = {name: name for name in classes}  # in place of numbers
    extensions = image_folder.IMG_EXTENSIONS
    rows = []
    for file, label in image_folder.make_dataset(folder, labels, extensions):
        path = Path(file).relative_to(folder)
        name = f"{seed}/{path.with_suffix('').as_posix()}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        if not path.name.startswith("."):
            rows.append((Path(file), path.as_posix(), label, digest))
    return pd.DataFrame(rows, columns=["file", "path", "class", "hash"])
