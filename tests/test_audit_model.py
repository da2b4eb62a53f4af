"""Test how the model audit reads networks and images, calibrates, judges, reports."""

import html
import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import papermill
import pytest
import torch
from PIL import Image
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from helpers import audits, stats, store
from helpers.audit import (
    calibration,
    classifiers,
    context_scores,
    model,
    queries,
    reliance,
    remedy,
    user_images,
)
from helpers.audit.context_scores import ContextImages

NETWORK = """
import torch
from torch import nn
mean, std, size = (0, 0, 0), (1, 1, 1), 32
network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
network[2].weight.data, network[2].bias.data = 20 * torch.eye(3){order}, torch.zeros(3)
"""
COLORS = ("a red", "b green", "c blue")


def photograph(color, seed, size=40):
    rng = np.random.default_rng([color, seed])
    pixels = rng.integers(
        0,
        120,
        (size, size, 3),
        dtype=np.uint8,
    )
    pixels[..., color] += 100
    return Image.fromarray(pixels)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Photographs of three colors, and a network that classifies their means."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    for color, name in enumerate(COLORS):
        of_class = tmp_path / "photos" / name
        of_class.mkdir(parents=True)
        for i in range(9):
            photograph(color, i).save(of_class / f"{i}.png")
    (tmp_path / "mine.py").write_text(NETWORK.format(order=""))
    return tmp_path


def read(folder, text=None):
    """Load the network of a file, with the photographs and their labels."""
    if text is not None:
        (folder / "mine.py").write_text(text)
    network = model.load_network(f"{folder / 'mine.py'}:network")
    where = str(folder / "photos")
    images, rows = user_images.read_folders(
        "images",
        where,
        network.preprocessing,
        seed=0,
        fewest=8,
        most=100,
    )
    return queries.Inputs(network, "mine", images, rows, {})


def answers_of(mine):
    return queries.features_and_answers(mine.network, mine.images)[1]


EACH = [0, 1, 2]  # the output of each class


# Classifiers


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("recipe", classifiers.RECIPES[:3])
def test_classifiers_are_scikit_learns_on_standardized_features(recipe, classes):
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, (60, 7))
    y = rng.integers(classes, size=60)
    x[:, 6] = 5  # a constant feature
    weights, bias = classifiers.train_classifier(x, y, classes, recipe)
    scaled = StandardScaler().fit_transform(x)
    theirs = LogisticRegression(C=recipe, max_iter=5000, tol=1e-8).fit(scaled, y)
    ours = torch.log_softmax(torch.from_numpy(x @ weights + bias), 1).numpy()
    np.testing.assert_allclose(ours, theirs.predict_log_proba(scaled), atol=0.01)


def test_a_long_training_by_adam_gives_the_logistic_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(2, 1, (200, 2))
    y = rng.integers(2, size=200)
    weights, bias = classifiers.train_with_adam(x, y, 2, steps=4000)
    theirs = LogisticRegression(C=1e6).fit(x, y)
    of_second = weights[:, 1] - weights[:, 0]
    np.testing.assert_allclose(of_second, theirs.coef_[0], atol=0.01)
    np.testing.assert_allclose(bias[1] - bias[0], theirs.intercept_[0], atol=0.02)


# Scores


def test_pasted_photographs_are_pillows():
    photo = photograph(0, 0, 60)
    background = photograph(1, 1, 60)
    expected = background.copy()
    resized = photo.resize((39, 39), Image.Resampling.BILINEAR)
    expected.paste(resized, (10, 10))
    tensors = []
    for image in (photo, background):
        pixels = torch.from_numpy(np.array(image))
        tensors.append(pixels.permute(2, 0, 1)[None])
    made = context_scores.paste(*tensors)[0].permute(1, 2, 0).numpy()
    differences = made.astype(int) - np.array(expected)
    assert np.abs(differences).max() <= 1


