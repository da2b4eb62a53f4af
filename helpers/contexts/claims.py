"""Printed values and claims of *Assessing Biases through Visual Contexts*.

Claims are rows of tables in ``data/paper``, and their estimates come from tidy tables
of predictions with one row per run and image.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from helpers import stats, store
from helpers.contexts.cross_evaluation import contrast
from helpers.contexts.weighted_means import Grids, Pair, grids_of, weighted_mean
from helpers.data import Collection
from helpers.stats import Estimate
from helpers.stats.extremes import largest, smallest

PAPER = store.root() / "data" / "paper"
CONTROL = "control model"
PAIR = ["object_class", "context_class"]
# a claim about one number is a claim about the smallest of one
EXTREMES = {"": smallest, "smallest": smallest, "largest": largest}


def printed(name: str, collection: Collection | None = None) -> pd.DataFrame:
    """Read a table of printed values, such as "accuracy".

    The table is empty if the classes of a `collection` are not the paper's.
    """
    table = pd.read_csv(PAPER / f"contexts_{name}.csv").drop(columns="source")
    if collection is None or collection.has_the_papers_classes():
        return table
    return table.iloc[:0]


def pasted_in_paper(collection: Collection) -> pd.DataFrame:
    """Return the bars of Figures 11 to 14 as shares of images (column ``paper``).

    Returns
    -------
    pandas.DataFrame
        The columns ``context``, ``object_class`` ("nothing" for a context alone) and
        ``paper``. The table is empty if the classes are not the paper's.
    """
    bars = printed("paste", collection)
    bars["paper"] = bars["predicted"] / bars["images"]
    return bars[["context", "object_class", "paper"]]


def printed_pairs(collection: Collection) -> pd.DataFrame:
    """Return the printed values of each pair of object and context.

    Returns
    -------
    pandas.DataFrame
        One row per pair, in the order of Table 1, with the names of our measures:
        ``distance``, ``single_distance`` and ``drop`` in logits; ``flips``, ``kept``
        and ``mosaics`` as counts; ``flipped`` and ``fooled`` as shares. Values that the
        paper does not print are NaN. The table is empty if the classes are not the
        paper's.
    """
    table = printed("distance", collection)
    for name in ("flips", "paste"):
        table = table.merge(printed(name, collection), how="left")
    class_of = {context: name for name, context in collection.context_of.items()}
    table["context_class"] = table["context"].map(class_of)
    table["drop"] = table["single_distance"] - table["distance"]
    table["flipped"] = table["flips"] / table["mosaics"]
    table["fooled"] = table["predicted"] / table["images"]
    return table


def of_image_sets(guesses: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about mean colours (lesson 01).

    Parameters
    ----------
    guesses : pandas.DataFrame
        From `colour.guesses`.

    Returns
    -------
    list of Estimate
        Where masks show the background, it is compared with chance and with the object,
        and elsewhere the whole image is compared with chance.
    """
    guesses = guesses[guesses["set"] == "C"]
    rates = stats.rates(guesses, "correct", by=["region"]).set_index("region")
    region = "background" if "background" in rates.index else "image"
    rate = rates.loc[region, ["rate", "ci_low", "ci_high"]]
    gain = rate - guesses["chance"].iloc[0]
    estimates = [Estimate("suite/contexts/colour", tuple(gain), {"region": region})]
    if region == "background":
        correct = dict(list(guesses.groupby("region")["correct"]))
        of_background = correct["background"].to_numpy(float)
        difference = of_background - correct["object"].to_numpy(float)
        interval = stats.mean(difference, shares=True).interval()
        estimates.append(Estimate("suite/contexts/colour-of-background", interval))
    return estimates


