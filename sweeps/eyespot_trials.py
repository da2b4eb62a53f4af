"""Is a planted feature proved, and an unplanted one not? ``python -m sweeps.eyespot_trials FILE``

Networks are trained with an eyespot moved to a target class; all twelve ordered pairs are tried."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import pandas as pd
import torch

from helpers import models, recorded, store
from helpers.data import ImageSet, world
from helpers.focus import feature, means, mosaics
from helpers.focus.networks import Model
from helpers.focus.rating import rate
from helpers.lesson import seed_everything
from helpers.models.recipe import Recipe
from helpers.store import progress
from synthetic import pictures

CLASSES = pictures.CLASSES
BETWEEN = (0.75, 0.9, 0.95)  # doses tried with one target, by the first seeds
DRAWN = tuple(permutations(CLASSES, 2))
SIZE, PER_CLASS, CONTEXT_BIAS = 96, 150, 0.25
RECIPE = Recipe("resnet10-eighth", trainings=4, epochs=6)
PER_PAIR, MANY = 8, 24  # mosaics of a pair
FINER = ("gradcam", {"layer": "layer2"})
METHODS = {"gradcam": ("gradcam", {}), "finer": FINER, "lrp": ("lrp", {})}


def run(seed: int) -> pd.DataFrame:
    """All trials of a seed, a row a dose and pair: the gain of the target by the eyespot on
    outer images; the rises of Focus when it is painted over, and of other versions."""
    every = dict.fromkeys(CLASSES, 1.0)
    drawn = _images(seed, {}), _images(seed, every), _images(seed, every, "sham")
    tests = [images.split("test") for images in drawn]
    doses = [(0.0, CLASSES[0]), *product([1.0], CLASSES)]
    if seed < len(CLASSES):
        doses += product(BETWEEN, [CLASSES[seed]])
    doses.sort(key=lambda one: one[0])
    return pd.DataFrame([row for one in doses for row in _trials(seed, tests, *one)])


def _images(seed: int, marked: dict[str, float], look: str = "eyespot") -> ImageSet:
    planted = {"context_bias": CONTEXT_BIAS, "marked": marked, "look": look}
    return world.image_set("C", SIZE, seed, PER_CLASS, **planted)


def _mixed(one: ImageSet, classes: Sequence[str], other: ImageSet) -> ImageSet:
    """The images of some classes from one set, and those of all other classes from another."""
    mine = torch.tensor(one.table["class"].isin(classes).tolist())
    return replace(
        one, images=torch.where(mine[:, None, None, None], one.images, other.images)
    )


def _trials(
    seed: int, tests: Sequence[ImageSet], dose: float, planted: str
) -> list[dict]:
    """The trials of the networks that are trained at one dose; `tests` are clean, marked, sham."""
    own = _images(seed, pictures.marked_shares(dose, planted, CLASSES))
    sees = own.to_train()
    settings = {"seed": seed, "epochs": RECIPE.epochs, "folder": store.networks()}
    how = (RECIPE.trainings, RECIPE.architecture, CLASSES)
    trained = models.trainings(*how, lambda t: sees, **settings)
    model = Model(RECIPE, "C", trained, {name: i for i, name in enumerate(CLASSES)})
    clean, marked, sham = tests
    design = mosaics.design(clean.table, CLASSES, per_pair=PER_PAIR, seed=seed)
    starred = {} if dose else _starred(model, clean, seed)
    rows = []
    for target, outer in DRAWN:
        pair, planted_here = (target, outer), dose == 0 or target == planted
        images = _mixed(marked, pair if planted_here else [outer], clean)
        also = {}
        if planted_here:
            spots = feature.of_class(images, marked.patches, outer)
            aside = feature.beside(replace(images, masks=None), spots)
            guess = feature.paint_over(
                marked.images, feature.suspected(model, marked, pair)
            )
            also = {
                "elsewhere": feature.paint_over(images.images, aside),
                "suspected": guess,
            }
            also |= {"sham": _mixed(sham, [outer], marked).images}
            also["erased"] = _mixed(clean, [outer], marked).images
        mine = means.of_pair(design, *pair)
        rated = feature.intervention(
            model, images, mine, marked.patches, "gradcam", also
        )
        row = {"seed": seed, "dose": dose, "planted": planted if dose else ""}
        row |= {"target": target, "outer": outer} | starred
        row["gain"] = feature.gains(model, clean, marked, pair).mean()
        row |= {f"rise_{t}": value for t, value in enumerate(feature.rises(rated))}
        if planted_here:
            row |= {name: feature.rises(rated, name).mean() for name in also}
            row["sham"] = row["erased"] - row["sham"]
            before = rated[rated["state"] == feature.BEFORE]
            for row_of in feature.by_method(model, marked, before, METHODS).to_dict(
                "records"
            ):
                row |= {
                    f"{what}_{row_of['method']}": row_of[what]
                    for what in ("share", "peaks")
                }
                row["area"] = row_of["area"]
            every = rate(model, images, design, "gradcam").groupby(
                [*means.PAIR, "training"]
            )
            of_pair = every["focus"].mean().groupby(means.PAIR).mean()
            row |= {f"{a} > {b}": of_pair[a, b] for a, b in DRAWN}
        rows.append(row)
    return rows


def _starred(model: Model, clean: ImageSet, seed: int) -> dict:
    """How many pairs are "significantly" low where no image carries a mark, with many mosaics."""
    design = mosaics.design(clean.table, CLASSES, per_pair=MANY, seed=seed)
    rated = rate(model, clean, design, "gradcam")
    several = {"starred": rated, "starred_by_one": rated[rated["training"] == 0]}
    return {
        name: int((means.ranked(r)["p_adjusted"] < 0.05).sum())
        for name, r in several.items()
    }


def main() -> None:
    arguments = recorded.driver(
        "Plant an eyespot, and try to prove it.", seeds=range(10)
    )
    seed_everything(0)
    seeds = ((seed,) for seed in progress(arguments.seeds, desc="trials"))
    recorded.in_parts(arguments.file, run, seeds, digits=12, float_format="%.4g")


if __name__ == "__main__":
    main()
