"""How often is each method right about a context? Pairs of worlds: one with a bias, and its twin.

The twin has the same objects in all contexts alike; in the biased world each class has a dose.
Rules were settled on seeds 2000 to 2005; seeds from 3000 on were drawn once, after that."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from helpers import data, models, recorded
from helpers.contexts import colour, methods
from helpers.data import Collection, ImageSet, world
from helpers.data.images import Images
from helpers.models import experiment
from helpers.models.recipe import Recipe

SEEDS = range(3000, 3060)
NOTHING, GROUNDS = 0.25, ("mean", "white", "shuffled")
IMAGES = Images("world", per_class=90)
RECIPE = Recipe(trainings=5)
HELD_OUT, TRUTH = (
    240,
    500_000,
)  # images a class of which a sixth is shown anew; seeds of these
BASELINES = {"edges", "random"}  # in the place of GradCAM's maps


def doses(seed: int, classes: Sequence[str]) -> dict[str, float]:
    """The share of each class's images in its own context, drawn evenly from 0.25 to 1."""
    drawn = np.random.default_rng(seed).uniform(NOTHING, 1, len(classes))
    return dict(zip(classes, drawn.round(2).tolist(), strict=True))


def reliance(networks: Sequence, size: int, seed: int) -> pd.DataFrame:
    """What contexts do to the decisions of each network, on held-out objects: a row a training and
    class. *need*: how much more often its objects are taken for it in their own context; *pull*:
    how much more often others are in its context; *reliance* is their mean, also in logits."""
    drawn = {
        "size": size,
        "seed": TRUTH + seed,
        "per_class": HELD_OUT,
        "splits": ["test"],
    }
    images = {
        where: world.image_set("C", context_bias=bias, marked=None, **drawn)
        for where, bias in (("own", 1.0), ("other", 0.0))
    }
    logits = {
        where: models.logits(networks, some.images) for where, some in images.items()
    }
    other, rows = images["other"], []
    met = other.table["context"].to_numpy()
    own = images["own"].table.groupby("class")["context"].first()
    for k, name in enumerate(other.classes):
        of_class = (other.labels == k).numpy()
        pulled = met == own[name]
        for training in range(len(networks)):
            taken, above = {}, {}
            for where, z in logits.items():
                z = z[training].double()
                taken[where] = (z.argmax(1) == k).double().numpy()
                above[where] = (z[:, k] * len(other.classes) - z.sum(1)).numpy()
                above[where] /= len(other.classes) - 1
            row = {"training": training, "context_class": name}
            for ending, value in (("", taken), ("_logits", above)):
                row[f"need{ending}"] = (value["own"] - value["other"])[of_class].mean()
                row[f"pull{ending}"] = (value["other"] - value["own"])[pulled].mean()
                row[f"reliance{ending}"] = (
                    row[f"need{ending}"] + row[f"pull{ending}"]
                ) / 2
            rows.append(row)
    return pd.DataFrame(rows)


def maps_of(what: str, test: ImageSet, trainings: int, seed: int) -> list[torch.Tensor]:
    """Maps that no network made: the edges of each image, or random numbers, as coarse as a map."""
    if what == "edges":
        grey = test.images.double().mean(1, keepdim=True)
        vertical, horizontal = (grey.diff(dim=d).abs() for d in (2, 3))
        edges = torch.zeros_like(grey)
        edges[:, :, :-1] += vertical
        edges[..., :-1] += horizontal
        coarse = torch.nn.functional.adaptive_avg_pool2d(edges, 5)
    else:
        draw = torch.Generator().manual_seed(seed)
        coarse = torch.rand((len(test), 1, 5, 5), generator=draw, dtype=torch.float64)
    fine = torch.nn.functional.interpolate(
        coarse, test.images.shape[-2:], mode="bilinear"
    )
    return [fine[:, 0]] * trainings


