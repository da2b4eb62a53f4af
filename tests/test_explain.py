"""Explanation methods against written-out definitions, captum and zennit; refusals."""

import copy

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate
from torchvision.models import VisionTransformer

from helpers import explain, models
from helpers.explain import lrp

TARGETS = torch.tensor([0, 1, 2, 1])
SHORT = {
    "smoothgrad": {"samples": 1},
    "lime": {"samples": 8, "segments": 2},
    "integrated-gradients": {"steps": 2},
}


def randomize_batch_norm(model, seed=0):
    """Give batch normalisation statistics and weights as after a training."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
    return model.eval()


def enlarged(maps, size):
    """Enlarge maps (N, height, width) as explain does."""
    larger = interpolate(
        maps[:, None], (size, size), mode="bilinear", align_corners=False
    )
    return larger[:, 0].detach().float()


class Small(nn.Module):
    """Two convolutions and a linear layer over the mean of the rectified last map."""

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 5, stride=4)
        self.relu = nn.ReLU(inplace=True)  # used twice, in place
        self.second = nn.Conv2d(4, 6, 3)
        self.out = nn.Linear(6, 3)

    def features(self, x):
        return self.relu(self.second(self.relu(self.first(x))))

    def forward(self, x):
        return self.out(self.features(x).mean((2, 3)))


@pytest.fixture(scope="module")
def small():
    torch.manual_seed(1)
    return Small().eval()


@pytest.fixture(scope="module")
def images():
    draw = torch.Generator().manual_seed(0)
    return torch.rand((4, 3, 24, 24), generator=draw)


# Methods


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("alexnet-quarter", "features"),
        ("squeezenet1_0", "features"),
        ("resnet18", "layer4"),
    ],
)
def test_gradcam_is_captums(name, layer):
    images = torch.rand(4, 3, 96, 96)
    model = models.build(name, 4).eval()
    ours = explain.explain(model, images, TARGETS, "gradcam", batch_size=2)
    captums = captum.attr.LayerGradCam(model, model.network.get_submodule(layer))
    theirs = captums.attribute(images, TARGETS, relu_attributions=True)
    expected = enlarged(theirs[:, 0], 96)
    torch.testing.assert_close(ours.maps, expected, rtol=1e-4, atol=1e-6)


def test_gradcam_plus_plus_is_its_definition_by_higher_derivatives():
    """Equations 10 and 19 of its paper; autograd derives exp(logit)."""

    class Tail(nn.Module):
        """A network whose last map before the logits is its input."""

        mean = 0.0
        std = 1.0

        def __init__(self):
            super().__init__()
            self.features = nn.Identity()
            self.out = nn.Conv2d(3, 2, 1)

        def forward(self, x):
            return self.out(self.features(x).mean((2, 3), keepdim=True)).flatten(1)

    torch.manual_seed(2)
    model = Tail().eval().double()
    maps = torch.rand((2, 3, 4, 4), dtype=torch.float64)
    ours = explain.explain(model, maps, torch.tensor([0, 1]), "gradcam++")
    for i in (0, 1):
        a = maps[i : i + 1].clone().requires_grad_()
        score = model(a)[0, i].exp()
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
        weights = (alpha * (first / score).relu()).sum((2, 3), keepdim=True)
        expected = (weights * a).sum(1).relu()[0].detach().float()
        torch.testing.assert_close(ours.maps[i], expected, rtol=1e-5, atol=1e-7)


def test_smoothgrad_keeps_the_sign_and_equals_captum_image_by_image(small, images):
    ours = explain.explain(
        small, images, TARGETS, "smoothgrad", samples=6, batch_size=3
    )
    tunnel = captum.attr.NoiseTunnel(captum.attr.Saliency(small))
    for i, target in enumerate(TARGETS):
        image = images[i : i + 1]
        spread = float(0.15 * (image.max() - image.min()))
        torch.manual_seed(0)
        theirs = tunnel.attribute(
            image, nt_samples=6, stdevs=spread, target=int(target), abs=False
        )
        expected = theirs[0].sum(0)
        torch.testing.assert_close(ours.maps[i], expected, rtol=1e-3, atol=1e-6)
    assert (ours.maps < 0).any()


def test_integrated_gradients_equal_captum(small, images):
    ours = explain.explain(small, images, TARGETS, "integrated-gradients")
    theirs = captum.attr.IntegratedGradients(small).attribute(
        images, target=TARGETS, n_steps=32
    )
    expected = theirs.sum(1).float()
    torch.testing.assert_close(ours.maps, expected, rtol=1e-3, atol=1e-6)


def test_integrals_at_a_layer_are_captums(small, images):
    ours = explain.explain(
        small, images, TARGETS, "integrated-gradients", layer="second", steps=20
    )
    plain = copy.deepcopy(small)
    plain.relu.inplace = False  # which captum cannot follow
    integral = captum.attr.LayerIntegratedGradients(plain, plain.second)
    theirs = integral.attribute(images, images * 0, TARGETS, n_steps=20)
    expected = enlarged(theirs.sum(1), 24)
    torch.testing.assert_close(ours.maps, expected, rtol=1e-3, atol=1e-5)


def test_lime_is_weighted_ridge_regression(small, images):
    """Solve the normal equations of the weighted regression with an intercept."""
    settings = {"segments": 3, "samples": 30, "seed": 5}
    ours = explain.explain(small, images, TARGETS, "lime", **settings)
    best = explain.explain(small, images, TARGETS, "lime", best=2, **settings)
    shown = torch.rand((30, 9), generator=torch.Generator().manual_seed(5)) < 0.5
    shown = np.vstack([np.ones(9), shown.numpy()])
    cosine = shown.sum(1) / np.sqrt(9 * np.maximum(shown.sum(1), 1e-12))
    weight = np.sqrt(np.exp(-((1 - cosine) ** 2) / 0.25**2))
    x = np.column_stack([np.ones(31), shown])
    penalty = np.diag([0.0] + [1.0] * 9)
    segments = np.arange(9).reshape(3, 3).repeat(8, axis=0).repeat(8, axis=1)
    for i, target in enumerate(TARGETS):
        colour = images[i].mean((1, 2))[:, None, None]
        y = []
        for row in shown:
            visible = torch.from_numpy(row[segments] == 1)
            image = torch.where(visible, images[i], colour)
            with torch.no_grad():
                y.append(small(image[None])[0, target].item())
        weighted = x.T * weight
        solution = np.linalg.solve(weighted @ x + penalty, weighted @ np.array(y))
        effects = solution[1:]
        expected = torch.tensor((effects / 64)[segments], dtype=torch.float32)
        torch.testing.assert_close(ours.maps[i], expected, rtol=1e-3, atol=1e-6)
        two = np.isin(segments, np.argsort(effects)[-2:]) & (expected.numpy() > 0)
        assert torch.equal(best.maps[i], torch.from_numpy(two).float())


def test_a_function_is_a_method(small, images):
    def mine(model, batch, targets, power=1):
        return batch.mean(1) ** power

    ours = explain.explain(small, images, 0, mine, power=2, batch_size=3)
    assert ours.method == "mine"
    assert ours.settings == {"power": 2}
    torch.testing.assert_close(ours.maps, images.mean(1) ** 2)


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
        explain.explain(small, images, 0, no_maps)
    with pytest.raises(FloatingPointError, match=r"nan gave NaN .* for 1 of 4"):
        explain.explain(small, images, 0, nan)


# What holds for every method


@pytest.mark.parametrize("method", ["gradcam", "lrp"])
def test_a_model_may_be_frozen_and_is_left_as_it_was(method):
    model = randomize_batch_norm(models.build("resnet18", 4)).train()
    before = copy.deepcopy(model.state_dict())
    images = torch.rand(4, 3, 64, 64)
    maps = explain.explain(model, images, TARGETS, method).maps
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    model.requires_grad_(False)
    assert torch.equal(maps, explain.explain(model, images, TARGETS, method).maps)


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_no_map_depends_on_its_batch(method, images, small):
    settings = SHORT.get(method, {})
    together = explain.explain(small, images, TARGETS, method, **settings)
    alone = explain.explain(small, images, TARGETS, method, batch_size=1, **settings)
    torch.testing.assert_close(together.maps, alone.maps, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_a_rectifier_that_is_used_twice_is_explained_as_two_of_them(
    images, small, method
):
    class Separate(Small):
        """The same network with a rectifier of its own behind each convolution."""

        def features(self, x):
            return self.last_relu(self.second(self.relu(self.first(x))))

    separate = Separate()
    separate.load_state_dict(small.state_dict())
    separate.last_relu = nn.ReLU(inplace=True)
    settings = SHORT.get(method, {})
    ours = explain.explain(small, images, TARGETS, method, **settings)
    theirs = explain.explain(separate.eval(), images, TARGETS, method, **settings)
    assert torch.equal(ours.maps, theirs.maps)


# Architectures

TOKENS = "work on tokens"
LOST = "does not conserve relevance"
REFUSES = {
    ("vit_b_16", "gradcam"): TOKENS,
    ("vit_b_16", "gradcam++"): TOKENS,
    ("vit_b_16", "lrp"): LOST,
    ("convnext_tiny", "lrp"): LOST,
    ("efficientnet_b0", "lrp"): LOST,
    ("mobilenet_v3_small", "lrp"): LOST,
}
ARCHITECTURES = [
    "resnet18",
    "densenet121",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "convnext_tiny",
    "vit_b_16",
    "squeezenet1_1",
]


def build(name):
    """Build an architecture for images of 64 pixels."""
    if name != "vit_b_16":
        return randomize_batch_norm(models.build(name, 3))
    transformer = VisionTransformer(64, 16, 2, 2, 32, 64, num_classes=3)  # two layers
    nn.init.normal_(transformer.heads.head.weight)
    return models.wrap(transformer, mean=0, std=1).eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_method_explains_an_architecture_or_says_why_not(name):
    model = build(name)
    images = torch.rand(3, 3, 64, 64)
    targets = torch.arange(3)
    for method in explain.METHODS:
        settings = SHORT.get(method, {})
        if (name, method) in REFUSES:
            with pytest.raises(ValueError, match=REFUSES[name, method]):
                explain.explain(model, images, targets, method, **settings)
        else:
            maps = explain.explain(model, images, targets, method, **settings).maps
            assert maps.shape == (3, 64, 64), method
            assert maps.any(), method


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gradcamm"}, "method='gradcamm' is not known; use one of gradcam"),
        ({"targets": torch.tensor([0, 1])}, r"int64 of shape \(4,\)"),
        ({"layer": "layer4"}, "no layer 'layer4'; the outermost layers are first"),
        ({"method": "smoothgrad", "sample": 3}, "no setting 'sample'; it has samples"),
        ({"preset": "best"}, "preset='best' is not known"),
    ],
)
def test_refusals(small, images, change, message):
    arguments = {"targets": 0, "method": "gradcam", **change}
    with pytest.raises(ValueError, match=message):
        explain.explain(small, images, **arguments)


# LRP: what it conserves, zennit's, and what it refuses


@pytest.mark.parametrize(
    "name",
    ["alexnet-quarter", "vgg11", "vgg11_bn", "resnet10-eighth", "squeezenet1_0"],
)
def test_relevance_is_conserved(name):
    model = randomize_batch_norm(models.build(name, 4))
    images = torch.rand(2, 3, 64, 64)
    targets = torch.tensor([1, 3])
    _, logits, lost = lrp.propagate(model, images, targets)
    with torch.no_grad():
        expected = model(images).gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)
    assert lost.max() < 1e-4


@pytest.mark.parametrize(
    ("name", "canonizer"),
    [("resnet18", "ResNetCanonizer"), ("vgg11_bn", "VGGCanonizer")],
)
def test_lrp_equals_zennit(name, canonizer):
    composites = pytest.importorskip("zennit.composites")
    from zennit import attribution, rules, types
    from zennit import torchvision as canonizers

    model = randomize_batch_norm(models.build(name, 4))
    images = torch.rand(2, 3, 64, 64)
    targets = torch.tensor([1, 3])
    with torch.no_grad():
        start = model(images) * nn.functional.one_hot(targets, 4)
    low = (0 - model.mean[None]) / model.std
    high = (1 - model.mean[None]) / model.std
    composite = composites.SpecialFirstLayerMapComposite(
        layer_map=[
            *composites.layer_map_base(),
            (types.Convolution, rules.AlphaBeta(alpha=1, beta=0)),
            (types.Linear, rules.Epsilon()),
        ],
        first_map=[(types.Convolution, rules.ZBox(low, high))],
        canonizers=[getattr(canonizers, canonizer)()],
    )
    inputs = (images - model.mean) / model.std
    with attribution.Gradient(model.network, composite) as attributor:
        _, theirs = attributor(inputs, start)
    ours, _, _ = lrp.propagate(model, images, targets)
    assert (ours - theirs).abs().max() < 1e-3 * theirs.abs().max()


def test_relevance_that_is_lost_is_refused_image_by_image():
    """ReLU6 clips one of 31 images, which loses its relevance there."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    )
    network[0].weight.data *= 100
    model = models.wrap(network, mean=0, std=1)
    images = torch.rand(31, 3, 8, 8) / 100
    explain.explain(model, images, 0, "lrp")
    images[7] *= 100
    message = "in 1 of 31 images .* clipped rectifier such as ReLU6"
    with pytest.raises(explain.NotConserved, match=message):
        explain.explain(model, images, 0, "lrp")


def test_lrp_at_the_last_map_holds_the_logit():
    model = randomize_batch_norm(models.build("resnet18", 4))
    images = torch.rand(2, 3, 64, 64)
    targets = torch.tensor([1, 3])
    relevance, logits, _ = lrp.propagate(model, images, targets, layer="layer4")
    bias = model.network.fc.bias[targets].detach()
    total = relevance.sum((1, 2, 3))
    torch.testing.assert_close(total, logits - bias, rtol=1e-3, atol=1e-4)
