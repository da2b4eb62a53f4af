"""Image properties against PIL, numpy and scipy, and the test of their relation to the class."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from PIL import Image

from helpers.data import ImageSet, load
from helpers.data.images import Images
from helpers.data.properties import eta_squared, explained_by_class, image_properties

CLASSES = ("cat", "dog")


def image_set(images, **columns):
    """Return an image set of alternating classes."""
    labels = torch.arange(len(images)) % 2
    table = pd.DataFrame({"class": [CLASSES[label] for label in labels], **columns})
    return ImageSet("C", torch.as_tensor(images), labels, CLASSES, table)


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (4, 3, 12, 20), dtype=np.uint8)


# properties


def test_brightness_and_contrast_are_those_of_pils_grey_images(noise):
    table = image_properties(image_set(noise))
    for pixels, row in zip(noise, table.itertuples(), strict=True):
        grey = np.asarray(Image.fromarray(pixels.transpose(1, 2, 0)).convert("L"))
        assert row.brightness == pytest.approx(grey.mean(), abs=0.5)
        assert row.contrast == pytest.approx(grey.std(), abs=0.5)


def test_colourfulness_follows_the_formula_of_the_paper(noise):
    table = image_properties(image_set(noise))
    for pixels, found in zip(noise, table["colourfulness"], strict=True):
        red, green, blue = (channel.ravel().tolist() for channel in pixels)
        rg = pd.Series(red) - pd.Series(green)
        yb = 0.5 * (pd.Series(red) + pd.Series(green)) - pd.Series(blue)
        spread = (rg.var(ddof=0) + yb.var(ddof=0)) ** 0.5
        expected = spread + 0.3 * (rg.mean() ** 2 + yb.mean() ** 2) ** 0.5
        assert found == pytest.approx(expected)


def test_a_uniform_grey_image_has_only_brightness():
    [row] = image_properties(image_set(np.full((1, 3, 8, 8), 90, np.uint8))).to_numpy()
    assert row[1:].tolist() == pytest.approx([90, 0, 0, 0])


def test_sharpness_of_stripes_is_that_of_the_closed_form():
    # the Laplacian of columns 0, 255, 0, 255 is 510, -510 (at the border 255, -255)
    stripes = np.zeros((1, 3, 8, 1000), np.uint8)
    stripes[..., 1::2] = 255
    [sharpness] = image_properties(image_set(stripes))["sharpness"]
    assert sharpness == pytest.approx(510, rel=0.01)


def test_a_blurred_image_is_less_sharp(noise):
    smooth = torch.nn.functional.avg_pool2d(torch.tensor(noise).float(), 3, 1, 1)
    images = np.stack([noise[0], smooth[0].to(torch.uint8).numpy()])
    sharp, blurred = image_properties(image_set(images))["sharpness"]
    assert blurred < sharp / 3


def test_files_have_a_size_and_a_shape_as_a_person_sees_them(tmp_path, noise):
    exif = Image.Exif()
    exif[0x0112] = 6  # stored on its side
    Image.new("RGB", (300, 200)).save(tmp_path / "a.jpg", exif=exif)
    Image.new("RGB", (300, 200)).save(tmp_path / "b.png")
    files = [tmp_path / "a.jpg", tmp_path / "b.png"]
    table = image_properties(image_set(noise[:2], file=files))
    sizes = [len(file.read_bytes()) / 1000 for file in files]
    assert table["file size"].tolist() == pytest.approx(sizes)
    assert table["resolution"].tolist() == pytest.approx([0.06, 0.06])
    assert table["aspect ratio"].tolist() == pytest.approx([2 / 3, 3 / 2])


def test_synthetic_images_have_no_properties_of_files():
    collection = load(Images(size=32, per_class=6), 0)
    table = image_properties(collection.sets["C"])
    columns = ["class", "brightness", "contrast", "colourfulness", "sharpness"]
    assert table.columns.tolist() == columns


# the class


def test_eta_squared_is_that_of_scipys_analysis_of_variance():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], [5, 8, 20])
    values = rng.normal(codes, 1)
    f = scipy.stats.f_oneway(*(values[codes == code] for code in range(3))).statistic
    between, within = 2, len(values) - 3
    expected = f * between / (f * between + within)
    assert eta_squared(values[:, None], codes) == pytest.approx([expected])


def test_p_is_that_of_scipys_permutation_test():
    rng = np.random.default_rng(2)
    values = np.r_[rng.normal(0, 1, 20), rng.normal(0.6, 1, 20)]
    properties = pd.DataFrame({"class": ["a"] * 20 + ["b"] * 20, "width": values})
    [row] = explained_by_class(properties, permutations=4999).itertuples()
    expected = scipy.stats.permutation_test(
        (values[:20], values[20:]),
        lambda a, b: abs(a.mean() - b.mean()),
        n_resamples=4999,
        alternative="greater",
        rng=0,
    )
    assert row.p == pytest.approx(expected.pvalue, abs=0.02)
    assert row.p_adjusted == row.p


def test_an_injected_difference_in_brightness_is_detected():
    rng = np.random.default_rng(3)
    images = rng.integers(60, 200, (60, 3, 16, 16))
    images[1::2] += 10
    found = explained_by_class(image_properties(image_set(images.astype(np.uint8))))
    assert found["property"][0] == "brightness"
    assert found["significant"].tolist() == [True, False, False, False]
    assert found["share"][0] > 0.9 > 0.2 > found["null_high"][0]


def test_a_property_without_variance_is_never_significant():
    properties = pd.DataFrame({"class": ["a", "b"] * 10, "resolution": 0.25})
    [row] = explained_by_class(properties, permutations=99).itertuples()
    assert row.share == 0
    assert np.isnan(row.p)
    assert not row.significant


def test_at_most_5_percent_of_unrelated_images_give_a_significant_property():
    seeds = 300
    rng = np.random.default_rng(4)
    false_positives = 0
    for seed in range(seeds):
        values = rng.lognormal(size=(40, 4))
        values[:, 1] += values[:, 0]  # properties are correlated
        properties = pd.DataFrame(values).assign(**{"class": ["a", "b"] * 20})
        found = explained_by_class(properties, permutations=99, seed=seed)
        false_positives += found["significant"].any()
    assert false_positives <= scipy.stats.binom.ppf(0.999, seeds, 0.05)
    assert false_positives > 0, "the test would say nothing if it never rejected"
