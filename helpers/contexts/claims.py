"""Printed values and claims of *Assessing Biases through Visual Contexts*.

Claims about classes and contexts are estimated from tidy tables of predictions.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats, store
from helpers.contexts.cross_evaluation import contrast
from helpers.data import Collection
from helpers.stats import Estimate, Interval
from helpers.stats.extremes import largest, smallest
from helpers.synthetic_data import pictures

CLAIM_CONTRASTS = store.root() / "data" / "paper" / "claim_contrasts.csv"
CLAIM_ESTIMATES = store.root() / "data" / "paper" / "claim_estimates.csv"
CONTROL = "control model"
PAIR = ["object_class", "context_class"]
UNITS = ["run", "object", *PAIR]
# the class of each of the paper's contexts
CLASS_OF = {context: name for name, context in pictures.CONTEXT_OF.items()}
EXTREMES = {"smallest": smallest, "largest": largest}
Grids = Mapping[tuple[str, str], pd.DataFrame]  # values of a pair, (runs, images)


def printed(name: str) -> pd.DataFrame:
    """Read a table of printed values, such as "accuracy", with the context's class."""
    path = store.root() / "data" / "paper" / f"contexts_{name}.csv"
    table = pd.read_csv(path).drop(columns="source")
    if "context" in table:
        table["context_class"] = table.pop("context").map(CLASS_OF)
    return table


def _for_the_papers_classes(
    table: pd.DataFrame, collection: Collection
) -> pd.DataFrame:
    """Return a printed table, without rows if the classes are not the paper's."""
    return table if collection.has_the_papers_classes() else table.iloc[:0]


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
    return _for_the_papers_classes(sets, collection)


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
    return _for_the_papers_classes(accuracies, collection)


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
    bars = bars[["context", "object_class", "paper"]]
    return _for_the_papers_classes(bars, collection)


def printed_pairs(collection: Collection) -> pd.DataFrame:
    """Return the printed values of each pair of object and context.

    Returns
    -------
    pandas.DataFrame
        One row per pair, in the order of Table 1, with the names of our measures:
        ``distance``, ``single_distance`` and ``drop`` in logits; ``flips``, ``kept``
        and ``mosaics`` as counts; ``flipped`` and ``fooled`` as shares. Values that the
        paper does not print are NaN. There are no rows if the classes are not the
        paper's.
    """
    names = {"mosaic": "distance", "single": "single_distance"}
    table = printed("distance").rename(columns=names)
    table = table.merge(printed("flips"), how="left", on=PAIR)
    pasted = printed("paste").rename(columns={"pasted": "object_class"})
    table = table.merge(pasted, how="left", on=PAIR)
    table["context"] = table["context_class"].map(pictures.CONTEXT_OF)
    table["drop"] = table["single_distance"] - table["distance"]
    table["flipped"] = table["flips"] / table["mosaics"]
    table["fooled"] = table["predicted"] / table["images"]
    table = table.drop(columns=["predicted", "images"])
    return _for_the_papers_classes(table, collection)


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


def share(values, level: float = stats.CONFIDENCE) -> Interval:
    """Return the interval of a share at a level, as `stats.share` does at 95%.

    Where all values are 0 or all are 1, it is Student's interval, clipped to 0 and 1.
    """
    p, low, high = stats.mean(values, shares=True).interval(level)
    if not (0 < p < 1 and low < high):
        return Interval(*np.clip([p, low, high], 0, 1))
    # as many trials as give a normal interval the width of Student's
    normal_error = (high - p) / scipy.stats.norm.ppf(stats.UPPER)
    trials = p * (1 - p) / normal_error**2
    return Interval(p, *stats.wilson(p * trials, trials))


def from_predictions(
    predictions: pd.DataFrame, notebook: str, collection: Collection
) -> list[Estimate]:
    """Estimate the claims of a lesson from the predictions of one model.

    Each row of ``data/paper/claim_estimates.csv`` says how a claim is estimated: the
    mean of `value` over the rows `where`, minus its mean over the rows `minus`. Pairs
    of object and context count equally. With `each`, it is the smallest or the largest
    mean of a pair, or difference of two pairs in the same context. With `by`, there is
    one estimate for each combination of these columns.

    Parameters
    ----------
    predictions : pandas.DataFrame
        One row per run and image, with the columns ``run``, ``object`` (the number of
        the object's image), ``object_class``, ``context`` and those that the claims
        name. Values that are true or false are averaged as shares.
    notebook : str
        Number of the lesson.
    collection : Collection
        If its classes are not the paper's, claims of this suite replace those of the
        paper that name classes or contexts.

    Returns
    -------
    list of Estimate
        Without the claims about classes that `predictions` does not have.
    """
    claims = pd.read_csv(CLAIM_ESTIMATES, dtype=str, keep_default_na=False)
    of_suite = claims["id"].str.startswith("suite/")
    names_classes = claims["where"] != ""
    wanted = (of_suite != collection.has_the_papers_classes()) | ~names_classes
    estimates = []
    for claim in claims[wanted & (claims["notebook"] == notebook)].itertuples():
        for subject in _subjects(predictions, claim.by.split()):
            values = predictions.eval(claim.value, local_dict=subject)
            first = _grids(predictions, values, claim.where, subject)
            second = {}
            if claim.minus:
                second = _grids(predictions, values, claim.minus, subject)
            if first and (second or not claim.minus):
                is_share = values.dtype == bool
                interval = _interval(first, second, claim.each, is_share)
                estimates.append(Estimate(claim.id, tuple(interval), subject))
    return estimates


