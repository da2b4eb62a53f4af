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

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import scipy.stats

from helpers import models, stats
from helpers.data import ImageSet, embedded
from helpers.focus import feature, pairs
from helpers.focus.rating import logit_of, rate
from helpers.run import artifacts, project
from helpers.run.progress import progress
from helpers.worlds import pictures

DOSES = (0.0, 0.5, 0.75, 0.9, 1.0)
DRAWN = tuple(permutations(pictures.CLASSES, 2))
BLIND = 1 / len(DRAWN)
"""How often a ranking that knows nothing has the drawn pair first."""
EXPLAINED = ("gradcam", "lrp")
"""Methods asked whether they point at the eyespot."""
RECORDED = "data/shared_patch_trials.csv"
SETTINGS = {
    "architecture": "resnet10-eighth",
    "image_size": 96,
    "per_class": 150,
    "context_bias": 0.25,
    "source": "world",
    "epochs": 6,
    "trainings": 5,
    "per_pair": 12,
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
        As from :func:`one`: two rows a trial, and one at dose 1.
    """
    asked = [(float(dose), int(seed)) for seed in seeds for dose in doses]
    return pd.DataFrame(
        [row for dose, seed in progress(asked, desc="trials") for row in one(dose, seed, settings)]
    )


def one(dose: float, seed: int, settings: SimpleNamespace | None = None) -> list[dict]:
    """One trial: a network trained at a dose, several times, and its pairs on two kinds of images.

    The first are drawn like the training images: of the planted classes' the dose carries the
    eyespot. The second are the same images, but all of these two classes' carry it. Between doses
    only what the networks learned differs there.

    Returns
    -------
    list of dict
        One for each kind of held-out images (at dose 1 both are the same, and one is given): dose;
        seed; target; outer (the planted pair: whose eyespot, and who comes to carry it); carried
        (share of held-out images that carry it, of these two classes'); accuracy, recall and
        mistaken, as from :func:`singles`; what :func:`judged` says; and excess_gradcam and
        excess_lrp (relevance for the target on the outer images' eyespots beyond their area, from
        :func:`helpers.focus.feature.on_patch`; NaN unless all carry it).
    """
    settings = settings or SimpleNamespace(**SETTINGS)
    images = _images(dose, seed, settings)
    networks = models.trainings(
        settings.trainings,
        settings.architecture,
        images.split("train"),
        images.split("val"),
        seed=seed,
        epochs=settings.epochs,
        store=project.store(),
    )
    tests = {dose: images.split("test")}
    if dose < 1:
        tests[1.0] = _images(1.0, seed, settings).split("test")
    return [
        {"dose": dose, "seed": seed, **dict(zip(pairs.PAIR, drawn(seed), strict=True))}
        | {"carried": carried, **_tested(networks, test, carried, seed, settings)}
        for carried, test in tests.items()
    ]


@lru_cache(maxsize=2)
def _world(dose: float, seed: int, size: int, per_class: int, context_bias: float) -> ImageSet:
    """One seed's images are asked for at dose 1 again and again."""
    planted = {"context_bias": context_bias, "shared_patch": dose, "patch_classes": drawn(seed)}
    return embedded.image_set("C", size, seed, per_class, **planted)


def _images(dose: float, seed: int, settings: SimpleNamespace) -> ImageSet:
    """A seed's images at a dose."""
    return _world(dose, seed, settings.image_size, settings.per_class, float(settings.context_bias))


def _tested(networks, test: ImageSet, carried: float, seed: int, settings) -> dict:
    """What the networks show on one kind of held-out images."""
    planted = drawn(seed)
    rated = rated_pairs(networks, test, test.classes, settings, seed)
    found = judged(pairs.ranked(rated), planted)
    rows, asked = pairs.of_pair(rated, *planted), {"classes": test.classes}
    excess = {f"excess_{name}": float("nan") for name in EXPLAINED}
    if carried == 1:
        for name in EXPLAINED:
            placed = feature.on_patch(networks, test, rows, name, **asked)
            excess[f"excess_{name}"] = float(placed["excess"].mean())
    return {**singles(networks, test, planted), **found, **excess}


def singles(networks, images: ImageSet, planted: tuple[str, str]) -> dict:
    """Whether single images give the planted pair away.

    Parameters
    ----------
    networks : list of nn.Module
        Trainings, whose logits are in the order of the classes.
    images : ImageSet
    planted : (target, outer)

    Returns
    -------
    dict
        accuracy (on all images); recall (share of the target's images taken for the target); and
        mistaken (share of the outer class's images taken for the target); means over trainings.
    """
    taken = feature.taken_for(networks, images, logit_of(images.classes))
    target, outer = planted
    counts = images.table["class"].value_counts()
    right = sum(taken.loc[name, name] * counts[name] for name in images.classes)
    return {
        "accuracy": float(right / len(images)),
        "recall": float(taken.loc[target, target]),
        "mistaken": float(taken.loc[outer, target]),
    }


def rated_pairs(networks, images, classes, settings: SimpleNamespace, seed: int) -> pd.DataFrame:
    """Every ordered pair's mosaics, rated; parts already rated are found in the store.

    Parameters
    ----------
    networks : list of nn.Module
        Trainings of one model.
    images : ImageSet
        Held out.
    classes : sequence of str, or dict from class to logit
        Of the networks.
    settings
        `method` and `per_pair` are used.
    seed : int
        Of the mosaics.

    Returns
    -------
    DataFrame
        From :func:`helpers.focus.rate`, of the design of :func:`helpers.focus.pairs.design`, with
        the column `training`.
    """
    design = pairs.design(images.table, images.classes, per_pair=settings.per_pair, seed=seed)
    kept = project.store() / "focus"
    rated = [
        rate(network, images.images, design, settings.method, classes=classes, store=kept)
        for network in networks
    ]
    return pd.concat([part.assign(training=t) for t, part in enumerate(rated)], ignore_index=True)


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
        focus (mean, of that pair); others (mean of the other pairs' means); rank (of that pair);
        first (rank is 1); first_by_difference (it is furthest below the same target's other pairs);
        starred (its corrected p < .05); and alarms (other pairs with corrected p < .05).
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


def marked(trials: pd.DataFrame) -> pd.DataFrame:
    """The rows on held-out images that all carry it, of the two planted classes."""
    return trials[trials["carried"] == 1]


def rates(trials: pd.DataFrame, column: str = "first") -> pd.DataFrame:
    """How often something happened at each dose, with Wilson intervals over seeds.

    Parameters
    ----------
    trials : DataFrame
        From :func:`run`, one row a dose and seed: :func:`alike` or :func:`marked`.
    column : str
        "first", "first_by_difference" or "starred".

    Returns
    -------
    DataFrame
        dose, trials, `column` (how many), rate, low, high.
    """
    counts = trials.groupby("dose")[column].agg(["size", "sum"]).astype(int).reset_index()
    counts.columns = ["dose", "trials", column]
    low, high = stats.wilson(counts[column], counts["trials"])
    return counts.assign(rate=counts[column] / counts["trials"], low=low, high=high)


def against_none(rates: pd.DataFrame, column: str = "first") -> pd.DataFrame:
    """Each dose beside dose 0, where nothing is planted.

    Parameters
    ----------
    rates : DataFrame
        From :func:`rates`, of the same column.

    Returns
    -------
    DataFrame
        A row a dose above 0: dose; trials; `column`; difference (of the two shares) with Newcombe's
        low and high; and p (Fisher's exact test, two-sided). Empty where dose 0 was not tried.
    """
    rows, zero = [], rates[rates["dose"] == 0]
    for row in rates[rates["dose"] > 0].to_dict("records") if len(zero) else []:
        k, n, k0, n0 = row[column], row["trials"], zero[column].iloc[0], zero["trials"].iloc[0]
        difference, low, high = stats.newcombe(k, n, k0, n0)
        p = scipy.stats.fisher_exact([[k, n - k], [k0, n0 - k0]])[1]
        found = {"difference": difference, "low": low, "high": high, "p": float(p)}
        rows.append({"dose": row["dose"], "trials": n, column: k, **found})
    columns = ["dose", "trials", column, "difference", "low", "high", "p"]
    return pd.DataFrame(rows, columns=columns)


def headline(rates: pd.DataFrame) -> str:
    """At which doses the planted pair comes first oftener than unplanted, in a sentence."""
    compared = against_none(rates)
    if compared.empty:
        return "How often the planted pair comes first"
    found = compared.loc[(compared["p"] < 0.05) & (compared["low"] > 0), "dose"]
    if found.empty:
        return "At no dose does the planted pair come first oftener than unplanted"
    doses = ", ".join(f"{dose:g}" for dose in found)
    only = "Only at" if len(found) < len(compared) else "At"
    return f"{only} dose {doses} does the planted pair come first oftener than unplanted"


def discordant(trials: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Seeds in which one ranking has the planted pair first and the other has not.

    Parameters
    ----------
    trials : DataFrame
        As for :func:`rates`.
    one, other : str
        Columns of it.

    Returns
    -------
    DataFrame
        A row a dose: dose; only `one` and only `other` (seeds); p (McNemar's exact test).
    """
    rows = []
    for dose, part in trials.groupby("dose"):
        a, b = int((part[one] & ~part[other]).sum()), int((part[other] & ~part[one]).sum())
        p = scipy.stats.binomtest(a, a + b).pvalue if a + b else 1.0
        rows.append({"dose": dose, f"only {one}": a, f"only {other}": b, "p": float(p)})
    return pd.DataFrame(rows)


def counts(trials: pd.DataFrame) -> pd.DataFrame:
    """In how many seeds it happened, by dose.

    Returns
    -------
    DataFrame
        dose; trials; first, first_by_difference and starred (the planted pair is); and alarmed
        (another pair is starred).
    """
    made = trials.assign(alarmed=trials["alarms"] > 0, trials=1)
    shown = ["trials", "first", "first_by_difference", "starred", "alarmed"]
    return made.groupby("dose")[shown].sum().astype(int).reset_index()


def means(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of what is no yes or no, by dose and what the held-out images carry."""
    shown = ["recall", "mistaken", "focus", "others", "alarms", "excess_gradcam", "excess_lrp"]
    return trials.groupby(["dose", "carried"])[shown].mean().reset_index()


def recorded(path: str | None = None) -> pd.DataFrame:
    """Trials made beforehand by the command at the top of this module.

    Parameters
    ----------
    path : str, optional
        Their file, from the root of the repository; None is that of the suite.

    Raises
    ------
    ValueError
        When there is no such file.
    """
    file = project.root() / (path or RECORDED)
    if not file.is_file():
        raise ValueError(
            f"There is no file {str(path)!r} of trials; sweeps/shared_patch.smk makes one."
        )
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
    for column in ("first", "first_by_difference"):
        print(f"\n{column}\n{rates(alike(found), column).round(2).to_string(index=False)}")


if __name__ == "__main__":
    main()
