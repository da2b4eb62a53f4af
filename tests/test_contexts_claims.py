"""Claims of the paper on contexts: its own numbers replicate them."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint
from test_cross_evaluation import predicted

from helpers.claims import (
    INCONCLUSIVE,
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATED,
    judge,
)
from helpers.contexts import claims, weighted_means
from helpers.contexts.cross_evaluation import accuracy_lost
from helpers.data import Collection
from helpers.stats.extremes import largest
from synthetic import pictures

HYDRANT = "fire hydrant"


def accuracies_like_the_paper():
    values = {
        "model-NC": (0.5, 0.98, 0.9),
        "model-C": (1.0, 0.70, 0.65),
        "model-WB": (0.83, 0.89, 0.99),
        "pt-NC": (0.9, 1.0, 0.99),
        "pt-C": (1.0, 0.95, 0.96),
        "pt-WB": (0.97, 0.98, 1.0),
    }
    rng = np.random.default_rng(0)
    return predicted(
        {
            (model, test_set): np.array(
                [rng.permutation(100) < round(100 * v) for _ in range(3)]
            )
            for model, accuracies in values.items()
            for test_set, v in zip(("C", "NC", "WB"), accuracies, strict=True)
        }
    )


def verdicts(notebook, estimates, **tables):
    return judge(notebook, estimates, tables).set_index("id")["verdict"]


def test_the_papers_accuracies_replicate_its_claims():
    judged = verdicts("02", claims.of_cross_evaluation(accuracies_like_the_paper()))
    made_up = {  # by numbers that the text does not print
        "contexts/pretrained-better",
        "contexts/only-consistent",
        "contexts/C-generalises-worst/NC",
        "contexts/C-on-NC-over-WB",  # too few images
    }
    assert (judged.drop(made_up & set(judged.index)) == REPLICATED).all()
    assert len(judged) == 11
    assert NOT_TESTABLE not in set(judged)
    table = accuracies_like_the_paper().assign(correct=True)
    judged = verdicts("02", claims.of_cross_evaluation(table))
    assert (judged == INCONCLUSIVE).all()


def test_a_claim_about_several_accuracies_is_their_smallest_difference():
    table = accuracies_like_the_paper()
    accuracy = table.groupby(["model", "test_set"])["correct"].mean()
    value = {
        estimate.claim: estimate.interval[0]
        for estimate in claims.of_cross_evaluation(table)
    }
    gains = accuracy.unstack("model")
    smallest_gain = min(
        (gains["pt-C"] - gains["model-C"]).min(),
        (gains["pt-NC"] - gains["model-NC"]).min(),
        (gains["pt-WB"] - gains["model-WB"]).min(),
    )
    assert value["contexts/pretrained-better"] == pytest.approx(smallest_gain)
    worst_of_wb = accuracy["model-WB"][["C", "NC"]].min()
    worst_of_c = accuracy["model-C"][["NC", "WB"]].min()
    worst_of_nc = accuracy["model-NC"][["C", "WB"]].min()
    assert value["contexts/only-consistent"] == pytest.approx(
        worst_of_wb - max(worst_of_c, worst_of_nc)
    )
    lost = accuracy_lost(table).set_index("model")["lost"]
    from_scratch = lost.filter(like="model-").mean()
    pretrained = lost.filter(like="pt-").mean()
    lost_less = value["contexts/pretrained-lose-less"]
    assert lost_less == pytest.approx(from_scratch - pretrained)


def test_the_control_model_takes_the_place_of_model_c():
    table = accuracies_like_the_paper()
    assert claims.of_control_model(table) == []
    control = table[table["model"] == "model-WB"]
    control = control.assign(model="control model")
    of_control = claims.of_control_model(pd.concat([table, control]))
    value = {estimate.claim: estimate.interval[0] for estimate in of_control}
    assert value["contexts/WB-over-C/NC"] == 0
    assert "contexts/hardest-is-C/NC" not in value, "no claim about model-C"
    assert "contexts/pretrained-better" not in value


@pytest.mark.parametrize("sets", [["C"], ["C", "WB"]])
def test_claims_without_their_image_sets_are_left_out(sets):
    table = accuracies_like_the_paper()
    known = table["test_set"].isin(sets) & table["train_set"].isin(sets)
    judged = {e.claim for e in claims.of_cross_evaluation(table[known])}
    assert "contexts/only-consistent" not in judged
    assert "contexts/C-generalises-worst/WB" not in judged
    assert ("contexts/WB-over-C/other" in judged) == (len(sets) > 1)


@pytest.fixture
def guesses():
    """Guesses of 20 images: by the object half are correct, by the background all."""
    by_object = pd.DataFrame({"correct": np.arange(20) < 10})
    by_object["region"] = "object"
    by_background = by_object.assign(
        region="background",
        correct=True,
    )
    both = pd.concat([by_object, by_background])
    return both.assign(set="C", chance=0.25)


def test_the_background_is_compared_with_chance_and_with_the_object(guesses):
    of_colour, of_background = claims.of_image_sets(guesses)
    low, high = proportion_confint(20, 20, 0.05, "wilson")
    expected = (0.75, low - 0.25, high - 0.25)
    assert of_colour.interval == pytest.approx(expected)
    assert of_colour.subject == {"region": "background"}
    assert of_background.interval[0] == pytest.approx(0.5)
    without_masks = guesses[guesses["region"] == "object"]
    without_masks = without_masks.assign(region="image")
    [of_image] = claims.of_image_sets(without_masks)
    assert of_image.subject == {"region": "image"}


@pytest.fixture
def collection():
    return Collection("world", pictures.CLASSES, {}, {}, dict(pictures.CONTEXT_OF))


def images_like_the_paper(collection, measure, share) -> pd.DataFrame:
    """Return 25 images per pair and run, of which the paper's share has a measure."""
    rows = [
        (run, image, *pair, float(image < round(25 * value)))
        for pair, value in share.items()
        for run in range(2)
        for image in range(25)
    ]
    columns = ["run", "object", "context", "object_class", measure]
    table = pd.DataFrame(rows, columns=columns)
    table[measure] = table[measure].astype(bool)
    # an image of a context alone is of this context only
    is_alone = table["object_class"] == "nothing"
    table.loc[is_alone, "object"] += 100 * table.groupby("context").ngroup()[is_alone]
    class_of = {context: name for name, context in collection.context_of.items()}
    return table.assign(context_class=table["context"].map(class_of))


