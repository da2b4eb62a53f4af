"""Detectors: a small one that learns the rendered streets, and torchvision's of COCO."""

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection import FasterRCNN, fasterrcnn_resnet50_fpn
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
from torchvision.ops import Conv2dNormActivation, FeaturePyramidNetwork, MultiScaleRoIAlign
from torchvision.transforms.v2.functional import pil_to_tensor

from helpers import source, store
from helpers.models import inference, networks
from helpers.store import progress

DETECTING = source.Source("__init__", "models/detector", "models/inference", "models/networks")
WIDTHS = (16, 24, 32, 48, 48, 64, 64)  # channels of the convolutions
STRIDES = (2, 1, 2, 1, 2, 1, 2)
PYRAMID = {"2": 32, "4": 48, "6": 64}  # the convolution whose output is a level, and its channels
CHANNELS = 32  # of every level of the pyramid
ANCHORS = ((10,), (22,), (52,))  # pixels, at strides 4, 8 and 16
BATCH, RATE = 4, 4e-3
CORNERS = ["x1", "y1", "x2", "y2"]
COCO = {  # number of a class of COCO: its name in BDD100K; COCO has no class of traffic signs
    1: "pedestrian", 2: "bicycle", 3: "car", 4: "motorcycle",
    6: "bus", 8: "truck", 10: "traffic light",
}  # fmt: skip


@dataclass(frozen=True)
class Detector:
    """A trained network of torchvision's kind."""

    network: nn.Module
    classes: dict[int, str]  # names of its labels; what has another label is left out
    identity: str


def _backbone() -> nn.Sequential:
    """Seven convolutions, and a pyramid over three: maps (B, 32, h, w) at strides 4, 8 and 16."""
    layers = [
        Conv2dNormActivation(before, width, stride=stride)
        for before, width, stride in zip((3, *WIDTHS[:-1]), WIDTHS, STRIDES, strict=True)
    ]
    body = IntermediateLayerGetter(nn.Sequential(*layers), {name: name for name in PYRAMID})
    pyramid = FeaturePyramidNetwork(list(PYRAMID.values()), CHANNELS)
    backbone = nn.Sequential(OrderedDict(body=body, pyramid=pyramid))
    backbone.out_channels = CHANNELS  # torchvision asks for it
    return backbone


def build(n_classes: int, size: tuple[int, int], seed: int = 0) -> FasterRCNN:
    """An untrained detector of `n_classes` kinds of things, for images (height, width)."""
    with inference.seeded(seed):
        hidden = nn.Sequential(
            nn.Flatten(), nn.Linear(CHANNELS * 25, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        )
        return FasterRCNN(
            _backbone(),
            min_size=min(size),
            max_size=max(size),
            image_mean=[0.45] * 3,
            image_std=[0.25] * 3,
            rpn_anchor_generator=AnchorGenerator(ANCHORS, ((0.5, 1.0, 2.0),) * len(ANCHORS)),
            rpn_pre_nms_top_n_train=400,
            rpn_pre_nms_top_n_test=200,
            rpn_post_nms_top_n_train=150,
            rpn_post_nms_top_n_test=80,
            rpn_batch_size_per_image=64,
            box_roi_pool=MultiScaleRoIAlign(list(PYRAMID), output_size=5, sampling_ratio=2),
            box_head=hidden,
            box_predictor=FastRCNNPredictor(64, n_classes + 1),  # 0 is the background
            box_batch_size_per_image=64,
            box_score_thresh=0.02,
            box_detections_per_img=60,
        ).to(memory_format=torch.channels_last)


def train(
    network: FasterRCNN, images: torch.Tensor, boxes: pd.DataFrame, *, seed: int, epochs: int = 4
) -> list[float]:
    """Fit `network` in place, on its device, to uint8 images (N, 3, H, W); the mean loss of every
    epoch. The boxes have columns image (row of `images`), category (from 0), x1, y1, x2 and y2
    (pixels)."""
    device = next(network.parameters()).device
    empty, targets = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}, {}
    for image, part in boxes.groupby("image"):
        corners = torch.tensor(part[CORNERS].to_numpy("float32"))
        targets[image] = {"boxes": corners, "labels": torch.tensor(part["category"].to_numpy()) + 1}
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-4, fused=True)
    steps = len(images) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * steps)
    history = []
    network.train()
    with inference.single_thread(), inference.seeded(seed, device):
        for _ in progress(range(epochs), desc="detector", unit="epoch"):
            total = 0.0
            for rows in torch.randperm(len(images))[: steps * BATCH].split(BATCH):
                batch = [images[i].to(device).float() / 255 for i in rows]
                wanted = [
                    {name: tensor.to(device) for name, tensor in targets.get(i, empty).items()}
                    for i in rows.tolist()
                ]
                loss = sum(network(batch, wanted).values())
                if not loss.isfinite():
                    raise FloatingPointError("Training of the detector broke down: the loss is NaN")
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 10.0)
                optimizer.step()
                schedule.step()
                total += loss.item()
            history.append(total / steps)
    network.eval()
    return history


