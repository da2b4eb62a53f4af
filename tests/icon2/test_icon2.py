"""ICON2's formulas against numbers worked by hand, plain loops and the paper's own
tables.
"""

from dataclasses import replace

import drawn as made_up
import numpy as np
import pytest
import scipy.stats
from detection_oracles import average_precision, plain_ap, recorded_settings, scene

from helpers.icon2 import (
    Frames,
    Options,
    analyse,
    attributes,
    formulas,
    match,
    sigma_null,
    verdicts,
)
from helpers.icon2 import analysis as analyses
from helpers.icon2.attributes import from_column, made
from helpers.icon2.formulas import cochrans_q


def streets(n_images, seed=0, confounding=0.0, classes=("car",), thresholds=(0.5,)):
    """Return made-up frames, their matches and income."""
    world = Frames(
        *made_up.make(
            n_images,
            seed,
            confounding,
            classes,
        )
    )
    return world, match(world, thresholds), from_column(world, "income")


@pytest.fixture(scope="module")
def little():
    drawn = scene(
        1,
        60,
        1,
        boxes=5,
    )
    return drawn, match(drawn, (0.4, 0.6))


@pytest.fixture(scope="module")
def world():
    drawn, matches, income = streets(
        400,
        3,
        0.4,
        thresholds=(0.5, 0.75),
    )
    return drawn, matches, income, [made(drawn, name) for name in attributes.OF_PAPER]


def test_formulas_by_hand():
    assert formulas.sigma(np.array([0.1, 0.2, 0.3])) == pytest.approx(0.1)
    assert np.isnan(formulas.sigma(np.array([0.1, np.nan, 0.3])))
    ap = np.array([0.2, 0.6])
    boxes = np.array([[75.0, 25.0], [25.0, 75.0]])
    np.testing.assert_allclose(formulas.proxy(ap, boxes), [0.3, 0.5])
    assert np.isnan(formulas.proxy(np.array([0.2, np.nan]), boxes)).all()
    with_gap = formulas.proxy(
        np.array([0.2, np.nan, 0.6]),
        np.insert(
            boxes,
            1,
            50.0,
            axis=0,
        ),
    )
    np.testing.assert_allclose(
        with_gap, [0.3, 0.5], err_msg="what is not estimable is left out"
    )
    cell = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.1, np.nan, 0.9]])
    assert formulas.controlled(cell) == pytest.approx(0.05)
    assert formulas.controlled(cell, "variance") == pytest.approx(np.sqrt(0.01 / 2))
    assert np.isnan(formulas.controlled(cell[2:]))


@pytest.mark.parametrize("precision", ["normalised", "raw", "per image"])
@pytest.mark.parametrize("images", ["with the value", "all"])
def test_every_cell_equals_plain_loops(little, precision, images):
    drawn, matches = little
    options = Options(precision=precision, images=images, min_boxes=1)
    group = from_column(drawn, "group")
    colour = from_column(drawn, "colour")
    analysis = analyse(
        matches,
        group,
        [colour],
        options=options,
    )
    ap = analysis.cells().set_index(["value", "group"]).AP
    boxes = drawn.boxes[~drawn.boxes.ignore]
    listed = matches.detections
    for value in colour.values:
        counts = {}
        seen = {}
        for name in group.values:
            here = set(np.flatnonzero(drawn.images.group == name))
            own = boxes[(boxes.colour == value) & boxes.image.isin(here)]
            counts[name] = len(own)
            seen[name] = here if images == "all" else set(own.image)
        density = np.mean([counts[n] / len(seen[n]) for n in group.values])
        for name in group.values:
            normal = {
                "raw": None,
                "normalised": np.mean(list(counts.values())),
                "per image": density * len(seen[name]),
            }[precision]
            aps = []
            for t in range(2):
                scored = []
                for position, one in listed.iterrows():
                    row = matches.taken[t, position]
                    if row >= 0:
                        box = drawn.boxes.loc[row]
                        here = drawn.images.group[box.image] == name
                        if here and not box.ignore and box.colour == value:
                            scored.append((True, 1.0))
                    elif int(one.image) in seen[name]:
                        scored.append((False, 1.0))
                aps.append(plain_ap(scored, counts[name], normal))
            assert ap[value, name] == pytest.approx(100 * np.mean(aps), abs=1e-9)


