"""Is a planted feature proved, and an unplanted one not? Trials over seeds, pairs and doses.

A seed has its own images. At each dose an eyespot is moved to a target class
(`worlds.pictures.patch`), and a network is trained several times. In the mosaics the target's
images carry the eyespot, as in training at dose 1, and so do the images of one outer class, which
never carried it in training at dose 1. Every seed tries all twelve ordered pairs at dose 0, where
the eyespot says nothing, and at dose 1; the first four also try one target each at the doses
between. The networks of dose 0 are the reference of all others.

    python -m helpers.focus.trials data/eyespot_trials.csv

made the trials that notebook 07 shows; `sweeps/eyespot.smk` spreads them. The rules (`EFFECT`, how
mosaics and masks are made, the recipe) were chosen on the seeds 900 to 902, and the trials were run
once. A run that was stopped goes on from the seeds that it finds in the store.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers import models
from helpers.data import ImageSet, world
from helpers.focus import feature, pairs
from helpers.focus.mosaics import IMAGES, TARGETS
from helpers.focus.networks import Model
from helpers.focus.rating import rate
from helpers.run import artifacts, project
from helpers.run.parameters import Recipe
from helpers.run.progress import progress
from helpers.worlds import pictures

CLASSES = pictures.CLASSES
BETWEEN = (0.75, 0.9, 0.95)  # doses tried with one target, by the first seeds
DRAWN = tuple(permutations(CLASSES, 2))
RECORDED = "data/eyespot_trials.csv"
SIZE, PER_CLASS, CONTEXT_BIAS = 96, 150, 0.25
RECIPE = Recipe("resnet10-eighth", trainings=4, epochs=6)
PER_PAIR, MANY = 8, 24  # mosaics of a pair
LEARNED = 2.0  # logits: an eyespot that adds more to the target was learned
FINER = ("gradcam", {"layer": "layer2"})
METHODS = {"gradcam": ("gradcam", {}), "finer": FINER, "lrp": ("lrp", {})}
STATES = [("clean", "clean"), ("clean", "marked"), ("clean", "over")]
STATES += [("marked", other) for other in ("clean", "marked", "over", "away", "sham")]
"""Of the target's images and of the outer ones, in which mosaics are rated."""
ALONE = {"focus": 0.0, "set": "C", "architecture": RECIPE.architecture}
VERSION = 2


def run(seeds: Sequence[int]) -> pd.DataFrame:
    """All trials of some seeds; a seed that was tried is found in the store.

    Returns
    -------
    DataFrame, one row a trial: a seed, dose and pair of classes
        dose; seed; planted (the class to which the eyespot is moved); target, outer (the pair that
        is asked about, not always the planted one); gain (of the target's logit by the eyespot on
        outer images, mean over trainings); rise_0 ... rise_3 (of Focus when it is painted over, by
        training); erased, elsewhere, sham (rise with images that never carried it; when as much is
        painted over elsewhere; of no mark beside a sham one); suspected (rise when what LRP points
        at is painted over). Where the target is the planted class: share_*, area and peaks_* (the
        wrong relevance on the eyespot, by method); p (rise beside the reference trainings); and the
        mean Focus of each pair, "bench > mug" and so on, where both classes of the trial's pair
        carry the eyespot. At dose 0: starred and starred_by_one, how many pairs are "significantly"
        low where no image carries an eyespot, over all trainings and by one network.
    """
    found = []
    for seed in progress(seeds, desc="trials"):
        name = artifacts.key("trials", seed=seed, version=VERSION, recipe=RECIPE, per=PER_PAIR)
        file = project.store() / "trials" / f"{name}.csv"

        def make(path: Path, seed: int = seed) -> None:
            pd.DataFrame(_seed(seed)).to_csv(path, index=False, float_format="%.4g")

        found.append(pd.read_csv(artifacts.cached(file, make)))
    return pd.concat(found, ignore_index=True)


def _seed(seed: int) -> list[dict]:
    """All trials of one seed: dose 0 first, whose networks are the reference of the others."""
    shown = Shown.of(seed)
    rows = _trials(shown, 0.0, CLASSES[0], {})
    reference = {(row["target"], row["outer"]): _rises(row) for row in rows}
    asked = list(product([1.0], CLASSES))
    if seed < len(CLASSES):
        asked += product(BETWEEN, [CLASSES[seed]])
    for dose, planted in asked:
        rows += _trials(shown, dose, planted, reference)
    return rows


