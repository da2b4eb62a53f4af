"""Explanation methods against written-out definitions; what all share; refusals."""

import copy

import numpy as np
import pytest
import torch
from networks_for_tests import randomize_batch_norm
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.nn.functional import interpolate
from torchvision.models import VisionTransformer, vit_b_16

from helpers import explain, models
from helpers.explain import captum_methods

TARGETS = torch.tensor([0, 1, 2, 1])
LAST_FIRE = "features.12.squeeze"  # a convolution of SqueezeNet's last module
LAST_TOKENS = "encoder.layers.encoder_layer_11.ln_1"
SHORT = {
    "smoothgrad": {"samples": 4},
    "lime": {"samples": 8, "segments": 2},
    "integrated-gradients": {"steps": 2},
}


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


def test_gradcam_is_its_definition_at_the_last_rectified_map(small, images):
    ours = explain.explain(small, images, TARGETS, "gradcam", batch_size=3)
    activation = small.features(images).detach()
    weights = small.out.weight[TARGETS] / activation[0, 0].numel()
    expected = torch.einsum("bc,bchw->bhw", weights, activation).relu()
    torch.testing.assert_close(ours.maps, enlarged(expected, 24), rtol=1e-4, atol=1e-6)


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


def test_smoothgrad_is_the_mean_of_signed_gradients(small, images):
    ours = explain.explain(
        small, images, TARGETS, "smoothgrad", samples=6, batch_size=4
    )
    noise = torch.randn(6, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    for i, target in enumerate(TARGETS):
        spread = 0.15 * (images[i].max() - images[i].min())
        total = torch.zeros(24, 24)
        for one in noise:
            noisy = (images[i] + spread * one)[None].requires_grad_()
            [gradient] = torch.autograd.grad(small(noisy)[0, target], noisy)
            total += gradient[0].sum(0)
        torch.testing.assert_close(ours.maps[i], total / 6, rtol=1e-3, atol=1e-6)
    assert (ours.maps < 0).any()


@pytest.mark.parametrize("layer", ["input", "second"])
def test_integrated_gradients_add_up_to_the_difference_from_the_mean_colour(
    small, images, layer, monkeypatch
):
    monkeypatch.setattr(small, "mean", 0.4)
    monkeypatch.setattr(  # enlarging a map changes its sum
        explain.layers, "as_maps_of_images", lambda relevance, *_: relevance.sum(1)
    )
    maps = captum_methods.integrated_gradients(
        small, images, TARGETS, layer=layer, steps=200
    )
    with torch.no_grad():
        rise = small(images) - small(torch.full_like(images, 0.4))
    expected = rise[range(4), TARGETS]
    torch.testing.assert_close(maps.sum((1, 2)), expected, rtol=1e-2, atol=1e-4)


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


@pytest.mark.parametrize("method", explain.METHODS)
def test_no_map_depends_on_its_batch(method, images, small):
    settings = SHORT.get(method, {})
    together = explain.explain(small, images, TARGETS, method, **settings)
    alone = explain.explain(small, images, TARGETS, method, batch_size=1, **settings)
    torch.testing.assert_close(together.maps, alone.maps, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("method", explain.METHODS)
def test_random_numbers_of_others_stay_as_they_are(method, images, small):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    explain.explain(small, images, TARGETS, method, **SHORT.get(method, {}))
    assert torch.equal(torch.rand(2), expected)


class Memory(Small):
    """The same network on a device with memory for two images."""

    def forward(self, x):
        if len(x) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return super().forward(x)


@pytest.mark.parametrize("method", explain.METHODS)
def test_the_batch_is_halved_until_it_fits_into_the_memory(
    method, images, small, capsys
):
    poor = Memory().eval()
    poor.load_state_dict(small.state_dict())
    settings = SHORT.get(method, {})
    ours = explain.explain(poor, images, TARGETS, method, batch_size=8, **settings)
    expected = explain.explain(small, images, TARGETS, method, **settings)
    torch.testing.assert_close(ours.maps, expected.maps, rtol=1e-3, atol=1e-6)
    assert "2 images pass through the network at a time" in capsys.readouterr().out


def test_forward_passes_of_your_own_method_run_on_the_models_device():
    """Fake tensors refuse operations that mix devices; they run no backward passes."""

    def hidden_corner(model, batch, targets):
        hidden = batch.clone()
        hidden[..., :4, :4] = 0
        loss = (model(batch) - model(hidden)).gather(1, targets[:, None])
        return loss[..., None].expand(-1, *batch.shape[-2:])

    with FakeTensorMode(), torch.device("cuda"):
        model = Small().eval()
    with FakeTensorMode(allow_non_fake_inputs=True):
        batch = torch.rand(4, 3, 24, 24)
        maps = explain.explain(
            model, batch.mul(255).byte(), TARGETS, hidden_corner, check_finite=False
        ).maps
    assert maps.device.type == "cpu"
    assert maps.shape == (4, 24, 24)


@pytest.mark.parametrize("method", explain.METHODS)
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


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("vgg11", "features.18"),
        ("alexnet", "features.10"),
        ("squeezenet1_0", LAST_FIRE),
    ],
)
@pytest.mark.parametrize("method", ["gradcam", "gradcam++", "integrated-gradients"])
def test_a_rectifier_in_place_after_the_layer_changes_nothing(name, layer, method):
    model = models.build(name, 3, seed=1)
    images = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    target = int(model(images).sum(0).argmax())  # SqueezeNet's logits may be 0
    settings = {**SHORT.get(method, {}), "layer": layer}
    maps = explain.explain(model, images, target, method, **settings).maps
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            assert module.inplace
            module.inplace = False
    expected = explain.explain(model, images, target, method, **settings).maps
    torch.testing.assert_close(maps, expected)
    assert maps.any()


