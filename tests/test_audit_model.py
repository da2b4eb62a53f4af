"""The audit of a model: planting, heads, scores, own nulls, verdicts, and odd files of users."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import papermill
import pytest
import torch
from PIL import Image
from scipy.stats import false_discovery_control
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from helpers import run_lesson, store
from helpers.audit import (
    calibrations,
    command,
    form,
    gate,
    model,
    planting,
    reliance,
    retraining,
)
from helpers.models import build as build_model
from sweeps import audit_trials

OWN = """
import torch
from torch import nn
mean, std, size = (0, 0, 0), (1, 1, 1), 32
network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
network[2].weight.data, network[2].bias.data = 20 * torch.eye(3){order}, torch.zeros(3)
"""
COLOURS = ("a red", "b green", "c blue")


def photograph(c, i, size=40):
    rng = np.random.default_rng([c, i])
    pixels = rng.integers(0, 120, (size, size, 3), dtype=np.uint8)
    pixels[..., c] += 100
    return Image.fromarray(pixels)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Photographs of three colours, and a network that tells them by their means."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    for c, name in enumerate(COLOURS):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(9):
            photograph(c, i).save(tmp_path / "photos" / name / f"{i}.png")
    (tmp_path / "mine.py").write_text(OWN.format(order=""))
    (tmp_path / "turned.py").write_text(OWN.format(order="[[2, 1, 0]]"))
    return tmp_path


def read(folder, name="mine.py"):
    network = model.brought(f"{folder / name}:network")
    images, rows, notes = model.photographs(str(folder / "photos"), network, 0)
    classes, y = np.unique(rows["class"], return_inverse=True)
    return network, images, rows, y, classes, notes


def test_heads_are_scikit_learns_logistic_regression_penalised_or_not():
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (60, 7)), rng.integers(3, size=60)
    x[:, 6] = 5  # says nothing
    for strength in planting.RECIPES[:3]:
        weights, bias = planting.head(x, y, 3, strength, rng)
        scaled = StandardScaler().fit_transform(x)
        theirs = LogisticRegression(C=strength, max_iter=5000, tol=1e-8).fit(scaled, y)
        wanted = theirs.predict_log_proba(scaled)
        ours = torch.log_softmax(torch.from_numpy(x @ weights + bias), 1).numpy()
        np.testing.assert_allclose(ours, wanted, atol=0.01)
    rng = np.random.default_rng(1)
    x, y = rng.normal(2, 1, (200, 2)), rng.integers(2, size=200)
    weights, bias = planting.by_adam(x, np.eye(2)[y], rng, steps=4000)
    theirs = LogisticRegression(C=1e6).fit(x, y)
    np.testing.assert_allclose(
        weights[:, 1] - weights[:, 0], theirs.coef_[0], atol=0.01
    )
    np.testing.assert_allclose(bias[1] - bias[0], theirs.intercept_[0], atol=0.02)


def test_framed_photographs_are_pillows():
    photo, ground = photograph(0, 0, 60), photograph(1, 1, 60)
    small = photo.resize((39, 39), Image.Resampling.BILINEAR)
    wanted = ground.copy()
    wanted.paste(small, (10, 10))
    tensors = (
        torch.from_numpy(np.array(one)).permute(2, 0, 1)[None]
        for one in (photo, ground)
    )
    made = planting.framed(*tensors)[0].permute(1, 2, 0).numpy()
    assert np.abs(made.astype(int) - np.array(wanted)).max() <= 1


def test_scores_are_those_of_loops():
    rng = np.random.default_rng(2)
    y, logits, alone = (
        np.array([0, 0, 1, 2, 2, 2]),
        rng.normal(size=(6, 4, 3)),
        rng.normal(size=(4, 5, 3)),
    )
    contexts = planting.Contexts(y, None, logits, alone)
    pasted, by_itself = contexts.score(lambda of: of, np.arange(6))
    less = logits - logits.mean(2, keepdims=True)
    single = alone - alone.mean(2, keepdims=True)
    for c, k in product(range(3), range(4)):
        rest, spread = [j for j in range(4) if j != k], less[:, :, c].std()
        means = [np.mean([less[i, k, c] - less[i, rest, c].mean() for i in np.flatnonzero(y == d)])
                 for d in range(3) if d != c]  # fmt: skip
        assert pasted[c, k] == pytest.approx(np.mean(means) / spread)
        difference = single[k, :, c].mean() - np.mean(
            [single[j, :, c].mean() for j in rest]
        )
        assert by_itself[c, k] == pytest.approx(difference / spread)
    score = contexts.score(lambda of: np.zeros_like(of) + np.arange(3), np.arange(6))
    assert np.abs(score).max() < 1e-6, "it answers every image alike"


def test_the_change_of_predictions_is_a_difference_of_counts():
    predictions = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 2, 2]])
    change = planting.prediction_change(predictions, 3)
    for c, k in product(range(3), range(3)):
        here = sum(predictions[i, k] == c for i in range(4)) / 4
        elsewhere = (
            sum(predictions[i, j] == c for i in range(4) for j in range(3) if j != k)
            / 8
        )
        assert change[c, k] == pytest.approx(here - elsewhere)


def test_a_network_whose_predictions_never_change_has_no_effect():
    logits = np.zeros((6, 4, 3)) + np.array([2, 0, 0])
    logits[:, 1, 1] += 1  # the second context raises the second class, but never enough
    contexts = planting.Contexts(np.arange(6) % 3, None, logits, None)
    assert not contexts.effect(lambda of: of, np.arange(6)).any()


def features(n, seed, classes=3, contexts=3):
    """Labels and features in which each class and each context has a direction of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    ground = np.eye(contexts)[:, None] + 0.3 * rng.normal(size=(contexts, 8, contexts))
    own = np.eye(classes)[y] + 0.5 * rng.normal(size=(n, classes))
    halves = [ground[:, rng.integers(4 * part, 4 * part + 4, n)] for part in (0, 1)]
    same = np.broadcast_to(own, (contexts, n, classes))
    plant, ask = (np.concatenate([same, one], 2).swapaxes(0, 1) for one in halves)
    alone = np.concatenate([np.zeros((contexts, 4, classes)), ground[:, 4:]], 2)
    return planting.Contexts(y, plant[:, :, None], ask, alone)


def reader(own, dose, seed):
    """The score of a head of other images, asked of the audit's."""
    rng, seen = np.random.default_rng(seed), features(60, 100 + seed)
    x = seen.train(np.arange(60), np.array(own), dose, rng)
    weights, bias = planting.head(x, seen.y, 3, 0.05, rng)
    return AUDIT.score(lambda of: of @ weights + bias, np.arange(90))


AUDIT = features(90, 0)
FIT = planting.Linear(AUDIT.y, AUDIT.ask[:, 0])


