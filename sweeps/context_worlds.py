"""How often is each method right about a context's bias? Worlds, each at several doses of bias.

A world is one seed. `context_bias.smk` spreads them over cores and machines. Seeds from 1000 on
were drawn once, after all rules had been settled on seeds 0 to 2."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from helpers import recorded
from helpers.contexts import methods
from helpers.contexts.sweep import DOSES
from helpers.data.images import Images
from helpers.models.recipe import Recipe

SEEDS = range(1000, 1010)
IMAGES = Images("world", per_class=90)
RECIPE = Recipe(trainings=5)


def world(seed: int, doses: Sequence[float], images: Images, recipe: Recipe) -> pd.DataFrame:
    """`methods.answers` at each dose of one world, by all trainings and by the first alone.
    spread is the standard deviation of the single trainings' effects."""
    parts = []
    for measured in methods.at_doses(doses, "model-C", images, recipe, seed).values():
        for number in dict.fromkeys((recipe.trainings, 1)):
            table = measured[measured["training"] < number]
            found = methods.answers(table).drop(columns=["planted", "answer"])
            by = ["context_class", *methods.MEASURE]
            single = table.groupby([*by, "training"])["value"].mean()  # objects are as many a class
            spread = single.groupby(by).std().rename("spread").reset_index()
            parts.append(found.merge(spread, on=by).assign(trainings=number))
    return pd.concat(parts, ignore_index=True)


def main() -> None:
    """``python -m sweeps.context_worlds FILE``: measure worlds, and write them to a file."""
    parser = argparse.ArgumentParser(description="Plant context bias, ask every method.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--doses", type=float, nargs="+", default=DOSES)
    parser.add_argument("--per-class", type=int, default=IMAGES.per_class, help="images")
    parser.add_argument("--trainings", type=int, default=RECIPE.trainings)
    asked = parser.parse_args()
    images = Images("world", per_class=asked.per_class)
    recipe = Recipe(trainings=asked.trainings)
    doses = sorted(asked.doses)
    found = pd.concat(world(seed, doses, images, recipe) for seed in asked.seeds)
    recorded.write(asked.file, found.to_csv(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
