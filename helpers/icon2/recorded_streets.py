"""Street scenes as the small detector sees them, recorded or made when they are needed.

``data/streets`` holds labels, detections and twelve pictures for the defaults of the
lessons. For other values, scenes are rendered, and a detector is trained and used.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from helpers import store
from helpers.icon2 import intervention
from helpers.icon2.attributes import Frames
from helpers.synthetic_data import street

TABLES = ("images", "boxes", "detections")
OWN, OTHER = "its own group", "the other group"  # whose appearances a picture has
SHARES_OF_B = {
    OWN: intervention.SHARES_OF_B,
    OTHER: intervention.SHARES_OF_B[::-1],
}
PICTURES = 3  # layouts of low and of high income that have pictures


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
        return store.root() / "data" / "streets" / name

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
        detector = intervention.trained(self.share_of_b, 0)
        return intervention.observed(detector, *self.layouts(), SHARES_OF_B[OWN])

    def picture(self, number: int, appearances: str = OWN) -> np.ndarray:
        """Read or render one frame, uint8 (160, 320, 3).

        Parameters
        ----------
        number : int
            The number of the frame.
        appearances : str
            `OWN` or `OTHER`.
        """
        path = self.picture_path(number, appearances)
        if path.is_file():
            return np.asarray(Image.open(path))
        frames, things = self.layouts()
        things = street.dressed(frames, things, SHARES_OF_B[appearances])
        return street.picture(frames, things, number)

    def pictures(self) -> list[np.ndarray]:
        """Return layouts of low and high income in turn, each in both appearances."""
        low, high = np.reshape(self.pictured(), (2, PICTURES))
        numbers = np.stack([low, high], axis=1).ravel().tolist()
        return [
            self.picture(number, whose) for number in numbers for whose in SHARES_OF_B
        ]

    def appearances(self) -> dict[str, np.ndarray]:
        """Return a small picture of each appearance."""
        return street.appearances()

    def picture_path(self, number: int, appearances: str) -> Path:
        """Return the file of a recorded picture, which need not exist."""
        return self.folder / f"{number}-{appearances.replace(' ', '-')}.png"

    def pictured(self) -> list[int]:
        """Return the six layouts by day with most things near the camera."""
        frames, things = self.layouts()
        near = things[
            (things["distance"] < 20) & things["kind"].isin(street.TWO_APPEARANCES)
        ]
        count = near["frame"].value_counts().reindex(frames.index, fill_value=0)
        clear = (frames["timeofday"] == "daytime") & (frames["weather"] == "clear")
        numbers = []
        for income in ("low", "high"):
            chosen = count[clear & (frames["income"] == income)]
            numbers.extend(chosen.nlargest(PICTURES).index)
        return numbers
