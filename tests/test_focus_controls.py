"""Controls and choices of Focus, reduced networks, and traps that ratings must not inherit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torchvision.models import squeezenet1_0, vgg11_bn
from torchvision.models.resnet import BasicBlock, ResNet

from helpers import explain, focus, models
from helpers.data import Collection, ImageSet
from helpers.explain import layers, lrp
from helpers.explain.perturbation import superpixels
from helpers.focus import choices, controls, networks, rating
from helpers.focus.means import mean
from helpers.focus.mosaics import IMAGES, LAYOUTS, TARGETS
from helpers.focus.networks import Model
from helpers.models import reduced
from helpers.run.parameters import Recipe

CLASSES = ("a", "b", "c", "d")
LOGIT = {name: i for i, name in enumerate(CLASSES)}
ONE = {"architecture": "one", "training": 0}  # of made-up ratings


@pytest.fixture(scope="module")
def images():
    """Noise, busier in the first class than in the others."""
    draw = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (40, 3, 16, 16), dtype=torch.uint8, generator=draw)
    pixels[10:] //= 4
    table = pd.DataFrame({"class": np.repeat(CLASSES, 10), "split": "test"})
    return ImageSet("C", pixels, torch.arange(4).repeat_interleave(10), CLASSES, table)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))


def two_classes(images, per_class=12):
    return focus.design(images.table, CLASSES, two_classes=True, per_class=per_class)


class Anything(nn.Module):
    mean, std = 0.0, 1.0

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))


@pytest.mark.parametrize("name", list(controls.MAPS))
def test_class_blind_maps_are_half_over_twins(images, name):
    table = controls.twins(two_classes(images))
    model = Model(Recipe(), "C", [Anything()], LOGIT)
    rated = focus.rate(model, images, table, controls.MAPS[name])
    [row] = focus.summary(rated).to_dict("records")
    assert row["mean"] == pytest.approx(0.5, abs=1e-6)
    assert row["mean_low"] <= 0.5 + 1e-6 and row["mean_high"] >= 0.5 - 1e-6


def test_edge_map_is_sobels():
    draw = torch.Generator().manual_seed(0)
    image = torch.rand(1, 3, 6, 7, generator=draw)
    grey = np.pad(image[0].mean(0).numpy(), 1, mode="edge")
    expected = np.zeros((6, 7))
    for y in range(6):
        for x in range(7):
            part = grey[y : y + 3, x : x + 3]
            across = (part[:, 2] - part[:, 0]) @ [1, 2, 1]
            down = (part[2] - part[0]) @ [1, 2, 1]
            expected[y, x] = np.hypot(across, down)
    assert np.allclose(controls.edge_map(None, image, None)[0], expected, atol=1e-5)


def test_random_maps_depend_on_the_image_only():
    draw = torch.Generator().manual_seed(0)
    images = torch.rand(4, 3, 12, 12, generator=draw)
    together = controls.random_map(None, images, None)
    assert torch.equal(together[2:3], controls.random_map(None, images[2:3], None))
    assert not torch.equal(together[0], together[1])


def test_twins_ask_for_the_other_class(images):
    table = two_classes(images)
    found = controls.twins(table)
    half = len(table)
    assert (found["target"][half:].to_numpy() == table["outer"]).all()
    assert (found[TARGETS][half:].to_numpy() == ~table[TARGETS].to_numpy()).all()
    label = images.table["class"].to_numpy()[found[IMAGES]]
    assert ((label == found["target"].to_numpy()[:, None]) == found[TARGETS]).to_numpy().all()


def test_six_layouts_show_the_same_images_everywhere(images):
    table = two_classes(images, per_class=2)
    found = controls.six_layouts(table)
    assert len(found) == 6 * len(table)
    for group, part in found.groupby("group"):
        assert {frozenset(row) for row in part[IMAGES].to_numpy().tolist()} == {
            frozenset(table.iloc[group][IMAGES])
        }
        assert len(part[TARGETS].drop_duplicates()) == 6
        label = images.table["class"].to_numpy()[part[IMAGES]]
        assert ((label == part["target"].to_numpy()[:, None]) == part[TARGETS]).to_numpy().all()
    top = found[found["layout"] == "top"][TARGETS].to_numpy()
    assert (top == [True, True, False, False]).all()


@pytest.mark.parametrize("method", sorted({*explain.METHODS} - {"lime"}))
def test_focus_is_one_in_disconnected_heads(images, method):
    table = focus.design(images.table, CLASSES, per_class=6)
    on_seams = {"segments": 4} if method == "occlusion" else {}
    found = controls.disconnected(images, table, method, **on_seams)
    found = found[np.isfinite(found)]
    assert len(found) > 12 and found.min() > 1 - 1e-6


def test_lime_leaks_by_its_grid_and_by_its_penalty(images):
    """One change at a time, and the last is right: no further cause is left."""
    table = focus.design(images.table, CLASSES, per_class=12)
    table = table[table["target"] == "a"]
    found = [
        controls.disconnected(images, table, "lime", **options)
        for options in controls.LIME.values()
    ]
    assert np.nanmean(found[0]) < 0.99 and np.nanmean(found[1]) < 0.99
    assert np.nanmin(found[2]) > 1 - 1e-3


@pytest.mark.parametrize("effort", ["quick", "sound"])
@pytest.mark.parametrize("method", ["lime", "occlusion"])
def test_superpixels_lie_across_the_seams(method, effort):
    settings = rating.method_settings(method, effort)
    own = {name: value for name, value in settings.items() if name != "preset"}
    segments = {**explain.METHODS[method].sound, **own}
    places = superpixels(segments["segments"], torch.zeros(1, 3, 192, 192))[0]
    assert (places[:, 95] == places[:, 96]).all() and (places[95] == places[96]).all()


def test_lime_cannot_tell_own_channels_from_shared_ones():
    """It reads nothing but logits, and those are the same."""
    mosaics = torch.rand(5, 3, 32, 32)
    own, shared = (controls.DisconnectedHeads(own)(mosaics) for own in (True, False))
    assert torch.allclose(own, shared, atol=1e-5)


def gradcam_times_edges(model, images, targets):
    maps = explain.explain(model, images, targets, "gradcam").maps
    return maps * controls.edge_map(model, images, targets)


def test_controls_take_a_callable(images):
    """Exercise 3: edges cannot move GradCAM's relevance to other cells, so its verdicts stay."""
    found = controls.heads(images, [gradcam_times_edges], 0)
    assert list(found["method"]) == ["gradcam_times_edges"] * 2
    assert list(found["holds"]) == [True, False]
    model = Model(Recipe(), "C", [models.build("resnet10-eighth", 4)], LOGIT)
    found = controls.knows_nothing(model, images, [gradcam_times_edges], effort="quick")
    [row] = found.to_dict("records")
    assert row["method"] == "gradcam_times_edges" and 0 < row["mean"] < 1


