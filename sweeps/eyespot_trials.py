"""Test whether occluding a feature shows that two classes are confused because of it.

Networks are trained on images in which an eyespot marks one class, with a bias strength
between 0 and 1. A trial is an ordered pair of classes, target and outer.

Run ``python -m sweeps.eyespot_trials data/eyespot_trials.csv``.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pandas as pd
import torch

from helpers import models, store
from helpers.data import ImageSet, world
from helpers.focus import feature, means, mosaics
from helpers.focus.networks import Model
from helpers.focus.rating import rate
from helpers.models.recipe import Recipe
from sweeps.resume import collect
from synthetic import pictures

CLASSES = pictures.CLASSES
PAIRS = tuple(permutations(CLASSES, 2))
SEEDS = range(10)
FURTHER_STRENGTHS = (0.75, 0.9, 0.95)  # the first seeds also try these, with one class
RECIPE = Recipe("resnet10-eighth", trainings=4, epochs=6)
PER_CLASS = 150
MOSAICS_PER_PAIR = 8
MANY_MOSAICS = 24
METHODS = {
    "gradcam": ("gradcam", {}),
    "finer": ("gradcam", {"layer": "layer2"}),
    "lrp": ("lrp", {}),
}


def list_cases(seeds: Iterable[int]) -> Iterator[tuple[int, float, str]]:
    """Yield the seed, bias strength and marked class of each set of networks."""
    for seed in seeds:
        yield seed, 0.0, CLASSES[0]
        if seed < len(CLASSES):
            for strength in FURTHER_STRENGTHS:
                yield seed, strength, CLASSES[seed]
        for name in CLASSES:
            yield seed, 1.0, name


def draw_images(
    seed: int, marked: dict[str, float], look: str = "eyespot", size: int = 96
) -> ImageSet:
    """Draw the images of a seed, with a mark on a share of each class."""
    return world.image_set(
        "C", size, seed, PER_CLASS, context_bias=0.25, marked=marked, look=look
    )


def combine(first: ImageSet, classes: Sequence[str], second: ImageSet) -> ImageSet:
    """Take some classes from the first set, the others from the second."""
    chosen = torch.tensor(first.table["class"].isin(classes).tolist())
    images = torch.where(chosen[:, None, None, None], first.images, second.images)
    return replace(first, images=images)


def train_model(seed: int, strength: float, marked_class: str) -> Model:
    """Train networks on images whose eyespot marks one class at a bias strength."""
    shares = pictures.marked_shares(strength, marked_class, CLASSES)
    train = draw_images(seed, shares).to_train()
    networks = models.trainings(
        RECIPE.trainings,
        RECIPE.architecture,
        CLASSES,
        lambda number: train,
        seed=seed,
        epochs=RECIPE.epochs,
        folder=store.networks(),
    )
    logit_of = {name: k for k, name in enumerate(CLASSES)}
    return Model(RECIPE, "C", networks, logit_of)


def count_significant(model: Model, clean: ImageSet, seed: int) -> dict[str, int]:
    """Count the pairs with significantly low Focus where no image has an eyespot."""
    design = mosaics.design(clean.table, CLASSES, per_pair=MANY_MOSAICS, seed=seed)
    rated = rate(model, clean, design, "gradcam")
    first = rated[rated["run"] == 0]
    by_all_runs = means.ranked(rated)["p_adjusted"] < 0.05
    by_first_run = means.ranked(first)["p_adjusted"] < 0.05
    return {
        "significant_pairs": int(by_all_runs.sum()),
        "significant_pairs_one_run": int(by_first_run.sum()),
    }


def measure_trial(
    model: Model, tests: dict[str, ImageSet], design: pd.DataFrame, pair: tuple
) -> dict[str, float]:
    """Occlude the eyespot of a pair, and compare with other changes of the images."""
    clean, marked, sham = tests["clean"], tests["marked"], tests["sham"]
    target, outer = pair
    images = combine(marked, pair, clean)
    spots = feature.of_class(images, marked.patches, outer)
    elsewhere = feature.elsewhere(replace(images, masks=None), spots)
    candidate = feature.candidate(model, marked, pair)
    versions = {
        "elsewhere": feature.paint_over(images.images, elsewhere),
        "lrp_guess": feature.paint_over(marked.images, candidate),
        "sham": combine(sham, [outer], marked).images,
        "unmarked": combine(clean, [outer], marked).images,
    }
    of_pair = means.of_pair(design, target, outer)
    rated = feature.intervention(
        model, images, of_pair, marked.patches, "gradcam", versions
    )
    row = {f"rise_{n}": rise for n, rise in enumerate(feature.rises(rated))}
    for name in versions:
        row[name] = feature.rises(rated, name).mean()
    row["sham"] = row["unmarked"] - row["sham"]
    before = rated[rated["state"] == feature.BEFORE]
    located = feature.by_method(model, marked, before, METHODS).set_index("method")
    for method in METHODS:
        row[f"share_{method}"] = located.loc[method, "share"]
        row[f"peaks_{method}"] = located.loc[method, "peaks"]
    row["area"] = located["area"].iloc[-1]
    every = rate(model, images, design, "gradcam")
    focus = every.groupby([*means.PAIR, "run"])["focus"].mean()
    focus = focus.groupby(means.PAIR).mean()
    for first, second in PAIRS:
        row[f"{first} > {second}"] = focus[first, second]
    return row


def measure_untried(
    model: Model, tests: dict[str, ImageSet], design: pd.DataFrame, pair: tuple
) -> dict[str, float]:
    """Occlude the eyespot of a pair whose target is not the marked class."""
    images = combine(tests["marked"], [pair[1]], tests["clean"])
    of_pair = means.of_pair(design, *pair)
    patches = tests["marked"].patches
    rated = feature.intervention(model, images, of_pair, patches, "gradcam")
    return {f"rise_{n}": rise for n, rise in enumerate(feature.rises(rated))}


def measure_case(seed: int, strength: float, marked_class: str) -> pd.DataFrame:
    """Return one row per pair of classes, for the networks of one case."""
    model = train_model(seed, strength, marked_class)
    every_class = dict.fromkeys(CLASSES, 1.0)
    tests = {
        "clean": draw_images(seed, {}).split("test"),
        "marked": draw_images(seed, every_class).split("test"),
        "sham": draw_images(seed, every_class, "sham").split("test"),
    }
    clean = tests["clean"]
    design = mosaics.design(clean.table, CLASSES, per_pair=MOSAICS_PER_PAIR, seed=seed)
    significant = {} if strength else count_significant(model, clean, seed)
    rows = []
    for pair in PAIRS:
        row = {
            "seed": seed,
            "bias_strength": strength,
            "marked_class": marked_class,
        }
        if strength == 0:
            row["marked_class"] = ""
        row["target"], row["outer"] = pair
        row["gain"] = feature.gains(model, clean, tests["marked"], pair).mean()
        row.update(significant)
        tried = strength == 0 or pair[0] == marked_class
        measure = measure_trial if tried else measure_untried
        row.update(measure(model, tests, design, pair))
        rows.append(row)
    return pd.DataFrame(rows).round(12)


def main() -> None:
    """Measure the trials of the given seeds, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    arguments = parser.parse_args()
    cases = list_cases(arguments.seeds)
    collect(arguments.path, measure_case, cases, float_format="%.4g")


if __name__ == "__main__":
    main()
