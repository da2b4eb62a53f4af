"""What a context does to a prediction: flips, signed distances, and the part that is the context's.

*Assessing Biases through Visual Contexts*, section 3. A point is (logit of the object's class,
logit of the context's class) of a single image or of a mosaic (Figure 7); its signed distance to
the diagonal, where the two are equal, is (object logit - context logit) / sqrt(2) (Figure 9).
Table 1 lists the distance of the mean point, which is the mean of the distances.

The paper compares a mosaic with the single image. That difference mixes two things: the context,
and being squeezed into half a mosaic. Beside a neutral partner only the second happens, so the
difference between the neutral mosaic and the context mosaic of the same image is the context's
own effect.

Composites of pasted objects are measured in the same way: they are rows of the same kind of design.

Every interval speaks of other *trainings* and other *object images* (`stats.mean`): values are
averaged within an image first, because the mosaics of one image are not independent. Context images
are taken as they are: the intervals speak of other objects beside these contexts.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats

PAIR = ["context_class", "object_class"]
IMAGE = ["training", *PAIR, "object"]
OF_PAIRS = (
    "flip_share",
    "mosaic_distance",
    "single_distance",
    "drop",
    "neutral_distance",
    "neutral_flip_share",
    "context_effect",
    "flip_effect",
    "own_distance",
)
OF_CONTEXTS = ("flip_share", "context_effect", "taken_effect")


def points(single_logits, mosaic_logits, design: pd.DataFrame, classes: Sequence[str]):
    """The points of Figure 7: two logits for each mosaic or single image and each pair of classes.

    A pair is an object class with the context of another class. Single images and the control
    mosaics of an object class have a point in each of its pairs, with that pair's two logits.

    Parameters
    ----------
    single_logits, mosaic_logits : tensors or arrays (T, N, K) and (T, R, K)
        Of T trainings: for the N object images that `design["object"]` counts, and for the R
        mosaics or composites, one a row of `design`.
    design : DataFrame
        From `mosaics.design` or `pasting.design`.
    classes : sequence of K str

    Returns
    -------
    DataFrame, one row a point
        training; object_class, context_class (the pair); kind ("single", "context", "own" or
        "neutral"); object (index of the object image); side ("left" or "right", "" for single
        images); mosaic (row of `design`, -1 for single images); object_logit, context_logit;
        distance (signed, to the diagonal, positive on the object's side); flipped (the context
        class's logit is above the object's); kept, taken (the object's, the context's class has the
        highest logit of all).

    Raises
    ------
    ValueError
        For logits that are not finite, or whose shape does not fit `design` and `classes`.
    """
    classes = list(classes)
    single, mosaic = (np.asarray(logits, float) for logits in (single_logits, mosaic_logits))
    if mosaic.shape != (len(single), len(design), len(classes)):
        raise ValueError(
            f"logits of shapes {single.shape} and {mosaic.shape} do not fit a design of "
            f"{len(design)} mosaics and {len(classes)} classes"
        )
    if not (np.isfinite(single).all() and np.isfinite(mosaic).all()):
        raise ValueError("some logits are not finite numbers")
    made = design.assign(mosaic=np.arange(len(design)))
    singles = made.drop_duplicates("object").assign(kind="single", side="", mosaic=-1)
    used = set(made.loc[made["kind"] == "context", "context_class"])
    parts = []
    for context in [name for name in classes if name in used]:
        of_context = (made["kind"] != "context") | (made["context_class"] == context)
        rows = pd.concat([singles, made[of_context]])
        parts.append(rows[rows["object_class"] != context].assign(context_class=context))
    table = pd.concat(parts, ignore_index=True)
    table = table[["object_class", "context_class", "kind", "object", "side", "mosaic"]]
    is_mosaic = (table["mosaic"] >= 0).to_numpy()[:, None]
    logits = np.where(is_mosaic, mosaic[:, table["mosaic"]], single[:, table["object"]])
    rows, best = np.arange(len(table)), logits.argmax(2)
    objects, contexts = (
        table[name].map(classes.index).to_numpy() for name in ("object_class", "context_class")
    )
    of_object, of_context = logits[:, rows, objects].ravel(), logits[:, rows, contexts].ravel()
    table = pd.concat([table.assign(training=t) for t in range(len(single))], ignore_index=True)
    return table.assign(
        object_logit=of_object,
        context_logit=of_context,
        distance=(of_object - of_context) / np.sqrt(2),
        flipped=of_context > of_object,
        kept=(best == objects).ravel(),
        taken=(best == contexts).ravel(),
    )


def per_image(points: pd.DataFrame) -> pd.DataFrame:
    """Average :func:`points` within each object image: what the intervals are made of.

    Returns
    -------
    DataFrame
        One row a (training, context_class, object_class, object): mosaics, flips, kept (counts),
        the image's flip_share and taken_share, and the distances and effects that :func:`of_pairs`
        and :func:`of_contexts` explain (NaN where the design has no such row). The neutral mosaics
        are averaged over the sides in the proportion of the image's context mosaics.
    """
    kinds = {
        kind: points[points["kind"] == kind] for kind in ("single", "context", "own", "neutral")
    }
    found = (
        kinds["context"]
        .groupby(IMAGE, sort=False)
        .agg(
            mosaics=("mosaic", "size"),
            flips=("flipped", "sum"),
            kept=("kept", "sum"),
            flip_share=("flipped", "mean"),
            taken_share=("taken", "mean"),
            mosaic_distance=("distance", "mean"),
        )
    )
    found["single_distance"] = kinds["single"].groupby(IMAGE)["distance"].mean()
    found["drop"] = found["single_distance"] - found["mosaic_distance"]
    twins = kinds["context"][[*IMAGE, "side"]].merge(kinds["neutral"], on=[*IMAGE, "side"])
    beside = twins.groupby(IMAGE)[["distance", "flipped", "taken"]].mean()
    found["neutral_distance"] = beside["distance"]
    found["neutral_flip_share"] = beside["flipped"]
    found["context_effect"] = found["neutral_distance"] - found["mosaic_distance"]
    found["flip_effect"] = found["flip_share"] - found["neutral_flip_share"]
    found["taken_effect"] = found["taken_share"] - beside["taken"]
    found["own_distance"] = kinds["own"].groupby(IMAGE)["distance"].mean()
    return found.reset_index()


def beyond(images: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Effects less those that the reference trainings show on the same mosaics.

    Both are from :func:`per_image`, of the same design: `reference` of networks that were trained
    where contexts tell nothing of the class. Training by training and image by image everything
    measured is subtracted, so that :func:`of_pairs` and :func:`of_contexts` then say how much more
    the one does than the other. Counts of mosaics stay.
    """
    keys = [*IMAGE, "mosaics"]
    return images.set_index(keys).sub(reference.set_index(keys)).reset_index()


