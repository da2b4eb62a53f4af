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
    "contexts/C-on-NC-over-WB": {("model-C", "NC"): 1, ("model-C", "WB"): -1},
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
    if collection.source != "world" and (counts["total"] == sum(PER_CLASS)).all():
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
    accuracy = predictions.groupby(["model", "test_set"], sort=False)["right"].mean()
    elsewhere = predictions[predictions["test_set"] != predictions["train_set"]]
    outside = {  # accuracies of each model on the sets it was not trained on
        name: part.groupby(["model", "test_set"], sort=False)["right"].mean()
        for name, part in elsewhere.groupby("model")
    }
    fresh, tuned = (
        {own: name for own, name in family.items() if name in outside} for family in (FRESH, TUNED)
    )
    asked = {claim: [weights] for claim, weights in ACCURACIES.items()}
    asked["contexts/own-set"] = [
        {(name, own): 1, outside[name].idxmax(): -1} for own, name in fresh.items()
    ]
    asked["contexts/hardest-is-C/NC"] = [
        {(family["NC"], "WB"): 1, (family["NC"], "C"): -1}
        for family in (fresh, tuned)
        if "NC" in family
    ]
    asked["contexts/pretrained-better"] = [
        {(tuned[own], test): 1, (fresh[own], test): -1}
        for own in fresh
        if own in tuned
        for test in predictions["test_set"].unique()
    ]
    if len(fresh) == len(FRESH):
        worst = {own: outside[name].idxmin() for own, name in fresh.items()}
        rival = max(worst["C"], worst["NC"], key=accuracy.get)
        asked["contexts/only-consistent"] = [{worst["WB"]: 1, rival: -1}]
    for own in ("WB", "NC"):
        if {"C", own} <= set(fresh):
            sides = (outside[fresh[own]].index, 1), (outside[fresh["C"]].index, -1)
            weights = {pair: sign / len(pairs) for pairs, sign in sides for pair in pairs}
            asked[f"contexts/C-generalises-worst/{own}"] = [weights]
    if fresh and tuned:
        weights = {
            pair: sign * weight / len(family)
            for family, sign in ((fresh, 1), (tuned, -1))
            for name in family.values()
            for pair, weight in cross_evaluation.lost(predictions, name).items()
        }
        asked["contexts/pretrained-lose-less"] = [weights]
    found = []
    for claim, several in asked.items():  # of several, that of which the sum is smallest
        there = [weights for weights in several if set(weights) <= set(accuracy.index)]
        if there:
            least = min(there, key=lambda weights: sum(w * accuracy[p] for p, w in weights.items()))
            found.append(Estimate(claim, cross_evaluation.contrast(predictions, least)))
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
    return found


def _of_the_papers_mosaics(images: pd.DataFrame, pairs: pd.DataFrame) -> list[Estimate]:
    """What section 3 says of the paper's own classes and contexts."""
    found = {
        f"contexts/stronger/{first}-{second}": effects.contrast(
            images, {CLASS_OF[first]: 1, CLASS_OF[second]: -1}, "flip_share"
        )
        for first, second in STRONGER
    }
    by_context = dict(list(images.groupby("context_class")))
    beside = {  # hydrants less the next class, in logits: drop and mosaic distance
        (measure, context): _next_to(by_context[CLASS_OF[context]], measure, last)
        for measure, last in (("drop", -1), ("mosaic_distance", 1))
        for context in ("sky", "park", "wood")
    }
    drops = [beside["drop", context] for context in ("sky", "park", "wood")]
    far = [beside["mosaic_distance", context] for context in ("sky", "park")]
    found["contexts/hydrants-move-least"] = max(drops, key=lambda one: one.estimate)
    found["contexts/hydrants-farthest"] = min(far, key=lambda one: one.estimate)
    road = effects.grids(by_context[CLASS_OF["road"]], "flip_share")
    found["contexts/planes-on-road"] = _less(road, "plane")
    found["contexts/road-few"] = stats.share(max(road.values(), key=np.mean))
    mugs = [
        effects.grids(by_context[CLASS_OF[context]], "flip_share")["mug"]
        for context in ("sky", "park")
    ]
    found["contexts/mugs-flip"] = stats.share(min(mugs, key=np.mean))
    sky = by_context[CLASS_OF["sky"]]
    kept = effects.grids(sky.assign(kept_share=sky["kept"] / sky["mosaics"]), "kept_share")
    found["contexts/hydrants-kept"] = stats.share(kept["fire hydrant"])
    across = pairs.sort_values("mosaic_distance")
    mugs = across.query("object_class == 'mug'")
    mugs = mugs[mugs["context_class"].isin([CLASS_OF["sky"], CLASS_OF["park"]])]
    found["contexts/mugs-across"] = _ends(mugs.iloc[-1], "mosaic_distance")
    beside = across[across["context_class"] == CLASS_OF["road"]]
    found["contexts/road-not-across"] = _ends(beside.iloc[0], "mosaic_distance")
    return [Estimate(claim, interval) for claim, interval in found.items()]


