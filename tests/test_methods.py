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
    table = found.answers()
    assert table.groupby(methods.MEASURE, sort=False).size().eq(4).all()
    assert list(dict.fromkeys(table["method"])) == ["mosaics", "pasting", "GradCAM"]
    told = table[(table["quantity"] == "logits") & (table["context_class"] != "fire hydrant")]
    assert (told["answer"] == "yes").all()  # the road is as grey as the neutral ground
    assert np.allclose(table["planted"], 0.9, atol=0.1) and (table["dose"] == 0.9).all()
    assert ((table["low"] > 0) == (table["answer"] == "yes")).all()
    for measure, mean in found.overall().items():
        mine = table[methods.MEASURE].agg(tuple, axis=1) == measure
        by_hand = table.loc[mine, "effect"].mean()  # every context met as many classes
        assert mean.estimate == pytest.approx(by_hand)


def test_the_first_training_alone_is_what_one_training_measures(collection, by_colour):
    other = Classifier(ByColour(torch.eye(4)[:, :3]), mean=(0, 0, 0), std=(1, 1, 1)).eval()
    both = measured([by_colour[0], other], collection).of_first_training().answers()
    pd.testing.assert_frame_equal(both, measured(by_colour[:1], collection).answers())


def test_a_model_that_answers_always_the_same_is_never_accused(collection):
    same = [Classifier(ByColour(torch.zeros(4, 3))).eval()] * 2
    assert (measured(same, collection).answers()["answer"] == "no").all()


def test_by_pasting_scores_what_composites_show(collection, by_colour):
    scored = methods.by_pasting(by_colour, collection, seed=0)
    images = torch.cat(list(methods.composites(scored.design, collection, seed=0)))
    index = [collection.classes.index(name) for name in scored.points["object_class"]]
    made = (scored.points["mosaic"] >= 0) & (scored.points["training"] == 0)
    with torch.no_grad():
        logits = by_colour[0](images).numpy()
    rows = scored.points[made]
    said = logits[rows["mosaic"], np.array(index)[made]]
    assert np.allclose(said, rows["object_logit"], atol=1e-4)
    assert len(scored.per_image()) == 2 * 3 * len(collection.sets["WB"].split("test"))
    assert len(scored.first_rows()) == 12


def test_without_masks_pasting_and_relevance_are_left_out(collection, by_colour):
    bare = replace(collection, sets={"C": replace(collection.sets["C"], masks=None)})
    assert set(measured(by_colour, bare).answers()["method"]) == {"mosaics"}


def test_planted_is_the_share_in_the_own_context(collection):
    table = collection.sets["C"].table
    for name, share in methods.planted(collection).items():
        rows = [r for r in table.to_dict("records") if r["class"] == name]
        own = [r for r in rows if r["context"] == collection.context_of[name]]
        assert share == pytest.approx(len(own) / len(rows))


def test_rates_count_the_answers():
    table = pd.DataFrame(
        {
            "dose": [0, 0, 0, 1, 1, 1],
            "method": "mosaics",
            "quantity": ["a", "a", "b", "a", "a", "b"],
            "answer": ["yes", "no", "no", "yes", "yes", "no"],
        }
    )
    found = methods.rates(table).set_index(["dose", "quantity"])
    assert found.loc[(0, "a"), ["yes", "asked", "rate"]].tolist() == [1, 2, 0.5]
    assert found.loc[(1, "a"), "rate"] == 1
    assert (found["low"] <= found["rate"]).all() and (found["rate"] <= found["high"]).all()


def test_one_seed_has_the_same_objects_at_every_dose(collection):
    other = data.load(replace(IMAGES, context_bias=0.0), 0)
    for name in ("NC", "WB"):
        assert torch.equal(other.sets[name].images, collection.sets[name].images)
    assert torch.equal(other.sets["C"].masks, collection.sets["C"].masks)
    assert not torch.equal(other.sets["C"].images, collection.sets["C"].images)
    own = other.sets["C"].table["class"].map(other.context_of)
    assert (other.sets["C"].table["context"] != own).all()
    assert methods.independent(other) == 0.25


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
