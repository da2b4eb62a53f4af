"""`contexts.effects` against loops, closed forms and resampling."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from helpers.contexts import effects, mosaics

CLASSES = ("bench", "fire hydrant", "plane", "mug")
PULL = {
    "bench": 3.0,
    "fire hydrant": 0.0,
    "plane": 2.0,
    "mug": 1.0,
}  # what each context adds
LOSS = 4.0  # what any mosaic takes from the object's logit


def per_image(*scored):
    return effects.per_image(effects.points(*scored))


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def logits_of_known_law(classes=CLASSES, pull=PULL, n=25, noise=0.5, trainings=3):
    """Return a design and logits: a loss in any mosaic plus the pull of the context."""
    rng = np.random.default_rng(0)
    labels = torch.arange(len(classes)).repeat_interleave(n)
    contexts = dict.fromkeys(classes, range(20))
    table = mosaics.design(labels, contexts, classes)
    single = rng.normal(0, 1, (trainings, len(labels), len(classes)))
    single[:, np.arange(len(labels)), labels] += 6
    mosaic = single[:, table["object"]]
    mosaic = mosaic + rng.normal(0, noise, (trainings, len(table), len(classes)))
    for row, made in enumerate(table.itertuples()):
        mosaic[:, row, classes.index(made.object_class)] -= LOSS
        mosaic[:, row, classes.index(made.context_class)] += pull[made.context_class]
    return single, mosaic, table, classes


def test_effects_of_pairs_equal_loops():
    single, mosaic, table, classes = logits_of_known_law()
    pairs = effects.of_pairs(per_image(single, mosaic, table, classes))
    for row in pairs.itertuples():
        o = classes.index(row.object_class)
        c = classes.index(row.context_class)
        apart = []
        flips = 0
        kept = 0
        before = {}
        pair = ("context", row.object_class, row.context_class)
        for r, made in enumerate(table.itertuples()):
            if (made.kind, made.object_class, made.context_class) != pair:
                continue
            for t, (alone, made_logits) in enumerate(zip(single, mosaic, strict=True)):
                apart.append((made_logits[r, o] - made_logits[r, c]) / 2**0.5)
                flips += made_logits[r, c] > made_logits[r, o]
                kept += all(made_logits[r, o] >= made_logits[r, k] for k in range(4))
                before[t, made.object] = (
                    alone[made.object, o] - alone[made.object, c]
                ) / 2**0.5
        assert row.mosaics == 125
        assert (len(apart), len(before)) == (3 * 125, 3 * 25)
        assert (row.flips, row.kept) == pytest.approx((flips / 3, kept / 3))
        assert row.flip_share == pytest.approx(flips / 375)
        assert row.mosaic_distance == pytest.approx(np.mean(apart))
        assert row.single_distance == pytest.approx(np.mean(list(before.values())))
        assert row.drop == pytest.approx(row.single_distance - row.mosaic_distance)


def test_intervals_are_of_images_not_mosaics():
    """Five equal mosaics per image give the same interval as one."""
    labels = torch.zeros(25, dtype=torch.int64)
    rng = np.random.default_rng(0)
    single = rng.normal(size=(1, 25, 2))
    widths = []
    for per_context in (1, 5):
        table = mosaics.design(labels, {"b": range(9)}, "ab", per_context=per_context)
        images = per_image(single, single[:, table["object"]], table, "ab")
        pair = effects.of_pairs(images).iloc[0]
        widths.append(pair["mosaic_distance_high"] - pair["mosaic_distance_low"])
    assert widths[0] == pytest.approx(widths[1])


def test_logits_that_do_not_fit_are_refused():
    single, mosaic, table, classes = logits_of_known_law(n=2)
    with pytest.raises(ValueError, match="do not fit a design of"):
        effects.points(single, mosaic[:, :-1], table, classes)
    mosaic[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        effects.points(single, mosaic, table, classes)


def images(effect, seed, noise=1.0, n=25, trainings=5):
    """Return effects per image of twelve pairs with known means."""
    rng = np.random.default_rng(seed)
    parts = []
    run, image = (index.ravel() for index in np.indices((trainings, n)))
    for (object_class, context_class), mean in effect.items():
        rows = {"run": run, "object": image}
        rows |= {"object_class": object_class, "context_class": context_class}
        rows["context_effect"] = mean + rng.normal(0, noise, trainings * n)
        parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


PAIRS = [(o, c) for o in "abcd" for c in "abcd" if o != c]
RISING = dict(zip(PAIRS, np.arange(12.0), strict=True))


def test_agreement_is_spearmans_over_pairs():
    first = images(RISING, 5, 16)
    second = images(RISING, 6, 16)
    means = [t.groupby(effects.PAIR)["context_effect"].mean() for t in (first, second)]
    ours = effects.agreement(
        first, second.sample(frac=1, random_state=0), "context_effect"
    )
    assert ours.estimate == pytest.approx(scipy.stats.spearmanr(*means).statistic)
    assert np.isnan(
        effects.agreement(first, first.assign(context_effect=0.0), "context_effect")
    ).all()
    assert ours.low < ours.estimate < ours.high
