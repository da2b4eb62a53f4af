"""Build, train and use a small Faster R-CNN for the synthetic street scenes.

Training takes a minute on a CPU.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import torch
from torch import nn
from tqdm import tqdm

WIDTHS = (16, 24, 32, 48, 48, 64, 64)  # channels of the convolutions
STRIDES = (2, 1, 2, 1, 2, 1, 2)
# number of the convolution whose output is a level of the pyramid, and its channels
PYRAMID = {"2": 32, "4": 48, "6": 64}
CHANNELS = 32  # of every level of the pyramid
ANCHORS = ((10,), (22,), (52,))  # pixels, at strides 4, 8 and 16
BATCH_SIZE = 4
LEARNING_RATE = 4e-3
PROGRESS_BAR = {"file": sys.stdout, "leave": False, "ncols": 80}
CORNERS = ["x1", "y1", "x2", "y2"]


def _backbone() -> nn.Sequential:
    """Build seven convolutions with a feature pyramid over three of them.

    The maps are (B, 32, h, w) at strides 4, 8 and 16.
    """
    # torchvision's detection models take seconds to import
    from torchvision.models._utils import IntermediateLayerGetter
    from torchvision.ops import Conv2dNormActivation, FeaturePyramidNetwork

    layers = [
        Conv2dNormActivation(before, width, stride=stride)
        for before, width, stride in zip(
            (3, *WIDTHS[:-1]), WIDTHS, STRIDES, strict=True
        )
    ]
    body = IntermediateLayerGetter(
        nn.Sequential(*layers), {name: name for name in PYRAMID}
    )
    pyramid = FeaturePyramidNetwork(list(PYRAMID.values()), CHANNELS)
    backbone = nn.Sequential(OrderedDict(body=body, pyramid=pyramid))
    backbone.out_channels = CHANNELS  # torchvision asks for it
    return backbone


def build(n_classes: int, size: tuple[int, int], seed: int = 0) -> nn.Module:
    """Build an untrained Faster R-CNN for images (height, width)."""
    from torchvision.models.detection import FasterRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
    from torchvision.ops import MultiScaleRoIAlign

    with _seeded(seed):
        hidden = nn.Sequential(
            nn.Flatten(),
            nn.Linear(CHANNELS * 25, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
        )
        return FasterRCNN(
            _backbone(),
            min_size=min(size),
            max_size=max(size),
            image_mean=[0.45] * 3,
            image_std=[0.25] * 3,
            rpn_anchor_generator=AnchorGenerator(
                ANCHORS, ((0.5, 1.0, 2.0),) * len(ANCHORS)
            ),
            rpn_pre_nms_top_n_train=400,
            rpn_pre_nms_top_n_test=200,
            rpn_post_nms_top_n_train=150,
            rpn_post_nms_top_n_test=80,
            rpn_batch_size_per_image=64,
            box_roi_pool=MultiScaleRoIAlign(
                list(PYRAMID), output_size=5, sampling_ratio=2
            ),
            box_head=hidden,
            box_predictor=FastRCNNPredictor(64, n_classes + 1),  # 0 is the background
            box_batch_size_per_image=64,
            box_score_thresh=0.02,
            box_detections_per_img=60,
        ).to(memory_format=torch.channels_last)


def train(
    network: nn.Module,
    images: torch.Tensor,
    boxes: pd.DataFrame,
    *,
    seed: int,
    epochs: int = 4,
) -> list[float]:
    """Train a detector in place, on its device.

    Parameters
    ----------
    network : FasterRCNN
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    boxes : pandas.DataFrame
        The columns ``image`` (row of `images`), ``category`` (from 0), and ``x1``,
        ``y1``, ``x2`` and ``y2`` (pixels).
    seed : int
        Seeds the order of the images and what the network draws.
    epochs : int, default=4

    Returns
    -------
    list of float
        The mean loss of each epoch.

    Raises
    ------
    FloatingPointError
        The loss is not finite.
    """
    device = next(network.parameters()).device
    empty = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    targets = {}
    for image, part in boxes.groupby("image"):
        corners = torch.tensor(part[CORNERS].to_numpy("float32"))
        targets[image] = {
            "boxes": corners,
            "labels": torch.tensor(part["category"].to_numpy()) + 1,
        }
    optimizer = torch.optim.AdamW(
        network.parameters(), LEARNING_RATE, weight_decay=1e-4, fused=True
    )
    steps = len(images) // BATCH_SIZE
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=epochs * steps
    )
    history = []
    network.train()
    with _seeded(seed, device):
        for _ in tqdm(range(epochs), "detector", unit="epoch", **PROGRESS_BAR):
            total = 0.0
            order = torch.randperm(len(images))[: steps * BATCH_SIZE]
            for rows in order.split(BATCH_SIZE):
                batch = [images[i].to(device).float() / 255 for i in rows]
                wanted = [
                    {
                        name: tensor.to(device)
                        for name, tensor in targets.get(i, empty).items()
                    }
                    for i in rows.tolist()
                ]
                loss = sum(network(batch, wanted).values())
                if not loss.isfinite():
                    raise FloatingPointError(
                        "Training of the detector broke down: the loss is not finite."
                    )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 10.0)
                optimizer.step()
                schedule.step()
                total += loss.item()
            history.append(total / steps)
    network.eval()
    return history


@torch.no_grad()
def detect(network: nn.Module, images: torch.Tensor) -> pd.DataFrame:
    """Detect objects in images, one image at a time.

    Parameters
    ----------
    network : FasterRCNN
    images : torch.Tensor of uint8, shape (N, 3, H, W)

    Returns
    -------
    pandas.DataFrame
        One row per box: ``image`` (row of `images`), ``category`` (from 0), ``x1``,
        ``y1``, ``x2`` and ``y2`` (pixels), and ``score``.
    """
    device = next(network.parameters()).device
    parts = []
    for row, image in enumerate(tqdm(images, "detecting", delay=2, **PROGRESS_BAR)):
        [found] = network([image.to(device).float() / 255])
        found = {name: tensor.cpu().numpy() for name, tensor in found.items()}
        part = pd.DataFrame(found["boxes"], columns=CORNERS)
        part.insert(0, "image", row)
        part.insert(1, "category", found["labels"] - 1)  # 0 is the background
        parts.append(part.assign(score=found["scores"]))
    return pd.concat(parts, ignore_index=True)


@contextmanager
def _seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed torch within a `with` block, and restore its generators afterwards."""
    is_gpu = device is not None and device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if is_gpu else []):
        torch.manual_seed(seed)
        yield
