"""Explanation methods against definitions written out, captum and zennit; what is refused."""

import copy
from types import SimpleNamespace

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate
from torchvision import models as torchvision_models
from torchvision.models import VisionTransformer

from helpers import explain, models
from helpers.explain import lrp


@pytest.fixture(scope="module")
def pictures():
    draw = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (5, 3, 96, 96), dtype=torch.uint8, generator=draw)


@pytest.mark.parametrize("name", ["alexnet-quarter", "squeezenet1_0", "resnet18"])
def test_gradcam_is_captums(name, pictures):
    targets, layer = (
        torch.tensor([0, 1, 2, 3, 1]),
        "layer4" if name == "resnet18" else "features",
    )
    model = models.build(name, 4).eval()
    found = explain.explain(model, pictures, targets, "gradcam", batch_size=2)
    assert found.settings["layer"] == layer
    assert found.maps.shape == (5, 96, 96) and found.maps.dtype == torch.float32
    theirs = captum.attr.LayerGradCam(model, model.network.get_submodule(layer))
    wanted = theirs.attribute(pictures / 255, targets, relu_attributions=True)
    wanted = interpolate(wanted, (96, 96), mode="bilinear", align_corners=False)[
        :, 0
    ].detach()
    torch.testing.assert_close(found.maps, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["gradcam", "lrp"])
def test_a_model_may_be_frozen_and_is_left_as_it_was(pictures, method):
    model = stir(models.build("resnet18", 4)).train()
    with torch.no_grad():
        model.network.fc.weight[2], model.network.fc.bias[2] = (
            0,
            0,
        )  # nothing speaks for class 2
    before = {name: value.clone() for name, value in model.state_dict().items()}
    targets = torch.tensor([0, 1, 2, 2, 2])
    maps = explain.explain(model, pictures, targets, method).maps
    assert (maps[2:] == 0).all() and maps[:2].any() and model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(m._forward_hooks or "forward" in m.__dict__ for m in model.modules())
    assert all(
        torch.equal(value, before[name]) for name, value in model.state_dict().items()
    )
    frozen = model.requires_grad_(False)
    assert torch.equal(maps, explain.explain(frozen, pictures, targets, method).maps)


