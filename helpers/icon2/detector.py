"""Find objects with torchvision's detectors, and store what was found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from PIL import Image
from torch import nn
from torchvision.models.detection import fasterrcnn_resnet50_fpn
from torchvision.transforms.v2.functional import pil_to_tensor

from helpers import store
from helpers.models import inference, networks
from helpers.store import progress
from helpers.suggest import listed
from helpers.synthetic_data import street_detector

CORNERS = street_detector.CORNERS
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


@dataclass(frozen=True)
class Detector:
    """Hold a trained detector.

    Attributes
    ----------
    network : nn.Module
        A detection network of torchvision.
    classes : dict of int to str
        The names of its labels. Boxes with other labels are left out.
    identity : str
        What identifies its weights, for keys of stored detections.
    """

    network: nn.Module
    classes: dict[int, str]
    identity: str


def trained(
    images: torch.Tensor,
    boxes: pd.DataFrame,
    classes: Sequence[str],
    *,
    seed: int,
    folder: Path,
) -> Detector:
    """Train the small detector of the synthetic streets, or read it from a file.

    Parameters
    ----------
    images, boxes
        See `synthetic.detector.train`.
    classes : sequence of str
        The names of the categories.
    seed : int
    folder : Path
        The folder of the file.

    Returns
    -------
    Detector
    """
    network = street_detector.build(len(classes), tuple(images.shape[-2:]), seed)

    def train() -> tuple[nn.Module, dict]:
        history = street_detector.train(network, images, boxes, seed=seed)
        return network, {"history": history}

    path, weights, _ = networks.once(
        "detector",
        folder,
        train,
        images=images,
        boxes=boxes[["image", "category", *CORNERS]].to_numpy(float),
        classes=list(classes),
        seed=seed,
    )
    network.load_state_dict(weights)
    return Detector(network.eval(), dict(enumerate(classes, 1)), path.stem)


def coco(path: str | Path | None, device: str = "auto") -> Detector:
    """Load torchvision's Faster R-CNN, which was trained on COCO.

    Parameters
    ----------
    path : str, Path or None
        The file of weights.
    device : str, default="auto"
        See :func:`helpers.models.device`.

    Returns
    -------
    Detector
        Its classes have the names of BDD100K.

    Raises
    ------
    ValueError
        If the file is missing or does not fit.
    """
    if path is None:
        raise ValueError(
            "The parameter 'weights' is missing. Give a detector's file of weights to "
            "find objects in 'frames', or give 'predictions'."
        )
    path = Path(path)
    network = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    networks.load(network, path)
    network.to(inference.device(device)).eval()
    return Detector(network, COCO, store.file_digest(path))


@torch.no_grad()
def detect(
    detector: Detector, images: Iterable[torch.Tensor], total: int | None = None
) -> pd.DataFrame:
    """Detect objects in images, one image at a time.

    Parameters
    ----------
    detector : Detector
    images : iterable of torch.Tensor of uint8, shape (3, H, W)
    total : int, optional
        The number of images, if they have no length.

    Returns
    -------
    pandas.DataFrame
        One row per box: `image` (its number), `category`, `x1`, `y1`, `x2` and `y2`
        (pixels), and `score`.
    """
    device = next(detector.network.parameters()).device
    parts = []
    images = progress(images, desc="detecting", total=total, delay=2)
    for number, image in enumerate(images):
        [found] = detector.network([image.to(device).float() / 255])
        found = {name: tensor.cpu().numpy() for name, tensor in found.items()}
        names = [detector.classes.get(label) for label in found["labels"].tolist()]
        part = pd.DataFrame(found["boxes"], columns=CORNERS)
        part.insert(0, "image", number)
        part.insert(1, "category", pd.Series(names, dtype=object))
        parts.append(part.assign(score=found["scores"]))
    table = pd.concat(parts, ignore_index=True)
    return table.dropna(subset="category", ignore_index=True)


def predict(
    detector: Detector,
    folder: str | Path,
    names: Sequence[str],
    classes: Sequence[str],
    stored: Path,
) -> tuple[Path, list[str]]:
    """Detect objects in labelled images, and store them in a CSV.

    Parameters
    ----------
    detector : Detector
    folder : str or Path
        The folder of the images.
    names : sequence of str
        The file names of the labelled images.
    classes : sequence of str
        The classes of the labels.
    stored : Path
        The folder of the predictions.

    Returns
    -------
    path : Path
        The file of predictions, with one row per box.
    notes : list of str
        A sentence on classes that the detector does not know.

    Raises
    ------
    ValueError
        An image is missing, or cannot be read.
    """
    files = {name: Path(folder) / name for name in names}
    missing = [name for name, file in files.items() if not file.is_file()]
    if missing:
        raise ValueError(
            f"{len(missing):,} of {len(files):,} labelled images are not in the folder "
            f"{Path(folder).name!r}: {listed(missing)}. Give the folder of all "
            "labelled images, or take these out of the labels."
        )
    unknown = [name for name in classes if name not in detector.classes.values()]
    notes = []
    if unknown:
        notes.append(f"The detector does not know {listed(unknown)}, and finds none.")
    states = {}
    for name, file in files.items():
        states[name] = (file.stat().st_size, file.stat().st_mtime_ns)
    device = next(detector.network.parameters()).device
    key = store.key(
        "predictions",
        detector=detector.identity,
        images=states,
        device=device.type,
    )

    def write(path: Path) -> None:
        images = (_read_image(file) for file in files.values())
        found = detect(detector, images, len(files))
        found["image"] = found["image"].map(dict(enumerate(names)))
        found.rename(columns={"category": "class"}).to_csv(path, index=False)

    return store.cached(Path(stored) / f"{key}.csv", write), notes


def _read_image(file: Path) -> torch.Tensor:
    """Read an image file as uint8 (3, H, W)."""
    try:
        with Image.open(file) as image:
            return pil_to_tensor(image.convert("RGB"))
    except Exception as error:  # damaged files make decoders raise nearly anything
        raise ValueError(
            f"The image {file.name} cannot be read ({error}). Replace it, or take it "
            "out."
        ) from None
