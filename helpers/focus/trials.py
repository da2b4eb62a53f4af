"""Does the ranking find a pair that was planted? Trials over seeds and doses, in the world.

A trial plants the shared patch at one dose (`worlds.pictures.patch`), trains a network several
times, and ranks the pairs of its test images over all trainings. Every seed draws other images and
another pair of classes, so that no natural likeness of two classes is counted over and over. At
dose 0 the pair is only drawn and not planted: how often it comes first there is the rate of false
finds. The networks are tested on images of their own dose and on the same ones at dose 1, for at a
lower dose the mosaics themselves show less of what is shared, whatever the networks have learned.

    python -m helpers.focus.trials data/shared_patch_trials.csv --seeds 12

made the trials that notebook 07 shows beside its own few; `sweeps/shared_patch.smk` spreads them.
A run that was stopped goes on from the trainings and ratings that it finds in the store.
"""

import argparse
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar

from helpers import models, stats
from helpers.data import ImageSet, world
from helpers.focus import feature, pairs
from helpers.focus.networks import Model, right, taken_for
from helpers.focus.rating import rate
from helpers.run import artifacts, project
from helpers.run.parameters import Recipe
from helpers.run.progress import progress
from helpers.worlds import pictures

DOSES = (0.0, 0.5, 0.75, 0.9, 1.0)
DRAWN = tuple(permutations(pictures.CLASSES, 2))
BLIND = 1 / len(DRAWN)  # how often a ranking that knows nothing has the drawn pair first
EXPLAINED = {"gradcam": "GradCAM", "lrp": "LRP"}  # asked whether they point at the eyespot
RECORDED = "data/shared_patch_trials.csv"
SIZE, PER_CLASS, CONTEXT_BIAS = 96, 150, 0.25
RECIPE = Recipe("resnet10-eighth", trainings=5, epochs=6)
PER_PAIR = 12  # mosaics


def drawn(seed: int) -> tuple[str, str]:
    """The target and outer class that a seed plants: each of the twelve ordered pairs in turn."""
    return DRAWN[seed * 5 % len(DRAWN)]


def run(doses: Sequence[float], seeds: Sequence[int]) -> pd.DataFrame:
    """A trial for every dose and seed; networks and ratings already made are found in the store.

    Returns
    -------
    DataFrame
        Two rows a trial, and one at dose 1. The first is of images drawn like the training images:
        of the planted classes' the dose carries the eyespot. The second is of the same images, but
        all of these two classes' carry it: between doses only what the networks learned differs
        there. Columns: dose; seed; target; outer (the planted pair: whose eyespot, and who comes to
        carry it); carried (share of the two classes' images that carry it); accuracy; recall (share
        of the target's images taken for it); mistaken (share of the outer class's images taken for
        the target); what :func:`judged` says; and excess_gradcam and excess_lrp (relevance for the
        target on the outer images' eyespots, beyond their area; NaN unless all carry it).
    """
    asked = [(float(dose), int(seed)) for seed in seeds for dose in doses]
    rows = []
    for dose, seed in progress(asked, desc="trials"):
        own = _world(dose, seed)
        trainings = models.trainings(
            RECIPE.trainings,
            RECIPE.architecture,
            own.split("train"),
            own.split("val"),
            seed=seed,
            epochs=RECIPE.epochs,
            store=project.store(),
        )
        model = Model(RECIPE, "C", trainings, {name: i for i, name in enumerate(own.classes)})
        for carried in dict.fromkeys((dose, 1.0)):
            row = {"dose": dose, "seed": seed, **dict(zip(pairs.PAIR, drawn(seed), strict=True))}
            rows.append(row | {"carried": carried, **_tested(model, carried, seed)})
    return pd.DataFrame(rows)


@lru_cache(maxsize=2)
def _world(dose: float, seed: int) -> ImageSet:
    """One seed's images at a dose; those of dose 1 are asked for again and again."""
    planted = {"shared_patch": dose, "patch_classes": drawn(seed), "context_bias": CONTEXT_BIAS}
    return world.image_set("C", SIZE, seed, PER_CLASS, **planted)


def _tested(model: Model, carried: float, seed: int) -> dict:
    """What the networks show on one kind of held-out images."""
    planted, test = drawn(seed), _world(carried, seed).split("test")
    design = pairs.design(test.table, test.classes, per_pair=PER_PAIR, seed=seed)
    rated = rate(model, test, design, "gradcam")
    taken = taken_for(model, test)
    row = {"accuracy": float(right(model, test).mean())}
    row |= {"recall": taken.loc[planted[0], planted[0]], "mistaken": taken.loc[planted[::-1]]}
    row |= judged(pairs.ranked(rated), planted)
    excess = [float("nan")] * len(EXPLAINED)
    if carried == 1:
        placed = feature.by_method(model, test, pairs.of_pair(rated, *planted), EXPLAINED)
        excess = placed["share"] - placed["area"]
    return row | {f"excess_{name}": x for name, x in zip(EXPLAINED, excess, strict=True)}


