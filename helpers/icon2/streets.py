"""Street scenes as the small detector sees them, recorded or made when they are needed.

``data/streets`` holds labels and detections for the defaults of the lessons. For other
values, scenes are rendered, and a detector is trained and used. The same layouts can be
observed with the appearances of their own income group and of the opposite group, which
divides the gap of the detector into parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import store
from helpers.icon2.attributes import Frames
from helpers.models import networks
from helpers.synthetic_data import street, street_detector

FOLDER = store.root() / "data" / "streets"
TABLES = ("images", "boxes", "detections")
# of appearance B in the test frames of each income group
SHARES_OF_B = (0.9, 0.5, 0.1)
TRAINED_ON = 600  # frames
# of medium and large boxes: a quarter of COCO's, as the frames are a quarter as wide
SIDES = (8, 24)


def train_detector(share_of_b: float, seed: int) -> nn.Module:
    """Return the stored detector, trained on equal scenes for all income groups.

    Parameters
    ----------
    share_of_b : float
        The share of appearance B in the training images.
    seed : int
    """
    frames, things = street.scenes(TRAINED_ON, 1000 + seed)
    images, boxes = street.render(frames, street.dressed(frames, things, share_of_b))
    images = torch.from_numpy(images)
    network = street_detector.build(
        len(street.KINDS), (street.HEIGHT, street.WIDTH), seed
    )

    def train() -> tuple[nn.Module, dict]:
        street_detector.train(network, images, boxes, seed=seed)
        return network, {}

    _, weights, _ = networks.once("detector", train, images=images, seed=seed)
    network.load_state_dict(weights)
    return network.eval()


def observe(
    detector: nn.Module,
    frames: pd.DataFrame,
    things: pd.DataFrame,
    shares_of_b: float | Sequence[float],
) -> Frames:
    """Render street scenes, and detect their things.

    Parameters
    ----------
    detector : nn.Module
    frames, things : pandas.DataFrame
        The layouts of `street.scenes`.
    shares_of_b : float or three floats
        The share of appearance B, for all frames or for each income group.

    Returns
    -------
    Frames
    """
    images, boxes = street.render(frames, street.dressed(frames, things, shares_of_b))
    found = street_detector.detect(detector, torch.from_numpy(images))
    frames = frames.assign(contrast=[round(float(image.std()), 1) for image in images])
    return Frames(frames, boxes, found, street.KINDS, sides=SIDES)


@dataclass(frozen=True)
class Streets:
    """Synthetic street scenes, and the detector that looks at them.

    Attributes
    ----------
    frames : int
        The number of frames.
    seed : int
        The seed of their layouts is 5000 more.
    difficulty : float
        See `synthetic.street.scenes`.
    share_of_b : float
        The share of appearance B in the images on which the detector is trained.
    """

    frames: int
    seed: int = 0
    difficulty: float = 0.5
    share_of_b: float = 0.5

    @property
    def folder(self) -> Path:
        """Return the folder of the recorded files, which need not exist."""
        name = f"{self.frames}-frames-seed-{self.seed}"
        name += f"-difficulty-{self.difficulty:g}-share-{self.share_of_b:g}"
        return FOLDER / name

    def layouts(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Draw the scenes as tables of frames and things."""
        return street.scenes(self.frames, 5000 + self.seed, self.difficulty)

    def load(self) -> Frames:
        """Read the recorded frames, or render frames and detect things in them."""
        if self.folder.is_dir():
            tables = [pd.read_parquet(self.folder / f"{t}.parquet") for t in TABLES]
            return Frames(*tables, street.KINDS, sides=SIDES)
        print(
            "These streets are not recorded. They are rendered, and a detector is "
            "trained and used, which takes about three minutes on one core."
        )
        return self.make()

    def make(self) -> Frames:
        """Render frames, train a detector, and detect things."""
        detector = train_detector(self.share_of_b, 0)
        return observe(detector, *self.layouts(), SHARES_OF_B)

    def picture(self, number: int) -> np.ndarray:
        """Render one frame, uint8 (160, 320, 3)."""
        frames, things = self.layouts()
        things = street.dressed(frames, things, SHARES_OF_B)
        return street.picture(frames, things, number)
