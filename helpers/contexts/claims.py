"""Estimates for the claims of *Assessing Biases through Visual Contexts*, by their ids.

The claims, what they are judged by and what the paper prints are rows of ``data/paper/claims.csv``.
A function here returns estimates for as many of a notebook's claims as its tables can give; what
the paper says of its own classes is measured where the collection has these.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers import stats
from helpers.contexts import (
    background,
    cross_evaluation,
    effects,
    methods,
    mitigation,
    paper,
    sweep,
)
from helpers.contexts.paper import CLASS_OF
from helpers.data import Collection
from helpers.models import experiment
from helpers.run.claims import Estimate

PER_CLASS = [100, 25, 25]  # images for training, validation and test (section 2.1.2)
# Differences of accuracies that the paper reports: (model, test set) to weight.
ACCURACIES = {
    "contexts/WB-over-C/NC": {("model-WB", "NC"): 1, ("model-C", "NC"): -1},
    "contexts/WB-over-C/other": {("model-WB", "C"): 1, ("model-C", "WB"): -1},
    "contexts/hardest-is-C/model-WB": {("model-WB", "NC"): 1, ("model-WB", "C"): -1},
}
FRESH, TUNED = (
    {of[1]: name for name, of in experiment.MODELS.items() if of[0] == family}
    for family in ("scratch", "fine-tuned")
)
# Stronger and weaker context by the paper's counts.
STRONGER = (("park", "sky"), ("sky", "wood"), ("wood", "road"))
TENTH = 0.1  # of the planted share, for which a slope is given
SHARES = {
    "p_context_given_class": "p(context | class)",
    "p_class_given_context": "p(class | context)",
}


def of_datasets(
    collection: Collection, guesses: pd.DataFrame, planted: pd.DataFrame | None
) -> list[Estimate]:
    """Section 2.1.1 on the image sets, and what colour alone gives away (notebook 01).

    `guesses` is from :func:`helpers.contexts.background.guesses`, and `planted` from
    :func:`helpers.models.experiment.planted`: None where nothing is known.
    """
    found, counts = [], collection.summary().loc["C"]
    if (counts["total"] == sum(PER_CLASS)).all():
        other = int((counts[["train", "val", "test"]] != PER_CLASS).any(axis=1).sum())
        found.append(Estimate("contexts/images-a-class", (other,) * 3))
    rights = {
        name: part["right"].to_numpy(float)
        for name, part in guesses[guesses["set"] == "C"].groupby("region", sort=False)
    }
    region = "background" if "background" in rights else "image"
    table = background.given_away(guesses).set_index(["set", "region"])
    row = table.loc[("C", region)]
    more = tuple(row[["accuracy", "low", "high"]] - row["chance"])
    found.append(Estimate("suite/contexts/colour", more, {"region": region}))
    if "background" in rights:
        paired = rights["background"] - rights["object"]
        interval = stats.mean(paired, shares=True).interval()
        found.append(Estimate("suite/contexts/colour-of-background", interval))
    if planted is not None:
        shown = experiment.class_by_context(collection)
        asked = planted.set_index("class")["p_context_given_class"] * shown.sum(axis=1)
        off = float((np.diag(shown) - asked[shown.index]).abs().max().round(6))
        found.append(Estimate("suite/contexts/planted", (off,) * 3))
    return found


def of_cross_evaluation(predictions: pd.DataFrame) -> list[Estimate]:
    """Section 2.1.3, as far as the models and sets are there (notebook 02).

    `predictions` is from :func:`helpers.contexts.cross_evaluation.predictions`.
    """
    accuracy = predictions.groupby(["model", "test_set"])["right"].mean()
    elsewhere = predictions[predictions["test_set"] != predictions["train_set"]]
    outside = {  # accuracies of each model on the sets it was not trained on
        name: part.groupby(["model", "test_set"], sort=False)["right"].mean()
        for name, part in elsewhere.groupby("model")
    }
    fresh, tuned = (
        {own: name for own, name in family.items() if name in outside} for family in (FRESH, TUNED)
    )
    asked = dict(ACCURACIES)
    least = {  # claims about several models: those weights of which the sum is smallest
        "contexts/own-set": [
            {(name, own): 1, outside[name].idxmax(): -1} for own, name in fresh.items()
        ],
        "contexts/hardest-is-C/NC": [
            {(family["NC"], "WB"): 1, (family["NC"], "C"): -1}
            for family in (fresh, tuned)
            if "NC" in family
        ],
        "contexts/pretrained-better": [
            {(tuned[own], test): 1, (fresh[own], test): -1}
            for own in fresh
            if own in tuned
            for test in predictions["test_set"].unique()
        ],
    }
    if len(fresh) == len(FRESH):
        rivals = pd.concat([outside[fresh[own]].nsmallest(1) for own in ("C", "NC")])
        worst = outside[fresh["WB"]].idxmin()
        asked["contexts/only-consistent"] = {worst: 1, rivals.idxmax(): -1}
    for own in ("WB", "NC"):
        if {"C", own} <= set(fresh):
            better, worse = outside[fresh[own]].index, outside[fresh["C"]].index
            weights = {pair: 1 / len(better) for pair in better}
            weights |= {pair: -1 / len(worse) for pair in worse}
            asked[f"contexts/C-generalises-worst/{own}"] = weights
    if fresh and tuned:
        asked["contexts/pretrained-lose-less"] = {
            pair: sign * weight / len(family)
            for family, sign in ((fresh, 1), (tuned, -1))
            for name in family.values()
            for pair, weight in cross_evaluation.lost(predictions, name).items()
        }
    for claim, several in least.items():
        there = [weights for weights in several if set(weights) <= set(accuracy.index)]
        if there:
            asked[claim] = min(
                there, key=lambda weights: sum(w * accuracy[pair] for pair, w in weights.items())
            )
    found = [
        Estimate(claim, cross_evaluation.contrast(predictions, weights))
        for claim, weights in asked.items()
        if set(weights) <= set(accuracy.index)
    ]
    own = predictions[predictions["test_set"] == predictions["train_set"]]
    if len(own):
        worst = own.groupby(["model", "test_set"])["right"].mean().idxmin()
        tested = own.loc[own["test_set"] == worst[1], "class"]
        chance = tested.value_counts(normalize=True).max()
        above = np.subtract(cross_evaluation.contrast(predictions, {worst: 1}), chance)
        found.append(Estimate("suite/contexts/own-test", tuple(above)))
    return found


def of_mosaics(images: pd.DataFrame, pairs: pd.DataFrame, collection: Collection) -> list[Estimate]:
    """Section 3 on each context and each pair, in the paper's own quantities (notebook 03).

    `images` and `pairs` are from ``per_image`` and ``of_pairs`` of
    :mod:`helpers.contexts.effects`.
    """
    weakest = pairs.loc[pairs["drop"].idxmin()]
    found = [Estimate("contexts/every-pair", _ends(weakest, "drop"))]
    if collection.has_the_papers_classes():
        found += _of_the_papers_mosaics(images, pairs)
        alike = paper.agreement(images).set_index("quantity")
        found += [
            Estimate(f"suite/contexts/alike/{name}", tuple(row))
            for name, row in alike[["rank_correlation", "low", "high"]].iterrows()
            if name in ("flip_share", "mosaic_distance")
        ]
    return found


def _of_the_papers_mosaics(images: pd.DataFrame, pairs: pd.DataFrame) -> list[Estimate]:
    """What section 3 says of the paper's own classes and contexts."""
    found = {
        f"contexts/stronger/{first}-{second}": effects.contrast(
            images, {CLASS_OF[first]: 1, CLASS_OF[second]: -1}, "flip_share"
        )
        for first, second in STRONGER
    }
    every = images.groupby(["object_class", "training", "object"], as_index=False, sort=False)
    found["contexts/hydrants-flip-least"] = _less(every["flip_share"].mean(), "fire hydrant")
    by_context = dict(list(images.groupby("context_class")))
    found["contexts/planes-on-road"] = _less(by_context[CLASS_OF["road"]], "plane")
    hydrants = by_context[CLASS_OF["sky"]].query("object_class == 'fire hydrant'")
    kept = hydrants.assign(kept_share=hydrants["kept"] / hydrants["mosaics"])
    found["contexts/hydrants-kept"] = stats.share(effects.grid(kept, "kept_share"))
    rows = pairs.set_index(["object_class", "context_class"])
    mugs = rows.loc[[("mug", CLASS_OF["sky"]), ("mug", CLASS_OF["park"])]]
    beside = rows[rows.index.get_level_values("context_class") == CLASS_OF["road"]]
    for claim, part, place in (
        ("contexts/mugs-across", mugs, mugs["mosaic_distance"].argmax()),
        ("contexts/road-not-across", beside, beside["mosaic_distance"].argmin()),
    ):
        found[claim] = _ends(part.iloc[place], "mosaic_distance")
    return [Estimate(claim, interval) for claim, interval in found.items()]