def baselines(collection: Collection, clean: Collection, networks: Sequence, seed: int):
    """What a simpler look says of each context: maps that no network made; how often the mean
    colour of the background names the class; and how often other objects are named wrongly in it
    (*worst context*)."""
    test, parts = collection.sets["C"].split("test"), []
    for what in sorted(BASELINES):
        maps = maps_of(what, test, len(networks), seed)
        parts.append(methods.relevances(maps, test).assign(method=what))
    guess = colour.guesses({"C": collection.sets["C"]}).query("region == 'background'")
    mixed = clean.sets["C"].split("test")
    wrong = (
        (models.logits(networks, mixed.images).argmax(2) != mixed.labels)
        .double()
        .numpy()
    )
    class_of = {context: name for name, context in collection.context_of.items()}
    of = {"object_class": mixed.table["class"], "object": range(len(mixed))}
    of["context_class"] = mixed.table["context"].map(class_of)
    for training in range(len(networks)):
        named = guess.reset_index(drop=True).rename_axis("object").reset_index()
        named = named.assign(
            context_class=named["class"], value=named["right"].astype(float)
        )
        named = named.rename(columns={"class": "object_class"}).assign(
            method="mean colour"
        )
        worst = pd.DataFrame(of | {"value": wrong[training], "method": "worst context"})
        worst = worst[worst["object_class"] != worst["context_class"]]
        more = pd.concat([named, worst], ignore_index=True)
        parts.append(
            more.assign(training=training, quantity="decisions", reading=methods.RAW)
        )
    return pd.concat(parts, ignore_index=True)[methods.ROW]


def answers(
    model: Sequence,
    reference: Sequence,
    collection: Collection,
    clean: Collection,
    seed: int,
) -> pd.DataFrame:
    """Every method's answers about one world, by all its trainings and by the first alone."""
    both, n, parts = [*model, *reference], len(model), []
    table = pd.concat([methods.measured(both, collection, seed=seed)])
    parts.append(methods.beyond(table, n))
    for ground in GROUNDS:
        if ground != methods.GROUND:
            table = methods.composed(both, collection, seed=seed, neutral=ground)
            table = methods.beyond(table, n)
            table = table[table["reading"].isin([methods.NEUTRAL, methods.REFERENCE])]
            parts.append(table.assign(reading=table["reading"] + f" ({ground})"))
    parts.append(baselines(collection, clean, model, seed))
    table, tables = pd.concat(parts, ignore_index=True), []
    for number in dict.fromkeys((n, 1)):
        few = methods.answers(table[table["training"] < number])
        tables.append(few.assign(trainings=number))
    return pd.concat(tables, ignore_index=True)


def pair(seed: int, images: Images, recipe: Recipe, name="model-C") -> pd.DataFrame:
    """A biased world and its twin: a row a world, number of trainings and context, with the dose,
    the reliance, and of each measure its effect and its answer (1 more, -1 less, 0 no)."""
    twice = replace(recipe, trainings=2 * recipe.trainings)
    clean = replace(images, context_bias=NOTHING)
    start = data.load(clean, seed)
    dosed = replace(images, context_bias=doses(seed, start.classes))
    networks = experiment.model(name, start, twice, seed)
    twin, reference = networks[: recipe.trainings], networks[recipe.trainings :]
    worlds, rows = (
        {"biased": (dosed, data.load(dosed, seed)), "twin": (clean, start)},
        [],
    )
    for which, (drawn, collection) in worlds.items():
        model = (
            twin
            if which == "twin"
            else experiment.model(name, collection, recipe, seed)
        )
        table = answers(model, reference, collection, start, seed)
        truth = reliance(model, images.size, seed)
        planted = experiment.planted(drawn).set_index("class")
        measure = table[methods.MEASURE].agg(", ".join, axis=1)
        sign = table["answer"].map({"more": 1, "less": -1}).fillna(0).astype(int)
        table = table.assign(measure=measure, sign=sign)
        for (number, context), part in table.groupby(
            ["trainings", "context_class"], sort=False
        ):
            row = {
                "pair": seed,
                "world": which,
                "trainings": number,
                "context_class": context,
            }
            row["dose"] = planted["p_context_given_class"][context]
            row["p_class_given_context"] = planted["p_class_given_context"][context]
            mine = truth[
                (truth["context_class"] == context) & (truth["training"] < number)
            ]
            row |= mine.drop(columns=["training", "context_class"]).mean().to_dict()
            row |= dict(zip(part["measure"], part["effect"], strict=True))
            clear = part[part["reading"] != methods.RAW]
            row |= dict(zip("answer: " + clear["measure"], clear["sign"], strict=True))
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """``python -m sweeps.context_worlds FILE``: measure pairs of worlds, and write them."""
    many = {"per_class": IMAGES.per_class, "trainings": RECIPE.trainings}
    options = recorded.driver(
        "Plant context bias, ask every method.", seeds=SEEDS, **many
    )
    images = replace(IMAGES, per_class=options.per_class)
    recipe = replace(RECIPE, trainings=options.trainings)
    table = pd.concat(pair(seed, images, recipe) for seed in options.seeds).round(6)
    recorded.write(options.file, table.to_csv(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