@pytest.mark.parametrize("method", ["gradcam", "gradcam++"])
def test_channels_that_cells_share_fool_activation_maps(images, method):
    table = focus.design(images.table, CLASSES, per_class=6)
    found = controls.disconnected(images, table, method, own_channels=False)
    assert found.mean() < 0.7
    right = controls.disconnected(images, table, "gradient", own_channels=False)
    assert right.min() > 1 - 1e-6


@pytest.mark.parametrize("own", [True, False])
def test_the_heads_do_not_see_other_cells(images, own):
    model = controls.DisconnectedHeads(own)
    [mosaic] = focus.batches(two_classes(images, 1)[:1], images.images, batch_size=1)
    other = mosaic.clone()
    other[..., :16, 16:] = 255 - other[..., :16, 16:]
    same = (model(mosaic) == model(other))[0].tolist()
    assert same == [1 not in layout for layout in LAYOUTS]


def test_randomized_weights_know_nothing_and_leave_the_model():
    model = models.build("resnet10-eighth", 4).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    one, again, other = (controls.randomized(model, seed) for seed in (5, 5, 6))
    key = "network.layer1.0.conv1.weight"
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(one.state_dict()[key], again.state_dict()[key])
    assert not torch.equal(one.state_dict()[key], other.state_dict()[key])
    assert not torch.equal(one.state_dict()[key], before[key])


