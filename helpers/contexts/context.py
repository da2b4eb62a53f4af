"""What a context does to a prediction: flips, signed distances, and the part that is the context's.

*Assessing Biases through Visual Contexts*, section 3. A point is (logit of the object's class,
logit of the context's class) of a single image or of a mosaic (Figure 7); its signed distance to
the diagonal, where the two are equal, is (object logit - context logit) / sqrt(2) (Figure 9).
Table 1 lists the distance of the mean point, which is the mean of the distances.

The paper compares a mosaic with the single image. That difference mixes two things: the context,
and being squeezed into half a mosaic. Beside a neutral partner only the second happens, so the
difference between the neutral mosaic and the context mosaic of the same image is the context's
own effect.

Every interval speaks of other *trainings* and other *object images* (`stats.mean`): values are
averaged within an image first, because the mosaics of one image are not independent. Context images
are taken as they are: the intervals speak of other objects beside these contexts.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import stats

KINDS = ("single", "context", "own", "neutral")


def points(single_logits, mosaic_logits, design: pd.DataFrame, classes: Sequence[str]):
    """The points of Figure 7: two logits for each mosaic or single image and each pair of classes.

    A pair is an object class with the context of another class. Single images and the control
    mosaics of an object class have a point in each of its pairs, with that pair's two logits.

    Parameters
    ----------
    single_logits : tensor or array (T, N, K), or (N, K) of one training
        Of the object images, in the order `design["object"]` counts.
    mosaic_logits : tensor or array (T, R, K), or (R, K)
        Of the mosaics, one a row of `design`.
    design : DataFrame
        From `mosaics.design`.
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
        kept : the object's class has the highest logit of all

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


