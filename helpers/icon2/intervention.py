"""Train the detector of the synthetic street scenes, and observe it on other scenes.

The same layouts can be observed with the appearances of their own income group and of
the opposite group. This divides the gap of the detector into parts.
"""

from collections.abc import Sequence

import pandas as pd
import torch
from torch import nn

from helpers import store
from helpers.icon2.attributes import CORNERS, Frames
from helpers.icon2.detector import detect
from helpers.icon2.formulas import divided as divided
from helpers.models import networks
from helpers.synthetic_data import street, street_detector

# of appearance B in the test frames of each income group
SHARES_OF_B = (0.9, 0.5, 0.1)
TRAINED_ON = 600  # frames
CONTROL = "paper's control"


def trained(share_of_b: float, seed: int) -> nn.Module:
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
    network = street_detector.build(len(street.KINDS), tuple(images.shape[-2:]), seed)

    def train() -> tuple[nn.Module, dict]:
        street_detector.train(network, images, boxes, seed=seed)
        return network, {}

    _, weights, _ = networks.once(
        "detector",
        store.networks(),
        train,
        images=images,
        boxes=boxes[["image", "category", *CORNERS]].to_numpy(float),
        classes=list(street.KINDS),
        seed=seed,
    )
    network.load_state_dict(weights)
    return network.eval()


def observed(
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
    found = detect(detector, torch.from_numpy(images))
    found["category"] = found["label"] - 1  # 0 is the background
    found = found[["image", "category", *CORNERS, "score"]]
    frames = frames.assign(contrast=[round(float(image.std()), 1) for image in images])
    return Frames(frames, boxes, found, street.KINDS)