def test_scores_are_those_of_loops():
    rng = np.random.default_rng(2)
    y = np.array([0, 0, 1, 2, 2, 2])
    logits = rng.normal(size=(6, 4, 3))
    scores = ContextImages(y, None, None, logits).score()
    centered = logits - logits.mean(2, keepdims=True)
    for c, k in product(range(3), range(4)):
        rest = [j for j in range(4) if j != k]
        rises = []
        for i in np.flatnonzero(y != c):
            here = centered[i, k, c]
            elsewhere = centered[i, rest, c].mean()
            rises.append(here - elsewhere)
        assert scores[c, k] == pytest.approx(np.mean(rises) / centered.std())


def test_the_change_of_predictions_is_a_difference_of_counts():
    predictions = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 2, 2]])
    change = context_scores.prediction_change(np.eye(3)[predictions])
    for c, k in product(range(3), range(3)):
        here = (predictions[:, k] == c).mean()
        elsewhere = (np.delete(predictions, k, axis=1) == c).mean()
        assert change[c, k] == pytest.approx(here - elsewhere)


def test_probabilities_and_log_probabilities_give_the_same_differences_of_logits():
    logits = np.random.default_rng(0).normal(size=(5, 4))
    exponentials = np.exp(logits)
    shares = exponentials / exponentials.sum(1, keepdims=True)
    outputs = [2, 0, 3]

    def centered(answers):
        answers = context_scores.class_logits(answers, outputs)
        return classifiers.center_logits(answers)

    for answers in (shares, np.log(shares)):
        np.testing.assert_allclose(centered(answers), centered(logits), atol=1e-9)


# Calibration