def test_integrals_refuse_a_layer_that_runs_twice(small, images):
    with pytest.raises(ValueError, match="'relu' runs 2 times in a pass"):
        explain.explain(small, images, 0, "integrated-gradients", layer="relu")


# Vision transformers


class Patches(nn.Module):
    """A class token, then one token per patch; the logits are of their mean."""

    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 2, 4, stride=4, bias=False)
        self.norm = nn.Identity()
        self.head = nn.Linear(2, 2, bias=False)
        # the first channel is red, the second green; each has a class
        self.embed.weight.data = torch.eye(2, 3)[..., None, None].expand(-1, -1, 4, 4)
        self.head.weight.data = torch.tensor([[1.0, 0], [0, -1]])

    def forward(self, images):
        patches = self.embed(images).flatten(2).transpose(1, 2)
        class_token = torch.full_like(patches[:, :1], 9)
        tokens = self.norm(torch.cat([class_token, patches], dim=1))
        return self.head(tokens.mean(1))


@pytest.mark.parametrize("method", ["gradcam", "gradcam++"])
def test_maps_at_the_tokens_of_a_transformer_show_the_patches(method):
    images = torch.zeros(2, 3, 12, 12)
    images[0, 0, 4:8, :4] = 1.0  # a red patch in the second row, first column
    images[:, 1, 8:, 8:] = 1.0  # a green patch, which speaks against the second class
    model = Patches()
    maps = explain.explain(model, images, 0, method, layer="norm").maps
    patches = torch.zeros(3, 3)
    patches[1, 0] = 1
    expected = enlarged(patches[None], 12)[0]
    torch.testing.assert_close(maps[0] / maps[0].max(), expected / expected.max())
    assert not maps[1].any()
    green = explain.explain(model, images, 1, method, layer="norm").maps
    assert not green.any(), "only positive evidence is shown"


@pytest.mark.slow
def test_vit_b_16_is_explained_at_the_tokens_of_its_last_block():
    network = vit_b_16()
    nn.init.normal_(network.heads.head.weight)
    model = models.wrap(network, mean=0.5, std=0.5).eval()
    images = torch.rand(2, 3, 224, 224)
    with pytest.raises(ValueError, match="tokens of the patches") as refusal:
        explain.explain(model, images, 1, "gradcam")
    assert LAST_TOKENS in str(refusal.value)
    maps = explain.explain(model, images, 1, "gradcam", layer=LAST_TOKENS).maps
    tokens = []
    keep = network.get_submodule(LAST_TOKENS).register_forward_hook(
        lambda module, inputs, output: tokens.append(output)
    )
    logits = model(images)
    keep.remove()
    [gradient] = torch.autograd.grad(logits[:, 1].sum(), tokens[0])
    expected = torch.zeros(2, 14, 14)
    for row in range(14):
        for column in range(14):
            token = tokens[0][:, 1 + 14 * row + column]
            weights = gradient[:, 1:].mean(1)
            expected[:, row, column] = (weights * token).sum(1).relu()
    torch.testing.assert_close(maps, enlarged(expected, 224), rtol=1e-3, atol=1e-6)
    assert maps.any()


# Architectures

TOKENS = "Name a layer that gives a map, or the tokens"
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
        ({"preset": "best"}, "preset='best' is not known"),
    ],
)
def test_refusals(small, images, change, message):
    arguments = {"targets": 0, "method": "gradcam", **change}
    with pytest.raises(ValueError, match=message):
        explain.explain(small, images, **arguments)