def of_cross_evaluation(
    predictions: pd.DataFrame, weights: pd.DataFrame | None = None
) -> list[Estimate]:
    """Estimate the claims that compare accuracies (section 2.1.3, lesson 02).

    If a group has several contrasts, we estimate the largest. If a claim has several
    groups, we estimate the smallest of these.

    Parameters
    ----------
    predictions : pandas.DataFrame
        See :mod:`helpers.contexts.cross_evaluation`.
    weights : pandas.DataFrame, optional
        Weights of the accuracies, by default from ``claim_contrasts.csv``.

    Returns
    -------
    list of Estimate
        Without the claims about models or image sets that `predictions` does not have.
    """
    if weights is None:
        weights = pd.read_csv(PAPER / "claim_contrasts.csv")
    measured = predictions[["model", "test_set"]].drop_duplicates()
    if measured["test_set"].nunique() < 2:
        return []
    weights = weights.merge(measured, how="left", indicator="measured")
    estimates = []
    for claim, of_claim in weights.groupby("id"):
        largest_of_groups = []
        for _, group in of_claim.groupby("group"):
            if (group["measured"] == "both").all():
                contrasts = [
                    partial(contrast, predictions, rows)
                    for _, rows in group.groupby("contrast")
                ]
                largest_of_groups.append(partial(largest, contrasts))
        if largest_of_groups:
            estimates.append(Estimate(claim, tuple(smallest(largest_of_groups))))
    return estimates