def _next_to(images: pd.DataFrame, measure: str, side: int) -> stats.Interval:
    """A measure of fire hydrants less that of the class next to them: the least (-1), the most."""
    groups = effects.grids(images, measure)
    hydrants = groups.pop("fire hydrant")
    other = max(groups.values(), key=lambda group: side * group.mean())
    return stats.mean([hydrants, other], [1, -1]).interval()


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


def _less(groups: Mapping[str, np.ndarray], name: str) -> stats.Interval:
    """Mean share of one group less that of the others, over trainings and images."""
    weights = [1 if key == name else -1 / (len(groups) - 1) for key in groups]
    return stats.mean(list(groups.values()), weights, shares=True).interval()


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
        shown = {context: alone[label] for context, label in CLASS_OF.items()}
        shares = {name: stats.share(said) for name, said in shown.items()}
        shares["road"] = _less(shown, "road")
        found = [Estimate(f"contexts/alone/{name}", share) for name, share in shares.items()]
    if pasted is None:
        return found
    if reference is not None:
        grids = effects.grids(effects.beyond(pasted, reference), "taken_effect", effects.PAIR)
        beyond = stats.mean([*grids.values()], shares=True).interval()
        found.append(Estimate("suite/contexts/pasted-effect", beyond))
    found.append(Estimate("suite/contexts/methods-agree", effects.agreement(mosaics, pasted)))
    return found + (_of_the_papers_pasting(mosaics, pasted, shown["wood"]) if papers else [])


def _of_the_papers_pasting(
    mosaics: pd.DataFrame, pasted: pd.DataFrame, wood: np.ndarray
) -> list[Estimate]:
    """What Results Checks says of the paper's own classes and contexts; `wood` is that alone."""
    taken = {
        context: effects.grids(pasted[pasted["context_class"] == label], "taken_share")
        for context, label in CLASS_OF.items()
    }
    least = min(taken["park"].values(), key=np.mean)
    # The eleven pairs that the paper prints both counts for, each method by what the paper counts.
    printed = paper.pairs()[effects.PAIR]
    both = [
        table.rename(columns={share: "share"}).merge(printed, on=effects.PAIR)
        for table, share in ((mosaics, "flip_share"), (pasted, "taken_share"))
    ]
    found = {
        "contexts/pasted/sky": _less(taken["sky"], "fire hydrant"),
        "contexts/pasted/park": stats.share(least),
        "contexts/pasted/road": stats.share(list(taken["road"].values())),
        "contexts/pasted/wood": stats.mean(
            [*taken["wood"].values(), wood],
            [*[1 / len(taken["wood"])] * len(taken["wood"]), -1],
            shares=True,
        ).interval(),
        "contexts/consistent": effects.agreement(*both, value="share"),
        "suite/contexts/counts-as-paper": _as_printed(pasted),
    }
    return [Estimate(claim, interval) for claim, interval in found.items()]


