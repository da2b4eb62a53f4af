"""Pass photographs through a network, as they are and pasted into contexts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import adaptive_avg_pool2d

from helpers import store
from helpers.audit.context_scores import (
    ContextImages,
    class_logits,
    paste_into_contexts,
)
from helpers.audit.user_images import Inputs
from helpers.models import Classifier

BATCH_SIZE = 32


@torch.no_grad()
def features_and_answers(
    model: Classifier, images: torch.Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the input of the last layer, and the answers of a network.

    Parameters
    ----------
    model : helpers.models.Classifier
    images : torch.Tensor of uint8, shape (N, 3, H, W)

    Returns
    -------
    features : ndarray, shape (N, D)
        Averaged over positions.
    answers : ndarray, shape (N, outputs)

    Raises
    ------
    ValueError
        If the last layer that the network defines does not compute the answers.
    """
    inputs, features, answers = [], [], []
    last_layer = model.network.get_submodule(model.head)
    hook = last_layer.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    with hook:
        batches = images.split(BATCH_SIZE)
        for batch in store.progress(batches, desc="photographs", delay=2):
            inputs.clear()
            answers.append(model(batch).float().cpu())
            if len(inputs) != 1 or len(inputs[0]) != len(batch):
                raise ValueError(
                    f"network: {model.head}, the last layer that the network defines, "
                    "does not see each batch once. The audit needs the layer that "
                    "computes the answers. Define that layer last."
                )
            pooled = inputs[0]
            if pooled.ndim == 4:
                pooled = adaptive_avg_pool2d(pooled, 1)
            features.append(pooled.flatten(1).cpu())
    return torch.cat(features).numpy(), torch.cat(answers).numpy()


@dataclass(frozen=True)
class Queries:
    """Features and logits of photographs, alone and in contexts.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
    plain_features, plain_logits : ndarray, shape (n, D) and (n, classes)
        Of the photographs as they are.
    in_features, in_logits : ContextImages
        Of the photographs in the contexts.
    composites : list of torch.Tensor of uint8, shape (n, 3, H, W)
        The photographs that were pasted into each context.
    """

    labels: np.ndarray
    plain_features: np.ndarray
    plain_logits: np.ndarray
    in_features: ContextImages
    in_logits: ContextImages
    composites: list[torch.Tensor]


def query(inputs: Inputs, outputs: Sequence[list[int]]) -> Queries:
    """Pass photographs through a network, as they are and pasted into contexts.

    The network computes the logits. The network before its training computes the
    features.

    Parameters
    ----------
    inputs : Inputs
    outputs : sequence of lists of int
        The outputs that represent each class.
    """
    network, before, labels = inputs.network, inputs.before, inputs.labels

    def compute(versions: Sequence[torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
        all_features, all_logits = [], []
        for version in versions:
            features, answers = features_and_answers(network.model, version)
            if before is not network:
                features, _ = features_and_answers(before.model, version)
            all_features.append(features)
            all_logits.append(class_logits(answers, outputs))
        return np.stack(all_features, 1), np.stack(all_logits, 1)

    train, composites, alone = paste_into_contexts(
        inputs.images, inputs.contexts, inputs.seed
    )
    fewest = min(len(backgrounds) for backgrounds in alone)
    plain_features, plain_logits = compute([inputs.images])
    train_features, _ = compute(train)
    features, logits = compute(composites)
    alone_features, alone_logits = compute([part[:fewest] for part in alone])
    return Queries(
        labels=labels,
        plain_features=plain_features[:, 0],
        plain_logits=plain_logits[:, 0],
        in_features=ContextImages(
            labels,
            train_features[:, :, None],
            features,
            alone_features.swapaxes(0, 1),
        ),
        in_logits=ContextImages(labels, None, logits, alone_logits.swapaxes(0, 1)),
        composites=composites,
    )
