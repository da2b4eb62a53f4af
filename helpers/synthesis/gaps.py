"""The gaps that the other notebooks measure: the suite in one bias report.

Every part is a table of plain columns: `right` (0 or 1, what counts as being served), and group
columns. A part is added by adding its rows and a line that says by what to group and what to hold
fixed; the report knows nothing of images. What the other notebooks judged is summed up at the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers import icon2, stats
from helpers.blocks.counts import table
from helpers.blocks.report import rates, readings
from helpers.contexts import cross_evaluation, mosaics
from helpers.data import Collection
from helpers.focus import design, networks, rating
from helpers.models.inference import logits
from helpers.run.parameters import Recipe
from helpers.worlds import driving as streets

METHODS_RATED = ("gradcam", "lrp", "smoothgrad", "integrated-gradients")
MOSAICS = 2  # of each class
WORST_GAP = ("pr", "pairs", "abs", "max")


class Part(NamedTuple):
    """Rows of a notebook and one question about them."""

    notebook: str
    served: str  # what `right` means
    rows: pd.DataFrame
    by: str  # the group column compared
    fixed: str | None = None  # the column held fixed
    cluster: str | None = None  # the column of what is drawn and exchanged together


def cross_evaluated(trainings, name: str, collection: Collection) -> pd.DataFrame:
    """Rows of notebook 02: training, test set, class, image, right.

    `image` is the place in the test split: C and WB show the same object there.
    """
    rows = cross_evaluation.predictions({name: trainings}, collection.sets)
    columns = ["training", "test_set", "class", "image", "right"]
    return rows.assign(right=rows["right"].astype(int))[columns]


def contextualized(trainings, collection: Collection, seed: int = 0) -> pd.DataFrame:
    """Rows of notebook 03: training, class, object (its image), context, right and kept.

    `right`: the mosaic is named as its object; `kept`: it is not named as its context's class.
    One mosaic an object image and context.
    """
    objects, classes = collection.sets["C"].split("test"), np.array(collection.classes)
    given = objects.labels, collection.contexts, collection.classes
    shown = mosaics.design(*given, per_context=1, seed=seed, controls=())
    streamed = mosaics.batches(shown, objects.images, collection.contexts)
    said = classes[logits(trainings, streamed).argmax(2).numpy()]
    rows = pd.DataFrame({"class": shown["object_class"], "object": shown["object"]})
    rows["context"] = shown["context_class"].map(collection.context_of)
    parts = [rows.assign(training=training) for training in range(len(said))]
    every = pd.concat(parts, ignore_index=True)
    right = said == shown["object_class"].to_numpy()
    kept = said != shown["context_class"].to_numpy()
    return every.assign(right=right.ravel().astype(int), kept=kept.ravel().astype(int))


def explained(collection: Collection, recipes: Sequence[Recipe], seed: int) -> pd.DataFrame:
    """Rows of notebook 06: method, architecture, training, mosaic, focus, right.

    `right`: more than half of the positive relevance lies on the two images of the target class;
    that half is chance. A map without positive relevance has no Focus, and is not right. One recipe
    an architecture; networks and ratings in the store are found there.
    """
    images = networks.held_out(collection, recipes[0])["C"]
    models = networks.every(collection, recipes, seed, ["C"])
    shown = {"C": design(images.table, images.classes, per_class=MOSAICS, seed=seed)}
    options = {"effort": "quick", "shape": "native"}
    rated = rating.ratings(models, {"C": images}, shown, METHODS_RATED, **options)
    right = (rated["focus"] > 0.5).astype(int)
    return rated[["architecture", "training", "mosaic", "focus", "method"]].assign(right=right)


def driving(frames: int = 600, seed: int = 0) -> pd.DataFrame:
    """Rows of notebook 08: boxes of the driving world: frame, income, class, size, right.

    The law of that notebook's demo: where income is low, boxes are smaller, and a box is detected
    worse than one of its size elsewhere. Three classes of size hold most of the first fixed.
    """
    world = streets.make(frames, seed, streets.Law(confounding=0.3, inequity=0.15))
    matches = icon2.match(world, [0.5])
    boxes = world.boxes
    side = np.sqrt((boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"]))
    size = pd.cut(side, [0, 32, 96, np.inf], labels=["small", "medium", "large"])  # COCO's limits
    return pd.DataFrame(
        {
            "frame": boxes["image"],
            "income": world.images["income"].to_numpy()[boxes["image"]].astype(str),
            "class": np.array(world.classes)[boxes["category"]],
            "size": size.astype(str),
            "right": np.isin(np.arange(len(boxes)), matches.taken[0]).astype(int),
        }
    )


def parts(
    trainings, name: str, collection: Collection, explained: pd.DataFrame, seed: int = 0
) -> list[Part]:
    """Every part there is, a line for each question; `explained` are the rows of notebook 06.

    What has one value cannot be compared, and there is nothing to hold fixed in it.
    """
    evaluated = cross_evaluated(trainings, name, collection)
    image = "image named right"
    found = [
        Part("02_cross_evaluation", image, evaluated, "test_set", "class", "image"),
        Part("02_cross_evaluation", image, evaluated, "class", "test_set", "image"),
    ]
    if collection.contexts:
        mixed, notebook = contextualized(trainings, collection, seed), "03_contextualized_mosaics"
        kept = mixed.assign(right=mixed["kept"])
        found += [
            Part(notebook, "mosaic named as its object", mixed, "class", None, "object"),
            Part(notebook, "mosaic not named as its context", kept, "context", "class", "object"),
        ]
    about, notebook = "mosaic explained by its class's images", "06_focus_rating"
    found += [
        Part(notebook, about, explained, "method", "architecture", "mosaic"),
        Part(notebook, about, explained, "architecture", "method", "mosaic"),
    ]
    boxes = driving(seed=seed)
    found += [Part("08_icon2", "box found", boxes, "income", f, "frame") for f in (None, "size")]
    several = [part for part in found if part.rows[part.by].nunique() > 1]
    constant = [part.fixed and part.rows[part.fixed].nunique() < 2 for part in several]
    return [p._replace(fixed=None) if c else p for p, c in zip(several, constant, strict=True)]


def one_report(every: list[Part], draws: int = 999, seed: int = 0) -> pd.DataFrame:
    """The worst gap of every part, ranked by its evidence.

    DataFrame: notebook, reading, groups, value, low, high, null_high, p, p_holm (over the parts),
    worst, best (the two groups), at_limit (a rate of the two is exactly 0 or 1, which resampling
    cannot move: the interval is too short); smallest p first, then by the interval's lower end.
    """
    found, options = [], {"draws": draws, "seed": seed}
    for part in every:
        strata, clusters = (None if c is None else part.rows[c] for c in (part.fixed, part.cluster))
        given = {"y_pred": part.rows["right"], "strata": strata, "clusters": clusters}
        data = table(part.rows[part.by], **given)
        cell = readings(data, {part.served: WORST_GAP}, **options).loc[0]
        by_rate = rates(data).sort_values("adjusted" if part.fixed else "value")
        worst, best = by_rate["group"].iloc[[0, -1]]
        if "training" in part.rows:
            cell[["low", "high"]] = _over_trainings(part, worst, best)
        fixed = f", {part.fixed.replace('_', ' ')} fixed" if part.fixed else ""
        numbers = cell[["value", "low", "high", "null_high", "p"]].astype(float)
        found.append(
            {
                "notebook": part.notebook,
                "reading": part.served,
                "groups": part.by.replace("_", " ") + fixed,
                **numbers.clip(upper=1),
                "worst": worst,
                "best": best,
                "at_limit": _at_limit(part, [worst, best]),
            }
        )
    every = pd.DataFrame(found)
    every.insert(8, "p_holm", stats.adjust(every["p"]))
    return every.sort_values(["p", "low"], ascending=[True, False], ignore_index=True)


def _over_trainings(part: Part, worst: str, best: str) -> tuple[float, float]:
    """Interval of the gap between two groups that speaks of other trainings and other images.

    With something held fixed, every value of it has the weight that it has in all rows.
    """
    rows = part.rows.assign(fixed=part.rows[part.fixed] if part.fixed else "")
    values, weights = [], []
    for group, sign in ((best, 1), (worst, -1)):
        mine = rows[rows[part.by] == group]
        shares = rows.loc[rows["fixed"].isin(mine["fixed"].unique()), "fixed"]
        for fixed, weight in shares.value_counts(normalize=True).sort_index().items():
            here = mine[mine["fixed"] == fixed]
            wide = here.pivot_table(index="training", columns=part.cluster, values="right")
            values.append(wide.to_numpy())
            weights.append(sign * weight)
    return stats.mean(values, weights).interval()[1:]


def _at_limit(part: Part, groups: list[str]) -> bool:
    shown = part.rows[part.rows[part.by].isin(groups)]
    by = [part.by, part.fixed] if part.fixed else part.by
    return bool(shown.groupby(by)["right"].mean().isin([0, 1]).any())


# --- what the other notebooks judged ---


def verdicts(scorecard: pd.DataFrame) -> pd.DataFrame:
    """How the claims of each notebook were judged: a row a notebook, a column a verdict."""
    return pd.crosstab(scorecard["notebook"], scorecard["verdict"]).rename_axis(columns=None)


def ranked(scorecard: pd.DataFrame) -> pd.DataFrame:
    """Claims of a run (:func:`helpers.run.claims.scorecard`), the best supported first.

    DataFrame: notebook, claim, verdict, evidence: how many times its own uncertainty (half the
    interval) a value is away from the bound it was judged by; infinite for exact counts, NaN where
    nothing was measured.
    """
    numbers = scorecard[["measured", "bound", "low", "high"]].astype(float)
    away = (numbers["measured"] - numbers["bound"]).abs()
    half = (numbers["high"] - numbers["low"]) / 2
    evidence = (away / half.where(half > 0)).where(half != 0, np.inf).where(away.notna())
    table = scorecard[["notebook", "claim", "verdict"]].assign(evidence=evidence)
    return table.sort_values("evidence", ascending=False, ignore_index=True, kind="stable")
