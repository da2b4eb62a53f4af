"""Predictions on test sets, and what a context changes in them: flips and signed distances.

*Assessing Biases through Visual Contexts*, sections 2.1.3 (Figure 2) and 3.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
import scipy.stats
from torch import nn

from helpers import models, stats
from helpers.data import ImageSet
from helpers.models import experiment
from helpers.stats.interval import crossed_error

PAIR = ["context_class", "object_class"]
IMAGE = ["run", *PAIR, "object"]
BARS = (
    "right",
    ["model", "test_set"],
    "image",
)  # of Figure 2, as :func:`grids` takes them
OF_PAIRS = ["flip_share", "mosaic_distance", "single_distance", "drop"]
# Measures that are shares of images, or differences of such shares.
COUNTED = {"flip_share", "taken_share", "context"}
# Columns that say what a row is of.
OF_A_ROW = {*IMAGE, "mosaics"}


def points(single_logits, mosaic_logits, design: pd.DataFrame, classes: Sequence[str]):
    """List the two logits of each mosaic and single image, per pair of object and context.

    Parameters
    ----------
    single_logits : array of float (T, N, K)
        Logits of T training runs for the N images that `design["object"]` counts.
    mosaic_logits : array of float (T, R, K)
        Logits for the R rows of `design`.

    Returns
    -------
    pandas.DataFrame
        One row per point of Figure 7. `distance` is the signed distance to the diagonal,
        (object_logit - context_logit) / sqrt 2 (Figure 9). `flipped`: the context class
        has a higher logit than the object's class. `kept` and `taken`: the object's or the
        context's class has the highest logit of all. `mosaic`: the row of `design`, or -1
        for single images.

    Raises
    ------
    ValueError
        If the logits do not fit the design or are not finite.
    """
    classes = list(classes)
    single, mosaic = (
        np.asarray(logits, float) for logits in (single_logits, mosaic_logits)
    )
    fit = mosaic.shape == (len(single), len(design), len(classes))
    if not (fit and np.isfinite(single).all() and np.isfinite(mosaic).all()):
        raise ValueError(
            f"logits of shapes {single.shape} and {mosaic.shape} do not fit a design of "
            f"{len(design)} mosaics and {len(classes)} classes, or are not finite"
        )
    made, parts = design.assign(mosaic=np.arange(len(design))), []
    for context in classes:
        in_context = made[made["context_class"] == context]
        parts += [
            in_context.drop_duplicates("object").assign(kind="single", mosaic=-1),
            in_context,
        ]
    columns = ["object_class", "context_class", "kind", "object", "mosaic"]
    table = pd.concat(parts, ignore_index=True)[columns]
    is_mosaic = (table["mosaic"] >= 0).to_numpy()[:, None]
    logits = np.where(is_mosaic, mosaic[:, table["mosaic"]], single[:, table["object"]])
    rows, best = np.arange(len(table)), logits.argmax(2)
    contexts, objects = (table[name].map(classes.index).to_numpy() for name in PAIR)
    of_object, of_context = (
        logits[:, rows, objects].ravel(),
        logits[:, rows, contexts].ravel(),
    )
    table = pd.concat(
        [table.assign(run=t) for t in range(len(single))], ignore_index=True
    )
    return table.assign(
        object_logit=of_object,
        context_logit=of_context,
        distance=(of_object - of_context) / np.sqrt(2),
        flipped=of_context > of_object,
        kept=(best == objects).ravel(),
        taken=(best == contexts).ravel(),
    )


def per_image(points: pd.DataFrame) -> pd.DataFrame:
    """Average :func:`points` within each object image; intervals are made of these rows.

    Shares are shares of mosaics. Distances are signed and in logits (Table 1). `drop` is
    single_distance minus mosaic_distance (Figure 10).
    """
    single, made = (points[points["kind"] == kind] for kind in ("single", "context"))
    averages = made.groupby(IMAGE, sort=False).agg(
        mosaics=("mosaic", "size"),
        flips=("flipped", "sum"),
        kept=("kept", "sum"),
        flip_share=("flipped", "mean"),
        taken_share=("taken", "mean"),
        mosaic_distance=("distance", "mean"),
    )
    averages["single_distance"] = single.groupby(IMAGE)["distance"].mean()
    averages["drop"] = averages["single_distance"] - averages["mosaic_distance"]
    return averages.reset_index()


def subtract(images: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Subtract what a control model shows, run by run and image by image."""
    keys = [name for name in images if name in OF_A_ROW]
    return images.set_index(keys).sub(control.set_index(keys)).reset_index()


