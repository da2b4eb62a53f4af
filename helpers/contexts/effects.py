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

from helpers import stats
from helpers.data import Collection
from helpers.run import project

KEYS = ["training", "context_class", "object_class", "object"]
OF_CONTEXTS = ("flip_share", "context_effect", "taken_effect")
MEASURES = (
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


def points(single_logits, mosaic_logits, design: pd.DataFrame, classes: Sequence[str]):
    """The points of Figure 7: two logits for each mosaic or single image and each pair of classes.

    A pair is an object class with the context of another class. Single images and the control
    mosaics of an object class have a point in each of its pairs, with that pair's two logits.

    Parameters
    ----------
    single_logits : tensor or array (T, N, K), or (N, K) of one training
        Of the object images, in the order `design["object"]` counts.
    mosaic_logits : tensor or array (T, R, K), or (R, K)
        Of the mosaics or composites, one a row of `design`.
    design : DataFrame
        From `mosaics.design` or `pasting.design`.
    classes : sequence of K str

    Returns
    -------
    DataFrame, one row a point
        training : from 0
        object_class, context_class : the pair
        kind : "single", "context", "own" or "neutral"
        object : index of the object image
        side : "left" or "right"; "" for single images
        mosaic : row of `design`; -1 for single images
        object_logit, context_logit : of the two classes of the pair
        distance : signed, to the diagonal; positive on the object's side
        flipped : the context class's logit is above the object's
        kept, taken : the object's, the context's class has the highest logit of all

    Raises
    ------
    ValueError
        For logits that are not finite, or whose shape does not fit `design` and `classes`.
    """
    classes = list(classes)
    objects = design.drop_duplicates("object")
    single = _checked(single_logits, design["object"].max() + 1, classes, "single_logits")
    mosaic = _checked(mosaic_logits, len(design), classes, "mosaic_logits", exact=True)
    if len(single) != len(mosaic):
        raise ValueError(f"{len(single)} trainings of single images, {len(mosaic)} of mosaics")
    table = design.assign(mosaic=np.arange(len(design)))
    singles = objects.assign(kind="single", side="", mosaic=-1)
    used = set(design.loc[design["kind"] == "context", "context_class"])
    parts = []
    for context in [c for c in classes if c in used]:
        mine = (table["kind"] != "context") | (table["context_class"] == context)
        rows = pd.concat([singles, table[mine]])
        parts.append(rows[rows["object_class"] != context].assign(context_class=context))
    table = pd.concat(parts, ignore_index=True)
    is_mosaic = (table["mosaic"] >= 0).to_numpy()[:, None]
    parts = []
    for training, (alone, beside) in enumerate(zip(single, mosaic, strict=True)):
        logits = np.where(is_mosaic, beside[table["mosaic"]], alone[table["object"]])
        parts.append(_measured(table.assign(training=training), logits, classes))
    return pd.concat(parts, ignore_index=True)


def per_image(points: pd.DataFrame) -> pd.DataFrame:
    """Average the points within each object image: what the intervals are made of.

    Parameters
    ----------
    points : DataFrame
        From :func:`points`.

    Returns
    -------
    DataFrame
        One row a (training, context_class, object_class, object): mosaics, flips, kept (counts),
        and the image's flip_share, taken_share, mosaic_distance, single_distance, drop, and with
        the controls neutral_distance, neutral_flip_share, context_effect, flip_effect,
        taken_effect and own_distance, as in :func:`of_pairs` and :func:`of_contexts`. The
        neutral mosaics are averaged over the sides in the proportion of the image's context
        mosaics.
    """
    kinds = {kind: part for kind, part in points.groupby("kind", sort=False)}
    found = (
        kinds["context"]
        .groupby(KEYS, sort=False)
        .agg(
            mosaics=("mosaic", "size"),
            flips=("flipped", "sum"),
            kept=("kept", "sum"),
            flip_share=("flipped", "mean"),
            taken_share=("taken", "mean"),
            mosaic_distance=("distance", "mean"),
        )
    )
    found["single_distance"] = kinds["single"].groupby(KEYS)["distance"].mean()
    found["drop"] = found["single_distance"] - found["mosaic_distance"]
    if "neutral" in kinds:
        twin = kinds["context"][[*KEYS, "side"]].merge(kinds["neutral"], on=[*KEYS, "side"])
        beside = twin.groupby(KEYS)[["distance", "flipped", "taken"]].mean()
        found["neutral_distance"] = beside["distance"]
        found["neutral_flip_share"] = beside["flipped"]
        found["context_effect"] = found["neutral_distance"] - found["mosaic_distance"]
        found["flip_effect"] = found["flip_share"] - found["neutral_flip_share"]
        found["taken_effect"] = found["taken_share"] - beside["taken"]
    if "own" in kinds:
        found["own_distance"] = kinds["own"].groupby(KEYS)["distance"].mean()
    return found.reset_index()


def of_pairs(images: pd.DataFrame) -> pd.DataFrame:
    """What each context does to each object class (section 3, Table 1, Figure 10).

    Parameters
    ----------
    images : DataFrame
        From :func:`per_image`.

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

        x* stands for x, x_low and x_high, the ends of its 95% interval (`stats.mean`). Columns of
        controls are there where the design has these.
    """
    trainings, rows = images["training"].nunique(), []
    for pair, group in images.groupby(["context_class", "object_class"], sort=False):
        row = {"object_class": pair[1], "context_class": pair[0]}
        row |= {"mosaics": group["mosaics"].sum() // trainings, "images": group["object"].nunique()}
        row |= {"flips": group["flips"].sum() / trainings, "kept": group["kept"].sum() / trainings}
        for name in [name for name in MEASURES if name in group]:
            values = grid(group, name)
            if np.isnan(values).all():  # a class whose own context has no images
                interval = stats.Interval(np.nan, np.nan, np.nan)
            elif name.endswith("_share"):
                interval = stats.share(values)
            else:
                interval = stats.mean(values).interval()
            row |= _ends(name, interval)
        if "context_effect" in group:
            row["context_effect_p"] = stats.mean(grid(group, "context_effect")).p
        rows.append(row)
    table = pd.DataFrame(rows)
    if "context_effect_p" in table:
        at = table.columns.get_loc("context_effect_p") + 1
        table.insert(at, "context_effect_p_holm", stats.adjust(table["context_effect_p"]))
    return table


def of_contexts(images: pd.DataFrame) -> pd.DataFrame:
    """Each context's strength as a shortcut: the mean of its effects over the other object classes.

    Parameters
    ----------
    images : DataFrame
        From :func:`per_image`.

    Returns
    -------
    DataFrame
        One row a context_class, in the order of the classes: object_classes (int), and with
        intervals flip_share and, with the controls, context_effect and taken_effect (the share of
        images taken for the context's class, less that on the neutral image). Object classes count
        equally.
    """
    rows = []
    for context, group in images.groupby("context_class", sort=False):
        row = {"context_class": context, "object_classes": group["object_class"].nunique()}
        for name in [name for name in OF_CONTEXTS if name in group]:
            values = stats.mean(grids(group, name), shares=name == "taken_effect")
            row |= _ends(name, values.interval())
        rows.append(row)
    return pd.DataFrame(rows)


def difference(
    images: pd.DataFrame, first: list[str], second: str, measure: str = "context_effect"
) -> stats.Interval:
    """Effect of some classes' contexts, on average, minus another's, within the object image.

    Parameters
    ----------
    images
        From :func:`per_image`.
    first, second
        Classes whose contexts are compared, over the object images that met `second` and some of
        `first`.
    measure
        Column of `images`: ``context_effect`` or ``flip_share``.
    """
    wide = images.pivot_table(
        index=["object_class", "object", "training"], columns="context_class", values=measure
    )
    paired = (wide[first].mean(axis=1) - wide[second]).dropna()
    parts = [part.unstack("training").T.to_numpy() for _, part in paired.groupby("object_class")]
    return stats.mean(parts).interval()


def paper_distances(collection: Collection) -> pd.DataFrame | None:
    """Table 1 as printed: object_class, context_class, mosaic, single; None for other classes."""
    if not collection.has_the_papers_classes():
        return None
    printed = pd.read_csv(project.root() / "data/paper/contexts_distance.csv")
    class_of = {context: label for label, context in collection.context_of.items()}
    return printed.assign(context_class=printed["context"].map(class_of))


def grid(images: pd.DataFrame, name: str) -> np.ndarray:
    """A measure of one pair's images as (trainings, images): what `stats.mean` takes."""
    return images.pivot(index="training", columns="object", values=name).to_numpy(float)


def grids(images: pd.DataFrame, name: str) -> list[np.ndarray]:
    """A measure of one context's images: a :func:`grid` for each object class that has values."""
    known = images.dropna(subset=[name])
    return [grid(part, name) for _, part in known.groupby("object_class", sort=False)]


def _ends(name: str, interval: stats.Interval) -> dict:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _measured(table: pd.DataFrame, logits: np.ndarray, classes: list[str]) -> pd.DataFrame:
    """Add what the logits say to the points."""
    rows, best = np.arange(len(table)), logits.argmax(1)
    objects, contexts = (
        table[name].map(classes.index).to_numpy() for name in ("object_class", "context_class")
    )
    of_object, of_context = logits[rows, objects], logits[rows, contexts]
    order = ["training", "object_class", "context_class", "kind", "object", "side", "mosaic"]
    return table[order].assign(
        object_logit=of_object,
        context_logit=of_context,
        distance=(of_object - of_context) / np.sqrt(2),
        flipped=of_context > of_object,
        kept=best == objects,
        taken=best == contexts,
    )


def _checked(logits, rows: int, classes: list[str], name: str, exact: bool = False) -> np.ndarray:
    logits = np.asarray(logits, dtype=np.float64)
    logits = logits[None] if logits.ndim == 2 else logits
    fits = logits.shape[1] == rows if exact else logits.shape[1] >= rows
    if logits.ndim != 3 or logits.shape[2] != len(classes) or not fits:
        raise ValueError(
            f"{name} has shape {logits.shape}; expected (trainings, {rows}"
            f"{'' if exact else ' or more'}, {len(classes)}): one row an image, one column a class"
        )
    if not np.isfinite(logits).all():
        raise ValueError(
            f"{name} has {int((~np.isfinite(logits)).sum())} values that are not finite"
        )
    return logits