def test_a_vision_transformers_patch_embedding_is_not_its_last_map():
    model = models.wrap(VisionTransformer(16, 4, 1, 2, 8, 8), mean=0, std=1)
    with pytest.raises(ValueError, match="work on tokens come after 'conv_proj'"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam")
    named = explain.explain(
        model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer="conv_proj"
    )
    assert named.maps.shape == (1, 16, 16)
    attention = "encoder.layers.encoder_layer_0.self_attention"
    with pytest.raises(ValueError, match="self_attention' gives no single tensor"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer=attention)


def test_a_network_whose_input_nobody_described_is_refused(pictures):
    network = torchvision_models.squeezenet1_1()
    with pytest.raises(
        ValueError, match="Nobody said how SqueezeNet wants its images normalised"
    ):
        explain.explain(network, pictures, 0)
    with pytest.raises(
        ValueError, match="Nothing says how SqueezeNet wants its images"
    ):
        models.wrap(network)


def test_wrap_reads_what_a_network_was_trained_with():
    weights = torchvision_models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1
    own = {
        "mean": (0.5, 0.4, 0.3),
        "std": (0.2, 0.2, 0.1),
    }  # as timm's `pretrained_cfg`
    timms = nn.Conv2d(3, 2, 1)
    timms.pretrained_cfg = SimpleNamespace(**own)
    processor = SimpleNamespace(
        image_mean=[0.5] * 3, image_std=[0.25] * 3, do_normalize=True
    )
    plain = SimpleNamespace(
        image_mean=[0.5] * 3, image_std=[0.25] * 3, do_normalize=False
    )
    for network, like, mean, std in [
        (
            nn.Conv2d(3, 2, 1),
            weights,
            weights.transforms().mean,
            weights.transforms().std,
        ),
        (timms, None, own["mean"], own["std"]),
        (nn.Conv2d(3, 2, 1), own, own["mean"], own["std"]),
        (nn.Conv2d(3, 2, 1), processor, [0.5] * 3, [0.25] * 3),
        (nn.Conv2d(3, 2, 1), plain, [0.0] * 3, [1.0] * 3),
    ]:
        model = models.wrap(network, like)
        assert model.mean.flatten().tolist() == pytest.approx(list(mean))
        assert model.std.flatten().tolist() == pytest.approx(list(std))


# What each method says of torchvision's architectures: nothing (it explains them), or why not.
TOKENS, LOST = "work on tokens", "does not conserve relevance"
REFUSES = {("vit_b_16", "gradcam"): TOKENS, ("vit_b_16", "gradcam++"): TOKENS}
for _name in ("vit_b_16", "convnext_tiny", "efficientnet_b0", "mobilenet_v3_small"):
    REFUSES[_name, "lrp"] = LOST
SHORT = {"smoothgrad": {"samples": 1}, "lime": {"samples": 8, "segments": 2}}
SHORT |= {"integrated-gradients": {"steps": 2}}


def stir(model, seed=0):
    """Give batch normalisation statistics and weights as after a training."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["resnet18", "densenet121", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny",
     "vit_b_16", "squeezenet1_1"],
)  # fmt: skip
def test_every_method_explains_an_architecture_or_says_why_not(name):
    if (
        name == "vit_b_16"
    ):  # its class and its patches of 16 pixels, with two narrow layers
        with torch.device("meta"):
            assert models.build(name, 3).network.heads.head.out_features == 3
        model = models.wrap(
            VisionTransformer(64, 16, 2, 2, 32, 64, num_classes=3), mean=0, std=1
        )
        nn.init.normal_(model.network.heads.head.weight)
    else:
        model = models.build(name, 3)
    stir(model)
    number, size = 3, 64
    images, targets = torch.rand(number, 3, size, size), torch.arange(number)
    for method in explain.METHODS:
        if (name, method) in REFUSES:
            with pytest.raises(ValueError, match=REFUSES[name, method]):
                explain.explain(model, images, targets, method)
            continue
        found = explain.explain(model, images, targets, method, **SHORT.get(method, {}))
        assert found.maps.shape == (number, size, size), method
        assert found.maps.any(), method
        if method == "lrp":
            assert lrp.propagate(model, images, targets)[2].max() < 1e-3


class Small(nn.Module):
    """Two convolutions and a linear layer over the mean; its last map is `second`'s, rectified."""

    mean, std = 0.0, 1.0

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


TARGETS = torch.tensor([0, 1, 2, 1])


def test_smoothgrad_keeps_the_sign_and_equals_captum_one_image_at_a_time(small, images):
    found = explain.explain(
        small, images, TARGETS, "smoothgrad", samples=6, batch_size=3
    )
    tunnel = captum.attr.NoiseTunnel(captum.attr.Saliency(small))
    for i, target in enumerate(TARGETS):
        spread = float(0.15 * (images[i].max() - images[i].min()))
        torch.manual_seed(0)
        wanted = tunnel.attribute(
            images[i : i + 1],
            nt_samples=6,
            stdevs=spread,
            target=int(target),
            abs=False,
        )
        torch.testing.assert_close(
            found.maps[i], wanted[0].sum(0), rtol=1e-3, atol=1e-6
        )
    assert (found.maps < 0).any()


def test_integrated_gradients_equal_captum_and_add_up(small, images):
    found = explain.explain(
        small, images, TARGETS, "integrated-gradients", batch_size=3
    )
    single = captum.attr.IntegratedGradients(small)
    for i, target in enumerate(TARGETS):
        wanted = single.attribute(images[i : i + 1], target=int(target), n_steps=32)
        torch.testing.assert_close(
            found.maps[i], wanted[0].sum(0).float(), rtol=1e-3, atol=1e-6
        )
    with torch.no_grad():
        change = (small(images) - small(torch.zeros_like(images))).gather(
            1, TARGETS[:, None]
        )
    total = found.maps.sum((1, 2))
    torch.testing.assert_close(total, change[:, 0], rtol=0.02, atol=2e-3)


def test_gradcam_plus_plus_is_its_definition_by_higher_derivatives(small, images):
    """Equations 10 and 19 of its paper, the derivatives of exp(logit) taken by autograd."""

    class Tail(nn.Module):
        mean, std = 0.0, 1.0

        def __init__(self):
            super().__init__()
            self.features = nn.Identity()
            self.out = nn.Conv2d(
                3, 2, 1
            )  # so that `features` is the last map before the logits

        def forward(self, x):
            return self.out(self.features(x).mean((2, 3), keepdim=True)).flatten(1)

    torch.manual_seed(2)
    model = Tail().eval().double()
    maps = torch.rand((2, 3, 4, 4), dtype=torch.float64)
    found = explain.explain(model, maps, torch.tensor([0, 1]), "gradcam++")
    for i, target in enumerate((0, 1)):
        a = maps[i : i + 1].clone().requires_grad_()
        score = model(a)[0, target].exp()
        flat = []
        [first] = torch.autograd.grad(score, a, create_graph=True)
        for place in np.ndindex(*a.shape[1:]):
            at = (0, *place)
            [second] = torch.autograd.grad(first[at], a, create_graph=True)
            [third] = torch.autograd.grad(second[at], a, retain_graph=True)
            flat.append((second[at].item(), third[at].item()))
        second, third = torch.tensor(flat, dtype=torch.float64).T.reshape(2, 3, 4, 4)
        alpha = second / (2 * second + a[0].sum((1, 2), keepdim=True) * third)
        gradient = (
            first[0] / score
        )  # positive factor exp(logit): the same for a whole image
        weights = (alpha * gradient.relu()).sum((1, 2))
        wanted = torch.einsum("k,kij->ij", weights, a[0]).relu().detach().float()
        torch.testing.assert_close(found.maps[i], wanted, rtol=1e-5, atol=1e-7)


def test_integrals_at_a_layer_are_captums(small, images):
    how = {"layer": "second", "steps": 20, "batch_size": 2}
    found = explain.explain(small, images, TARGETS, "integrated-gradients", **how)
    apart = copy.deepcopy(small)
    apart.relu.inplace = False  # which captum cannot follow
    integral = captum.attr.LayerIntegratedGradients(apart, apart.second)
    wanted = integral.attribute(images, images * 0, TARGETS, n_steps=20)
    wanted = wanted.sum(1, keepdim=True).float().detach()
    wanted = interpolate(wanted, (24, 24), mode="bilinear", align_corners=False)[:, 0]
    torch.testing.assert_close(found.maps, wanted, rtol=1e-3, atol=1e-5)


def test_lime_is_weighted_ridge_regression(small, images):
    """Against the normal equations of an explicit weighted regression with an intercept."""
    how = {"segments": 3, "samples": 30, "seed": 5}
    found = explain.explain(small, images, TARGETS, "lime", **how)
    best = explain.explain(small, images, TARGETS, "lime", best=2, **how)
    shown = torch.rand((30, 9), generator=torch.Generator().manual_seed(5)) < 0.5
    shown = np.vstack([np.ones(9), shown.numpy()])
    places = np.repeat(np.repeat(np.arange(9).reshape(3, 3), 8, 0), 8, 1)
    for i, target in enumerate(TARGETS):
        colour = images[i].mean((1, 2))[:, None, None]
        visible = [
            torch.where(torch.from_numpy(s[places] == 1), images[i], colour)
            for s in shown
        ]
        with torch.no_grad():
            y = np.array([small(v[None])[0, target].item() for v in visible])
        cosine = shown.sum(1) / np.sqrt(9 * np.maximum(shown.sum(1), 1e-12))
        weight = np.sqrt(np.exp(-((1 - cosine) ** 2) / 0.25**2))
        x = np.column_stack([np.ones(31), shown])
        penalty = np.diag([0.0] + [1.0] * 9)
        wanted = np.linalg.solve(
            x.T @ (weight[:, None] * x) + penalty, x.T @ (weight * y)
        )
        painted = torch.tensor((wanted[1:] / 64)[places], dtype=torch.float32)
        torch.testing.assert_close(found.maps[i], painted, rtol=1e-3, atol=1e-6)
        two = np.isin(places, np.argsort(wanted[1:])[-2:]) & (painted.numpy() > 0)
        assert torch.equal(best.maps[i], torch.from_numpy(two).float())


def test_a_callable_is_a_method(small, images):
    def mine(model, batch, targets, power=1):
        return batch.mean(1) ** power

    found = explain.explain(small, images, 0, mine, power=2, batch_size=3)
    assert found.method == "mine" and found.settings == {"power": 2}
    torch.testing.assert_close(found.maps, images.mean(1) ** 2)
    with pytest.raises(
        ValueError, match=r"_no_maps must return a tensor of shape \(3, 24, 24\)"
    ):
        explain.explain(small, images[:3], 0, _no_maps)
    with pytest.raises(
        FloatingPointError, match="_nan gave NaN or infinite relevance for 1 of 4"
    ):
        explain.explain(small, images, 0, _nan)
    kept = explain.explain(small, images, 0, _nan, check_finite=False).maps
    assert kept.isnan().flatten(1).any(1).tolist() == [False, False, True, False]


def _no_maps(model, batch, targets):
    return batch


def _nan(model, batch, targets):
    maps = batch.mean(1)
    maps[2, 0, 0] = torch.nan
    return maps


class TwoRectifiers(nn.Module):
    """Two convolutions, each with a rectifier behind it: the same module, or one each."""

    def __init__(self, reused):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = (
            nn.Conv2d(3, 8, 3, padding=1),
            nn.Conv2d(8, 8, 3, padding=1),
        )
        self.relu = nn.ReLU(inplace=True)
        self.last_relu = self.relu if reused else nn.ReLU(inplace=True)
        self.out = nn.Linear(8, 4)

    def forward(self, images):
        seen = self.last_relu(self.second(self.relu(self.first(images))))
        return self.out(seen.mean((2, 3)))


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_a_rectifier_that_is_used_twice_is_explained_as_two_of_them(images, method):
    reused, apart = (
        models.wrap(TwoRectifiers(one), mean=0.45, std=0.25) for one in (True, False)
    )
    settings = SHORT.get(method, {})
    ours = explain.explain(reused, images, TARGETS, method, **settings)
    theirs = explain.explain(apart, images, TARGETS, method, **settings)
    assert torch.equal(ours.maps, theirs.maps)


def test_the_map_of_a_run_is_gradcam_by_hand(images):
    model = models.wrap(TwoRectifiers(True), mean=0.45, std=0.25)
    ours = explain.explain(model, images, TARGETS, "gradcam")
    assert ours.settings["layer"] == "relu#2"
    network = model.network
    with torch.no_grad():
        first = torch.relu(network.first((images - 0.45) / 0.25))
        seen = torch.relu(network.second(first))
    weights = network.out.weight[TARGETS] / seen[0, 0].numel()
    wanted = torch.relu((weights[:, :, None, None] * seen).sum(1))
    torch.testing.assert_close(ours.maps, wanted)


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_no_map_depends_on_its_batch(method, images, small):
    options = SHORT.get(method, {})
    together = explain.explain(small, images, TARGETS, method, **options)
    alone = explain.explain(small, images, TARGETS, method, batch_size=1, **options)
    torch.testing.assert_close(together.maps, alone.maps, rtol=1e-3, atol=1e-6)
    assert together.settings == alone.settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gradcamm"}, "method='gradcamm' is not known; use one of gradcam"),
        ({"targets": torch.tensor([0, 1])}, r"int64 of shape \(4,\)"),
        ({"targets": torch.zeros(4)}, "these are torch.float32"),
        (
            {"layer": "layer4"},
            "no layer 'layer4'; the outermost layers are first, relu",
        ),
        ({"method": "smoothgrad", "sample": 3}, "no setting 'sample'; it has samples"),
        ({"method": "smoothgrad", "reduce": "mean"}, "reduce='mean' is not known"),
        ({"preset": "best"}, "preset='best' is not known"),
    ],
)
def test_refusals(small, images, change, message):
    with pytest.raises(ValueError, match=message):
        explain.explain(small, images, **{"targets": 0, "method": "gradcam", **change})


