"""`helpers.stats.ranks` against scipy, the formula by hand, simulation, and a brute-force loop."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from helpers.contexts import pasting
from helpers.stats import ranks


def test_spearman_is_scipys_and_its_ends_are_the_formulas():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20)
    found = ranks.spearman(x, y)
    r = scipy.stats.spearmanr(x, y).statistic
    z, half = 0.5 * np.log((1 + r) / (1 - r)), 1.959964 * np.sqrt((1 + r * r / 2) / 17)
    ends = [(np.exp(2 * v) - 1) / (np.exp(2 * v) + 1) for v in (z - half, z + half)]
    assert found.estimate == pytest.approx(r)
    assert [found.low, found.high] == pytest.approx(ends, abs=1e-6)


def test_the_interval_covers():
    """500 samples of 15 from a normal of correlation 0.7; rank correlation 6/pi asin(rho/2)."""
    rng, rho, hits = np.random.default_rng(1), 0.7, 0
    true = 6 / np.pi * np.arcsin(rho / 2)
    for _ in range(500):
        x, e = rng.normal(size=(2, 15))
        found = ranks.spearman(x, rho * x + np.sqrt(1 - rho**2) * e)
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 500 <= 0.985


def test_spearman_without_spread_or_with_few_points():
    assert np.isnan(ranks.spearman([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]).estimate)
    few, perfect = ranks.spearman([1, 2, 3], [1, 3, 2]), ranks.spearman(range(9), range(9))
    assert few.estimate == 0.5 and np.isnan(few.low)
    assert perfect.estimate == pytest.approx(1) and np.isnan(perfect.low)
    with pytest.raises(ValueError, match="one value a unit"):
        ranks.spearman([1, 2], [1, 2, 3])


def images(effect, seed, noise=1.0, n=25, trainings=5):
    """Per-image effects of twelve pairs with the means of `effect`."""
    rng, parts = np.random.default_rng(seed), []
    training, image = (index.ravel() for index in np.indices((trainings, n)))
    for (object_class, context_class), mean in effect.items():
        found = {"training": training, "object": image}
        found |= {"object_class": object_class, "context_class": context_class}
        found["context_effect"] = mean + rng.normal(0, noise, trainings * n)
        parts.append(pd.DataFrame(found))
    return pd.concat(parts, ignore_index=True)


PAIRS = [(o, c) for o in "abcd" for c in "abcd" if o != c]
RISING = dict(zip(PAIRS, np.arange(12.0), strict=True))


def test_agreement_is_spearman_over_pairs():
    rng = np.random.default_rng(3)
    other = {pair: mean + rng.normal(0, 3) for pair, mean in RISING.items()}
    first, second = images(RISING, 0), images(other, 1)
    keys = ["object_class", "context_class"]
    means = [t.groupby(keys)["context_effect"].mean() for t in (first, second)]
    found = ranks.agreement(first, second.sample(frac=1, random_state=0))
    assert found.estimate == pytest.approx(scipy.stats.spearmanr(*means).statistic)
    assert found.low <= found.estimate <= found.high


def test_agreement_is_wide_where_images_differ_much():
    sharp = ranks.agreement(images(RISING, 0, 0.01), images(RISING, 1, 0.01))
    vague = ranks.agreement(images(RISING, 0, 60), images(RISING, 1, 60))
    assert sharp.low == pytest.approx(1) and vague.high - vague.low > 0.5


def test_agreement_resamples_trainings_and_images_against_a_loop():
    """An object's images are drawn once for all its contexts, trainings once for both methods."""
    first, second = images(RISING, 5, 16), images(RISING, 6, 16)
    values = [
        {
            pair: part.pivot(index="training", columns="object", values="context_effect").to_numpy()
            for pair, part in t.groupby(ranks.PAIR)
        }
        for t in (first, second)
    ]
    rng, found = np.random.default_rng(7), []
    for _ in range(1000):
        means, some = [], rng.integers(5, size=5)
        for of_pair in values:
            drawn = {name: rng.integers(25, size=25) for name in "abcd"}
            means.append([of_pair[c, o][some][:, drawn[o]].mean() for o, c in PAIRS])
        found.append(scipy.stats.spearmanr(*means).statistic)
    tail = scipy.stats.norm.cdf(scipy.stats.t.ppf(0.025, 4) * np.sqrt(5 / 4))
    ours = ranks.agreement(first, second)
    assert [ours.low, ours.high] == pytest.approx(np.quantile(found, [tail, 1 - tail]), abs=0.06)


def test_agreement_refuses_other_pairs_and_knows_no_interval_without_spread():
    first = images(RISING, 0)
    with pytest.raises(ValueError, match=r"different pairs: \[\('b', 'a'\)\]"):
        ranks.agreement(
            first, first[first["context_class"].ne("b") | first["object_class"].ne("a")]
        )
    flat = first.assign(context_effect=0.0)
    assert np.isnan(ranks.agreement(first, flat)).all()


def test_apart_puts_the_pairs_that_disagree_first():
    table = pd.DataFrame(PAIRS, columns=["object_class", "context_class"])
    first = table.assign(
        context_effect=np.arange(12.0), context_effect_low=0, context_effect_high=0
    )
    second = first.assign(context_effect=[11.0, *range(1, 11), 0.0])
    found = ranks.apart(first, second)
    assert found["ranks_apart"].tolist()[:3] == [11, 11, 0]
    assert set(found["object_class"].head(2)) == {"a", "d"}


def test_the_papers_two_methods_agree():
    """Its printed counts, eleven pairs, by scipy."""
    pairs = pasting.paper_pairs()
    assert len(pairs) == 11
    found = ranks.spearman(pairs["mosaic_share"], pairs["paste_share"])
    assert found.estimate == pytest.approx(0.829, abs=0.001) and found.low > 0.3