def trained(
    images: torch.Tensor, boxes: pd.DataFrame, classes: Sequence[str], *, seed: int, folder: Path
) -> Detector:
    """The detector that :func:`train` gives, trained once; `classes` names the categories."""
    network = build(len(classes), tuple(images.shape[-2:]), seed)

    def made() -> tuple[nn.Module, dict]:
        return network, {"history": train(network, images, boxes, seed=seed)}

    decides = {"images": images, "boxes": boxes[["image", "category", *CORNERS]].to_numpy(float)}
    decides |= {"classes": list(classes), "seed": seed, "code": DETECTING.digest()}
    path, weights, _ = networks.once("detector", folder, made, **decides)
    network.load_state_dict(weights)
    return Detector(network.eval(), dict(enumerate(classes, 1)), path.stem)


def coco(path: str | Path | None, device: str = "auto") -> Detector:
    """torchvision's detector with a weights file, on a device that :func:`inference.device` knows;
    COCO's classes are called as in BDD100K."""
    if path is None:
        raise ValueError(
            "parameter 'weights' is missing: give a detector's weights file to find things in "
            "'frames', or give 'predictions'"
        )
    path = Path(path)
    network = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    networks.load(network, networks.read(path), path)
    return Detector(network.to(inference.device(device)).eval(), COCO, store.file_digest(path))


@torch.no_grad()
def detect(detector: Detector, images: Iterable[torch.Tensor], threads: int = 1) -> pd.DataFrame:
    """Boxes in images, uint8 (3, H, W): image (number), category, x1, y1, x2, y2, score. On a CPU
    torch computes on so many `threads`."""
    device = next(detector.network.parameters()).device
    rows, names = [], []
    with inference.on_threads(threads):
        for number, image in enumerate(progress(images, desc="detecting", delay=2)):
            [found] = detector.network([image.to(device).float() / 255])
            boxes, scores = found["boxes"].cpu().numpy(), found["scores"].cpu().numpy()
            rows.append(np.column_stack([np.full(len(boxes), number), boxes, scores]))
            names += [detector.classes.get(label) for label in found["labels"].cpu().tolist()]
    table = pd.DataFrame(np.concatenate(rows), columns=["image", *CORNERS, "score"])
    table = table.astype(dict.fromkeys([*CORNERS, "score"], "float32") | {"image": int})
    table.insert(1, "category", pd.Series(names, dtype=object))
    return table.dropna(subset="category", ignore_index=True)


def predict(
    detector: Detector, folder: str | Path, names: Sequence[str], classes: Sequence[str], kept: Path
) -> tuple[Path, list[str]]:
    """Write what a detector finds in a folder of images as predictions in Scalabel's format, once,
    into the folder `kept`; a run that was stopped goes on where it was. With it come sentences
    about missing images (of `names`) and unknown `classes`; a ValueError where all are missing."""
    files = {name: Path(folder) / name for name in names}
    there = {name: file for name, file in files.items() if file.is_file()}
    missing = [name for name in files if name not in there]
    unknown = [name for name in classes if name not in detector.classes.values()]
    if not there:
        raise ValueError(
            f"None of the {len(files):,} labelled images is in the folder {Path(folder).name!r}; "
            f"the first is {missing[0]!r}"
        )
    if len(unknown) == len(classes):
        known = ", ".join(detector.classes.values())
        raise ValueError(f"The detector knows none of {', '.join(classes)}; it knows {known}")
    said = []
    if missing:
        first = ", ".join(missing[:3]) + (" ..." if len(missing) > 3 else "")
        said.append(f"{len(missing):,} labelled images are missing: {first}")
    if unknown:
        said.append(f"the detector does not know, and never finds: {', '.join(unknown)}")
    state = {name: (file.stat().st_size, file.stat().st_mtime_ns) for name, file in there.items()}
    device = next(detector.network.parameters()).device
    decides = {"detector": detector.identity, "images": state, "code": DETECTING.digest()}
    name = store.key("predictions", **decides, **inference.in_key(device))
    path = Path(kept) / f"{name}.jsonl"
    return store.cached(path, lambda partial: _predict(detector, there, path, partial)), said


def _predict(detector: Detector, files: dict[str, Path], path: Path, target: Path) -> None:
    """Add a line an image to a file beside `path`; when it has all, it becomes `target`."""
    lines = path.with_suffix(".lines")
    done = lines.read_text() if lines.is_file() else ""
    done = done[: done.rfind("\n") + 1]  # a run that was killed may leave half a line
    lines.write_text(done)
    rest = list(files.items())[done.count("\n") :]
    with lines.open("a") as file:
        for name, image in progress(rest, desc="predictions", initial=len(files) - len(rest)):
            found = detect(detector, [_image(image)], threads=inference.threads())
            labels = found[["category", "score"]].to_dict("records")
            for label, box in zip(labels, found[CORNERS].to_dict("records"), strict=True):
                label["box2d"] = box
            file.write(json.dumps({"name": name, "labels": labels}) + "\n")
            file.flush()
    lines.replace(target)


def _image(file: Path) -> torch.Tensor:
    """An image file as uint8 (3, H, W)."""
    try:
        with Image.open(file) as image:
            return pil_to_tensor(image.convert("RGB"))
    except Exception as error:  # damaged files make decoders raise nearly anything
        raise ValueError(
            f"The image {file.name} cannot be read ({error}); replace it or take it out"
        ) from None
