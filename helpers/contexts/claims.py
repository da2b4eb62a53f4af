"""Estimates for the claims of *Assessing Biases through Visual Contexts*, by their ids.

A function returns those that its tables can give; what the paper says of its own classes where the
collection has these. `images` and `pasted` are by `effects.per_image`, None where not made."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers import stats
from helpers.contexts import background, effects, methods, paper, sweep
from helpers.contexts.cross_evaluation import BARS
from helpers.contexts.effects import signed
from helpers.contexts.paper import CLASS_OF
from helpers.data import Collection
from helpers.models.experiment import SETS
from helpers.stats import Estimate

PER_CLASS = [100, 25, 25]  # images for training, validation and test (section 2.1.2)


def of_datasets(collection: Collection, guesses: pd.DataFrame) -> list[Estimate]:
    """Section 2.1.1, and what colour alone gives away, by `background.guesses` (notebook 01)."""
    found, counts = [], collection.summary().loc["C"]
    if collection.source != "world" and (counts["total"] == sum(PER_CLASS)).all():
        other = int((counts[["train", "val", "test"]] != PER_CLASS).any(axis=1).sum())
        found.append(Estimate("contexts/images-a-class", (other,) * 3))
    mine = guesses[guesses["set"] == "C"].groupby("region", sort=False)["right"]
    rights = {name: right.to_numpy(float) for name, right in mine}
    region = "background" if "background" in rights else "image"
    row = background.given_away(guesses).set_index(["set", "region"]).loc[("C", region)]
    ends = tuple(row[["accuracy", "low", "high"]] - row["chance"])
    found.append(Estimate("suite/contexts/colour", ends, {"region": region}))
    if region == "background":
        more = stats.mean(rights["background"] - rights["object"], shares=True).interval()
        found.append(Estimate("suite/contexts/colour-of-background", more))
    return found


def _outside(models: str, own: bool = False) -> list[tuple[str, str]]:
    """Models whose names begin so, each on every set that it was not (or was) trained on."""
    names = [f"{family}-{name}" for family in ("model", "pt") for name in SETS]
    several = [(name, test) for name in names if name.startswith(models) for test in SETS]
    return [(name, test) for name, test in several if name.endswith(f"-{test}") == own]


# Differences of accuracies that the paper reports; of several the smallest is judged.
ACCURACIES = {
    "contexts/WB-over-C/NC": [{("model-WB", "NC"): 1, ("model-C", "NC"): -1}],
    "contexts/WB-over-C/other": [{("model-WB", "C"): 1, ("model-C", "WB"): -1}],
    "contexts/hardest-is-C/model-WB": [{("model-WB", "NC"): 1, ("model-WB", "C"): -1}],
    "contexts/C-on-NC-over-WB": [{("model-C", "NC"): 1, ("model-C", "WB"): -1}],
    "contexts/own-set": [
        {(f"model-{own}", own): 1, other: -1} for own in SETS for other in _outside(f"model-{own}")
    ],
    "contexts/hardest-is-C/NC": [{(m, "WB"): 1, (m, "C"): -1} for m in ("model-NC", "pt-NC")],
    "contexts/pretrained-better": [
        {(f"pt-{own}", test): 1, (f"model-{own}", test): -1} for own in SETS for test in SETS
    ],
    "contexts/pretrained-lose-less": [
        signed(_outside("model", True), _outside("model"), _outside("pt"), _outside("pt", True))
    ],
    "contexts/C-generalises-worst/WB": [signed(_outside("model-WB"), _outside("model-C"))],
    "contexts/C-generalises-worst/NC": [signed(_outside("model-NC"), _outside("model-C"))],
}


def of_cross_evaluation(predictions: pd.DataFrame) -> list[Estimate]:
    """Section 2.1.3 on the models and sets of `cross_evaluation.predictions` (notebook 02)."""
    if predictions["test_set"].nunique() < 2:
        return []
    rights = effects.grids(predictions, *BARS)
    accuracy = {bar: right.mean() for bar, right in rights.items()}
    asked = dict(ACCURACIES)
    if set(_outside("model")) <= set(accuracy):
        worst = {own: min(_outside(f"model-{own}"), key=accuracy.get) for own in SETS}
        rival = max(worst["C"], worst["NC"], key=accuracy.get)
        asked["contexts/only-consistent"] = [{worst["WB"]: 1, rival: -1}]
    found = []
    for claim, several in asked.items():  # of several, that of which the sum is smallest
        there = [weights for weights in several if set(weights) <= set(accuracy)]
        if there:
            least = min(there, key=lambda weights: sum(w * accuracy[p] for p, w in weights.items()))
            found.append(Estimate(claim, effects.contrast(rights, least, shares=True)))
    return found


def of_mosaics(images: pd.DataFrame, pairs: pd.DataFrame, collection: Collection) -> list[Estimate]:
    """Section 3 in the paper's own quantities, `pairs` by `effects.of_pairs` (notebook 03)."""
    found = {"contexts/every-pair": _ends(pairs.loc[pairs["drop"].idxmin()], "drop")}
    if not collection.has_the_papers_classes():
        return _estimates(found)
    images = images.assign(kept=images["kept"] / images["mosaics"])
    measures = "flip_share", "drop", "mosaic_distance", "kept"
    flips, drops, distances, kept = (_by_context(images, name) for name in measures)
    for first, second in (("park", "sky"), ("sky", "wood"), ("wood", "road")):
        more = _more_than(images, [CLASS_OF[first]], [CLASS_OF[second]], "flip_share")
        found[f"contexts/stronger/{first}-{second}"] = more
    found |= {
        "contexts/hydrants-move-least": max(
            _less(drops[c], side=-1) for c in ("sky", "park", "wood")
        ),
        "contexts/hydrants-farthest": min(_less(distances[c], side=1) for c in ("sky", "park")),
        "contexts/hydrants-flip-least": _less(flips["park"], side=-1),
        "contexts/hydrants-flip-most": _less(flips["wood"], side=1),
        "contexts/planes-on-road": _less(flips["road"], "plane"),
        "contexts/road-few": stats.share(max(flips["road"].values(), key=np.mean)),
        "contexts/hydrants-kept": stats.share(kept["sky"]["fire hydrant"]),
        "contexts/mugs-across": max(
            stats.mean(distances[c]["mug"]).interval() for c in ("sky", "park")
        ),
    }
    return _estimates(found)


