"""Walks with folders of photographs as people have them (A4, and the photographs of A12)."""

import shutil

import numpy as np
import pytest
from PIL import Image, ImageOps

from helpers import data
from helpers.data.images import Images


def photograph(seed, size=240):
    """A picture like no other, with structure of every size, as photographs have."""
    rng, seen = np.random.default_rng(seed), 0
    for cells, share in ((4, 0.6), (12, 0.25), (40, 0.15)):
        noise = Image.fromarray(rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
        seen = seen + share * np.asarray(
            noise.resize((size, size), Image.Resampling.BICUBIC), float
        )
    return Image.fromarray(seen.astype(np.uint8))


def write(folder, *names, n=8):
    """Class folders of `n` photographs each, no two of them the same."""
    for k, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        for i in range(n):
            photograph(100 * k + i).save(folder / name / f"{i}.jpg", quality=90)
    return folder


def load(folder, **more):
    return data.load(Images("folder", folder=str(folder), size=64, **more))


# A4: class folders whose names differ in little


@pytest.mark.parametrize(
    ("names", "both"),
    [
        (("A", "a", "B", "b"), "'A' and 'a'"),
        (("-1", "0", "1"), "'-1' and '1'"),
        (("hot_dog", "hot dog", "cat"), "'hot dog' and 'hot_dog'"),
        (("hot-dog", "HotDog", "Hot Dog"), "'Hot Dog' and 'hot-dog'"),
        (
            ("caf\u00e9", "cafe\u0301", "bar"),
            "differ only in",
        ),  # as Linux and as macOS store it
        (("C/a", "C/b", "NC/a", "NC/A", "NC/b"), "NC: the folders 'A' and 'a'"),
        (("train/a", "train/b", "test/A", "test/b"), "'A' and 'a'"),
    ],
)
def test_class_folders_that_differ_in_case_blanks_or_dashes_are_refused(
    tmp_path, names, both
):
    write(tmp_path, *names, n=3)
    with pytest.raises(ValueError, match=f"{both}.*rename one"):
        load(tmp_path)


def test_across_sets_they_are_still_one_class(tmp_path):
    write(tmp_path, "C/hot_dog", "C/cat", "NC/Hot Dog", "NC/CAT", n=6)
    assert load(tmp_path).sets["NC"].classes == ("cat", "hot_dog")


# A12: links, copies and folders that are the same


def test_links_that_lead_nowhere_are_named(tmp_path, capsys):
    write(tmp_path, "cat", "dog")
    (tmp_path / "cat" / "self.jpg").symlink_to("self.jpg")
    (tmp_path / "horse").symlink_to("/nowhere/horse")  # a drive that is not there
    load(tmp_path)
    told = "2 link(s) lead to no file or folder and are left out: cat/self.jpg, horse."
    assert told in capsys.readouterr().out
    shutil.rmtree(tmp_path / "dog")
    with pytest.raises(ValueError, match=r"found cat. 2 link.*horse"):
        load(tmp_path)


def cropped(image):
    return image.crop((3, 3, image.width - 3, image.height - 3))


@pytest.mark.parametrize("label", ["cat", "dog"])
@pytest.mark.parametrize(
    "change",
    [lambda i: i, cropped, ImageOps.mirror, lambda i: ImageOps.mirror(cropped(i))],
)
def test_copies_cropped_or_mirrored_are_named_and_kept_in_one_split(
    tmp_path, change, label
):
    write(tmp_path, "cat", "dog")
    for i in range(3):
        change(photograph(i)).save(tmp_path / label / f"copy{i}.jpg", quality=75)
    read = load(tmp_path)
    where = read.sets["C"].table.set_index("path")["split"]
    kind = {"cat": "there twice", "dog": "in two classes"}[label]
    named = f"The same image is {kind} (kept in one split), 3: cat/0.jpg = {label}/copy0.jpg"
    assert any(sentence.startswith(named) for sentence in read.report)
    assert all(where[f"cat/{i}.jpg"] == where[f"{label}/copy{i}.jpg"] for i in range(3))


@pytest.mark.parametrize("how", ["copied", "a link", "within a larger one"])
def test_a_class_folder_that_is_a_copy_of_another_is_refused(tmp_path, how):
    write(tmp_path, "cat", "dog")
    if how == "a link":
        (tmp_path / "horse").symlink_to(tmp_path / "cat")
    else:
        shutil.copytree(tmp_path / "cat", tmp_path / "horse")
    if how == "within a larger one":
        for i in range(20):
            photograph(900 + i).save(tmp_path / "horse" / f"more{i}.jpg")
    with pytest.raises(
        ValueError, match=r"8 of the 8 images of class 'cat' are also in .*'horse'"
    ):
        load(tmp_path)


# Found beyond the review: folders that mean something else than they seem


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ("train/a", "train/b", "extra/a", "extra/b"),
            "Are extra, train sets or splits",
        ),
        (
            ("C/a", "C/b", "NC/a", "NC/b", "no context/a", "no context/b"),
            "Are C, NC, no context",
        ),
        (
            ("train/a", "Training/a", "test/a", "train/b", "Training/b", "test/b"),
            "Training, test",
        ),
        (("C", "NC"), "found none.*such as C and NC, these hold the classes"),
        (
            ("a", "b", "contexts/a", "contexts/A", "contexts/b"),
            "contexts: .* 'A' and 'a' differ",
        ),
        (("a", "b", "contexts"), "contexts holds no folder.*call it otherwise"),
        (("NC/a", "NC/b", "WB/a", "WB/b"), "NC, WB are there, but C"),
        (("context/a", "context/b", "No_Context/a", "No_Context/c"), "differ in b, c"),
        (("a",), "Two class folders or more are needed"),
    ],
)
def test_folders_that_do_not_fit_together_are_refused(tmp_path, names, told):
    write(tmp_path, *names, n=6)
    with pytest.raises(ValueError, match=told):
        load(tmp_path)


def test_contexts_in_the_folder_of_classes_are_no_class(tmp_path):
    """06 and 07 load no contexts, and took these for a class."""
    write(tmp_path, "cat", "dog", "scenes/cat", "scenes/dog", n=4)
    with pytest.raises(ValueError, match="where 'scenes' would be a class"):
        load(tmp_path, contexts=str(tmp_path / "scenes"))
    (tmp_path / "scenes").rename(tmp_path / "Contexts")
    assert load(tmp_path, contexts=str(tmp_path / "Contexts")).classes == ("cat", "dog")


def test_folders_in_class_folders_are_named(tmp_path, capsys):
    write(tmp_path, "animals/cat", "animals/dog", "cars/bmw", n=4)
    assert load(tmp_path).classes == ("animals", "cars")
    assert (
        "taken for parts of the class: animals (cat, dog), cars (bmw)"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("name", ["NC", "WB"])
def test_a_set_that_is_a_copy_of_another_is_named(tmp_path, capsys, name):
    write(tmp_path, "C/a", "C/b", n=4)
    shutil.copytree(tmp_path / "C", tmp_path / name)
    load(tmp_path)
    assert (
        f"The same image is in C and {name} (kept in one split), 8"
        in capsys.readouterr().out
    )