def test_what_is_planted_is_found_and_read_at_its_dose_and_nothing_else_is():
    of = planting.calibrate(AUDIT, FIT, nulls=12, halvings=4, heads=6)
    none = np.stack([of.most(reader([-1] * 3, 0, s)) for s in range(12)])
    assert of.cut.tolist() == [np.quantile(of.unplanted[:, m], 0.95) for m in (0, 1)]
    assert of.cut_of_most == np.quantile(of.unplanted.max(1), 0.95)
    assert (none > of.cut_of_most).mean() <= 0.2 and none.std() == pytest.approx(
        1, abs=0.6
    )
    own = np.array([2, 0, 1])
    scores = [reader(own, 1, s) for s in range(6)]
    called = np.stack([of.most(score) > of.cut_of_most for score in scores])
    assert called[:, [0, 1, 2], own].mean() > 0.9 and called.sum() <= 20
    doses = np.stack([planting.equivalent_dose(of, s)[0] for s in scores])
    assert doses[:, [0, 1, 2], own].mean() > 0.7
    passed = planting.power(of)
    assert passed[0.25].mean() <= passed[1.0].mean() and passed[1.0].shape == (18,)


def test_the_null_of_each_suspect_is_by_brute_force_the_mean_of_heads_on_halves():
    of = planting.calibrate(AUDIT, FIT, 5, nulls=6, halvings=1, heads=1)
    rng, null = np.random.default_rng(5), []
    for _ in range(6):
        order = [rng.permutation(np.flatnonzero(AUDIT.y == c)) for c in range(3)]
        half = np.concatenate([one[::2] for one in order])
        recipe = planting.RECIPES[rng.integers(4)]
        context = rng.integers(3, size=len(half))
        rng.random(len(half)), rng.integers(1, size=len(half))
        weights, bias = planting.head(
            AUDIT.plant[half, context, 0], AUDIT.y[half], 3, recipe, rng
        )
        null.append(AUDIT.score(lambda f, w=weights, b=bias: f @ w + b, np.arange(90)))
    np.testing.assert_allclose(of.mean, np.mean(null, 0), atol=1e-9)
    own = np.var(null, axis=0, ddof=1)
    common = own.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(
        of.deviation, np.sqrt((5 * own + 5 * common) / 10), atol=1e-9
    )


def test_the_equivalent_dose_lies_between_heads_of_known_doses():
    plans = np.array([[[0, -1], [-1, 1]]] * 3)
    planted = np.array([1.0, 3.0, 4.0]).reshape(3, 1, 1, 1, 1) * np.ones(
        (1, 2, 1, 2, 2)
    )
    zero, one = np.zeros((1, 2, 2)), np.ones((1, 2, 2))
    unplanted = np.linspace(0, 2.1, 100).reshape(25, 1, 2, 2)
    effects = np.ones((3, 2, 2, 2)), np.ones((25, 2, 2))
    of = planting.Calibration(
        zero,
        one,
        planted,
        effects[0],
        plans,
        unplanted,
        effects[1],
        np.array([2.0]),
        2.0,
    )
    value, low, high = planting.equivalent_dose(of, np.array([[[-1, 2.0], [3.5, 9.0]]]))
    np.testing.assert_allclose(value, [[0, 0.375], [0.75, 1]])
    assert (low <= value).all() and (value <= high).all()
    assert [v.mean() for v in planting.power(of).values()] == [0, 1, 1]
    assert [v.mean() for v in planting.power(of, page=True).values()] == [0, 1, 1]
    assert planting.false_positives(of).mean() == pytest.approx((unplanted > 2).mean())
    unchanged = replace(
        of, planted_effect=0 * effects[0], unplanted_effect=0 * effects[1]
    )
    for page in (False, True):
        assert not np.concatenate([*planting.power(unchanged, page).values()]).any()
        assert not planting.false_positives(unchanged, page).any()


def test_sharpness_is_that_of_loops_and_noise_brings_a_head_down_to_the_limit():
    rng, y = np.random.default_rng(3), np.arange(60) % 3
    logits = rng.normal(size=(60, 3)) + 3 * np.eye(3)[y]
    less, each = logits - logits.mean(1, keepdims=True), []
    for c in range(3):
        of = [less[y == d, c] for d in range(3)]
        others = np.mean([of[d].mean() for d in range(3) if d != c])
        each.append(
            (of[c].mean() - others) / np.sqrt(np.mean([one.var() for one in of]))
        )
    assert planting.sharpness(logits, y) == pytest.approx(np.mean(each))
    assert planting.noise_for(lambda amount: 6 / (1 + amount), 2) == pytest.approx(
        2, abs=0.1
    )
    assert planting.noise_for(lambda amount: 2, 2) == 0
    x, seen, rest = AUDIT.ask[:, 0], np.arange(45), np.arange(45, 90)
    assert planting.others(AUDIT.y, seen).tolist() == rest.tolist()
    rng, sharp = np.random.default_rng(0), []
    for limit in (2.0, np.inf):
        answer = planting.Linear(AUDIT.y, x, limit)(x[:45], seen, 3, 0.05, rng)
        sharp.append(planting.sharpness(answer(x[rest]), AUDIT.y[rest]))
    assert 1.8 < sharp[0] <= 2 < sharp[1]
    assert (
        planting.sharp_enough(AUDIT, FIT, 2.0)
        == 2
        < planting.sharp_enough(AUDIT, FIT, 9.0)
    )


@pytest.mark.parametrize(
    ("name", "trained", "first"),
    [
        ("squeezenet1_0", "features.12.squeeze.weight", "features.12.squeeze"),
        (
            "resnet18",
            "layer4.1.conv2.weight",
            "layer4.1.conv1",
        ),  # not between it and its shortcut
        ("resnet18", "fc.weight", "fc"),
        ("mobilenet_v3_small", "classifier.0.weight", "classifier.0"),
    ],
)
def test_a_network_from_its_first_trained_layer_on_gives_its_answers(
    name, trained, first
):
    start, network = (build_model(name, 3, seed=4) for _ in range(2))
    network.network.get_parameter(trained).data += 0.01
    names = retraining.changed(network, start)
    assert (
        {trained}
        <= set(names)
        <= {trained, f"{network.head}.weight", f"{network.head}.bias"}
    )
    begin, behind = retraining.after(network.eval().network, names)
    assert begin == first
    images, seen = torch.randint(0, 255, (2, 3, 64, 64), dtype=torch.uint8), []
    layer = network.network.get_submodule(first)
    layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        torch.testing.assert_close(network(images), behind(seen[0]))


def test_only_what_was_trained_is_trained_anew_and_the_rest_is_as_it_was():
    torch.manual_seed(0)
    part = nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 5)
    )
    before = {name: of.clone() for name, of in part.state_dict().items()}
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = (rng.normal(size=(120, 4)) + 4 * np.eye(4)[y]).astype(np.float32)
    begun = part, "4", ("2.weight", "2.bias", "4.weight"), 1.0
    made, weight, _ = retraining.trained_anew(begun, x[:60], y[:60], 3, (0.01, 40), rng)
    answered = retraining.answers(made, x[:, None], 1)
    assert (
        answered.shape == (120, 1, 3) and (answered[:, 0].argmax(1) == y).mean() > 0.7
    )
    assert all(torch.equal(of, before[name]) for name, of in part.state_dict().items())
    same = {n for n in before if torch.equal(made.state_dict()[n][:3], before[n][:3])}
    assert same == {"0.weight", "0.bias"} and weight is made.get_parameter("4.weight")
    sharp = [np.inf]
    for less in (0, 0.2):
        fit = retraining.Retraining(y, x, sharp[-1] - less, begun, ((0.01, 40),))
        answer = fit(x[:60], np.arange(60), 3, fit.recipes[0], np.random.default_rng(0))
        sharp.append(planting.sharpness(answer(x[60:]), y[60:]))
    assert sharp[2] < sharp[1], "noise was added"


