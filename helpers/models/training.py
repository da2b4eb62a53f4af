"""Train a network on augmented images, and keep the best epoch by validation."""

import copy
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy, interpolate

from helpers.models.inference import logits, seeded, with_halved_batches
from helpers.models.loop import fit
from helpers.models.networks import Classifier
from helpers.store import progress

FEATURE_BATCH = 32  # images whose features are computed at a time


def best_epoch(history: list[dict]) -> dict:
    """Return the epoch whose weights are kept.

    Parameters
    ----------
    history : list of dict
        See :func:`train`.

    Returns
    -------
    dict
        The epoch of the highest validation accuracy, and among these of the lowest
        validation loss.
    """
    return max(history, key=lambda epoch: (epoch["val_accuracy"], -epoch["val_loss"]))


def train(
    model: Classifier,
    images: torch.Tensor,
    labels: torch.Tensor,
    val_images: torch.Tensor,
    val_labels: torch.Tensor,
    *,
    seed: int,
    epochs: int,
    tune: str = "all",
    loop: Callable = fit,
) -> list[dict]:
    """Train a model in place, on its device.

    It ends in eval mode, with the weights of its best epoch.

    Parameters
    ----------
    model : Classifier
    images, val_images : torch.Tensor of uint8, shape (N, 3, H, W)
    labels, val_labels : torch.Tensor of int64, shape (N,)
    seed : int
        The seed of the order of the images, of their augmentation and of dropout.
    epochs : int
    tune : {"all", "last"}
        All layers, or the last one only, on the features of the images and of their
        mirror images.
    loop : callable
        Trains a network epoch by epoch, as :func:`helpers.models.loop.fit` does.

    Returns
    -------
    list of dict
        One item per epoch: `epoch` (from 1), `loss` (of training, in nats), `val_loss`
        (in nats) and `val_accuracy` (0 to 1).

    Raises
    ------
    FloatingPointError
        After an epoch, logits of validation images are NaN or infinite.
    ValueError
        The loop yields no epoch.
    """
    device = model.mean.device
    with seeded(seed, device):
        generator = torch.Generator().manual_seed(seed)
        if tune == "all":
            trained, val_inputs = model, val_images
            images = images.contiguous(memory_format=torch.channels_last)

            def draw(rows: torch.Tensor) -> torch.Tensor:
                return augment(images[rows], generator).to(device)

        else:
            trained, val_inputs = _last_layer(model), _features(model, val_images)
            features = _features(model, images)
            mirrored = _features(model, images.flip(-1))
            versions = torch.stack([features, mirrored])

            def draw(rows: torch.Tensor) -> torch.Tensor:
                version = torch.randint(2, (len(rows),), generator=generator)
                return versions[version, rows]

        rate = getattr(model.network, "reduced_rate", 1e-3 if tune == "last" else 1e-4)
        losses = loop(
            trained, draw, labels, rate=rate, epochs=epochs, generator=generator
        )
        history = []
        for loss in progress(losses, desc="training", total=epochs):
            val_loss, val_accuracy = _validate(trained, val_inputs, val_labels)
            epoch = {
                "epoch": len(history) + 1,
                "loss": loss,
                "val_loss": val_loss,
                "val_accuracy": val_accuracy,
            }
            history.append(epoch)
            if best_epoch(history) is epoch:
                best_weights = copy.deepcopy(trained.state_dict())
        if not history:
            raise ValueError(
                "The training loop yielded no epoch. Yield the loss of each epoch, and "
                "train for at least one."
            )
        trained.load_state_dict(best_weights)
        model.eval()
    return history


def _validate(
    network: nn.Module, inputs: torch.Tensor, labels: torch.Tensor
) -> tuple[float, float]:
    """Return the loss and the accuracy of a network on validation images."""
    outputs = logits(network, inputs)
    network.train()
    is_correct = outputs.argmax(dim=1) == labels
    return float(cross_entropy(outputs, labels)), float(is_correct.double().mean())


def _last_layer(model: Classifier) -> nn.Module:
    """Return the layer that gives the logits, and what follows it, as in SqueezeNet."""
    parent, _, name = model.head.rpartition(".")
    siblings = model.network.get_submodule(parent)
    layers = [model.network.get_submodule(model.head)]
    if isinstance(siblings, nn.Sequential):
        names = list(dict(siblings.named_children()))
        layers += siblings[names.index(name) + 1 :]
    return nn.Sequential(*layers, nn.Flatten())


@torch.no_grad()
def _features(model: Classifier, images: torch.Tensor) -> torch.Tensor:
    """Return the input of the last layer for each image, on the model's device."""
    model.eval()
    head = model.network.get_submodule(model.head)
    last_layer = _last_layer(model).eval()
    inputs = []

    def compute(batch_size: int) -> torch.Tensor:
        parts = []
        batches = images.split(batch_size)
        for batch in progress(batches, desc="features", delay=2):
            inputs.clear()
            outputs = model(batch.to(model.mean.device))
            [features] = inputs
            if not torch.allclose(last_layer(features), outputs, rtol=1e-3, atol=1e-4):
                raise ValueError(
                    f"The logits are not those of {model.head}, the last layer that "
                    "the network defines. Train all layers (tune='all', or fit: "
                    "fine-tuned)."
                )
            parts.append(features)
        return torch.cat(parts)

    hook = head.register_forward_pre_hook(lambda layer, args: inputs.append(args[0]))
    with hook:
        return with_halved_batches(compute, FEATURE_BATCH)


def augment(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Change each image at random.

    An image shows a window of 70% to 100% of its width and height at full size, is
    mirrored or not, and has each channel brighter or darker by up to 40%.

    Parameters
    ----------
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    generator : torch.Generator

    Returns
    -------
    torch.Tensor of float32, shape (N, 3, H, W)
        In [0, 1].
    """
    count, _, *size = images.shape
    share = 1 - 0.3 * torch.rand(count, generator=generator)
    places = torch.rand(2, count, generator=generator)
    is_mirrored = torch.rand(count, generator=generator) < 0.5
    tint = 1 + 0.4 * (2 * torch.rand(count, 3, 1, 1, generator=generator) - 1)
    full_sides = torch.tensor(size)[:, None]
    sides = (full_sides * share.double()).round().long()
    corners = (places * (full_sides - sides + 1)).long()
    windows = torch.cat([corners, corners + sides]).T.tolist()
    changed = torch.empty_like(images)
    for i, (top, left, bottom, right) in enumerate(windows):
        window = images[i : i + 1, :, top:bottom, left:right]
        [enlarged] = interpolate(window, size, mode="bilinear", align_corners=False)
        changed[i] = enlarged.flip(-1) if is_mirrored[i] else enlarged
    return (changed.float().div_(255) * tint).clamp_(0, 1)