def test_the_papers_paste_counts_replicate_its_claims(collection):
    bars = claims.pasted_in_paper(collection).set_index(["context", "object_class"])
    predictions = images_like_the_paper(collection, "fooled", bars["paper"])
    composites = predictions[predictions["object_class"] != "nothing"]
    pairs = claims.printed_pairs(collection)
    flipped = pairs.set_index(["context", "object_class"])["flipped"].dropna()
    mosaics_of_paper = images_like_the_paper(collection, "flipped", flipped)
    estimates = claims.from_predictions(predictions, "04", collection)
    estimates += claims.of_agreement(mosaics_of_paper, composites, collection)
    judged = verdicts("04", estimates)
    papers = judged[judged.index.str.startswith("contexts/")]
    assert (papers == REPLICATED).all()
    assert len(papers) == 10, papers
    same = judge("04", estimates, control=estimates).set_index("id")
    assert (same.loc[papers.index, "verdict"] == NOT_SPECIFIC).all()


def test_estimates_of_claims_equal_means_of_rows(collection):
    rng = np.random.default_rng(0)
    bars = claims.pasted_in_paper(collection).set_index(["context", "object_class"])
    predictions = images_like_the_paper(collection, "fooled", bars["paper"])
    predictions["fooled"] = rng.integers(0, 2, len(predictions)).astype(bool)
    estimates = claims.from_predictions(predictions, "04", collection)
    value = {estimate.claim: estimate.interval[0] for estimate in estimates}
    mean = predictions.groupby(["context", "object_class"])["fooled"].mean()
    alone = mean.xs("nothing", level="object_class")
    pasted = mean.drop("nothing", level="object_class")
    assert value["contexts/alone/sky"] == pytest.approx(alone["sky"])
    difference = alone["road"] - alone.drop("road").mean()
    assert value["contexts/alone/road"] == pytest.approx(difference)
    difference = mean["sky", "fire hydrant"] - mean["sky"][["bench", "mug"]].mean()
    assert value["contexts/pasted/sky"] == pytest.approx(difference)
    assert value["contexts/pasted/park"] == pytest.approx(pasted["park"].min())
    assert value["contexts/pasted/road"] == pytest.approx(pasted["road"].mean())
    difference = pasted["wood"].mean() - alone["wood"]
    assert value["contexts/pasted/wood"] == pytest.approx(difference)


