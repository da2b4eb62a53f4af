"""Further explanation methods, against definitions written out, and against captum."""

import copy
from types import SimpleNamespace

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate

from helpers import explain


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
FEW = {"smoothgrad": {"samples": 5}, "lime": {"samples": 5, "segments": 3}}


def test_smoothgrad_keeps_the_sign_and_equals_captum_one_image_at_a_time(small, images):
    found = explain.explain(small, images, TARGETS, "smoothgrad", samples=6, batch_size=3)
    tunnel = captum.attr.NoiseTunnel(captum.attr.Saliency(small))
    for i, target in enumerate(TARGETS):
        spread = float(0.15 * (images[i].max() - images[i].min()))
        torch.manual_seed(0)
        wanted = tunnel.attribute(
            images[i : i + 1], nt_samples=6, stdevs=spread, target=int(target), abs=False
        )
        torch.testing.assert_close(found.maps[i], wanted[0].sum(0), rtol=1e-3, atol=1e-6)
    assert (found.maps < 0).any()


def test_integrated_gradients_equal_captum_and_add_up(small, images):
    found = explain.explain(small, images, TARGETS, "integrated-gradients", batch_size=3)
    single = captum.attr.IntegratedGradients(small)
    for i, target in enumerate(TARGETS):
        wanted = single.attribute(images[i : i + 1], target=int(target), n_steps=32)
        torch.testing.assert_close(found.maps[i], wanted[0].sum(0).float(), rtol=1e-3, atol=1e-6)
    with torch.no_grad():
        change = (small(images) - small(torch.zeros_like(images))).gather(1, TARGETS[:, None])
    total = found.maps.sum((1, 2))
    torch.testing.assert_close(total, change[:, 0], rtol=0.02, atol=2e-3)


def test_gradcam_plus_plus_is_its_definition_by_higher_derivatives(small, images):
    """Equations 10 and 19 of its paper, the derivatives of exp(logit) taken by autograd."""

    class Tail(nn.Module):
        mean, std = 0.0, 1.0

        def __init__(self):
            super().__init__()
            self.features = nn.Identity()
            self.out = nn.Conv2d(3, 2, 1)  # so that `features` is the last map before the logits

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
        gradient = first[0] / score  # positive factor exp(logit): the same for a whole image
        weights = (alpha * gradient.relu()).sum((1, 2))
        wanted = torch.einsum("k,kij->ij", weights, a[0]).relu().detach().float()
        torch.testing.assert_close(found.maps[i], wanted, rtol=1e-5, atol=1e-7)


def test_integrals_at_a_layer(small, images):
    """`second` is rectified in place, which captum cannot follow: say which layer to name."""
    how = {"layer": "second", "steps": 20, "batch_size": 2}
    with pytest.raises(ValueError, match="changed in place"):
        explain.explain(small, images, TARGETS, "integrated-gradients", **how)
    small.relu.inplace = False
    found = explain.explain(small, images, TARGETS, "integrated-gradients", **how)
    integral = captum.attr.LayerIntegratedGradients(small, small.second)
    wanted = integral.attribute(images, images * 0, TARGETS, n_steps=20)
    wanted = wanted.sum(1, keepdim=True).float().detach()
    wanted = interpolate(wanted, (24, 24), mode="bilinear", align_corners=False)[:, 0]
    torch.testing.assert_close(found.maps, wanted, rtol=1e-3, atol=1e-5)
    small.relu.inplace = True


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
        visible = [torch.where(torch.from_numpy(s[places] == 1), images[i], colour) for s in shown]
        with torch.no_grad():
            y = np.array([small(v[None])[0, target].item() for v in visible])
        cosine = shown.sum(1) / np.sqrt(9 * np.maximum(shown.sum(1), 1e-12))
        weight = np.sqrt(np.exp(-((1 - cosine) ** 2) / 0.25**2))
        x = np.column_stack([np.ones(31), shown])
        penalty = np.diag([0.0] + [1.0] * 9)
        wanted = np.linalg.solve(x.T @ (weight[:, None] * x) + penalty, x.T @ (weight * y))
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
    with pytest.raises(ValueError, match=r"_no_maps must return a tensor of shape \(3, 24, 24\)"):
        explain.explain(small, images[:3], 0, _no_maps)
    with pytest.raises(FloatingPointError, match="_nan gave NaN or infinite relevance for 1 of 4"):
        explain.explain(small, images, 0, _nan)
    kept = explain.explain(small, images, 0, _nan, check_finite=False).maps
    assert kept.isnan().flatten(1).any(1).tolist() == [False, False, True, False]


