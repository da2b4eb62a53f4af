"""Ask which methods detect a context bias, in pairs of synthetic datasets.

A pair is a dataset with a context bias and its unbiased counterpart, which shows the
same objects in all contexts alike. Decision rules were chosen on seeds 2000 to 2005.

Run ``python -m sweeps.context_worlds data/context_worlds.csv``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers import data, models
from helpers.contexts import colour, methods
from helpers.data import Collection, ImageSet, world
from helpers.data.images import Images
from helpers.models import experiment
from helpers.models.recipe import Recipe
from sweeps.resume import collect

SEEDS = range(3000, 3060)
UNBIASED = 0.25  # share of a class's images in each of the four contexts
NEUTRAL_GROUNDS = ("mean", "white", "shuffled")
HELD_OUT = 240  # images per class, of which a sixth are test images
HELD_OUT_SEED = 500_000


def bias_strengths(seed: int, classes: Sequence[str]) -> dict[str, float]:
    """Draw the share of each class's images that lie in the class's own context."""
    shares = np.random.default_rng(seed).uniform(UNBIASED, 1, len(classes)).round(2)
    return dict(zip(classes, shares.tolist(), strict=True))


def measure_reliance(networks: Sequence, size: int, seed: int) -> pd.DataFrame:
    """Measure what contexts do to the predictions of each network on held-out objects.

    `need` is how much more often objects of a class are recognised in its own context,
    `pull` how much more often other objects are taken for the class in this context.
    `reliance` is their mean. The columns that end in `_logits` measure the same in
    logits, relative to the mean of the other classes.
    """
    scores = {}
    for place, bias in (("own", 1.0), ("other", 0.0)):
        images = world.image_set(
            "C",
            size=size,
            seed=HELD_OUT_SEED + seed,
            per_class=HELD_OUT,
            context_bias=bias,
            marked=None,
            splits=["test"],
        )
        logits = models.logits(networks, images.images).double()
        n_classes = logits.shape[2]
        others = (logits.sum(2, keepdim=True) - logits) / (n_classes - 1)
        predicted = torch.nn.functional.one_hot(logits.argmax(2), n_classes)
        scores[place] = {"": predicted.double(), "_logits": logits - others}
        if place == "own":
            context_of = images.table.groupby("class")["context"].first()
    # both image sets show the same objects, and `images` is now the set in other
    # contexts
    tables = []
    for k, name in enumerate(images.classes):
        table = pd.DataFrame({"run": range(len(networks)), "context_class": name})
        of_class = (images.labels == k).numpy()
        in_context = (images.table["context"] == context_of[name]).to_numpy()
        for ending in ("", "_logits"):
            gain = scores["own"][ending][..., k] - scores["other"][ending][..., k]
            gain = gain.numpy()
            table[f"need{ending}"] = gain[:, of_class].mean(1)
            table[f"pull{ending}"] = -gain[:, in_context].mean(1)
            total = table[f"need{ending}"] + table[f"pull{ending}"]
            table[f"reliance{ending}"] = total / 2
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def edge_maps(images: torch.Tensor) -> torch.Tensor:
    """Return the edges of each image, as coarse as a feature map."""
    grey = images.double().mean(1, keepdim=True)
    edges = torch.zeros_like(grey)
    edges[:, :, :-1] += grey.diff(dim=2).abs()
    edges[..., :-1] += grey.diff(dim=3).abs()
    return adaptive_avg_pool2d(edges, 5)


def random_maps(n_images: int, seed: int) -> torch.Tensor:
    """Return random numbers in the shape of feature maps."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand((n_images, 1, 5, 5), generator=generator, dtype=torch.float64)


def map_baselines(test: ImageSet, runs: int, seed: int) -> list[pd.DataFrame]:
    """Measure edges and random numbers in the place of GradCAM's maps."""
    coarse = {
        "edges": edge_maps(test.images),
        "random": random_maps(len(test), seed),
    }
    tables = []
    for method, maps in coarse.items():
        fine = interpolate(maps, test.images.shape[-2:], mode="bilinear")[:, 0]
        table = methods.relevances([fine] * runs, test)
        tables.append(table.assign(method=method))
    return tables


