"""The intervention: what is inpainted, and its effect on networks whose use of a feature is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import explain, focus, store
from helpers.data import ImageSet
from helpers.focus import claims, feature
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe
from sweeps import eyespot_trials as trials

CLASSES = ("ant", "bee")
SIDE = 24


class Reds(torch.nn.Module):
    """Logits: the mean of red, and that of green."""

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1))

    def forward(self, images):
        return images.float().mean((2, 3))[:, :2] * self.one


def own_channel(model, images, targets):
    """Relevance: the target's own channel."""
    return images[torch.arange(len(images)), targets]


@pytest.fixture
def world():
    """Ants are red all over; bees are green, with a red disc in the upper left of each."""
    pixels = torch.zeros(12, 3, SIDE, SIDE, dtype=torch.uint8)
    pixels[:6, 0] = 120
    pixels[6:, 1] = 200
    spots = torch.zeros(12, SIDE, SIDE, dtype=torch.bool)
    spots[6:] = feature.disc((SIDE, SIDE), (6, 6), 3)
    clean = pixels.clone()
    pixels[:, 0][spots] = 250
    pixels[:, 1][spots] = 0
    table = pd.DataFrame({"class": np.repeat(CLASSES, 6), "split": "test"})
    images = ImageSet("C", pixels, torch.arange(12) // 6, CLASSES, table, None, spots)
    model = Model(Recipe(), "C", [Reds(), Reds()], {"ant": 0, "bee": 1})
    design = focus.design(table, CLASSES, per_pair=4)
    rows = design[design["target"] == "ant"]
    return model, images, rows, clean


def test_inpainting_takes_the_surrounding_colours_and_changes_nothing_else():
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (2, 3, SIDE, SIDE), dtype=np.uint8))
    images[0] = torch.tensor([10, 100, 200], dtype=torch.uint8)[:, None, None]
    masks = torch.zeros(2, SIDE, SIDE, dtype=torch.bool)
    masks[0] = feature.disc((SIDE, SIDE), (12, 12), 8)
    flat = images[0].clone()
    images[0][:, masks[0]] = 255
    painted = feature.paint_over(images, masks)
    assert torch.equal(painted[0], flat)
    assert torch.equal(painted[1], images[1])
    masks[1, 2:4, 2:4] = True
    changed = (feature.paint_over(images, masks)[1] != images[1]).any(0)
    assert changed[2:4, 2:4].any()
    assert not changed[6 + feature.EDGE :].any()


@pytest.mark.parametrize("masks", [torch.zeros(2, 8, 8), torch.ones(2, 8, 8)])
def test_masks_that_cannot_be_used_are_refused(masks):
    images = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    with pytest.raises(ValueError, match="cover nothing, or they cover a whole image"):
        feature.paint_over(images, masks.bool())


def test_the_rise_of_a_network_that_uses_the_feature_is_known(world):
    """Relevance is the red channel: Focus is red on ants over all red, before and after."""
    model, images, rows, clean = world
    aside = feature.paint_over(images.images, feature.elsewhere(images, images.patches))
    also = {"clean": clean, feature.ELSEWHERE: aside}
    rated = feature.intervention(model, images, rows, images.patches, own_channel, also)
    spot = float(images.patches[6].sum()) * 250
    ants = 2 * SIDE**2 * 120
    means = rated.groupby("state")["focus"].mean()
    assert means["unchanged"] == pytest.approx(ants / (ants + 2 * spot), rel=1e-5)
    assert means["clean"] == pytest.approx(1)
    assert means["inpainted"] == pytest.approx(1)
    assert means["inpainted elsewhere"] == pytest.approx(means["unchanged"], abs=0.002)
    assert feature.rise(rated).estimate == pytest.approx(1 - means["unchanged"])
    assert feature.rises(rated) == pytest.approx([1 - means["unchanged"]] * 2)


def test_a_candidate_feature_is_where_the_relevance_peaks_for_any_method(
    world, monkeypatch
):
    model, images, _, _ = world
    asked = explain.explain

    def without_lrp(network, some, target, method):
        if method == "lrp":
            raise explain.NotConserved("no LRP here")
        return asked(network, some, target, own_channel)

    monkeypatch.setattr(explain, "explain", without_lrp)
    masks = feature.candidate(model, images, ("ant", "bee"))
    assert not masks[:6].any()
    assert (masks & images.patches)[6:].flatten(1).any(1).all()


def test_relevance_on_the_patch_is_that_of_a_loop_over_pixels(world):
    model, images, rows, _ = world
    rng = np.random.default_rng(2)
    patches = torch.from_numpy(rng.random((12, SIDE, SIDE)) < 0.3)
    images = replace(images, patches=patches)
    methods = {"own": (own_channel, {})}
    [found] = feature.by_method(model, images, rows, methods).to_dict("records")
    shares = []
    areas = []
    for row in rows.to_dict("records"):
        on_patch = 0
        misplaced = 0
        pixels = 0
        for cell in range(4):
            if row[f"is_target_{cell}"]:
                continue
            number = row[f"image_{cell}"]
            red = images.images[number, 0].int()
            misplaced += int(red.sum())
            on_patch += int(red[patches[number]].sum())
            pixels += int(patches[number].sum())
        shares.append(on_patch / misplaced)
        areas.append(pixels / (2 * SIDE**2))
    assert found["share"] == pytest.approx(np.mean(shares), rel=1e-5)
    assert found["area"] == pytest.approx(np.mean(areas))
    assert found["low"] < found["share"] < found["high"]


def test_the_verdicts_on_recorded_trials_are_those_of_a_loop():
    judged = claims.judged(store.recorded_table("eyespot_trials.csv"))
    for row in judged.sample(20, random_state=0).to_dict("records"):
        rises = [row[f"rise_{run}"] for run in range(trials.RECIPE.trainings)]
        assert row["detected"] == (np.mean(rises) >= feature.EFFECT)
        assert row["first"] == (row["rank"] < 2)
        assert row["lowest_3"] == (row["rank"] in (1, 2, 3))
