"""Effects of contexts on models whose predictions are known."""

import itertools

import numpy as np
import pytest
import torch

from helpers import data
from helpers.contexts import methods, mosaics
from helpers.data.images import Images
from helpers.models.networks import Classifier
from synthetic import pictures

IMAGES = Images("world", 64, 24, context_bias=0.9)


@pytest.fixture(scope="module")
def collection():
    return data.load(IMAGES, 0)


class ByColour(torch.nn.Module):
    """Score classes by the distance of the mean colour to the class's colour."""

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
    """Return two runs of a model that uses contexts and nothing else."""
    colours = []
    for name in collection.classes:
        images = collection.contexts[name].float()
        mean_colour = images.mean((0, 2, 3)) / 255
        colours.append(mean_colour)
    network = ByColour(torch.stack(colours))
    model = Classifier(
        network,
        mean=(0, 0, 0),
        std=(1, 1, 1),
    )
    model.eval()
    return [model, model]


@pytest.fixture(scope="module")
def effects(by_colour, collection):
    """Return the effects of contexts on this model."""
    measured = methods.measured(
        by_colour,
        collection,
        seed=0,
    )
    return methods.context_effects(measured)


def test_logits_detect_a_model_that_uses_contexts(effects):
    compared = effects[effects["comparison"] == methods.OTHERS]
    # the road is as grey as a mixture of two other contexts
    compared = compared[compared["context_class"] != "fire hydrant"]
    of_logits = compared[compared["quantity"] == "logits"]
    of_logits = of_logits[of_logits["method"] != "context alone"]
    assert len(of_logits)
    assert (of_logits["direction"] == "more").all()


def test_comparisons_equal_loops_over_mosaics():
    """Four objects of two classes, each next to two images of three contexts."""
    rng = np.random.default_rng(0)
    classes = ["a", "b", "c", "d"]
    labels = torch.tensor([0, 0, 1, 1])
    contexts = dict.fromkeys(classes, range(3))
    design = mosaics.design(
        labels,
        contexts,
        classes,
        per_context=2,
        with_neutral=True,
        seed=0,
    )
    single = rng.normal(size=(2, 4, 4))
    logits = rng.normal(size=(2, len(design), 4))
    table = methods.context_effects_on_objects(single, logits, design, classes)
    keys = ["run", "context_class", "object", "quantity", "comparison"]
    ours = table.set_index(keys)["value"]
    assert len(ours) == 2 * 3 * 4 * 3 * 3
    is_neutral = design["context_class"] == mosaics.NEUTRAL
    is_context = ~is_neutral
    numbers = itertools.product(range(2), range(4), range(4))
    for run, number, k in numbers:
        o = int(labels[number])
        if k == o:
            continue
        is_object = design["object"] == number
        is_here = design["context_class"] == classes[k]
        rows = {
            "in context": is_context & is_here,
            "minus neutral baseline": is_neutral,
            "minus other contexts": is_context & ~is_here,
        }
        means = {}
        for name, is_row in rows.items():
            z = logits[run, is_row & is_object]
            margin = (z[:, k] - z[:, o]) / 2**0.5
            means[name] = {
                "decisions": np.mean(z.argmax(1) == k),
                "flips": np.mean(margin > 0),
                "logits": np.mean(margin),
            }
        in_context = means.pop("in context")
        of_single = single[run, number]
        means["raw"] = {
            "decisions": 0,
            "flips": 0,
            "logits": (of_single[k] - of_single[o]) / 2**0.5,
        }
        for comparison, baseline in means.items():
            for quantity, effect in in_context.items():
                key = (run, classes[k], number, quantity, comparison)
                expected = effect - baseline[quantity]
                assert ours[key] == pytest.approx(expected)


def test_a_context_alone_is_compared_with_the_other_contexts():
    """Two contexts of one image each, two classes: by hand."""
    alone = {
        "a": np.array([[[2.0, 0.0]]]),
        "b": np.array([[[1.0, 5.0]]]),
    }
    neutral = np.array([[[0.5, 0.0]]])
    table = methods.alone(alone, neutral, ["a", "b"])
    of_a = table[table["context_class"] == "a"]
    logits = of_a[of_a["quantity"] == "logits"]
    assert logits.set_index("comparison")["value"].to_dict() == {
        "raw": 2.0,
        "minus neutral baseline": 1.5,
        "minus other contexts": 2 - (1 - 5),
    }


def test_the_direction_of_an_effect_is_that_of_its_interval(effects):
    is_raw = effects["comparison"] == methods.RAW
    raw = effects[is_raw]
    compared = effects[~is_raw]
    is_more = compared["direction"] == "more"
    is_less = compared["direction"] == "less"
    assert (raw["direction"] == "").all()
    assert (is_more == (compared["low"] > 0)).all()
    assert (is_less == (compared["high"] < 0)).all()


@pytest.mark.parametrize("bias", [1.0, dict.fromkeys(pictures.CLASSES, 1.0)])
def test_a_weaker_bias_has_as_many_images_in_random_contexts(bias):
    images = Images("world", 64, 24, context_bias=bias)
    weaker = methods.with_weaker_bias(images, 1 / 3)
    table = data.load(weaker, 0).sets["C"].table
    own = table["class"].map(pictures.CONTEXT_OF)
    is_own = table["context"] == own
    # two thirds of the images, and a quarter of the rest
    assert is_own.groupby(table["class"]).mean().tolist() == [0.75] * 4


def test_a_weaker_bias_shows_the_same_objects():
    images = Images("world", 64, 24, context_bias=1.0)
    weaker = methods.with_weaker_bias(images, 1 / 3)
    first = data.load(images, 0).sets["C"]
    second = data.load(weaker, 0).sets["C"]
    assert torch.equal(first.masks, second.masks)
