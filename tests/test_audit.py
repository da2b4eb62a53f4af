"""Three methods asked of models whose answer is known, on images whose bias is known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from helpers.contexts import audit, browser, doses
from helpers.models import experiment
from helpers.models.networks import Classifier
from helpers.run.parameters import Images

SETTINGS = SimpleNamespace(
    images=Images("world", 64, 24, context_bias=0.9),
    seed=0,
    neutral="mean",
    per_context=2,
    layer=None,
)


@pytest.fixture(scope="module")
def collection():
    return experiment.images(SETTINGS.images, 0)


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


def test_a_model_told_by_contexts_is_found_by_mosaics_and_pasting(collection, by_colour):
    table = audit.answers(audit.measured(by_colour, collection, SETTINGS), collection)
    assert list(table["measure"].unique()) == list(audit.MEASURES)
    assert len(table) == 4 * len(audit.MEASURES)
    wide = audit.verdicts(table)
    told = wide[wide["context_class"] != "fire hydrant"]  # the road is as grey as the neutral image
    for measure in ("mosaics: logits", "pasting: logits"):
        assert (told[measure] == "yes").all(), measure
    assert np.allclose(wide["planted"], 0.9, atol=0.1)
    assert ((table["low"] > 0) == (table["answer"] == "yes")).all()


def test_a_model_that_answers_always_the_same_is_never_accused(collection, by_colour):
    constant = ByColour(torch.zeros(4, 3))
    same = [Classifier(constant).eval()] * 2
    table = audit.answers(audit.measured(same, collection, SETTINGS), collection)
    assert (table["answer"] == "no").all()


def test_by_pasting_scores_what_composites_show(collection, by_colour):
    scored = audit.by_pasting(by_colour, collection, SETTINGS)
    images = torch.cat(list(audit.composites(scored.design, collection, SETTINGS)))
    with torch.no_grad():
        for training, logits in zip(by_colour, scored.logits, strict=True):
            assert torch.allclose(training(images), logits, atol=1e-4)
    assert len(scored.per_image()) == 2 * 3 * len(collection.sets["WB"].split("test"))


def test_examples_are_one_composite_a_pair(collection, by_colour):
    scored = audit.by_pasting(by_colour, collection, SETTINGS)
    shown = audit.examples(scored, collection, SETTINGS)
    assert len(shown) == 12
    assert {image.shape for image in shown.values()} == {(3, 64, 64)}
    assert all(context != label for context, label in shown)


def test_without_masks_pasting_and_relevance_are_left_out(collection, by_colour):
    sets = {"C": replace(collection.sets["C"], masks=None)}
    bare = replace(collection, sets=sets)
    table = audit.answers(audit.measured(by_colour, bare, SETTINGS), bare)
    assert {m.split(":")[0] for m in table["measure"]} == {"mosaics"}


def test_planted_is_the_share_in_the_own_context(collection):
    table = collection.sets["C"].table
    for name, share in audit.planted(collection).items():
        rows = [r for r in table.to_dict("records") if r["class"] == name]
        own = [r for r in rows if r["context"] == collection.context_of[name]]
        assert share == pytest.approx(len(own) / len(rows))


def test_rates_count_the_answers():
    table = pd.DataFrame(
        {
            "bias": [0, 0, 0, 1, 1, 1],
            "measure": ["a", "a", "b", "a", "a", "b"],
            "answer": ["yes", "no", "no", "yes", "yes", "no"],
        }
    )
    found = doses.rates(table).set_index(["bias", "measure"])
    assert found.loc[(0, "a"), ["yes", "asked", "rate"]].tolist() == [1, 2, 0.5]
    assert found.loc[(1, "a"), "rate"] == 1
    assert (found["low"] <= found["rate"]).all() and (found["rate"] <= found["high"]).all()


def test_overall_is_the_mean_of_the_contexts_effects(collection, by_colour):
    measured = audit.measured(by_colour, collection, SETTINGS)
    table = audit.answers(measured, collection)
    for measure, mean in audit.overall(measured).items():
        by_hand = table.loc[table["measure"] == measure, "effect"].mean()
        assert mean.estimate == pytest.approx(by_hand)  # every context met as many classes


def test_one_seed_has_the_same_objects_at_every_dose(collection):
    other = experiment.images(replace(SETTINGS.images, context_bias=0.0), 0)
    for name in ("NC", "WB"):
        assert torch.equal(other.sets[name].images, collection.sets[name].images)
    assert torch.equal(other.sets["C"].masks, collection.sets["C"].masks)
    assert not torch.equal(other.sets["C"].images, collection.sets["C"].images)
    own = other.sets["C"].table["class"].map(other.context_of)
    assert (other.sets["C"].table["context"] != own).all()
    assert doses.independent(other) == 0.25


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