# LRP against zennit's, and what it conserves or refuses


@pytest.mark.parametrize(
    "name",
    ["alexnet-quarter", "vgg11", "vgg11-eighth", "vgg11_bn", "resnet10-eighth", "resnet18",
     "squeezenet1_0"],
)  # fmt: skip
def test_relevance_is_conserved(name):
    model = stir(models.build(name, 4))
    images, targets = torch.rand(2, 3, 64, 64), torch.tensor([1, 3])
    _, logits, lost = lrp.propagate(model, images, targets)
    with torch.no_grad():
        wanted = model(images).gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-5)
    assert lost.max() < 1e-4


@pytest.mark.parametrize("canonizer", ["ResNetCanonizer", "VGGCanonizer"])
def test_lrp_equals_zennit(canonizer):
    composites = pytest.importorskip("zennit.composites")
    from zennit import attribution as theirs
    from zennit import rules, types
    from zennit import torchvision as canonizers

    model = stir(models.build("resnet18" if canonizer[0] == "R" else "vgg11_bn", 4))
    images, targets = torch.rand(2, 3, 64, 64), torch.tensor([1, 3])
    inputs = (images - model.mean) / model.std
    with torch.no_grad():
        start = model(images) * nn.functional.one_hot(targets, 4)
    ends = ((value - model.mean[None]) / model.std for value in (0, 1))
    plus = (types.Convolution, rules.AlphaBeta(alpha=1, beta=0))
    composite = composites.SpecialFirstLayerMapComposite(
        layer_map=[*composites.layer_map_base(), plus, (types.Linear, rules.Epsilon())],
        first_map=[(types.Convolution, rules.ZBox(*ends))],
        canonizers=[getattr(canonizers, canonizer)()],
    )
    with theirs.Gradient(model.network, composite) as attributor:
        _, wanted = attributor(inputs, start)
    found, _, _ = lrp.propagate(model, images, targets)
    assert (found - wanted).abs().max() < 1e-3 * wanted.abs().max()


def test_relevance_that_is_lost_is_refused_image_by_image():
    """One image is clipped by ReLU6 and loses its relevance there; thirty others are not."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    )
    model[0].weight.data *= 100
    model = models.wrap(model, mean=0, std=1)
    images = torch.rand(31, 3, 8, 8) / 100
    explain.explain(model, images, 0, "lrp")
    images[7] *= 100
    refusal = r"in 1 of {} images .* clipped rectifier such as ReLU6"
    with pytest.raises(explain.NotConserved, match=refusal.format(31)):
        explain.explain(model, images, 0, "lrp")
    with pytest.raises(explain.NotConserved, match=refusal.format(1)):
        explain.explain(model, images, 0, "lrp", batch_size=1)


def test_lrp_at_the_last_map_holds_the_logit():
    model = stir(models.build("resnet18", 4))
    images = torch.rand(2, 3, 64, 64)
    relevance, logits, _ = lrp.propagate(
        model, images, torch.tensor([1, 3]), layer="layer4"
    )
    bias = model.network.fc.bias[[1, 3]].detach()
    torch.testing.assert_close(
        relevance.sum((1, 2, 3)), logits - bias, rtol=1e-3, atol=1e-4
    )
