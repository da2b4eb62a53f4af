"""Query a network about photographs that are pasted into contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from helpers.audit.context_scores import ContextImages, paste_into_contexts
from helpers.audit.features import features_and_logits
from helpers.audit.model import Network


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


def query(
    network: Network,
    before: Network,
    outputs: Sequence[Sequence[int]],
    images: torch.Tensor,
    labels: np.ndarray,
    contexts: Mapping[str, torch.Tensor],
    seed: int,
) -> Queries:
    """Pass photographs through a network, as they are and pasted into contexts.

    Parameters
    ----------
    network, before : Network
        The network, whose logits are computed, and the network before it was trained,
        whose features are computed.
    outputs : sequence of sequences of int
        The outputs that stand for each class.
    images : torch.Tensor of uint8, shape (n, 3, H, H)
    labels : ndarray of int, shape (n,)
    contexts : mapping of str to torch.Tensor of uint8, shape (m, 3, H, H)
    seed : int
        Random seed of the choice of background images.

    Returns
    -------
    Queries
    """
    train, composites, alone = paste_into_contexts(images, contexts, seed)
    fewest = min(len(backgrounds) for backgrounds in alone)
    alone = [backgrounds[:fewest] for backgrounds in alone]

    networks = network, before, outputs
    plain_features, plain_logits = features_and_logits(
        *networks, "photographs", [images]
    )
    train_features, _ = features_and_logits(*networks, "training images", train)
    features, logits = features_and_logits(*networks, "queries", composites)
    alone_features, alone_logits = features_and_logits(
        *networks, "contexts alone", alone
    )
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
