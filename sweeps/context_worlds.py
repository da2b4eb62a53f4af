"""Test which methods detect a context bias, in pairs of synthetic datasets.

A pair is a dataset with a context bias and its unbiased counterpart, which shows the
same objects in all contexts alike. Decision rules were chosen on seeds 2000 to 2005.

Run ``python -m sweeps.context_worlds data/context_worlds.csv``.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import data
from helpers.contexts import methods
from helpers.data import Collection
from helpers.data.images import Images
from helpers.models import experiment
from helpers.models.recipe import Recipe
from sweeps import context_baselines as baselines
from sweeps import resume

SEEDS = range(3000, 3060)
HELD_OUT_SEED = 500_000  # plus the seed of a pair
RUNS = 5  # training runs of each model
EVEN = 0.25  # share of a class's images in each of the four contexts, without a bias
IMAGES = Images("world", per_class=90, context_bias=EVEN)
GROUNDS = ("white", "shuffled")  # neutral backgrounds, next to the mean colour
QUANTITIES = ["logits", "relevance"]
DECISIONS = [  # measures of other quantities
    "mosaics, flips, raw",
    "mosaics, flips, minus other contexts",
    "pasting, decisions, raw",
    "GradCAM, peak above, raw",
]


def measure_effects(
    networks: list, control: list, collection: Collection, seed: int
) -> pd.DataFrame:
    """Measure the effect of every context on logits, relevance and some decisions."""
    measured = methods.measured([*networks, *control], collection, seed=seed)
    tables = [methods.minus_control(measured, len(networks))]
    for ground in GROUNDS:
        table = methods.composed(networks, collection, seed=seed, neutral=ground)
        table = table[table["comparison"] == methods.NEUTRAL]
        tables.append(table.assign(comparison=f"{methods.NEUTRAL} ({ground})"))
    table = pd.concat(tables, ignore_index=True)
    measure = table[methods.MEASURE].agg(", ".join, axis=1)
    return table[table["quantity"].isin(QUANTITIES) | measure.isin(DECISIONS)]


def effects_and_directions(measured: pd.DataFrame) -> pd.DataFrame:
    """Return one row per context: the effect by each measure, and its sign if clear."""
    table = methods.context_effects(measured)
    table["measure"] = table[methods.MEASURE].agg(", ".join, axis=1)
    signs = {"more": 1, "less": -1, "not significant": 0}
    table["sign"] = table["direction"].map(signs)
    wide = table.pivot(index="context_class", columns="measure")
    directions = wide["sign"].dropna(axis=1).astype(int)
    directions = directions.add_prefix("direction: ")
    return wide["effect"].join(directions)


def measure_pair(seed: int) -> pd.DataFrame:
    """Return one row per dataset of a pair, number of training runs and context."""
    unbiased = data.load(IMAGES, seed)
    rng = np.random.default_rng(seed)
    shares = rng.uniform(EVEN, 1, len(unbiased.classes)).round(2)
    shares = pd.Series(shares, unbiased.classes)  # of images in the class's own context
    biased = data.load(replace(IMAGES, context_bias=shares.to_dict()), seed)
    recipe = Recipe(trainings=RUNS)
    twice = replace(recipe, trainings=2 * RUNS)  # the second half are control models
    without_bias = experiment.model("model-C", unbiased, twice, seed)
    with_bias = experiment.model("model-C", biased, recipe, seed)
    strengths = (shares - EVEN) / (1 - EVEN)
    cases = [
        ("biased", biased, with_bias, strengths),
        ("unbiased", unbiased, without_bias[:RUNS], 0.0 * strengths),
    ]
    tables = []
    for name, collection, networks, strength in cases:
        measured = measure_effects(networks, without_bias[RUNS:], collection, seed)
        reliance = baselines.reliance(networks, IMAGES.size, HELD_OUT_SEED + seed)
        errors = baselines.error_rates(networks, unbiased)
        test = collection.sets["C"].split("test")
        edges = baselines.edges(test.images)
        random = baselines.random_maps(len(test), seed)
        for runs in (RUNS, 1):
            table = pd.DataFrame({"bias_strength": strength})
            table["reliance"] = reliance[range(runs)].mean(axis=1)
            table["mean colour, decisions, raw"] = baselines.mean_colour(collection)
            table["worst context, decisions, raw"] = errors[range(runs)].mean(axis=1)
            table["edges, relevance, raw"] = baselines.outside_objects(edges, test)
            table["random, relevance, raw"] = baselines.outside_objects(random, test)
            effects = effects_and_directions(measured[measured["run"] < runs])
            table = table.join(effects).rename_axis("context_class")
            table = table.assign(pair=seed, dataset=name, runs=runs)
            tables.append(table.reset_index())
    return pd.concat(tables, ignore_index=True).round(6)


def list_cases(seeds: Iterable[int]) -> list[tuple]:
    """List the arguments of `measure_pair`."""
    return [(seed,) for seed in seeds]


if __name__ == "__main__":
    resume.run(measure_pair, list_cases, SEEDS, "%.3g")
