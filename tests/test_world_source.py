"""The embedded world as a source: drawn when it is asked for, and once for all processes."""

import pandas as pd
import pytest
import torch

from helpers import store
from helpers.data import world
from helpers.worlds import pictures

GIVEN = {"size": 33, "per_class": 6, "context_bias": 0.5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    return tmp_path / "models" / "images"


@pytest.mark.parametrize("eyespot", [None, 0.5])
def test_a_set_is_drawn_once_and_then_read_as_it_was(folder, monkeypatch, eyespot):
    first = world.load(seed=3, eyespot=eyespot, **GIVEN)
    assert len([*folder.glob("drawn-*")]) == 1, "of contexts: sets wait until they are asked for"
    drawn = {name: first.sets[name] for name in first.sets}
    monkeypatch.setattr(pictures, "make", None)
    monkeypatch.setattr(pictures, "contexts", None)
    again = world.load(seed=3, eyespot=eyespot, **GIVEN)
    for name, one in drawn.items():
        other = again.sets[name]
        for part in ("images", "labels", "masks", "patches"):
            old, new = getattr(one, part), getattr(other, part)
            assert (old is None and new is None) or (
                old.dtype == new.dtype and torch.equal(old, new)
            )
        pd.testing.assert_frame_equal(one.table, other.table)
    assert all(torch.equal(first.contexts[c], again.contexts[c]) for c in pictures.CLASSES)


def test_a_split_is_drawn_alone_as_it_is_in_its_set(folder):
    whole = world.load(seed=3, **GIVEN).sets["C"].split("test")
    alone = world.image_set("C", 33, 3, 6, ("test",), context_bias=0.5)
    assert torch.equal(alone.images, whole.images)
    pd.testing.assert_frame_equal(alone.table, whole.table)


def test_sets_without_contexts_and_their_trainings_are_the_same_at_every_bias(folder):
    one, other = (world.load(33, 3, 6, bias) for bias in (0.5, None))
    for name, same in (("C", False), ("NC", True), ("WB", True)):
        for number in (0, 2):
            recipes = [c.to_train(name, number).recipe for c in (one, other)]
            assert (recipes[0] == recipes[1]) is same


def test_the_first_training_sees_the_set_itself_and_others_see_other_images(folder):
    collection = world.load(seed=3, **GIVEN)
    own = collection.sets["NC"].to_train().draw()
    zero, one = (collection.to_train("NC", number) for number in (0, 1))
    assert all(torch.equal(a, b) for a, b in zip(own, zero.draw(), strict=True))
    assert not torch.equal(own[0], one.draw()[0]) and torch.equal(own[1], one.draw()[1])
    assert zero.recipe != one.recipe


def test_so_many_sets_stay_on_disk_and_a_damaged_one_is_named(folder, monkeypatch):
    monkeypatch.setattr(world, "KEPT", 3)
    for seed in range(5):
        world.load(seed=seed, **GIVEN).sets["C"]
    kept = sorted(folder.glob("*.safetensors"), key=lambda path: path.stat().st_mtime)
    assert len(kept) == 3
    kept[-1].write_bytes(kept[-1].read_bytes()[:100])
    with pytest.raises(store.UnreadableArtifact, match="Delete that file"):
        world.load(seed=4, **GIVEN).sets["C"]


def test_an_object_behind_which_the_context_changes_is_the_same_object():
    """Drawn once and kept, and never changed by a mark that is painted on one of its images."""
    plain = pictures.make("C", per_class=4, size=33, seed=9, context_bias=1.0)
    pictures.make("C", per_class=4, size=33, seed=9, marked=dict.fromkeys(pictures.CLASSES, 1.0))
    again = pictures.make("C", per_class=4, size=33, seed=9, context_bias=1.0)
    assert (plain.images == again.images).all() and (plain.masks == again.masks).all()


def test_every_sixth_of_a_kind_is_held_out_of_pretraining(monkeypatch):
    small = pictures.wider(per_kind=12, size=33, seed=0)
    monkeypatch.setattr(pictures, "wider", lambda **_: small)
    images, labels, held_out, held_labels = world.wider(33, 0).draw()
    assert len(images) == 5 * len(held_out) == 10 * len(pictures.WIDER_KINDS)
    assert labels.bincount().tolist() == [10] * len(pictures.WIDER_KINDS)
    assert held_labels.bincount().tolist() == [2] * len(pictures.WIDER_KINDS)
    first = torch.from_numpy(small.images[5]).permute(2, 0, 1)
    assert torch.equal(held_out[0], first)
