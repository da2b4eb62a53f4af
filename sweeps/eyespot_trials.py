"""Test whether occluding a feature shows that two classes are confused because of it.

In training an eyespot marks one class. A trial is a pair of classes. Its
target is the marked class, or any class at bias strength 0. ``data/README.md`` has the
command.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import permutations

import pandas as pd
import torch

from helpers import models
from helpers.data import ImageSet, world
from helpers.focus import feature, means, mosaics, rate
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe
from sweeps import resume
from synthetic.pictures import CLASSES, marked_shares

SEEDS = range(10)
FURTHER_STRENGTHS = (0.75, 0.9, 0.95)  # the first seeds also try these, with one class
RECIPE = Recipe("resnet10-eighth", trainings=4, epochs=6)
METHODS = {
    "share_gradcam": ("gradcam", {}),
    "share_finer": ("gradcam", {"layer": "layer2"}),
    "share_lrp": ("lrp", {}),
}


def train_model(train: ImageSet, seed: int) -> Model:
    """Train networks that distinguish the classes of some images."""
    networks = models.trainings(
        RECIPE.trainings,
        RECIPE.architecture,
        CLASSES,
        lambda run: train.to_train(),
        seed=seed,
        epochs=RECIPE.epochs,
    )
    logit_of = {name: k for k, name in enumerate(CLASSES)}
    return Model(RECIPE, "C", networks, logit_of)


def measure_trial(
    model: Model, clean: ImageSet, marked: ImageSet, design: pd.DataFrame, pair: tuple
) -> dict:
    """Rank a pair by its Focus, and occlude the eyespot or other parts of images."""
    in_pair = torch.tensor(clean.table["class"].isin(pair).to_numpy())
    pixels = torch.where(in_pair[:, None, None, None], marked.images, clean.images)
    # the eyespot is on images of the pair; it may be inpainted elsewhere in the image
    images = replace(clean, images=pixels, masks=None)
    rated = rate(model, images, design, "gradcam")
    focus = rated.groupby([*means.PAIR, "run"])["focus"].mean()
    focus = focus.groupby(means.PAIR).mean()
    masks = feature.of_class(images, marked.patches, pair[1])
    elsewhere = feature.elsewhere(images, masks)
    candidate = feature.candidate(model, marked, pair)
    versions = {
        feature.OVER: feature.paint_over(pixels, masks),
        "elsewhere": feature.paint_over(pixels, elsewhere),
        "lrp_guess": feature.paint_over(marked.images, candidate),
    }
    rows = design.query("target == @pair[0] and outer == @pair[1]")
    rated = feature.intervention(model, images, rows, versions, "gradcam")
    located = feature.by_method(model, marked, rows, METHODS)
    located = located.set_index("method")
    row = {"target": pair[0], "outer": pair[1]}
    row["gain"] = feature.gains(model, clean, marked, pair).mean()
    for run, rise in enumerate(feature.rises(rated)):
        row[f"rise_{run}"] = rise
    for name in ("elsewhere", "lrp_guess"):
        row[name] = feature.rises(rated, name).mean()
    row.update(
        located["share"],
        peaks_finer=located.loc["share_finer", "peaks"],
        focus=focus[pair],
        rank=focus.rank(method="min")[pair],
    )
    return row


def measure_case(seed: int, strength: float, marked_class: str) -> pd.DataFrame:
    """Return one row per trial of the networks of a seed, bias strength and class."""
    draw = partial(world.image_set, "C", 96, seed, 150, context_bias=0.25)
    shares = marked_shares(strength, marked_class, CLASSES)
    model = train_model(draw(marked=shares), seed)
    clean = draw(marked={}).split("test")
    marked = draw(marked=dict.fromkeys(CLASSES, 1.0)).split("test")
    design = mosaics.design(clean.table, CLASSES, per_pair=8, seed=seed)
    rows = []
    for pair in permutations(CLASSES, 2):
        if strength == 0 or pair[0] == marked_class:
            rows.append(measure_trial(model, clean, marked, design, pair))
    return pd.DataFrame(rows).round(12).assign(seed=seed, bias_strength=strength)


def list_cases(seeds: Iterable[int]) -> list[tuple]:
    """List the seed, bias strength and marked class of each set of networks."""
    cases = []
    for seed in seeds:
        cases += [(seed, 0.0, CLASSES[0])]
        if seed < len(CLASSES):
            cases += [(seed, strength, CLASSES[seed]) for strength in FURTHER_STRENGTHS]
        cases += [(seed, 1.0, name) for name in CLASSES]
    return cases


if __name__ == "__main__":
    resume.run(measure_case, list_cases, SEEDS, "%.4g")
