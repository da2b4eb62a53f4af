"""LRP: what it conserves, zennit's, and what it refuses."""

import pytest
import torch
from torch import nn

from helpers import explain, models
from helpers.explain import lrp


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


@pytest.mark.parametrize(
    "name",
    [
        "alexnet-quarter",
        "vgg11",
        "vgg11_bn",
        "resnet10-eighth",
        "squeezenet1_0",
        "densenet121",
    ],
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


@pytest.mark.parametrize("name", ["convnext_tiny", "mobilenet_v3_small"])
def test_networks_that_the_rules_do_not_fit_are_refused(name):
    model = randomize_batch_norm(models.build(name, 3))
    with pytest.raises(explain.NotConserved, match="does not conserve relevance"):
        explain.explain(model, torch.rand(2, 3, 64, 64), 1, "lrp")


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
    model = models.Classifier(network, mean=0, std=1)
    images = torch.rand(31, 3, 8, 8) / 100
    explain.explain(model, images, 0, "lrp")
    images[7] *= 100
    message = "in 1 of 31 images .* clipped rectifier such as ReLU6"
    with pytest.raises(explain.NotConserved, match=message):
        explain.explain(model, images, 0, "lrp")


@pytest.mark.parametrize("inplace", [False, True])
def test_batch_normalization_after_a_rectifier_stays_after_it(inplace):
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(inplace),
        nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    )
    model = randomize_batch_norm(models.Classifier(network, mean=0, std=1))
    images = torch.rand(2, 3, 8, 8)
    targets = torch.tensor([0, 1])
    _, logits, _ = lrp.propagate(model, images, targets)
    with torch.no_grad():
        expected = model(images).gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(logits, expected)


def test_lrp_at_the_last_map_holds_the_logit():
    model = randomize_batch_norm(models.build("resnet18", 4))
    images = torch.rand(2, 3, 64, 64)
    targets = torch.tensor([1, 3])
    relevance, logits, _ = lrp.propagate(model, images, targets, layer="layer4")
    bias = model.network.fc.bias[targets].detach()
    total = relevance.sum((1, 2, 3))
    torch.testing.assert_close(total, logits - bias, rtol=1e-3, atol=1e-4)
