"""Layer-wise relevance propagation, by modified gradients, checked for conservation.
Every layer passes back, in place of a gradient, relevance divided by activation. What reaches the
input, and what biases and stabilisers took on the way, must add up to the logit."""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from helpers.explain.layers import network_of, ran, reduced, through

EPSILON = 1e-6  # stabiliser of the linear layers
TOLERANCE = (
    0.01  # what may be lost without account, as a share of the relevance in the map
)
AFFINE = (nn.Conv2d, nn.Linear, nn.BatchNorm2d)


class NotConserved(ValueError):
    """Relevance was lost or created: these rules do not fit this network."""


def lrp(model, images, targets, *, layer="input") -> torch.Tensor:
    """LRP (Bach et al. 2015) to the input or a layer's output: alpha1-beta0 in convolutions, z^B
    (Montavon et al. 2017) in the first of them, epsilon in linear layers."""
    relevance, _, lost = propagate(model, images, targets, layer)
    refused = (
        lost > TOLERANCE
    )  # NaN, of NaN or infinite logits, makes its map NaN below
    if refused.any():
        raise NotConserved(
            f"LRP does not conserve relevance in this network: in {int(refused.sum())} of "
            f"{len(images)} images up to {lost.max():.1%} of what the map holds is lost or made "
            "between layers, so the maps would mean nothing. It has an operation that these rules "
            "do not fit (a product of activations, a softmax, a smooth or clipped rectifier such "
            "as ReLU6, normalisation that is not batch normalisation). Use another method."
        )
    relevance[lost.isnan().to(relevance.device)] = torch.nan
    return reduced(relevance, images)


@torch.enable_grad()
def propagate(model, images, targets, layer="input") -> tuple[torch.Tensor, ...]:
    """Relevance (B, C, h, w), target logits (B,), and what nobody can account for, (B,), as a share
    of the relevance in each image's map at the input: how much it may be is not judged here."""
    ruled, opening = merged(model, images[:1])
    if opening is None:
        raise NotConserved(
            "No relevance reached the input: the first layer is no convolution."
        )
    taken, entered = [], []
    network = network_of(ruled.requires_grad_(False))
    network.register_forward_pre_hook(lambda _, inputs: entered.append(inputs[0]))
    for name, module in network.named_modules():
        if isinstance(module, AFFINE):
            rule = _alpha1_beta0 if isinstance(module, nn.Conv2d) else _epsilon
            rule = _box(ruled) if name == opening else rule
            arguments = _linear(module), rule, taken, name == opening
            module.forward = lambda x, arguments=arguments: _Rule.apply(x, *arguments)
    kept, logits = through(ruled, images.detach().requires_grad_(), targets, layer)
    ends = [*entered, kept]
    arrived, gradient = torch.autograd.grad(logits.sum(), ends, materialize_grads=True)
    relevance = arrived if layer == "input" else (kept * gradient).detach()

    logit = _double(logits.detach())
    # A layer may run on parts of the images that are stacked along the batch.
    biases = sum(part.view(-1, len(logit)).sum(0) for part in taken)
    in_map = _double(arrived.abs()).sum((1, 2, 3))
    in_map += 1e-3 * logit.abs() + 1e-6  # an empty map is not refused for rounding
    lost = (logit - _double(arrived).sum((1, 2, 3)) - biases).abs() / in_map
    return relevance, logits.detach(), lost


def _double(tensor: torch.Tensor) -> torch.Tensor:
    """In double precision; on the CPU where the device, as Apple's GPUs, has none."""
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()


def merged(model: nn.Module, image: torch.Tensor) -> tuple[nn.Module, str | None]:
    """A copy of the model, batch normalisation merged into the convolution before it, and the name
    of the layer that runs first, where that is a convolution."""
    model = copy.deepcopy(model).eval()
    network = network_of(model)
    runs = [run for run in ran(model, image) if isinstance(run[1], AFFINE)]
    used = [name for name, *_ in runs]
    for name, module, into, _ in runs:
        before = [other for other in runs if other[3] is into and other[0] != name]
        alone = len(before) == 1 and used.count(name) == used.count(before[0][0]) == 1
        if (
            isinstance(module, nn.BatchNorm2d)
            and alone
            and isinstance(before[0][1], nn.Conv2d)
        ):
            network.set_submodule(before[0][0], fuse_conv_bn_eval(before[0][1], module))
            network.set_submodule(name, nn.Identity())
    opens = runs and isinstance(runs[0][1], nn.Conv2d)
    return model, used[0] if opens else None


