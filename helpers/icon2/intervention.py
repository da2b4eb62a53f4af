"""Train the detector of the synthetic street scenes, and observe it on other scenes.

The same layouts can be observed with the appearances of their own income group and of
the opposite group. This divides the gap of the detector into parts.
"""

from collections.abc import Sequence

import pandas as pd
import torch

from helpers import store
from helpers.icon2 import detector as detectors
from helpers.icon2.attributes import Frames
from helpers.icon2.detector import Detector
from helpers.icon2.formulas import divided as divided
from helpers.synthetic_data import street

# of appearance B in the test frames of each income group
SHARES_OF_B = (0.9, 0.5, 0.1)
TRAINED_ON = 600  # frames
CONTROL = "paper's control"


def trained(share_of_b: float, seed: int) -> Detector:
    """Return the stored detector, trained on equal scenes for all income groups.

    Parameters
    ----------
    share_of_b : float
        The share of appearance B in the training images.
    seed : int
    """
    frames, things = street.scenes(TRAINED_ON, 1000 + seed)
    images, boxes = street.render(frames, street.dressed(frames, things, share_of_b))
    return detectors.trained(
        torch.from_numpy(images),
        boxes,
        street.KINDS,
        seed=seed,
        folder=store.networks(),
    )


def observed(
    detector: Detector,
    frames: pd.DataFrame,
    things: pd.DataFrame,
    shares_of_b: float | Sequence[float],
) -> Frames:
    """Render street scenes, and detect their things.

    Parameters
    ----------
    detector : Detector
    frames, things : pandas.DataFrame
        The layouts of `street.scenes`.
    shares_of_b : float or three floats
        The share of appearance B, for all frames or for each income group.

    Returns
    -------
    Frames
        Detections are read from the store if the images are known.
    """
    images, boxes = street.render(frames, street.dressed(frames, things, shares_of_b))

    def detect() -> tuple[dict, dict]:
        found = detectors.detect(detector, torch.from_numpy(images))
        found["category"] = pd.Index(street.KINDS).get_indexer(found["category"])
        return dict(found), {}

    _, arrays, _ = store.arrays(
        "detections",
        store.networks() / "detections",
        detect,
        images=images,
        detector=detector.identity,
    )
    columns = ["image", "category", *detectors.CORNERS, "score"]
    frames = frames.assign(contrast=[round(float(image.std()), 1) for image in images])
    return Frames(frames, boxes, pd.DataFrame(arrays)[columns], street.KINDS)
