"""Claims of the first paper: on its own numbers they agree, and each is measured as it says."""

import numpy as np
import pytest
import scipy.stats
import torch
from test_cross_evaluation import predicted

from helpers import stats
from helpers.contexts import claims, effects, mosaics, paper
from helpers.data import Collection
from helpers.run.claims import AGREES, HOLDS, NO_COUNTERPART, UNDECIDED, judge
from helpers.worlds import pictures


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
            (model, test_set): np.array([rng.permutation(100) < round(100 * v) for _ in range(3)])
            for model, accuracies in values.items()
            for test_set, v in zip(("C", "NC", "WB"), accuracies, strict=True)
        }
    )


def verdicts(notebook, estimates):
    return judge(notebook, estimates).set_index("id")["verdict"]


def test_on_the_papers_own_accuracies_its_claims_agree():
    found = verdicts("02", claims.of_cross_evaluation(accuracies_like_the_paper()))
    made_up = {  # by the numbers above that the paper's text does not print
        "contexts/pretrained-better",
        "contexts/only-consistent",
        "contexts/C-generalises-worst/NC",
    }
    assert found.pop("suite/contexts/own-test") == HOLDS
    assert (found.drop(made_up & set(found.index)) == AGREES).all()
    assert len(found) == 10 and NO_COUNTERPART not in set(found)


def test_models_that_all_generalise_agree_with_no_claim():
    table = accuracies_like_the_paper().assign(right=True)
    found = verdicts("02", claims.of_cross_evaluation(table))
    assert (found.drop("suite/contexts/own-test") == UNDECIDED).all()


def test_with_one_set_nothing_can_be_compared():
    table = accuracies_like_the_paper().query("test_set == 'C' and train_set == 'C'")
    [found] = claims.of_cross_evaluation(table)  # model-C is right on all of its own images
    assert found.claim == "suite/contexts/own-test" and found.interval[0] == 0.5


@pytest.fixture
def collection():
    return Collection("world", pictures.CLASSES, {}, {}, dict(pictures.CONTEXT_OF))


def papers_images(collection, share, column):
    """Object images whose shares are the paper's counts, by a design with random logits."""
    labels = torch.arange(4).repeat_interleave(25)
    contexts = dict.fromkeys(collection.classes, range(25))
    design = mosaics.design(labels, contexts, collection.classes, per_context=1)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 100, 4)), rng.normal(size=(2, len(design), 4))
    images = effects.per_image(effects.points(*logits, design, collection.classes))
    for (context, label), value in share.items():
        mine = (images["context_class"] == context) & (images["object_class"] == label)
        order = images.loc[mine, "object"].rank(method="dense")
        images.loc[mine, column] = (order <= round(25 * value)).astype(float)
    return images


def test_on_the_papers_own_paste_counts_its_claims_agree(collection):
    counts, pairs = paper.printed("paste"), paper.pairs()
    taken = {
        (row.context_class, row.pasted): row.predicted / 25
        for row in counts.itertuples()
        if row.pasted != "nothing"
    }
    flipped = {
        (row.context_class, row.object_class): row.mosaic_share for row in pairs.itertuples()
    }
    alone = {
        row.context_class: np.tile((np.arange(25) < row.predicted).astype(float), (2, 1))
        for row in counts.itertuples()
        if row.pasted == "nothing"
    }
    pasted = papers_images(collection, taken, "taken_share")
    beside = papers_images(collection, flipped, "flip_share")
    found = verdicts("04", claims.of_pasting(alone, beside, pasted, collection))
    papers = found[found.index.str.startswith("contexts/")].drop("contexts/effort")
    assert (papers == AGREES).all(), papers


def test_a_smaller_effect_without_the_link_is_welchs_difference():
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, 12), rng.normal(0, 3, 8)
    most, least = ({("mosaics", "logits"): stats.mean(values)} for values in (first, second))
    [found] = claims.of_doses(most, least)
    welch = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert found.interval[1:] == pytest.approx((welch.low, welch.high))
    assert found.of == {"method": "mosaics", "quantity": "logits"}


def test_other_classes_have_no_counterpart(collection):
    collection.context_of["mug"] = "table"
    alone = {name: np.ones((2, 9)) for name in collection.classes}
    found = verdicts("04", claims.of_pasting(alone, None, None, collection))
    assert (found == NO_COUNTERPART).all()
