"""Class activation maps: GradCAM, GradCAM++ and Guided GradCAM."""

import torch
from torch import nn

from helpers.explain.layers import gradient_at, reduced, resized


def gradcam(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, *, layer: str
) -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017): channels of a map, weighted by their mean gradient.

    The map is nowhere negative, and zero everywhere if nothing speaks for the target.
    """
    activation, gradient = gradient_at(model, images, targets, layer)
    weights = gradient.mean((2, 3), keepdim=True)
    return resized((weights * activation).sum(1, keepdim=True).relu(), images)


def gradcam_plus_plus(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, *, layer: str
) -> torch.Tensor:
    """GradCAM++ (Chattopadhay et al. 2018, Equations 10 and 19), for scores that are exp(logit).

    The second and third derivatives of exp(logit) with respect to a map A are, in a network of
    rectifiers, the square and cube of its gradient G, up to a factor that is the same for all of
    an image. A channel's weight is then the sum over places of relu(G) with the share
    G^2 / (2 G^2 + (sum of A) G^3) of each place.
    """
    activation, gradient = gradient_at(model, images, targets, layer)
    total = activation.sum((2, 3), keepdim=True)
    below = 2 * gradient**2 + total * gradient**3
    share = torch.where(below != 0, gradient**2 / below, 0)
    weights = (share * gradient.relu()).sum((2, 3), keepdim=True)
    return resized((weights * activation).sum(1, keepdim=True).relu(), images)


def guided_gradcam(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, *, layer: str
) -> torch.Tensor:
    """Guided GradCAM: GradCAM times guided backpropagation (Springenberg et al. 2015); signed.

    Only gradients that are positive pass a rectifier backwards. Guided backpropagation alone
    hardly depends on the class (Adebayo et al. 2018), so what is localised here is GradCAM's.
    Every rectifier must be a module of its own (`nn.ReLU`).
    """
    rectifiers = [m for m in model.modules() if isinstance(m, nn.ReLU)]
    if not rectifiers:
        raise ValueError("Guided GradCAM needs rectifiers that are modules (nn.ReLU); none found.")
    forwards = [(m, m.__dict__.get("forward")) for m in rectifiers]
    for rectifier in rectifiers:
        rectifier.forward = _GuidedReLU.apply
    try:
        _, guided = gradient_at(model, images, targets)
    finally:
        for rectifier, before in forwards:
            del rectifier.forward
            if before is not None:
                rectifier.forward = before
    return reduced(guided, "sum", images) * gradcam(model, images, targets, layer=layer)


class _GuidedReLU(torch.autograd.Function):
    """A rectifier that passes only positive gradients back; reused and in-place ones included."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.relu()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.relu() * ctx.saved_tensors[0]