def test_standardising_by_images_is_a_weighted_average_precision(world):
    drawn, matches, income, others = world
    options = Options("raw", images="all")
    analysis = analyse(matches, income, [others[2]], options=options)
    part = analysis.parts["car", "time"]
    of_box = drawn.images.loc[drawn.boxes.image].reset_index(drop=True)
    common = of_box.timeofday.value_counts(normalize=True)
    for a, name in enumerate(income.values):
        own = of_box.timeofday[of_box.income == name].value_counts(normalize=True)
        weight = drawn.images.timeofday.astype(str).map(common / own).to_numpy(float)
        weight = weight * (drawn.images.income == name).to_numpy()
        expected = average_precision(matches, weights=weight).mean()
        assert part.standardised[0, a] == pytest.approx(100 * expected, abs=1e-4)


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = average_precision(streets(12_000, 99)[1]).item()
    covered = 0
    for seed in range(80):
        matches = streets(120, seed)[1]
        weights = analyses.image_weights(120, 100, seed)
        ap = np.array([average_precision(matches, weights=w).item() for w in weights])
        ap = analyses.with_interval("AP", ap)
        covered += ap["low"] <= truth <= ap["high"]
    assert 0.85 <= covered / 80 <= 1.0


@pytest.mark.slow
def test_the_null_is_uniform_where_videos_share_a_group_and_an_effect():
    p = {"frames": [], "videos": []}
    for seed in range(60):
        video = np.arange(120) // 6
        rng = np.random.default_rng(seed)
        group = rng.permutation(np.arange(20) % 2)[video]
        matches = match(_hit_by_video(rng, video), (0.5,))
        sensitive = attributes.Attribute(
            "group",
            ("a", "b"),
            group,
            "image",
        )
        for name, clusters in (("frames", None), ("videos", video)):
            null = sigma_null(
                matches, sensitive, permutations=60, seed=seed, clusters=clusters
            )
            p[name].append(null.p[0])
    assert scipy.stats.kstest(p["videos"], "uniform").pvalue > 0.01
    assert np.mean(np.array(p["frames"]) < 0.05) > 0.2, (
        "frames by themselves: far too narrow"
    )


def _hit_by_video(rng, video):
    """Make five boxes per frame; the frames of a video share their detection rate."""
    drawn = scene(
        int(rng.integers(10**6)),
        len(video),
        1,
        boxes=5,
    )
    rate = rng.uniform(0.2, 0.9, video.max() + 1)[video]
    boxes = drawn.boxes[rng.random(len(drawn.boxes)) < rate[drawn.boxes.image]]
    hits = boxes[["image", "category", "x1", "y1", "x2", "y2"]].reset_index(drop=True)
    return replace(drawn, detections=hits.assign(score=rng.random(len(hits))))


def test_clusters_are_drawn_whole_and_heterogeneity_is_cochrans_q():
    clusters = np.array(["x", "x", "y", "z", "z"])
    drawn = analyses.image_weights(
        5,
        20,
        0,
        clusters,
    )
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[0] == 1).all()
    rng = np.random.default_rng(0)
    ap = np.array([0.3, 0.34, 0.4])
    resamples = ap + rng.normal(0, 0.02, (4000, 3))
    q = (((ap - ap.mean()) / 0.02) ** 2).sum()
    expected = scipy.stats.chi2.sf(q, 2)
    assert cochrans_q(np.vstack([ap, resamples])) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("rank", "proxy_sigma", "delta", "verdict"),
    [
        (1, 1.01, 0.1, formulas.FLAGGED),
        (2, 1.5, 0.1, formulas.NOT_FLAGGED),
        (1, 0.99, 0.1, formulas.NOT_FLAGGED),
        (1, 1.5, -0.1, formulas.NOT_FLAGGED),
    ],
)
def test_the_papers_rule_by_hand(rank, proxy_sigma, delta, verdict):
    assert formulas.paper_says(rank, proxy_sigma, delta) == verdict


GAP = np.array([0.3, 0.4, 0.5])
HALF = np.array([0.35, 0.4, 0.45])
FLAT = np.full(3, 0.4)


