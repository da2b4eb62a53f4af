"""Image sources: folders, splits, copies, contexts, the world; each against what was put there."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from helpers import data, store
from helpers.data import contexts, duplicates, splits
from helpers.data.collection import sizes
from helpers.data.images import Images
from synthetic import pictures

PHOTOS = store.root().parent / "shared" / "real" / "photos4"
PHOTO_CONTEXTS = {
    "airplane": "sky",
    "cup": "wood",
    "fire hydrant": "road",
    "kangaroo": "park",
}


def picture(seed, size=48):
    """A picture like no other: smooth colours, so that JPEG keeps it."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    return small.resize((size, size), Image.Resampling.BICUBIC)


def fill(folder, n, start=0, ending=".png"):
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        picture(start + i).save(folder / f"{i:03d}{ending}")
    return folder


def two_classes(folder, n=12):
    fill(folder / "cat", n, 0)
    fill(folder / "dog", n, 1000)
    return folder


def load(folder, seed=0, with_contexts=True, **more):
    more = {name: str(v) if name == "contexts" else v for name, v in more.items()}
    images = Images("folder", folder=str(folder), **{"size": 48, **more})
    return data.load(images, seed, with_contexts=with_contexts)


def counts(collection, name="C"):
    return collection.summary().loc[name, ["train", "val", "test"]].to_numpy().tolist()


def where(collection, name="C"):
    table = collection.sets[name].table
    return dict(zip(table["path"], table["split"], strict=True))


def write_world(
    folder, per_class=10, size=64, moved=(), sets=("C", "NC", "WB"), ending=".png"
):
    """The embedded world as image files, set by set and class by class."""
    for name in sets:
        made = pictures.make(name, per_class=per_class, size=size, seed=3)
        for image, row in zip(made.images, made.table.itertuples(), strict=True):
            stem = (row.index + dict(moved).get(name, 0)) % per_class
            path = folder / name / row.object / f"{stem:03d}{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path, quality=92)
    return folder


# --- splits -------------------------------------------------------------------------------------


def test_sizes_are_the_papers_and_in_proportion():
    assert sizes(150) == (100, 25, 25)
    assert sizes(57) == (37, 10, 10)
    assert sizes(6) == (4, 1, 1)
    assert sizes(3) == (1, 1, 1)


def by_name(table):
    return (table["class"] + table["name"]).factorize()[0]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(8, 30), min_size=2, max_size=3),
    st.sampled_from([["C"], ["C", "WB"], ["C", "NC", "WB"]]),
    st.integers(0, 2**31),
)
def test_splits_are_exact_tied_and_independent_of_order(per_class, names, seed):
    """Of several sets and classes, whose images of one name are tied."""
    labels = [f"k{k}" for k, n in enumerate(per_class) for _ in range(n)]
    numbers = [f"{i:03d}" for n in per_class for i in range(n)]
    one = pd.DataFrame({"class": labels, "name": numbers, "own": ""})
    sorted_table = pd.concat([one.assign(set=s) for s in names], ignore_index=True)
    shuffled = sorted_table.sample(frac=1, random_state=seed, ignore_index=True)
    key = ["set", "class", "name"]
    a = sorted_table.assign(
        split=splits.assign(sorted_table, by_name(sorted_table), seed)
    )
    b = shuffled.assign(split=splits.assign(shuffled, by_name(shuffled), seed))
    assert a.groupby(["class", "name"])["split"].nunique().eq(1).all()
    for _, part in a.groupby(["set", "class"]):
        found = part["split"].value_counts()
        assert tuple(found[["train", "val", "test"]]) == sizes(len(part))
    merged = a.merge(b, on=key)
    assert (merged["split_x"] == merged["split_y"]).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=8, max_size=40), st.integers(0, 100))
def test_groups_of_any_size_stay_whole_and_fill_every_split(groups, seed):
    groups = np.array(groups)
    table = pd.DataFrame(
        {"set": "C", "class": "a", "own": ""}, index=range(len(groups))
    )
    table["name"] = [f"{i}" for i in range(len(groups))]
    split = splits.assign(table, groups, seed)
    assert pd.Series(split).groupby(groups).nunique().eq(1).all()
    if len(set(groups)) >= 3:
        assert set(split) == {"train", "val", "test"}


# --- folders ------------------------------------------------------------------------------------