class _Rule(torch.autograd.Function):
    """Forward as the layer; backward from R / y of the output to R / x of the input, or its R."""

    @staticmethod
    def forward(ctx, x, linear, rule, taken, opens):
        ctx.linear, ctx.rule, ctx.taken, ctx.opens = linear, rule, taken, opens
        y = linear(x, _keep, _keep)
        ctx.save_for_backward(x.clone(), y.clone())  # the next layer may work in place
        return y

    @staticmethod
    def backward(ctx, quotient):
        x, y = ctx.saved_tensors
        relevance = y * quotient
        with torch.enable_grad():
            ratio = ctx.rule(ctx.linear, x, relevance, y).detach()
        handed_on = ratio if ctx.opens else x * ratio  # the opening rule gives R itself
        taken = _double(relevance.flatten(1)).sum(1) - _double(
            handed_on.flatten(1)
        ).sum(1)
        ctx.taken.append(taken)  # by biases and stabilisers
        return ratio, None, None, None, None


def _linear(module: nn.Module) -> Callable:
    """(x, change of weights, change of biases) -> the layer's output with them changed."""

    def bias(change):
        return None if module.bias is None else change(module.bias)

    if isinstance(module, nn.Conv2d):
        return lambda x, w, b: module._conv_forward(x, w(module.weight), bias(b))
    if isinstance(module, nn.Linear):
        return lambda x, w, b: nn.functional.linear(x, w(module.weight), bias(b))
    scale = module.weight * (module.running_var + module.eps).rsqrt()
    shift = module.bias - module.running_mean * scale
    return lambda x, w, b: x * w(scale).view(-1, 1, 1) + b(shift).view(-1, 1, 1)


_keep = nn.Identity()
_positive, _negative = partial(torch.clamp, min=0), partial(torch.clamp, max=0)


def _over(
    relevance: torch.Tensor, z: torch.Tensor, epsilon: float = 1e-9
) -> torch.Tensor:
    """relevance / z, stabilised away from zero; 0 where z is 0."""
    return torch.where(z == 0, 0, relevance / (z + epsilon * torch.sign(z)))


def _back(linear, x, weights, s) -> torch.Tensor:
    """The transposed layer, with changed weights, applied to s."""
    x = x.detach().requires_grad_()
    [gradient] = torch.autograd.grad(linear(x, weights, torch.zeros_like), x, s)
    return gradient


def _epsilon(linear, x, relevance, y):
    """R_i = x_i sum_j w_ij R_j / (y_j + epsilon sign(y_j)), the bias being part of y_j."""
    return _back(linear, x, _keep, _over(relevance, y, EPSILON))


def _alpha1_beta0(linear, x, relevance, _):
    """R_i = sum_j (x_i w_ij)+ R_j / (sum_i (x_i w_ij)+ + b_j+)."""
    plus, minus = x.clamp(min=0), x.clamp(max=0)
    signed = bool((minus < 0).any())
    with torch.no_grad():
        z = linear(plus, _positive, _positive)
        if signed:
            z = z + linear(minus, _negative, torch.zeros_like)
        s = _over(relevance, z)
    quotient = _back(linear, x, _positive, s)
    return (
        torch.where(x < 0, _back(linear, x, _negative, s), quotient)
        if signed
        else quotient
    )


def _box(model: nn.Module) -> Callable:
    """z^B: R_i = sum_j (x_i w_ij - low_i w_ij+ - high_i w_ij-) R_j / (the sum of these over i)."""
    low, high = (0 - model.mean) / model.std, (1 - model.mean) / model.std

    def rule(linear, x, relevance, _):
        low_x, high_x = torch.zeros_like(x) + low, torch.zeros_like(x) + high
        with torch.no_grad():
            z = linear(x, _keep, torch.zeros_like) - linear(
                low_x, _positive, torch.zeros_like
            )
            s = _over(relevance, z - linear(high_x, _negative, torch.zeros_like))
        return (
            x * _back(linear, x, _keep, s)
            - low_x * _back(linear, x, _positive, s)
            - high_x * _back(linear, x, _negative, s)
        )

    return rule