def of_controls(
    images: pd.DataFrame,
    reference: pd.DataFrame | None,
    planted: pd.DataFrame | None,
    collection: Collection,
) -> list[Estimate]:
    """Whether it is the context or the mosaic (notebook 03b).

    `images` and `reference` are from :func:`helpers.contexts.effects.per_image`, `planted` from
    :func:`helpers.models.experiment.planted`; the last two are None where they are not known.
    """
    if reference is None:
        strengths = effects.of_contexts(images)
        return _of_each("suite/contexts/effect", strengths, "context_effect", collection)
    beyond = effects.beyond(images, reference)
    strengths = effects.of_contexts(beyond)
    found = _of_each("suite/contexts/effect-beyond", strengths, "context_effect", collection)
    found += _of_each("suite/contexts/flips-beyond", strengths, "flip_share", collection)
    for share in ("p_context_given_class", "p_class_given_context"):
        known = planted.set_index("class")[share]
        if known.nunique() > 1:
            slope = effects.contrast(beyond, effects.slope(known / TENTH))
            found.append(Estimate("suite/contexts/planted-slope", slope, {"share": SHARES[share]}))
    return found


def of_changed(images: pd.DataFrame, strongest: str, collection: Collection) -> list[Estimate]:
    """Whether the one strongly planted context is found, by flips and by effect (notebook 03b).

    `images` are as in :func:`of_controls`; `strongest` is the class of that context.
    """
    others = [name for name in images["context_class"].unique() if name != strongest]
    weights = {strongest: 1, **dict.fromkeys(others, -1 / len(others))}
    of = {"context": collection.context_of[strongest]}
    return [
        Estimate(f"suite/contexts/changed/{name}", effects.contrast(images, weights, measure), of)
        for name, measure in (("flips", "flip_share"), ("effect", "context_effect"))
    ]


