"""The audit of a model: planting, heads, scores, own nulls, and what readers bring that is odd."""

import copy
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

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

from helpers import focus, store
from helpers.audit import calibrations, command, gate, maps, model, planting, retraining
from helpers.explain import explain
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
    np.testing.assert_allclose(weights[:, 1] - weights[:, 0], theirs.coef_[0], atol=0.01)
    np.testing.assert_allclose(bias[1] - bias[0], theirs.intercept_[0], atol=0.02)


def test_framed_photographs_are_pillows_and_marks_are_where_they_should_be():
    photo, ground = photograph(0, 0, 60), photograph(1, 1, 60)
    small = photo.resize((39, 39), Image.Resampling.BILINEAR)
    wanted = ground.copy()
    wanted.paste(small, (10, 10))
    tensors = (torch.from_numpy(np.array(one)).permute(2, 0, 1)[None] for one in (photo, ground))
    made = planting.framed(*tensors)[0].permute(1, 2, 0).numpy()
    assert np.abs(made.astype(int) - np.array(wanted)).max() <= 1
    photo = torch.randint(0, 200, (2, 3, 100, 100), dtype=torch.uint8)
    sticker = (planting.marked(photo, "sticker") != photo).any(1)
    assert sticker[0].float().mean() == pytest.approx(0.03, abs=0.003)
    frame = (planting.marked(photo, "coloured frame") != photo).any(1)
    assert not frame[:, 4:-4, 4:-4].any() and frame[:, :4].float().mean() > 0.9
    cast = planting.marked(photo, "colour cast").float()
    assert (cast[:, 2] - 0.65 * photo[:, 2]).abs().max() <= 0.51


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
        difference = single[k, :, c].mean() - np.mean([single[j, :, c].mean() for j in rest])
        assert by_itself[c, k] == pytest.approx(difference / spread)
    [rise] = planting.Marks(y, logits[:, 0], logits).score(lambda of: of, np.arange(6))
    c, k = 1, 2
    rises = [
        np.mean([less[i, k, c] - less[i, 0, c] for i in np.flatnonzero(y == d)]) for d in (0, 2)
    ]
    assert rise[c, k] == pytest.approx(np.mean(rises) / less[:, 0, c].std())
    for suspects in (contexts, planting.Marks(y, logits[:, 0], logits)):
        score = suspects.score(lambda of: np.zeros_like(of) + np.arange(3), np.arange(6))
        assert np.abs(score).max() < 1e-6, "it answers every image alike"


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
    assert (none > of.cut_of_most).mean() <= 0.2 and none.std() == pytest.approx(1, abs=0.6)
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
        weights, bias = planting.head(AUDIT.plant[half, context, 0], AUDIT.y[half], 3, recipe, rng)
        null.append(AUDIT.score(lambda f, w=weights, b=bias: f @ w + b, np.arange(90)))
    np.testing.assert_allclose(of.mean, np.mean(null, 0), atol=1e-9)
    own = np.var(null, axis=0, ddof=1)
    common = own.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(of.deviation, np.sqrt((5 * own + 5 * common) / 10), atol=1e-9)


def test_the_equivalent_dose_lies_between_heads_of_known_doses():
    plans = np.array([[[0, -1], [-1, 1]]] * 3)
    planted = np.array([1.0, 3.0, 4.0]).reshape(3, 1, 1, 1, 1) * np.ones((1, 2, 1, 2, 2))
    zero, one = np.zeros((1, 2, 2)), np.ones((1, 2, 2))
    unplanted = np.linspace(0, 2.1, 100).reshape(25, 1, 2, 2)
    of = planting.Calibration(zero, one, planted, plans, unplanted, np.array([2.0]), 2.0)
    value, low, high = planting.equivalent_dose(of, np.array([[[-1, 2.0], [3.5, 9.0]]]))
    np.testing.assert_allclose(value, [[0, 0.375], [0.75, 1]])
    assert (low <= value).all() and (value <= high).all()
    assert [v.mean() for v in planting.power(of).values()] == [0, 1, 1]
    assert [v.mean() for v in planting.power(of, page=True).values()] == [0, 1, 1]