def effects(
    single_logits,
    mosaic_logits,
    design: pd.DataFrame,
    classes: Sequence[str],
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """What each context does to each object class (section 3, Table 1, Figure 10).

    Parameters
    ----------
    single_logits, mosaic_logits, design, classes
        As in `points`.
    level : float in (0, 1)
        Of the intervals, for each number on its own.

    Returns
    -------
    DataFrame
        One row a pair (object_class, context_class), in the order of `classes` by context:

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
        - own_distance*, own_effect*: beside the own context, and own_distance - mosaic_distance.

        x* stands for x, x_low and x_high, the interval's ends (`stats.mean`). Columns of
        controls are there where `design` has these.
    """
    images = per_image(points(single_logits, mosaic_logits, design, classes))
    trainings, rows = images["training"].nunique(), []
    for pair, group in images.groupby(["context_class", "object_class"], sort=False):
        row = {"object_class": pair[1], "context_class": pair[0]}
        row |= {"mosaics": group["mosaics"].sum() // trainings, "images": group["object"].nunique()}
        row |= {"flips": group["flips"].sum() / trainings, "kept": group["kept"].sum() / trainings}
        for name in _MEASURES:
            if name in group:
                row |= _with_ends(name, grid(group, name), level)
        if "context_effect" in group:
            row["context_effect_p"] = stats.mean(grid(group, "context_effect")).p
        rows.append(row)
    table = pd.DataFrame(rows)
    if "context_effect_p" in table:
        at = table.columns.get_loc("context_effect_p") + 1
        table.insert(at, "context_effect_p_holm", stats.adjust(table["context_effect_p"]))
    return table


def strengths(
    single_logits,
    mosaic_logits,
    design: pd.DataFrame,
    classes: Sequence[str],
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Each context's strength as a shortcut: the mean of its effects over the other object classes.

    Parameters
    ----------
    As in `effects`.

    Returns
    -------
    DataFrame, one row a context_class, in the order of `classes`: object_classes (int), and with
    intervals flip_share, drop and, where `design` has
    the controls, context_effect, flip_effect and own_effect. Object classes count equally.
    """
    images = per_image(points(single_logits, mosaic_logits, design, classes))
    rows = []
    for context, group in images.groupby("context_class", sort=False):
        row = {"context_class": context, "object_classes": group["object_class"].nunique()}
        for name in ("flip_share", "drop", "context_effect", "flip_effect", "own_effect"):
            if name in group:
                known = group.dropna(subset=[name]).groupby("object_class", sort=False)
                values = [grid(part, name) for _, part in known]
                if values:
                    row |= _ends(name, stats.mean(values).interval(level))
        rows.append(row)
    return pd.DataFrame(rows)


def grid(images: pd.DataFrame, name: str) -> np.ndarray:
    """A measure of one pair's images as (trainings, images): what `stats.mean` takes."""
    return images.pivot(index="training", columns="object", values=name).to_numpy(float)


def per_image(table: pd.DataFrame) -> pd.DataFrame:
    """Average the points of `points` within each object image: what the intervals are made of.

    Parameters
    ----------
    table : DataFrame
        From `points`.

    Returns
    -------
    DataFrame, one row a (training, context_class, object_class, object): mosaics, flips, kept
    (counts), and
    the image's flip_share, mosaic_distance, single_distance, drop, and with the controls
    neutral_distance, neutral_flip_share, context_effect, flip_effect, own_distance, own_effect,
    as in `effects`. The neutral mosaics are averaged over the sides in the proportion of the
    image's context mosaics.
    """
    keys = ["training", "context_class", "object_class", "object"]
    kinds = {kind: part for kind, part in table.groupby("kind", sort=False)}
    found = (
        kinds["context"]
        .groupby(keys, sort=False)
        .agg(
            mosaics=("mosaic", "size"),
            flips=("flipped", "sum"),
            kept=("kept", "sum"),
            flip_share=("flipped", "mean"),
            mosaic_distance=("distance", "mean"),
        )
    )
    found["single_distance"] = kinds["single"].groupby(keys)["distance"].mean()
    found["drop"] = found["single_distance"] - found["mosaic_distance"]
    if "neutral" in kinds:
        twin = kinds["context"][[*keys, "side"]].merge(kinds["neutral"], on=[*keys, "side"])
        beside = twin.groupby(keys)[["distance", "flipped"]].mean()
        found["neutral_distance"] = beside["distance"]
        found["neutral_flip_share"] = beside["flipped"]
        found["context_effect"] = found["neutral_distance"] - found["mosaic_distance"]
        found["flip_effect"] = found["flip_share"] - found["neutral_flip_share"]
    if "own" in kinds:
        found["own_distance"] = kinds["own"].groupby(keys)["distance"].mean()
        found["own_effect"] = found["own_distance"] - found["mosaic_distance"]
    return found.reset_index()


def examples(
    table: pd.DataFrame,
    object_class: str,
    context_class: str,
    n: int = 3,
    which: str = "closest",
) -> pd.DataFrame:
    """Pick the first training's mosaics of a pair to look at (Figure 8), of different images.

    Parameters
    ----------
    table : DataFrame
        From `points`.
    object_class, context_class : str
    n : int
        At most; fewer where there are fewer object images.
    which : {"closest", "flipped", "kept"}
        Smallest distance to the diagonal, or farthest on the context's or the object's side.

    Returns
    -------
    DataFrame
        Rows of `table`, most telling first; `mosaic` is their row in the design.

    Raises
    ------
    ValueError
        For a pair that has no mosaics, or an unknown `which`.
    """
    order = {"closest": np.abs, "flipped": np.positive, "kept": np.negative}
    if which not in order:
        raise ValueError(f"which={which!r} is not one of {tuple(order)}")
    pair = table[
        (table["kind"] == "context")
        & (table["training"] == 0)
        & (table["object_class"] == object_class)
        & (table["context_class"] == context_class)
    ]
    if pair.empty:
        raise ValueError(f"no mosaic of {object_class!r} beside the context of {context_class!r}")
    ranked = pair.loc[order[which](pair["distance"]).sort_values(kind="stable").index]
    return ranked.drop_duplicates("object").head(n)


_MEASURES = (
    "flip_share",
    "mosaic_distance",
    "single_distance",
    "drop",
    "neutral_distance",
    "neutral_flip_share",
    "context_effect",
    "flip_effect",
    "own_distance",
    "own_effect",
)


def _with_ends(name: str, values: np.ndarray, level: float) -> dict:
    if np.isnan(values).all():  # a class whose own context has no images
        return _ends(name, stats.Interval(np.nan, np.nan, np.nan))
    is_share = name.endswith("_share")
    interval = stats.share(values, level=level) if is_share else stats.mean(values).interval(level)
    return _ends(name, interval)


def _ends(name: str, interval: stats.Interval) -> dict:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _measured(table: pd.DataFrame, logits: np.ndarray, classes: list[str]) -> pd.DataFrame:
    """Add what the logits say to the points."""
    rows = np.arange(len(table))
    objects = table["object_class"].map(classes.index).to_numpy()
    of_object = logits[rows, objects]
    of_context = logits[rows, table["context_class"].map(classes.index)]
    order = ["training", "object_class", "context_class", "kind", "object", "side", "mosaic"]
    return table[order].assign(
        object_logit=of_object,
        context_logit=of_context,
        distance=(of_object - of_context) / np.sqrt(2),
        flipped=of_context > of_object,
        kept=logits.argmax(1) == objects,
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