def _less(images: pd.DataFrame, name: str) -> stats.Interval:
    """An object class's share of flipped mosaics less the mean of the other classes'."""
    parts = {
        label: effects.grid(part, "flip_share") for label, part in images.groupby("object_class")
    }
    return _difference([parts.pop(name)], list(parts.values()))


def _difference(first: list[np.ndarray], second: list[np.ndarray]) -> stats.Interval:
    """Mean share of some groups less that of others, over trainings and images."""
    weights = [1 / len(first)] * len(first) + [-1 / len(second)] * len(second)
    return stats.mean([*first, *second], weights, shares=True).interval()


def of_pasting(
    alone: Mapping[str, np.ndarray],
    mosaics: pd.DataFrame,
    pasted: pd.DataFrame | None,
    reference: pd.DataFrame | None,
    collection: Collection,
) -> list[Estimate]:
    """Results Checks, on contexts alone and with objects pasted into them (notebook 04).

    `alone` is from :func:`helpers.contexts.pasting.alone`; `mosaics`, `pasted` and `reference` are
    from :func:`helpers.contexts.effects.per_image`, the last two None where nothing could be pasted
    and where there are no trainings without the bias.
    """
    papers, found = collection.has_the_papers_classes(), []
    if papers:
        shown = {name: alone[CLASS_OF[name]] for name in ("sky", "park", "wood", "road")}
        road = _difference([shown["road"]], [shown[name] for name in ("sky", "park", "wood")])
        found = [
            Estimate(f"contexts/alone/{name}", road if name == "road" else stats.share(said))
            for name, said in shown.items()
        ]
    if pasted is None:
        return found
    if reference is not None:
        pairs = effects.beyond(pasted, reference).groupby(effects.PAIR)
        grids = [effects.grid(part, "taken_effect") for _, part in pairs]
        beyond = stats.mean(grids, shares=True).interval()
        found.append(Estimate("suite/contexts/pasted-effect", beyond))
    found.append(Estimate("suite/contexts/methods-agree", effects.agreement(mosaics, pasted)))
    return found + (_of_the_papers_pasting(mosaics, pasted) if papers else [])


