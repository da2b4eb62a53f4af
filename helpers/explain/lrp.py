"""Layer-wise relevance propagation by modified gradients, with a conservation check.

Each layer passes back relevance divided by activation, in place of a gradient. The
relevance that reaches the input, plus what biases and stabilisers absorb on the way,
must add up to the logit.
"""

import copy
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
    """Relevance was lost or created: these rules do not fit this network."""


def lrp(model, images, targets, *, layer=layers.INPUT) -> torch.Tensor:
    """Compute LRP (Bach et al. 2015) to the input or to a layer's output.

    The rules are alpha1-beta0 in convolutions, z^B (Montavon et al. 2017) in the first
    of them, and epsilon in linear layers.
    """
    relevance, _, lost = propagate(model, images, targets, layer)
    refused = lost > TOLERANCE
    if refused.any():
        raise NotConserved(
            "LRP does not conserve relevance in this network: in "
            f"{int(refused.sum())} of {len(images)} images up to {lost.max():.1%} of "
            "what the map holds is lost or made between layers, so the maps would mean "
            "nothing. It has an operation that these rules do not fit (a product of "
            "activations, a softmax, a smooth or clipped rectifier such as ReLU6, "
            "normalisation that is not batch normalisation). Use another method."
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
        "input", "last map" or the name of a layer.

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
        The first layer is no convolution.
    """
    layer = layers.resolved(model, images, layer)
    ruled, first = _with_merged_batch_norm(model, images[:1])
    network = layers.network_of(ruled.requires_grad_(False))
    absorbed = []
    for name, module in network.named_modules():
        if isinstance(module, AFFINE):
            rule = _epsilon_rule
            if isinstance(module, nn.Conv2d):
                rule = _alpha1_beta0_rule
            if name == first:
                rule = _box_rule(ruled)
            affine = _Affine(module, rule, absorbed, passes_relevance=name == first)
            module.forward = partial(_Propagation.apply, affine)

    inputs = []
    network.register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    images = images.detach().requires_grad_()
    if layer == layers.INPUT:
        logits = ruled(images).gather(1, targets[:, None])[:, 0]
        [at_input] = torch.autograd.grad(logits.sum(), inputs)
        relevance = at_input
    else:
        output, logits = layers.output_at(ruled, images, targets, layer)
        ends = [*inputs, output]
        at_input, ratio = torch.autograd.grad(logits.sum(), ends)
        relevance = layers.as_map((output * ratio).detach(), layer)

    logits = logits.detach()
    # a layer may run on parts of the images that are stacked along the batch
    in_biases = sum(part.view(-1, len(images)).sum(0) for part in absorbed)
    in_map = at_input.abs().sum((1, 2, 3))
    in_map += 1e-3 * logits.abs() + 1e-6  # an empty map is not refused for rounding
    lost = (logits - at_input.sum((1, 2, 3)) - in_biases).abs() / in_map
    return relevance, logits, lost


def _with_merged_batch_norm(
    model: nn.Module, image: torch.Tensor
) -> tuple[nn.Module, str]:
    """Copy a model, with batch normalisation merged into the convolution before it.

    Also returns the name of the first layer.
    """
    model = copy.deepcopy(model).eval()
    network = layers.network_of(model)
    runs = [
        run for run in layers.runs_of(model, image) if isinstance(run.module, AFFINE)
    ]
    if not runs or not isinstance(runs[0].module, nn.Conv2d):
        raise NotConserved(
            "No relevance reached the input: the first layer is no convolution."
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


class _Affine:
    """A layer that multiplies by weights and adds biases, and its rule."""

    def __init__(self, module, rule, absorbed, passes_relevance):
        self.module = module
        self.rule = rule
        self.absorbed = absorbed  # relevance by image, of all layers
        self.passes_relevance = passes_relevance
        self.weight = module.weight
        self.bias = module.bias
        if isinstance(module, nn.BatchNorm2d):
            scale = module.weight * (module.running_var + module.eps).rsqrt()
            shift = module.bias - module.running_mean * scale
            self.weight = scale.view(-1, 1, 1)
            self.bias = shift.view(-1, 1, 1)

    def output(self, x, weight, bias=None) -> torch.Tensor:
        """Return the layer's output with these weights and biases."""
        if isinstance(self.module, nn.Conv2d):
            return self.module._conv_forward(x, weight, bias)
        if isinstance(self.module, nn.Linear):
            return nn.functional.linear(x, weight, bias)
        return x * weight if bias is None else x * weight + bias

    def transposed(self, s, x, weight) -> torch.Tensor:
        """Return what the transposed layer with these weights makes of s, at x."""
        x = x.detach().requires_grad_()
        [gradient] = torch.autograd.grad(self.output(x, weight), x, s)
        return gradient


class _Propagation(torch.autograd.Function):
    """Run as the layer does forward, and by its rule backward.

    The gradient that arrives is R / y of the output, and R / x of the input is passed
    on. The first layer passes R itself.
    """

    @staticmethod
    def forward(ctx, affine, x):
        y = affine.output(x, affine.weight, affine.bias)
        ctx.affine = affine
        ctx.save_for_backward(x.clone(), y.clone())  # the next layer may work in place
        return y

    @staticmethod
    def backward(ctx, ratio):
        affine = ctx.affine
        x, y = ctx.saved_tensors
        relevance = y * ratio
        with torch.enable_grad():
            passed_on = affine.rule(affine, x, relevance, y).detach()
        below = passed_on if affine.passes_relevance else x * passed_on
        absorbed = relevance.flatten(1).sum(1) - below.flatten(1).sum(1)
        affine.absorbed.append(absorbed)
        return None, passed_on


def _divided(relevance, z, stabiliser=STABILISER) -> torch.Tensor:
    """Return relevance / z, stabilised away from zero, and 0 where z is 0."""
    return torch.where(z == 0, 0, relevance / (z + stabiliser * torch.sign(z)))


def _epsilon_rule(affine, x, relevance, y) -> torch.Tensor:
    """Return sum_j w_ij R_j / (y_j + epsilon sign(y_j)); the bias is part of y_j."""
    return affine.transposed(_divided(relevance, y, EPSILON), x, affine.weight)


def _alpha1_beta0_rule(affine, x, relevance, y) -> torch.Tensor:
    """Return R_i / x_i for R_i = sum_j (x_i w_ij)+ R_j / (sum_i (x_i w_ij)+ + b_j+)."""
    positive = affine.weight.clamp(min=0)
    negative = affine.weight.clamp(max=0)
    bias = None if affine.bias is None else affine.bias.clamp(min=0)
    has_negative_inputs = bool((x < 0).any())
    with torch.no_grad():
        z = affine.output(x.clamp(min=0), positive, bias)
        if has_negative_inputs:
            z = z + affine.output(x.clamp(max=0), negative)
        s = _divided(relevance, z)
    ratio = affine.transposed(s, x, positive)
    if has_negative_inputs:
        ratio = torch.where(x < 0, affine.transposed(s, x, negative), ratio)
    return ratio


def _box_rule(model: nn.Module):
    """Return z^B, for inputs between the model's normalised black and white.

    R_i = sum_j (x_i w_ij - low_i w_ij+ - high_i w_ij-) R_j / (the sum of these over i).
    """
    black = (0 - model.mean) / model.std
    white = (1 - model.mean) / model.std

    def rule(affine, x, relevance, y) -> torch.Tensor:
        positive = affine.weight.clamp(min=0)
        negative = affine.weight.clamp(max=0)
        parts = [
            (x, affine.weight),
            (torch.zeros_like(x) - black, positive),
            (torch.zeros_like(x) - white, negative),
        ]
        with torch.no_grad():
            z = sum(affine.output(value, weight) for value, weight in parts)
            s = _divided(relevance, z)
        return sum(value * affine.transposed(s, x, weight) for value, weight in parts)

    return rule
