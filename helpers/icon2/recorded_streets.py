"""Street scenes as the small detector sees them, recorded or made when they are needed.

``data/streets`` holds labels and detections for the defaults of the lessons, and twelve
pictures. For other values, scenes are rendered, and a detector is trained and used.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from helpers import store
from helpers.icon2 import intervention
from helpers.icon2.attributes import Frames
from helpers.icon2.intervention import SHARES_OF_B
from helpers.synthetic_data import street

FOLDER = store.root() / "data" / "streets"
PICTURES = FOLDER / "pictures"
TABLES = ("images", "boxes", "detections")


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

    def observe(self) -> Frames:
        """Read the recorded frames, or render frames and detect things in them."""
        if self.folder.is_dir():
            tables = [pd.read_parquet(self.folder / f"{t}.parquet") for t in TABLES]
            return Frames(*tables, street.KINDS)
        print(
            "These streets are not recorded. They are rendered, and a detector is "
            "trained and used, which takes about three minutes on one core."
        )
        return self.make()

    def make(self) -> Frames:
        """Render frames, train the detector, and detect things."""
        network = intervention.trained(self.share_of_b, 0)
        return intervention.observed(network, *self.layouts(), SHARES_OF_B)

    def picture(self, number: int) -> np.ndarray:
        """Render one frame, uint8 (160, 320, 3)."""
        frames, things = self.layouts()
        return street.picture(
            frames, street.dressed(frames, things, SHARES_OF_B), number
        )

    def pictures(self) -> list[np.ndarray]:
        """Return the recorded pictures of layouts of low and high income in turn.

        Each layout has the appearances of its own income group, and then those of the
        opposite group.
        """
        return [np.asarray(Image.open(path)) for path in sorted(PICTURES.glob("*.png"))]

    def appearances(self) -> dict[str, np.ndarray]:
        """Return a small picture of each appearance."""
        return street.appearances()
