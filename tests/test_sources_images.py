"""Image files of every kind load as a person sees them: against colours that were put there."""

import numpy as np
import pytest
from PIL import Image

from helpers.data.decoding import Unreadable, decode


def seen(path, size=16):
    return decode(path, size).permute(1, 2, 0).numpy()


def four_colours(size=16):
    """Red, green / blue, grey: which corner is where tells how the image stands."""
    pixels = np.zeros((size, size, 3), np.uint8)
    half = size // 2
    pixels[:half, :half] = (200, 30, 20)
    pixels[:half, half:] = (20, 160, 40)
    pixels[half:, :half] = (30, 40, 180)
    pixels[half:, half:] = (120, 120, 120)
    return pixels


def corners(pixels):
    q = pixels.shape[0] // 4
    return [pixels[r, c].astype(int) for r in (q, 3 * q) for c in (q, 3 * q)]


def same_corners(pixels, expected, within=0):
    return all(
        np.abs(a - b).max() <= within
        for a, b in zip(corners(pixels), expected, strict=True)
    )


def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path):
    deep = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
    path = tmp_path / "deep.png"
    Image.fromarray(deep).save(path)
    assert np.array_equal(seen(path)[..., 1], (deep / 257).round().astype(np.uint8))
    Image.fromarray(deep // 200).save(path)  # a dark picture stays dark
    assert seen(path).max() == 1


def test_transparency_is_laid_over_white(tmp_path):
    alpha = np.zeros((16, 16), np.uint8)
    alpha[:8, 8:], alpha[8:, :8], alpha[8:, 8:] = 255, 128, 51
    Image.fromarray(np.dstack([four_colours(), alpha])).save(tmp_path / "a.png")
    _, green, blue, grey = corners(four_colours())
    over = [np.full(3, 255), green, blue * 128 / 255 + 127, grey * 51 / 255 + 204]
    assert same_corners(seen(tmp_path / "a.png"), over, 1)


@pytest.mark.parametrize("orientation", [1, 3, 6, 7])
def test_exif_orientation(tmp_path, orientation):
    """The file is stored turned or mirrored; the tag says how to put it right."""
    upright = np.repeat(np.repeat(four_colours(), 4, 0), 4, 1)
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        7: np.rot90(upright.transpose(1, 0, 2), 2),
        6: np.rot90(upright),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(np.ascontiguousarray(stored))
    image.save(tmp_path / "a.jpg", exif=exif, quality=95)
    assert same_corners(seen(tmp_path / "a.jpg"), corners(four_colours()), 12)


@pytest.mark.parametrize("shape", [(40, 100), (100, 40)])
def test_short_side_is_fitted_and_the_centre_kept(tmp_path, shape):
    height, width = shape
    pixels = np.zeros((height, width, 3), np.uint8)
    top, left = (height - 40) // 2, (width - 40) // 2
    pixels[top : top + 40, left : left + 40] = np.repeat(
        np.repeat(four_colours(4), 10, 0), 10, 1
    )
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert same_corners(seen(tmp_path / "a.png", 20), corners(four_colours()), 3)
    assert decode(tmp_path / "a.png", 20).shape == (3, 20, 20)


def test_what_is_no_image_is_refused(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"hello")
    with pytest.raises(Unreadable, match="not an image"):
        decode(tmp_path / "a.jpg", 16)


def test_bombs_are_refused_before_they_are_decoded(tmp_path):
    Image.new("1", (14000, 14000)).save(
        tmp_path / "bomb.png"
    )  # beyond Pillow's own limit
    with pytest.raises(Unreadable, match="exceeds limit"):
        decode(tmp_path / "bomb.png", 16)