def test_a_calibration_is_kept_for_another_head_and_made_anew_for_another_start(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    counts = {"nulls": 4, "halvings": 1, "unseen": 2, "heads": 2}
    made = calibrations.calibrated(AUDIT, FIT, 0, counts)
    wanted = planting.calibrate(AUDIT, FIT, 0, **counts)
    for name, of in vars(wanted).items():
        np.testing.assert_array_equal(getattr(made, name), of)
    layer = nn.Linear(AUDIT.ask.shape[-1], 3)
    start = nn.Sequential(layer), "0", (), 1.0
    part = retraining.Retraining(AUDIT.y, AUDIT.ask[:, 0], np.inf, start, ((0.01, 2),))
    own = calibrations.calibrated(AUDIT, part, 0, counts)
    monkeypatch.setattr(planting, "calibrate", None)  # what is kept is not made again
    for fit, before in ((FIT, made), (part, own)):
        again = calibrations.calibrated(AUDIT, fit, 0, counts)
        np.testing.assert_array_equal(again.planted, before.planted)
    layer.weight.data += 1
    for another in (part, replace(FIT, limit=2.0), replace(FIT, plain=FIT.plain + 1)):
        with pytest.raises(TypeError, match="NoneType"):
            calibrations.calibrated(AUDIT, another, 0, counts)


def test_what_a_layer_sees_is_kept_for_another_head(folder, monkeypatch):
    monkeypatch.setattr(retraining, "LONGEST", np.inf)  # a busy machine would refuse
    network, images, *_ = read(folder)
    trial = retraining.passes(network.model, images, "all")["answers"]
    part = retraining.own_part(network, network, images, trial[:16], 4)
    seen = retraining.passes(network.model, images, "all", part)
    text = (folder / "mine.py").read_text() + "\nnetwork[2].weight.data *= 2\n"
    (folder / "mine.py").write_text(text)
    other, *_ = read(folder)
    other.model.code = network.model.code  # the same forward
    again = retraining.own_part(other, other, images, 2 * trial[:16], 4)
    other.model.network.forward = None  # would fail if it were asked again
    kept = retraining.passes(other.model, images, "all", again)
    np.testing.assert_allclose(kept["answers"], 2 * seen["answers"], rtol=1e-5)


def test_z_is_the_larger_of_the_methods_and_a_page_names_what_benjamini_and_hochberg_do():
    mean, spread = np.array([[[1.0]], [[2.0]]]), np.array([[[2.0]], [[1.0]]])
    unplanted = np.array([[0, -1], [1, 0], [-2, 2], [3, 3.0]]).reshape(4, 2, 1, 1)
    of = planting.Calibration(mean, spread, 0, 0, 0, unplanted, 0, np.array([3, 3]), 3)
    scores = np.array([[[[4.0]], [[3.0]]], [[[1.0]], [[4.5]]]])
    np.testing.assert_allclose(of.most(scores).ravel(), [1.5, 2.5])
    by_method = [planting.chance(of, one).ravel() for one in of.z(scores)]
    np.testing.assert_allclose(by_method, [[2 / 5, 3 / 5], [4 / 5, 2 / 5]])
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = rng.uniform(0.001, 1, (2, 4, 4)) ** rng.uniform(1, 4)
        wanted = (
            false_discovery_control(p, method="bh", axis=None).reshape(2, 4, 4) <= 0.05
        )
        assert (planting.named(p) == wanted.any(0)).all()
    assert not planting.named(np.full((1, 2, 2), 0.06)).any()


def test_a_network_of_a_file_passes_the_gate_and_a_turned_one_is_told_likely_causes(
    folder,
):
    network, images, rows, y, _, notes = read(folder)
    table = model.matched(rows, network, 3)
    assert list(table["matched by"]) == ["the order of the folders"] * 3 and not notes
    kept = retraining.passes(network.model, images, "all")
    wanted = network.model(images).detach().numpy()
    np.testing.assert_allclose(kept["answers"], wanted, rtol=1e-5)
    np.testing.assert_allclose(
        kept["features"], images.double().mean((2, 3)) / 255, rtol=1e-4
    )
    [note] = gate.gate(network, images, y, table["outputs"], kept["answers"])
    assert note.startswith("27 of 27")
    network, images, rows, y, *_ = read(folder, "turned.py")
    outputs = model.matched(rows, network, 3)["outputs"]
    answers = retraining.passes(network.model, images, "all")["answers"]
    with pytest.raises(ValueError, match=r"BGR.*another order"):
        gate.gate(network, images, y, outputs, answers)


def test_classes_that_no_output_is_named_for_are_refused_with_a_table_to_correct(
    folder,
):
    network, _, rows, *_ = read(folder)
    known = network.input._replace(classes=("a red", "a red kite", "grass"))
    network = model.Network(network.model, known, 32, "mine")
    named = model.matched(rows, network, 3)
    with pytest.raises(ValueError, match=r"named b green, c blue.*CLASSES="):
        model.unmatched(named, network, folder)
    table = pd.read_csv(folder / "classes.csv", keep_default_na=False)
    assert list(table["outputs"]) == ["0", "", ""]
    corrected = table.assign(outputs=["0", "1;2", "2"])
    for again in (
        corrected,
        model.matched(rows, network, 3, corrected),
    ):  # as an audit's own table
        made = model.matched(rows, network, 3, again)["outputs"]
        assert made.tolist() == [[0], [1, 2], [2]]
    with pytest.raises(ValueError, match="3, x of b green is no number from 0 to 2"):
        model.matched(rows, network, 3, table.assign(outputs=["0", "3; x", "2"]))
    table.drop(columns="outputs").to_csv(folder / "classes.csv", index=False)
    with pytest.raises(ValueError, match="no column outputs; it has class, matched by"):
        model.table(str(folder / "classes.csv"), "classes", "class", "outputs")


def test_probabilities_log_probabilities_and_several_outputs_give_the_same_differences():
    logits = np.random.default_rng(0).normal(size=(5, 4))
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    of = [[0], [1, 3], [2]]
    wanted = planting.centred(planting.of_classes(logits, of))
    lost = np.vstack(
        [shares, np.full(4, np.nan)]
    )  # one image's NaN does not hide what they are
    for answers in (shares, np.log(shares), lost):
        ours = planting.centred(planting.of_classes(answers, of))
        np.testing.assert_allclose(ours[:5], wanted, atol=1e-9)
    with np.errstate(divide="ignore"):
        never = np.log(np.array([[0, 0.25, 0.75, 0]]))
    assert np.isfinite(planting.of_classes(never, of)).all()


@pytest.mark.parametrize(
    "output",
    [
        "(x, x.mean())",
        "{'logits': x}",
        "Namespace(logits=x)",
        "[x]",
        "x.log_softmax(1)",
    ],
)
def test_what_networks_hand_back_is_read_alike(folder, output):
    """A tuple, a dict, an object, log-probabilities; in train mode, with batch norm, and where the
    last layer is not the last in writing."""
    text = OWN.format(order="").replace(
        "Flatten()", "Flatten(), nn.BatchNorm1d(3, eps=0)"
    )
    text = text.replace("network[2]", "network[3]").replace(
        "network[3].bias", "network[3].bias", 1
    )
    text += f"""
from argparse import Namespace
class Odd(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        inner[2].running_mean += 0.5
        inner[2].weight.requires_grad_(False)
    def forward(self, images):
        x = self.inner(images)
        return {output}
network = Odd(network).train()
"""
    (folder / "odd.py").write_text(text)
    network, images, _, y, *_ = read(folder, "odd.py")
    before = {n: one.clone() for n, one in network.model.state_dict().items()}
    answers = retraining.passes(network.model, images, "all")["answers"]
    assert all(
        torch.equal(one, before[n]) for n, one in network.model.state_dict().items()
    )
    wanted = 20 * (images.double().mean((2, 3)) / 255 - 0.5)
    ours = planting.centred(planting.of_classes(answers, [[0], [1], [2]]))
    np.testing.assert_allclose(ours, planting.centred(wanted.numpy()), atol=1e-3)
    assert gate.gate(network, images, y, [[0], [1], [2]], answers)


@pytest.mark.parametrize(
    ("last", "linear"),
    [
        ("", True),
        (".append(nn.Softmax(1))", True),
        (
            "; network = nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())",
            True,
        ),
        (
            "; network = nn.Sequential("
            "nn.Conv2d(3, 3, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()); "
            "network[0].weight.data = 4 * torch.eye(3)[:, :, None, None]; "
            "network[0].bias.data = torch.full((3,), -1.0)",
            False,
        ),
        ("; network.append(nn.Tanh())", False),
    ],
)
def test_calibrating_heads_are_of_the_networks_kind_or_it_is_said(folder, last, linear):
    """SqueezeNet's last convolution is followed by a rectifier and then pooled."""
    text = (
        "network = network" + last if last.startswith(".") else last.removeprefix("; ")
    )
    (folder / "other.py").write_text(f"{OWN.format(order='')}\n{text}\n")
    network, images, *_ = read(folder, "other.py")
    passed = retraining.passes(network.model, images, "all")
    assert retraining.is_linear(network.model, passed) == linear
    part = retraining.own_part(network, network, images, passed["answers"][:16], 4)
    assert set(part.trained) == {
        f"{network.model.head}.{name}" for name in ("weight", "bias")
    }
    whole = retraining.passes(network.model, images, "all", part)
    np.testing.assert_allclose(whole["answers"], passed["answers"], atol=0.02)


def test_names_of_nothing_are_told_with_those_that_there_are(folder):
    with pytest.raises(ValueError, match=r"has no netwrok; it has mean, network, nn"):
        model.brought(f"{folder / 'mine.py'}:netwrok")
    with pytest.raises(
        ValueError, match=r"no architecture 'resnt18': did you mean resnet18\b"
    ):
        model.brought("resnt18")
    with pytest.raises(ValueError, match="mean = "):
        (folder / "bare.py").write_text("from torch import nn\nnet = nn.Linear(3, 2)\n")
        model.brought(f"{folder / 'bare.py'}:net")


def test_what_is_kept_of_another_code_is_not_taken(folder):
    network, images, *_ = read(folder)
    plain = retraining.passes(network.model, images, "all")["answers"]
    text = OWN.format(order="").replace("nn.Flatten", "Half")
    half = """
class Half(nn.Module):
    def __repr__(self):
        return "Flatten(start_dim=1, end_dim=-1)"
    def forward(self, x):
        return x.flatten(1) / FACTOR
"""
    for factor in (1, 2):
        made = text.replace(
            "mean, std", half.replace("FACTOR", str(factor)) + "mean, std", 1
        )
        (folder / "mine.py").write_text(made)
        again = retraining.passes(read(folder)[0].model, images, "all")["answers"]
        np.testing.assert_allclose(again, plain / factor, rtol=1e-5)


def test_a_last_layer_that_is_not_used_and_answers_by_chance_are_refused(folder):
    text = OWN.format(order="")
    (folder / "odd.py").write_text(f"{text}network.spare = nn.Linear(2, 2)\nnetwork.forward = "
                                   "lambda x: nn.Sequential.forward(network[:3], x)\n")  # fmt: skip
    network, images, *_ = read(folder, "odd.py")
    with pytest.raises(ValueError, match="spare, the last layer that it defines"):
        retraining.passes(network.model, images, "all")
    noise = "class Noise(nn.Module):\n    forward = lambda self, x: x + torch.rand_like(x) / 20\n"
    text = text.replace("Flatten()", "Flatten(), Noise()").replace(
        "network[2]", "network[3]"
    )
    (folder / "odd.py").write_text(text.replace("mean, std", f"{noise}mean, std", 1))
    network, images, _, y, *_ = read(folder, "odd.py")
    answers = retraining.passes(network.model, images, "all")["answers"]
    with pytest.raises(ValueError, match="asked twice"):
        gate.gate(network, images, y, [[0], [1], [2]], answers)


def test_an_image_with_nan_in_any_version_is_counted_and_named():
    rows = pd.DataFrame({"path": [f"{c}{i}.png" for c in "ab" for i in range(7)]})
    rows["class"] = [*"a" * 7, *"b" * 7]
    plain, framed = np.zeros((14, 2)), np.zeros((14, 3, 2))
    plain[3, 1], framed[12, 2, 0] = np.nan, np.inf
    good, [note] = planting.finite([plain, framed], rows)
    assert np.flatnonzero(~good).tolist() == [3, 12]
    assert note == "2 of 14 images got NaN and are left out: a3.png, b5.png."
    framed[8:11] = np.nan
    with pytest.raises(ValueError, match=r"5 of 14.*Fewer than 5 are left of b"):
        planting.finite([plain, framed], rows)


def test_too_few_images_and_contexts_that_are_photographs_are_said(folder):
    network, images, *_ = read(folder)
    for c, name in ((1, "meadow"), (2, "sea")):
        (folder / "places" / name).mkdir(parents=True)
        for i in range(6):
            colour = [i, i, i]
            colour[c] = 200
            Image.new("RGB", (40, 40), tuple(colour)).save(
                folder / "places" / name / f"{i}.png"
            )
    photograph(0, 3).save(folder / "places" / "sea" / "copy.png")
    places, files, notes = model.places(str(folder / "places"), network, images, 0)
    assert {n: len(of) for n, of in places.items()} == {"meadow": 6, "sea": 6}
    assert "sea/copy.png" in notes[0] and "25 images of meadow, sea" in notes[1]
    _, images, rows, y, *_ = read(folder)
    table = model.matched(rows, network, 3)
    answers = retraining.passes(network.model, images, "all")["answers"]
    kept, notes, doubtful = gate.usable(network, table, places, files, answers, y)
    assert {n: len(of) for n, of in kept.items()} == {"meadow": 6, "sea": 6} and len(
        notes
    ) == 2
    assert doubtful == {"meadow", "sea"}
    assert notes[0].startswith(
        "6 of 6 images of meadow are taken for b green as surely"
    )
    assert "meadow/0.png" in notes[0] and "sea are taken for c blue" in notes[1]
    for file in list((folder / "photos" / COLOURS[0]).iterdir())[1:]:
        file.unlink()
    with pytest.raises(ValueError, match="fewer than 8 of a red"):
        read(folder)


def test_of_many_classes_the_largest_are_asked_and_keep_their_numbers(folder):
    for c in range(25):
        (folder / "many" / f"k{c:02d}").mkdir(parents=True)
        for i in range(9 if c >= 5 else 2):
            photograph(c % 3, i).save(folder / "many" / f"k{c:02d}" / f"{i}.png")
    network = model.brought(f"{folder / 'mine.py'}:network")
    _, rows, notes = model.photographs(str(folder / "many"), network, 0)
    assert (
        notes == ["Of 25 classes the 20 with most images are asked."]
        and len(rows) == 180
    )
    table = model.matched(rows, network, 25)
    assert table["outputs"].tolist() == [[c] for c in range(5, 25)]
    assert not model.matched(rows, network, 20)["outputs"].map(len).any()


def with_places(folder):
    """Three contexts, each of the colour of a class."""
    for c, name in ((0, "dusk"), (2, "sea"), (1, "wood")):
        (folder / "places" / name).mkdir(parents=True)
        for i in range(6):
            photograph(c, 50 + i).save(folder / "places" / name / f"{i}.png")


def ran(folder, **values):
    """Run a copy of the lesson in another folder, as a user would, and return what it left."""
    notebook = store.root() / "notebooks/11_audit_your_model.ipynb"
    copy = Path(shutil.copy(notebook, folder / "mine.ipynb"))
    how = {"cwd": folder, "progress_bar": False}
    values = {"photographs": "photos", "output": "mine"} | values
    with run_lesson.exercises_may_fail(folder / "ran.ipynb"):
        papermill.execute_notebook(copy, folder / "ran.ipynb", values, **how)
    return folder / "outputs" / "mine"


@pytest.mark.slow
def test_the_report_has_its_parts_in_order_and_names_an_image_that_gets_nan(folder):
    """The image gets NaN in one context alone; all numbers are there without it."""
    white = photograph(1, 4)
    white.paste((255, 255, 255), (10, 10, 30, 30))
    white.save(folder / "photos" / COLOURS[1] / "4.png")
    broken = """
class Broken(nn.Module):
    def forward(self, x):
        white = x[..., 16, 16].amin(1) > 0.98
        red = x[:, 0, 0].mean(-1) - x[:, 1, 0].mean(-1) > 0.2
        return torch.where((white & red)[:, None, None, None], torch.nan, x)
"""
    text = OWN.format(order="").replace("Sequential(", "Sequential(Broken(), ")
    text = text.replace("network[2]", "network[3]").replace(
        "mean, std", broken + "mean, std", 1
    )
    (folder / "broken.py").write_text(text)
    with_places(folder)
    left = ran(folder, network="broken.py:network", places="places", trained="all")
    page = (left / "page.html").read_text()
    parts = [
        "What was found",
        "What could have been detected",
        "How the network was read",
    ]
    parts += ["What was not asked, and what to provide", "Terms", "Files"]
    places = [page.index(f"<h2>{part}</h2>") for part in parts]
    assert places == sorted(places)
    assert "1 of 27 images got NaN and are left out: b green/4.png." in page
    assert "Fewer than 25 images of dusk, sea, wood" in page and "under way" not in page
    assert page.index("<h1>") < page.index(reliance.APPROXIMATE), (
        "the caveat comes after"
    )
    assert "Maps and Focus" not in page and "sticker" not in page.replace(
        "such as a sticker", ""
    )
    images = pd.read_csv(left / "images.csv")
    assert len(images) == 26 and "b green/4.png" not in set(images["image"])
    pairs = pd.read_csv(left / "pairs.csv")
    assert len(pairs) == 9 and pairs["z"].notna().all()


@pytest.mark.slow
def test_an_audit_without_contexts_asks_for_them(folder):
    with pytest.raises(
        papermill.PapermillExecutionError, match="contexts: none are given"
    ):
        ran(folder, network="mine.py:network")


def test_the_kernel_of_an_audit_begins_with_the_memory_settings(tmp_path, monkeypatch):
    begun = []

    def execute(source, ran, values, **how):
        begun.append(os.environ["GLIBC_TUNABLES"])
        Path(ran).write_text("{}")

    monkeypatch.setattr(papermill, "execute_notebook", execute)
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    with mock.patch.dict(os.environ):
        os.environ.pop("GLIBC_TUNABLES", None)
        form.run("model", "name", {})
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.check=1"
        form.run("model", "name", {})
    assert begun == [form.MEMORY, "glibc.malloc.check=1"], (
        "the user's own settings stay"
    )


def test_a_folder_is_kept_for_one_audit_at_a_time(tmp_path):
    held = model.hold(tmp_path)
    code = "from pathlib import Path; from helpers.audit import model; "
    code += f"model.hold(Path({str(tmp_path)!r}))"
    second = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert second.returncode and "another audit writes to" in second.stderr
    assert model.hold(tmp_path) is not None, "the cell may be run again"
    held.lock.release(force=True)
    assert not subprocess.run([sys.executable, "-c", code]).returncode


def test_a_csv_of_images_does_as_well_and_tiny_and_long_photographs_are_read(folder):
    rows = [
        {"path": f"photos/{n}/{i}.png", "label": n} for n in COLOURS for i in range(9)
    ]
    pd.DataFrame(rows).to_csv(folder / "all.csv", index=False)
    network, images, *_ = read(folder)
    again, table, _ = model.photographs(str(folder / "all.csv"), network, 0)
    assert torch.equal(images, again) and table["class"].nunique() == 3
    pd.DataFrame(rows).drop(columns="label").to_csv(folder / "all.csv", index=False)
    with pytest.raises(ValueError, match="no column label"):
        model.photographs(str(folder / "all.csv"), network, 0)
    photograph(0, 9, 1).save(folder / "photos" / COLOURS[0] / "one-pixel.png")
    Image.new("RGB", (12_000, 30), (200, 0, 0)).save(
        folder / "photos" / COLOURS[0] / "long.png"
    )
    _, images, *_ = read(folder)
    assert images.shape == (29, 3, 32, 32)


@pytest.mark.parametrize(
    "library, config", [("transformers", '{"model_type": "vit"}'), ("timm", "{}")]
)
def test_a_missing_library_is_named_with_its_install_line(
    tmp_path, library, config, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match=f"pip install {library}"):
        model.brought(str(tmp_path))


def test_a_folder_of_timms_is_read_by_its_configuration(tmp_path, monkeypatch):
    network, made = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 2)), []
    network.pretrained_cfg = {"input_size": (3, 8, 8), "mean": (0.1,) * 3, "std": (0.2,) * 3,
                              "crop_pct": 1.0, "label_names": ["cat", "dog"]}  # fmt: skip
    fake = SimpleNamespace(create_model=lambda *a, **k: made.append((a, k)) or network)
    monkeypatch.setitem(sys.modules, "timm", fake)
    (tmp_path / "config.json").write_text("{}")
    ours = model.brought(str(tmp_path))
    assert made == [((f"local-dir:{tmp_path}",), {"pretrained": True})]
    assert ours.size == 8 and ours.input.classes == ("cat", "dog")
    network.pretrained_cfg["input_size"] = (3, 8, 6)
    with pytest.raises(ValueError, match="only square"):
        model.brought("timm/resnet18")