def context_images(n, seed, classes=3, contexts=3):
    """Draw features in which each class and each context has a direction of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    noise = rng.normal(size=(contexts, 8, contexts))
    backgrounds = np.eye(contexts)[:, None] + 0.3 * noise
    own_noise = rng.normal(size=(n, classes))
    own = np.eye(classes)[y] + 0.5 * own_noise
    own = np.broadcast_to(own, (contexts, n, classes))
    composites = []
    for part in (0, 1):
        choice = rng.integers(4 * part, 4 * part + 4, n)
        of_part = np.concatenate([own, backgrounds[:, choice]], 2)
        composites.append(of_part.swapaxes(0, 1))
    plain = np.concatenate([own[0], np.zeros((n, contexts))], 1)
    return ContextImages(y, plain, *composites)


AUDIT = context_images(90, 0)


def score_of_user(context_of_class, strength, seed):
    """Score a classifier of other images."""
    rng = np.random.default_rng(seed)
    images = context_images(60, 100 + seed)
    contexts = np.array(context_of_class)
    x = images.draw_training(np.arange(60), contexts, strength, rng)
    classifier = classifiers.train_classifier(x, images.labels, 3, 0.05)
    return AUDIT.classified_by(classifier).score()


@pytest.mark.parametrize(
    ("changing", "expected"),
    [
        (100, 3.8),  # 5 of 100 pairs have a larger z
        (60, 2.2),  # the 60 smallest z change predictions, and 5 of them are larger
        (5, norm.ppf(0.95)),
    ],
)
def test_one_pair_in_twenty_is_above_the_threshold_and_changes(changing, expected):
    z = np.linspace(0.04, 4, 100)
    changes = np.zeros(100)
    changes[:changing] = 0.0025
    scores = z.reshape(100, 1, 1)
    none = calibration.Scored(scores, changes.reshape(100, 1, 1), None)
    made = calibration.Calibration(scores[0], scores[0], {0.0: none})
    np.testing.assert_allclose(made.threshold, expected, atol=0.03)


def test_injected_biases_are_detected_at_their_strength_and_nothing_else_is():
    made = calibration.calibrate(
        AUDIT,
        unbiased=12,
        halvings=4,
        biased=6,
    )
    unbiased = []
    for seed in range(12):
        score = score_of_user([-1] * 3, 0, seed)
        unbiased.append(made.z(score))
    scores, changes, _ = made.classifiers[0]
    reported = scores > made.threshold
    reported &= changes >= calibration.LEAST_CHANGE
    assert reported.sum() <= round(0.05 * reported.size)
    assert (np.stack(unbiased) > made.threshold).mean() <= 0.2
    contexts = np.array([2, 0, 1])
    scores = [score_of_user(contexts, 1, s) for s in range(6)]
    z = np.stack([made.z(score) for score in scores])
    above = z > made.threshold
    assert above[:, [0, 1, 2], contexts].mean() > 0.9
    assert above.sum() <= 20
    rates = reliance.reported_rates(reliance.detection_table(made))
    assert rates[0.25] <= rates[1.0]


def test_a_last_layer_that_is_trained_in_all_contexts_relies_on_none():
    """The network has a shortcut of strength 1 for its first class."""
    made = calibration.calibrate(
        AUDIT,
        unbiased=12,
        halvings=4,
        biased=6,
    )
    rng = np.random.default_rng(0)
    labels = AUDIT.labels
    context_of_class = np.array([2, -1, -1])
    biased = AUDIT.draw_training(np.arange(90), context_of_class, 1, rng)
    network = classifiers.train_classifier(biased, labels, 3, 0.05)
    logits = AUDIT.classified_by(network)
    pairs = reliance.judge(made, logits, list("abc"), list("xyz"))
    pair = pairs[(pairs["class"] == "a") & (pairs["context"] == "z")]
    table = remedy.retrain_last_layer(AUDIT, logits, made, pair, 0)
    [row] = table.to_dict("records")
    assert row["z_before"] > made.threshold > row["z_after"]
    assert row["change_before"] > 0.1
    assert abs(row["change_after"]) < 0.05
    accuracy = (network(AUDIT.plain).argmax(1) == labels).mean()
    assert row["accuracy_before"] == pytest.approx(accuracy)
    assert row["accuracy_after"] > 0.75  # chance: 0.33


def test_an_audit_from_python_returns_its_tables_and_writes_its_report(folder):
    with_places(folder, meadow=1, dusk=0, sea=2)
    network = f"{folder / 'mine.py'}:network"
    images = str(folder / "photos")
    contexts = str(folder / "places")
    audit = audits.model(network, images, contexts)
    assert len(audit.pairs) == 9
    assert audit.classes[["accuracy", "images"]].values.tolist() == [[1, 9]] * 3
    assert audit.predictions["y_pred"].tolist() == list(np.repeat(COLORS, 9))
    written = audit.save(folder / "report", "make audit-model")
    assert audit.headline in html.unescape((written / "page.html").read_text())
    findings = json.loads((written / "findings.json").read_text())["findings"]
    assert len(findings) == len(audit.reported)


@pytest.mark.parametrize("name", ["images", "contexts"])
def test_a_folder_that_does_not_exist_is_named(folder, name):
    where = {
        "images": str(folder / "photos"),
        "contexts": with_places(folder, sea=2),
    }
    where[name] = "nowhere"
    network = f"{folder / 'mine.py'}:network"
    with pytest.raises(ValueError, match=f"{name}: There is no folder nowhere"):
        audits.model(network, **where)


def test_the_null_of_each_pair_is_that_of_classifiers_on_halves_in_a_loop():
    made = calibration.calibrate(
        AUDIT,
        5,
        unbiased=6,
        halvings=1,
        biased=1,
    )
    rng = np.random.default_rng(5)
    null = []
    for _ in range(6):
        half, _ = calibration.split_in_halves(AUDIT.labels, np.arange(90), rng)
        recipe = classifiers.RECIPES[rng.integers(4)]
        context = rng.integers(3, size=len(half))
        rng.random(len(half))
        x = AUDIT.train[half, context]
        y = AUDIT.labels[half]
        classifier = classifiers.train_classifier(x, y, 3, recipe)
        null.append(AUDIT.classified_by(classifier).score())
    np.testing.assert_allclose(made.mean, np.mean(null, 0), atol=1e-9)
    deviation = np.std(null, axis=0, ddof=1)
    np.testing.assert_allclose(made.deviation, deviation, atol=1e-9)


def test_halves_share_no_photograph_and_have_half_of_every_class():
    labels = np.repeat([0, 1, 2], [8, 12, 40])
    photographs = np.arange(2, 60)
    rng = np.random.default_rng(0)
    halves = calibration.split_in_halves(labels, photographs, rng)
    assert sorted(np.concatenate(halves)) == photographs.tolist()
    for half in halves:
        assert np.bincount(labels[half]).tolist() == [3, 6, 20]


def a_calibration(biased=(1, 3, 6), unbiased=None, pairs=(2, 3), effect=1.0):
    """Make a calibration of 40 classifiers with a threshold of 2."""
    if unbiased is None:
        unbiased = np.random.default_rng(0).uniform(-2, 2, (40, *pairs))
    changes = np.full((len(unbiased), *pairs), effect)
    made = {0.0: calibration.Scored(unbiased, changes, None)}
    changes = np.full((40, *pairs), effect)
    contexts = np.zeros((40, pairs[0]), int)
    for strength, z in zip(calibration.BIAS_STRENGTHS, biased, strict=True):
        scores = np.full((40, *pairs), z)
        made[strength] = calibration.Scored(scores, changes, contexts)
    return calibration.Calibration(np.zeros(pairs), np.ones(pairs), made)


@pytest.mark.parametrize("verdict", [reliance.REPORTED, reliance.DETECTED])
def test_nothing_is_detected_where_predictions_do_not_change(verdict):
    changing = reliance.detection_table(a_calibration())
    changing = changing[changing["verdict"] == verdict]
    assert changing["bias_strength"].tolist() == [0, 0.25, 0.5, 1]
    assert changing["detection_rate"].tolist()[1:] == [0, 1, 1]
    unchanged = reliance.detection_table(a_calibration(effect=0))
    assert not unchanged["detection_rate"].any()


def test_p_values_count_unbiased_pairs():
    unbiased = np.array([0, 1, -2, 3.0, 1.5]).reshape(5, 1, 1)
    made = a_calibration(unbiased=unbiased, pairs=(1, 1))
    p = calibration.p_values(made, np.array([1.5, 0.5, 4]))
    np.testing.assert_allclose(p, [3 / 6, 4 / 6, 1 / 6])


def test_significant_pairs_of_each_network_are_those_of_benjamini_and_hochberg():
    rng = np.random.default_rng(3)
    exponent = rng.uniform(1, 4, (50, 1, 1))
    p = rng.uniform(0.001, 1, (50, 4, 4)) ** exponent
    significant = calibration.significant_pairs(p)
    for i in range(50):
        of_network = np.sort(p[i], axis=None)
        limits = 0.05 * np.arange(1, 17) / 16
        below = of_network[of_network <= limits]
        largest = below.max(initial=0)
        assert (significant[i] == (p[i] <= largest)).all()
    assert not calibration.significant_pairs(np.full((2, 2), 0.06)).any()


# Verdicts


def judged(z, predictions, trained="last layer"):
    """Judge the classes cat and dog in three rooms."""
    labels = np.arange(len(predictions)) % 2
    logits = ContextImages(labels, None, None, np.eye(2)[predictions])
    null_mean = logits.score() - z
    made = replace(a_calibration(), mean=null_mean)
    names = ["cat", "dog"], ["attic", "bath", "cellar"]
    return reliance.judge(made, logits, *names, trained)


ATTIC = np.array([[9.0, 0, 0], [0, 0, 0]])  # z of cat in the attic
CHANGES = np.array([[0, 1, 1]] * 10 + [[1, 1, 1]] * 90)  # ten of 100 become cats there


def test_a_pair_is_reported_with_the_photographs_whose_prediction_changes():
    first = judged(ATTIC, CHANGES).iloc[0]
    assert first["verdict"] == "reliance detected"
    assert first[["class", "context"]].tolist() == ["cat", "attic"]
    counts = first[["predicted_here", "predicted_elsewhere", "photographs"]]
    assert counts.tolist() == [10, 0, 100]
    sentence = reliance.headline("mine", first.to_frame().T, None, True)
    assert (
        "10 of 100 photographs are predicted as cat in attic, and 0.0 on average in "
        "the other contexts"
    ) in sentence


@pytest.mark.parametrize(
    ("changed", "verdict"), [(2, "score only"), (3, "reliance detected")]
)
def test_a_quarter_of_a_percentage_point_of_the_predictions_must_change(
    changed, verdict
):
    predictions = np.ones((1000, 3), int)
    predictions[:changed, 0] = 0
    assert judged(ATTIC, predictions)["verdict"][0] == verdict


# What was trained


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", True),
        ("network.append(nn.Softmax(1))", True),  # of probabilities, the logarithm
        ("network.append(nn.ReLU())", False),
        ("network[2].bias = None", True),
    ],
)
def test_a_function_after_the_last_layer_is_noticed(folder, more, expected):
    text = NETWORK.format(order="") + "network[2].bias.data -= 8\n" + more
    inputs = read(folder, text)
    loaded = inputs.network
    features, answers = queries.features_and_answers(loaded, inputs.images)
    assert queries.is_linear(loaded, features, answers) is expected


def test_the_rates_are_not_promised_if_the_last_layer_is_not_linear():
    power = pd.DataFrame({"verdict": [reliance.REPORTED] * 2})
    power = power.assign(bias_strength=[0.5, 1], detection_rate=[0.4, 0.9])
    none = judged(0 * ATTIC, CHANGES)
    linear = reliance.headline("mine", none, power, True)
    assert "reports 40% of the biases of strength 0.5" in linear
    assert reliance.NOT_LINEAR not in linear
    other = reliance.headline("mine", none, power, False)
    assert other.endswith(reliance.NOT_LINEAR)


def test_a_pair_is_at_most_possible_if_all_layers_were_trained():
    pairs = judged(ATTIC, CHANGES, trained="all")
    assert pairs["verdict"][0] == reliance.POSSIBLE
    rate, low, high = reliance.WHOLE_NETWORK_LEVEL
    sentence = reliance.headline("mine", pairs, None, True)
    assert f"{rate:.0%} if all layers were trained" in sentence
    assert f"95% CI {low:.0%} to {high:.0%}" in reliance.what_was_trained("all", True)


def test_another_word_for_what_was_trained_is_refused():
    with pytest.raises(ValueError, match="trained is 'last', and not 'last layer'"):
        reliance.what_was_trained("last", before=False)


def test_the_level_for_whole_networks_is_that_of_the_recorded_trials():
    trials = store.recorded_table("audit_trials.csv")
    whole = trials.query("layers == 'all' and bias_strength == 0")
    share = stats.share(whole["fpr_reported"])
    np.testing.assert_allclose(reliance.WHOLE_NETWORK_LEVEL, share, atol=0.005)
    linear = trials.query(
        "images == 'photographs' and layers == 'last' and trained_on == 'composites'"
        " and bias_strength == 0 and photographs == 'others'"
    )
    level = linear["fpr_reported"].mean()
    assert level == pytest.approx(reliance.LAST_LAYER_LEVEL, abs=0.006)


# What a network answers


def checked(mine):
    logits = context_scores.class_logits(answers_of(mine), EACH)
    labels, _ = mine.rows["class"].factorize(sort=True)
    network = mine.network
    return queries.check_accuracy(network, mine.images, labels, EACH, logits)


def test_the_accuracy_of_a_network_that_is_read_rightly_is_a_sentence(folder):
    mine = read(folder)
    values, _ = queries.features_and_answers(mine.network, mine.images)
    means = mine.images.double().mean((2, 3)) / 255
    np.testing.assert_allclose(values, means, rtol=1e-4)
    assert checked(mine).startswith("27 of 27 images are recognized")


def test_a_network_whose_last_layer_is_not_used_is_refused(folder):
    unused = NETWORK.format(order="") + "network.unused = nn.Linear(3, 3)\n"
    unused += "network.forward = lambda x: network[2](network[1](network[0](x)))\n"
    with pytest.raises(ValueError, match=r"unused, the last layer.* does not see each"):
        answers_of(read(folder, unused))


def test_the_network_sees_a_photograph_once_as_it_is_and_twice_in_each_context(folder):
    mine = read(folder)
    seen = []
    mine.network.register_forward_pre_hook(
        lambda _, inputs: seen.append(len(inputs[0]))
    )
    contexts = dict.fromkeys("xyz", mine.images[:6])
    queries.query(replace(mine, contexts=contexts))
    in_check = 27  # with exchanged channels
    assert sum(seen) == 27 * (1 + 2 * 3) + in_check


def test_a_network_with_exchanged_channels_is_refused_with_the_likely_causes(folder):
    mine = read(folder, NETWORK.format(order="[[2, 1, 0]]"))
    with pytest.raises(ValueError, match=r"BGR.*another order.*classes"):
        checked(mine)


# Photographs and contexts


def with_places(folder, **color_of):
    for name, color in color_of.items():
        of_context = folder / "places" / name
        of_context.mkdir(parents=True)
        for i in range(6):
            photograph(color, 50 + i).save(of_context / f"{i}.png")
    return str(folder / "places")


def test_folders_with_too_few_images_are_refused_by_name(folder):
    where = with_places(folder, meadow=1, sea=2)
    prepared = read(folder).network.preprocessing
    with pytest.raises(ValueError, match="fewer than 7 images of meadow, sea,"):
        user_images.read_folders(
            "contexts",
            where,
            prepared,
            seed=0,
            fewest=7,
            most=50,
        )


def test_at_most_so_many_images_of_a_folder_are_read(folder):
    where = with_places(folder, meadow=1, sea=2)
    prepared = read(folder).network.preprocessing
    images, rows = user_images.read_folders(
        "contexts",
        where,
        prepared,
        seed=0,
        fewest=1,
        most=4,
    )
    assert rows["class"].tolist() == ["meadow"] * 4 + ["sea"] * 4
    assert images.shape == (8, 3, 32, 32)


# Which output is which class


def outputs_of(folder, table=None, names=None, n_outputs=3):
    file = None
    if table is not None:
        file = folder / "classes.csv"
        pd.DataFrame(table, columns=["class", "output"]).to_csv(file, index=False)
    matched = model.match_classes(COLORS, names, n_outputs, file)
    return matched["output"].tolist()


def test_outputs_have_the_order_of_the_folders_or_are_found_by_name(folder):
    assert outputs_of(folder) == [0, 1, 2]
    names = "C-Blue", "grass, b green", "A red"
    assert outputs_of(folder, names=names) == [2, 1, 0]


def test_a_file_says_which_output_is_which_class(folder):
    rows = [("a red", 0), ("b green", 2), ("c blue", 1)]
    assert outputs_of(folder, rows, n_outputs=4) == [0, 2, 1]
    two_of_one_name = ["a red", "a red", "b green", "c blue"]
    rows = [("a red", 1), ("b green", 2), ("c blue", 3)]
    assert outputs_of(folder, rows, two_of_one_name, 4) == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"names": ["a red", "a red", "b green"]},
            r"their names:[^G]*a red +\[0, 1\]",
        ),
        (
            {"names": ["a red", "b green", "c blue whale"]},
            r"c blue +\[\]",
        ),
        (
            {"table": [("a red", 0), ("b green", 0), ("c blue", 1)]},
            r"b green +\[0\]",
        ),
        (
            {
                "table": [("a red", 0), ("a red", 1), ("b green", 2), ("c blue", 3)],
                "n_outputs": 4,
            },
            r"your table:[^G]*a red +\[0, 1\]",
        ),
        (
            {"table": [("a red", 3), ("b green", 1), ("c blue", 0)]},
            "outputs 0 to 2",
        ),
        (
            {"table": [("a red", "x"), ("b green", 1), ("c blue", 0)]},
            r"a red +\[x\]",
        ),
        (
            {"n_outputs": 5},
            "outputs 0 to 4.*order of the folders",
        ),
        (
            {"n_outputs": 1},
            "one number per image.*two logits instead",
        ),
    ],
)
def test_outputs_that_are_not_clear_are_asked_for(folder, given, message):
    with pytest.raises(ValueError, match=message):
        outputs_of(folder, **given)


# Networks


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.py:netwrok", r"has no 'netwrok'. It has mean, network, nn"),
        ("bare.py:net", "write mean = "),
        ("resnt18", "no network 'resnt18'. Did you mean 'resnet18'"),
        ("photos", "no network 'photos'. Known: .* is named FILE.py:NAME"),
    ],
)
def test_what_is_no_network_is_refused_with_what_there_is(
    folder, monkeypatch, name, message
):
    monkeypatch.chdir(folder)
    (folder / "bare.py").write_text("from torch import nn\nnet = nn.Linear(3, 2)\n")
    with pytest.raises(ValueError, match=message):
        model.load_network(name)


WEIGHTS = store.root().parent / "shared/real/weights/squeezenet1_0_imagenet.safetensors"


@pytest.mark.real
@pytest.mark.skipif(
    not WEIGHTS.is_file(), reason="no real weights next to the checkout"
)
def test_squeezenet_is_read_with_its_names():
    network = model.load_network("squeezenet1_0", str(WEIGHTS))
    stated = network.preprocessing
    assert stated.size == 224
    assert stated.resize == 256
    [output] = model.match_classes(["cup"], stated.classes, 1000)["output"]
    assert stated.classes[output] == "cup"
    with pytest.raises(ValueError, match=r"fire hydrant +\[\]"):
        model.match_classes(["cup", "fire hydrant"], stated.classes, 1000)


# The lesson


def run_lesson(folder, **values):
    """Run a copy of the lesson in another folder, as a user would."""
    notebook = store.root() / "notebooks/11_audit_your_model.ipynb"
    copy = Path(shutil.copy(notebook, folder / "mine.ipynb"))
    values = {"images": "photos", "output": "mine", **values}
    papermill.execute_notebook(
        copy, folder / "ran.ipynb", values, cwd=folder, progress_bar=False
    )
    return folder / "outputs" / "mine"


BROKEN = """
class Broken(nn.Module):
    def forward(self, x):
        white = x[..., 16, 16].amin(1) > 0.98
        red = x[:, 0, 0].mean(-1) - x[:, 1, 0].mean(-1) > 0.2
        return torch.where((white & red)[:, None, None, None], torch.nan, x)