def test_other_classes_have_claims_of_this_suite(collection):
    """Each context is compared with the other contexts, since there is no control."""
    bars = claims.pasted_in_paper(collection).set_index(["context", "object_class"])
    predictions = images_like_the_paper(collection, "fooled", bars["paper"])
    renamed = {"sky": "air", "park": "meadow"}
    predictions["context"] = predictions["context"].replace(renamed)
    fooled = predictions["fooled"].astype(bool)
    predictions["prediction"] = predictions["context_class"].where(fooled, "?")
    predictions["fooled"] = fooled
    context_of = {
        name: renamed.get(context, context)
        for name, context in collection.context_of.items()
    }
    other = Collection("folder", collection.classes, {}, {}, context_of)
    estimates = claims.from_predictions(predictions, "04", other)
    judged = pd.Series([estimate.claim for estimate in estimates]).value_counts()
    assert judged.to_dict() == {
        "suite/contexts/pasted": 12,
        "suite/contexts/alone/most": 4,
        "suite/contexts/alone/more": 4,
    }
    more = {
        estimate.subject["context"]: estimate.interval[0]
        for estimate in estimates
        if estimate.claim.endswith("more")
    }
    assert more["road"] == pytest.approx(15 / 25)


def runs_and_images(n_runs, n_images) -> pd.DataFrame:
    """Return one row per run and image."""
    index = pd.MultiIndex.from_product(
        [range(n_runs), range(n_images)],
        names=["run", "object"],
    )
    return index.to_frame(index=False)


def mosaics_like_the_paper(collection) -> pd.DataFrame:
    """Return 125 mosaics per pair and run, each of another object image.

    18 hydrants next to the sky are not kept, and as many are flips.
    """
    pairs = claims.printed_pairs(collection).fillna({"flips": 18})
    rng = np.random.default_rng(0)
    parts = []
    for row in pairs.itertuples():
        part = runs_and_images(2, 125)
        part["object_class"] = row.object_class
        part["context_class"] = row.context_class
        part["context"] = row.context
        part["flipped"] = part["object"] < row.flips
        part["distance"] = row.distance + rng.normal(0, 0.1, len(part))
        part["drop"] = row.single_distance - part["distance"]
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.assign(kept=~table["flipped"], effect=np.nan)


def test_the_papers_mosaics_replicate_its_claims(collection):
    estimates = claims.from_predictions(
        mosaics_like_the_paper(collection), "03", collection
    )
    judged = verdicts("03", estimates)
    assert judged.pop("contexts/sky-of-planes") == NOT_TESTABLE  # no number is printed
    # some printed counts lie too near to each other to decide
    close = judged[judged != REPLICATED]
    assert (close == INCONCLUSIVE).all()
    assert len(judged) == 12
    assert len(close) <= 4, close