def test_the_command_refuses_halves_and_files_that_are_not_there(capsys):
    with pytest.raises(
        SystemExit, match="--model, --images and --contexts, all of them"
    ):
        command.main(["audit", "--model", "resnet18", "--images", "."])
    with pytest.raises(
        SystemExit, match="audit: argument --images: there is no file or folder"
    ):
        command.main(["audit", "--model", "resnet18", "--images", "nowhere"])


WEIGHTS = store.root().parent / "shared/real/weights/squeezenet1_0_imagenet.safetensors"


@pytest.mark.real
@pytest.mark.skipif(not WEIGHTS.is_file(), reason="no real weights beside the checkout")
def test_squeezenet_is_read_with_its_names():
    network = model.brought("squeezenet1_0", str(WEIGHTS))
    assert network.size == 224 and network.input.resize == 256
    table = model.matched(
        pd.DataFrame({"class": ["cup", "fire hydrant"]}), network, 1000
    )
    assert table["outputs"][1] == [], "ImageNet has no such class"
    assert network.input.classes[table["outputs"][0][0]] == "cup"


@pytest.mark.parametrize(
    "by, trials", [("images", "audit_trials"), ("head", "audit_heads")]
)
def test_the_summary_is_made_of_the_recorded_trials(by, trials):
    summaries = {"audit_trials": "audit_summary", "audit_heads": "audit_heads_summary"}
    rows = pd.read_csv(store.root() / "data" / f"{trials}.csv", dtype={"recipe": str})
    made = [
        audit_trials.summary({by: of}, part)
        for of, part in rows.groupby(by, sort=False)
    ]
    made = pd.concat(made, ignore_index=True)
    file = store.root() / "data" / f"{summaries[trials]}.csv"
    recorded = pd.read_csv(file, dtype={"recipe": str})
    assert made["quantity"].tolist() == recorded["quantity"].tolist()
    numbers = ["readers", "value", "low", "high"]
    np.testing.assert_allclose(
        made[numbers], recorded[numbers], rtol=0.006, atol=0.0006
    )