def _of_the_papers_pasting(mosaics: pd.DataFrame, pasted: pd.DataFrame) -> list[Estimate]:
    """What Results Checks says of the paper's own classes and contexts."""
    taken = {context: {} for context in CLASS_OF}
    for context, label in CLASS_OF.items():
        for name, part in pasted[pasted["context_class"] == label].groupby("object_class"):
            taken[context][name] = effects.grid(part, "taken_share")
    least = min(taken["park"].values(), key=np.mean)
    sky = taken["sky"]
    # The eleven pairs that the paper prints both counts for, each method by what the paper counts.
    printed = paper.pairs()[effects.PAIR]
    both = [
        table.rename(columns={share: "share"}).merge(printed, on=effects.PAIR)
        for table, share in ((mosaics, "flip_share"), (pasted, "taken_share"))
    ]
    found = {
        "contexts/pasted/sky": _difference([sky["fire hydrant"]], [sky["bench"], sky["mug"]]),
        "contexts/pasted/park": stats.share(least),
        "contexts/pasted/road": stats.share(list(taken["road"].values())),
        "contexts/pasted/wood": stats.share(list(taken["wood"].values())),
        "contexts/consistent": effects.agreement(*both, value="share"),
        "suite/contexts/counts-as-paper": _as_printed(pasted),
    }
    return [Estimate(claim, interval) for claim, interval in found.items()]


def _as_printed(pasted: pd.DataFrame) -> stats.Interval:
    """How our composites taken for the context's class rank as the paper's counts of them do."""
    ours = (
        pasted.groupby(effects.PAIR)["taken_share"].mean().rename_axis(["context_class", "pasted"])
    )
    theirs = paper.printed("paste").set_index(["context_class", "pasted"])["predicted"]
    return stats.spearman(*ours.to_frame("ours").join(theirs).to_numpy().T)


def of_gradcam(
    table: pd.DataFrame | None, tested: pd.DataFrame | None, collection: Collection
) -> list[Estimate]:
    """Section 4 on what GradCAM alone shows (notebook 05).

    `table` is from :func:`helpers.contexts.background.relevance`, None without masks; `tested` from
    :func:`helpers.contexts.background.fair_test`, None without trainings to compare with. Nothing
    is estimated where all maps of a class are empty.
    """
    found = []
    if table is not None and collection.has_the_papers_classes():
        by_class = table.groupby("class", sort=False)
        peaks = {name: effects.grid(part, "peak") for name, part in by_class}
        if not any(np.isnan(peak).all() for peak in peaks.values()):
            bench, plane = stats.share(peaks["bench"]), peaks.pop("plane")
            found = [
                Estimate("contexts/gradcam/plane", _difference([plane], list(peaks.values()))),
                Estimate("contexts/gradcam/bench", bench),
            ]
    if tested is not None:
        coarse = tested[tested["pixels"] == tested.groupby("size")["pixels"].transform("min")]
        for size, part in coarse.groupby("size"):
            grids = [effects.grid(group, "share") for _, group in part.groupby("class")]
            known = [grid for grid in grids if not np.isnan(grid).all()]
            if known:
                of = {"size": size}
                found.append(Estimate("suite/contexts/gradcam", stats.mean(known).interval(), of))
    return found