@pytest.mark.parametrize(
    ("before", "error", "after", "error_after", "verdict"),
    [
        (GAP, 0.01, GAP, 0.01, formulas.NOT),
        (GAP, 0.01, FLAT, 0.01, formulas.EXPLAINS),
        (GAP, 0.01, HALF, 0.01, formulas.IN_PART),
        (GAP, 0.03, GAP, 0.09, formulas.INCONCLUSIVE),
        (FLAT, 0.1, FLAT, 0.1, formulas.NO_GAP),
    ],
)
def test_our_rule_by_hand(before, error, after, error_after, verdict):
    noise = np.random.default_rng(0).normal(0, 1, (2, 400, 3))
    group_ap = np.vstack([before, before + error * noise[0]])
    standardised = np.vstack([after, after + error_after * noise[1]])
    assert formulas.suite_says(group_ap, standardised) == verdict


def test_all_classes_is_the_mean_of_those_that_are_estimable():
    _, matches, income = streets(250, classes=("car", "traffic sign", "bus"))
    options = Options(min_boxes=200)
    analysis = analyse(
        matches,
        income,
        [],
        options=options,
    )
    wide = analysis.groups().pivot(index="class", columns="value", values="AP")
    np.testing.assert_allclose(
        wide.loc["all classes"], wide.loc[["car", "traffic sign"]].mean()
    )
    null = sigma_null(matches, income, options=options, permutations=20)
    null = null.set_index("class")
    assert null.sigma["all classes"] == pytest.approx(wide.loc["all classes"].std())
    assert null.loc["bus", ["sigma", "p_holm"]].isna().all()
    known = null.p.dropna().sort_values()
    by_hand = np.maximum.accumulate(np.minimum(1, known * [3, 2, 1]))
    np.testing.assert_allclose(null.p_holm[known.index], by_hand)


def test_the_tables_of_an_analysis_hold_together(world):
    _, matches, income, others = world
    analysis = analyse(matches, income, others)
    cells = analysis.cells()
    shares = cells.groupby(["attribute", "group"]).share.sum()
    np.testing.assert_allclose(shares, 1)
    control = analysis.control()
    assert control.attribute[0] == "size"
    assert control["rank"].tolist() == list(range(1, 6))
    values = analysis.values()
    both = cells.drop(columns="AP").merge(values[["attribute", "value", "AP"]])
    both["proxy"] = both.share * both.AP
    proxy = both.groupby(["attribute", "group"]).proxy.sum()
    sigma = proxy.groupby("attribute").std()
    np.testing.assert_allclose(control.proxy_sigma, sigma[control.attribute])


def test_the_papers_rule_is_not_estimable_without_a_rank():
    """Only one value has enough boxes, so there is a delta, but no ProxyAP."""
    _, matches, income = streets(250)
    codes = np.zeros(250, int)
    rare = attributes.Attribute("rare", ("no", "yes"), codes, "image")
    table = verdicts.table(analyse(matches, income, [rare]))
    assert table["delta"].notna().all()
    assert table[verdicts.PAPER_RULE].tolist() == [formulas.UNKNOWN]


def test_outcomes_are_those_of_the_recorded_verdicts():
    table = recorded_settings(["size"])
    outcomes = verdicts.by_setting(table)
    assert len(outcomes) == 3 * 2 * 9, "rules, seeds and scenarios"
    keys = ["scenario", "strength", "seed"]
    for row in outcomes.to_dict("records"):
        part = table[(table[keys] == [row[key] for key in keys]).all(axis=1)]
        flagged = part[part[row["rule"]].isin(verdicts.YES)]
        is_cause = flagged["attribute"] == flagged["confounder"]
        is_right = is_cause & (flagged[row["rule"]] == flagged["truth"])
        expected = [(~is_cause).any(), is_cause.any(), np.nan]
        if row["scenario"] in verdicts.NO_CAUSE:
            expected[1:] = 2 * [np.nan]
        elif row["rule"] == verdicts.SUITE_RULE:
            expected[2] = is_right.any()
        np.testing.assert_equal([row[one] for one in verdicts.OUTCOMES], expected)


def test_the_rule_within_groups_flags_the_largest_sigma_within_above_one():
    for _, part in recorded_settings(["size"]).groupby(
        ["scenario", "strength", "seed"]
    ):
        within = part["proxy_within"]
        expected = (within == within.max()) & (within > 1)
        flagged = part[verdicts.WITHIN_RULE] == verdicts.FLAGGED
        assert (flagged == expected).all()