# --- reduced networks ----------------------------------------------------------------------------


def resnet10(num_classes):
    return ResNet(BasicBlock, [1, 1, 1, 1], num_classes)


@pytest.mark.parametrize(
    ("name", "full", "last"),
    [("vgg11-eighth", vgg11_bn, "features"), ("resnet10-eighth", resnet10, "layer4")],
)
def test_reduced_networks_have_torchvisions_layers(name, full, last):
    with torch.device("meta"):  # layers without weights
        large = full(num_classes=4)
    small = models.build(name, 4).network
    mine, theirs = (
        {n: type(m) for n, m in net.named_modules() if n and not n.startswith("classifier")}
        for net in (small, large)  # VGG's classifier has one hidden layer here
    )
    if name == "vgg11-eighth":
        assert theirs.pop("features.28") is nn.MaxPool2d
    assert mine == theirs
    convs = [[m for m in net.modules() if isinstance(m, nn.Conv2d)] for net in (small, large)]
    for mine, theirs in zip(*convs, strict=True):
        assert mine.out_channels * reduced.WIDTH == theirs.out_channels
        assert (mine.kernel_size, mine.padding) == (theirs.kernel_size, theirs.padding)
    model = models.build(name, 4).eval()
    images = torch.rand(2, 3, 96, 96)
    assert layers.last_map(model, images, least=3) == last
    assert model(torch.rand(2, 3, 32, 32)).shape == model(images).shape == (2, 4)


@pytest.mark.parametrize("name", ["vgg11-eighth", "resnet10-eighth"])
def test_lrp_conserves_relevance_in_reduced_networks(name):
    model = controls.randomized(models.build(name, 4), 0)
    images = torch.rand(2, 3, 96, 96)
    _, logits, ledger = lrp.propagate(model, images, torch.tensor([0, 1]))
    assert lrp.lost(logits, ledger).max() < 1e-3


# --- traps of the tools --------------------------------------------------------------------------


def test_lrp_that_loses_relevance_is_refused_and_the_run_says_so(images):
    """captum's and zennit's LRP give maps of any residual or gated network, without a word."""

    class Gated(nn.Module):
        mean, std = 0.0, 1.0

        def __init__(self):
            super().__init__()
            self.conv, self.gate = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 1)
            self.head = nn.Linear(4, 4)

        def forward(self, x):
            x = x.float() / 255 if x.dtype == torch.uint8 else x
            x = self.conv(x).relu()
            return self.head((x * self.gate(x.mean((2, 3), keepdim=True))).mean((2, 3)))

    torch.manual_seed(0)
    model = Model(Recipe("gated"), "C", [Gated(), Gated()], LOGIT)
    table = {"C": focus.design(images.table, CLASSES, per_class=2)}
    with pytest.raises(explain.NotConserved):
        focus.rate(model, images, table["C"], "lrp")
    rated = rating.ratings([model], {"C": images}, table, ["gradient", "lrp"])
    assert set(rated["method"]) == {"Gradient"} and rated["training"].value_counts().nunique() == 1
    assert "does not conserve" in rated.attrs["refused"]["gated C", "lrp"]
    [row] = controls.knows_nothing(model, images, ["lrp"], effort="quick").to_dict("records")
    assert row["method"] == "LRP" and np.isnan(row["mean"]) and not row["holds"]
    assert row["why"].startswith("gives no map: ") and "conserve" in row["why"]


