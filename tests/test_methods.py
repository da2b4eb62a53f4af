"""Three methods asked of models whose answer is known, on images whose bias is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import data
from helpers.contexts import effects, methods, pasting
from helpers.data.images import Images
from helpers.models.networks import Classifier

IMAGES = Images("world", 64, 24, context_bias=0.9)


@pytest.fixture(scope="module")
def collection():
    return data.load(IMAGES, 0)


class ByColour(torch.nn.Module):
    """Gives each class the closeness of the image's mean colour to the class's: no object seen."""

    def __init__(self, colours):
        super().__init__()
        self.features = torch.nn.Conv2d(3, 3, 1, bias=False)
        self.features.weight.data = torch.eye(3)[..., None, None]
        self.classifier = torch.nn.Linear(3, len(colours))
        self.classifier.weight.data = 2 * colours
        self.classifier.bias.data = -(colours**2).sum(1)

    def forward(self, images):
        return 40 * self.classifier(self.features(images).mean((2, 3)))


@pytest.fixture(scope="module")
def by_colour(collection):
    """A model told by contexts and nothing else."""
    colours = [
        collection.contexts[name].float().mean((0, 2, 3)) / 255 for name in collection.classes
    ]
    model = Classifier(ByColour(torch.stack(colours)), mean=(0, 0, 0), std=(1, 1, 1)).eval()
    return [model, model]  # two trainings


def measured(model, collection, reference=None):
    return methods.measured(model, collection, IMAGES, 0, per_context=2, reference=reference)


def test_a_model_told_by_contexts_is_found_by_mosaics_and_pasting(collection, by_colour):
    found = measured(by_colour, collection)
    table = methods.answers(found)
    assert table.groupby(methods.MEASURE, sort=False).size().eq(4).all()
    assert list(dict.fromkeys(table["method"])) == ["mosaics", "pasting", "GradCAM"]
    raw, beside = (table[table["reading"] == name] for name in methods.READINGS[:2])
    assert (raw["answer"] == "").all() and len(raw) == len(beside) == len(table) / 2
    told = beside[(beside["quantity"] == "logits") & (beside["context_class"] != "fire hydrant")]
    assert (told["answer"] == "yes").all()  # the road is as grey as the neutral ground
    assert np.allclose(table["planted"], 0.9, atol=0.1) and (table["dose"] == 0.9).all()
    assert ((beside["low"] > 0) == (beside["answer"] == "yes")).all()
    for measure, mean in methods.overall(found).items():
        mine = table[methods.MEASURE].agg(tuple, axis=1) == measure
        by_hand = table.loc[mine, "effect"].mean()  # every context met as many classes
        assert mean.estimate == pytest.approx(by_hand)


def test_a_model_that_answers_always_the_same_is_never_accused(collection):
    same = [Classifier(ByColour(torch.zeros(4, 3))).eval()] * 2
    assert "yes" not in set(methods.answers(measured(same, collection))["answer"])


def test_beyond_the_reference_is_the_difference_of_two_measurements(collection, by_colour):
    """Scored in one pass or each by itself: the same, and nothing beyond oneself."""
    other = [Classifier(ByColour(torch.eye(4)[:, :3]), mean=(0, 0, 0), std=(1, 1, 1)).eval()] * 2
    both = measured(by_colour, collection, other)
    keys = [*methods.MEASURE[:2], *effects.IMAGE]
    alone = [
        table[table["reading"] == "beside neutral"].set_index(keys)["value"]
        for table in (measured(by_colour, collection), measured(other, collection))
    ]
    beyond = both[both["reading"] == "beyond reference"].set_index(keys)["value"]
    pd.testing.assert_series_equal(beyond, alone[0] - alone[1], check_like=True)
    itself = measured(by_colour, collection, by_colour)
    assert (itself.loc[itself["reading"] == "beyond reference", "value"] == 0).all()


def test_pasting_scores_what_composites_show(collection, by_colour):
    design, scored = pasting.design(collection, 0), pasting.ask(by_colour, collection, seed=0)
    images = torch.cat(list(pasting.composites(design, collection, seed=0)))
    with torch.no_grad():
        logits = by_colour[0](images).numpy()
    number = {name: i for i, name in enumerate(collection.classes)}
    apart = {}
    for row, said in zip(design.itertuples(), logits, strict=True):
        if row.kind == "context":
            gap = said[number[row.object_class]] - said[number[row.context_class]]
            apart[row.object, row.context_class] = gap / 2**0.5
    found = scored[scored["training"] == 0].set_index(["object", "context_class"])
    assert found["mosaic_distance"].to_dict() == pytest.approx(apart, abs=1e-4)
    assert len(scored) == 2 * 3 * len(collection.sets["WB"].split("test"))


def test_without_masks_pasting_and_relevance_are_left_out(collection, by_colour):
    bare = replace(collection, sets={"C": replace(collection.sets["C"], masks=None)})
    assert set(measured(by_colour, bare)["method"]) == {"mosaics"}


@pytest.fixture(scope="module")
def both():
    biased = Images("world", 64, 18, context_bias=1.0)
    return data.load(biased, 0), data.load(replace(biased, context_bias=0.25), 0)


def test_none_or_all_exchanged_are_the_two_sets(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    none = methods.exchanged(biased, unbiased, "other contexts", 0.0)
    every = methods.exchanged(biased, unbiased, "other contexts", 1.0)
    assert torch.equal(none.images, biased.images) and torch.equal(every.images, unbiased.images)
    pd.testing.assert_series_equal(every.table["context"], unbiased.table["context"])


def test_a_mask_keeps_the_objects_and_as_many_images_of_each_class_and_split(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    masked = methods.exchanged(biased, unbiased, "masked", 1 / 3)
    differs = (masked.images != biased.images).any(1)
    assert not differs[biased.masks].any()
    counts = biased.table.assign(new=differs.flatten(1).any(1)).groupby(["class", "split"])["new"]
    assert (counts.sum() == counts.size() / 3).all()
    ground = masked.images[-1].movedim(0, -1)[~masked.masks[-1]].double()
    assert ground.std(0).min() > 20  # every pixel from anywhere: no context is left
    assert set(masked.table["context"]) == {*biased.table["context"], ""}


def test_every_training_sees_its_own_images_changed(both):
    changed = methods.changed(*both, "other contexts", 1.0)
    for number in (1, 2):
        new = changed.redraw("C", number).draw()
        there = both[1].redraw("C", number).draw()
        assert all(torch.equal(a, b) for a, b in zip(new, there, strict=True))
    recipes = [methods.changed(*both, way, 0.5).redraw("C", 1).recipe for way in methods.EXCHANGES]
    assert recipes[0] != recipes[1]  # so that the store does not take one for the other