def _more_than(images: pd.DataFrame, first: list, second: list, measure: str) -> stats.Interval:
    """Mean strength of some contexts, in a measure, less that of others."""
    groups = effects.grids(images, measure, effects.PAIR)
    sides = ([pair for pair in groups if pair[0] in side] for side in (first, second))
    shares = measure in effects.COUNTED
    return effects.contrast(groups, signed(*sides), shares=shares, scaled=False)


def _estimates(found: Mapping[str, tuple]) -> list[Estimate]:
    return [Estimate(claim, interval) for claim, interval in found.items()]


def _ends(row: Mapping, name: str) -> tuple[float, float, float]:
    return row[name], row[f"{name}_low"], row[f"{name}_high"]


def _by_context(images: pd.DataFrame, measure: str) -> dict[str, dict[str, np.ndarray]]:
    """A measure in the paper's contexts, by context and object class."""
    return {
        context: effects.grids(images[images["context_class"] == label], measure)
        for context, label in CLASS_OF.items()
    }


def _less(groups: Mapping, name="fire hydrant", *, side: int = 0, sign: int = 1) -> stats.Interval:
    """A group's mean share less that of the others; or, of any measure, of that next to it: of the
    others the least (`side` -1) or the most (1)."""
    others = [group for key, group in groups.items() if key != name]
    if side:
        others = [max(others, key=lambda group: side * group.mean())]
    weights = [sign] + [-sign / len(others)] * len(others)
    return stats.mean([groups[name], *others], weights, shares=not side).interval()


def of_controls(images: pd.DataFrame, reference, collection: Collection) -> list[Estimate]:
    """Whether it is the context or the mosaic (notebook 03b)."""
    asked = {"effect": "context_effect"}
    if reference is not None:
        images = effects.beyond(images, reference)
        asked = {"effect-beyond": "context_effect", "flips-beyond": "flip_share"}
    found = []
    for claim, measure in asked.items():
        for row in effects.of_contexts(images).to_dict("records"):
            label = row["context_class"]
            of = {"context": collection.context_of[label], "label": label}
            found.append(Estimate(f"suite/contexts/{claim}", _ends(row, measure), of))
    return found


def of_changed(images: pd.DataFrame, strongest: str, collection: Collection) -> list[Estimate]:
    """Whether the one planted context, of the class `strongest`, is found (notebook 03b)."""
    others = [name for name in images["context_class"].unique() if name != strongest]
    of, found = {"context": collection.context_of[strongest]}, []
    for name, measure in (("flips", "flip_share"), ("effect", "context_effect")):
        more = _more_than(images, [strongest], others, measure)
        found.append(Estimate(f"suite/contexts/changed/{name}", more, of))
    return found