def decision_baselines(
    biased: Collection, unbiased: Collection, networks: Sequence
) -> list[pd.DataFrame]:
    """Measure two signs of a bias that need no intervention.

    *mean colour* is how often the mean colour of the background reveals the class.
    *worst context* is how often other objects are misclassified in the context.
    """
    guesses = colour.guesses({"C": biased.sets["C"]})
    guesses = guesses[guesses["region"] == "background"].reset_index(drop=True)
    guessed = pd.DataFrame({"method": "mean colour", "object": guesses.index})
    guessed["object_class"] = guessed["context_class"] = guesses["class"]
    guessed["value"] = guesses["right"].astype(float)
    test = unbiased.sets["C"].split("test")
    class_of_context = {name: k for k, name in biased.context_of.items()}
    errors = models.logits(networks, test.images).argmax(2) != test.labels
    tables = []
    for run in range(len(networks)):
        missed = pd.DataFrame({"method": "worst context", "object": range(len(test))})
        missed["object_class"] = test.table["class"].to_numpy()
        missed["context_class"] = test.table["context"].map(class_of_context).to_numpy()
        missed["value"] = errors[run].double().numpy()
        missed = missed[missed["object_class"] != missed["context_class"]]
        tables += [guessed.assign(run=run), missed.assign(run=run)]
    return [
        table.assign(quantity="decisions", comparison=methods.RAW) for table in tables
    ]


def measure_methods(
    networks: Sequence,
    control: Sequence,
    collection: Collection,
    unbiased: Collection,
    seed: int,
) -> pd.DataFrame:
    """Apply every method and baseline to one dataset, with each neutral ground."""
    n = len(networks)
    every = [*networks, *control]
    tables = [methods.minus_control(methods.measured(every, collection, seed=seed), n)]
    for ground in NEUTRAL_GROUNDS:
        if ground == methods.GROUND:
            continue
        table = methods.composed(every, collection, seed=seed, neutral=ground)
        table = methods.minus_control(table, n)
        table = table[table["comparison"].isin([methods.NEUTRAL, methods.CONTROL])]
        tables.append(table.assign(comparison=table["comparison"] + f" ({ground})"))
    tables += map_baselines(collection.sets["C"].split("test"), n, seed)
    tables += decision_baselines(collection, unbiased, networks)
    return pd.concat(tables, ignore_index=True)[methods.ROW]


def effects_and_directions(measured: pd.DataFrame) -> pd.DataFrame:
    """Return one row per context: the effect by each measure, and its sign if clear."""
    table = methods.context_effects(measured)
    table["measure"] = table[methods.MEASURE].agg(", ".join, axis=1)
    table["sign"] = (
        table["direction"].map({"more": 1, "less": -1}).fillna(0).astype(int)
    )
    wide = table.pivot(index="context_class", columns="measure")
    compared = table.loc[table["comparison"] != methods.RAW, "measure"].unique()
    return wide["effect"].join(wide["sign"][compared].add_prefix("direction: "))


def measure_pair(seed: int, per_class: int = 90, recipe: Recipe | None = None):
    """Return one row per dataset of a pair, number of training runs and context."""
    recipe = recipe or Recipe(trainings=5)
    n = recipe.trainings
    unbiased_images = Images("world", per_class=per_class, context_bias=UNBIASED)
    unbiased = data.load(unbiased_images, seed)
    strengths = bias_strengths(seed, unbiased.classes)
    biased_images = replace(unbiased_images, context_bias=strengths)
    biased = data.load(biased_images, seed)
    # half of the unbiased networks are the control models
    twice_as_many = replace(recipe, trainings=2 * n)
    unbiased_networks = experiment.model("model-C", unbiased, twice_as_many, seed)
    networks = experiment.model("model-C", biased, recipe, seed)
    cases = [
        ("biased", biased_images, biased, networks),
        ("unbiased", unbiased_images, unbiased, unbiased_networks[:n]),
    ]
    tables = []
    for name, images, collection, networks in cases:
        control = unbiased_networks[n:]
        measured = measure_methods(networks, control, collection, unbiased, seed)
        reliance = measure_reliance(networks, unbiased_images.size, seed)
        injected = experiment.planted(images).set_index("class")
        for number in dict.fromkeys((n, 1)):
            reliance_of_runs = reliance[reliance["run"] < number]
            table = reliance_of_runs.groupby("context_class").mean().drop(columns="run")
            table.insert(0, "pair", seed)
            table.insert(1, "dataset", name)
            table.insert(2, "runs", number)
            share = injected["p_context_given_class"]
            table.insert(3, "bias_strength", (share - UNBIASED) / (1 - UNBIASED))
            p_class = injected["p_class_given_context"]
            table.insert(4, "p_class_given_context", p_class)
            measured_of_runs = measured[measured["run"] < number]
            effects = effects_and_directions(measured_of_runs)
            tables.append(table.join(effects).reset_index())
    return pd.concat(tables, ignore_index=True).round(6)


def main() -> None:
    """Measure the pairs of the given seeds, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    arguments = parser.parse_args()
    cases = [(seed,) for seed in arguments.seeds]
    collect(arguments.path, measure_pair, cases, float_format="%.3g")


if __name__ == "__main__":
    main()
