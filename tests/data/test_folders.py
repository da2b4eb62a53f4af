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
from helpers.data.collection import sizes
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
    small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    return small.resize((size, size), Image.Resampling.BICUBIC)


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


def load(folder, seed=0, with_contexts=True, **more):
    images = Images("folder", folder=str(folder), **{"size": 48, **more})
    return data.load(images, seed, with_contexts=with_contexts)


def counts(collection, name="C"):
    return collection.summary().loc[name, ["train", "val", "test"]].to_numpy().tolist()


# splits


def test_sizes_are_the_papers_and_in_proportion():
    assert sizes(150) == (100, 25, 25)
    assert sizes(57) == (37, 10, 10)
    assert sizes(3) == (1, 1, 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 40), st.integers(3, 40), st.integers(0, 2**31))
def test_names_decide_the_splits_in_all_image_sets(in_c, in_wb, seed):
    c = pd.DataFrame({"set": "C", "class": "a", "name": map(str, range(in_c))})
    wb = pd.DataFrame({"set": "WB", "class": "a", "name": map(str, range(in_wb))})
    rows = pd.concat([c, wb], ignore_index=True)
    rows["split"] = splits.split_by_name(rows, seed)
    found = rows["split"][rows["set"] == "C"].value_counts()
    assert tuple(found[["train", "val", "test"]]) == sizes(in_c)
    assert rows.groupby("name")["split"].nunique().eq(1).all()
    shuffled = c.sample(frac=1, random_state=seed)
    assert (
        splits.split_by_name(shuffled, seed).sort_index().equals(rows["split"][:in_c])
    )


# folders


def test_a_folder_of_class_folders_is_read_as_it_is(tmp_path):
    found = load(two_classes(tmp_path))
    assert found.classes == ("cat", "dog")
    assert found.contexts == {}
    assert "01 and 02 run without them" in found.report[-1]
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    images = found.sets["C"]
    rows = zip(images.images, images.labels, images.table["path"], strict=True)
    for image, label, path in rows:
        expected = picture(int(path[-7:-4]) + 1000 * int(label))
        assert np.array_equal(image.permute(1, 2, 0), np.asarray(expected))
        assert path.startswith(images.classes[label])
    other = load(tmp_path, seed=1).sets["C"].table
    assert not other["split"].equals(images.table["split"])


def test_more_files_than_wanted_are_chosen_by_the_seed(tmp_path):
    found = load(two_classes(tmp_path, 30), per_class=12)
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    assert any("12 of 30" in remark for remark in found.report)


def test_hidden_files_and_other_files_are_no_images(tmp_path):
    two_classes(tmp_path, 6)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "cat" / "._000.png").write_bytes(b"junk")
    (tmp_path / "cat" / "notes.txt").write_text("not an image")
    found = load(tmp_path)
    assert found.classes == ("cat", "dog")
    assert len(found.sets["C"]) == 12


def test_three_image_sets_share_their_splits_and_white_makes_masks(tmp_path):
    for name in ("C", "NC", "WB"):
        made = pictures.make(name, per_class=10, size=96, seed=3)
        for image, row in zip(made.images, made.table.itertuples(), strict=True):
            folder = tmp_path / name / row.object
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / f"{row.index:03d}.png")
    found = load(tmp_path, size=96)
    c, nc, wb = (found.sets[name] for name in ("C", "NC", "WB"))
    assert c.table["split"].equals(nc.table["split"])
    assert c.table["split"].equals(wb.table["split"])
    assert c.masks is None
    truth = pictures.make("WB", per_class=10, size=96, seed=3).masks
    order = [
        10 * pictures.CLASSES.index(c) + i for c in found.classes for i in range(10)
    ]
    truth = torch.from_numpy(truth)[order]
    assert (truth & wb.masks).sum() / (truth | wb.masks).sum() > 0.85


@pytest.mark.parametrize(
    ("folders", "n", "message"),
    [
        (["cat"], 6, r"holds 1 class folders \(cat\), and at least 2 are needed"),
        (["cat", "dog"], 2, "class 'cat': no image for val and test"),
        (["cat", "dog"], 0, "no valid file for the classes cat, dog"),
        (["C/a", "C/b", "NC/a", "NC/c"], 6, "C and NC must have .* differ in b, c"),
    ],
)
def test_folders_that_do_not_fit_are_refused(tmp_path, folders, n, message):
    for k, name in enumerate(folders):
        fill(tmp_path / name, n, 100 * k)
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_folders_of_splits_are_not_read_as_classes(tmp_path):
    for split in ("train", "Valid", "test"):
        for name in ("bus", "train"):
            fill(tmp_path / split / name, 6)
    with pytest.raises(
        ValueError,
        match=r"holds splits \(Valid, test, train\).*Give the folder of one split",
    ):
        load(tmp_path)


def test_a_class_may_be_called_train(tmp_path):
    fill(tmp_path / "bus", 6)
    fill(tmp_path / "train" / "fast", 3, 100)
    fill(tmp_path / "train" / "slow", 3, 200)
    assert load(tmp_path).classes == ("bus", "train")


