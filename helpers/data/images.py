"""One image file into the pixels that a person sees: uint8, RGB, square."""

from __future__ import annotations

import io
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageCms, ImageOps

#: Endings of the files that are taken for images, whatever their case. What Pillow cannot read
#: among them (HEIC) is counted as unreadable rather than passed over.
ENDINGS = frozenset({
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".tif", ".tiff",
    ".webp", ".ppm", ".pgm", ".pbm", ".avif", ".heic", ".heif",
})  # fmt: skip
FORMATS = ("JPEG", "MPO", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "AVIF")
#: More pixels than this are refused before any is decoded (a "decompression bomb").
PIXELS_MAX = 100_000_000


class Unreadable(Exception):
    """A file that cannot be shown as an image; the message says why, without the file's name."""


def is_image(path: Path) -> bool:
    """Whether a file is taken for an image, by its ending; hidden files are not."""
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def decode(path: Path, size: int) -> torch.Tensor:
    """Read an image file as a person sees it.

    EXIF orientation is applied, transparency is laid over white, 16-bit grey is scaled to 8 bits,
    palette, grey and CMYK become RGB, and an embedded colour profile is followed. The short side is
    then resized to `size` and the long side cropped at its centre. Of an animation the first frame
    is taken.

    Parameters
    ----------
    path : Path
    size : int
        Side of the result in pixels.

    Returns
    -------
    torch.Tensor
        uint8, shape (3, size, size).

    Raises
    ------
    Unreadable
        When the file is no image, is damaged or cut off, or has more than `PIXELS_MAX` pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's on odd metadata and its own pixel limit
            with Image.open(path, formats=_formats()) as image:
                return _square(_seen(image, size), size)
    except Unreadable:
        raise
    except Image.DecompressionBombError:
        raise Unreadable(f"more than {PIXELS_MAX:,} pixels") from None
    except Image.UnidentifiedImageError:
        raise Unreadable("not an image, or of a kind that cannot be read") from None
    except Exception as error:  # damaged files make decoders raise nearly anything
        raise Unreadable(f"{type(error).__name__}: {error}") from error


@cache
def _formats() -> tuple[str, ...]:
    """Those of `FORMATS` that the installed Pillow has a reader for."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _seen(image: Image.Image, size: int) -> Image.Image:
    """The whole image in RGB, upright and over white."""
    if image.width * image.height > PIXELS_MAX:
        raise Unreadable(f"{image.width} x {image.height} is more than {PIXELS_MAX:,} pixels")
    image.draft(None, (2 * size, 2 * size))  # JPEG: decode no finer than is needed
    image.load()
    with suppress(SyntaxError, ValueError, KeyError, TypeError):  # metadata that makes no sense
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image).convert("RGB")
    profile = image.info.get("icc_profile")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return _to_srgb(image if image.mode == "CMYK" else image.convert("RGB"), profile)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale deep grey by its full range: 65535 is white, whatever the brightest pixel is."""
    values = np.asarray(image).astype(np.float64)
    deepest = 1.0 if values.max() <= 1 else 255.0
    top = deepest if image.mode == "F" else 65535.0
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > top:
        raise Unreadable(f"grey values from {values.min():g} to {values.max():g}: unknown range")
    grey = np.round(values * (255 / top)).astype(np.uint8)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        grey[values == clear] = 255
    return Image.fromarray(grey)


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Follow an embedded colour profile; one that is damaged or does not fit is passed over."""
    if profile:
        with suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            if "sRGB" not in ImageCms.getProfileDescription(source):
                srgb = ImageCms.createProfile("sRGB")
                image = ImageCms.profileToProfile(image, source, srgb, outputMode="RGB")
    return image.convert("RGB")


def _square(image: Image.Image, size: int) -> torch.Tensor:
    """Short side to `size`, centre of the long side."""
    square = ImageOps.fit(image, (size, size), method=Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(square).copy()).permute(2, 0, 1).contiguous()
