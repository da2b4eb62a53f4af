"""Read image files as a person sees them: upright, over white, cropped to a square."""

import hashlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageOps

from helpers.store import progress


def decode(path: Path, size: int) -> torch.Tensor:
    """Read an image file.

    Parameters
    ----------
    path : Path
    size : int
        Side of the square in pixels. The shorter side of the image is fitted to it, and
        the middle is kept.

    Returns
    -------
    torch.Tensor of uint8, shape (3, size, size)

    Raises
    ------
    Exception
        Of Pillow, if the file is damaged, too large or not an image.
    """
    with Image.open(path) as image:
        image.draft(None, (2 * size, 2 * size))  # decode a JPEG no finer than needed
        image.load()
    # an orientation that makes no sense is ignored
    with suppress(SyntaxError, ValueError, KeyError, TypeError):
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"grey values of mode {image.mode}, not of 8 bits")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    square = ImageOps.fit(image.convert("RGB"), (size, size), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(square)).permute(2, 0, 1).contiguous()


def read(
    table: pd.DataFrame, size: int, seed: int, per_class: int | None, what: str
) -> tuple[torch.Tensor, pd.DataFrame, list[str]]:
    """Read the files of a table, at most `per_class` of each class.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns `file`, `path`, `class` and `name`.
    size : int
        Side of the images in pixels.
    seed : int
        Decides which files are read.
    per_class : int or None
        None means all.
    what : str
        What is read, for the progress bar and the report.

    Returns
    -------
    images : torch.Tensor of uint8, shape (N, 3, size, size)
    rows : pandas.DataFrame
        The rows of the images, in the order of the table.
    report : list of str
        Classes of which not all files are read.

    Raises
    ------
    ValueError
        If files cannot be read. The message names all of them.
    """
    keys = table["class"] + "/" + table["name"]
    shuffled = table.assign(rank=[rank(key, seed) for key in keys])
    groups = shuffled.sort_values(["rank", "path"]).groupby("class")
    chosen = groups.head(len(table) if per_class is None else per_class)
    rows = table.loc[chosen.index.sort_values()].reset_index(drop=True)
    images = torch.empty(len(rows), 3, size, size, dtype=torch.uint8)
    unreadable = []
    for row in progress(rows.itertuples(), desc=f"reading {what}", total=len(rows)):
        try:
            images[row.Index] = decode(row.file, size)
        except Exception as error:  # damaged files make decoders raise nearly anything
            unreadable.append(f"{row.path} ({type(error).__name__}: {error})")
    if unreadable:
        raise ValueError(
            f"{what}: {len(unreadable)} of {len(rows)} files could not be read: "
            f"{'; '.join(unreadable)}. Repair or remove these files and run again."
        )
    report = []
    for name, number in groups.size().items():
        if per_class is not None and number > per_class:
            report.append(
                f"{what}, class {name!r}: {per_class} of {number} images are used, "
                "chosen by the seed."
            )
    return images, rows, report


def rank(name: str, seed: int) -> str:
    """Return a key that sorts names randomly; it depends on the name and seed alone."""
    return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()