def _subjects(predictions: pd.DataFrame, columns: list[str]) -> list[dict]:
    """Return the combinations of the values of some columns, at least an empty one."""
    if not columns:
        return [{}]
    return predictions[columns].drop_duplicates().to_dict("records")


def _grids(
    predictions: pd.DataFrame, values: pd.Series, where: str, subject: dict
) -> Grids:
    """Return the values of each pair of object and context in the rows `where`."""
    rows = predictions.assign(value=values.astype(float)).dropna(subset="value")
    if where:
        rows = rows.query(where, local_dict=subject)
    return {
        pair: part.pivot_table("value", "run", "object")
        for pair, part in rows.groupby(["object_class", "context"], sort=False)
    }


def _interval(first: Grids, second: Grids, each: str, is_share: bool) -> Interval:
    """Return a mean over pairs, a difference of two means, or an extreme of these."""
    if not each:
        weights = dict.fromkeys(first, 1 / len(first))
        for pair in second:
            weights[pair] = -1 / len(second)
        return _weighted_mean({**first, **second}, weights, is_share)
    if not second and is_share:
        return EXTREMES[each]([partial(share, grid) for grid in first.values()])
    candidates = [{pair: 1} for pair in first]
    if second:
        candidates = [
            {pair: 1, other: -1}
            for pair in first
            for other in second
            if pair[1] == other[1]  # in the same context
        ]
    grids = {**first, **second}
    intervals = [
        partial(_weighted_mean, grids, weights, is_share) for weights in candidates
    ]
    return EXTREMES[each](intervals)


def _weighted_mean(
    grids: Grids,
    weights: Mapping[tuple[str, str], float],
    is_share: bool,
    level: float = stats.CONFIDENCE,
) -> Interval:
    """Return a weighted sum of the means of pairs, with its interval.

    Pairs of the same object images are added image by image, because they are not
    independent.
    """
    pairs_of_images = defaultdict(list)
    for pair in weights:
        object_class = pair[0]
        pairs_of_images[object_class, tuple(grids[pair])].append(pair)
    sums = []
    scales = []
    for pairs in pairs_of_images.values():
        of_pairs = np.array([weights[pair] for pair in pairs])
        # so that a mean of shares is a share
        scale = max(abs(of_pairs.sum()), abs(of_pairs).max())
        weighted = [weights[pair] / scale * grids[pair].to_numpy() for pair in pairs]
        sums.append(sum(weighted))
        scales.append(scale)
    if is_share and min(weights.values()) > 0:
        return stats.share(sums)
    return stats.mean(sums, scales, shares=is_share).interval(level)


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
        flips.merge(both)[[*UNITS, "flipped"]],
        composites.merge(both)[[*UNITS, "fooled"]],
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
        One row per measure: ``measure``, ``pairs`` (their number),
        ``rank_correlation`` with ``low`` and ``high`` (the paper's numbers are taken as
        exact), and the means ``ours`` and ``paper`` over the pairs. There are no rows
        if the classes are not the paper's.
    """
    rows = []
    paper = printed_pairs(collection)
    for measure in ("flipped", "distance", "single_distance", "drop"):
        printed_values = paper.dropna(subset=measure)[[*PAIR, measure]]
        printed_values = printed_values.rename(columns={measure: "paper"})
        both = predictions.merge(printed_values)
        if len(both):
            correlation = rank_correlation(
                both[[*UNITS, measure]], both[[*UNITS, "paper"]]
            )
            means = both.groupby(PAIR)[[measure, "paper"]].mean()
            rows.append([measure, len(means), *correlation, *means.mean()])
    columns = ["measure", "pairs", "rank_correlation", "low", "high", "ours", "paper"]
    return pd.DataFrame(rows, columns=columns)


def rank_correlation(first: pd.DataFrame, second: pd.DataFrame) -> Interval:
    """Correlate the ranks that two measures give the pairs of object and context.

    Parameters
    ----------
    first, second : pandas.DataFrame
        One row per run and image, with the columns `UNITS` and a measure. Both have the
        same pairs and runs.

    Returns
    -------
    Interval
        Spearman's correlation of the pairs' means, with a bootstrap interval over runs
        and images. It is NaN where all pairs have the same mean.
    """
    groups = []
    for table in (first, second):
        measure = table.columns[-1]
        for _, part in table.groupby("object_class"):
            wide = part.pivot_table(measure, ["run", "object"], "context_class")
            runs = part["run"].nunique()
            groups.append(wide.to_numpy(float).reshape(runs, -1, wide.shape[1]))
    return stats.bootstrap_ci(groups, _spearman_of_means)


def _spearman_of_means(groups: list[np.ndarray]) -> float:
    """Correlate the ranks of means over arrays (runs, images, contexts).

    The first half of the arrays belongs to the first measure.
    """
    means = np.concatenate([group.mean((0, 1)) for group in groups])
    x, y = scipy.stats.rankdata(means.reshape(2, -1), axis=1)
    if x.std() == 0 or y.std() == 0:
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])
