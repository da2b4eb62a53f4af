"""Image sources: class folders, splits, contexts and the synthetic dataset."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from helpers import data
from helpers.data import splits
from helpers.data.images import Images
from synthetic import pictures

PHOTO_CONTEXTS = {
    "airplane": "sky",
    "cup": "wood",
    "fire hydrant": "road",
    "kangaroo": "park",
}


def picture(seed, size=48):
    """Return a picture like no other."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    small = Image.fromarray(pixels)
    square = (size, size)
    return small.resize(square, Image.Resampling.BICUBIC)


def fill(folder, n, start=0):
    """Write `n` pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        picture(start + i).save(folder / f"{i:03d}.png")
    return folder


def two_classes(folder, n=12):
    fill(folder / "cat", n)
    fill(folder / "dog", n, 1000)
    return folder


def load(folder, seed=0, size=48, **more):
    images = Images("folder", size, folder=str(folder), **more)
    return data.load(images, seed)


def counts(collection, name="C"):
    """Count the training, validation and test images of each class."""
    summary = collection.summary().loc[name]
    return summary.drop(columns="total").to_numpy().tolist()


def as_arrays(images):
    """Return images as NumPy has them, (N, H, W, 3)."""
    return images.permute(0, 2, 3, 1).numpy()


def shows(images, first, n):
    """Return whether these are the pictures `first` to `first + n - 1`."""
    pictures = [picture(first + i) for i in range(n)]
    return np.array_equal(as_arrays(images), np.stack(pictures))


@pytest.fixture
def photos(tmp_path):
    """Return a folder of cats and dogs, with two contexts of other names."""
    folder = two_classes(tmp_path / "photos", 6)
    fill(folder / "contexts/garden", 5, 5000)
    fill(folder / "contexts/indoors", 5, 5100)
    return folder


# splits


def test_sizes_are_the_papers_and_in_proportion():
    assert splits.split_sizes(150) == (100, 25, 25)
    assert splits.split_sizes(57) == (37, 10, 10)
    assert splits.split_sizes(3) == (1, 1, 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 40), st.integers(3, 40), st.integers(0, 2**31))
def test_names_decide_the_splits_in_all_image_sets(in_c, in_wb, seed):
    hashes = np.r_[np.arange(in_c), np.arange(in_wb)]
    rows = pd.DataFrame({"class": "cat", "hash": hashes})
    rows["set"] = np.repeat(["C", "WB"], [in_c, in_wb])
    rows["split"] = splits.split_by_name(rows)
    of_c = rows["split"][:in_c]
    found = of_c.value_counts()
    assert tuple(found[["train", "val", "test"]]) == splits.split_sizes(in_c)
    assert (rows.groupby("hash")["split"].nunique() == 1).all()
    shuffled = rows[:in_c].sample(frac=1, random_state=seed)
    again = splits.split_by_name(shuffled)
    assert again.sort_index().equals(of_c)


# folders


def test_a_folder_of_class_folders_is_read_as_it_is(tmp_path):
    found = load(two_classes(tmp_path))
    assert found.classes == ("cat", "dog")
    assert found.contexts == {}
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    images = found.sets["C"]
    for label, first in [("cat", 0), ("dog", 1000)]:
        part = images.of(label)
        paths = [f"{label}/{i:03d}.png" for i in range(12)]
        assert part.table["path"].tolist() == paths
        assert part.labels.unique() == found.classes.index(label)
        assert shows(part.images, first, 12)
    other = load(tmp_path, seed=1).sets["C"].table
    assert not other["split"].equals(images.table["split"])


def test_more_files_than_wanted_are_chosen_by_the_seed(tmp_path, capsys):
    found = load(two_classes(tmp_path, 30), per_class=12)
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    assert "C: 24 of 60 images are used" in capsys.readouterr().out
    other = load(tmp_path, seed=1, per_class=12)
    paths = found.sets["C"].table["path"]
    assert not paths.equals(other.sets["C"].table["path"])


def test_hidden_files_and_other_files_are_no_images(tmp_path):
    two_classes(tmp_path, 6)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "cat/._000.png").write_bytes(b"junk")
    (tmp_path / "cat/notes.txt").write_text("not an image")
    found = load(tmp_path)
    assert found.classes == ("cat", "dog")
    assert len(found.sets["C"]) == 12


def test_three_image_sets_share_their_splits_and_white_makes_masks(tmp_path):
    for name in ("C", "NC", "WB"):
        made = pictures.make(name, per_class=10, size=96, seed=3)
        rows = made.table.itertuples()
        for image, row in zip(made.images, rows, strict=True):
            folder = tmp_path / name / row.object
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / f"{row.index:03d}.png")
    sets = load(tmp_path, size=96).sets
    in_context = sets["C"].table
    assert in_context["split"].equals(sets["NC"].table["split"])
    assert in_context["split"].equals(sets["WB"].table["split"])
    assert sets["C"].masks is None
    for label in pictures.CLASSES:
        of_class = (made.table["object"] == label).to_numpy()
        truth = made.masks[of_class]
        masks = sets["WB"].of(label).masks.numpy()
        intersection = (truth & masks).sum()
        union = (truth | masks).sum()
        assert intersection / union > 0.8


@pytest.mark.parametrize(
    ("folders", "n", "message"),
    [
        (["cat"], 6, r"holds 1 class folders \(cat\), and at least 2"),
        (["cat", "dog"], 2, "too few images in C/cat, C/dog"),
        (["cat", "dog"], 0, "no valid file for the classes cat, dog"),
        (["C/a", "C/b", "NC/a", "NC/c"], 6, "too few images in C/c, NC/b"),
    ],
)
def test_folders_that_do_not_fit_are_refused(tmp_path, folders, n, message):
    for k, name in enumerate(folders):
        fill(tmp_path / name, n, 100 * k)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load(tmp_path)


def test_folders_of_splits_are_not_read_as_classes(tmp_path):
    for split in ("train", "Valid", "test"):
        for name in ("bus", "train"):
            fill(tmp_path / split / name, 6)
    message = r"holds splits \(Valid, test, train\).*Give the folder of one split"
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_a_class_may_be_called_train(tmp_path):
    fill(tmp_path / "bus", 6)
    fill(tmp_path / "train/fast", 3, 100)
    fill(tmp_path / "train/slow", 3, 200)
    assert load(tmp_path).classes == ("bus", "train")


def test_files_that_cannot_be_read_are_refused_and_all_are_named(tmp_path):
    two_classes(tmp_path, 20)
    (tmp_path / "cat/003.png").write_bytes(b"not a picture")
    (tmp_path / "dog/004.png").write_bytes(b"not a picture")
    message = r"2 of 40 .*/cat/003.png .*; .*/dog/004.png "
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_an_image_in_two_classes_or_two_splits_is_refused(tmp_path):
    two_classes(tmp_path)
    picture(3).save(tmp_path / "dog/cat.bmp")
    message = r"cat/003.png = .*/dog/cat.bmp.*Remove the copies"
    with pytest.raises(ValueError, match=message):
        load(tmp_path)
    (tmp_path / "dog/cat.bmp").unlink()
    for i in range(12):
        picture(i).save(tmp_path / "cat" / f"again{i}.png")
    with pytest.raises(ValueError, match="in two splits or two classes"):
        load(tmp_path)


# contexts


def test_contexts_are_given_to_classes_by_a_mapping(photos):
    found = load(photos, context_of={"cat": "indoors", "dog": "garden"})
    assert found.classes == ("cat", "dog")
    assert found.context_of == {"cat": "indoors", "dog": "garden"}
    assert shows(found.contexts["cat"], 5100, 5)


def test_contexts_may_be_elsewhere_and_named_as_the_classes(photos, tmp_path):
    fill(tmp_path / "named/cat", 5, 5200)
    fill(tmp_path / "named/dog", 5, 5300)
    found = load(photos, contexts=str(tmp_path / "named"))
    assert found.context_of == {"cat": "cat", "dog": "dog"}
    alone = load(photos, context_of={"cat": "indoors", "dog": "garden"}).sets["C"]
    assert found.sets["C"].table.equals(alone.table), "the files have the same names"
    assert shows(found.contexts["dog"], 5300, 5)


def test_a_class_without_a_context_is_named(photos, capsys):
    found = load(photos, context_of={"cat": "indoors"})
    assert list(found.contexts) == ["cat"]
    assert "no context of dog" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("context_of", "message"),
    [
        (None, "'cat': 'cat'.* The contexts are garden, indoors. Give"),
        ({"cat": "indoors", "cow": "garden"}, "'cow'.* The classes are cat, dog. "),
        ({"cat": "indoors", "dog": "sea"}, "'sea'.* The contexts are garden, indoors"),
        ({"cat": "indoors", "dog": "indoors"}, "Give each class a context of its own"),
    ],
)
def test_mappings_that_do_not_fit_are_refused(photos, context_of, message):
    with pytest.raises(ValueError, match=message):
        load(photos, context_of=context_of)


def test_a_background_image_that_is_an_image_of_a_class_is_refused(tmp_path):
    contexts = fill(two_classes(tmp_path, 6) / "contexts" / "cat", 5, 5000)
    picture(1003).save(contexts / "dog.png")
    message = "dog/003.png = .*/contexts/cat/dog.png. Remove"
    with pytest.raises(ValueError, match=message):
        load(tmp_path, context_of={"cat": "cat"})


def test_contexts_among_the_classes_are_refused(photos):
    (photos / "contexts").rename(photos / "places")
    context_of = {"cat": "indoors", "dog": "garden"}
    with pytest.raises(ValueError, match="in two splits or two classes"):
        load(photos, contexts=str(photos / "places"), context_of=context_of)


# the synthetic dataset and the data classes


@pytest.fixture(scope="module")
def embedded():
    return data.load(Images(size=32, per_class=12), 5)


def test_the_synthetic_dataset_is_handed_over_as_it_is(embedded):
    assert embedded.classes == pictures.CLASSES
    assert embedded.context_of == pictures.CONTEXT_OF
    for name, images in embedded.sets.items():
        made = pictures.make(name, per_class=12, size=32, seed=5)
        assert np.array_equal(as_arrays(images.images), made.images)
        assert np.array_equal(images.masks, made.masks)
        names = [images.classes[label] for label in images.labels]
        assert names == made.table["object"].tolist()
        assert counts(embedded, name) == [[8, 2, 2]] * 4
    scenes = pictures.contexts(per_context=125, size=32, seed=5)
    for label, images in embedded.contexts.items():
        of_context = scenes.table["context"] == pictures.CONTEXT_OF[label]
        assert np.array_equal(as_arrays(images), scenes.images[of_context])


def test_image_set_restrictions(embedded):
    images = embedded.sets["C"]
    part = images.split("test").of("mug")
    assert torch.equal(part.images, images.images[-2:])
    assert torch.equal(part.masks, images.masks[-2:])
    assert part.labels.tolist() == [3, 3]
    with pytest.raises(ValueError, match="split: 'dev' is none of"):
        images.split("dev")
    with pytest.raises(ValueError, match="class: 'cup' is none of"):
        images.of("cup")


@pytest.mark.real
def test_real_photographs(real):
    folder = real / "photos4"
    found = load(
        folder / "objects",
        size=64,
        contexts=str(folder / "contexts"),
        context_of=PHOTO_CONTEXTS,
    )
    assert found.classes == tuple(sorted(PHOTO_CONTEXTS))
    assert counts(found) == [[37, 10, 10]] * 4
    for label in found.classes:
        assert len(found.contexts[label]) == 25
    sky = found.contexts["airplane"].float().mean((0, 2, 3))
    assert sky[2] > sky[0]
