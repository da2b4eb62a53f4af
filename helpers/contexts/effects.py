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

from collections.abc import Mapping, Sequence

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
READINGS = {"flip_share": "share of flips", "context_effect": "effect beside a neutral image"}
BEYOND = ", beyond the reference"


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
          this context draws the prediction to its class.
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
        rows.append(row)
    return pd.DataFrame(rows)


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
            raw = name == "flip_share" and (group[name] >= 0).all()  # no difference of shares
            shares = name != "context_effect"
            row |= _ends(name, stats.share(grids) if raw else _mean_of(grids, shares))
        rows.append(row)
    return pd.DataFrame(rows)


def contrast(
    images: pd.DataFrame, weights: Mapping[str, float], measure: str = "context_effect"
) -> stats.Interval:
    """A weighted sum of the strengths of contexts, within the object image.

    A context's strength is that of :func:`of_contexts`: the mean of `measure`, a column of the
    images of :func:`per_image`, over its object classes, all of which count. `weights` has a number
    a context class: 1 and -1 compare two contexts, and :func:`slope` says how strength follows
    something known of the contexts. What an image adds to several contexts is added up within it,
    for these values are not independent.
    """
    part = images[images["context_class"].isin(list(weights))]
    classes = part.groupby("context_class")["object_class"].nunique()
    weight = part["context_class"].map(pd.Series(dict(weights)) / classes)
    summed = part.assign(value=weight * part[measure]).groupby(
        ["object_class", "training", "object"], as_index=False
    )["value"]
    groups = [grid(group, "value") for _, group in summed.sum().groupby("object_class")]
    return stats.mean(groups, [1] * len(groups), shares=measure.endswith("_share")).interval()


def slope(known: Mapping[str, float]) -> dict[str, float]:
    """Weights with which `contrast` is the least squares slope of strength on what is known.

    `known` has a number a context class, not all equal.
    """
    values = pd.Series(dict(known))
    centred = values - values.mean()
    return (centred / (centred**2).sum()).to_dict()


def split(images: pd.DataFrame, trainings: int) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """What a model's first trainings answered, and what the networks after them did, if any.

    The latter are numbered from 0 again, as :func:`beyond` takes them.
    """
    first, rest = (images[images["training"] < trainings], images[images["training"] >= trainings])
    return first, rest.assign(training=rest["training"] - trainings) if len(rest) else None


def readings(images: pd.DataFrame, reference: pd.DataFrame | None) -> pd.DataFrame:
    """Each context's strength, read raw, beside the neutral partner and beyond the reference.

    `images` and `reference` are those of :func:`per_image`, as for :func:`beyond`; without a
    reference, what needs one is left out.

    Returns
    -------
    DataFrame
        One row a reading, network and context: reading, network ("asked" or "reference"),
        context_class, value, low, high.
    """
    tables = [("asked", "", images)]
    if reference is not None:
        tables += [("reference", "", reference), ("asked", BEYOND, beyond(images, reference))]
    parts = []
    for network, ending, table in tables:
        strengths = of_contexts(table)
        for measure, reading in READINGS.items():
            columns = {measure: "value", f"{measure}_low": "low", f"{measure}_high": "high"}
            part = strengths[["context_class", *columns]].rename(columns=columns)
            parts.append(part.assign(reading=reading + ending, network=network))
    return pd.concat(parts, ignore_index=True)


def of_trainings(images: pd.DataFrame) -> pd.DataFrame:
    """Raw readings by single trainings: training, context_class, reading and value."""
    by_pair = images.groupby(["training", *PAIR], sort=False)[list(READINGS)].mean()
    means = by_pair.groupby(["training", "context_class"], sort=False).mean().reset_index()
    named = means.rename(columns=READINGS)
    return named.melt(["training", "context_class"], var_name="reading")


def told_apart(images: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """How often one training shows more than one training of the reference does.

    Over all pairs of a training and a reference training, ties counting half: 0.5 where the two
    cannot be told apart, 1 where they always can (the area under the ROC curve).

    Returns
    -------
    DataFrame
        A row a context_class, a column a raw reading.
    """
    values = [
        of_trainings(table).groupby(["context_class", "reading"], sort=False)["value"].apply(list)
        for table in (images, reference)
    ]
    both = pd.concat(values, axis=1, keys=["first", "second"])
    wins = [
        scipy.stats.mannwhitneyu(row.first, row.second).statistic
        / (len(row.first) * len(row.second))
        for row in both.itertuples()
    ]
    return pd.Series(wins, both.index).unstack(sort=False)


def own_gain(images: pd.DataFrame) -> pd.DataFrame:
    """What its own context gives each object class, more than the neutral partner: in logits.

    The distances to the diagonals of all other classes count equally.

    Returns
    -------
    DataFrame
        object_class, and with its interval own_gain.
    """
    value = (images["own_distance"] - images["neutral_distance"]).rename("own_gain")
    keys = ["object_class", "training", "object"]
    means = images.assign(own_gain=value).groupby(keys, as_index=False)["own_gain"].mean()
    return pd.DataFrame(
        {"object_class": name} | with_interval(part, "own_gain", share=False)
        for name, part in means.groupby("object_class")
    )


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
    if share and not np.isnan(values).all():
        return _ends(name, stats.share(values))
    return _ends(name, _mean_of([values]))


def _mean_of(groups: list[np.ndarray], shares: bool = False) -> stats.Interval:
    if any(np.isnan(group).all() for group in groups):  # a design without neutral partners
        return stats.Interval(np.nan, np.nan, np.nan)
    return stats.mean(groups, shares=shares).interval()


def _ends(name: str, interval: stats.Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _of_objects(table: pd.DataFrame, value: str) -> list[np.ndarray]:
    """One array (trainings, images, contexts) an object class: its images met every context."""
    found = []
    for _, part in table.sort_values(PAIR).groupby("object_class"):
        wide = part.set_index(["training", "object", "context_class"])[value].unstack()
        found.append(wide.to_numpy().reshape(part["training"].nunique(), -1, wide.shape[1]))
    return found