def test_folder_of_class_folders(tmp_path):
    found = load(two_classes(tmp_path))
    assert found.classes == ("cat", "dog") and found.source == "folder"
    assert found.contexts == {} and found.context_of == {}
    assert "01 and 02 run; 03 needs contexts" in found.report[-1]
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    images = found.sets["C"]
    assert images.images.shape == (24, 3, 48, 48) and images.images.dtype == torch.uint8
    for image, label, path in zip(
        images.images, images.labels, images.table["path"], strict=True
    ):
        seed = int(path[-7:-4]) + 1000 * int(label)
        assert np.array_equal(image.permute(1, 2, 0), np.asarray(picture(seed)))
        assert path.startswith(images.classes[label])
    assert where(found) != where(load(tmp_path, seed=1))


def test_more_files_than_wanted_are_chosen_by_the_seed(tmp_path):
    two_classes(tmp_path, 30)
    found = load(tmp_path, per_class=12)
    assert counts(found) == [[8, 2, 2], [8, 2, 2]]
    assert any("12 of 30" in said for said in found.report)
    assert counts(load(tmp_path, per_class=None)) == [[20, 5, 5], [20, 5, 5]]


def test_own_splits_are_kept_whole_but_for_copies_in_a_later_split(tmp_path):
    names = {"Training": "train", "valid": "val", "Test": "test"}
    for s, (split, n) in enumerate(zip(names, (9, 2, 3), strict=True)):
        for k, label in enumerate(("cat", "dog")):
            fill(tmp_path / split / label, n, 1000 * k + 100 * s)
    picture(200).save(tmp_path / "Training" / "cat" / "leak.jpg", quality=90)
    found = load(tmp_path, per_class=6)
    assert counts(found) == [[9, 2, 3], [9, 2, 3]]
    assert all(
        names[path.split("/")[0]] == split for path, split in where(found).items()
    )
    said = " ".join(found.report)
    assert "in two splits, 1: Test/cat/000.png = Training/cat/leak.jpg" in said
    assert "Left out" in said and "Training/cat/leak.jpg." in said


@pytest.mark.parametrize("other", ["test", "val"])
def test_validation_is_carved_from_train_where_two_splits_are_there(tmp_path, other):
    for s, (split, n) in enumerate((("train", 10), (other, 4))):
        for k, label in enumerate(("cat", "dog")):
            fill(tmp_path / split / label, n, 1000 * k + 100 * s)
    found = load(tmp_path)
    assert counts(found) == [[8, 2, 4], [8, 2, 4]]
    for path, split in where(found).items():
        assert (split == "test") == path.startswith(other)
    assert f"({other} is the test set, validation carved from train)" in found.report[0]


def test_classes_may_be_called_like_splits_and_sets(tmp_path):
    fill(tmp_path / "c", 6)
    fill(tmp_path / "test", 6, 100)
    fill(tmp_path / "mug", 6, 200)
    assert load(tmp_path).classes == ("c", "mug", "test")


def test_junk_hidden_files_and_wrappers(tmp_path):
    inner = two_classes(tmp_path / "download" / "photos", 6)
    (inner / ".hidden").mkdir()
    (inner / "cat" / "._000.png").write_bytes(b"junk")
    (inner / "cat" / "notes.txt").write_text("not an image")
    (inner / "__MACOSX").mkdir()
    (inner / "cat" / "deeper").mkdir()
    picture(77).save(inner / "cat" / "deeper" / "x.JPEG")
    found = load(tmp_path)
    assert found.classes == ("cat", "dog") and len(found.sets["C"].of("cat")) == 7
    picture(78).save(inner / "loose.png")
    unused = "download/photos/cat/notes.txt, download/photos/loose.png"
    assert (
        f"2 file(s) in no class folder, or no images: {unused}."
        in load(tmp_path).report
    )


def test_links_to_folders_elsewhere_are_followed_and_loops_are_refused_by_name(
    tmp_path,
):
    two_classes(tmp_path / "elsewhere")
    folder = tmp_path / "photos"
    fill(folder / "cat", 12)
    (folder / "dog").symlink_to(tmp_path / "elsewhere" / "dog")
    assert counts(load(folder)) == [[8, 2, 2], [8, 2, 2]]
    for place in (folder, folder / "cat", tmp_path / "elsewhere/dog"):
        (place / "up").symlink_to("..")
        with pytest.raises(
            ValueError, match=r"up is a link to .*, a folder that holds it.*remove"
        ):
            load(folder)
        (place / "up").unlink()
    (tmp_path / "elsewhere" / "dog" / "back").symlink_to(folder)
    with pytest.raises(
        ValueError, match=r"dog/back is a link to .*photos, a folder that holds it"
    ):
        load(folder)


