"""Effects of contexts on models whose predictions are known."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
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
    both = measured(by_colour, collection)
    table = methods.context_effects(both)
    assert table.groupby(methods.MEASURE, sort=False).size().eq(4).all()
    assert list(dict.fromkeys(table["method"])) == [
        "mosaics", "pasting", "context alone", "GradCAM",
    ]  # fmt: skip
    raw, control = (
        table[table["comparison"] == methods.COMPARISONS[n]] for n in (0, 2)
    )
    assert (raw["direction"] == "").all() and len(raw) == len(table) / 3
    # the road is as grey as a mixture of two other contexts
    clear = control["context_class"] != "fire hydrant"
    of_logits = control[clear & (control["quantity"] == "logits")]
    of_logits = of_logits[of_logits["method"] != "context alone"]
    assert (of_logits["direction"] == "more").all()
    rest = table[table["comparison"] != methods.RAW]
    assert ((rest["low"] > 0) == (rest["direction"] == "more")).all()
    assert ((rest["high"] < 0) == (rest["direction"] == "less")).all()
    for measure, mean in methods.overall(both).items():
        mine = table[methods.MEASURE].agg(tuple, axis=1) == measure
        by_hand = table.loc[mine, "effect"].mean()  # every context has as many classes
        assert mean.estimate == pytest.approx(by_hand)


def test_comparisons_equal_loops_over_mosaics():
    """Four objects of two classes, each next to two images of each of three contexts."""
    rng, classes = np.random.default_rng(0), ["a", "b", "c", "d"]
    labels, contexts = torch.tensor([0, 0, 1, 1]), dict.fromkeys(classes, range(3))
    how = {"per_context": 2, "with_neutral": True, "seed": 0}
    design = mosaics.design(labels, contexts, classes, **how)
    single, made = rng.normal(size=(2, 4, 4)), rng.normal(size=(2, len(design), 4))
    table = methods.pulls(single, made, design, classes)
    keys = ["run", "context_class", "object", "quantity", "comparison"]
    ours = table.set_index(keys)["value"]
    assert ours.index.is_unique and len(ours) == 2 * 3 * 4 * 3 * 3
    for run, number in itertools.product(range(2), range(4)):
        own = classes[labels[number]]
        rows = design[design["object"] == number]
        for context in set(classes) - {own}:
            k, o = classes.index(context), classes.index(own)

            def mean(which, t=run, k=k, o=o):
                z = made[t, which.index]
                return [(z.argmax(1) == k).mean(), (z[:, k] > z[:, o]).mean(),
                        (z[:, k] - z[:, o]).mean() / 2**0.5]  # fmt: skip

            kind = rows["kind"]
            in_context = mean(
                rows[(kind == "context") & (rows["context_class"] == context)]
            )
            other = mean(rows[(kind == "context") & (rows["context_class"] != context)])
            neutral = mean(rows[kind == "neutral"])
            alone = (single[run, number, k] - single[run, number, o]) / 2**0.5
            less = {
                "raw": [0, 0, alone],
                "minus neutral baseline": neutral,
                "minus other contexts": other,
            }
            for comparison, control in less.items():
                for name, value, minus in zip(
                    ("decisions", "flips", "logits"), in_context, control, strict=True
                ):
                    key = (run, context, number, name, comparison)
                    assert ours[key] == pytest.approx(value - minus)


def test_a_context_alone_is_compared_with_the_other_contexts():
    """Two contexts of one image each, two classes: by hand."""
    alone = {"a": np.array([[[2.0, 0.0]]]), "b": np.array([[[1.0, 5.0]]])}
    table = methods.alone(alone, np.array([[[0.5, 0.0]]]), ["a", "b"])
    value = table.set_index(["context_class", "quantity", "comparison"])["value"]
    assert value["a", "logits"].to_dict() == {
        "raw": 2.0, "minus neutral baseline": 1.5, "minus other contexts": 2 - (1 - 5)
    }  # fmt: skip
    assert value["b", "decisions"].to_dict() == {
        "raw": 1.0, "minus neutral baseline": 1.0, "minus other contexts": 1.0
    }  # fmt: skip


@pytest.fixture(scope="module")
def both():
    biased = Images("world", 64, 18, context_bias=1.0)
    return data.load(biased, 0), data.load(replace(biased, context_bias=0.25), 0)


def test_exchanged_sets_are_between_the_two_in_every_run(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    none = methods.exchanged(biased, unbiased, 0.0)
    every = methods.exchanged(biased, unbiased, 1.0)
    assert torch.equal(none.images, biased.images) and torch.equal(
        every.images, unbiased.images
    )
    pd.testing.assert_series_equal(every.table["context"], unbiased.table["context"])
    changed = methods.changed(*both, 1.0)
    for number in (1, 2):
        new = changed.redraw("C", number).draw()
        there = both[1].redraw("C", number).draw()
        assert all(torch.equal(a, b) for a, b in zip(new, there, strict=True))
    recipes = [
        methods.changed(*both, share).redraw("C", 1).recipe for share in (0.3, 0.5)
    ]
    assert recipes[0] != recipes[1]  # the store keeps them apart