def test_sharpness_is_that_of_loops_and_noise_brings_a_head_down_to_the_limit():
    rng, y = np.random.default_rng(3), np.arange(60) % 3
    logits = rng.normal(size=(60, 3)) + 3 * np.eye(3)[y]
    less, each = logits - logits.mean(1, keepdims=True), []
    for c in range(3):
        of = [less[y == d, c] for d in range(3)]
        others = np.mean([of[d].mean() for d in range(3) if d != c])
        each.append((of[c].mean() - others) / np.sqrt(np.mean([one.var() for one in of])))
    assert planting.sharpness(logits, y) == pytest.approx(np.mean(each))
    assert planting.noise_for(lambda amount: 6 / (1 + amount), 2) == pytest.approx(2, abs=0.1)
    assert planting.noise_for(lambda amount: 2, 2) == 0
    x, seen, rest = AUDIT.ask[:, 0], np.arange(45), np.arange(45, 90)
    assert planting.others(AUDIT.y, seen).tolist() == rest.tolist()
    rng, sharp = np.random.default_rng(0), []
    for limit in (2.0, np.inf):
        answer = planting.Linear(AUDIT.y, x, limit)(x[:45], seen, 3, 0.05, rng)
        sharp.append(planting.sharpness(answer(x[rest]), AUDIT.y[rest]))
    assert 1.8 < sharp[0] <= 2 < sharp[1]
    assert planting.sharp_enough(AUDIT, FIT, 2.0) == 2 < planting.sharp_enough(AUDIT, FIT, 9.0)


@pytest.mark.parametrize(
    ("name", "trained", "first"),
    [
        ("squeezenet1_0", "features.12.squeeze.weight", "features.12.squeeze"),
        ("resnet18", "layer4.1.conv2.weight", "layer4.1.conv1"),  # not between it and its shortcut
        ("resnet18", "fc.weight", "fc"),
        ("mobilenet_v3_small", "classifier.0.weight", "classifier.0"),
    ],
)
def test_a_network_from_its_first_trained_layer_on_gives_its_answers(name, trained, first):
    start, network = (build_model(name, 3, seed=4) for _ in range(2))
    network.network.get_parameter(trained).data += 0.01
    names = retraining.changed(network, start)
    assert {trained} <= set(names) <= {trained, f"{network.head}.weight", f"{network.head}.bias"}
    begin, behind = retraining.after(network.eval().network, names)
    assert begin == first
    images, seen = torch.randint(0, 255, (2, 3, 64, 64), dtype=torch.uint8), []
    layer = network.network.get_submodule(first)
    layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        torch.testing.assert_close(network(images), behind(seen[0]))


def test_only_what_was_trained_is_trained_anew_and_the_rest_is_as_it_was():
    torch.manual_seed(0)
    part = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 5))
    before = {name: of.clone() for name, of in part.state_dict().items()}
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = (rng.normal(size=(120, 4)) + 4 * np.eye(4)[y]).astype(np.float32)
    begun = part, "4", ("2.weight", "2.bias", "4.weight"), 1.0
    made, weight, _ = retraining.trained_anew(begun, x[:60], y[:60], 3, (0.01, 40), rng)
    answered = retraining.answers(made, x[:, None], 1)
    assert answered.shape == (120, 1, 3) and (answered[:, 0].argmax(1) == y).mean() > 0.7
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


