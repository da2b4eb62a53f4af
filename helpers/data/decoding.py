"""Read image files as a person sees them, upright and over white, as squares."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
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
        Pillow's exception, if the file is too large, damaged or not an image.
    """
    with Image.open(path) as image:
        image.draft(None, (2 * size, 2 * size))  # decode a JPEG no finer than needed
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"grey values of mode {image.mode}, not of 8 bits")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    image = image.convert("RGB")
    square = ImageOps.fit(image, (size, size), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(square)).permute(2, 0, 1).contiguous()


def read(files: Sequence[Path], size: int) -> torch.Tensor:
    """Read image files.

    Parameters
    ----------
    files : sequence of Path
    size : int
        See :func:`decode`.

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, size, size)

    Raises
    ------
    ValueError
        If files cannot be read. The message names all of them.
    """
    images = torch.empty(len(files), 3, size, size, dtype=torch.uint8)
    unreadable = []
    for number, file in enumerate(progress(files, desc="reading images")):
        try:
            images[number] = decode(file, size)
        except Exception as error:  # damaged files make decoders raise nearly anything
            unreadable.append(f"{file} ({error})")
    if unreadable:
        raise ValueError(
            f"{len(unreadable)} of {len(files)} images could not be read: "
            f"{'; '.join(unreadable)}. Repair or remove these files and run again."
        )
    return images
