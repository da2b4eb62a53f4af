"""Three methods asked of models whose answer is known, on images whose bias is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from helpers import data
from helpers.contexts import browser, methods
from helpers.models.networks import Classifier
from helpers.run.parameters import Images

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


def measured(model, collection):
    return methods.measured(model, collection, IMAGES, 0, per_context=2)


def test_a_model_told_by_contexts_is_found_by_mosaics_and_pasting(collection, by_colour):
    found = measured(by_colour, collection)
    table = methods.answers(found)
    assert table.groupby(methods.MEASURE, sort=False).size().eq(4).all()
    assert list(dict.fromkeys(table["method"])) == ["mosaics", "pasting", "GradCAM"]
    told = table[(table["quantity"] == "logits") & (table["context_class"] != "fire hydrant")]
    assert (told["answer"] == "yes").all()  # the road is as grey as the neutral ground
    assert np.allclose(table["planted"], 0.9, atol=0.1) and (table["dose"] == 0.9).all()
    assert ((table["low"] > 0) == (table["answer"] == "yes")).all()
    for measure, mean in methods.overall(found).items():
        mine = table[methods.MEASURE].agg(tuple, axis=1) == measure
        by_hand = table.loc[mine, "effect"].mean()  # every context met as many classes
        assert mean.estimate == pytest.approx(by_hand)


def test_the_first_training_alone_is_what_one_training_measures(collection, by_colour):
    other = Classifier(ByColour(torch.eye(4)[:, :3]), mean=(0, 0, 0), std=(1, 1, 1)).eval()
    both = measured([by_colour[0], other], collection)
    first = methods.answers(both[both["training"] == 0])
    pd.testing.assert_frame_equal(first, methods.answers(measured(by_colour[:1], collection)))


def test_a_model_that_answers_always_the_same_is_never_accused(collection):
    same = [Classifier(ByColour(torch.zeros(4, 3))).eval()] * 2
    assert (methods.answers(measured(same, collection))["answer"] == "no").all()


def test_by_pasting_scores_what_composites_show(collection, by_colour):
    scored = methods.by_pasting(by_colour, collection, seed=0)
    images = torch.cat(list(methods.composites(scored.design, collection, seed=0)))
    with torch.no_grad():
        logits = by_colour[0](images).numpy()
    number = {name: i for i, name in enumerate(collection.classes)}
    apart = {}
    for row, said in zip(scored.design.itertuples(), logits, strict=True):
        if row.kind == "context":
            gap = said[number[row.object_class]] - said[number[row.context_class]]
            apart[row.object, row.context_class] = gap / 2**0.5
    found = scored.images[scored.images["training"] == 0].set_index(["object", "context_class"])
    assert found["mosaic_distance"].to_dict() == pytest.approx(apart, abs=1e-4)
    assert len(scored.images) == 2 * 3 * len(collection.sets["WB"].split("test"))
    assert len(scored.first_rows()) == 12


def test_without_masks_pasting_and_relevance_are_left_out(collection, by_colour):
    bare = replace(collection, sets={"C": replace(collection.sets["C"], masks=None)})
    assert set(measured(by_colour, bare)["method"]) == {"mosaics"}


def test_planted_is_the_share_in_the_own_context(collection, by_colour):
    table = collection.sets["C"].table
    found = methods.answers(measured(by_colour, collection))
    for name, share in zip(found["context_class"], found["planted"], strict=True):
        rows = [r for r in table.to_dict("records") if r["class"] == name]
        own = [r for r in rows if r["context"] == collection.context_of[name]]
        assert share == pytest.approx(len(own) / len(rows))


def test_the_browser_draws_one_choice_and_says_what_is_not_there(collection, by_colour):
    images = collection.sets["C"].split("test")
    settings = {"method": "input-x-gradient"}
    assert isinstance(browser.look(by_colour[0], images, "mug", number=30, **settings), Figure)
    with pytest.raises(ValueError, match="no image of 'mug' in context 'the moon'"):
        browser.look(by_colour[0], images, "mug", "the moon", **settings)
    widget = browser.controls(by_colour[0], images)
    assert [child.description for child in widget.children[:4]] == [
        "label",
        "context",
        "number",
        "method",
    ]
