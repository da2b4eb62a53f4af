"""Little grey pictures of planted frames, as light as the hour and with a patch for every box.

They exist to be measured (illumination, contrast), not to be looked at for long. Night frames are
dark, and night is hard by the law; how far a box stands out from its street is drawn at random and
changes nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from helpers.detection.data import CORNERS, GroundTruth
from helpers.driving_world.drive import HEIGHT, WIDTH

LIGHT = {"daytime": 0.6, "dawn/dusk": 0.4, "night": 0.15}  # luminance in 0..1
VARIES = 0.06  # its standard deviation between frames
STANDS_OUT = (0.1, 0.6)  # share by which a box is darker than its street
REDUCED = 4  # a picture is 320 x 180 pixels


def paint(truth: GroundTruth, folder: Path, seed: int = 0) -> Path:
    """Write a JPEG file for each frame, named as the frame is.

    Parameters
    ----------
    truth
        Of a planted world; ``timeofday`` gives the light.
    folder
    seed

    Returns
    -------
    Path
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    light = truth.images.timeofday.map(LIGHT).astype(float).to_numpy()
    light = np.clip(light + rng.normal(0, VARIES, len(light)), 0.02, 0.98)
    corners = np.round(truth.boxes[CORNERS].to_numpy() / REDUCED).astype(int)
    darker = 1 - rng.uniform(*STANDS_OUT, len(corners))
    rows_of = truth.boxes.groupby("image").indices
    for i, name in enumerate(truth.images.name):
        picture = np.full((HEIGHT // REDUCED, WIDTH // REDUCED), light[i])
        for row in rows_of.get(i, ()):
            x1, y1, x2, y2 = corners[row]
            picture[y1:y2, x1 : (x1 + x2 + 1) // 2] *= darker[row]  # half of it: an edge within
        Image.fromarray((255 * picture).astype(np.uint8)).save(folder / name, quality=80)
    return folder
