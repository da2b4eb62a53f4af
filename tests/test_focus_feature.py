"""Inpaint features, and rate networks whose use of a feature is known."""

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
    """A network whose logits are the mean of red and the mean of green."""

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1))

    def forward(self, images):
        means = images.float().mean((2, 3))
        return means[:, :2] * self.one


def own_channel(model, images, targets):
    """Return the target's own channel as relevance."""
    rows = torch.arange(len(images))
    return images[rows, targets]


@pytest.fixture
def world():
    """Ants are red all over. Bees are green, with a red disc in the upper left."""
    table = pd.DataFrame({"class": np.repeat(CLASSES, 6), "split": "test"})
    clean = torch.zeros(12, 3, SIDE, SIDE, dtype=torch.uint8)
    clean[:6, 0] = 120
    clean[6:, 1] = 200
    spots = torch.zeros(12, SIDE, SIDE, dtype=torch.bool)
    spots[6:] = feature.disc((SIDE, SIDE), (6, 6), 3)
    pixels = clean.clone()
    pixels[:, 0][spots] = 250
    pixels[:, 1][spots] = 0
    labels = torch.arange(12) // 6
    images = ImageSet("C", pixels, labels, CLASSES, table, patches=spots)
    model = Model(Recipe(), "C", [Reds(), Reds()], {"ant": 0, "bee": 1})
    design = focus.design(table, CLASSES, per_pair=4)
    rows = design[design["target"] == "ant"]
    return model, images, rows, clean


def test_inpainting_a_part_of_one_colour_restores_it():
    images = torch.zeros(1, 3, SIDE, SIDE, dtype=torch.uint8)
    images[:, 0] = 10
    images[:, 1] = 100
    images[:, 2] = 200
    mask = feature.disc((SIDE, SIDE), (12, 12), 8)
    marked = images.clone()
    marked[0][:, mask] = 255
    painted = feature.paint_over(marked, mask[None])
    assert torch.equal(painted, images)


def test_inpainting_changes_the_masked_part_and_its_edge_only():
    torch.manual_seed(0)
    images = torch.randint(0, 256, (2, 3, SIDE, SIDE))
    images = images.to(torch.uint8)
    masks = torch.zeros(2, SIDE, SIDE, dtype=torch.bool)
    masks[1, 2:4, 2:4] = True
    painted = feature.paint_over(images, masks)
    assert torch.equal(painted[0], images[0])
    changed = (painted[1] != images[1]).any(0)
    end = 4 + feature.EDGE
    assert changed[2:4, 2:4].any()
    assert not changed[end:].any()
    assert not changed[:, end:].any()


@pytest.mark.parametrize("masks", [torch.zeros(2, 8, 8), torch.ones(2, 8, 8)])
def test_masks_that_cannot_be_used_are_refused(masks):
    images = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    with pytest.raises(ValueError, match="cover nothing, or they cover a whole image"):
        feature.paint_over(images, masks.bool())


def test_the_rise_of_a_network_that_uses_the_feature_is_known(world):
    """Relevance is the red channel, so Focus is red on ants over all red."""
    model, images, rows, clean = world
    masks = images.patches
    moved = feature.elsewhere(images, masks)
    versions = {
        feature.OVER: feature.paint_over(images.images, masks),
        "clean": clean,
        "another part inpainted": feature.paint_over(images.images, moved),
    }
    rated = feature.intervention(model, images, rows, versions, own_channel)
    means = rated.groupby("state")["focus"].mean()
    red_of_spot = 250 * masks[6].sum().item()
    red_of_ants = 2 * 120 * SIDE**2
    unchanged = red_of_ants / (red_of_ants + 2 * red_of_spot)
    assert means["unchanged"] == pytest.approx(unchanged, rel=1e-5)
    assert means["clean"] == pytest.approx(1)
    assert means["inpainted"] == pytest.approx(1)
    assert means["another part inpainted"] == pytest.approx(unchanged, abs=0.002)
    assert feature.rise(rated).estimate == pytest.approx(1 - unchanged)
    assert feature.rises(rated) == pytest.approx([1 - unchanged] * 2)


def test_a_candidate_feature_is_where_the_relevance_peaks_for_any_method(
    world, monkeypatch
):
    model, images, _, _ = world
    package_explain = explain.explain

    def explain_without_lrp(network, some, target, method):
        if method == "lrp":
            raise explain.NotConserved("no LRP here")
        return package_explain(network, some, target, own_channel)

    monkeypatch.setattr(explain, "explain", explain_without_lrp)
    masks = feature.candidate(model, images, ("ant", "bee"))
    assert not masks[:6].any()
    on_spot = masks & images.patches
    on_spots_of_bees = on_spot[6:].flatten(1)
    assert on_spots_of_bees.any(1).all()


def test_relevance_on_the_patch_is_that_of_a_loop_over_images(world):
    model, images, rows, _ = world
    torch.manual_seed(2)
    patches = torch.rand(12, SIDE, SIDE) < 0.3
    images = replace(images, patches=patches)
    methods = {"own": (own_channel, {})}
    [found] = feature.by_method(model, images, rows, methods).to_dict("records")
    shares = []
    areas = []
    for row in rows.to_dict("records"):
        misplaced = 0
        on_patch = 0
        for cell in range(4):
            if row[f"is_target_{cell}"]:
                continue
            number = row[f"image_{cell}"]
            patch = patches[number]
            red = images.images[number, 0].int()
            misplaced += red.sum()
            on_patch += red[patch].sum()
            areas.append(patch.double().mean())
        shares.append(on_patch / misplaced)
    assert found["share"] == pytest.approx(np.mean(shares), rel=1e-5)
    assert found["area"] == pytest.approx(np.mean(areas))
    assert found["low"] < found["share"] < found["high"]


def test_the_verdicts_on_recorded_trials_are_those_of_a_loop():
    recorded = store.recorded_table("eyespot_trials.csv")
    judged = claims.judged(recorded)
    sample = judged.sample(20, random_state=0)
    for row in sample.to_dict("records"):
        rises = [row[f"rise_{run}"] for run in range(trials.RECIPE.trainings)]
        mean_rise = np.mean(rises)
        assert row["detected"] == (mean_rise >= feature.EFFECT)
        assert row["first"] == (row["rank"] < 2)
        assert row["lowest_3"] == (row["rank"] in (1, 2, 3))
