"""ICON2's formulas against numbers worked by hand, plain loops and the paper's own tables."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from detection_oracles import average_precision, plain_ap, scene, streets
from PIL import Image

from helpers.icon2 import (
    AttributeDataError,
    Options,
    analyse,
    attributes,
    bootstrap,
    delta_null,
    error_rates,
    formulas,
    match,
    nulls,
    printed,
    readable,
    sigma_null,
    verdicts,
)
from helpers.icon2.attributes import measured_light, thirds
from helpers.icon2.cells import cells, values_of
from helpers.worlds.driving import Law

SMALL = {"min_boxes": 1}


@pytest.fixture(scope="module")
def little():
    truth, detections = scene(1, 60, 1, boxes=5)
    return truth, detections, match(truth, detections, (0.4, 0.6))


@pytest.fixture(scope="module")
def world():
    truth, detections = streets(400, 3, Law(confounding=0.4))
    matches = match(truth, detections, (0.5, 0.75))
    income = attributes.from_column(truth, "income")
    return truth, matches, income, attributes.standard(truth, detections)


def test_sigma_by_hand():
    assert formulas.sigma([0.1, 0.2, 0.3]) == pytest.approx(0.1)
    assert formulas.sigma([0.1, 0.2, 0.3], 0) == pytest.approx(np.sqrt(2 / 3) / 10)
    assert np.isnan(formulas.sigma([0.1, np.nan, 0.3]))
    found = formulas.sigma([0.1, np.nan, 0.3], missing="leave out")
    assert found == pytest.approx(np.std([0.1, 0.3], ddof=1))
    assert np.isnan(formulas.sigma([0.1, np.nan], missing="leave out"))


def test_proxy_by_hand():
    ap = np.array([0.2, 0.6])
    boxes = np.array([[75.0, 25.0], [25.0, 75.0]])
    np.testing.assert_allclose(formulas.proxy(ap, boxes), [0.3, 0.5])
    assert np.isnan(formulas.proxy(np.array([0.2, np.nan]), boxes)).all()
    with_gap = formulas.proxy(np.array([0.2, np.nan, 0.6]), np.insert(boxes, 1, 50.0, axis=0))
    np.testing.assert_allclose(with_gap, [0.3, 0.5], err_msg="what is not estimable is left out")


def test_controlled_by_hand():
    cell = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.1, np.nan, 0.9]])
    assert formulas.controlled(cell) == pytest.approx(0.05)
    assert np.isnan(formulas.controlled(cell[2:]))


@pytest.mark.parametrize("precision", ["normalised", "raw", "per image"])
@pytest.mark.parametrize("images", ["with the value", "with the class", "all"])
def test_every_cell_equals_plain_loops(little, precision, images):
    truth, _detections, matches = little
    options = Options(precision=precision, images=images, **SMALL)
    group = attributes.from_column(truth, "group")
    colour = attributes.from_column(truth, "colour")
    analysis = analyse(matches, group, [colour], options=options)
    found = analysis.cells().set_index(["value", "group"]).AP
    boxes, listed = truth.boxes[~truth.boxes.ignore], matches.detections
    for value in colour.values:
        counts, seen = {}, {}
        for name in group.values:
            here = set(np.flatnonzero(truth.images.group == name))
            own = boxes[(boxes.colour == value) & boxes.image.isin(here)]
            counts[name] = len(own)
            with_class = here & set(boxes.image)
            seen[name] = {
                "all": here,
                "with the class": with_class,
                "with the value": set(own.image),
            }[images]
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
                        box = truth.boxes.loc[row]
                        here = truth.images.group[box.image] == name
                        if here and not box.ignore and box.colour == value:
                            scored.append((True, 1.0))
                    elif int(one.image) in seen[name]:
                        scored.append((False, 1.0))
                aps.append(plain_ap(scored, counts[name], normal))
            assert found[value, name] == pytest.approx(100 * np.mean(aps), abs=1e-9)


def test_per_image_precision_is_eq_3_where_all_values_share_their_images(little):
    truth, _, matches = little
    colour = attributes.from_column(truth, "colour")
    both = [
        analyse(matches, colour, [], options=Options(p, images="with the class", **SMALL)).groups()
        for p in ("normalised", "per image")
    ]
    np.testing.assert_allclose(both[0].AP, both[1].AP)


def test_cocos_rule_differs_for_sizes_and_not_for_occlusion(world):
    _, matches, income, others = world
    size, occlusion = others[0], others[1]
    tables = [
        analyse(matches, income, [size, occlusion], options=Options(false_positives=r)).values()
        for r in ("hoiem", "coco")
    ]
    differs = (tables[0].AP - tables[1].AP).abs().groupby(tables[0].attribute).max()
    assert differs["size"] > 1
    assert differs["occlusion"] == 0


def test_a_pair_of_confounders_is_their_product(world):
    truth, matches, income, others = world
    size, weather = others[0], others[4]
    table = analyse(matches, income, [(weather, size)]).shares()
    assert table.attribute.unique().tolist() == ["weather x size"]
    assert len(values_of((weather, size))) == 12
    boxes = truth.boxes.merge(truth.images, left_on="image", right_index=True)
    side = np.sqrt((boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1))
    low = boxes.income == "low"
    expected = ((boxes.weather == "rainy") & (side < 32) & low).sum() / low.sum()
    row = table[(table.value == "rainy, small") & (table.group == "low")]
    assert row.share.item() == pytest.approx(expected)


def test_standardising_by_images_is_a_weighted_average_precision(world):
    truth, matches, income, others = world
    time = others[2]
    options = Options("raw", images="all")
    part = analyse(matches, income, [time], options=options).estimates["car"].parts[0]
    images, boxes = truth.images, truth.boxes
    of_box = images.loc[boxes.image].reset_index(drop=True)
    common = of_box.timeofday.value_counts(normalize=True)
    for a, name in enumerate(income.values):
        own = of_box.timeofday[of_box.income == name].value_counts(normalize=True)
        weight = images.timeofday.astype(str).map(common / own).to_numpy(float)
        weight = weight * (images.income == name).to_numpy()
        expected = average_precision(matches, weights=weight).mean()
        assert part.standardised[0, a] == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = average_precision(match(*streets(12_000, 99), (0.5,))).item()
    covered = 0
    for seed in range(80):
        matches = match(*streets(120, seed), (0.5,))
        weights = bootstrap.weights(120, 100, seed)
        ap = np.array([average_precision(matches, weights=w).item() for w in weights])
        low, high = bootstrap.interval(ap)
        covered += low <= truth <= high
    assert 0.85 <= covered / 80 <= 1.0


@pytest.mark.slow
def test_nulls_are_uniform_where_there_is_nothing():
    p = []
    for seed in range(40):
        truth, detections = streets(200, seed)
        matches = match(truth, detections, (0.5,))
        income = attributes.from_column(truth, "income")
        p.append(sigma_null(matches, income, permutations=60, seed=seed).p[0])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


def test_the_null_of_sigma_finds_a_real_gap_only():
    p = {}
    for name, law in error_rates.laws("size", 0.0, 0.5).items():
        truth, detections = streets(400, 5, law)
        matches = match(truth, detections, (0.5,))
        income = attributes.from_column(truth, "income")
        p[name] = sigma_null(matches, income, permutations=30).p[0]
    assert p[error_rates.REAL] == pytest.approx(1 / 31)
    assert p["neither"] > 0.1


def test_the_null_of_delta_finds_the_confounder(world):
    _, matches, income, others = world
    some = [others[0], others[3]]
    table = delta_null(matches, income, some, permutations=25).set_index("attribute")
    assert table.p["size"] == pytest.approx(1 / 26)
    assert table.p["scene"] > 0.1, "the scene changes nothing in the planted law"
    assert (table.null_mean < table.null_high).all()


def test_permutations_keep_counts_within_groups(world):
    _, _, income, others = world
    moved = nulls.permuted(others[2], np.random.default_rng(0), income.codes)
    assert (moved.codes != others[2].codes).any()
    for a in range(3):
        here = income.codes == a
        assert (np.bincount(moved.codes[here]) == np.bincount(others[2].codes[here])).all()


def test_the_null_of_what_boxes_share_is_that_of_their_images():
    truth, detections = streets(200, 0)
    matches = match(truth, detections, (0.5,))
    coin, image = np.random.default_rng(0).integers(0, 2, 200), matches.boxes.image.to_numpy()
    of_images = attributes.Attribute("coin", ("a", "b"), coin, "image")
    of_boxes = attributes.Attribute("coin", ("a", "b"), coin[image], "box")
    asked = {"permutations": 150, "options": Options(min_boxes=1)}
    one, other = (sigma_null(matches, a, **asked).iloc[0] for a in (of_images, of_boxes))
    assert other.sigma == pytest.approx(one.sigma)
    assert other.null_high == pytest.approx(one.null_high, rel=0.25)
    by_tens = sigma_null(matches, of_images, clusters=np.arange(200) // 10, **asked).iloc[0]
    assert by_tens.null_high == pytest.approx(one.null_high, rel=0.3)


@pytest.mark.slow
def test_the_null_is_uniform_where_videos_share_a_group_and_an_effect():
    p = {"frames": [], "videos": []}
    for seed in range(60):
        video, rng = np.arange(120) // 6, np.random.default_rng(seed)
        group = rng.permutation(np.arange(20) % 2)[video]
        truth, detections = _hit_by_video(rng, video)
        matches = match(truth, detections, (0.5,))
        sensitive = attributes.Attribute("group", ("a", "b"), group, "image")
        for name, clusters in (("frames", None), ("videos", video)):
            null = sigma_null(matches, sensitive, permutations=60, seed=seed, clusters=clusters)
            p[name].append(null.p[0])
    assert scipy.stats.kstest(p["videos"], "uniform").pvalue > 0.01
    assert np.mean(np.array(p["frames"]) < 0.05) > 0.2, "frames by themselves: far too narrow"


def _hit_by_video(rng, video):
    """Five boxes a frame, found with a probability that a whole video shares."""
    truth, _ = scene(int(rng.integers(10**6)), len(video), 1, boxes=5)
    rate = rng.uniform(0.2, 0.9, video.max() + 1)[video]
    boxes = truth.boxes[rng.random(len(truth.boxes)) < rate[truth.boxes.image]]
    found = boxes[["image", "category", "x1", "y1", "x2", "y2"]].reset_index(drop=True)
    return truth, found.assign(score=rng.random(len(found)))


def test_clusters_are_drawn_whole():
    clusters = np.array(["x", "x", "y", "z", "z"])
    drawn = bootstrap.weights(5, 20, 0, clusters)
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[0] == 1).all()
    with pytest.raises(ValueError, match="one cluster"):
        bootstrap.weights(5, 2, 0, np.zeros(5))


def test_heterogeneity_is_cochrans_q():
    rng = np.random.default_rng(0)
    ap = np.array([0.3, 0.34, 0.4])
    resamples = ap + rng.normal(0, 0.02, (4000, 3))
    q = (((ap - ap.mean()) / 0.02) ** 2).sum()
    expected = scipy.stats.chi2.sf(q, 2)
    assert bootstrap.cochrans_q(np.vstack([ap, resamples])) == pytest.approx(expected, rel=0.2)


def test_verdicts_in_words():
    said = {}
    for name, law in error_rates.laws("size", 0.8, 0.6).items():
        truth, detections = streets(900, 4, law)
        matches = match(truth, detections, (0.5, 0.75))
        income = attributes.from_column(truth, "income")
        size = attributes.size(truth, detections)
        table = verdicts.table(analyse(matches, income, [size], resamples=40), law)
        said[name] = table.verdict[0]
        assert table.truth[0] == said[name]
        assert verdicts.right(table).verdict.all()
    assert said == {
        error_rates.CONFOUNDED: verdicts.EXPLAINS,
        error_rates.REAL: verdicts.NOT,
        error_rates.BOTH: verdicts.IN_PART,
        error_rates.NEITHER: verdicts.NO_GAP,
    }


def test_a_sensitive_attribute_of_boxes_and_none_that_explains(world):
    _, matches, income, others = world
    analysis = analyse(matches, others[1], [others[0], others[4]], resamples=3)
    assert analysis.groups().value.tolist() == ["visible", "occluded"]
    control, read = analysis.control(), readable(analysis.control())
    assert control.delta.notna().all()
    row = control.iloc[0]
    assert read["Δ [95%]"][0] == f"{row.delta:.2f} [{row.low:.2f}, {row.high:.2f}]"
    nothing = analyse(matches, income, [], resamples=3)
    assert len(nothing.groups()) == 3
    for table in (nothing.ranking(), nothing.control(), verdicts.table(nothing)):
        assert len(table) == 0 and {"class", "attribute"} <= set(table.columns)


def test_all_classes_is_the_mean_of_those_that_are_estimable():
    truth, detections = streets(250, classes=("car", "traffic sign", "bus"))
    matches = match(truth, detections, (0.5,))
    income = attributes.from_column(truth, "income")
    analysis = analyse(matches, income, [], options=Options(min_boxes=200))
    assert analysis.estimable() == ["car", "traffic sign"]
    wide = analysis.groups().pivot(index="class", columns="value", values="AP")
    np.testing.assert_allclose(wide.loc["all classes"], wide.loc[["car", "traffic sign"]].mean())
    null = sigma_null(matches, income, options=Options(min_boxes=200), permutations=5)
    assert null["class"][0] == "all classes"
    assert null.sigma[0] == pytest.approx(wide.loc["all classes"].std())
    assert np.isnan(null.sigma.iloc[-1])


@pytest.mark.parametrize("name", list(Options.__dataclass_fields__)[:-1])
def test_unknown_choices_are_named(name):
    with pytest.raises(ValueError, match=f"{name}='other' is not known; allowed"):
        Options(**{name: "other"})
    with pytest.raises(ValueError, match="min_boxes"):
        Options(min_boxes=0)


def test_unknown_classes_and_columns_are_named(world):
    truth, matches, income, others = world
    with pytest.raises(ValueError, match="class 'dog' is not known; there are: car"):
        analyse(matches, income, others, classes=["dog"])
    with pytest.raises(AttributeDataError, match="no column 'camera'; there are: name"):
        attributes.from_column(truth, "camera")
    with pytest.raises(AttributeDataError, match="none of"):
        attributes.from_column(truth, "weather", values=["hail"])


def test_absent_values_are_counted_and_take_no_part():
    truth, detections = scene(0, 40, 1)
    weather = np.where(np.arange(40) % 4 == 0, None, "clear")
    truth = truth.with_images(weather=weather)
    attribute = attributes.from_column(truth, "weather")
    assert attribute.absent == 10
    assert attributes.report([attribute]).absent.tolist() == [10]
    of_class = match(truth, detections).of("class 0")
    chosen = cells(of_class, (attribute,), Options())
    assert (chosen.of_box[weather[of_class.box_image] == np.array(None)] == -1).all()


def test_the_papers_sigmas_are_the_sample_formula():
    table = printed.sigmas()
    assert (table.nearer == "sample").all()
    assert (table["sample"] - table.printed).abs().max() < 0.04


def test_the_papers_inconsistencies():
    off = printed.deltas()
    assert (off.off != 0).sum() == 4
    assert off.off.abs().max() == pytest.approx(0.01)
    orders = printed.orders()
    assert orders["class"][~orders.sorted].tolist() == ["traffic light"]
    averages = printed.averages().set_index("column")
    np.testing.assert_allclose(
        averages["mean of the classes"], [36.19, 38.40, 37.20, 35.49], atol=0.005
    )
    assert printed.foretold()[printed.LARGEST].all()
    assert printed.rising() == ["car", "truck"]


def test_p_values_of_all_classes_are_adjusted_together():
    truth, detections = streets(250, 0, classes=("car", "traffic sign", "motorcycle"))
    matches = match(truth, detections, (0.5,))
    income = attributes.from_column(truth, "income")
    table = sigma_null(matches, income, permutations=20).set_index("class")
    known = table.p.dropna().sort_values()
    assert len(known) == 3 and np.isnan(table.p_holm["motorcycle"])
    by_hand = np.maximum.accumulate(np.minimum(1, known * [3, 2, 1]))
    np.testing.assert_allclose(table.p_holm[known.index], by_hand)


def test_shares_by_the_values_of_others(world):
    truth, _, income, others = world
    table = attributes.shares_by(truth, others[0], [income, others[1]])
    boxes = truth.boxes.merge(truth.images, left_on="image", right_index=True)
    side = np.sqrt((boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1))
    assert table.loc[("income", "low"), "small"] == pytest.approx(
        (side[boxes.income == "low"] < 32).mean()
    )
    assert table.loc[("occlusion", "occluded"), "small"] == pytest.approx(
        (side[boxes.occluded] < 32).mean()
    )
    np.testing.assert_allclose(table.sum(axis=1), 1)


def test_few_boxes_are_not_estimable_shown_and_without_a_rank(world):
    _, matches, income, others = world
    analysis = analyse(matches, income, others, options=Options(min_boxes=150), resamples=4)
    cell = analysis.cells()
    assert ((cell.boxes < 150) == ~cell.estimable).all()
    assert cell.AP[~cell.estimable].isna().all()
    assert not cell.estimable.all()
    assert (analysis.control().covered < 1).any()
    nothing = analyse(matches, income, others, options=Options(min_boxes=10**6), resamples=4)
    assert nothing.control().delta.isna().all()
    table = verdicts.table(nothing)
    assert (table.verdict == verdicts.UNKNOWN).all() and table["rank"].isna().all()
    ranking = nothing.ranking()
    assert ranking[["rank", "plain_rank", "first"]].isna().all(axis=None)
    few = analyse(matches, income, others, options=Options(min_boxes=1300), resamples=4).ranking()
    known = few.proxy_sigma.notna()
    assert 0 < known.sum() < len(few)
    assert few["rank"][known].tolist() == list(range(1, known.sum() + 1))
    assert few["rank"][~known].isna().all() and few["first"].sum() == pytest.approx(1)


def test_threads_and_standardising_change_nothing_else(world):
    _, matches, income, others = world
    one, two, quick = (
        analyse(matches, income, others[:3], resamples=3, **how).control()
        for how in ({}, {"workers": 2}, {"standardise": False})
    )
    pd.testing.assert_frame_equal(one, two)
    assert quick.standardised.isna().all() and one.standardised.notna().all()
    apart = [c for c in one if not c.startswith("standardised")]
    pd.testing.assert_frame_equal(quick[apart], one[apart])


def test_the_tables_of_an_analysis_hold_together(world):
    _, matches, income, others = world
    analysis = analyse(matches, income, others)
    shares = analysis.shares().groupby(["attribute", "group"]).share.sum()
    np.testing.assert_allclose(shares, 1)
    ranking = analysis.ranking()
    assert ranking.attribute[0] == "size"
    assert ranking["rank"].tolist() == [1, 2, 3, 4, 5]
    assert ranking.proxy_sigma.is_monotonic_decreasing
    values, share = analysis.values(), analysis.shares()
    both = share.merge(values[["attribute", "value", "AP"]])
    proxy = (both.share * both.AP).groupby([both.attribute, both.group]).sum()
    sigma = proxy.groupby("attribute").std()
    np.testing.assert_allclose(ranking.proxy_sigma, sigma[ranking.attribute])
    control = analysis.control()
    np.testing.assert_allclose(control.delta, control.sigma - control.controlled)


def test_attributes_from_labels():
    truth, detections = scene(0, 10, 1)
    area = (truth.boxes.x2 - truth.boxes.x1) * (truth.boxes.y2 - truth.boxes.y1)
    size = attributes.size(truth, detections)
    assert [size.values[c] for c in size.codes] == [
        "small" if a < 1024 else "medium" if a < 9216 else "large" for a in area
    ]
    aspect = attributes.aspect(truth, detections)
    wide = (detections.x2 - detections.x1) >= 1.25 * (detections.y2 - detections.y1)
    assert ((aspect.of_detection == 2) == wide).all()
    crowding = attributes.crowding(truth)
    assert (crowding.codes == (np.bincount(truth.boxes.image, minlength=10) >= 5)).all()
    with pytest.raises(AttributeDataError, match="'truncated'"):
        attributes.truncation(truth)


def test_light_is_measured_in_pictures(tmp_path):
    truth, _ = scene(0, 3, 1)
    for name, value in (("0.jpg", 255), ("1.jpg", 0)):
        Image.new("L", (120, 120), value).save(tmp_path / name)
    brightness, contrast = measured_light(truth, tmp_path)
    np.testing.assert_allclose(brightness, [1, 0, np.nan], atol=1e-6)
    assert (contrast[~np.isnan(contrast)] == 0).all()
    assert (np.isnan(contrast) == (truth.boxes.image == 2)).all()
    assert thirds("contrast", contrast, "box").absent == (truth.boxes.image == 2).sum()
    with pytest.raises(AttributeDataError, match="no number is known"):
        thirds("light", measured_light(truth, tmp_path / "absent")[0], "image")


@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (Law(0.3, "size", 0.1), [verdicts.IN_PART, verdicts.NOT, verdicts.NOT, ""]),
        (Law(0.3, "size"), [verdicts.EXPLAINS, verdicts.NOT, verdicts.NOT, ""]),
        (Law(0.0, "size", 0.1), [verdicts.NOT, verdicts.NOT, verdicts.NOT, ""]),
        (Law(), [verdicts.NO_GAP, verdicts.NO_GAP, verdicts.NO_GAP, ""]),
        (None, ["", "", "", ""]),
    ],
)
def test_the_right_verdict_follows_from_the_law(law, truth):
    assert [verdicts.planted(law, a) for a in ("size", "time", "scene", "camera")] == truth


def test_the_papers_rule_asks_for_three_things():
    assert verdicts.paper_says(1, 1.2, 0.1) == verdicts.PAPER_YES
    for rank, proxy_sigma, delta in (
        (2, 1.2, 0.1),
        (1, 0.9, 0.1),
        (1, 1.2, -0.1),
        (pd.NA, np.nan, 1),
    ):
        assert verdicts.paper_says(rank, proxy_sigma, delta) == verdicts.PAPER_NO


def test_a_part_is_judged_the_same_in_the_table_and_over_many_worlds():
    says = [verdicts.PAPER_YES, verdicts.PAPER_YES, verdicts.PAPER_NO, verdicts.PAPER_NO]
    truth = [verdicts.IN_PART, verdicts.NOT, verdicts.NOT, ""]
    verdict = [verdicts.EXPLAINS, verdicts.NOT, verdicts.IN_PART, verdicts.NOT]
    said = pd.DataFrame({"class": "car", "attribute": list("abcd"), "paper": says})
    found = verdicts.right(said.assign(verdict=verdict, truth=truth))
    assert found.paper.tolist() == [True, False, True]
    assert found.verdict.tolist() == [False, True, False]
    table = error_rates.ask_rules(range(2), n_images=150, resamples=5)
    rates = error_rates.rates(table)
    assert len(table) == 8 and (rates.of == 2).all()
    assert ((rates.low <= rates.share) & (rates.share <= rates.high)).all()
    times = rates.set_index(["rule", "world"]).times[error_rates.FALL_RULE]
    for world, group in table.groupby("world"):
        assert times[world] == (group.controlled < group.sigma).sum()
    assert table[error_rates.FALL_RULE][table[error_rates.PAPER_RULE]].all(), "a part of the rule"
    right = rates[rates.right].groupby("rule").world.agg(list)
    assert right[error_rates.PAPER_RULE] == [error_rates.CONFOUNDED, error_rates.BOTH]
    assert right[error_rates.SUITE_RULE] == right[error_rates.HALF_RULE] == [error_rates.CONFOUNDED]
    assert right[error_rates.PART_RULE] == [error_rates.BOTH]
