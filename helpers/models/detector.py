"""Detectors: the small one of the synthetic street scenes, and torchvision's of COCO."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torchvision.models.detection import fasterrcnn_resnet50_fpn
from torchvision.transforms.v2.functional import pil_to_tensor

from helpers import store
from helpers.models import inference, networks
from helpers.store import progress
from helpers.synthetic_data import street_detector

CORNERS = street_detector.CORNERS
COCO = {  # number of a class of COCO: its name in BDD100K; COCO has no class of traffic signs
    1: "pedestrian",
    2: "bicycle",
    3: "car",
    4: "motorcycle",
    6: "bus",
    8: "truck",
    10: "traffic light",
}


@dataclass(frozen=True)
class Detector:
    """A trained network of torchvision's kind."""

    network: nn.Module
    classes: dict[int, str]  # names of its labels; what has another label is left out
    identity: str


def trained(
    images: torch.Tensor,
    boxes: pd.DataFrame,
    classes: Sequence[str],
    *,
    seed: int,
    folder: Path,
) -> Detector:
    """Return the detector that `synthetic.detector.train` gives, trained once.

    `classes` names the categories."""
    network = street_detector.build(len(classes), tuple(images.shape[-2:]), seed)

    def made() -> tuple[nn.Module, dict]:
        with inference.single_thread():
            history = street_detector.train(network, images, boxes, seed=seed)
        return network, {"history": history}

    decides = {
        "images": images,
        "boxes": boxes[["image", "category", *CORNERS]].to_numpy(float),
    }
    decides |= {"classes": list(classes), "seed": seed}
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
    networks.load(network, path)
    return Detector(
        network.to(inference.device(device)).eval(), COCO, store.file_digest(path)
    )


@torch.no_grad()
def detect(
    detector: Detector, images: Iterable[torch.Tensor], threads: int = 1
) -> pd.DataFrame:
    """Boxes in images, uint8 (3, H, W): image (number), category, x1, y1, x2, y2, score. On a CPU
    torch computes on so many `threads`."""
    device = next(detector.network.parameters()).device
    rows, names = [], []
    with inference.on_threads(threads):
        for number, image in enumerate(progress(images, desc="detecting", delay=2)):
            [found] = detector.network([image.to(device).float() / 255])
            boxes, scores = found["boxes"].cpu().numpy(), found["scores"].cpu().numpy()
            rows.append(np.column_stack([np.full(len(boxes), number), boxes, scores]))
            names += [
                detector.classes.get(label) for label in found["labels"].cpu().tolist()
            ]
    table = pd.DataFrame(np.concatenate(rows), columns=["image", *CORNERS, "score"])
    table = table.astype(dict.fromkeys([*CORNERS, "score"], "float32") | {"image": int})
    table.insert(1, "category", pd.Series(names, dtype=object))
    return table.dropna(subset="category", ignore_index=True)


def predict(
    detector: Detector,
    folder: str | Path,
    names: Sequence[str],
    classes: Sequence[str],
    kept: Path,
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
        raise ValueError(
            f"The detector knows none of {', '.join(classes)}; it knows {known}"
        )
    said = []
    if missing:
        first = ", ".join(missing[:3]) + (" ..." if len(missing) > 3 else "")
        said.append(f"{len(missing):,} labelled images are missing: {first}")
    if unknown:
        said.append(
            f"the detector does not know, and never finds: {', '.join(unknown)}"
        )
    state = {
        name: (file.stat().st_size, file.stat().st_mtime_ns)
        for name, file in there.items()
    }
    device = next(detector.network.parameters()).device
    decides = {"detector": detector.identity, "images": state}
    name = store.key("predictions", **decides, **inference.in_key(device))
    path = Path(kept) / f"{name}.jsonl"
    return store.cached(
        path, lambda partial: _predict(detector, there, path, partial)
    ), said


def _predict(
    detector: Detector, files: dict[str, Path], path: Path, target: Path
) -> None:
    """Add a line an image to a file beside `path`; when it has all, it becomes `target`."""
    lines = path.with_suffix(".lines")
    done = lines.read_text() if lines.is_file() else ""
    done = done[: done.rfind("\n") + 1]  # a run that was killed may leave half a line
    lines.write_text(done)
    rest = list(files.items())[done.count("\n") :]
    with lines.open("a") as file:
        for name, image in progress(
            rest, desc="predictions", initial=len(files) - len(rest)
        ):
            found = detect(detector, [_image(image)], threads=inference.threads())
            labels = found[["category", "score"]].to_dict("records")
            for label, box in zip(
                labels, found[CORNERS].to_dict("records"), strict=True
            ):
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
