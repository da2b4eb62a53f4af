"""Image files load as a person sees them: against colours that were put there."""

import numpy as np
import pytest
from PIL import Image

from helpers.data.decoding import decode

RED, GREEN, BLUE, GREY = (200, 30, 20), (20, 160, 40), (30, 40, 180), (120, 120, 120)
# how an upright image is stored, by the tag that says how to put it right
STORED = {
    1: lambda upright: upright,
    3: lambda upright: upright[::-1, ::-1],
    6: np.rot90,
    7: lambda upright: upright[::-1, ::-1].transpose(1, 0, 2),
}


def four_colours(size=16):
    """Return red, green / blue, grey: the corners tell how the image stands."""
    cells = np.array([[RED, GREEN], [BLUE, GREY]], np.uint8)
    return cells.repeat(size // 2, axis=0).repeat(size // 2, axis=1)


def decoded_corners(path, size=16):
    """Return the colours in the middle of the four quadrants of a decoded image."""
    image = decode(path, size)
    near = [size // 4, 3 * size // 4]
    return image[:, near][:, :, near].permute(1, 2, 0).reshape(4, 3).numpy()


def test_transparency_is_laid_over_white(tmp_path):
    alpha = np.array([[0, 255], [128, 51]], np.uint8).repeat(8, 0).repeat(8, 1)
    Image.fromarray(np.dstack([four_colours(), alpha])).save(tmp_path / "a.png")
    share = np.array([[0], [255], [128], [51]]) / 255
    expected = share * [RED, GREEN, BLUE, GREY] + (1 - share) * 255
    assert np.allclose(decoded_corners(tmp_path / "a.png"), expected, atol=1)


@pytest.mark.parametrize("orientation", STORED)
def test_an_image_is_turned_as_its_exif_orientation_says(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.ascontiguousarray(STORED[orientation](four_colours(64)))
    Image.fromarray(stored).save(tmp_path / "a.jpg", exif=exif, quality=95)
    expected = [RED, GREEN, BLUE, GREY]
    assert np.allclose(decoded_corners(tmp_path / "a.jpg"), expected, atol=12)


@pytest.mark.parametrize("border", [((0, 0), (30, 30)), ((30, 30), (0, 0))])
def test_the_short_side_is_fitted_and_the_middle_is_kept(tmp_path, border):
    pixels = np.pad(four_colours(40), [*border, (0, 0)])
    Image.fromarray(pixels).save(tmp_path / "a.png")
    expected = [RED, GREEN, BLUE, GREY]
    assert np.allclose(decoded_corners(tmp_path / "a.png", 20), expected, atol=3)


def test_grey_of_16_bits_is_refused(tmp_path):
    Image.fromarray(np.zeros((16, 16), np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(ValueError, match="grey values of mode I;16, not of 8 bits"):
        decode(tmp_path / "deep.png", 16)


def test_bombs_are_refused_before_they_are_decoded(tmp_path):
    # beyond Pillow's own limit
    Image.new("1", (14000, 14000)).save(tmp_path / "bomb.png")
    with pytest.raises(Image.DecompressionBombError, match="exceeds limit"):
        decode(tmp_path / "bomb.png", 16)