# Files of users


@pytest.fixture
def user_files(tmp_path):
    """Write files into a folder and load a network from them."""

    def load(text, folder="files", **beside):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        for name, content in beside.items():
            (place / f"{name}.py").write_text(content)
        (place / "mine.py").write_text(text)
        return model.brought(f"{place / 'mine.py'}:network")

    return load


def channels(network):
    """What a network of `OWN` answers to one pure red image."""
    red = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    red[:, 0] = 255
    return network.model(red)[0].detach().round().tolist()


def test_a_dataclass_under_postponed_annotations_works_in_a_users_file(user_files):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\n"
    )
    text += (
        "@dataclass\nclass Config:\n    rows: list[int] = field(default_factory=list)\n"
    )
    network = user_files(f"{text}Config()\n{OWN.format(order='')}")
    assert channels(network) == [20, 0, 0]


BESIDE = "import torch\nROWS = 20 * torch.eye(3){order}\n"
IMPORTS = OWN.replace("20 * torch.eye(3){order}", "ROWS").replace(
    "import torch\n", "import torch\nfrom layers import ROWS\n", 1
)


def test_a_users_file_imports_the_module_next_to_it(user_files):
    assert channels(user_files(IMPORTS, layers=BESIDE.format(order=""))) == [20, 0, 0]


