"""Images and small networks with which tests of Focus rate methods."""

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import interpolate

from helpers import models
from helpers.data import ImageSet
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")
LOGIT = {name: number for number, name in enumerate(CLASSES)}
EACH = 10  # images of a class
NAME = "resnet10-eighth"


def make_images() -> ImageSet:
    """Draw blobs, brighter in the first classes than in the others."""
    torch.manual_seed(0)
    blobs = torch.rand(len(CLASSES) * EACH, 3, 6, 6)
    labels = torch.arange(len(CLASSES)).repeat_interleave(EACH)
    blobs *= 1 - 0.2 * labels[:, None, None, None]
    pixels = interpolate(blobs, (96, 96), mode="bilinear")
    pixels = (255 * pixels).to(torch.uint8)
    table = pd.DataFrame({"class": np.repeat(CLASSES, EACH), "split": "test"})
    return ImageSet("C", pixels, labels, CLASSES, table)


def make_model(name: str = NAME, runs: int = 1) -> Model:
    """Build networks with random weights."""
    networks = [
        models.build(name, len(CLASSES), seed=run).eval() for run in range(runs)
    ]
    return Model(Recipe(name), "C", networks, LOGIT)