def of_methods(overall: Mapping[tuple[str, str, str], stats.Mean]) -> list[Estimate]:
    """What mosaics and pasting find beyond the reference trainings (notebook 05).

    `overall` is from :func:`helpers.contexts.methods.overall`.
    """
    return [
        Estimate("suite/contexts/beyond", mean.interval(), {"method": method, "quantity": quantity})
        for (method, quantity, reading), mean in overall.items()
        if reading == "beyond reference" and quantity in ("decisions", "logits")
    ]


def of_worlds(worlds: pd.DataFrame) -> list[Estimate]:
    """How often each method is right, in many worlds (notebook 05b); these are the units.

    `worlds` is from :func:`helpers.contexts.sweep.recorded`.
    """
    number = worlds["trainings"].max()
    several = worlds[worlds["trainings"] == number]
    parts = dict(list(several.groupby(methods.MEASURE, sort=False)))
    found = []
    for method, quantity in (("mosaics", "flips"), ("pasting", "decisions")):
        values = [sweep.by_world(parts[method, quantity, methods.RAW])]
        known = stats.bootstrap(lambda values: sweep.auc(values[0]), values)
        of = {"quantity": quantity, "method": method}
        found.append(Estimate("suite/contexts/raw", known, of))
    flips = [
        sweep.by_world(parts["mosaics", "flips", name]) for name in (methods.NEUTRAL, methods.RAW)
    ]
    better = stats.bootstrap(lambda values: sweep.auc(values[0]) - sweep.auc(values[1]), flips)
    found.append(Estimate("suite/contexts/neutral", better))
    for method, quantity in (
        ("mosaics", "logits"),
        ("pasting", "logits"),
        ("GradCAM", "relevance"),
    ):
        values = sweep.by_world(parts[method, quantity, methods.NEUTRAL]).mean(3)[:, 0]
        more = stats.mean(values[:, 0] - values[:, 1]).interval()
        of = {"method": method, "quantity": quantity}
        found.append(Estimate("suite/contexts/follows", more, of))
    alarms = sweep.alarms(worlds, "mosaics", "logits")
    for reading in (methods.NEUTRAL, methods.REFERENCE):
        share = stats.share(alarms[reading, number].to_numpy())
        found.append(Estimate("suite/contexts/alarms", share, {"reading": reading}))
    more = alarms[methods.NEUTRAL, 1] - alarms[methods.NEUTRAL, number]
    found.append(Estimate("suite/contexts/one-training", stats.mean(more).interval()))
    return found


def of_mitigation(predictions: pd.DataFrame, change: pd.DataFrame) -> list[Estimate]:
    """Section 4: what other contexts for a part of the images do (notebook 05b).

    `predictions` is from :func:`helpers.contexts.cross_evaluation.predictions`, of "model-C" and
    `mitigation.WAYS`. `change` is from :func:`helpers.contexts.mitigation.change`: the first of
    these ways less "model-C".
    """

    def gain(name: str) -> stats.Interval:
        weights = {(mitigation.CONTEXTS, name): 1, ("model-C", name): -1}
        return cross_evaluation.contrast(predictions, weights)

    asked = ("mosaics", "logits", methods.NEUTRAL)
    less = methods.overall(change)[asked].interval()
    return [
        *(Estimate(f"contexts/mitigation/{name}", gain(name)) for name in ("NC", "WB")),
        Estimate("contexts/mitigation/relies-less", less),
    ]


def _of_each(
    claim: str, contexts: pd.DataFrame, measure: str, collection: Collection
) -> list[Estimate]:
    """A claim made of each context."""
    return [
        Estimate(
            claim, _ends(row, measure), {"context": collection.context_of[name], "label": name}
        )
        for name, row in contexts.set_index("context_class").iterrows()
    ]


def _ends(row: Mapping, name: str) -> tuple[float, float, float]:
    return row[name], row[f"{name}_low"], row[f"{name}_high"]