def _no_maps(model, batch, targets):
    return batch


def _nan(model, batch, targets):
    maps = batch.mean(1)
    maps[2, 0, 0] = torch.nan
    return maps


@pytest.mark.parametrize("method", ["gradcam", "gradcam++", "smoothgrad", "lrp"])
def test_a_layer_is_read_before_what_follows_works_in_place(small, images, method):
    in_place = explain.explain(small, images, TARGETS, method, layer="second").maps
    small.relu.inplace = False
    apart = explain.explain(small, images, TARGETS, method, layer="second").maps
    small.relu.inplace = True
    assert torch.equal(in_place, apart)


@pytest.mark.parametrize("method", [m for m, chosen in explain.METHODS.items() if chosen.layer])
def test_a_layer_that_runs_several_times_is_refused(small, images, method):
    with pytest.raises(ValueError, match="Layer 'relu' runs 2 times; name one that runs once"):
        explain.explain(small, images, TARGETS, method, layer="relu", **FEW.get(method, {}))


class Wrapped(nn.Module):
    """Its output holds the logits, as that of Hugging Face's classifiers does."""

    mean, std = 0.0, 1.0

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return SimpleNamespace(logits=self.network(x))


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_outputs_that_hold_logits_are_understood(small, images, method):
    options = FEW.get(method, {})
    plain = explain.explain(small, images, TARGETS, method, **options)
    held = explain.explain(Wrapped(small), images, TARGETS, method, **options)
    assert torch.equal(held.maps, plain.maps)


@pytest.mark.parametrize("method", ["gradcam", "gradcam++"])
def test_half_precision_does_not_overflow(small, images, method):
    """Activations of 40,000: half precision ends at 65,504, and sums of them are beyond."""
    half = copy.deepcopy(small).half()
    half.second.bias.data += 40_000
    found = explain.explain(half, images.half(), TARGETS, method, layer="second")
    wanted = explain.explain(half.float(), images, TARGETS, method, layer="second")
    torch.testing.assert_close(found.maps, wanted.maps, rtol=0.02, atol=1.0)


@pytest.mark.parametrize("method", sorted(explain.METHODS))
def test_no_map_depends_on_its_batch(method, images, small):
    options = FEW.get(method, {})
    together = explain.explain(small, images, TARGETS, method, **options)
    alone = explain.explain(small, images, TARGETS, method, batch_size=1, **options)
    torch.testing.assert_close(together.maps, alone.maps, rtol=1e-3, atol=1e-6)
    assert together.settings == alone.settings


def test_settings_are_reported(small, images):
    found = explain.explain(small, images, 0, "smoothgrad", preset="paper", samples=2)
    assert found.settings == {
        "samples": 2, "sigma": 0.2, "layer": "input", "reduce": "max absolute", "seed": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gradcamm"}, "method='gradcamm' is not known; use one of gradcam"),
        ({"targets": torch.tensor([0, 1])}, r"int64 of shape \(4,\)"),
        ({"targets": torch.zeros(4)}, "these are torch.float32"),
        ({"layer": "layer4"}, "no layer 'layer4'; the outermost layers are first, relu"),
        ({"method": "smoothgrad", "sample": 3}, "no setting 'sample'; it has samples"),
        ({"method": "smoothgrad", "reduce": "mean"}, "reduce='mean' is not known"),
        ({"preset": "best"}, "preset='best' is not known"),
    ],
)
def test_refusals(small, images, change, message):
    with pytest.raises(ValueError, match=message):
        explain.explain(small, images, **{"targets": 0, "method": "gradcam", **change})