def _as_printed(pasted: pd.DataFrame) -> stats.Interval:
    """How our composites taken for the context's class rank as the paper's counts of them do."""
    ours = pasted.rename(columns={"object_class": "pasted"})
    ours = ours.groupby(["context_class", "pasted"])["taken_share"].mean().reset_index()
    both = ours.merge(paper.printed("paste"))
    return stats.spearman(both["taken_share"], both["predicted"])


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
        peaks = effects.grids(table, "peak", "class")
        if len(peaks) == table["class"].nunique():
            found = [
                Estimate("contexts/gradcam/plane", _less(peaks, "plane")),
                Estimate("contexts/gradcam/bench", stats.share(peaks["bench"])),
            ]
    if tested is not None:
        coarse = tested[tested["pixels"] == tested.groupby("size")["pixels"].transform("min")]
        for size, part in coarse.groupby("size"):
            if known := effects.grids(part, "share", "class"):
                mean = stats.mean([*known.values()]).interval()
                found.append(Estimate("suite/contexts/gradcam", mean, {"size": size}))
    return found


def of_methods(overall: Mapping[tuple[str, str, str], stats.Interval]) -> list[Estimate]:
    """What mosaics and pasting find beyond the reference trainings (notebook 05).

    `overall` is from :func:`helpers.contexts.methods.overall`.
    """
    return [
        Estimate("suite/contexts/beyond", mean, {"method": method, "quantity": quantity})
        for (method, quantity, reading), mean in overall.items()
        if reading == methods.REFERENCE and quantity in ("decisions", "logits")
    ]


def of_worlds(worlds: pd.DataFrame) -> list[Estimate]:
    """How often each method is right, in many worlds (notebook 05b); these are the units.

    `worlds` is from :func:`helpers.contexts.sweep.recorded`.
    """
    number = worlds["trainings"].max()
    parts = {
        measure: sweep.by_world(part)
        for measure, part in worlds[worlds["trainings"] == number].groupby(methods.MEASURE)
    }
    found = []
    for method, quantity in (("mosaics", "flips"), ("pasting", "decisions")):
        known = stats.bootstrap(lambda raw: sweep.auc(*raw), [parts[method, quantity, methods.RAW]])
        of = {"quantity": quantity, "method": method}
        found.append(Estimate("suite/contexts/raw", known, of))
    flips = [parts["mosaics", "flips", reading] for reading in (methods.NEUTRAL, methods.RAW)]
    better = stats.bootstrap(lambda both: sweep.auc(both[0]) - sweep.auc(both[1]), flips)
    found.append(Estimate("suite/contexts/neutral", better))
    asked = ("mosaics", "logits"), ("pasting", "logits"), ("GradCAM", "relevance")
    for method, quantity in asked:
        planted, nothing = parts[method, quantity, methods.NEUTRAL].mean(3)[:, 0].T
        of = {"method": method, "quantity": quantity}
        more = stats.mean(planted - nothing).interval()
        found.append(Estimate("suite/contexts/follows", more, of))
    none = worlds.query("dose <= @sweep.NOTHING and method == 'mosaics' and quantity == 'logits'")
    alarms = (
        none.assign(yes=none["low"] > 0).groupby(["reading", "trainings", "seed"])["yes"].mean()
    )
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

    found = []
    for name in ("NC", "WB"):
        weights = {(mitigation.CONTEXTS, name): 1, ("model-C", name): -1}
        gain = cross_evaluation.contrast(predictions, weights)
        found.append(Estimate(f"contexts/mitigation/{name}", gain))
    less = methods.overall(change)["mosaics", "logits", methods.NEUTRAL]
    return [*found, Estimate("contexts/mitigation/relies-less", less)]


def _of_each(
    claim: str, contexts: pd.DataFrame, measure: str, collection: Collection
) -> list[Estimate]:
    """A claim made of each context."""
    found = []
    for name, row in contexts.set_index("context_class").iterrows():
        of = {"context": collection.context_of[name], "label": name}
        found.append(Estimate(claim, _ends(row, measure), of))
    return found


def _ends(row: Mapping, name: str) -> tuple[float, float, float]:
    return row[name], row[f"{name}_low"], row[f"{name}_high"]