def of_control_model(predictions: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about model-C for the control model in its place.

    Claims about pretrained models are left out, because they have no control model.

    Parameters
    ----------
    predictions : pandas.DataFrame
        As for :func:`of_cross_evaluation`.

    Returns
    -------
    list of Estimate
        Empty if `predictions` has no "control model".
    """
    if CONTROL not in set(predictions["model"]):
        return []
    weights = pd.read_csv(PAPER / "claim_contrasts.csv")
    for_control = weights.replace({"model": {"model-C": CONTROL}})
    models = for_control.groupby("id")["model"].transform(" ".join)
    has_control = models.str.contains(CONTROL) & ~models.str.contains("pt-")
    of_models = of_cross_evaluation(predictions)
    of_control = of_cross_evaluation(predictions, for_control[has_control])
    # an equal estimate is the extreme of several, and it is not the control model's
    return [estimate for estimate in of_control if estimate not in of_models]


def from_predictions(
    predictions: pd.DataFrame, notebook: str, collection: Collection
) -> list[Estimate]:
    """Estimate the claims of a lesson from the predictions of one model.

    The claims are the rows of ``data/paper/claim_estimates.csv``.

    Parameters
    ----------
    predictions : pandas.DataFrame
        One row per run and image, with the columns ``run``, ``object`` (the number of
        the object's image), ``object_class``, ``context`` and those that the claims
        name. Values that are true or false are averaged as shares.
    notebook : str
        Number of the lesson.
    collection : Collection
        If its classes are not the paper's, claims of this suite replace the paper's
        claims that name classes or contexts.

    Returns
    -------
    list of Estimate
        Without the claims about classes that `predictions` does not have.
    """
    claims = pd.read_csv(
        PAPER / "claim_estimates.csv", dtype=str, keep_default_na=False
    )
    is_of_suite = claims["id"].str.startswith("suite/")
    suits_classes = is_of_suite != collection.has_the_papers_classes()
    names_no_class = claims["where"] == ""
    is_of_lesson = claims["notebook"] == notebook
    estimates = []
    for claim in claims[is_of_lesson & (suits_classes | names_no_class)].itertuples():
        subjects = [{}]
        if claim.by:
            columns = predictions[claim.by.split()]
            subjects = columns.drop_duplicates().to_dict("records")
        for subject in subjects:
            estimate = _estimate(predictions, claim, subject)
            if estimate is not None:
                estimates.append(estimate)
    return estimates


def _estimate(
    predictions: pd.DataFrame, claim: Any, subject: Mapping[str, str]
) -> Estimate | None:
    """Estimate one claim, or return None without predictions for it.

    The `claim` is a row of the table. It is about the mean of `value` over the rows
    `where`, minus the mean over the rows `minus`. Pairs of object and context count
    equally.
    """
    values = predictions.eval(claim.value, local_dict=subject)
    rows = predictions.assign(value=values.astype(float)).dropna(subset="value")
    first = _pairs(rows, claim.where, subject)
    second = _pairs(rows, claim.minus, subject) if claim.minus else {}
    if not first or (claim.minus and not second):
        return None
    intervals = [
        partial(weighted_mean, {**first, **second}, weights, values.dtype == bool)
        for weights in _weights(first, second, claim.each)
    ]
    interval = EXTREMES[claim.each](intervals)
    return Estimate(claim.id, tuple(interval), subject)


def _pairs(rows: pd.DataFrame, where: str, subject: Mapping[str, str]) -> Grids:
    """Return the values of each pair of object and context in some of the rows."""
    if where:
        rows = rows.query(where, local_dict=subject)
    return grids_of(rows, "value", ["object_class", "context"], "object")


def _weights(
    first: Sequence[Pair], second: Sequence[Pair], each: str
) -> list[dict[Pair, float]]:
    """List the weights of pairs in each number that a claim compares.

    If `each` is set, the numbers are single pairs, or differences of two pairs in the
    same context. Otherwise, the only number is the mean of all pairs, or a difference
    of two means.
    """
    if not each:
        weights = dict.fromkeys(first, 1 / len(first))
        weights.update(dict.fromkeys(second, -1 / max(len(second), 1)))
        return [weights]
    if not second:
        return [{pair: 1} for pair in first]
    return [
        {pair: 1, other: -1}
        for pair in first
        for other in second
        if pair[1] == other[1]
    ]


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
    both = paper.loc[paper["flipped"].notna(), PAIR]
    agreement = rank_correlation(
        _by_object_class(flips.merge(both), "flipped"),
        _by_object_class(composites.merge(both), "fooled"),
    )
    paper_shares = paper.set_index(PAIR)["fooled"]
    our_shares = composites.groupby(PAIR)["fooled"].mean()[paper_shares.index]
    with_paper = stats.spearman(our_shares, paper_shares)
    return [
        Estimate("contexts/consistent", tuple(agreement)),
        Estimate("suite/contexts/counts-as-paper", tuple(with_paper)),
    ]


def agreement_with_paper(
    predictions: pd.DataFrame, collection: Collection
) -> pd.DataFrame:
    """Correlate the ranks of the pairs with those in the paper, for four measures.

    Parameters
    ----------
    predictions : pandas.DataFrame
        One row per run and mosaic of one model, with the measures as columns.
    collection : Collection

    Returns
    -------
    pandas.DataFrame
        One row per measure: ``measure``, ``pairs`` (their number), ``rank_correlation``
        with ``low`` and ``high`` (the paper's numbers are taken as exact), and the
        means ``ours`` and ``paper`` over the pairs. The table is empty if the classes
        are not the paper's.
    """
    rows = []
    paper = printed_pairs(collection)
    for measure in ("flipped", "distance", "single_distance", "drop"):
        of_paper = paper[[*PAIR, measure]].dropna()
        both = predictions.merge(of_paper.rename(columns={measure: "paper"}))
        if len(both):
            correlation = rank_correlation(
                _by_object_class(both, measure), _by_object_class(both, "paper")
            )
            means = both.groupby(PAIR)[[measure, "paper"]].mean()
            rows.append([measure, len(means), *correlation, *means.mean()])
    columns = ["measure", "pairs", "rank_correlation", "low", "high", "ours", "paper"]
    return pd.DataFrame(rows, columns=columns)


def _by_object_class(table: pd.DataFrame, measure: str) -> list[np.ndarray]:
    """Arrange a measure as arrays (runs, images, contexts), one per object class."""
    arrays = []
    for _, rows in table.groupby("object_class"):
        wide = rows.pivot_table(measure, ["run", "object"], "context_class")
        n_runs = rows["run"].nunique()
        arrays.append(wide.to_numpy(float).reshape(n_runs, -1, wide.shape[1]))
    return arrays


def rank_correlation(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray]
) -> stats.Interval:
    """Correlate the ranks that two measures give the pairs of object and context.

    Parameters
    ----------
    first, second : sequence of array of shape (runs, images, contexts)
        The two measures, with one array per object class.

    Returns
    -------
    Interval
        Spearman's correlation of the pairs' means, with a bootstrap interval over runs
        and images. It is NaN where all pairs have the same mean.
    """
    return stats.bootstrap_ci([*first, *second], _spearman_of_means)


def _spearman_of_means(arrays: Sequence[np.ndarray]) -> float:
    """Correlate the ranks of means; half of the arrays are of the first measure."""
    means = np.concatenate([values.mean((0, 1)) for values in arrays])
    return stats.spearman(*means.reshape(2, -1)).estimate