@dataclass(frozen=True)
class Shown:
    """One seed's held-out images in every state, and the mosaics made of them."""

    seed: int
    states: dict[str, ImageSet]
    design: pd.DataFrame

    @classmethod
    def of(cls, seed: int) -> "Shown":
        """Drawn clean, with the eyespot or a sham on all, and with the eyespot painted over."""
        every = dict.fromkeys(CLASSES, 1.0)
        clean = _images(seed, {}).split("test")
        marked = _images(seed, every).split("test")
        sham = _images(seed, every, "sham").split("test")
        over = feature.paint_over(marked.images, marked.patches)
        away = feature.paint_over(marked.images, feature.elsewhere(marked.patches))
        states = {"clean": clean, "marked": marked, "sham": sham}
        states |= {"over": replace(marked, images=over), "away": replace(marked, images=away)}
        design = pairs.design(clean.table, CLASSES, per_pair=PER_PAIR, seed=seed)
        return cls(seed, states, design)

    def rated(self, model: Model) -> pd.DataFrame:
        """Every mosaic in the `STATES` of its target's and of its outer images."""
        names = list(self.states)
        images = torch.cat([one.images for one in self.states.values()])
        parts = []
        for inner, outer in STATES:
            at = np.where(self.design[TARGETS], names.index(inner), names.index(outer))
            moved = self.design[IMAGES] + at * len(self.states["clean"])
            parts.append(self.design.assign(**moved, inner=inner, beside=outer))
        return rate(
            model, replace(self.states["clean"], images=images), pd.concat(parts), "gradcam"
        )


def _images(seed: int, marked: dict[str, float], look: str = "eyespot") -> ImageSet:
    planted = {"context_bias": CONTEXT_BIAS, "marked": marked, "look": look}
    return world.image_set("C", SIZE, seed, PER_CLASS, **planted)


def _rises(row: dict) -> np.ndarray:
    return np.array([row[f"rise_{t}"] for t in range(RECIPE.trainings)])


def _trials(shown: Shown, dose: float, planted: str, reference: dict) -> list[dict]:
    """The trials of the networks that are trained at one dose of one seed."""
    own = _images(shown.seed, pictures.marked_shares(dose, planted, CLASSES))
    sets = own.split("train"), own.split("val")
    settings = {"seed": shown.seed, "epochs": RECIPE.epochs, "store": project.store()}
    trained = models.trainings(RECIPE.trainings, RECIPE.architecture, *sets, **settings)
    model = Model(RECIPE, "C", trained, {name: i for i, name in enumerate(CLASSES)})
    rated = shown.rated(model)
    focus = rated.groupby(["inner", "beside", *pairs.PAIR, "training"])["focus"].mean()
    starred = {} if dose else _starred(shown, model)
    rows = []
    for target, outer in DRAWN:
        asked = dose == 0 or target == planted
        inner = "marked" if asked else "clean"
        rises = focus[inner, "over", target, outer] - focus[inner, "marked", target, outer]
        gain = feature.gains(model, shown.states["clean"], shown.states["marked"], (target, outer))
        row = {"seed": shown.seed, "dose": dose, "planted": planted if dose else ""}
        row |= {"target": target, "outer": outer, "gain": gain.mean()} | starred
        row |= {f"rise_{t}": value for t, value in enumerate(rises)}
        if asked:
            row |= _more(shown, model, focus, (target, outer))
        if asked and dose:
            row["p"] = feature.beyond(_rises(row), reference[target, outer])
        rows.append(row)
    return rows


def _starred(shown: Shown, model: Model) -> dict:
    """How many pairs are "significantly" low where no image carries a mark, over all trainings and
    by one network; with more mosaics than elsewhere, as one would take to be sure."""
    clean = shown.states["clean"]
    design = pairs.design(clean.table, CLASSES, per_pair=MANY, seed=shown.seed)
    rated = rate(model, clean, design, "gradcam")
    several = {"starred": rated, "starred_by_one": rated[rated["training"] == 0]}
    return {name: int((pairs.ranked(r)["p_adjusted"] < 0.05).sum()) for name, r in several.items()}


