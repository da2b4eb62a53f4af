"""Find objects with torchvision's detectors, and store what was found."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torchvision.models.detection import fasterrcnn_resnet50_fpn
from torchvision.transforms.v2.functional import pil_to_tensor

from helpers import store
from helpers.icon2.attributes import CORNERS
from helpers.models import inference, networks
from helpers.store import progress

# numbers of COCO's classes and their names in BDD100K; COCO has no traffic signs
COCO = {
    1: "pedestrian",
    2: "bicycle",
    3: "car",
    4: "motorcycle",
    6: "bus",
    8: "truck",
    10: "traffic light",
}


@torch.no_grad()
def detect(network: nn.Module, images: Iterable[torch.Tensor]) -> pd.DataFrame:
    """Detect objects in images, one image at a time.

    Parameters
    ----------
    network : nn.Module
        A detection network of torchvision.
    images : iterable of torch.Tensor of uint8, shape (3, H, W)

    Returns
    -------
    pandas.DataFrame
        One row per box: `x1`, `y1`, `x2` and `y2` (pixels), `label`, `score` and
        `image` (its number).
    """
    device = next(network.parameters()).device
    parts = []
    for number, image in enumerate(progress(images, desc="detecting", delay=2)):
        [found] = network([image.to(device).float() / 255])
        found = {name: tensor.cpu().numpy() for name, tensor in found.items()}
        part = pd.DataFrame(found["boxes"], columns=CORNERS)
        part = part.assign(label=found["labels"], score=found["scores"])
        parts.append(part.assign(image=number))
    return pd.concat(parts, ignore_index=True)


def predict(
    weights: str | Path | None,
    files: Sequence[Path],
    folder: Path,
    device: str = "auto",
) -> Path:
    """Detect objects with torchvision's Faster R-CNN, which was trained on COCO.

    Parameters
    ----------
    weights : str, Path or None
        The file of weights.
    files : sequence of Path
        The images.
    folder : Path
        Where detections are stored.
    device : str, default="auto"
        See :func:`helpers.models.device`.

    Returns
    -------
    Path
        A CSV with one row per box. Classes have the names of BDD100K.

    Raises
    ------
    ValueError
        The weights are missing or do not fit, or an image cannot be read.
    """
    if weights is None:
        raise ValueError(
            "The parameter 'weights' is missing. Give a detector's file of weights to "
            "find objects in 'frames', or give 'predictions'."
        )
    device = inference.device(device)
    names = [file.name for file in files]
    key = store.key(
        "predictions",
        detector=store.file_digest(weights),
        images=[store.file_digest(file) for file in files],
        names=names,
        device=device.type,
    )

    def write(path: Path) -> None:
        network = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
        networks.load(network, Path(weights))
        network.to(device).eval()
        found = detect(network, map(_read_image, files))
        found["image"] = np.array(names)[found["image"]]
        found["class"] = found["label"].map(COCO)
        found.dropna(subset="class").to_csv(path, index=False)

    return store.cached(folder / f"{key}.csv", write)


def _read_image(file: Path) -> torch.Tensor:
    """Read an image file as uint8 (3, H, W)."""
    try:
        with Image.open(file) as image:
            return pil_to_tensor(image.convert("RGB"))
    except (OSError, SyntaxError) as error:  # Pillow's, which may not name the file
        raise ValueError(f"The image {file.name} cannot be read: {error}") from None
