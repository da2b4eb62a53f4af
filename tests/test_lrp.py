"""LRP against zennit's, and what it conserves or refuses."""

import pytest
import torch
from torch import nn

from helpers import explain, models
from helpers.explain import lrp


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


@pytest.mark.parametrize(
    "name",
    ["alexnet-quarter", "vgg11", "vgg11-eighth", "vgg11_bn", "resnet10-eighth", "resnet18",
     "squeezenet1_0"],
)  # fmt: skip
def test_relevance_is_conserved(name):
    model = stir(models.build(name, 4))
    images, targets = torch.rand(2, 3, 64, 64), torch.tensor([1, 3])
    _, logits, ledger = lrp.propagate(model, images, targets)
    with torch.no_grad():
        wanted = model(images).gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-5)
    assert lrp.lost(logits, ledger).max() < 1e-4


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


def test_merging_keeps_the_logits_and_the_model():
    model = stir(models.build("resnet18", 4))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    images = torch.rand(2, 3, 64, 64)
    merged, opening = lrp.merged(model, images[:1])
    assert opening == "conv1"
    assert not any(isinstance(m, nn.BatchNorm2d) for m in merged.modules())
    with torch.no_grad():
        torch.testing.assert_close(merged(images), model(images), rtol=1e-4, atol=1e-5)
    explain.explain(model, images, 0, "lrp")
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert not any("forward" in module.__dict__ for module in model.modules())


def test_relevance_that_is_lost_is_refused_image_by_image():
    """One image is clipped by ReLU6 and loses its relevance there; thirty others are not."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
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


def test_networks_that_the_rules_do_not_fit_are_refused():
    gated = stir(models.build("mobilenet_v3_small", 2))  # products of activations
    with pytest.raises(explain.NotConserved, match=r"lost or made between layers"):
        explain.explain(gated, torch.rand(2, 3, 32, 32), 0, "lrp")
    model = models.wrap(nn.Sequential(nn.Flatten(), nn.Linear(192, 2)), mean=0, std=1)
    with pytest.raises(explain.NotConserved, match="first layer is no convolution"):
        explain.explain(model, torch.rand(2, 3, 8, 8), 0, "lrp")


def test_lrp_at_the_last_map_holds_the_logit():
    model = stir(models.build("resnet18", 4))
    images = torch.rand(2, 3, 64, 64)
    relevance, logits, _ = lrp.propagate(model, images, torch.tensor([1, 3]), layer="layer4")
    bias = model.network.fc.bias[[1, 3]].detach()
    torch.testing.assert_close(relevance.sum((1, 2, 3)), logits - bias, rtol=1e-3, atol=1e-4)