def of_pasting(
    alone: Mapping[str, np.ndarray], mosaics, pasted, reference, collection: Collection
) -> list[Estimate]:
    """Results Checks, on contexts alone by `pasting.alone` and with objects (notebook 04)."""
    papers, found = collection.has_the_papers_classes(), {}
    if papers:
        shown = {context: alone[label] for context, label in CLASS_OF.items()}
        found = {f"contexts/alone/{name}": stats.share(said) for name, said in shown.items()}
        found["contexts/alone/road"] = _less(shown, "road")
    if pasted is not None and reference is not None:
        grids = effects.grids(effects.beyond(pasted, reference), "taken_effect", effects.PAIR)
        found["suite/contexts/pasted-effect"] = effects.mean(grids, "taken_share", differ=True)
    if pasted is not None:
        found["suite/contexts/methods-agree"] = effects.agreement(mosaics, pasted)
    if papers and pasted is not None:
        taken = _by_context(pasted, "taken_share")
        counted = (  # of the pairs that the paper prints both counts for, by what it counts
            table.rename(columns={share: "share"}).merge(paper.pairs()[effects.PAIR])
            for table, share in ((mosaics, "flip_share"), (pasted, "taken_share"))
        )
        printed = paper.of_pairs().set_index(effects.PAIR)["paste_share"]
        ours = pasted.groupby(effects.PAIR)["taken_share"].mean()[printed.index]
        found |= {
            "contexts/pasted/sky": _less(taken["sky"]),
            "contexts/pasted/park": stats.share(min(taken["park"].values(), key=np.mean)),
            "contexts/pasted/road": stats.share(list(taken["road"].values())),
            "contexts/pasted/wood": _less(
                {"alone": shown["wood"], **taken["wood"]}, "alone", sign=-1
            ),
            "contexts/consistent": effects.agreement(*counted, value="share"),
            "suite/contexts/counts-as-paper": stats.spearman(ours, printed),
        }
    return _estimates(found)


def of_gradcam(table, tested, collection: Collection) -> list[Estimate]:
    """Section 4 on GradCAM, by `background.relevance` and `background.fair_test` (notebook 05)."""
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
                more = effects.mean(known, "share")
                found.append(Estimate("suite/contexts/gradcam", more, {"size": size}))
    return found


def of_methods(overall: Mapping[tuple[str, str, str], stats.Interval]) -> list[Estimate]:
    """What mosaics and pasting find beyond the reference, or beside neutral (notebook 05)."""
    there = methods.REFERENCE in {reading for *_, reading in overall}
    asked, name = (methods.REFERENCE, "beyond") if there else (methods.NEUTRAL, "beside")
    return [
        Estimate(f"suite/contexts/{name}", mean, {"method": method, "quantity": quantity})
        for (method, quantity, reading), mean in overall.items()
        if reading == asked and quantity in ("decisions", "logits")
    ]


def of_worlds(worlds: pd.DataFrame) -> list[Estimate]:
    """How often each method is right, in the many worlds of `sweep.recorded` (notebook 05b)."""
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
    for of in (("mosaics", "logits"), ("pasting", "logits"), ("GradCAM", "relevance")):
        planted, nothing = parts[*of, methods.NEUTRAL].mean(3)[:, 0].T
        of = dict(zip(methods.MEASURE, of, strict=False))
        more = stats.mean(planted - nothing).interval()
        found.append(Estimate("suite/contexts/follows", more, of))
    none = worlds.query("dose <= @sweep.NOTHING and method == 'mosaics' and quantity == 'logits'")
    yes = none.assign(yes=none["low"] > 0).groupby(["reading", "trainings", "seed"])["yes"].mean()
    for reading in (methods.NEUTRAL, methods.REFERENCE):
        share = stats.share(yes[reading, number].to_numpy())
        found.append(Estimate("suite/contexts/alarms", share, {"reading": reading}))
    more = stats.mean(yes[methods.NEUTRAL, 1] - yes[methods.NEUTRAL, number]).interval()
    return [*found, Estimate("suite/contexts/one-training", more)]


def of_mitigation(predictions: pd.DataFrame, change: pd.DataFrame) -> list[Estimate]:
    """Section 4: what other contexts for a part of the images change (notebook 05b)."""
    found, rights = {}, effects.grids(predictions, *BARS)
    for name in ("NC", "WB"):
        weights = {(methods.OTHER_CONTEXTS, name): 1, ("model-C", name): -1}
        found[f"contexts/mitigation/{name}"] = effects.contrast(rights, weights, shares=True)
    less = methods.overall(change)["mosaics", "logits", methods.NEUTRAL]
    return _estimates(found | {"contexts/mitigation/relies-less": less})
