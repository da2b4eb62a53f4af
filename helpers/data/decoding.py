"""Image files into the pixels that a person sees (uint8, RGB, square), and which are read."""

import hashlib
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageOps

from helpers.store import progress

#: Endings of images, whatever their case. HEIC, which Pillow cannot read, counts as unreadable.
ENDINGS = frozenset(
    {
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".png",
        ".gif",
        ".bmp",
        ".tif",
        ".tiff",
        ".webp",
        ".ppm",
        ".pgm",
        ".pbm",
        ".avif",
        ".heic",
        ".heif",
    }
)
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "AVIF")
UNREADABLE_SHARE = 0.05  # of a class's opened files: more than this stops the run


class Unreadable(Exception):
    """A file that cannot be shown as an image; the message says why, without the file's name."""


def is_image(path: Path) -> bool:
    """Whether a file is taken for an image, by its ending; hidden files are not."""
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def decode(path: Path, size: int) -> torch.Tensor:
    """An image file as a person sees it, uint8 (3, size, size): upright, over white, cropped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's on odd metadata and large images
            with Image.open(path, formats=FORMATS) as image:
                seen = _seen(image, size)
        square = ImageOps.fit(seen, (size, size), method=Image.Resampling.BICUBIC)
        return torch.from_numpy(np.asarray(square).copy()).permute(2, 0, 1).contiguous()
    except Unreadable:
        raise
    except Image.UnidentifiedImageError:
        raise Unreadable("not an image, or of a kind that cannot be read") from None
    except Exception as error:  # damaged files make decoders raise nearly anything
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def _seen(image: Image.Image, size: int) -> Image.Image:
    """The whole image in RGB, upright and over white."""
    image.draft(None, (2 * size, 2 * size))  # JPEG: decode no finer than is needed
    image.load()
    with suppress(
        SyntaxError, ValueError, KeyError, TypeError
    ):  # metadata that makes no sense
        image = ImageOps.exif_transpose(image)
    if image.mode == "F":
        raise Unreadable("grey values without a known range")
    if image.mode.startswith(
        "I"
    ):  # deep grey: 65535 is white, whatever the brightest pixel is
        deep = np.asarray(image).astype(float) / 257
        image = Image.fromarray(np.round(deep).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def read(
    table: pd.DataFrame, size: int, seed: int, per_class: int | None, what: str
) -> tuple[torch.Tensor, pd.DataFrame, list[str]]:
    """Decode a set's files, at most `per_class` of a class: images, their rows, and a report."""
    images, kept, report = [], [], []
    shuffled = table.assign(rank=ranks(table["class"] + "/" + table["name"], seed))
    for name, rows in shuffled.sort_values(["rank", "path"]).groupby(
        "class", sort=True
    ):
        limit = len(rows) if per_class is None else per_class
        decoded, bad = {}, {}
        for row in progress(
            rows.itertuples(), desc=f"reading {what}, {name}", total=len(rows)
        ):
            if len(decoded) == limit:
                break
            try:
                decoded[row.Index] = decode(row.file, size)
            except Unreadable as reason:
                bad[row.path] = str(reason)
        report += judge(f"{what}, class {name!r}", len(rows), len(decoded), bad)
        kept += sorted(decoded)  # back to the table's order, by path
        images += [decoded[row] for row in sorted(decoded)]
    pixels = (
        torch.stack(images)
        if images
        else torch.empty(0, 3, size, size, dtype=torch.uint8)
    )
    return pixels, table.loc[kept].reset_index(drop=True), report


def ranks(names: Iterable[str], seed: int) -> list[str]:
    """Sort keys that shuffle `names`: they depend on each name and the seed, on nothing else."""
    return [hashlib.sha256(f"{seed}/{name}".encode()).hexdigest() for name in names]


def judge(where: str, there: int, read: int, bad: dict[str, str]) -> list[str]:
    """Sentences on what one class gave; an error when too much of it cannot be read."""
    sentences = []
    if bad:
        opened = read + len(bad)
        names = "; ".join(f"{path} ({reason})" for path, reason in sorted(bad.items()))
        sentences = [
            f"{where}: {len(bad)} of {opened} files could not be read: {names}."
        ]
        if len(bad) > UNREADABLE_SHARE * opened:
            raise ValueError(
                f"{sentences[0]} That is more than {UNREADABLE_SHARE:.0%} of the class: "
                "repair or remove these files and run again."
            )
    if read + len(bad) < there:
        sentences.append(
            f"{where}: {read} of {there} images are used, chosen by the seed."
        )
    return sentences
