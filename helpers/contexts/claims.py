"""What *Assessing Biases through Visual Contexts* prints, and estimates for its claims.

Estimates are for claims that no shown table answers. Where the collection does not have
the paper's classes, claims of this suite replace them. `images` and `pasted` come from
`effects.per_image`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats, store
from helpers.contexts import effects
from helpers.contexts.cross_evaluation import contrast
from helpers.contexts.effects import signed
from helpers.data import Collection
from helpers.stats import Estimate
from helpers.stats.extremes import largest, smallest
from helpers.stats.means import unit_grids
from helpers.synthetic_data import pictures

CLAIM_CONTRASTS = store.root() / "data" / "paper" / "claim_contrasts.csv"
CLAIM_ESTIMATES = store.root() / "data" / "paper" / "claim_estimates.csv"
CONTROL = "control model"
CLASS_OF = {
    context: name for name, context in pictures.CONTEXT_OF.items()
}  # the paper's contexts


def printed(name: str) -> pd.DataFrame:
    """Read a table of printed values, such as "accuracy", with the context's class."""
    path = store.root() / "data" / "paper" / f"contexts_{name}.csv"
    table = pd.read_csv(path).drop(columns="source")
    if "context" in table:
        table["context_class"] = table.pop("context").map(CLASS_OF)
    return table


def sets_in_paper(collection: Collection) -> pd.DataFrame:
    """Return what the paper says about its seven image sets.

    Returns
    -------
    pandas.DataFrame
        The columns ``set``, ``shows``, ``made with`` and ``images in the paper``. There
        are no rows if the classes are not the paper's.
    """
    sets = printed("sets")
    sets = sets.rename(columns={"images": "images in the paper"})
    if not collection.has_the_papers_classes():
        sets = sets.iloc[:0]
    return sets


def accuracies_in_paper(collection: Collection) -> pd.DataFrame:
    """Return the accuracies that the paper prints, as shares.

    Returns
    -------
    pandas.DataFrame
        The columns ``model``, ``test_set`` and ``paper``. There are no rows if the
        classes are not the paper's.
    """
    accuracies = printed("accuracy")
    accuracies = accuracies.rename(columns={"accuracy": "paper"})
    if not collection.has_the_papers_classes():
        accuracies = accuracies.iloc[:0]
    return accuracies


def pasted_in_paper(collection: Collection) -> pd.DataFrame:
    """Return the bars of Figures 11 to 14 as shares of images (column ``paper``).

    Returns
    -------
    pandas.DataFrame
        The columns ``context``, ``object_class`` ("nothing" for a context alone) and
        ``paper``. There are no rows if the classes are not the paper's.
    """
    bars = pd.read_csv(store.root() / "data" / "paper" / "contexts_paste.csv")
    bars["paper"] = bars["predicted"] / bars["images"]
    bars = bars.rename(columns={"pasted": "object_class"})
    if not collection.has_the_papers_classes():
        bars = bars.iloc[:0]
    return bars[["context", "object_class", "paper"]]


def printed_pairs(collection: Collection) -> pd.DataFrame:
    """Return the printed values of each pair of object and context; distances are in logits.

    Values are NaN where the paper prints nothing. There are no rows for other classes.
    """
    pasted = printed("paste").rename(columns={"pasted": "object_class"})
    table = printed("distance").merge(printed("flips"), on=effects.PAIR, how="left")
    table = table.merge(pasted, on=effects.PAIR, how="left")
    if not collection.has_the_papers_classes():
        table = table.iloc[:0]
    return table.assign(
        drop=table["single"] - table["mosaic"],
        mosaic_share=table["flips"] / table["mosaics"],
        paste_share=table["predicted"] / table["images"],
    )