def test_modules_of_one_name_in_two_folders_are_not_mixed_up(user_files):
    first = user_files(IMPORTS, "first", layers=BESIDE.format(order=""))
    second = user_files(IMPORTS, "second", layers=BESIDE.format(order="[[1, 0, 2]]"))
    assert channels(first) == [20, 0, 0]
    assert channels(second) == [0, 20, 0]


def test_an_edit_of_the_module_next_to_a_users_file_is_seen_at_once(user_files):
    first = user_files(IMPORTS, layers=BESIDE.format(order="[[0, 1, 2]]"))
    second = user_files(IMPORTS, layers=BESIDE.format(order="[[1, 0, 2]]"))
    assert channels(first) == [20, 0, 0]
    assert channels(second) == [0, 20, 0]
    assert first.model.code != second.model.code, (
        "what is kept of the first is not of the second"
    )


def test_a_module_of_the_user_shadows_none_of_the_suite(user_files):
    own = {"helpers": "ROWS = 'mine'\n", "layers": BESIDE.format(order="")}
    text = IMPORTS.replace(
        "from layers", "import helpers\nassert helpers.ROWS == 'mine'\nfrom layers"
    )
    before, path = sys.modules["helpers"], sys.path[0]
    user_files(text, **own)
    assert sys.modules["helpers"] is before and sys.path[0] == path
    assert "layers" not in sys.modules


def test_a_module_that_is_imported_only_when_the_network_is_called_is_found(user_files):
    late = """
class Late(nn.Module):
    def forward(self, x):
        import layers_of_late
        return layers_of_late.FACTOR * x
network.append(Late())
"""
    network = user_files(OWN.format(order="") + late, layers_of_late="FACTOR = 2\n")
    assert channels(network) == [40, 0, 0]


LATE = """
class Late(nn.Module):
    def forward(self, x):
        from late import factor
        return factor.FACTOR * x
network.append(Late())
"""


def late_package(place, factor):
    """Write a package that is imported when a network is called."""
    (place / "late").mkdir(parents=True, exist_ok=True)
    (place / "late" / "__init__.py").touch()
    (place / "late" / "factor.py").write_text(f"FACTOR = {factor}\n")


def test_a_late_import_is_of_the_file_that_was_loaded_last(user_files, tmp_path):
    text = OWN.format(order="") + LATE
    for folder, factor in (("first", 2), ("second", 3), ("first", 4)):
        late_package(tmp_path / folder, factor)
        assert channels(user_files(text, folder)) == [20 * factor, 0, 0]
    assert [place for place in sys.path if str(tmp_path) in place] == [
        str(tmp_path / "first")
    ]


def test_an_edit_of_what_is_imported_late_changes_the_digests(user_files, tmp_path):
    digests = []
    for factor in (2, 3):
        late_package(tmp_path / "files", factor)
        digests.append(user_files(OWN.format(order="") + LATE).model.code)
    assert digests[0]["late/factor.py"] != digests[1]["late/factor.py"]


def test_submodules_of_a_users_packages_are_imported_again_and_have_digests(
    user_files, tmp_path
):
    text = IMPORTS.replace("from layers", "import other\nfrom package.layers")
    digests = []
    for order in ("[[0, 1, 2]]", "[[1, 0, 2]]"):
        for name in ("package", "other"):
            (tmp_path / "files" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "files" / name / "__init__.py").touch()
        (tmp_path / "files" / "package" / "layers.py").write_text(
            BESIDE.format(order=order)
        )
        network = user_files(text)
        digests.append(network.model.code)
        assert not {"package", "package.layers", "other"} & {*sys.modules}
    assert channels(network) == [0, 20, 0]
    assert digests[0]["package/layers.py"] != digests[1]["package/layers.py"]
    assert {"mine.py", "package/__init__.py", "other/__init__.py"} <= {*digests[0]}


