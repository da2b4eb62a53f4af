"""Image properties against PIL, pandas and scipy, and their test against the class."""

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
    images = torch.as_tensor(images)
    labels = torch.arange(len(images)) % 2
    names = [CLASSES[label] for label in labels]
    table = pd.DataFrame({"class": names, **columns})
    return ImageSet(
        name="C",
        images=images,
        labels=labels,
        classes=CLASSES,
        table=table,
    )


def two_classes(values):
    """Return a table of one property, whose rows alternate between two classes."""
    names = np.resize(CLASSES, len(values))
    return pd.DataFrame({"class": names, "width": values})


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    shape = (4, 3, 12, 20)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def test_brightness_and_contrast_are_those_of_pils_grey_images(noise):
    table = image_properties(image_set(noise))
    for number, pixels in enumerate(noise):
        image = Image.fromarray(pixels.transpose(1, 2, 0))
        grey = np.asarray(image.convert("L"))
        assert table["brightness"][number] == pytest.approx(grey.mean(), abs=0.5)
        assert table["contrast"][number] == pytest.approx(grey.std(), abs=0.5)


def test_colourfulness_follows_the_formula_of_the_paper(noise):
    [found] = image_properties(image_set(noise[:1]))["colourfulness"]
    pixels = pd.DataFrame(noise[0].reshape(3, -1).T, columns=["r", "g", "b"])
    pixels = pixels.astype(float)
    rg = pixels.eval("r - g")
    yb = pixels.eval("0.5 * (r + g) - b")
    sigma = np.linalg.norm([rg.std(ddof=0), yb.std(ddof=0)])
    mu = np.linalg.norm([rg.mean(), yb.mean()])
    assert found == pytest.approx(sigma + 0.3 * mu)


def test_sharpness_of_stripes_is_that_of_the_closed_form():
    # the Laplacian of the columns 0, 255, 0, 255 is 510, -510; the border hardly counts
    stripes = np.zeros((1, 3, 8, 1000), np.uint8)
    stripes[..., 1::2] = 255
    [sharpness] = image_properties(image_set(stripes))["sharpness"]
    assert sharpness == pytest.approx(510, rel=0.01)


def test_files_have_a_size_and_a_shape_as_a_person_sees_them(tmp_path, noise):
    exif = Image.Exif()
    exif[0x0112] = 6  # stored on its side
    files = [tmp_path / "a.jpg", tmp_path / "b.png"]
    image = Image.new("RGB", (300, 200))
    image.save(files[0], exif=exif)
    image.save(files[1])
    table = image_properties(image_set(noise[:2], file=files))
    for number, file in enumerate(files):
        kilobytes = len(file.read_bytes()) / 1000
        assert table["file size"][number] == kilobytes
        assert table["resolution"][number] == 0.06
    upright = table["aspect ratio"][0]
    assert upright == 200 / 300
    assert table["aspect ratio"][1] == 300 / 200


def test_synthetic_images_have_no_properties_of_files():
    collection = load(Images(size=32, per_class=6), 0)
    table = image_properties(collection.sets["C"])
    assert table.columns.tolist() == [
        "class",
        "brightness",
        "contrast",
        "colourfulness",
        "sharpness",
    ]


def test_eta_squared_is_that_of_scipys_analysis_of_variance():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], [5, 8, 20])
    values = rng.normal(codes, 1)
    groups = [values[codes == code] for code in range(3)]
    f = scipy.stats.f_oneway(*groups).statistic
    between = f * (3 - 1)
    within = len(values) - 3
    expected = between / (between + within)
    indicators = np.eye(3)[codes]
    assert eta_squared(values[:, None], indicators) == pytest.approx([expected])


def test_p_is_that_of_scipys_permutation_test():
    rng = np.random.default_rng(2)
    means = np.resize([0, 0.6], 40)
    values = rng.normal(means)
    table = explained_by_class(two_classes(values), permutations=4999)
    p = table["p"][0]
    expected = scipy.stats.permutation_test(
        (values[::2], values[1::2]),
        lambda first, second: abs(first.mean() - second.mean()),
        n_resamples=4999,
        alternative="greater",
        rng=0,
    )
    assert p == pytest.approx(expected.pvalue, abs=0.02)
    assert table["p_adjusted"][0] == p


def test_an_injected_difference_in_brightness_is_detected():
    rng = np.random.default_rng(3)
    shape = (60, 3, 16, 16)
    images = rng.integers(60, 200, shape, dtype=np.uint8)
    images[1::2] += 10
    found = explained_by_class(image_properties(image_set(images)))
    assert found["property"][0] == "brightness"
    assert found["significant"].tolist() == [True, False, False, False]
    assert found["share"][0] > 0.8
    assert found["null_high"][0] < 0.2


def test_a_property_without_variance_is_left_out():
    properties = two_classes(np.arange(20))
    properties["height"] = 0.1
    found = explained_by_class(properties, permutations=99)
    assert found["property"].tolist() == ["width"]


def test_at_most_5_percent_of_unrelated_images_give_a_significant_property():
    seeds = 300
    rng = np.random.default_rng(4)
    false_positives = 0
    for seed in range(seeds):
        properties = two_classes(rng.lognormal(size=40))
        properties["height"] = properties["width"] + rng.lognormal(size=40)
        properties["size"] = rng.lognormal(size=40)
        found = explained_by_class(properties, permutations=99, seed=seed)
        false_positives += found["significant"].any()
    assert false_positives <= scipy.stats.binom.ppf(0.999, seeds, 0.05)
    assert false_positives > 0, "a test that never rejects would pass as well"
