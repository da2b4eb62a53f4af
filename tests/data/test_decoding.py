"""Image files load as a person sees them: against colours that were put there."""

import numpy as np
import pytest
from PIL import Image

from helpers.data.decoding import decode

# of the quadrants of an image, row by row
COLOURS = np.array(
    [
        [200, 30, 20],
        [20, 160, 40],
        [30, 40, 180],
        [120, 120, 120],
    ],
    dtype=np.uint8,
)
# how an upright image is stored, by the tag that says how to put it right
STORED = {
    1: lambda upright: upright,
    3: lambda upright: upright[::-1, ::-1],
    6: np.rot90,
    7: lambda upright: upright[::-1, ::-1].transpose(1, 0, 2),
}


def quadrants(values, size=16):
    """Return an image with one value, or one colour, in each quadrant."""
    cells = np.reshape(values, (2, 2, -1)).astype(np.uint8)
    rows = cells.repeat(size // 2, axis=0)
    return rows.repeat(size // 2, axis=1)


def decoded_colours(path, size=16, **settings):
    """Return the colours in the middle of the quadrants of a decoded image."""
    image = decode(path, size, **settings)
    quarter = size // 4
    middle = [quarter, 3 * quarter]
    colours = image[:, middle][:, :, middle]
    return colours.permute(1, 2, 0).reshape(4, 3).numpy()


def test_transparency_is_laid_over_white(tmp_path):
    alpha = np.array([0, 255, 128, 51])
    pixels = np.dstack([quadrants(COLOURS), quadrants(alpha)])
    path = tmp_path / "a.png"
    Image.fromarray(pixels).save(path)
    share = alpha[:, None] / 255
    expected = share * COLOURS + (1 - share) * 255
    assert np.allclose(decoded_colours(path), expected, atol=1)


@pytest.mark.parametrize("orientation", STORED)
def test_an_image_is_turned_as_its_exif_orientation_says(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = STORED[orientation](quadrants(COLOURS, 64))
    image = Image.fromarray(np.ascontiguousarray(stored))
    image.save(tmp_path / "a.jpg", exif=exif, quality=95)
    assert np.allclose(decoded_colours(tmp_path / "a.jpg"), COLOURS, atol=12)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_short_side_is_fitted_and_the_middle_is_kept(tmp_path, axis):
    path = tmp_path / "a.png"
    image = quadrants(COLOURS, 40)
    border = np.zeros_like(image)
    pixels = np.concatenate([border, image, border], axis)
    Image.fromarray(pixels).save(path)
    colours = decoded_colours(path, 20)
    assert np.allclose(colours, COLOURS, atol=3)


def test_grey_of_16_bits_is_refused(tmp_path):
    deep = np.zeros((16, 16), np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    with pytest.raises(ValueError, match="grey values of mode I;16, not of 8 bits"):
        decode(tmp_path / "deep.png", 16)
