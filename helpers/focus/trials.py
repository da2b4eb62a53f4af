"""Does the ranking find a pair that was planted? Trials over seeds and doses, in the world.

A trial plants the shared patch at one dose (:mod:`helpers.world.patch`), trains a network, and
ranks the pairs of its test images. Every seed draws other images and another pair of classes, so
that no natural likeness of two classes is counted over and over. At dose 0 the pair is only drawn
and not planted: how often it comes first there is the rate of false finds.

    python -m helpers.focus.trials data/recorded/shared_patch_trials.csv --seeds 12

made the trials that notebook 07 shows beside its own few; `sweeps/shared_patch.smk` spreads them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from helpers import artifacts, models, project, stats, world
from helpers.focus import pairs
from helpers.focus.rating import rate
from helpers.inference import logits
from helpers.progress import progress
from helpers.sources import embedded

DOSES = (0.0, 0.5, 0.75, 0.9, 1.0)
DRAWN = tuple(permutations(world.CLASSES, 2))
BLIND = 1 / len(DRAWN)
"""How often a ranking that knows nothing has the drawn pair first."""
RECORDED = "data/recorded/shared_patch_trials.csv"
SETTINGS = {
    "architecture": "resnet18-eighth",
    "image_size": 96,
    "per_class": 150,
    "context_bias": 0.25,
    "epochs": 6,
    "per_pair": 24,
    "method": "gradcam",
}


def drawn(seed: int) -> tuple[str, str]:
    """The target and outer class that a seed plants: each of the twelve ordered pairs in turn."""
    return DRAWN[seed * 5 % len(DRAWN)]


def run(
    doses: Sequence[float], seeds: Sequence[int], settings: SimpleNamespace | None = None
) -> pd.DataFrame:
    """A trial for every dose and seed; networks and ratings already made are found in the store.

    Parameters
    ----------
    doses : sequence of float in [0, 1]
    seeds : sequence of int
    settings
        What `SETTINGS` names; None is those.

    Returns
    -------
    DataFrame
        As from :func:`one`, a row a trial.
    """
    asked = [(float(dose), int(seed)) for seed in seeds for dose in doses]
    rows = [one(dose, seed, settings) for dose, seed in progress(asked, desc="trials")]
    return pd.DataFrame(rows)


def one(dose: float, seed: int, settings: SimpleNamespace | None = None) -> dict:
    """One trial.

    Returns
    -------
    dict
        dose; seed; target; outer (the planted pair: whose eyespot, and who comes to carry it);
        accuracy (of the network on single test images); focus (mean, of that pair); others (mean
        of the other pairs' means); rank (of that pair); first (rank is 1); first_by_difference (it
        is furthest below the same target's other pairs); shown (that, and corrected p < .05);
        alarms (other pairs with corrected p < .05).
    """
    settings = settings or SimpleNamespace(**SETTINGS)
    planted = drawn(seed)
    images = embedded.image_set(
        "C",
        settings.image_size,
        seed,
        settings.per_class,
        context_bias=settings.context_bias,
        shared_patch=dose,
        patch_classes=planted,
    )
    network = models.trained(
        settings.architecture,
        images.split("train"),
        images.split("val"),
        seed=seed,
        epochs=settings.epochs,
        store=project.store(),
    )
    test = images.split("test")
    rated = rated_pairs(network, test, test.classes, settings, seed)
    right = logits(network, test.images).argmax(1) == test.labels
    found = judged(pairs.ranked(rated, resamples=200, seed=seed), planted)
    names = {"dose": dose, "seed": seed, **dict(zip(pairs.PAIR, planted, strict=True))}
    return {**names, "accuracy": float(right.float().mean()), **found}


def rated_pairs(network, images, classes, settings: SimpleNamespace, seed: int) -> pd.DataFrame:
    """Every ordered pair's mosaics, rated; parts already rated are found in the store.

    Parameters
    ----------
    network : nn.Module
    images : ImageSet
        Held out.
    classes : sequence of str, or dict from class to logit
        Of the network.
    settings
        `method` and `per_pair` are used.
    seed : int
        Of the mosaics.

    Returns
    -------
    DataFrame
        From :func:`helpers.focus.rate`, of the design of :func:`helpers.focus.pairs.design`.
    """
    design = pairs.design(images.table, images.classes, per_pair=settings.per_pair, seed=seed)
    kept = project.store() / "focus"
    return rate(network, images.images, design, settings.method, classes=classes, store=kept)


def judged(table: pd.DataFrame, planted: tuple[str, str]) -> dict:
    """What a ranking says of one pair.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.pairs.ranked`.
    planted : (target, outer)

    Returns
    -------
    dict
        focus, others, rank, first, first_by_difference, shown and alarms, as in :func:`one`.
    """
    mine = (table["target"] == planted[0]) & (table["outer"] == planted[1])
    own, low = table[mine].iloc[0], table["p_adjusted"] < 0.05
    return {
        "focus": float(own["focus"]),
        "others": float(table["focus"][~mine].mean()),
        "rank": int(own["rank"]),
        "first": bool(own["rank"] == 1),
        "first_by_difference": bool(own["rank_difference"] == 1),
        "shown": bool(own["rank_difference"] == 1 and low[mine].iloc[0]),
        "alarms": int(low[~mine].sum()),
    }


def rates(trials: pd.DataFrame, column: str = "first") -> pd.DataFrame:
    """How often the planted pair came first at each dose, with Wilson intervals over seeds.

    Parameters
    ----------
    trials : DataFrame
        From :func:`run`.
    column : str
        "first", "first_by_difference" or "shown".

    Returns
    -------
    DataFrame
        dose, trials, first (how many), rate, low, high.
    """
    counts = trials.groupby("dose")[column].agg(["size", "sum"]).astype(int).reset_index()
    counts.columns = ["dose", "trials", "first"]
    low, high = stats.wilson(counts["first"], counts["trials"])
    return counts.assign(rate=counts["first"] / counts["trials"], low=low, high=high)


def seen_from(rates: pd.DataFrame, chance: float = BLIND) -> float:
    """The lowest dose from which on the whole interval lies above what a blind ranking reaches.

    NaN where there is none.
    """
    above = rates.sort_values("dose", ascending=False).set_index("dose")["low"] > chance
    kept = above[above.cummin()]
    return float(kept.index.min()) if len(kept) else float("nan")


def recorded() -> pd.DataFrame:
    """The trials made beforehand by the command at the top of this module."""
    return pd.read_csv(project.root() / RECORDED)


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
        found = pd.concat(map(pd.read_csv, asked.gather)).sort_values(["seed", "dose"])
    else:
        found = run(asked.doses, range(asked.first, asked.first + asked.seeds))
    artifacts.write_text(asked.file, found.to_csv(index=False, float_format="%.4g"))
    for column in ("first", "first_by_difference"):
        print(f"\n{column}\n{rates(found, column).round(2).to_string(index=False)}")


if __name__ == "__main__":
    main()
