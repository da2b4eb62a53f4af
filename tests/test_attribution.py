"""GradCAM, against captum, and what every method refuses."""

import pytest
import torch
from captum.attr import LayerGradCam
from torch import nn
from torch.nn.functional import interpolate
from torchvision.models import VisionTransformer

from helpers import explain, models
from helpers.explain import layers


@pytest.fixture(scope="module")
def images():
    draw = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (5, 3, 96, 96), dtype=torch.uint8, generator=draw)


@pytest.fixture(scope="module")
def targets():
    return torch.tensor([0, 1, 2, 3, 1])


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("alexnet-quarter", "features"),
        ("squeezenet1_0", "features"),
        ("resnet18", "layer4"),
    ],
)
def test_gradcam_is_captums(name, layer, images, targets):
    model = models.build(name, 4).eval()
    found = explain.explain(model, images, targets, "gradcam", batch_size=2)
    assert found.settings["layer"] == layer
    assert found.maps.shape == (5, 96, 96) and found.maps.dtype == torch.float32
    theirs = LayerGradCam(model, model.network.get_submodule(layer))
    wanted = theirs.attribute(images / 255, targets, relu_attributions=True)
    wanted = interpolate(wanted, (96, 96), mode="bilinear", align_corners=False)[:, 0].detach()
    torch.testing.assert_close(found.maps, wanted, rtol=1e-4, atol=1e-6)


def test_a_model_may_be_frozen_and_is_left_as_it_was_and_empty_maps_are_counted(images):
    model = models.build("alexnet-quarter", 4).train()
    with torch.no_grad():
        model.network.classifier[-1].weight[2] = 0  # nothing speaks for class 2
    targets = torch.tensor([0, 1, 2, 2, 2])
    found = explain.explain(model, images, targets, "gradcam")
    assert (found.maps[2:] == 0).all()
    assert found.zero == sum(bool((one == 0).all()) for one in found.maps)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(m._forward_hooks for m in model.modules())
    frozen = model.requires_grad_(False)
    assert torch.equal(found.maps, explain.explain(frozen, images, targets, "gradcam").maps)


class Bare(nn.Module):
    """A convolutional network that is no Classifier, with functions instead of modules."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 5, stride=4)
        self.second = nn.Conv2d(4, 6, 3)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        return self.out(torch.relu(self.second(torch.relu(self.first(x)))).mean((2, 3)))


def test_any_model_with_convolutions(images):
    model = Bare().eval()
    found = explain.explain(model, images.float() / 255, 1)
    assert found.settings["layer"] == "second" and found.maps.shape == (5, 96, 96)


def test_last_map_needs_a_map():
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 2))
    with pytest.raises(ValueError, match="no convolutional feature map"):
        layers.last_map(model, torch.zeros(1, 3, 8, 8))


def test_a_vision_transformers_patch_embedding_is_not_its_last_map():
    model = VisionTransformer(16, 4, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=8)
    with pytest.raises(ValueError, match="work on tokens come after 'conv_proj'"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam")
    named = explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer="conv_proj")
    assert named.maps.shape == (1, 16, 16)
    attention = "encoder.layers.encoder_layer_0.self_attention"
    with pytest.raises(ValueError, match="self_attention' gives no single tensor"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer=attention)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gradcamm"}, "method='gradcamm' is not known; use one of gradcam"),
        ({"targets": torch.tensor([0, 1])}, r"int64 of shape \(5,\)"),
        ({"targets": torch.zeros(5)}, "these are torch.float32"),
        ({"layer": "layer4"}, "no layer 'layer4'; the outermost layers are features"),
    ],
)
def test_refusals(images, change, message):
    given = {"targets": 0, "method": "gradcam", **change}
    with pytest.raises(ValueError, match=message):
        explain.explain(models.build("alexnet-quarter", 4), images, **given)