def test_files_that_cannot_be_read_are_refused_and_all_are_named(tmp_path):
    two_classes(tmp_path, 20)
    (tmp_path / "cat" / "003.png").write_bytes(b"not a picture")
    (tmp_path / "dog" / "004.png").write_bytes(b"not a picture")
    with pytest.raises(ValueError, match=r"2 of 40 .* cat/003.png .*; dog/004.png "):
        load(tmp_path)


def test_an_image_in_two_classes_or_two_splits_is_refused(tmp_path):
    two_classes(tmp_path)
    picture(3).save(tmp_path / "dog" / "cat.bmp")
    with pytest.raises(ValueError, match=r"cat/003.png = dog/cat.bmp.*Remove one"):
        load(tmp_path)
    (tmp_path / "dog" / "cat.bmp").unlink()
    for i in range(12):
        picture(i).save(tmp_path / "cat" / f"again{i}.png")
    with pytest.raises(ValueError, match="in two splits or two classes"):
        load(tmp_path)


# contexts


def test_contexts_with_a_mapping_and_named_as_the_classes(tmp_path):
    folder = two_classes(tmp_path / "photos", 6)
    fill(folder / "contexts" / "garden", 5, 5000)
    fill(folder / "contexts" / "indoors", 5, 5100)
    found = load(folder, context_of={"cat": "indoors", "dog": "garden"})
    assert found.classes == ("cat", "dog")
    assert found.context_of == {"cat": "indoors", "dog": "garden"}
    expected = np.stack([np.asarray(picture(5100 + i)) for i in range(5)])
    assert np.array_equal(found.contexts["cat"].permute(0, 2, 3, 1), expected)
    fill(tmp_path / "named" / "cat", 5, 5200)
    found = load(folder, contexts=str(tmp_path / "named"))
    assert found.context_of == {"cat": "cat"}
    assert any("no context of dog" in remark for remark in found.report)
    assert load(folder, with_contexts=False).contexts == {}


@pytest.mark.parametrize(
    ("context_of", "message"),
    [
        (None, r"`context_of` must say .* context folders are garden, indoors"),
        ({"cat": "indoors", "cow": "garden"}, r"unknown name\(s\) cow"),
        ({"cat": "indoors", "dog": "sea"}, r"unknown name\(s\) sea. The classes are"),
        ({"cat": "indoors", "dog": "indoors"}, "two classes share a context"),
    ],
)
def test_mappings_that_do_not_fit_are_refused(tmp_path, context_of, message):
    folder = two_classes(tmp_path, 6)
    fill(folder / "contexts" / "garden", 5, 5000)
    fill(folder / "contexts" / "indoors", 5, 5100)
    with pytest.raises(ValueError, match=message):
        load(folder, context_of=context_of)


def test_a_background_image_that_is_an_image_of_a_class_is_refused(tmp_path):
    folder = two_classes(tmp_path, 6)
    fill(folder / "contexts" / "cat", 5, 5000)
    picture(1003).save(folder / "contexts" / "cat" / "dog.png")
    with pytest.raises(
        ValueError, match=r"also images of a class: cat/dog.png. Remove"
    ):
        load(folder)


def test_a_training_set_of_one_background_is_named(tmp_path):
    for k, label in enumerate(("cat", "dog")):
        (tmp_path / label).mkdir()
        for i in range(12):
            scene = Image.new("RGB", (48, 48), (120, 90, 60))
            scene.paste(picture(100 * k + i, 20), (10 + i % 5, 12))
            scene.save(tmp_path / label / f"{i}.jpg", quality=75)
    assert "All images of C show the same background" in load(tmp_path).report[-1]


# the synthetic dataset and the data classes


@pytest.fixture(scope="module")
def embedded():
    return data.load(Images(size=32, per_class=12), 5)


def test_the_synthetic_dataset_is_handed_over_as_it_is(embedded):
    assert embedded.classes == pictures.CLASSES
    assert embedded.context_of == pictures.CONTEXT_OF
    for name, images in embedded.sets.items():
        made = pictures.make(name, per_class=12, size=32, seed=5)
        assert np.array_equal(images.images.permute(0, 2, 3, 1), made.images)
        assert np.array_equal(images.masks, made.masks)
        assert [images.classes[i] for i in images.labels] == list(made.table["object"])
        assert counts(embedded, name) == [[8, 2, 2]] * 4
    scenes = pictures.contexts(per_context=125, size=32, seed=5)
    for label, images in embedded.contexts.items():
        chosen = scenes.images[scenes.table["context"] == pictures.CONTEXT_OF[label]]
        assert np.array_equal(images.permute(0, 2, 3, 1), chosen)


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
    photos = real / "photos4"
    more = {"contexts": str(photos / "contexts"), "context_of": PHOTO_CONTEXTS}
    found = load(photos / "objects", size=64, **more)
    assert found.classes == tuple(sorted(PHOTO_CONTEXTS))
    assert counts(found) == [[37, 10, 10]] * 4
    assert [len(found.contexts[label]) for label in found.classes] == [25] * 4
    sky = found.contexts["airplane"].float().mean((0, 2, 3))
    assert sky[2] > sky[0]
