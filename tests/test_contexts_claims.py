"""Claims of the paper on contexts: its own numbers replicate them."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from statsmodels.stats.proportion import proportion_confint
from test_cross_evaluation import predicted

from helpers.claims import (
    INCONCLUSIVE,
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATED,
    judge,
)
from helpers.contexts import claims, effects, mosaics
from helpers.data import Collection
from synthetic import pictures

HYDRANT = "fire hydrant"
CS = ("plane", "bench", "mug")


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
    made_up = {  # by the numbers above that the paper's text does not print
        "contexts/pretrained-better",
        "contexts/only-consistent",
        "contexts/C-generalises-worst/NC",
        "contexts/C-on-NC-over-WB",  # printed, but five of a hundred images decide nothing
    }
    assert (judged.drop(made_up & set(judged.index)) == REPLICATED).all()
    assert len(judged) == 11
    assert NOT_TESTABLE not in set(judged)
    table = accuracies_like_the_paper().assign(right=True)
    judged = verdicts("02", claims.of_cross_evaluation(table))
    assert (judged == INCONCLUSIVE).all()


@pytest.fixture
def collection():
    return Collection("world", pictures.CLASSES, {}, {}, dict(pictures.CONTEXT_OF))


def papers_images(collection, share, column):
    """Return object images whose shares are the paper's counts."""
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


def named(taken: np.ndarray, label: int) -> torch.Tensor:
    """Return logits (T, M, 4) that predict a class or, where not taken, another one."""
    return torch.from_numpy(np.eye(4)[np.where(taken > 0, label, (label + 1) % 4)])


def test_the_papers_paste_counts_replicate_its_claims(collection):
    pairs = claims.printed_pairs(collection).set_index(effects.PAIR)
    names = list(collection.classes)
    logits = {
        row.context_class: named(
            np.tile(np.arange(25) < row.predicted, (2, 1)),
            names.index(row.context_class),
        )
        for row in claims.printed("paste").query("pasted == 'nothing'").itertuples()
    }
    pasted = papers_images(collection, pairs["paste_share"], "taken_share")
    flipped = papers_images(collection, pairs["mosaic_share"].dropna(), "flip_share")
    counts = claims.paste_counts(logits, pasted, collection)
    judged = verdicts(
        "04",
        claims.of_pasting(logits, flipped, pasted, collection),
        **{"paste-counts": counts},
    )
    papers = judged[judged.index.str.startswith("contexts/")]
    assert (papers == REPLICATED).all()
    assert len(papers) == 10, papers
    estimates = claims.of_pasting(logits, flipped, pasted, collection)
    tables = {"paste-counts": counts, "paste-counts-reference": counts}
    same = judge("04", estimates, tables, control=estimates).set_index("id")
    assert (same.loc[papers.index, "verdict"] == NOT_SPECIFIC).all()


def test_the_papers_flips_replicate_its_claims(collection):
    """Each of its 125 mosaics per pair is one image; 18 hydrants were not kept on the sky."""
    table = claims.printed_pairs(collection)
    rows = [
        (row.context_class, row.object_class, run, image, image < row.flips)
        for row in table.fillna({"flips": 18}).itertuples()
        for run in range(2)
        for image in range(125)
    ]
    images = pd.DataFrame(rows, columns=[*effects.PAIR, "run", "object", "flip_share"])
    images = images.merge(table[[*effects.PAIR, "mosaic", "single"]]).astype(
        {"flip_share": float}
    )
    shake = np.random.default_rng(0).normal(0, 0.1, len(images))
    images["mosaic_distance"] = images["mosaic"] + shake
    images["single_distance"] = images["single"]
    images["drop"] = images["single_distance"] - images["mosaic_distance"]
    images = images.assign(
        mosaics=1, flips=images["flip_share"], kept=1 - images["flip_share"]
    )
    others = set(effects.OF_PAIRS) - set(images)
    images = images.assign(**dict.fromkeys(others, np.nan))
    pairs = effects.of_pairs(images).merge(
        table, "left", effects.PAIR, suffixes=("", "_paper")
    )
    judged = verdicts("03", claims.of_mosaics(images, collection), table1=pairs)
    assert judged.pop("contexts/sky-of-planes") == NOT_TESTABLE  # no number is printed
    close = judged[
        judged != REPLICATED
    ]  # printed counts that lie too near to each other to decide
    assert (close == INCONCLUSIVE).all()
    assert len(close) <= 4, close


@pytest.mark.parametrize("level", [0.95, 1 - 0.05 / 3])
def test_a_share_by_level_is_wilsons_interval(level):
    """One run: as many trials as give Student's half of the interval."""
    z = scipy.stats.norm.ppf((1 + level) / 2)
    t = scipy.stats.t.ppf((1 + level) / 2, 24)
    trials = 24 * (z / t) ** 2
    low, high = proportion_confint(trials * 8 / 25, trials, 1 - level, "wilson")
    ours = claims.share(np.arange(25) < 8, level)
    assert ours == pytest.approx((8 / 25, low, high))


def test_choosing_the_largest_of_several_gaps_keeps_the_error_rate():
    """No object differs from any other; a plain interval errs in about one of ten cases."""
    rng, wrong, plain = np.random.default_rng(8), 0, 0
    pairs = [
        (c, of) for c in pictures.CONTEXT_OF for of in pictures.CONTEXT_OF if c != of
    ]
    for _ in range(300):
        drops = {
            pair: rng.normal(rng.normal(0, 0.3, (3, 1)), 1, (3, 20)) for pair in pairs
        }
        several = claims._hydrants(drops, "plane", "bench", "mug")
        assert len(several) == 6
        value, low, high = claims.largest(several)
        means = {pair: drop.mean() for pair, drop in drops.items()}
        least = {
            c: min(m for p, m in means.items() if p[0] == c and p[1] != HYDRANT)
            for c in CS
        }
        assert value == pytest.approx(max(means[c, HYDRANT] - least[c] for c in CS))
        wrong += low > 0 or high < 0
        plain += max(one(0.95) for one in several)[1] > 0
    assert wrong / 300 < 0.05 < 0.07 < plain / 300
