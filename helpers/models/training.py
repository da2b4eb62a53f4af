"""A training run: augmentation, best epoch by validation, the same model for the same seed."""

import copy
import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy, interpolate

from helpers.models.inference import logits, on_threads, seeded
from helpers.models.loop import fit
from helpers.models.networks import Classifier
from helpers.store import progress


def kept(history: list[dict]) -> dict:
    """The epoch whose weights are kept: best validation accuracy, then lowest validation loss."""
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
    threads: int = 1,
) -> list[dict]:
    """Fit `model` in place, on its device; it ends with the weights of its best epoch, in eval
    mode. On a CPU torch computes on so many `threads`.

    Images are uint8 (N, 3, H, W), labels int64 (N,). `loop` fits it epoch by epoch; `tune` is
    "all", or "last" for the last layer only, on what that sees of the images and their mirror
    images. The history has of each epoch `epoch` (from 1), `loss` (training, nats), `val_loss`
    (nats) and `val_accuracy`. A loss that is NaN or infinite is a FloatingPointError."""
    with (
        on_threads(threads),
        seeded(seed, model.mean.device),
    ):  # the seed is of the dropout
        generator = torch.Generator().manual_seed(
            seed
        )  # of the order and the augmentation
        if tune == "all":
            fitted, val_inputs = model, val_images
            images = images.contiguous(
                memory_format=torch.channels_last
            )  # as convolutions do
        else:
            fitted, val_inputs = _last_part(model), _features(model, val_images)
            features = torch.stack(
                [_features(model, way) for way in (images, images.flip(-1))]
            )

        def draw(batch: torch.Tensor) -> torch.Tensor:
            if tune == "all":
                return augment(images[batch], generator).to(model.mean.device)
            return features[torch.randint(2, (len(batch),), generator=generator), batch]

        rate = getattr(model.network, "rate", 1e-3 if tune == "last" else 1e-4)
        losses = loop(
            fitted, draw, labels, rate=rate, epochs=epochs, generator=generator
        )
        history = []
        for epoch, loss in enumerate(
            progress(losses, desc="training", total=epochs), 1
        ):
            outputs = logits(fitted, val_inputs, finite=False)
            val_loss = float(cross_entropy(outputs, val_labels))
            accuracy = float((outputs.argmax(dim=1) == val_labels).double().mean())
            if not (math.isfinite(loss) and math.isfinite(val_loss)):
                raise FloatingPointError(
                    f"Training broke down in epoch {epoch}: the loss is {loss} in training, "
                    f"{val_loss} in validation. Try a tenth of the learning rate; if that does not "
                    "help, look for NaN in the starting weights."
                )
            history.append({"epoch": epoch, "loss": loss, "val_loss": val_loss})
            history[-1]["val_accuracy"] = accuracy
            if kept(history) is history[-1]:
                best_weights = copy.deepcopy(fitted.state_dict())
        fitted.load_state_dict(best_weights)
        model.eval()
    return history


def _last_part(model: Classifier) -> nn.Module:
    """The layer that gives the logits, and what follows it in its Sequential (as in SqueezeNet)."""
    parent, _, name = model.head.rpartition(".")
    siblings = model.network.get_submodule(parent)
    after = []
    if isinstance(siblings, nn.Sequential):
        names = [child for child, _ in siblings.named_children()]
        after = list(siblings.children())[names.index(name) + 1 :]
    return nn.Sequential(model.network.get_submodule(model.head), *after, nn.Flatten())


@torch.no_grad()
def _features(model: Classifier, images: torch.Tensor) -> torch.Tensor:
    """What the last layer sees of each image, in eval mode; stays on the model's device."""
    model.eval()
    seen = []
    head = model.network.get_submodule(model.head)
    hook = head.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    try:
        for batch in progress(images.split(32), desc="features", delay=2):
            output = model(batch.to(model.mean.device))
    finally:
        hook.remove()
    if not torch.allclose(
        _last_part(model).eval()(seen[-1]), output, rtol=1e-3, atol=1e-4
    ):
        raise ValueError("tune='last' does not fit this architecture: take tune='all'.")
    return torch.cat(seen)


def augment(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each uint8 image as float32 in [0, 1], in its own random way: a window of 70 to 100% of its
    width and height at full size, mirrored or not, each channel brighter or darker by up to 40%."""
    count, _, *size = images.shape
    share = 1 - 0.3 * torch.rand(count, generator=generator)
    places = torch.rand(2, count, generator=generator)
    mirrored = torch.rand(count, generator=generator) < 0.5
    tint = 1 + 0.4 * (2 * torch.rand(count, 3, 1, 1, generator=generator) - 1)
    whole = torch.tensor(size)[:, None]
    sides = (whole * share.double()).round().long()
    corners = (places * (whole - sides + 1)).long()
    windows, out = (
        torch.cat([corners, corners + sides]).T.tolist(),
        torch.empty_like(images),
    )
    for i, (top, left, bottom, right) in enumerate(windows):
        window = images[i : i + 1, :, top:bottom, left:right]
        [seen] = interpolate(window, size, mode="bilinear", align_corners=False)
        out[i] = seen.flip(-1) if mirrored[i] else seen
    return (out.float().div_(255) * tint).clamp_(0, 1)