def of_pairs(images: pd.DataFrame) -> pd.DataFrame:
    """Average each pair of context and object class (Table 1, Figure 10); counts are per run."""
    counts = images.groupby(PAIR, sort=False)[["mosaics", "flips", "kept"]].sum()
    counts /= images["run"].nunique()
    return counts.reset_index().merge(intervals(images, PAIR, OF_PAIRS), on=PAIR)


def contrast(
    groups: Mapping, weights: Mapping, level=0.95, *, shares: bool, scaled=True
):
    """Return the interval of a weighted sum of means of :func:`grids`, keyed by pairs.

    Values are combined image by image where pairs have the same second entry. Where all
    images agree, the interval is as wide as that of a share, times the weight if `scaled`.
    """
    sums, scales = [], []
    for name in dict.fromkeys(second for _, second in weights):
        mine = {pair: weight for pair, weight in weights.items() if pair[1] == name}
        scales.append(max(map(abs, mine.values())) if scaled else 1)
        sums.append(sum(w * groups[pair] for pair, w in mine.items()) / scales[-1])
    return stats.mean(sums, scales, shares=shares).interval(level)


def signed(*sides: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return weights of pairs: the mean of the first side minus the mean of the second, etc."""
    return {
        pair: (-1) ** n / len(side) for n, side in enumerate(sides) for pair in side
    }


def agreement(first, second, value: str) -> stats.Interval:
    """Correlate the ranks that two methods give the pairs by the mean of `value` (Spearman).

    Both tables come from :func:`per_image` and have the same pairs and runs. The result is
    NaN where all pairs have the same mean.
    """
    groups, keys = [], ["run", "object"]
    for table in (first, second):
        for _, part in table.groupby("object_class"):
            wide = part.pivot(
                index=keys, columns="context_class", values=value
            ).to_numpy()
            groups.append(wide.reshape(part["run"].nunique(), -1, wide.shape[1]))

    def correlation(parts: list[np.ndarray]) -> float:
        means = np.concatenate([part.mean((0, 1)) for part in parts])
        x, y = scipy.stats.rankdata(means.reshape(2, -1), axis=1)
        return float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else np.nan

    return stats.bootstrap_ci(groups, correlation)


def grids(images: pd.DataFrame, name: str, by="object_class", image="object") -> dict:
    """Return a measure as an array (runs, images) for each group, as `stats.mean` takes it."""
    arrays = {}
    for key, part in images.groupby(by, sort=False):
        values = part.pivot(index="run", columns=image, values=name).to_numpy(float)
        if not np.isnan(values).all():
            arrays[key] = values
    return arrays


def mean(groups: Mapping, measure: str, *, differ: bool = False) -> stats.Interval:
    """Average :func:`grids` with a 95% interval; all groups count equally, NaN without groups.

    With `differ`, values of a `COUNTED` measure are differences of shares.
    """
    groups, counted = list(groups.values()), measure in COUNTED
    if not groups:
        return stats.Interval(np.nan, np.nan, np.nan)
    if counted and not differ:
        return stats.share(groups)
    return stats.mean(groups, shares=counted).interval()


def intervals(
    images: pd.DataFrame,
    by: Sequence[str],
    measures: Sequence[str],
    within: str = "object_class",
) -> pd.DataFrame:
    """Average measures by group with interval ends (x_low, x_high); groups `within` are equal.

    A measure with a negative value counts as a difference, as from :func:`subtract`.
    """
    rows = []
    differ = {name: bool((images[name] < 0).any()) for name in measures}
    for key, part in images.groupby(list(by), sort=False):
        row = dict(zip(by, key, strict=True))
        for name in measures:
            ends = mean(grids(part, name, within), name, differ=differ[name])
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def predictions(
    networks: Mapping[str, Sequence[nn.Module]], sets: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """Predict every test image of the `sets` with every training run of every model."""
    parts = []
    for (set_name, images), (name, runs) in product(sets.items(), networks.items()):
        test = images.split("test")
        best = models.logits(runs, test.images).argmax(2)
        run, image = np.indices(best.shape).reshape(2, -1)
        rows = {
            "model": name,
            "train_set": experiment.MODELS.get(name, ("", ""))[1],
            "run": run,
            "test_set": set_name,
            "image": image,
            "class": np.take(test.classes, test.labels)[image],
            "predicted": np.take(test.classes, best.flatten()),
            "right": (best == test.labels).flatten().numpy(),
        }
        parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


def accuracies(table: pd.DataFrame, error: Callable = crossed_error) -> pd.DataFrame:
    """Compute accuracy by model and test set (Figure 2) with intervals by the formula `error`."""
    rows, keys = [], ["model", "train_set", "test_set"]
    for of, right in grids(table, "right", keys, "image").items():
        rows.append((*of, *stats.share(right, error), right.shape[1], len(right)))
    columns = [*keys, "accuracy", "low", "high", "images", "runs"]
    return pd.DataFrame(rows, columns=columns)
