"""Effects of contexts on models whose predictions are known."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers import data
from helpers.contexts import methods, mosaics
from helpers.data.images import Images
from helpers.models.networks import Classifier

IMAGES = Images("world", 64, 24, context_bias=0.9)


@pytest.fixture(scope="module")
def collection():
    return data.load(IMAGES, 0)


class ByColour(torch.nn.Module):
    """Score each class by the distance of the image's mean colour to the class's colour."""

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
    """Return a model that uses contexts and nothing else."""
    colours = [
        collection.contexts[name].float().mean((0, 2, 3)) / 255
        for name in collection.classes
    ]
    model = Classifier(
        ByColour(torch.stack(colours)), mean=(0, 0, 0), std=(1, 1, 1)
    ).eval()
    return [model, model]  # two runs


def measured(model, collection):
    return methods.measured(model, collection, seed=0)


def test_logits_detect_a_model_that_uses_contexts(collection, by_colour):
    table = methods.context_effects(measured(by_colour, collection))
    control = table[table["comparison"] == methods.COMPARISONS[2]]
    # the road is as grey as a mixture of two other contexts
    control = control[control["context_class"] != "fire hydrant"]
    of_logits = control[control["quantity"] == "logits"]
    of_logits = of_logits[of_logits["method"] != "context alone"]
    assert len(of_logits)
    assert (of_logits["direction"] == "more").all()


def test_comparisons_equal_loops_over_mosaics():
    """Four objects of two classes, each next to two images of each of three contexts."""
    rng = np.random.default_rng(0)
    classes = ["a", "b", "c", "d"]
    labels = torch.tensor([0, 0, 1, 1])
    contexts = dict.fromkeys(classes, range(3))
    design = mosaics.design(
        labels, contexts, classes, per_context=2, with_neutral=True, seed=0
    )
    single = rng.normal(size=(2, 4, 4))
    logits = rng.normal(size=(2, len(design), 4))
    table = methods.context_effects_on_objects(single, logits, design, classes)
    keys = ["run", "context_class", "object", "quantity", "comparison"]
    ours = table.set_index(keys)["value"]
    assert len(ours) == 2 * 3 * 4 * 3 * 3
    is_context = design["kind"] == "context"
    for run, number, k in itertools.product(range(2), range(4), range(4)):
        o = int(labels[number])
        if k == o:
            continue

        def means(rows, run=run, number=number, k=k, o=o):
            z = logits[run, rows & (design["object"] == number)]
            margin = z[:, k] - z[:, o]
            decided = z.argmax(1) == k
            return decided.mean(), (margin > 0).mean(), margin.mean() / 2**0.5

        here = design["context_class"] == classes[k]
        in_context = means(is_context & here)
        alone = (single[run, number, k] - single[run, number, o]) / 2**0.5
        controls = {
            "raw": (0, 0, alone),
            "minus neutral baseline": means(design["kind"] == "neutral"),
            "minus other contexts": means(is_context & ~here),
        }
        for comparison, control in controls.items():
            for place, quantity in enumerate(("decisions", "flips", "logits")):
                key = (run, classes[k], number, quantity, comparison)
                assert ours[key] == pytest.approx(in_context[place] - control[place])


def test_a_context_alone_is_compared_with_the_other_contexts():
    """Two contexts of one image each, two classes: by hand."""
    alone = {"a": np.array([[[2.0, 0.0]]]), "b": np.array([[[1.0, 5.0]]])}
    table = methods.alone(alone, np.array([[[0.5, 0.0]]]), ["a", "b"])
    logits = table[(table["context_class"] == "a") & (table["quantity"] == "logits")]
    assert logits.set_index("comparison")["value"].to_dict() == {
        "raw": 2.0,
        "minus neutral baseline": 1.5,
        "minus other contexts": 2 - (1 - 5),
    }


@pytest.fixture(scope="module")
def both():
    biased = Images("world", 64, 18, context_bias=1.0)
    return data.load(biased, 0), data.load(replace(biased, context_bias=0.25), 0)


def test_the_direction_of_an_effect_is_that_of_its_interval(collection, by_colour):
    table = methods.context_effects(measured(by_colour, collection))
    raw = table["comparison"] == methods.RAW
    assert (table.loc[raw, "direction"] == "").all()
    compared = table[~raw]
    assert ((compared["low"] > 0) == (compared["direction"] == "more")).all()
    assert ((compared["high"] < 0) == (compared["direction"] == "less")).all()


def test_exchanged_sets_are_between_the_two(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    none = methods.exchanged(biased, unbiased, 0.0)
    every = methods.exchanged(biased, unbiased, 1.0)
    assert torch.equal(none.images, biased.images)
    assert torch.equal(every.images, unbiased.images)


def test_a_later_run_exchanges_its_own_images(both):
    changed = methods.changed(*both, 1.0).redraw("C", 1).draw()
    unbiased = both[1].redraw("C", 1).draw()
    assert all(torch.equal(a, b) for a, b in zip(changed, unbiased, strict=True))
