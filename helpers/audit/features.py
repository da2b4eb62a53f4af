"""Compute the answers of a network, and the features that its last layer receives."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import adaptive_avg_pool2d

from helpers import store
from helpers.audit.context_scores import class_logits


@torch.no_grad()
def _forward(model, images: torch.Tensor, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Compute the answers and the pooled input of the last layer, in batches."""
    inputs, features, answers = [], [], []
    last_layer = model.network.get_submodule(model.head)
    hook = last_layer.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    try:
        for batch in store.progress(images.split(32), desc=label, delay=2):
            answers.append(model(batch).float().cpu())
            if len(inputs) == 0 or len(inputs[-1]) != len(batch):
                break
            features.append(_pooled(inputs.pop()).cpu())
    finally:
        hook.remove()
    if inputs or len(features) != len(answers):
        raise ValueError(
            f"network: {model.head}, the last layer that the network defines, does not "
            "see each batch once. The audit needs the layer that computes the answers. "
            "Define that layer last."
        )
    return torch.cat(features).numpy(), torch.cat(answers).numpy()


def _pooled(features: torch.Tensor) -> torch.Tensor:
    """Average feature maps over positions."""
    if features.ndim == 4:
        features = adaptive_avg_pool2d(features, 1)
    return features.flatten(1)


def passes(model, images: torch.Tensor, label: str) -> dict[str, np.ndarray]:
    """Pass images through a network, or read the stored results of an earlier pass.

    Parameters
    ----------
    model : helpers.models.Classifier
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    label : str
        The text of the progress bar.

    Returns
    -------
    dict of str to ndarray
        ``answers`` (N, outputs), and ``features`` (N, D), the input of the last layer,
        averaged over positions.

    Raises
    ------
    ValueError
        If the last layer that the network defines does not compute the answers.
    """

    def compute():
        features, answers = _forward(model, images, label)
        return {"features": features, "answers": answers}, {}

    decides = {
        "state": model.state_dict(),
        "of": str(type(model.network)),
        "images": images,
        "how": 1,
        "input": [model.mean, model.std, getattr(model, "code", None)],
        "device": model.mean.device.type,
    }
    folder = store.networks() / "audits"
    return store.arrays("passes", folder, compute, **decides)[1]


def features_and_logits(
    network,
    start,
    outputs: Sequence[Sequence[int]],
    label: str,
    versions: Sequence[torch.Tensor],
) -> tuple[np.ndarray, np.ndarray]:
    """Compute features and logits of the same photographs in several versions.

    Parameters
    ----------
    network, start : helpers.audit.model.Network
        The network, whose logits are computed, and the one from which its training
        began, whose features are computed (the same network if it is not known).
    outputs : sequence of sequences of int
        The outputs that stand for each class.
    label : str
        The text of the progress bar.
    versions : sequence of torch.Tensor of uint8, shape (N, 3, H, H)

    Returns
    -------
    features : ndarray, shape (N, versions, D)
    logits : ndarray, shape (N, versions, classes)
    """
    features, logits = [], []
    for images in versions:
        passed = passes(network.model, images, label)
        logits.append(class_logits(passed["answers"], outputs))
        if start is not network:
            passed = passes(start.model, images, label)
        features.append(passed["features"])
    return np.stack(features, 1), np.stack(logits, 1)


def changed_weights(model, start) -> list[str]:
    """Name the weights below the last layer that differ from those at the start."""
    weights = model.network.state_dict()
    before = start.network.state_dict()
    changed = []
    for name, weight in weights.items():
        if name.startswith(f"{model.head}."):
            continue
        same_shape = name in before and weight.shape == before[name].shape
        if not same_shape or not torch.equal(weight, before[name]):
            changed.append(name)
    return changed