# --- the study -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "means", "front"),
    [
        ([1, 2, 3, 4], [0.6, 0.5, 0.9, 0.9], "wy"),
        ([1, 1.05, 1.2, 1.3], [0.6, 0.8, 0.7, 0.81], "xz"),
    ],
    ids=["far apart", "5% of noise in a time decides nothing"],
)
def test_no_other_method_is_as_fast_and_better(images, seconds, means, front):
    table = focus.design(images.table, CLASSES, per_class=2).assign(set="C", **ONE)
    parts = [
        table.assign(method=name, focus=mean, seconds=time)
        for name, mean, time in zip("wxyz", means, seconds, strict=True)
    ]
    slow = [part.assign(set="NC", seconds=9.0, focus=0.1) for part in parts]
    found = choices.timed(pd.concat(parts + slow), "C")
    assert "".join(found["method"][found["front"]]) == front
    assert found["seconds"].tolist() == seconds, "the shortest of the sets, and Focus on the first"


def test_the_most_typical_mosaic():
    rows = [("a", 0.1, 0.5), ("b", 0.5, 0.4), ("c", 0.9, 0.3), ("d", 0.5, np.nan)]
    rated = pd.concat(
        pd.DataFrame({"mosaic": range(4), "method": m, "focus": [row[i] for row in rows]})
        for i, m in ((1, "x"), (2, "y"))
    )
    empty = pd.DataFrame({"mosaic": range(4), "method": "z", "focus": np.nan})
    assert choices.most_typical(rated) == 1
    assert choices.most_typical(pd.concat([rated, empty])) == 1


def test_choices_are_compared_on_mosaics_that_have_both(images):
    table = focus.design(images.table, CLASSES, per_class=6)
    shift = np.random.default_rng(0).normal(0.1, 0.01, len(table))
    first = table.assign(choice="layer", method="LRP", option="input", focus=0.5, set="C", **ONE)
    second = first.assign(option="last map", focus=0.5 + shift)
    second.loc[:3, "focus"] = np.nan
    first.loc[:3, "focus"] = 1.0
    [row] = choices.paired(pd.concat([first, second], ignore_index=True)).to_dict("records")
    assert (row["first"], row["second"]) == ("input", "last map")
    assert (row["undefined"], row["maps"]) == (4, 24)
    assert row["first_mean"] == 0.5 and row["second_mean"] == pytest.approx(0.5 + shift[4:].mean())
    assert row["difference"] == pytest.approx(shift[4:].mean()) and row["low"] > 0.05


def test_classes_of_a_network_as_it_is(images, tmp_path):
    named = ("Goldfish", "great_white shark", "207", "tench")
    weights = tmp_path / "squeezenet.pth"
    torch.save(squeezenet1_0().state_dict(), weights)
    recipe = Recipe("squeezenet1_0", networks.AS_IT_IS, str(weights))

    def model(classes):
        sets = {"C": replace(images, classes=classes)}
        return networks.model(Collection("folder", classes, sets), recipe, 0)

    assert list(model(named).logit.values()) == [1, 2, 207, 0]
    with pytest.raises(ValueError, match="no ImageNet category"):
        model(CLASSES)


def test_ten_controls_that_hold_are_said_to_hold():
    """Maps of chance: a control is called wrong in 1 of 200 runs, so ten of them in 1 of 20."""
    table = pd.DataFrame({"class": np.repeat(CLASSES, 25), "split": "test"})
    wrong = 0
    for seed in range(200):
        rated = focus.design(table, CLASSES, per_class=24, seed=seed).assign(set="C", **ONE)
        rated["focus"] = np.random.default_rng(seed).normal(0.5, 0.08, len(rated))
        _, low, high = mean(rated).interval(controls.LEVEL)
        wrong += not low <= 0.5 <= high
    assert wrong <= 4