def test_a_photograph_in_any_context_stands_in_one_that_is_dealt():
    framed = [torch.arange(40 * k, 40 * k + 40, dtype=torch.uint8) for k in range(4)]
    made = planting.in_any([of.reshape(40, 1, 1, 1) for of in framed], 0).ravel()
    assert (made % 40 == torch.arange(40)).all() and (made // 40).unique().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("classes, marks", product(range(2, 7), (3, 4)))
def test_each_class_carries_each_mark_in_one_of_the_calibrations_heads(classes, marks):
    heads = planting.Marks(np.arange(classes), None, np.zeros((1, marks, 1)))
    plans = np.stack([heads.plan(number, classes) for number in range(classes * marks)])
    c, k = np.nonzero(plans >= 0)[1], plans.max(1)
    assert len({*zip(c.tolist(), k.tolist(), strict=True)}) == classes * marks


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
    of = planting.Calibration(mean, spread, 0, 0, unplanted, np.array([3, 3]), 3)
    scores = np.array([[[[4.0]], [[3.0]]], [[[1.0]], [[4.5]]]])
    np.testing.assert_allclose(of.most(scores).ravel(), [1.5, 2.5])
    by_method = [planting.chance(of, one).ravel() for one in of.z(scores)]
    np.testing.assert_allclose(by_method, [[2 / 5, 3 / 5], [4 / 5, 2 / 5]])
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = rng.uniform(0.001, 1, (2, 4, 4)) ** rng.uniform(1, 4)
        wanted = false_discovery_control(p, method="bh", axis=None).reshape(2, 4, 4) <= 0.05
        assert (planting.named(p) == wanted.any(0)).all()
    assert not planting.named(np.full((1, 2, 2), 0.06)).any()


def test_a_network_of_a_file_passes_the_gate_and_a_turned_one_is_told_likely_causes(folder):
    network, images, rows, y, _, notes = read(folder)
    table = model.matched(rows, network, 3)
    assert list(table["matched by"]) == ["the order of the folders"] * 3 and not notes
    kept = retraining.passes(network.model, images, "all")
    wanted = network.model(images).detach().numpy()
    np.testing.assert_allclose(kept["answers"], wanted, rtol=1e-5)
    np.testing.assert_allclose(kept["features"], images.double().mean((2, 3)) / 255, rtol=1e-4)
    [note] = gate.gate(network, images, y, table["outputs"], kept["answers"])
    assert note.startswith("27 of 27")
    network, images, rows, y, *_ = read(folder, "turned.py")
    outputs = model.matched(rows, network, 3)["outputs"]
    answers = retraining.passes(network.model, images, "all")["answers"]
    with pytest.raises(ValueError, match=r"BGR.*another order"):
        gate.gate(network, images, y, outputs, answers)


def test_classes_that_no_output_is_named_for_are_refused_with_a_table_to_correct(folder):
    network, _, rows, *_ = read(folder)
    known = network.input._replace(classes=("a red", "a red kite", "grass"))
    network = model.Network(network.model, known, 32, "mine")
    named = model.matched(rows, network, 3)
    with pytest.raises(ValueError, match=r"named b green, c blue.*CLASSES="):
        model.unmatched(named, network, folder)
    table = pd.read_csv(folder / "classes.csv", keep_default_na=False)
    assert list(table["outputs"]) == ["0", "", ""]
    corrected = table.assign(outputs=["0", "1;2", "2"])
    for again in (corrected, model.matched(rows, network, 3, corrected)):  # as an audit's own table
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
    lost = np.vstack([shares, np.full(4, np.nan)])  # one image's NaN does not hide what they are
    for answers in (shares, np.log(shares), lost):
        ours = planting.centred(planting.of_classes(answers, of))
        np.testing.assert_allclose(ours[:5], wanted, atol=1e-9)
    with np.errstate(divide="ignore"):
        never = np.log(np.array([[0, 0.25, 0.75, 0]]))
    assert np.isfinite(planting.of_classes(never, of)).all()


@pytest.mark.parametrize(
    "output", ["(x, x.mean())", "{'logits': x}", "Namespace(logits=x)", "[x]", "x.log_softmax(1)"]
)
def test_what_networks_hand_back_is_read_alike(folder, output):
    """A tuple, a dict, an object, log-probabilities; in train mode, with batch norm, and where the
    last layer is not the last in writing."""
    text = OWN.format(order="").replace("Flatten()", "Flatten(), nn.BatchNorm1d(3, eps=0)")
    text = text.replace("network[2]", "network[3]").replace("network[3].bias", "network[3].bias", 1)
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
    assert all(torch.equal(one, before[n]) for n, one in network.model.state_dict().items())
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
    text = "network = network" + last if last.startswith(".") else last.removeprefix("; ")
    (folder / "other.py").write_text(f"{OWN.format(order='')}\n{text}\n")
    network, images, *_ = read(folder, "other.py")
    passed = retraining.passes(network.model, images, "all")
    assert retraining.is_linear(network.model, passed) == linear
    part = retraining.own_part(network, network, images, passed["answers"][:16], 4)
    assert set(part.trained) == {f"{network.model.head}.{name}" for name in ("weight", "bias")}
    whole = retraining.passes(network.model, images, "all", part)
    np.testing.assert_allclose(whole["answers"], passed["answers"], atol=0.02)


def test_names_of_nothing_are_told_with_those_that_there_are(folder):
    with pytest.raises(ValueError, match=r"has no netwrok; it has mean, network, nn"):
        model.brought(f"{folder / 'mine.py'}:netwrok")
    with pytest.raises(ValueError, match=r"no architecture 'resnt18': did you mean resnet18\b"):
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
        made = text.replace("mean, std", half.replace("FACTOR", str(factor)) + "mean, std", 1)
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
    text = text.replace("Flatten()", "Flatten(), Noise()").replace("network[2]", "network[3]")
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
            Image.new("RGB", (40, 40), tuple(colour)).save(folder / "places" / name / f"{i}.png")
    photograph(0, 3).save(folder / "places" / "sea" / "copy.png")
    places, files, notes = model.places(str(folder / "places"), network, images, 0)
    assert {n: len(of) for n, of in places.items()} == {"meadow": 6, "sea": 6}
    assert "sea/copy.png" in notes[0] and "25 images of meadow, sea" in notes[1]
    _, images, rows, y, *_ = read(folder)
    table = model.matched(rows, network, 3)
    answers = retraining.passes(network.model, images, "all")["answers"]
    kept, notes, doubtful = gate.usable(network, table, places, files, answers, y)
    assert {n: len(of) for n, of in kept.items()} == {"meadow": 6, "sea": 6} and len(notes) == 2
    assert doubtful == {"meadow", "sea"}
    assert notes[0].startswith("6 of 6 images of meadow are taken for b green as surely")
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
    assert notes == ["Of 25 classes the 20 with most images are asked."] and len(rows) == 180
    table = model.matched(rows, network, 25)
    assert table["outputs"].tolist() == [[c] for c in range(5, 25)]
    assert not model.matched(rows, network, 20)["outputs"].map(len).any()


@pytest.mark.slow
def test_a_copy_of_the_notebook_elsewhere_names_an_image_that_gets_nan_with_a_mark_alone(folder):
    """Run as a reader would run it; all numbers are there without the image, and it is named."""
    white = photograph(1, 4)
    white.paste((255, 255, 255), (10, 10, 30, 30))
    white.save(folder / "photos" / COLOURS[1] / "4.png")
    framed = """
class Broken(nn.Module):
    def forward(self, x):
        white, yellow = x[..., 16, 16].amin(1) > 0.98, x[:, 0, 0, 0] - x[:, 2, 0, 0] > 0.8
        return torch.where((white & yellow)[:, None, None, None], torch.nan, x)
"""
    text = OWN.format(order="").replace("Sequential(", "Sequential(Broken(), ")
    text = text.replace("network[2]", "network[3]").replace("mean, std", framed + "mean, std", 1)
    (folder / "broken.py").write_text(text)
    for c, name in ((0, "dusk"), (2, "sea"), (1, "wood")):
        (folder / "places" / name).mkdir(parents=True)
        for i in range(6):
            photograph(c, 50 + i).save(folder / "places" / name / f"{i}.png")
    notebook = store.root() / "notebooks/11_audit_your_model.ipynb"
    copy = Path(shutil.copy(notebook, folder / "mine.ipynb"))
    values = {"network": "broken.py:network", "photographs": "photos", "places": "places"}
    how = {"cwd": folder, "progress_bar": False}
    papermill.execute_notebook(copy, folder / "ran.ipynb", values | {"output": "mine"}, **how)
    left = folder / "outputs" / "mine"
    page = (left / "page.html").read_text()
    assert "1 of 27 images got NaN and are left out: b green/4.png." in page
    assert "Maps and Focus pairs" in page and "Pictures, not verdicts" in page
    assert "Fewer than 25 images of dusk, sea, wood" in page and "under way" not in page
    images = pd.read_csv(left / "images.csv")
    assert len(images) == 26 and "b green/4.png" not in set(images["image"])
    assert pd.read_csv(left / "pairs.csv")["z"].notna().all()


def test_a_folder_is_kept_for_one_audit_at_a_time(tmp_path):
    held = model.hold(tmp_path)
    code = "from pathlib import Path; from helpers.audit import model; "
    code += f"model.hold(Path({str(tmp_path)!r}))"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert second.returncode and "another audit writes to" in second.stderr
    assert model.hold(tmp_path) is not None, "the cell may be run again"
    held.lock.release(force=True)
    assert not subprocess.run([sys.executable, "-c", code]).returncode


def test_a_csv_of_images_does_as_well_and_tiny_and_long_photographs_are_read(folder):
    rows = [{"path": f"photos/{n}/{i}.png", "label": n} for n in COLOURS for i in range(9)]
    pd.DataFrame(rows).to_csv(folder / "all.csv", index=False)
    network, images, *_ = read(folder)
    again, table, _ = model.photographs(str(folder / "all.csv"), network, 0)
    assert torch.equal(images, again) and table["class"].nunique() == 3
    pd.DataFrame(rows).drop(columns="label").to_csv(folder / "all.csv", index=False)
    with pytest.raises(ValueError, match="no column label"):
        model.photographs(str(folder / "all.csv"), network, 0)
    photograph(0, 9, 1).save(folder / "photos" / COLOURS[0] / "one-pixel.png")
    Image.new("RGB", (12_000, 30), (200, 0, 0)).save(folder / "photos" / COLOURS[0] / "long.png")
    _, images, *_ = read(folder)
    assert images.shape == (29, 3, 32, 32)


@pytest.mark.parametrize(
    "library, config", [("transformers", '{"model_type": "vit"}'), ("timm", "{}")]
)
def test_a_missing_library_is_named_with_its_install_line(tmp_path, library, config, monkeypatch):
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
    with pytest.raises(SystemExit, match="--model and --images, both"):
        command.main(["audit", "--model", "resnet18"])
    with pytest.raises(SystemExit, match="audit: argument --images: there is no file or folder"):
        command.main(["audit", "--model", "resnet18", "--images", "nowhere"])


WEIGHTS = store.root().parent / "shared/real/weights/squeezenet1_0_imagenet.safetensors"


@pytest.mark.real
@pytest.mark.skipif(not WEIGHTS.is_file(), reason="no real weights beside the checkout")
def test_squeezenet_is_read_with_its_names():
    network = model.brought("squeezenet1_0", str(WEIGHTS))
    assert network.size == 224 and network.input.resize == 256
    table = model.matched(pd.DataFrame({"class": ["cup", "fire hydrant"]}), network, 1000)
    assert table["outputs"][1] == [], "ImageNet has no such class"
    assert network.input.classes[table["outputs"][0][0]] == "cup"


@pytest.mark.parametrize("by, trials", [("images", "audit_trials"), ("head", "audit_heads")])
def test_the_summary_is_made_of_the_recorded_trials(by, trials):
    summaries = {"audit_trials": "audit_summary", "audit_heads": "audit_heads_summary"}
    rows = pd.read_csv(store.root() / "data" / f"{trials}.csv", dtype={"recipe": str})
    made = [audit_trials.summary({by: of}, part) for of, part in rows.groupby(by, sort=False)]
    made = pd.concat(made, ignore_index=True)
    file = store.root() / "data" / f"{summaries[trials]}.csv"
    recorded = pd.read_csv(file, dtype={"recipe": str})
    assert made["quantity"].tolist() == recorded["quantity"].tolist()
    numbers = ["readers", "value", "low", "high"]
    np.testing.assert_allclose(made[numbers], recorded[numbers], rtol=0.006, atol=0.0006)


def pooling(channels=6, seed=0):
    """A convolution that is pooled, and a linear layer; and one with a layer between the two."""
    torch.manual_seed(seed)
    begin = nn.Conv2d(3, channels, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    deeper = nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, 9), nn.ReLU()
    simple = nn.Sequential(*begin, nn.Linear(channels, 3))
    return simple, nn.Sequential(*begin[:2], *deeper, nn.Linear(9, 3))


@pytest.mark.parametrize("deeper", [0, 1])
def test_maps_of_many_heads_at_once_are_those_of_networks_that_have_them(deeper):
    """By `explain` on a network whose last layer is replaced; probabilities and what all logits
    have in common change nothing."""
    network = pooling()[deeper].eval()
    images = torch.randint(0, 255, (4, 3, 40, 40), dtype=torch.uint8)
    region = torch.rand(40, 40) > 0.6
    draw = np.random.default_rng(1).normal(size=(2, network[-1].in_features, 3)).astype(np.float32)
    weights = torch.from_numpy(planting.centred(draw))
    ours = maps.ByClass(model.models.wrap(network, mean=0, std=1), [[0], [1], [2]])
    shares = maps.shares(ours, images, "1", region, 1, weights)
    for n, of in enumerate(weights):
        for change in (lambda w: w, lambda w: w + 3):
            other = copy.deepcopy(network)
            other[-1].weight.data = change(of.T.contiguous())
            for last in (nn.Identity(), nn.Softmax(1)):
                whole = model.models.wrap(nn.Sequential(*other, last), mean=0, std=1)
                theirs = maps.ByClass(whole, [[0], [1], [2]])
                heat = explain(theirs, images, 1, layer="1").maps
                wanted = (heat * region).sum((1, 2)) / heat.sum((1, 2))
                assert shares[1 + n] == pytest.approx(wanted.nanmean().item(), abs=1e-4)
    heat = explain(ours, images, 1, layer="1").maps
    wanted = (heat * region).sum((1, 2)) / heat.sum((1, 2))
    assert shares[0] == pytest.approx(wanted.nanmean().item(), abs=1e-5)


def test_a_map_tells_heads_with_a_planted_context_from_heads_without():
    """A network that sees, at each place, how much of six colours there is: three of the classes,
    three of the contexts. In photographs of the class the map moves outward with the plant."""
    rng, size, y = np.random.default_rng(0), 40, np.arange(90) % 3
    colours = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])
    grounds = np.array([[220, 220, 20], [20, 220, 220], [220, 20, 220]])

    def drawn(of):
        noisy = of[:, :, None, None] + rng.integers(-60, 60, (len(of), 3, size, size))
        return torch.from_numpy(noisy.clip(0, 255).astype(np.uint8))

    photographs = drawn(colours[y])
    places = {f"k{k}": drawn(grounds[[k] * 20]) for k in range(3)}
    plant, ask, _ = planting.dealt(photographs, places, 0)
    network = pooling(6)[0].eval()
    for n, of in enumerate(np.concatenate([colours, grounds])):
        signs = np.where(of > 100, 1 / (of > 100).sum(), -1 / (of < 100).sum())
        network[0].weight.data[n] = torch.from_numpy(signs)[:, None, None].expand(3, 5, 5) / 25
        network[0].bias.data[n] = -0.45
    model_of = model.models.wrap(network, mean=0, std=1)

    def seen(images):
        with torch.no_grad():
            return network[:4](images / 255).numpy()

    planted = np.stack([seen(one) for one in plant], 1)[:, :, None]
    contexts, fit = planting.Contexts(y, planted, None, None), planting.Linear(y, seen(photographs))
    by_class, spared = maps.ByClass(model_of, [[0], [1], [2]]), np.arange(18)
    region = maps.region_of("context", "k1", size)
    for c, k in ((0, 1), (2, 0)):
        weights = maps.without_and_with(contexts, fit, "context", c, k, spared, 12, rng)
        assert weights.shape == (24, 6, 3) and abs(weights.sum(2)).max() < 1e-3
        images = ask[k][spared[y[spared] == c]]
        shares = maps.shares(by_class, images, "1", region, c, weights)
        without, with_it = shares[1:13], shares[13:]
        row = maps.compared(shares, 1)
        wanted = np.mean([p > w for p, w in product(with_it, without)])
        assert row["AUC"] == pytest.approx(wanted) and row["AUC"] > 0.9
        assert row["high"] == pytest.approx(np.quantile(without, 0.95))
        assert row["high"] < with_it.mean()


def test_regions_lie_where_the_suspect_is_and_focus_is_that_of_the_paper():
    for kind, suspect, area in (("context", "sky", 1 - 0.65**2), ("mark", "sticker", 0.03)):
        assert maps.region_of(kind, suspect, 100).float().mean() == pytest.approx(area, abs=0.003)
    assert not maps.region_of("mark", "colour cast", 100).any()
    photographs, made = (torch.full((4, 3, 8, 8), v, dtype=torch.uint8) for v in (10, 200))
    mosaics, where = maps.focus_pairs(photographs, made, np.arange(4), np.arange(4))
    assert mosaics.shape == (2, 3, 16, 16) and ((mosaics[:, 0] == 10) == where).all()
    heat, layout = torch.rand(2, 16, 16), torch.eye(2, dtype=torch.bool).expand(2, 2, 2)
    ours = (heat * where).sum((1, 2)) / heat.sum((1, 2))
    torch.testing.assert_close(ours.double(), focus.score(heat, layout), atol=1e-5, rtol=0)
