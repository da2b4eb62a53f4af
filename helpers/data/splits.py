"""Image sets from class folders, split by a hash of the file name."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import torch

from helpers.data import folders
from helpers.data.collection import SPLITS, ImageSet, listed, sizes
from helpers.data.decoding import rank, read
from helpers.data.white import object_masks


def load_sets(
    places: Mapping[str, Path], size: int, seed: int, per_class: int | None
) -> tuple[dict[str, ImageSet], list[str]]:
    """Load image sets from their folders of class folders.

    Images of one name in one class are in the same split in all sets, so that a model
    that is trained on an object in C is not tested on the same object in WB.

    Parameters
    ----------
    places : mapping of str to Path
        The folder of each image set.
    size : int
        Side of the images in pixels.
    seed : int
        Decides the splits, and which images are read.
    per_class : int or None
        Images of each class in each set, None for all.

    Returns
    -------
    sets : dict of str to ImageSet
    report : list of str
        Remarks on files.

    Raises
    ------
    ValueError
        If sets differ in their classes, a split of a class has no image, or an image is
        in two splits or classes.
    """
    files = {name: folders.list_images(place) for name, place in places.items()}
    classes = tuple(sorted(files["C"]["class"].unique()))
    for name, table in files.items():
        different = sorted(set(table["class"]) ^ set(classes))
        if different:
            raise ValueError(
                f"C and {name} must have class folders of the same names. They differ "
                f"in {listed(different)}."
            )
    images = {}
    tables = []
    report = []
    for name, table in files.items():
        images[name], rows, remarks = read(table, size, seed, per_class, name)
        if len(files) > 1:
            rows["path"] = name + "/" + rows["path"]
        tables.append(rows.assign(set=name))
        report += remarks
    rows = pd.concat(tables, ignore_index=True)
    rows["split"] = split_by_name(rows, seed)
    refuse_copies(rows, torch.cat(list(images.values())))
    sets = {}
    for name, pixels in images.items():
        table = rows[rows["set"] == name].drop(columns="set")
        table = table.reset_index(drop=True).assign(context="")
        _refuse_missing_splits(name, table, classes)
        labels = torch.tensor([classes.index(label) for label in table["class"]])
        masks = object_masks(pixels) if name == "WB" else None
        sets[name] = ImageSet(name, pixels, labels, classes, table, masks)
    return sets, report


def split_by_name(rows: pd.DataFrame, seed: int) -> pd.Series:
    """Split the images of each class by a hash of their name and the seed, 4 : 1 : 1.

    Parameters
    ----------
    rows : pandas.DataFrame
        The columns `set`, `class` and `name`. An image whose name an earlier set has in
        this class is in the same split as there.
    seed : int

    Returns
    -------
    pandas.Series of str
        "train", "val" or "test", with the index of the rows.
    """
    keys = rows["class"] + "/" + rows["name"]
    split_of = {}
    for _, group in keys.groupby([rows["set"], rows["class"]], sort=False):
        new = [key for key in group.unique() if key not in split_of]
        by_hash = sorted(new, key=lambda key: rank(key, seed))
        train, val, test = len(new), 0, 0
        if len(new) >= len(SPLITS):
            train, val, test = sizes(len(new))
        splits = ["train"] * train + ["val"] * val + ["test"] * test
        split_of.update(zip(by_hash, splits, strict=True))
    return keys.map(split_of)


def copies(images: torch.Tensor) -> list[tuple[int, int]]:
    """Find images, (N, 3, H, W), that are equal pixel by pixel, as pairs i < j."""
    first_of = {}
    pairs = []
    for index, image in enumerate(images):
        digest = hashlib.sha256(image.numpy().tobytes()).digest()
        first = first_of.setdefault(digest, index)
        if first != index:
            pairs.append((first, index))
    return pairs


def refuse_copies(rows: pd.DataFrame, images: torch.Tensor) -> None:
    """Raise a ValueError if one image is in two splits or in two classes.

    Parameters
    ----------
    rows : pandas.DataFrame
        The columns `split`, `class` and `path`.
    images : torch.Tensor, shape (N, 3, H, W)
        The images of the rows.
    """
    places = rows["split"] + "/" + rows["class"]
    refused = []
    for i, j in copies(images):
        if places[i] != places[j]:
            refused.append(f"{rows['path'][i]} = {rows['path'][j]}")
    if refused:
        raise ValueError(
            f"{len(refused)} images are in two splits or two classes, pixel by pixel, "
            f"so a test would tell nothing: {listed(refused)}. Remove one of each pair."
        )


def _refuse_missing_splits(
    name: str, table: pd.DataFrame, classes: tuple[str, ...]
) -> None:
    """Raise a ValueError if a class has no image in one of the splits."""
    for label in classes:
        found = set(table["split"][table["class"] == label])
        missing = [split for split in SPLITS if split not in found]
        if missing:
            raise ValueError(
                f"{name}, class {label!r}: no image for {' and '.join(missing)}. Each "
                "class needs at least three images in each image set."
            )