def of_image_sets(collection: Collection, guesses: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about numbers of images and mean colours (lesson 01).

    Parameters
    ----------
    collection : Collection
    guesses : pandas.DataFrame
        As of `colour.guesses`.

    Returns
    -------
    list of Estimate
        The number of images is not tested for synthetic images, which have the numbers
        that we chose, nor for photographs that are not 150 per class.
    """
    estimates = []
    sizes = collection.summary().loc["C"]
    if collection.source != "world" and (sizes["total"] == 150).all():
        in_splits = sizes[["train", "val", "test"]]
        differs = (in_splits != [100, 25, 25]).any(axis=1)
        n = int(differs.sum())
        estimates.append(Estimate("contexts/images-a-class", (n, n, n)))

    guesses = guesses[guesses["set"] == "C"]
    by_region = guesses.groupby("region")
    correct = dict(list(by_region["correct"]))
    region = "image"
    if "background" in correct:
        region = "background"
    rate = correct[region].mean()
    n = len(correct[region])
    chance = guesses["chance"].iloc[0]
    low, high = stats.wilson(rate * n, n)
    gain = (rate - chance, low - chance, high - chance)
    subject = {"region": region}
    estimates.append(Estimate("suite/contexts/colour", gain, subject))

    if region == "background":
        background = correct["background"].to_numpy(float)
        of_object = correct["object"].to_numpy(float)
        gap = stats.mean(background - of_object, shares=True)
        interval = gap.interval()
        estimates.append(Estimate("suite/contexts/colour-of-background", interval))
    return estimates


def of_cross_evaluation(predictions: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims that compare accuracies (section 2.1.3, lesson 02).

    ``data/paper/claim_contrasts.csv`` holds the weights of the accuracies. Of several
    contrasts in a group the largest is estimated, and of several groups the smallest.

    Parameters
    ----------
    predictions : pandas.DataFrame
        See :mod:`helpers.contexts.cross_evaluation`.

    Returns
    -------
    list of Estimate
        Without the claims about models or image sets that `predictions` does not have.
    """
    columns = ["model", "test_set"]
    accuracies = predictions[columns].drop_duplicates()
    if accuracies["test_set"].nunique() < 2:
        return []
    weights = pd.read_csv(CLAIM_CONTRASTS)
    weights = weights.merge(accuracies, how="left", indicator=True)
    estimates = []
    for claim, of_claim in weights.groupby("id"):
        largest_of_groups = []
        for _, group in of_claim.groupby("group"):
            is_measured = group["_merge"] == "both"
            if is_measured.all():
                contrasts = []
                for _, rows in group.groupby("contrast"):
                    of_level = partial(contrast, predictions, rows)
                    contrasts.append(of_level)
                largest_of_groups.append(partial(largest, contrasts))
        if largest_of_groups:
            interval = smallest(largest_of_groups)
            estimate = Estimate(claim, tuple(interval))
            estimates.append(estimate)
    return estimates


def of_control_model(predictions: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about model-C for the control model in its place.

    Pretrained models are left out, because they have no control model.

    Parameters
    ----------
    predictions : pandas.DataFrame
        As for :func:`of_cross_evaluation`, with a "control model".

    Returns
    -------
    list of Estimate
        Empty without a control model.
    """
    model = predictions["model"]
    control = predictions[model == CONTROL]
    if control.empty:
        return []
    from_scratch = predictions[model.str.startswith("model-")]
    others = from_scratch[from_scratch["model"] != "model-C"]
    control = control.assign(model="model-C")
    of_models = of_cross_evaluation(from_scratch)
    replaced = pd.concat([others, control])
    of_control = of_cross_evaluation(replaced)
    return [estimate for estimate in of_control if estimate not in of_models]


def of_mosaics(images: pd.DataFrame, collection: Collection) -> list[Estimate]:
    """Estimate the claims of section 3 in the paper's own quantities (lesson 03)."""
    images = images.assign(kept=images["kept"] / images["mosaics"])
    measures = "flip_share", "drop", "mosaic_distance", "kept"
    flips, drops, distances, kept = (
        effects.grids(images, of, effects.PAIR) for of in measures
    )
    every = smallest([stats.mean(drop).interval for drop in drops.values()])
    if not collection.has_the_papers_classes():
        estimates = [Estimate("contexts/every-pair", tuple(every))]
        for label in images["context_class"].unique():
            ends = stats.share([flips[pair] for pair in flips if pair[0] == label])
            of = {"context": collection.context_of[label], "context_class": label}
            estimates.append(Estimate("suite/contexts/flips/most", ends, of))
            estimates += _more("suite/contexts/flips/more", label, flips, collection)
        return estimates
    mugs = [stats.mean(distances[of, "mug"]).interval for of in ("plane", "bench")]
    estimates = {
        "every-pair": every,
        "hydrants-move-least": largest(_hydrants(drops, "plane", "bench", "mug")),
        "hydrants-farthest": smallest(_hydrants(distances, "plane", "bench")),
        "hydrants-flip-least": largest(_hydrants(flips, "bench", shares=True)),
        "hydrants-flip-most": smallest(_hydrants(flips, "mug", shares=True)),
        "hydrants-kept": stats.share(kept["plane", "fire hydrant"]),
        "planes-on-road": _less(flips, "fire hydrant", "plane"),
        "road-few": largest(
            [partial(share, flips[p]) for p in flips if p[0] == "fire hydrant"]
        ),
        "mugs-across": largest(mugs),
    }
    for first, second in (("park", "sky"), ("sky", "wood"), ("wood", "road")):
        sides = (
            [pair for pair in flips if pair[0] == CLASS_OF[c]] for c in (first, second)
        )
        stronger = effects.contrast(flips, signed(*sides), shares=True, scaled=False)
        estimates[f"stronger/{first}-{second}"] = stronger
    return [
        Estimate(f"contexts/{claim}", tuple(ends)) for claim, ends in estimates.items()
    ]


def _more(
    claim: str, label: str, of: Mapping, collection: Collection
) -> Iterator[Estimate]:
    """Estimate the mean share of one context minus that of the other contexts."""
    sides = [
        [pair for pair in of if (pair[0] == label) == mine] for mine in (True, False)
    ]
    if sides[1]:
        named = {"context": collection.context_of[label], "context_class": label}
        yield Estimate(claim, effects.contrast(of, signed(*sides), shares=True), named)


def _less(groups: Mapping, of: str, name: str = "fire hydrant") -> stats.Interval:
    """Return a mean share minus that of the other objects in the same context."""
    others = [pair for pair in groups if pair[0] == of and pair[1] != name]
    return effects.contrast(groups, signed([(of, name)], others), shares=True)


def _hydrants(groups: Mapping, *contexts: str, shares: bool = False) -> list[Callable]:
    """List, for fire hydrants, their mean minus that of each other object in the same context.

    Each entry is a function from a level to an interval.
    """
    pairs = [
        (pair, (pair[0], "fire hydrant")) for pair in groups if pair[0] in contexts
    ]
    weights = [{hydrants: 1, pair: -1} for pair, hydrants in pairs if pair != hydrants]
    return [partial(effects.contrast, groups, one, shares=shares) for one in weights]


def share(values: np.ndarray, level: float = 0.95) -> stats.Interval:
    """Return the interval of a share at a level, as `stats.share` does at 95%.

    Where all values are 0 or all are 1, it is Student's interval, clipped to 0 and 1.
    """
    p, low, high = stats.mean(values, shares=True).interval(level)
    if not (0 < p < 1 and low < high):
        return stats.Interval(*np.clip([p, low, high], 0, 1))
    trials = p * (1 - p) * (scipy.stats.norm.ppf(stats.UPPER) / (high - p)) ** 2
    return stats.Interval(p, *stats.wilson(p * trials, trials))


def from_predictions(
    predictions: pd.DataFrame, notebook: str, collection: Collection
) -> list[Estimate]:
    """Estimate the claims of a lesson from the predictions of one model.

    Each row of ``data/paper/claim_estimates.csv`` says how a claim is estimated: the
    mean of `value` over the rows `where`, minus its mean over the rows `minus`. Pairs
    of object and context count equally. With `each`, it is the smallest mean of a pair.
    With `by`, there is one estimate for each combination of these columns.

    Parameters
    ----------
    predictions : pandas.DataFrame
        One row per run and image, with the columns ``run``, ``object`` (the number of
        the image), ``object_class``, ``context`` and those that the claims name.
    notebook : str
        Number of the lesson.
    collection : Collection
        If its classes are not the paper's, claims of this suite replace the paper's.

    Returns
    -------
    list of Estimate
        Without the claims about classes that `predictions` does not have.
    """
    claims = pd.read_csv(CLAIM_ESTIMATES, dtype=str, keep_default_na=False)
    of_suite = claims["id"].str.startswith("suite/")
    wanted = of_suite != collection.has_the_papers_classes()
    estimates = []
    for claim in claims[wanted & (claims["notebook"] == notebook)].itertuples():
        for subject in _subjects(predictions, claim.by.split()):
            first = _by_pair(predictions, claim.value, claim.where, subject)
            second = _by_pair(predictions, claim.value, claim.minus, subject)
            if first and (second or not claim.minus):
                interval = _interval(first, second, claim.each)
                estimates.append(Estimate(claim.id, tuple(interval), subject))
    return estimates


def _subjects(predictions: pd.DataFrame, columns: list[str]) -> list[dict]:
    """Return the combinations of the values of some columns, at least an empty one."""
    if not columns:
        return [{}]
    return predictions[columns].drop_duplicates().to_dict("records")


def _by_pair(
    predictions: pd.DataFrame, value: str, where: str, subject: dict
) -> list[np.ndarray]:
    """Return an array (runs, images) of a value for each pair of object and context."""
    if not where:
        return []
    rows = predictions.query(where, local_dict=subject)
    values = rows.eval(value, local_dict=subject).astype(float)
    pair = rows["object_class"] + " + " + rows["context"]
    rows = rows.assign(value=values, pair=pair)
    return unit_grids(rows, "value", ["run", "object"], "pair")


def _interval(
    first: list[np.ndarray], second: list[np.ndarray], each: str
) -> stats.Interval:
    """Return a mean over pairs, a difference of two means, or the smallest mean."""
    if each == "smallest":
        return smallest([partial(share, pair) for pair in first])
    if not second:
        return stats.share(first)
    weights = [1 / len(first)] * len(first) + [-1 / len(second)] * len(second)
    return stats.mean([*first, *second], weights, shares=True).interval()


def of_agreement(
    flips: pd.DataFrame, composites: pd.DataFrame, collection: Collection
) -> list[Estimate]:
    """Estimate how far mosaics and composites of one model rank the pairs alike.

    Parameters
    ----------
    flips : pandas.DataFrame
        One row per run and mosaic, with a column ``flipped``.
    composites : pandas.DataFrame
        One row per run and composite, with a column ``fooled``.
    collection : Collection

    Returns
    -------
    list of Estimate
        The rank correlation over the pairs for which the paper prints both numbers, and
        that with the paper's own counts. Empty if the classes are not the paper's.
    """
    paper = printed_pairs(collection)
    if paper.empty:
        return []
    both = paper.loc[paper["mosaic_share"].notna(), effects.PAIR]
    flipped = flips.groupby(effects.IMAGE)["flipped"].mean().reset_index(name="value")
    fooled = (
        composites.groupby(effects.IMAGE)["fooled"].mean().reset_index(name="value")
    )
    agreement = effects.agreement(flipped.merge(both), fooled.merge(both), "value")
    paper_shares = paper.set_index(effects.PAIR)["paste_share"]
    our_shares = fooled.groupby(effects.PAIR)["value"].mean()[paper_shares.index]
    with_paper = stats.spearman(our_shares, paper_shares)
    return [
        Estimate("contexts/consistent", tuple(agreement)),
        Estimate("suite/contexts/counts-as-paper", tuple(with_paper)),
    ]
