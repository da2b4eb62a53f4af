"""Explanation methods against written-out definitions; what all share; refusals."""

import copy

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn
from torch.nn.functional import interpolate
from torch.testing import assert_close
from torchvision.models import vit_b_16

from helpers import models
from helpers.explain import METHODS, captum_methods, explain, layers
from helpers.models import inference

TARGETS = torch.tensor([0, 1, 2, 1])
LAST_TOKENS = "encoder.layers.encoder_layer_11.ln_1"
SHORT = {
    "gradcam": {},
    "gradcam++": {},
    "lrp": {},
    "smoothgrad": {"samples": 4},
    "lime": {"samples": 8, "segments": 2},
    "integrated-gradients": {"steps": 2},
}


def enlarged(maps, size):
    """Enlarge maps (N, height, width) as explain does."""
    larger = interpolate(maps[:, None], (size, size), mode="bilinear")
    return larger[:, 0].detach()


def short_maps(model, images, targets, method, **settings):
    """Explain with few samples."""
    return explain(model, images, targets, method, **SHORT[method], **settings)


def noise(*shape, seed=0):
    """Draw numbers between 0 and 1."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator)


class Small(nn.Module):
    """Two convolutions and a linear layer over the mean of the rectified last map."""

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 5, stride=4)
        self.relu = nn.ReLU(inplace=True)  # used twice, in place
        self.second = nn.Conv2d(4, 6, 3)
        self.last_relu = self.relu
        self.out = nn.Linear(6, 3)
        self.most_images = 99  # that its memory holds

    def features(self, x):
        if len(x) > self.most_images:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        rectified = self.relu(self.first(x))
        return self.last_relu(self.second(rectified))

    def forward(self, x):
        means = self.features(x).mean((2, 3))
        return self.out(means)


@pytest.fixture(scope="module")
def small():
    torch.manual_seed(1)
    return Small().eval()


@pytest.fixture(scope="module")
def images():
    return noise(4, 3, 24, 24)


# Methods


def test_gradcam_is_its_definition_at_the_last_rectified_map(small, images):
    ours = explain(small, images, TARGETS, "gradcam", batch_size=3)
    activation = small.features(images).detach()
    weights = small.out.weight[TARGETS] / activation[0, 0].numel()
    expected = torch.einsum("bc,bchw->bhw", weights, activation).relu()
    assert_close(ours, enlarged(expected, 24), rtol=1e-4, atol=1e-6)


def test_gradcam_plus_plus_is_its_definition_by_higher_derivatives():
    """Equations 10 and 19 of its paper; autograd derives exp(logit)."""

    torch.manual_seed(2)
    network = nn.Sequential(  # its last map before the logits is its input
        nn.Identity(),
        nn.Conv2d(3, 2, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    model = models.Classifier(network, mean=0, std=1).eval().double()
    a = torch.rand((1, 3, 4, 4), dtype=torch.float64, requires_grad=True)
    score = model(a)[0, 1].exp()
    [first] = torch.autograd.grad(score, a, create_graph=True)
    second = torch.zeros_like(a)
    third = torch.zeros_like(a)
    for place in np.ndindex(*a.shape):
        [row] = torch.autograd.grad(first[place], a, create_graph=True)
        second[place] = row[place].detach()
        [row] = torch.autograd.grad(row[place], a, retain_graph=True)
        third[place] = row[place]
    total = a.sum((2, 3), keepdim=True)
    alpha = second / (2 * second + total * third)
    gradient = first / score
    weights = (alpha * gradient.relu()).sum((2, 3))
    expected = torch.einsum("bc,bchw->bhw", weights, a).relu()
    ours = explain(model, a.detach(), 1, "gradcam++")
    assert ours.any()
    assert_close(ours, expected.detach().float(), rtol=1e-5, atol=1e-7)


def test_smoothgrad_is_the_mean_of_signed_gradients(small, images):
    ours = explain(small, images, TARGETS, "smoothgrad", samples=6, batch_size=4)
    generator = torch.Generator().manual_seed(0)
    gaussian = torch.randn(6, 3, 24, 24, generator=generator)
    for i, target in enumerate(TARGETS):
        spread = images[i].max() - images[i].min()
        noisy = (images[i] + 0.15 * spread * gaussian).requires_grad_()
        logits = small(noisy)[:, target]
        [gradient] = torch.autograd.grad(logits.sum(), noisy)
        expected = gradient.mean(0).sum(0)
        assert_close(ours[i], expected, rtol=1e-3, atol=1e-6)
    assert (ours < 0).any()


@pytest.mark.parametrize("layer", ["input", "second"])
def test_integrated_gradients_add_up_to_the_difference_from_the_mean_colour(
    small, images, layer, monkeypatch
):
    monkeypatch.setattr(small, "mean", 0.4)
    monkeypatch.setattr(  # enlarging a map changes its sum
        layers, "as_maps_of_images", lambda relevance, *_: relevance.sum(1)
    )
    maps = captum_methods.integrated_gradients(
        small, images, TARGETS, layer=layer, steps=200
    )
    with torch.no_grad():
        rise = small(images) - small(torch.full_like(images, 0.4))
    expected = rise[range(4), TARGETS]
    assert_close(maps.sum((1, 2)), expected, rtol=1e-2, atol=1e-4)


def test_lime_is_weighted_ridge_regression(small, images):
    settings = {"segments": 3, "samples": 30, "seed": 5}
    ours = explain(small, images, TARGETS, "lime", **settings)
    best = explain(small, images, TARGETS, "lime", best=2, **settings)
    visible = noise(30, 9, seed=5) < 0.5
    visible = torch.cat([torch.ones(1, 9, dtype=torch.bool), visible])
    cosine = visible.double().mean(1).sqrt()  # to the whole image
    weight = torch.exp(-((1 - cosine) ** 2) / (2 * 0.25**2))
    cells = torch.arange(9).view(3, 3)
    cells = cells.repeat_interleave(8, 0).repeat_interleave(8, 1)
    for i, target in enumerate(TARGETS):
        colour = images[i].mean((1, 2))[:, None, None]
        samples = [torch.where(row[cells], images[i], colour) for row in visible]
        logits = small(torch.stack(samples))[:, target].detach()
        effects = Ridge().fit(visible, logits, sample_weight=weight).coef_
        expected = torch.tensor(effects / 64, dtype=torch.float32)[cells]
        assert_close(ours[i], expected, rtol=1e-3, atol=1e-6)
        two = torch.tensor(np.argsort(effects)[-2:])
        expected = torch.isin(cells, two) & (expected > 0)
        assert torch.equal(best[i], expected.float())


def test_a_function_is_a_method(small, images):
    def mine(model, batch, targets, power=1):
        return batch.mean(1) ** power

    ours = explain(small, images, 0, mine, power=2, batch_size=3)
    assert_close(ours, images.mean(1) ** 2)


def test_a_function_that_gives_no_maps_or_nan_is_refused(small, images):
    def no_maps(model, batch, targets):
        return batch

    def nan(model, batch, targets):
        maps = batch.mean(1)
        maps[2, 0, 0] = torch.nan
        return maps

    with pytest.raises(
        ValueError, match=r"must return a tensor of shape \(4, 24, 24\)"
    ):
        explain(small, images, 0, no_maps)
    with pytest.raises(FloatingPointError, match=r"nan gave NaN .* for 1 of 4"):
        explain(small, images, 0, nan)


# What holds for every method


@pytest.mark.parametrize("method", ["gradcam", "lrp"])
def test_a_model_may_be_frozen_and_is_left_as_it_was(method):
    model = models.build("resnet18", 4).train()
    before = copy.deepcopy(model.state_dict())
    images = noise(4, 3, 64, 64)
    maps = explain(model, images, TARGETS, method)
    assert not any(module._forward_hooks for module in model.modules())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    model.requires_grad_(False)
    assert torch.equal(maps, explain(model, images, TARGETS, method))


@pytest.mark.parametrize("method", METHODS)
def test_no_map_depends_on_its_batch_or_draws_from_the_global_generator(
    method, images, small
):
    state = torch.get_rng_state()
    together = short_maps(small, images, TARGETS, method)
    assert torch.equal(torch.get_rng_state(), state)
    alone = short_maps(small, images, TARGETS, method, batch_size=1)
    assert_close(together, alone, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_batch_is_halved_until_it_fits_into_the_memory(
    method, images, small, capsys
):
    inference.print_once.cache_clear()
    poor = copy.deepcopy(small)
    poor.most_images = 2
    maps = short_maps(poor, images, TARGETS, method, batch_size=8)
    expected = short_maps(small, images, TARGETS, method)
    assert_close(maps, expected, rtol=1e-3, atol=1e-6)
    assert capsys.readouterr().out.count("batches are halved") == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_rectifier_that_is_used_twice_is_explained_as_two_of_them(
    images, small, method
):
    separate = copy.deepcopy(small)
    separate.last_relu = nn.ReLU(inplace=True)
    expected = short_maps(separate, images, TARGETS, method)
    assert torch.equal(short_maps(small, images, TARGETS, method), expected)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("vgg11", "features.18"),
        ("alexnet", "features.10"),
        ("squeezenet1_0", "features.12.squeeze"),
    ],
)
@pytest.mark.parametrize("method", ["gradcam", "gradcam++", "integrated-gradients"])
def test_a_rectifier_in_place_after_the_layer_changes_nothing(name, layer, method):
    model = models.build(name, 3, seed=1)
    images = noise(2, 3, 64, 64)
    target = int(model(images).sum(0).argmax())  # SqueezeNet's logits may be 0
    maps = short_maps(model, images, target, method, layer=layer)
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            assert module.inplace
            module.inplace = False
    expected = short_maps(model, images, target, method, layer=layer)
    assert_close(maps, expected)
    assert maps.any()


class Recurrent(nn.Module):
    """A recurrent layer, which gives its outputs and its states."""

    def __init__(self):
        super().__init__()
        self.rows = nn.LSTM(24, 4, batch_first=True)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        outputs, _ = self.rows(x.mean(1))
        return self.out(outputs.mean(1))


@pytest.mark.parametrize("method", ["gradcam", "gradcam++"])
def test_a_layer_that_gives_several_tensors_is_refused(images, method):
    model = models.Classifier(Recurrent(), mean=0, std=1)
    message = r"layer 'rows', of shape \(\), is not a map"
    with pytest.raises(ValueError, match=message):
        explain(model, images, 0, method, layer="rows")


# Vision transformers


class Patches(nn.Module):
    """Give a class token, then red and green in the middle of each patch.

    The logits are their means over all tokens.
    """

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 2, 4, stride=4, bias=False)
        nn.init.dirac_(self.embed.weight)
        self.norm = nn.Identity()

    def forward(self, images):
        patches = self.embed(images).flatten(2).transpose(1, 2)
        class_token = torch.full_like(patches[:, :1], 9)
        tokens = torch.cat([class_token, patches], dim=1)
        return self.norm(tokens).mean(1)


@pytest.mark.parametrize("method", ["gradcam", "gradcam++"])
@pytest.mark.parametrize(("target", "place"), [(0, (1, 0)), (1, (2, 2))])
def test_maps_at_the_tokens_of_a_transformer_show_the_patches(method, target, place):
    images = torch.zeros(1, 3, 12, 12)
    images[0, 0, 4:8, :4] = 1  # a red patch in the second row, first column
    images[0, 1, 8:, 8:] = 1  # a green patch in the last row and column
    maps = explain(Patches(), images, target, method, layer="norm")
    patches = torch.zeros(1, 3, 3)
    patches[0][place] = 1
    expected = enlarged(patches, 12)
    assert_close(maps / maps.max(), expected / expected.max())


@pytest.mark.slow
def test_vit_b_16_is_explained_at_the_tokens_of_its_last_block():
    network = vit_b_16()
    nn.init.normal_(network.heads.head.weight)
    model = models.Classifier(network, mean=0.5, std=0.5).eval()
    images = noise(2, 3, 224, 224)
    for method in ("gradcam", "gradcam++"):
        with pytest.raises(ValueError, match=f"the tokens .* '{LAST_TOKENS}'"):
            explain(model, images, 1, method)
    maps = explain(model, images, 1, "gradcam", layer=LAST_TOKENS)
    assert maps.shape == (2, 224, 224)
    assert maps.any()


# Architectures, and refusals


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "resnet18",
        "densenet121",
        "mobilenet_v3_small",
        "efficientnet_b0",
        "convnext_tiny",
        "squeezenet1_1",
    ],
)
def test_every_method_but_lrp_explains_all_architectures(name):
    model = models.build(name, 3)
    images = noise(3, 3, 64, 64)
    for method in set(METHODS) - {"lrp"}:
        assert short_maps(model, images, torch.arange(3), method).any(), method


def test_two_targets_for_four_images_are_refused(small, images):
    with pytest.raises(RuntimeError, match=r"size of the tensor \(4\) must match"):
        explain(small, images, torch.tensor([0, 1]), "gradcam")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gradcamm"}, "method='gradcamm' or preset='sound' is not known"),
        ({"preset": "best"}, "preset='best' is not known. Methods are gradcam"),
        (
            {"method": "integrated-gradients", "layer": "relu"},
            "'relu' runs 2 times in a pass",
        ),
    ],
)
def test_refusals(small, images, change, message):
    arguments = {"targets": 0, "method": "gradcam", **change}
    with pytest.raises(ValueError, match=message):
        explain(small, images, **arguments)