def test_pairs_of_the_same_images_are_compared_image_by_image(collection):
    """Images differ more than contexts, but the interval is narrow."""
    rng = np.random.default_rng(0)
    rows = []
    for image, level in enumerate(rng.normal(0, 10, 25)):
        for run in range(3):
            for context, effect in (("sky", 1.0), ("park", 0.0)):
                value = level + effect + rng.normal(0, 0.1)
                rows.append((run, image, "mug", context, value))
    columns = ["run", "object", "object_class", "context", "value"]
    table = pd.DataFrame(rows, columns=columns)
    sky = ("mug", "sky")
    park = ("mug", "park")
    weights = {sky: 1, park: -1}
    pair = ["object_class", "context"]
    grids = weighted_means.grids_of(table, "value", pair, "object")
    value, low, high = weighted_means.weighted_mean(grids, weights, shares=False)
    means = table.groupby("context")["value"].mean()
    assert value == pytest.approx(means["sky"] - means["park"])
    assert high - low < 0.2
    grids[park] = grids[park].add_prefix("other ")
    _, low, high = weighted_means.weighted_mean(grids, weights, shares=False)
    assert high - low > 5


def test_claims_that_name_no_class_are_estimated_for_any_classes(collection):
    table = mosaics_like_the_paper(collection)
    other = Collection("folder", ("a", "b"), {}, {}, {"a": "x", "b": "y"})
    estimates = claims.from_predictions(table, "03", other)
    names = {estimate.claim for estimate in estimates}
    assert names == {
        "contexts/every-pair",
        "suite/contexts/flips/most",
        "suite/contexts/flips/more",
    }


def test_choosing_the_largest_of_several_gaps_keeps_the_error_rate(collection):
    """No object differs; a plain interval errs in about one of ten cases."""
    rng = np.random.default_rng(8)
    pairs = claims.printed_pairs(collection)[["object_class", "context"]]
    pairs = pairs[pairs["context"] != "road"]
    wrong = 0
    plain_wrong = 0
    for _ in range(300):
        grids = {}
        for pair in pairs.itertuples(index=False, name=None):
            drops = rng.normal(rng.normal(0, 0.3, (3, 1)), 1, (3, 20))
            grids[pair] = pd.DataFrame(drops)
        hydrants = [pair for pair in grids if pair[0] == HYDRANT]
        others = [pair for pair in grids if pair[0] != HYDRANT]
        gaps = {}
        for weights in claims._weights(hydrants, others, "largest"):
            interval = partial(
                weighted_means.weighted_mean,
                grids,
                weights,
                False,  # not shares
            )
            gaps[interval().estimate] = interval
        assert len(gaps) == 6
        value, low, high = largest(list(gaps.values()))
        largest_gap = max(gaps)
        assert value == pytest.approx(largest_gap)
        wrong += low > 0 or high < 0
        plain_wrong += gaps[largest_gap]().low > 0
    assert wrong / 300 < 0.05 < 0.07 < plain_wrong / 300


def test_a_rank_correlation_is_spearmans_of_the_pairs_means():
    rng = np.random.default_rng(5)
    pairs = [(o, c) for o in "abcd" for c in "abcd" if o != c]
    parts = []
    for number, (object_class, context_class) in enumerate(pairs):
        part = runs_and_images(5, 25)
        part["object_class"] = object_class
        part["context_class"] = context_class
        part["first"] = number + rng.normal(0, 16, len(part))
        part["second"] = number + rng.normal(0, 16, len(part))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    means = table.groupby(claims.PAIR)[["first", "second"]].mean()
    first = claims._by_object_class(table, "first")
    shuffled = table.sample(frac=1, random_state=0)
    second = claims._by_object_class(shuffled, "second")
    correlation = claims.rank_correlation(first, second)
    expected = scipy.stats.spearmanr(means["first"], means["second"]).statistic
    assert correlation.estimate == pytest.approx(expected)
    assert correlation.low < correlation.estimate < correlation.high
    equal = claims._by_object_class(table.assign(second=0.0), "second")
    assert np.isnan(claims.rank_correlation(first, equal)).all()
