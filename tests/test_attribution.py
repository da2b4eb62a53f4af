"""GradCAM, against captum, and what every method refuses."""

from types import SimpleNamespace

import pytest
import torch
from captum.attr import LayerGradCam
from torch import nn
from torch.nn.functional import interpolate
from torchvision import models as torchvision_models
from torchvision.models import VisionTransformer

from helpers import explain, models
from helpers.explain import layers


@pytest.fixture(scope="module")
def images():
    draw = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (5, 3, 96, 96), dtype=torch.uint8, generator=draw)


@pytest.mark.parametrize("name", ["alexnet-quarter", "squeezenet1_0", "resnet18"])
def test_gradcam_is_captums(name, images):
    targets, layer = torch.tensor([0, 1, 2, 3, 1]), "layer4" if name == "resnet18" else "features"
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


def test_last_map_needs_a_map():
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 2))
    with pytest.raises(ValueError, match="no convolutional feature map"):
        layers.last_map(model, torch.zeros(1, 3, 8, 8))


def test_a_vision_transformers_patch_embedding_is_not_its_last_map():
    model = models.wrap(VisionTransformer(16, 4, 1, 2, 8, 8), mean=0, std=1)
    with pytest.raises(ValueError, match="work on tokens come after 'conv_proj'"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam")
    named = explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer="conv_proj")
    assert named.maps.shape == (1, 16, 16)
    attention = "encoder.layers.encoder_layer_0.self_attention"
    with pytest.raises(ValueError, match="self_attention' gives no single tensor"):
        explain.explain(model, torch.rand(1, 3, 16, 16), 0, "gradcam", layer=attention)


def test_tokens_are_laid_out_as_a_map():
    """The map is what a loop over patches gives; the class token has no place in it."""
    model = models.wrap(VisionTransformer(16, 4, 2, 2, 8, 8), mean=0, std=1).eval()
    images, layer = torch.rand(2, 3, 16, 16), "encoder.layers.encoder_layer_1.ln_1"
    nn.init.normal_(model.network.heads.head.weight)  # torchvision begins with zeros
    found = explain.explain(model, images, 1, "gradcam", layer=layer)
    kept = []
    hook = model.network.get_submodule(layer).register_forward_hook(lambda *a: kept.append(a[2]))
    logits = model(images)
    hook.remove()
    [gradient] = torch.autograd.grad(logits[:, 1].sum(), kept[0])
    for i in range(2):
        weights = gradient[i, 1:].mean(0)
        wanted = torch.zeros(4, 4)
        for patch in range(16):
            wanted[patch // 4, patch % 4] = (weights * kept[0][i, 1 + patch]).sum().relu()
        wanted = interpolate(wanted[None, None], (16, 16), mode="bilinear", align_corners=False)
        torch.testing.assert_close(found.maps[i], wanted[0, 0].detach(), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"'heads.head', of shape \(1, 4\)|no map"):
        explain.explain(model, images, 1, "gradcam", layer="heads")


def test_a_network_whose_input_nobody_described_is_refused(images):
    network = torchvision_models.squeezenet1_1()
    with pytest.raises(ValueError, match="Nobody said how SqueezeNet wants its images normalised"):
        explain.explain(network, images, 0)
    with pytest.raises(ValueError, match="Nothing says how SqueezeNet wants its images"):
        models.wrap(network)


def test_wrap_reads_what_a_network_was_trained_with(images):
    """The pixels that reach the network are those of torchvision's own transform."""
    weights = torchvision_models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1
    wanted = ((images / 255).permute(0, 2, 3, 1) - torch.tensor([0.485, 0.456, 0.406])) / (
        torch.tensor([0.229, 0.224, 0.225])
    )
    own = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.2, 0.1)}  # as timm's `pretrained_cfg`
    timms = nn.Conv2d(3, 2, 1)
    timms.pretrained_cfg = SimpleNamespace(**own)
    processor = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.25] * 3, do_normalize=True)
    plain = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.25] * 3, do_normalize=False)
    for network, like, mean, std in [
        (nn.Conv2d(3, 2, 1), weights, weights.transforms().mean, weights.transforms().std),
        (timms, None, own["mean"], own["std"]),
        (nn.Conv2d(3, 2, 1), own, own["mean"], own["std"]),
        (nn.Conv2d(3, 2, 1), processor, [0.5] * 3, [0.25] * 3),
        (nn.Conv2d(3, 2, 1), plain, [0.0] * 3, [1.0] * 3),
    ]:
        model = models.wrap(network, like)
        assert model.mean.flatten().tolist() == pytest.approx(list(mean))
        assert model.std.flatten().tolist() == pytest.approx(list(std))
    model = models.wrap(nn.Sequential(nn.Conv2d(3, 3, 1, bias=False), nn.Flatten()), weights)
    with torch.no_grad():
        model.network[0].weight.copy_(torch.eye(3)[..., None, None])
        torch.testing.assert_close(model(images), wanted.permute(0, 3, 1, 2).flatten(1))


# What each method says of torchvision's architectures: nothing (it explains them), or why not.
TOKENS, LOST = "work on tokens", "does not conserve relevance"
REFUSES = {("vit_b_16", "gradcam"): TOKENS, ("vit_b_16", "gradcam++"): TOKENS}
for _name in ("vit_b_16", "convnext_tiny", "efficientnet_b0", "mobilenet_v3_small"):
    REFUSES[_name, "lrp"] = LOST
SHORT = {
    "smoothgrad": {"samples": 1},
    "lime": {"samples": 8, "segments": 2},
    "integrated-gradients": {"steps": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["resnet18", "densenet121", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny",
     "vit_b_16", "squeezenet1_1"],
)  # fmt: skip
def test_every_method_explains_an_architecture_or_says_why_not(name):
    model = models.build(name, 3).eval()
    if name == "vit_b_16":
        nn.init.normal_(model.network.heads.head.weight)
    torch.manual_seed(0)
    for module in (m for m in model.modules() if isinstance(m, nn.BatchNorm2d)):
        nn.init.uniform_(module.running_var, 0.5, 2)  # as after a training
        nn.init.uniform_(module.weight, 0.5, 1.5)
        nn.init.normal_(module.bias, 0, 0.1)
    number, size = (1, 224) if name == "vit_b_16" else (3, 64)
    images, targets = torch.rand(number, 3, size, size), torch.arange(number)
    for method in explain.METHODS:
        if (name, method) in REFUSES:
            with pytest.raises(ValueError, match=REFUSES[name, method]):
                explain.explain(model, images, targets, method)
            continue
        found = explain.explain(model, images, targets, method, **SHORT.get(method, {}))
        assert found.maps.shape == (number, size, size) and found.zero < number, method
        if method == "lrp":
            assert found.lost.shape == (number,) and found.lost.max() < 1e-3
