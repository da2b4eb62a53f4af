"""The training loop: augmentation, best epoch by validation, the same model for the same seed.

Written to be read. It runs on one thread, for that is fastest when trainings run side by side and
it is what makes a seed give the same weights on a machine with any number of cores.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torchvision.transforms.v2.functional import resized_crop
from tqdm.auto import tqdm

from helpers.networks import Classifier

PATIENCE = 3  # epochs of perfect validation without a better loss that end a training


@dataclass
class History:
    """What happened in a training.

    Attributes
    ----------
    epochs : list of dict
        One an epoch: `epoch` (from 1), `loss` (training, nats), `val_loss` (nats), `val_accuracy`.
    best_epoch : int
        The epoch whose weights were kept: best validation accuracy, then lowest loss.
    ended : str
        Why it ended: "all epochs" or "perfect".
    seconds : float
        Wall time.
    """

    epochs: list[dict] = field(default_factory=list)
    best_epoch: int = 0
    ended: str = "all epochs"
    seconds: float = 0.0

    @property
    def best(self) -> dict:
        """The entry of the epoch that was kept."""
        return self.epochs[self.best_epoch - 1]

    def flat(self, val_loss: float) -> bool:
        """Whether `val_loss` brings nothing over the lowest so far: less than a tenth of it."""
        return bool(self.epochs) and val_loss > 0.9 * min(e["val_loss"] for e in self.epochs)

    def add(self, **entry) -> bool:
        """Note an epoch; True when it is the best so far."""
        self.epochs.append(entry)
        if self.best_epoch == 0 or _rank(entry) > _rank(self.best):
            self.best_epoch = entry["epoch"]
        return self.best_epoch == entry["epoch"]

    def table(self) -> pd.DataFrame:
        """The epochs as a table, indexed by `epoch`."""
        return pd.DataFrame(self.epochs).set_index("epoch")


def _rank(entry: dict) -> tuple[float, float]:
    return entry["val_accuracy"], -entry["val_loss"]


def train(
    model: Classifier,
    images: torch.Tensor,
    labels: torch.Tensor,
    val_images: torch.Tensor,
    val_labels: torch.Tensor,
    *,
    seed: int,
    epochs: int = 25,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-2,
    augmentation: bool = True,
    tune: str = "all",
    device: str | torch.device | None = None,
) -> History:
    """Fit `model` in place; it ends with the weights of its best epoch, in eval mode, on the CPU.

    AdamW with a learning rate that falls along a half cosine to zero. Ends early when validation
    has been perfect for `PATIENCE` epochs on end, none of which brought its loss below 0.9 of the
    best before.

    Parameters
    ----------
    model : Classifier
        From `build`.
    images, val_images : uint8 tensor (N, 3, H, W)
    labels, val_labels : int64 tensor (N,)
        Class indices, 0 to n_classes - 1.
    seed : int
        Of the order, the augmentation and the dropout. The global random state is left as it was.
    epochs, batch_size, learning_rate, weight_decay
        Of the optimizer. Batches differ by one image at most, so that none is left with one.
    augmentation : bool
        Whether to `augment` the training images.
    tune : "all" or "last"
        Fit every layer, or only the last one on features of each image and its mirror image that
        are computed once (the rest stays as it is, in eval mode).
    device : str, torch.device or None
        None takes a GPU where there is one. The same seed gives the same model on CPUs with any
        number of cores; on a GPU it gives another.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        For an empty set, labels that do not fit, or an unknown `tune`.
    FloatingPointError
        When the loss becomes NaN or infinite, with the epoch and what to change.
    """
    _check_set("training", model, images, labels)
    _check_set("validation", model, val_images, val_labels)
    if tune not in ("all", "last"):
        raise ValueError(f"`tune` must be 'all' or 'last', not {tune!r}.")
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    start = time.perf_counter()
    with single_thread(), torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)  # of the dropout
        model.to(device)
        if tune == "all":
            fitted, draw = model, partial(_draw_images, images, augmentation, device)
        else:
            fitted = _last_part(model)
            draw = partial(_draw_features, _features_both_ways(model, images, augmentation))
            val_images = _features(model, val_images)
        optimizer = torch.optim.AdamW(
            fitted.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
        )
        history = _fit(
            fitted, optimizer, draw, labels, val_images, val_labels, seed, epochs, batch_size
        )
        model.cpu().eval()
    history.seconds = time.perf_counter() - start
    return history


def _fit(fitted, optimizer, draw, labels, val_inputs, val_labels, seed, epochs, batch_size):
    """The loop itself; leaves `fitted` with the weights of its best epoch."""
    generator = torch.Generator().manual_seed(seed)  # of the order and the augmentation
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    history, best_weights, stale = History(), None, 0
    for epoch in tqdm(range(1, epochs + 1), desc="training", unit="epoch", leave=False):
        loss = _one_epoch(fitted, optimizer, draw, labels, batch_size, generator)
        schedule.step()
        accuracy, val_loss = _validate(fitted, val_inputs, val_labels)
        _check_finite(epoch, loss, val_loss)
        stale = stale + 1 if accuracy == 1 and history.flat(val_loss) else 0
        if history.add(epoch=epoch, loss=loss, val_loss=val_loss, val_accuracy=accuracy):
            best_weights = copy.deepcopy(fitted.state_dict())
        if stale == PATIENCE:
            history.ended = "perfect"
            break
    fitted.load_state_dict(best_weights)
    return history


def _one_epoch(fitted, optimizer, draw, labels, batch_size, generator) -> float:
    """Fit every image once, in random order; mean loss over the images, nats."""
    fitted.train()
    order = torch.randperm(len(labels), generator=generator)
    total = 0.0
    for batch in order.tensor_split(math.ceil(len(order) / batch_size)):
        inputs = draw(batch, generator)
        optimizer.zero_grad()
        loss = cross_entropy(fitted(inputs), labels[batch].to(inputs.device))
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(batch)
    return float(total) / len(order)


def _validate(fitted, inputs, labels) -> tuple[float, float]:
    """Accuracy and mean cross-entropy (nats)."""
    outputs = logits(fitted, inputs, finite=False)
    accuracy = (outputs.argmax(dim=1) == labels).double().mean()
    return float(accuracy), float(cross_entropy(outputs, labels))


def _check_finite(epoch: int, loss: float, val_loss: float) -> None:
    if not (math.isfinite(loss) and math.isfinite(val_loss)):
        raise FloatingPointError(
            f"Training broke down in epoch {epoch}: the loss is {loss} in training, {val_loss} in "
            "validation. Try a tenth of the learning rate; if that does not help, look for NaN in "
            "the starting weights."
        )


def _draw_images(images, augmentation, device, batch, generator) -> torch.Tensor:
    chosen = images[batch]
    return (augment(chosen, generator) if augmentation else chosen).to(device)


def _draw_features(features, batch, generator) -> torch.Tensor:
    """Features of each image, or of its mirror image, at random."""
    side = torch.randint(len(features), (len(batch),), generator=generator)
    return features[side, batch]


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
def _features(model: Classifier, images: torch.Tensor, batch_size: int = 32) -> torch.Tensor:
    """What the last layer sees of each image, in eval mode; stays on the model's device."""
    model.eval()
    seen = []
    head = model.network.get_submodule(model.head)
    hook = head.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    try:
        for batch in tqdm(images.split(batch_size), desc="features", delay=2, leave=False):
            output = model(batch.to(model.mean.device))
    finally:
        hook.remove()
    if not torch.allclose(_last_part(model).eval()(seen[-1]), output, rtol=1e-3, atol=1e-4):
        raise ValueError("tune='last' does not fit this architecture: take tune='all'.")
    return torch.cat(seen)


