"""Class activation maps: GradCAM and GradCAM++."""

import torch

from helpers.explain.layers import gradient_at, resized


def gradcam(model, images, targets, *, layer: str) -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017): channels of a map, weighted by their mean gradient."""
    activation, gradient = gradient_at(model, images, targets, layer)
    weights = gradient.mean((2, 3), keepdim=True)
    return resized((weights * activation).sum(1, keepdim=True).relu(), images)


def gradcam_plus_plus(model, images, targets, *, layer: str) -> torch.Tensor:
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
