"""Propagate relevance by modified gradients, and check that it is conserved (LRP).

Each layer keeps its output, but its gradient is replaced by one that passes back
relevance divided by activation. The relevance that reaches the input, plus what biases
and stabilisers absorb on the way, must add up to the logit.
"""

from functools import partial

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from helpers.explain import layers

EPSILON = 1e-6  # stabiliser of linear layers
STABILISER = 1e-9  # of convolutions
TOLERANCE = 0.01  # greatest loss, as a share of the relevance in the map
AFFINE = (nn.Conv2d, nn.Linear, nn.BatchNorm2d)


class NotConserved(ValueError):
    """Say that relevance was lost or created, so the rules do not fit the network."""


def lrp(model, images, targets, *, layer=layers.INPUT) -> torch.Tensor:
    """Compute LRP (Bach et al. 2015) to the input or to a layer's output.

    The rules are alpha1-beta0 in convolutions, z^B (Montavon et al. 2017) in the first
    of them, and epsilon in linear layers.
    """
    relevance, _, lost = propagate(model, images, targets, layer)
    refused = lost > TOLERANCE
    if refused.any():
        raise NotConserved(
            "LRP does not conserve relevance in this network: "
            f"in {int(refused.sum())} of {len(images)} images up to {lost.max():.1%} "
            "of the relevance is lost or created between layers. The rules do not fit "
            "a product of activations, a softmax, a smooth or clipped rectifier such "
            "as ReLU6, or a normalization other than batch normalization. Use another "
            "method."
        )
    relevance[lost.isnan()] = torch.nan  # NaN and infinite logits are not refused
    return layers.as_maps_of_images(relevance, images)


@torch.enable_grad()
def propagate(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor,
    layer: str = layers.INPUT,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Propagate relevance back to the input or to a layer's output.

    Parameters
    ----------
    model : nn.Module
        The model.
    images : torch.Tensor
        Float images (B, 3, H, W) in [0, 1].
    targets : torch.Tensor
        The classes whose logits are distributed, int64 (B,).
    layer : str
        "input" or the name of a layer.

    Returns
    -------
    relevance : torch.Tensor
        Float (B, C, h, w).
    logits : torch.Tensor
        The targets' logits (B,).
    lost : torch.Tensor
        Relevance without account, (B,), as a share of the relevance in each image's
        map at the input.

    Raises
    ------
    NotConserved
        The first layer is not a convolution.
    """
    ruled, first = _with_merged_batch_norm(model, images[:1])
    network = layers.network_of(ruled.requires_grad_(False))
    # multiplies all that biases and stabilisers absorb, so that its gradient is the sum
    unit = torch.ones_like(images[:, 0, 0, 0]).requires_grad_()
    for name, module in network.named_modules():
        if isinstance(module, AFFINE):
            rule = partial(_epsilon, module.forward)
            if isinstance(module, nn.Conv2d):
                rule = partial(_alpha1_beta0, module)
            if name == first:
                black = (0 - model.mean) / model.std
                white = (1 - model.mean) / model.std
                rule = partial(_box, module, black, white)
            module.forward = partial(_propagating, module.forward, rule, unit)

    inputs = []
    network.register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    images = images.detach().requires_grad_()
    if layer == layers.INPUT:
        logits = ruled(images).gather(1, targets[:, None])[:, 0]
        at_input, absorbed = torch.autograd.grad(logits.sum(), [*inputs, unit])
        relevance = at_input
    else:
        output, logits = layers.output_at(ruled, images, targets, layer)
        ends = [*inputs, unit, output]
        at_input, absorbed, ratio = torch.autograd.grad(logits.sum(), ends)
        relevance = layers.as_map((output * ratio).detach(), layer)

    logits = logits.detach()
    in_map = at_input.abs().sum((1, 2, 3))
    in_map += 1e-3 * logits.abs() + 1e-6  # an empty map is not refused for rounding
    lost = (logits - at_input.sum((1, 2, 3)) - absorbed).abs() / in_map
    return relevance, logits, lost


def _with_merged_batch_norm(
    model: nn.Module, image: torch.Tensor
) -> tuple[nn.Module, str]:
    """Copy a model, with batch normalization merged into the convolution before it.

    Also returns the name of the first layer.
    """
    model = layers.without_inplace(model)
    network = layers.network_of(model)
    runs = [
        run for run in layers.runs_of(model, image) if isinstance(run.module, AFFINE)
    ]
    if not runs or not isinstance(runs[0].module, nn.Conv2d):
        raise NotConserved(
            "No relevance reached the input: the first layer is not a convolution."
        )
    names = [run.name for run in runs]
    for run in runs:
        before = [other for other in runs if other.output is run.input]
        if (
            isinstance(run.module, nn.BatchNorm2d)
            and len(before) == 1
            and isinstance(before[0].module, nn.Conv2d)
            and names.count(run.name) == names.count(before[0].name) == 1
        ):
            fused = fuse_conv_bn_eval(before[0].module, run.module)
            network.set_submodule(before[0].name, fused)
            network.set_submodule(run.name, nn.Identity())
    return model, names[0]


def _propagating(forward, rule, unit, x) -> torch.Tensor:
    """Run a layer, with a gradient that follows a rule.

    The gradient that arrives is R / y of the output, and R / x of the input is passed
    on. What the rule does not pass on is the gradient of `unit`, one number per image.
    """
    x = x.clone()  # the next layer may work in place
    y = forward(x).detach()
    z_of_inputs, z = rule(x)
    passed_on = z_of_inputs * torch.where(z == 0, 0, y / z).detach()
    # a layer may run on parts of the images that are stacked along the batch
    units = unit.repeat(len(y) // len(unit))
    units = units.view(-1, *[1] * (y.ndim - 1))
    return passed_on + (y - passed_on).detach() * units


def _epsilon(forward, x) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide relevance by sum_i x_i w_ij + b_j, plus epsilon with its sign."""
    y = forward(x)
    bias = forward(torch.zeros_like(x[:1]))
    return y - bias, y + EPSILON * torch.sign(y)


def _alpha1_beta0(convolution, x) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide relevance by sum_i (x_i w_ij)+ + b_j+."""
    weight = convolution.weight
    bias = convolution.bias
    positive = x.clamp(min=0)
    negative = x.clamp(max=0)
    z_of_inputs = convolution._conv_forward(positive, weight.clamp(min=0), None)
    if negative.any():
        z_of_inputs = z_of_inputs + convolution._conv_forward(
            negative, weight.clamp(max=0), None
        )
    z = z_of_inputs if bias is None else z_of_inputs + bias.clamp(min=0).view(-1, 1, 1)
    return z_of_inputs, z + STABILISER * torch.sign(z)


def _box(convolution, black, white, x) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide relevance by z^B, for inputs between normalized black and white.

    z^B = sum_i x_i w_ij - black_i w_ij+ - white_i w_ij-. The gradient that is passed on
    is R, not R / x.
    """
    weight = convolution.weight
    unit = torch.ones_like(x) + (x - x.detach())
    z = (
        convolution._conv_forward(unit * x.detach(), weight, None)
        - convolution._conv_forward(unit * black, weight.clamp(min=0), None)
        - convolution._conv_forward(unit * white, weight.clamp(max=0), None)
    )
    return z, z + STABILISER * torch.sign(z)