def judged(table: pd.DataFrame, planted: tuple[str, str]) -> dict:
    """What the ranking of :func:`helpers.focus.pairs.ranked` says of one pair.

    Its mean Focus and that of the others; its rank; whether it is first, first by the difference
    from the same target's other pairs, and starred; and how many others are starred.
    """
    mine = (table["target"] == planted[0]) & (table["outer"] == planted[1])
    own, low = table[mine].iloc[0], table["p_adjusted"] < 0.05
    return {
        "focus": float(own["focus"]),
        "others": float(table["focus"][~mine].mean()),
        "rank": int(own["rank"]),
        "first": bool(own["rank"] == 1),
        "first_by_difference": bool(own["rank_difference"] == 1),
        "starred": bool(low[mine].iloc[0]),
        "alarms": int(low[~mine].sum()),
    }


def alike(trials: pd.DataFrame) -> pd.DataFrame:
    """The rows on held-out images that carry the eyespot as the training images do."""
    return trials[trials["carried"] == trials["dose"]]


def rates(trials: pd.DataFrame) -> pd.DataFrame:
    """How often the planted pair came first at each dose, and how often where nothing is planted.

    `trials` has one row a dose and seed, as :func:`alike` gives them.

    Returns
    -------
    DataFrame
        dose; trials; in how many of them the planted pair was first, first_by_difference and
        starred, and another pair was starred (alarmed); rate (of first) with Wilson's low and high.
        Beside dose 0, of the same seeds: difference (of the rates) with difference_low and
        difference_high; p (McNemar's exact test) and p_holm (corrected for all doses). NaN at dose
        0, and where it was not tried.
    """
    known = trials.assign(alarmed=trials["alarms"] > 0, trials=1)
    counted = ["trials", "first", "first_by_difference", "starred", "alarmed"]
    found = known.groupby("dose")[counted].sum().astype(int).reset_index()
    found["rate"] = found["first"] / found["trials"]
    found["low"], found["high"] = stats.wilson(found["first"], found["trials"])
    wide = trials.pivot(index="seed", columns="dose", values="first")
    beside = [_beside_none(wide, dose) for dose in found["dose"]]
    columns = ["difference", "difference_low", "difference_high", "p"]
    found[columns] = pd.DataFrame(beside, columns=columns, index=found.index, dtype=float)
    return found.assign(p_holm=stats.adjust(found["p"]))


def _beside_none(wide: pd.DataFrame, dose: float) -> tuple[float, ...]:
    """One dose against dose 0, seed by seed."""
    if dose == 0 or 0 not in wide:
        return (float("nan"),) * 4
    both = wide[[dose, 0.0]].dropna().astype(bool)
    gap = np.clip(stats.mean(both[dose].astype(float) - both[0.0]).interval(), -1, 1)
    return *gap, paired_p(both[dose], both[0.0])


def paired_p(one: pd.Series, other: pd.Series) -> float:
    """McNemar's exact p of two yes or no answers about the same seeds."""
    yes = [True, False]
    table = pd.crosstab(one, other).reindex(index=yes, columns=yes, fill_value=0)
    return float(mcnemar(table.to_numpy(), exact=True).pvalue)


def means(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of what is measured, by dose and what the held-out images carry."""
    shown = ["recall", "mistaken", "focus", "others", "alarms", "excess_gradcam", "excess_lrp"]
    return trials.groupby(["dose", "carried"])[shown].mean().reset_index()


def recorded(path: str = RECORDED) -> pd.DataFrame:
    """Trials made beforehand by the command at the top of this module; `path` is from the root."""
    file = project.root() / path
    if not file.is_file():
        raise ValueError(f"There is no file {path!r} of trials; sweeps/shared_patch.smk makes one.")
    return pd.read_csv(file)


def main() -> None:
    """``python -m helpers.focus.trials FILE``: write trials as CSV, or gather files of them."""
    parser = argparse.ArgumentParser(description="Plant the shared patch, rank the pairs.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=12, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--doses", type=float, nargs="+", default=DOSES)
    parser.add_argument("--gather", type=Path, nargs="+", help="read these instead")
    asked = parser.parse_args()
    project.seed_everything(0)
    if asked.gather:
        found = pd.concat(map(pd.read_csv, asked.gather)).sort_values(["seed", "dose", "carried"])
    else:
        found = run(asked.doses, range(asked.first, asked.first + asked.seeds))
    artifacts.write_text(asked.file, found.to_csv(index=False, float_format="%.4g"))
    print(rates(alike(found)).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
