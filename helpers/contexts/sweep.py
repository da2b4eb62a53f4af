"""How often is each method right about a context's bias? Many worlds, each at five doses of bias.

A world is one seed. ``python -m helpers.contexts.sweep data/context_worlds.csv`` made those that
notebook 05b reads; `sweeps/context_bias.smk` spreads them over cores and machines. Seeds from 1000
on were drawn once, after all rules had been settled on seeds 0 to 2.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import recorded as records
from helpers import stats
from helpers.contexts import methods
from helpers.data.images import Images
from helpers.models.recipe import Recipe

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
NOTHING = 0.25  # of four contexts: class and context are independent
FIRST, WORLDS = 1000, 10
IMAGES = Images("world", per_class=90)
RECIPE = Recipe(trainings=5)
RECORDED = "context_worlds.csv"  # in data/
ASKED = [*methods.MEASURE, "trainings"]


def world(seed: int, doses: Sequence[float], images: Images, recipe: Recipe) -> pd.DataFrame:
    """What each method measures at each dose of one world, by all trainings and by the first alone.

    One row a dose, context, measure and number of trainings, by `methods.answers`, with spread
    (standard deviation of the single trainings' effects).
    """
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


def recorded(path: Path | None = None) -> pd.DataFrame:
    """The worlds made beforehand by the command at the top of this module, or those of a file."""
    if path is None:
        return records.read(RECORDED)
    if not path.is_file():
        raise ValueError(f"There is no file {path.name!r}; sweeps/context_bias.smk makes one.")
    return pd.read_csv(path)


def rates(worlds: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose; raw readings answer nothing.

    One row a dose, method, quantity, reading and number of trainings: worlds (the units of the
    interval, for the contexts of a world share its models), yes (share of contexts), low, high.
    """
    asked = worlds[worlds["reading"] != methods.RAW]
    keys = ["dose", *ASKED]
    yes = asked.assign(yes=asked["low"] > 0).groupby([*keys, "seed"])["yes"].mean()
    rows = [(*key, len(part), *stats.share(part.to_numpy())) for key, part in yes.groupby(keys)]
    return pd.DataFrame(rows, columns=[*keys, "worlds", "yes", "low", "high"])


def told_apart(worlds: pd.DataFrame) -> pd.DataFrame:
    """How well the size of each effect tells a planted context from one that is not.

    One row a measure and number of trainings: worlds, auc (area under the ROC curve of the effects
    of contexts at dose 1 and where nothing is planted), low, high; the interval resamples worlds.
    """
    rows = []
    for key, part in worlds.groupby(ASKED, sort=False):
        values = by_world(part)
        rows.append((*key, len(values), *stats.bootstrap(lambda parts: auc(*parts), [values])))
    return pd.DataFrame(rows, columns=[*ASKED, "worlds", "auc", "low", "high"])


def by_world(part: pd.DataFrame) -> np.ndarray:
    """One measure's effects, (worlds, 1, 2, contexts): at dose 1, and where nothing is planted."""
    wide = part.pivot(index="seed", columns=["dose", "context_class"], values="effect").dropna()
    return np.stack([wide[1.0], wide[NOTHING]], 1)[:, None]


def auc(values: np.ndarray) -> float:
    """Area under the ROC curve for effects of :func:`by_world`: planted ones are larger."""
    more = np.subtract.outer(values[:, 0, 0].ravel(), values[:, 0, 1].ravel())
    return float(np.sign(more).mean() / 2 + 0.5)  # a tie is a half


def main() -> None:
    """``python -m helpers.contexts.sweep FILE``: measure worlds, and write them to a file."""
    parser = argparse.ArgumentParser(description="Plant context bias, ask every method.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(FIRST, FIRST + WORLDS))
    parser.add_argument("--doses", type=float, nargs="+", default=DOSES)
    parser.add_argument("--per-class", type=int, default=IMAGES.per_class, help="images")
    parser.add_argument("--trainings", type=int, default=RECIPE.trainings)
    asked = parser.parse_args()
    images = Images("world", per_class=asked.per_class)
    recipe = Recipe(trainings=asked.trainings)
    doses = sorted(asked.doses)
    found = pd.concat(world(seed, doses, images, recipe) for seed in asked.seeds)
    records.write(asked.file, found.to_csv(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