def test_names_that_are_not_utf_8_are_read_and_shown_as_text(tmp_path):
    two_classes(tmp_path)
    latin = os.fsdecode(b"caf\xe9")
    (tmp_path / "cat" / "000.png").rename(tmp_path / "cat" / f"{latin}.png")
    (tmp_path / "dog").rename(tmp_path / latin)
    collection = load(tmp_path)
    assert collection.classes == (r"caf\xe9", "cat")
    assert r"cat/caf\xe9.png" in set(collection.sets["C"].table["path"])
    "".join(collection.sets["C"].table["path"]).encode()


def test_an_empty_class_and_a_small_class_stop_the_run(tmp_path):
    two_classes(tmp_path / "empty", 6)
    (tmp_path / "empty" / "bird").mkdir()
    with pytest.raises(
        ValueError, match=r"no image file in the class folder\(s\) bird"
    ):
        load(tmp_path / "empty")
    two_classes(tmp_path / "small", 6)
    fill(tmp_path / "small" / "bird", 2, 500)
    with pytest.raises(ValueError, match="class 'bird': no image for train"):
        load(tmp_path / "small")
    fill(tmp_path / "small" / "bird", 3, 500)
    assert counts(load(tmp_path / "small"))[0] == [1, 1, 1]
    for split, n in (("train", 6), ("val", 2), ("test", 0)):
        fill(tmp_path / "own" / split / "cat", max(n, 2), len(split) * 100)
        fill(tmp_path / "own" / split / "dog", n, len(split) * 1000)
    with pytest.raises(ValueError, match="class 'dog': no image for test"):
        load(tmp_path / "own")


def test_unreadable_files_are_named_and_five_percent_of_a_class_is_the_limit(tmp_path):
    two_classes(tmp_path, 20)
    (tmp_path / "cat" / "003.png").write_bytes(b"not a picture")
    found = load(tmp_path)
    assert len(found.sets["C"].of("cat")) == 19
    assert any(
        "1 of 20 files could not be read: cat/003.png" in said for said in found.report
    )
    whole = (tmp_path / "cat" / "004.png").read_bytes()
    (tmp_path / "cat" / "004.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cat/003.png .* cat/004.png .*more than 5%"):
        load(tmp_path)


# --- copies -------------------------------------------------------------------------------------


def test_duplicates_against_brute_force():
    generator = torch.Generator().manual_seed(0)
    small = torch.randint(0, 256, (60, 3, 4, 4), generator=generator).float()
    images = torch.nn.functional.interpolate(small, size=32, mode="bilinear")
    images[30:40] = images[:10] + torch.linspace(0, 8, 10)[:, None, None, None]
    images = images.clamp(0, 255).to(torch.uint8)
    blocks = images.double().reshape(60, 3, 16, 2, 16, 2).mean((3, 5))
    apart = (blocks[:, None] - blocks[None]).pow(2).mean((2, 3, 4)).sqrt()
    expected = [(i, j) for i in range(60) for j in range(i + 1, 60) if apart[i, j] <= 3]
    found = duplicates.copies(images)
    assert {*expected} <= {*found} <= {(i, i + 30) for i in range(10)} and 1 < len(
        expected
    ) < 10
    assert duplicates.copies(images[:20], images[20:]) == found
    assert duplicates.copies(images[:1]) == []


# --- three sets, masks, contexts cut from C -----------------------------------------------------


def test_wb_is_matched_to_c_by_content_when_names_mislead(tmp_path):
    moved = {"WB": 3}
    found = load(write_world(tmp_path, moved=moved, ending=".jpg"), size=64)
    c, wb = (where(found, name) for name in ("C", "WB"))
    for label in pictures.CLASSES:
        for i in range(10):
            assert (
                c[f"C/{label}/{i:03d}.jpg"] == wb[f"WB/{label}/{(i + 3) % 10:03d}.jpg"]
            )


def test_masks_come_from_white_and_agree_with_the_truth(tmp_path):
    found = load(write_world(tmp_path, size=96), size=96)
    truth = torch.from_numpy(pictures.make("WB", per_class=10, size=96, seed=3).masks)
    # files are ordered by class name, the world by its own order
    order = torch.cat(
        [torch.arange(10) + 10 * pictures.CLASSES.index(c) for c in found.classes]
    )
    for name in ("C", "WB"):
        masks = found.sets[name].masks
        assert (truth[order] & ~masks).sum() < 0.01 * truth.sum()
        assert (truth[order] & masks).sum() / (truth[order] | masks).sum() > 0.85


def test_contexts_are_cut_where_there_is_no_object(tmp_path):
    found = load(write_world(tmp_path, per_class=24), size=64)
    assert set(found.contexts) == set(found.classes)
    assert all(images.shape[1:] == (3, 64, 64) for images in found.contexts.values())
    assert any("Context images are cut from C" in said for said in found.report)
    sky = found.contexts["plane"].float().mean((0, 2, 3))
    assert sky.argmax() == 2 and sky[2] > sky[0] + 20  # blue, with no green plane in it
    assert found.context_of["plane"] == "around plane"