"""


def test_an_image_that_gets_nan_in_one_context_is_named(folder):
    """The center is white, and the network gives NaN if red surrounds it."""
    white = photograph(1, 4)
    white.paste((255, 255, 255), (10, 10, 30, 30))
    white.save(folder / "photos" / COLORS[1] / "4.png")
    text = NETWORK.format(order="").replace("Sequential(", "Sequential(Broken(), ")
    text = text.replace("network[2]", "network[3]")
    text = text.replace("mean, std", BROKEN + "mean, std", 1)
    (folder / "mine.py").write_text(text)
    contexts = with_places(folder, dusk=0, sea=2, wood=1)
    network = f"{folder / 'mine.py'}:network"
    with pytest.raises(ValueError, match=r"1 of 27 images .*: b green/4\.png"):
        audits.model(network, str(folder / "photos"), contexts)


@pytest.mark.slow
def test_the_report_has_its_parts_in_order_and_the_caveat_after_the_headline(folder):
    with_places(folder, dusk=0, sea=2, wood=1)
    network = "mine.py:network"
    left = run_lesson(folder, network=network, contexts="places", trained="all")
    page = (left / "page.html").read_text()
    parts = [
        "What was found",
        "What could have been detected",
        "How the network was read",
        "What was not asked, and what to provide",
        "Terms",
        "Files",
    ]
    places = [page.index(f"<h2>{part}</h2>") for part in parts]
    assert places == sorted(places)
    assert page.index("<h1>") < page.index("All layers were trained")
    images = pd.read_csv(left / "images.csv")
    assert len(images) == 27
    pairs = pd.read_csv(left / "pairs.csv")
    assert len(pairs) == 9
    assert pairs["z"].notna().all()