def _more(shown: Shown, model: Model, focus: pd.Series, pair: tuple[str, str]) -> dict:
    """What is measured where the target's own images carry the eyespot."""
    means = focus.groupby(level=[0, 1, 2, 3]).mean()
    own = {beside: means["marked", beside, *pair] for _, beside in STATES[3:]}
    row = {
        "erased": own["clean"] - own["marked"],
        "elsewhere": own["away"] - own["marked"],
        "sham": own["clean"] - own["sham"],
    }
    marked = shown.states["marked"]
    rows = pairs.of_pair(shown.design, *pair)
    masks = feature.suspected(model, marked, pair)
    over = replace(marked, images=feature.paint_over(marked.images, masks))
    again = rate(model, over, rows, "gradcam")
    row["suspected"] = again["focus"].mean() - own["marked"]
    mine = pd.concat(rows.assign(training=t, **ALONE) for t in range(RECIPE.trainings))
    for found in feature.by_method(model, marked, mine, METHODS).to_dict("records"):
        row |= {f"{what}_{found['method']}": found[what] for what in ("share", "peaks")}
        row["area"] = found["area"]
    state = {name: "marked" if name in pair else "clean" for name in CLASSES}
    return row | {f"{a} > {b}": means[state[a], state[b], a, b] for a, b in DRAWN}


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials about the planted pair, and all of dose 0, each with its verdicts.

    Added are rise (of Focus, mean over trainings); found (at least `EFFECT`); found_by_one (by the
    first training alone); learned (the gain is above `LEARNED`); and first (the pair has the lowest
    mean Focus of all, as the paper ranks them).
    """
    own = trials[(trials["dose"] == 0) | (trials["target"] == trials["planted"])]
    own = own.reset_index(drop=True)
    columns = [f"{a} > {b}" for a, b in DRAWN]
    rise = own.filter(like="rise_").mean(axis=1)
    return own.assign(
        rise=rise,
        found=rise >= feature.EFFECT,
        found_by_one=own["rise_0"] >= feature.EFFECT,
        learned=own["gain"] > LEARNED,
        first=own[columns].idxmin(axis=1) == own["target"] + " > " + own["outer"],
    )


def rates(judged: pd.DataFrame) -> pd.DataFrame:
    """By dose: trials, gain, rises, and how many are learned, found and first of the ranking."""
    counted = judged.assign(trials=1, learned_and_found=judged["learned"] & judged["found"])
    sums = ["trials", "first", "learned", "learned_and_found", "found", "found_by_one"]
    means = ["gain", "rise", "erased", "elsewhere", "sham", "suspected"]
    by = counted.groupby("dose")
    return pd.concat([by[sums].sum().astype(int), by[means].mean()], axis=1).reset_index()


def starred(judged: pd.DataFrame) -> str:
    """In how many seeds a test of pairs against each other stars one where nothing is planted."""
    seeds = judged[judged["dose"] == 0].groupby("seed")[["starred", "starred_by_one"]].first()
    several, one = (seeds > 0).sum()
    counted = f"{several} of {len(seeds)} seeds over all trainings, in {one} by one network"
    return f"nothing planted, and a pair is significantly low: in {counted}"


def recorded(path: str = RECORDED) -> pd.DataFrame:
    """Trials made beforehand by the command at the top of this module; `path` is from the root."""
    file = project.root() / path
    if not file.is_file():
        raise ValueError(f"There is no file {path!r} of trials; sweeps/eyespot.smk makes one.")
    return pd.read_csv(file)


def main() -> None:
    """``python -m helpers.focus.trials FILE``: write trials as CSV, or gather files of them."""
    parser = argparse.ArgumentParser(description="Plant an eyespot, and try to prove it.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)), help="which")
    parser.add_argument("--gather", type=Path, nargs="+", help="read these instead")
    asked = parser.parse_args()
    project.seed_everything(0)
    if asked.gather:
        found = pd.concat(map(pd.read_csv, asked.gather)).sort_values(
            ["seed", "dose"], kind="stable"
        )
    else:
        found = run(asked.seeds)
    artifacts.write_text(asked.file, found.to_csv(index=False, float_format="%.4g"))


if __name__ == "__main__":
    main()