@settings(max_examples=60, deadline=None)
@given(st.integers(5, 20), st.integers(0, 3), st.integers(0, 10**6))
def test_window_is_the_largest_free_odd_square(size, blobs, seed):
    rng, margin = np.random.default_rng(seed), contexts.MARGIN
    mask = np.zeros((size, size), dtype=bool)
    for row, column in rng.integers(0, size, (blobs, 2)):
        mask[row : row + 3, column : column + 3] = True
    near = np.pad(mask, margin)
    near = np.array([
        [near[r : r + 2 * margin + 1, c : c + 2 * margin + 1].any() for c in range(size)]
        for r in range(size)
    ])  # fmt: skip
    largest = max(
        (side for side in range(1, size + 1, 2) for r in range(size - side + 1)
         for c in range(size - side + 1) if not near[r : r + side, c : c + side].any()),
        default=0,
    )  # fmt: skip
    top, left, side = contexts.window(mask)
    assert side == largest
    assert not near[top : top + side, left : left + side].any()
    assert min(top, left) >= 0 and max(top, left) + side <= size


# --- contexts given -----------------------------------------------------------------------------


def with_contexts(folder, names=("indoors", "garden")):
    for k, name in enumerate(names):
        fill(folder / name, 5, 5000 + 100 * k)
    return folder


@pytest.mark.parametrize("how", ["apart", "beside", "below objects"])
def test_contexts_with_a_mapping(tmp_path, how):
    inner = tmp_path / "objects" if how == "below objects" else tmp_path / "photos"
    folder = two_classes(inner, 6)
    place = {"apart": tmp_path / "scenes", "beside": inner / "contexts"}
    given_as = with_contexts(place.get(how, tmp_path / "contexts"))
    more = {"contexts": str(given_as)} if how == "apart" else {}
    folder = tmp_path if how == "below objects" else folder
    found = load(folder, context_of={"cat": "indoors", "dog": "garden"}, **more)
    assert found.classes == ("cat", "dog")
    assert found.context_of == {"cat": "indoors", "dog": "garden"}
    for k, label in enumerate(("cat", "dog")):
        expected = [np.asarray(picture(5000 + 100 * k + i)) for i in range(5)]
        assert np.array_equal(
            found.contexts[label].permute(0, 2, 3, 1), np.stack(expected)
        )


@pytest.mark.parametrize(
    ("context_of", "message"),
    [
        (
            None,
            r"a mapping .* needed. The classes are cat, dog; the context .* garden, indoors",
        ),
        ({"cat": "indoors", "cow": "garden"}, r"unknown name\(s\) cow"),
        (
            {"cat": "indoors", "dog": "sea"},
            r"unknown name\(s\) sea. The classes are cat, dog",
        ),
        (
            {"cat": "indoors", "dog": "indoors"},
            "two classes share says nothing of either",
        ),
    ],
)
def test_mappings_that_do_not_fit_are_refused(tmp_path, context_of, message):
    folder = two_classes(tmp_path / "photos", 6)
    with pytest.raises(ValueError, match=message):
        load(folder, contexts=with_contexts(tmp_path / "scenes"), context_of=context_of)


def test_contexts_named_as_the_classes_need_no_mapping_and_may_be_left_unread(tmp_path):
    folder = two_classes(tmp_path / "photos", 6)
    found = load(folder, contexts=with_contexts(tmp_path / "scenes", ("Cat", "dog")))
    assert found.context_of == {"cat": "Cat", "dog": "dog"}
    unread = load(
        folder, contexts=with_contexts(tmp_path / "others"), with_contexts=False
    )
    assert unread.contexts == {} and unread.context_of == {} and "C" in unread.sets


def test_a_context_without_a_class_and_a_class_without_a_context_are_named(tmp_path):
    folder = two_classes(tmp_path / "photos", 6)
    scenes = with_contexts(tmp_path / "scenes")
    found = load(folder, contexts=scenes, context_of={"cat": "garden"})
    assert list(found.contexts) == ["cat"] and found.context_of == {"cat": "garden"}
    assert "The context(s) indoors match no class and are not used." in found.report
    assert any(
        "no context of dog: whether a context speaks for" in s for s in found.report
    )
    three = with_contexts(tmp_path / "named", ("cat", "dog", "sea"))
    found = load(folder, contexts=three)
    assert (
        found.context_of == {"cat": "cat", "dog": "dog"}
        and "sea match" in found.report[-1]
    )
    both = with_contexts(
        tmp_path / "unclear", ("cat", "kennel")
    )  # is the kennel the dog's?
    with pytest.raises(ValueError, match="a mapping from class to context is needed"):
        load(folder, contexts=both)