def test_two_files_of_one_folder_have_different_digests(user_files, tmp_path):
    user_files(OWN.format(order=""))
    (tmp_path / "files" / "yours.py").write_text(OWN.format(order="[[1, 0, 2]]"))
    networks = [
        model.brought(f"{tmp_path / 'files' / name}.py:network")
        for name in ("mine", "yours")
    ]
    assert networks[0].model.code != networks[1].model.code


def test_a_syntax_error_in_a_module_next_to_a_users_file_is_named_with_its_line(
    user_files,
):
    with pytest.raises(ValueError, match=r"SyntaxError in layers\.py, line 2: "):
        user_files(IMPORTS, layers="\ndef f(:\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "import nowhere_to_be_found",
            r"ModuleNotFoundError in mine\.py, line 1: .* Install",
        ),
        ("\nmean = 1 / 0", r"ZeroDivisionError in mine\.py, line 2: division by zero"),
        ("\ndef f(:", r"SyntaxError in mine\.py, line 2: invalid syntax\.$"),
        ("assert 0", r"AssertionError in mine\.py, line 1\.$"),
        ("\nimport sys\nsys.exit()", r"SystemExit in mine\.py, line 3\. Move"),
        (
            "import json\n\njson.loads('{')",
            r"JSONDecodeError in mine\.py, line 3: Expecting",
        ),
    ],
)
def test_an_error_in_a_users_file_is_named_with_its_line(user_files, text, told):
    with pytest.raises(ValueError, match=rf"mine\.py could not be imported\. {told}"):
        user_files(text)


def test_a_network_with_one_logit_is_asked_for_two(folder):
    text = OWN.format(order="[:1]").replace("nn.Linear(3, 3)", "nn.Linear(3, 1)")
    (folder / "one.py").write_text(text.replace("torch.zeros(3)", "torch.zeros(1)"))
    network, images, rows, *_ = read(folder, "one.py")
    outputs = retraining.passes(network.model, images, "all")["answers"].shape[1]
    table = pd.DataFrame({"class": ["a red", "b green"], "outputs": ["0", np.nan]})
    for known in (None, table):
        with pytest.raises(
            ValueError, match=r"one number per image.*Return two logits instead"
        ):
            model.matched(rows, network, outputs, known)


def test_an_output_that_stands_for_two_classes_is_refused(folder):
    network, _, rows, *_ = read(folder)
    table = pd.DataFrame({"class": [*COLOURS], "outputs": ["0", "0", "1"]})
    with pytest.raises(
        ValueError, match=r"same outputs \(0\) stand for both a red and b green"
    ):
        model.matched(rows, network, 3, table)


def test_it_is_asked_which_of_two_outputs_of_one_name_is_meant(folder):
    network, _, rows, *_ = read(folder)
    names = network.input._replace(classes=("a red", "b green", "c blue", "a red"))
    network = replace(network, input=names)
    asked = model.matched(rows, network, 4)
    assert asked["outputs"].tolist() == [[], [1], [2]]
    with pytest.raises(
        ValueError, match=r"Outputs 0, 3 of .* are all named a red.*CLASSES="
    ):
        model.unmatched(asked, network, folder)
    table = model.table(str(folder / "classes.csv"), "classes", "class", "outputs")
    table.loc[0, "outputs"] = "3"
    assert model.matched(rows, network, 4, table)["outputs"].tolist() == [[3], [1], [2]]


def test_classes_called_none_and_null_are_classes_and_an_empty_label_is_refused(folder):
    names = ["None", "null", "NA"]
    rows = [
        {"path": f"photos/{colour}/{i}.png", "label": name}
        for colour, name in zip(COLOURS, names, strict=True)
        for i in range(9)
    ]
    pd.DataFrame(rows).to_csv(folder / "all.csv", index=False)
    network = model.brought(f"{folder / 'mine.py'}:network")
    _, read_rows, _ = model.photographs(str(folder / "all.csv"), network, 0)
    assert sorted(set(read_rows["class"])) == sorted(names)
    rows[4]["label"] = ""
    pd.DataFrame(rows).to_csv(folder / "all.csv", index=False)
    with pytest.raises(
        ValueError, match=r"1 rows of .* no path or no label\. The first is line 6"
    ):
        model.photographs(str(folder / "all.csv"), network, 0)


def test_the_report_says_which_of_several_sets_of_weights_was_read(folder):
    state = nn.Sequential(nn.Identity(), nn.Identity(), nn.Linear(3, 3)).state_dict()
    averaged = {name: value + 1 for name, value in state.items()}
    torch.save({"state_dict": state, "state_dict_ema": averaged}, folder / "last.pt")
    network = model.brought(f"{folder / 'mine.py'}:network", str(folder / "last.pt"))
    assert torch.equal(network.model.network[2].weight, state["2.weight"])
    [note] = network.notes
    assert "'state_dict' was read, not 'state_dict_ema'" in note
    torch.save({"state_dict": state}, folder / "last.pt")
    assert (
        model.brought(f"{folder / 'mine.py'}:network", str(folder / "last.pt")).notes
        == ()
    )


# What is reported


def a_calibration(classes=2, contexts=3, heads=40):
    """Scores of unbiased classifiers between -2 and 2, with a threshold of 2."""
    shape = (2, classes, contexts)
    rng = np.random.default_rng(0)
    unplanted = rng.uniform(-2, 2, (heads, *shape))
    plans = np.zeros((3, heads, classes), int)
    return planting.Calibration(
        mean=np.zeros(shape),
        deviation=np.ones(shape),
        planted=np.ones((3, heads, *shape))
        * np.array([1, 3, 6]).reshape(3, 1, 1, 1, 1),
        planted_effect=np.ones((3, heads, classes, contexts)),
        plans=plans,
        unplanted=unplanted,
        unplanted_effect=np.zeros((heads, classes, contexts)),
        cut=np.array([2.0, 2.0]),
        cut_of_most=2.0,
    )


def judged(z, predictions, **more):
    """The table of pairs of the classes cat and dog in three rooms."""
    score = np.stack([z, np.zeros_like(z)])
    names = ["cat", "dog"], ["attic", "bath", "cellar"]
    return reliance.judge(a_calibration(), score, predictions, *names, **more)


ATTIC = np.array([[9.0, 0, 0], [0, 0, 0]])  # z of cat in the attic
CHANGES = np.array(
    [[0, 1, 1]] * 10 + [[1, 1, 1]] * 90
)  # ten of a hundred become cats there


def test_a_pair_is_reported_with_the_photographs_whose_prediction_changes():
    first = judged(ATTIC, CHANGES).iloc[0]
    assert (first["class"], first["context"], first["verdict"]) == (
        "cat",
        "attic",
        "relies",
    )
    assert (first["predicted"], first["elsewhere"], first["photographs"]) == (
        10,
        0,
        100,
    )
    assert (
        "of 100 photographs, 10 are predicted to be cat in attic"
        in reliance.sentence(first)
    )