def _features_both_ways(model: Classifier, images: torch.Tensor, mirror: bool) -> torch.Tensor:
    """Features of the images and, where wanted, of their mirror images: (1 or 2, N, ...)."""
    ways = (images, images.flip(-1)) if mirror else (images,)
    return torch.stack([_features(model, way) for way in ways])


def augment(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each image cropped, mirrored and tinted in its own random way.

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
    generator : torch.Generator
        On the CPU; the only source of randomness.

    Returns
    -------
    float32 tensor (N, 3, H, W) in [0, 1]
        Of each image a window of 70 to 100% of its width and height, anywhere, brought back to
        full size; mirrored in one case of two; each channel brighter or darker by up to 15%.
    """
    count, _, height, width = images.shape
    share = 1 - 0.3 * torch.rand(count, generator=generator)
    down, right = torch.rand(2, count, generator=generator)
    mirrored = torch.rand(count, generator=generator) < 0.5
    tint = 1 + 0.15 * (2 * torch.rand(count, 3, 1, 1, generator=generator) - 1)
    out = torch.empty_like(images)
    for i in range(count):
        h, w = round(height * share[i].item()), round(width * share[i].item())
        top, left = int(down[i] * (height - h + 1)), int(right[i] * (width - w + 1))
        crop = resized_crop(images[i], top, left, h, w, [height, width], antialias=False)
        out[i] = crop.flip(-1) if mirrored[i] else crop
    return (out.float().div_(255) * tint).clamp_(0, 1)


@torch.no_grad()
def logits(
    model: nn.Module, images: torch.Tensor, batch_size: int = 64, *, finite: bool = True
) -> torch.Tensor:
    """What `model` says of `images`.

    Parameters
    ----------
    model : nn.Module
        Put in eval mode for the occasion.
    images : tensor (N, 3, H, W)
        uint8, or float in [0, 1]; moved to the model's device batch by batch.
    batch_size : int
        A progress bar shows when it takes more than 2 s.
    finite : bool
        Refuse NaN and infinite logits.

    Returns
    -------
    float32 tensor (N, n_classes), on the CPU

    Raises
    ------
    FloatingPointError
        When a logit is NaN or infinite, naming the first image it happened to.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    batches = tqdm(images.split(batch_size), desc="logits", delay=2, leave=False)
    out = torch.cat([model(batch.to(device)).float().cpu() for batch in batches])
    model.train(was_training)
    unfit = ~out.isfinite().all(dim=1)
    if finite and unfit.any():
        raise FloatingPointError(
            f"The model gave NaN or infinite logits for {int(unfit.sum())} of {len(out)} images, "
            f"first for image {int(unfit.nonzero()[0])}: its weights are broken or the image "
            "holds NaN."
        )
    return out


@contextmanager
def single_thread() -> Iterator[None]:
    """Run torch on one thread within a `with` block: fast side by side, and repeatable."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_set(name: str, model: Classifier, images: torch.Tensor, labels: torch.Tensor) -> None:
    n_classes = len(model.network.get_submodule(model.head).weight)
    if len(images) == 0:
        raise ValueError(f"The {name} set is empty: give it images of every class.")
    if len(images) != len(labels):
        raise ValueError(f"The {name} set has {len(images)} images and {len(labels)} labels.")
    if labels.min() < 0 or labels.max() >= n_classes:
        raise ValueError(
            f"The {name} labels run from {labels.min()} to {labels.max()}; the model has "
            f"{n_classes} classes, so they must lie in 0 to {n_classes - 1}."
        )