def test_context_images_that_are_images_of_a_class_are_left_out(tmp_path):
    folder = two_classes(tmp_path / "photos", 6)
    scenes = with_contexts(tmp_path / "scenes", ("cat", "dog"))
    picture(1003).save(scenes / "cat" / "with a dog.jpg", quality=85)
    found = load(folder, contexts=scenes)
    assert {name: len(images) for name, images in found.contexts.items()} == {
        "cat": 5,
        "dog": 5,
    }
    assert any(
        "left out, 1: cat/with a dog.jpg = dog/003.png." in said
        for said in found.report
    )
    fill(scenes / "dog", 5)  # now the context of dogs holds cats only
    with pytest.raises(
        ValueError, match=r"folder\(s\) dog hold no image, or none that is not also"
    ):
        load(folder, contexts=scenes)
    shutil.rmtree(scenes / "cat")
    (scenes / "cat").mkdir()
    with pytest.raises(
        ValueError, match=r"contexts: the folder\(s\) cat, dog hold no image"
    ):
        load(folder, contexts=scenes)


@pytest.mark.parametrize("ground", [(255, 255, 255), (120, 90, 60)])
def test_a_training_set_of_one_background_is_named(tmp_path, ground):
    for k, label in enumerate(("cat", "dog")):
        for i in range(12):
            scene = Image.new("RGB", (48, 48), ground)
            scene.paste(picture(100 * k + i, 20), (10 + i % 5, 12))
            (tmp_path / label).mkdir(exist_ok=True)
            scene.save(tmp_path / label / f"{i}.jpg", quality=75)
    found = load(tmp_path)
    assert "All images of C show the same background" in found.report[-1]
    two_classes(tmp_path, 4)  # a third of the images have others
    assert not any("same background" in said for said in load(tmp_path).report)


# --- the world and the data classes -------------------------------------------------------------


@pytest.fixture(scope="module")
def embedded():
    return data.load(Images(size=32, per_class=12), 5)


def test_world_is_handed_over_as_it_is(embedded):
    assert (
        embedded.classes == pictures.CLASSES
        and embedded.context_of == pictures.CONTEXT_OF
    )
    for name, images in embedded.sets.items():
        made = pictures.make(name, per_class=12, size=32, seed=5)
        assert np.array_equal(images.images.permute(0, 2, 3, 1), made.images)
        assert np.array_equal(images.masks, made.masks)
        assert [images.classes[i] for i in images.labels] == list(made.table["object"])
        assert counts(embedded, name) == [[8, 2, 2]] * 4
        assert {"class", "split", "path", "context", "index"} <= set(images.table)
    splits_of = [images.table["split"].tolist() for images in embedded.sets.values()]
    assert splits_of[0] == splits_of[1] == splits_of[2]
    scenes = pictures.contexts(per_context=125, size=32, seed=5)
    for label, images in embedded.contexts.items():
        chosen = scenes.images[scenes.table["context"] == pictures.CONTEXT_OF[label]]
        assert np.array_equal(images.permute(0, 2, 3, 1), chosen) and len(images) == 125


def test_image_set_restrictions(embedded):
    images = embedded.sets["C"]
    part = images.split("test").of("mug")
    assert torch.equal(part.images, images.images[-2:])
    assert torch.equal(part.masks, images.masks[-2:])
    assert part.classes == images.classes and part.labels.tolist() == [3, 3]
    with pytest.raises(ValueError, match="split: 'dev' is none of"):
        images.split("dev")
    with pytest.raises(ValueError, match="class: 'cup' is none of"):
        images.of("cup")


# --- real photographs ---------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.skipif(
    not PHOTOS.is_dir(), reason="no shared/real/photos4 beside the checkout"
)
def test_real_photographs():
    found = load(PHOTOS, size=64, context_of=PHOTO_CONTEXTS)
    assert found.classes == tuple(sorted(PHOTO_CONTEXTS))
    assert counts(found) == [[37, 10, 10]] * 4
    assert [len(found.contexts[label]) for label in found.classes] == [25] * 4
    [same] = found.report  # the one picture twice, cut and cropped otherwise
    assert (
        "twice" in same
        and "037.jpg = objects/kangaroo/044.jpg" in same
        and ", 2: " in same
    )
    sky = found.contexts["airplane"].float().mean((0, 2, 3))
    assert sky[2] > sky[0]