def test_a_score_without_changed_predictions_is_no_finding():
    table = judged(ATTIC, np.ones((100, 3), int))
    assert table["verdict"].tolist()[0] == "score only"
    assert reliance.sentence(table.iloc[0]).startswith(
        "cat scores above the threshold on attic, but predictions hardly change: of 100"
    )
    assert "no reliance on a context was detected" in reliance.headline(
        "net", table, {0.5: 0.1, 1: 1}
    )


@pytest.mark.parametrize(("changed", "verdict"), [(9, "score only"), (10, "relies")])
def test_one_percentage_point_of_the_predictions_must_change(changed, verdict):
    predictions = np.ones((1000, 3), int)
    predictions[:changed, 0] = 0
    assert judged(ATTIC, predictions)["verdict"][0] == verdict


def test_a_pair_is_not_said_to_rely_where_pairs_cannot_be_corrected_for_their_number():
    assert judged(ATTIC, CHANGES, corrected=False)["verdict"][0] == "may rely"


def test_the_headline_lists_all_significant_pairs_with_their_counts():
    both = ATTIC + np.array([[0, 0, 0], [0, 0, 7.0]])
    predictions = CHANGES.copy()
    predictions[10:30, :2] = 0
    line = reliance.headline("net", judged(both, predictions), {0.5: 0.5, 1: 1})
    assert line == (
        "net relies on attic for cat (20 more of 100 photographs are predicted as cat in attic "
        "than in the other contexts) and cellar for dog (25 more of 100 photographs are predicted "
        "as dog in cellar than in the other contexts)."
    )


def test_without_a_finding_the_headline_says_what_would_have_been_detected():
    line = reliance.headline("net", judged(0 * ATTIC, CHANGES), {0.5: 0.14, 1: 0.53})
    assert "no reliance on a context was detected among 6 pairs" in line
    assert (
        "strength 0.5 would have been detected with chance 14%, one of strength 1"
        in line
    )


def test_the_detection_rate_counts_biases_of_the_calibrations_own_classifiers():
    table = reliance.detection(a_calibration()).set_index(["verdict", "dose"])["found"]
    assert (
        table["relies"].tolist() == table["may rely, or relies"].tolist() == [0, 1, 1]
    )
    assert set(reliance.detection(a_calibration(), corrected=False)["verdict"]) == {
        "may rely"
    }
    sentences = reliance.chances(reliance.detection(a_calibration()), a_calibration())
    assert "0.0% are reported; 0% of reports on unbiased classifiers" in sentences[2]


def basis(folder, network, start, trained=None):
    """What a network is judged by, on the photographs of the folder."""
    _, images, *_ = read(folder)
    trial = retraining.passes(network.model, images[:16], "first")
    how = {"pairs": 6, "versions": 5, "trained": trained}
    return reliance.basis(network, start, images, trial, **how)


DEEP = """
import torch
from torch import nn
mean, std, size = (0, 0, 0), (1, 1, 1), 32
torch.manual_seed(0)
network = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(4, 3))
"""


@pytest.fixture
def two_networks(folder, monkeypatch):
    """A network whose first layer was trained, and what it began from."""
    monkeypatch.setattr(retraining, "LONGEST", np.inf)  # a busy machine would refuse
    (folder / "begun.py").write_text(DEEP)
    (folder / "ended.py").write_text(f"{DEEP}network[0].weight.data += 1\n")
    return [model.brought(f"{folder / name}.py:network") for name in ("ended", "begun")]


def test_a_network_of_which_the_last_layer_was_trained_has_no_caveat(
    folder, two_networks
):
    ended, _ = two_networks
    for trained in (None, "last layer"):
        judged_by = basis(folder, ended, ended, trained)
        assert (judged_by.caveat, judged_by.retrained) == ("", False)


def test_a_network_that_was_trained_as_a_whole_gets_one_sentence_of_caveat(
    folder, two_networks
):
    ended, _ = two_networks
    judged_by = basis(folder, ended, ended, "all")
    assert judged_by.caveat == reliance.APPROXIMATE and not judged_by.retrained
    assert len(judged_by.caveat.split()) < 40


def test_a_part_that_was_trained_is_trained_again_and_the_report_says_so(
    folder, two_networks
):
    judged_by = basis(folder, *two_networks)
    assert judged_by.retrained and judged_by.part.first == "0"
    assert "about 0.3 of 6 pairs exceed the threshold by chance" in judged_by.caveat


def test_where_training_again_takes_too_long_linear_classifiers_judge(
    folder, two_networks, monkeypatch
):
    monkeypatch.setattr(retraining, "LONGEST", 0)
    judged_by = basis(folder, *two_networks)
    assert (judged_by.part, judged_by.retrained) == (None, False)
    assert judged_by.caveat.startswith(reliance.APPROXIMATE)
    assert "because to train it anew 86 times would take about" in judged_by.caveat


def test_start_and_what_the_user_says_must_agree(folder, two_networks):
    with pytest.raises(
        ValueError,
        match=r"only the last layer.*those of `start`.*0\.weight.*`trained` out",
    ):
        basis(folder, *two_networks, "last layer")


def test_an_artifact_of_the_users_own_is_found_as_a_context_with_and_without_it():
    """Backgrounds with a white corner and the same without it; the network knows the corner."""
    rng, y = np.random.default_rng(0), np.arange(120) % 3
    photographs = rng.integers(0, 120, (120, 3, 24, 24), dtype=np.uint8)
    for i, c in enumerate(y):
        photographs[i, c] += 100
    backgrounds = rng.integers(0, 120, (25, 3, 24, 24), dtype=np.uint8)
    lettered = backgrounds.copy()
    lettered[..., :4, :4] = 255
    contexts = {
        "without": torch.from_numpy(backgrounds),
        "with": torch.from_numpy(lettered),
    }
    plant, ask, alone = planting.dealt(torch.from_numpy(photographs), contexts, 0)

    def seen(images):
        images = images.double() / 255
        corner = images[..., :4, :4].mean((-3, -2, -1))[..., None]
        return torch.cat([images.mean((-2, -1)), corner], -1).numpy()

    features_of = [
        np.stack([seen(images) for images in some], 1) for some in (plant, ask)
    ]
    by_itself = np.stack([seen(images) for images in alone])
    suspects = planting.Contexts(
        y, features_of[0][:, :, None], features_of[1], by_itself
    )
    calibration = planting.calibrate(
        suspects,
        planting.Linear(y, seen(torch.from_numpy(photographs))),
        nulls=20,
        heads=4,
    )
    weights = 20 * np.eye(4, 3)
    answers = {}
    for name, corner in (("clean", 0), ("biased", 6)):
        weights[3, 1] = corner  # the corner raises the second class
        answers[name] = suspects.ask @ weights, suspects.alone @ weights
    verdicts = {}
    for name, (logits, single) in answers.items():
        asked = planting.Contexts(y, None, logits, single)
        table = reliance.judge(
            calibration,
            asked.score(lambda of: of, np.arange(120)),
            logits.argmax(-1),
            ["red", "green", "blue"],
            [*contexts],
        )
        verdicts[name] = table[table["verdict"].isin(["relies", "may rely"])]
    assert verdicts["clean"].empty
    assert verdicts["biased"].iloc[0][["class", "context"]].tolist() == [
        "green",
        "with",
    ]