def of_pairs(images: pd.DataFrame) -> pd.DataFrame:
    """What each context does to each object class (section 3, Table 1, Figure 10), by `per_image`.

    Returns
    -------
    DataFrame
        One row a pair (object_class, context_class), in the order of the classes by context:

        - mosaics, images: how many.
        - flips, kept: mosaics with the context class's logit above the object's; with the object's
          on top of all. Means over the trainings.
        - flip_share*: flips / mosaics.
        - mosaic_distance*, single_distance*: signed distance of the mean point to the diagonal, in
          logits (Table 1); drop*: single_distance - mosaic_distance (Figure 10).
        - neutral_distance*, neutral_flip_share*: of the same images beside the neutral partner.
        - context_effect*: neutral_distance - mosaic_distance, paired within image and side: how far
          this context draws the prediction to its class; context_effect_p, context_effect_p_holm:
          the two-sided p-value of "it is zero", and that adjusted for all pairs by Holm's method.
        - flip_effect*: flip_share - neutral_flip_share.
        - own_distance*: of the same images beside their own context.

        x* stands for x, x_low and x_high, the ends of its 95% interval; NaN where nothing is known.
    """
    trainings, rows = images["training"].nunique(), []
    for (context, name), group in images.groupby(PAIR, sort=False):
        row = {"object_class": name, "context_class": context}
        row |= {"mosaics": group["mosaics"].sum() // trainings, "images": group["object"].nunique()}
        row |= {count: group[count].sum() / trainings for count in ("flips", "kept")}
        for measure in OF_PAIRS:
            row |= with_interval(group, measure, share=measure.endswith("_share"))
        row["context_effect_p"] = stats.mean(grid(group, "context_effect")).p
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(context_effect_p_holm=stats.adjust(table["context_effect_p"]))


def of_contexts(images: pd.DataFrame) -> pd.DataFrame:
    """Each context's strength as a shortcut: the mean of its effects over the other object classes.

    The images are those of :func:`per_image`; object classes count equally.

    Returns
    -------
    DataFrame
        One row a context_class, in the order of the classes: object_classes (int), and with
        intervals flip_share, context_effect and taken_effect (the share of images taken for the
        context's class, less that on the neutral image).
    """
    rows = []
    for context, group in images.groupby("context_class", sort=False):
        row = {"context_class": context, "object_classes": group["object_class"].nunique()}
        for name in OF_CONTEXTS:
            grids = [grid(part, name) for _, part in group.groupby("object_class", sort=False)]
            values = stats.mean(grids, shares=name == "taken_effect")
            row |= _ends(name, values.interval())
        rows.append(row)
    return pd.DataFrame(rows)


def difference(
    images: pd.DataFrame, first: list[str], second: str, measure: str = "context_effect"
) -> stats.Interval:
    """Effect of some classes' contexts, on average, minus another's, within the object image.

    It is taken over the object images that met `second` and some of `first`; `measure` is a column
    of `images`, which are those of :func:`per_image`.
    """
    wide = images.pivot_table(
        index=["object_class", "object", "training"], columns="context_class", values=measure
    )
    paired = (wide[first].mean(axis=1) - wide[second]).dropna()
    parts = [part.unstack("training").T.to_numpy() for _, part in paired.groupby("object_class")]
    return stats.mean(parts).interval()


def agreement(
    first: pd.DataFrame, second: pd.DataFrame, value: str = "context_effect"
) -> stats.Interval:
    """How alike two methods rank the pairs of object and context: Spearman over the pairs.

    The images are those of :func:`per_image`, of the same pairs and trainings; the mean of `value`
    is ranked. The interval speaks of other trainings and other images in these pairs
    (`stats.bootstrap`); the pairs themselves are all there are. Its ends are NaN where all pairs
    are alike, so that there is no correlation.
    """
    groups = [_of_objects(table, value) for table in (first, second)]
    number = len(groups[0])

    def correlation(parts: list[np.ndarray]) -> float:
        x, y = (
            scipy.stats.rankdata(np.concatenate([part.mean((0, 1)) for part in of_method]))
            for of_method in (parts[:number], parts[number:])
        )
        return float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else np.nan

    return stats.bootstrap(correlation, [*groups[0], *groups[1]])


def apart(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Pairs of two tables of :func:`of_pairs`, those that are ranked most differently first.

    Returns
    -------
    DataFrame
        context_class, object_class, context_effect with its interval of each (suffixes ``_first``
        and ``_second``), rank_first, rank_second (1 is the smallest effect), and ranks_apart.
    """
    value = "context_effect"
    columns = [*PAIR, value, f"{value}_low", f"{value}_high"]
    both = first[columns].merge(second[columns], on=PAIR, suffixes=("_first", "_second"))
    for name in ("first", "second"):
        both[f"rank_{name}"] = both[f"{value}_{name}"].rank()
    both["ranks_apart"] = (both["rank_first"] - both["rank_second"]).abs()
    return both.sort_values("ranks_apart", ascending=False, kind="stable", ignore_index=True)


def grid(images: pd.DataFrame, name: str) -> np.ndarray:
    """A measure of one group of images as (trainings, images): what `stats.mean` takes."""
    return images.pivot(index="training", columns="object", values=name).to_numpy(float)


def with_interval(images: pd.DataFrame, name: str, share: bool) -> dict[str, float]:
    """The mean of a measure and the ends of its interval; NaN where no value is known."""
    values = grid(images, name)
    if np.isnan(values).all():
        return _ends(name, stats.Interval(np.nan, np.nan, np.nan))
    return _ends(name, stats.share(values) if share else stats.mean(values).interval())


def _ends(name: str, interval: stats.Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _of_objects(table: pd.DataFrame, value: str) -> list[np.ndarray]:
    """One array (trainings, images, contexts) an object class: its images met every context."""
    found = []
    for _, part in table.sort_values(PAIR).groupby("object_class"):
        wide = part.set_index(["training", "object", "context_class"])[value].unstack()
        found.append(wide.to_numpy().reshape(part["training"].nunique(), -1, wide.shape[1]))
    return found
