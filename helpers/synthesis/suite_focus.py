"""What notebook 06 measures, as rows with groups: is an explanation about its target's images?"""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from helpers.data import Collection
from helpers.focus import design, networks, rating
from helpers.run.parameters import PRESETS

METHODS_RATED = ("gradcam", "lrp", "smoothgrad", "integrated-gradients")
TRAINED_ON = "C"
CHANCE = 0.5


def explained(collection: Collection, settings: SimpleNamespace) -> pd.DataFrame:
    """Rows of notebook 06: method, architecture, training, mosaic, focus, right.

    `right`: more than half of the positive relevance lies on the two images of the target class;
    that half is chance. A map without positive relevance has no Focus, and is not right.

    Parameters
    ----------
    collection
        Its set C is used.
    settings
        `preset`, `architecture`, `family`, `pretrained`, `epochs`, `trainings`, `seed`, `source`
        and `image_size`; for the others that notebook 06 has, its preset's. The architectures are
        the preset's three, or the one asked for where that is another. Networks and ratings in the
        store are found there.
    """
    chosen = {"shape": "native", **PRESETS[settings.preset], **vars(settings)}
    if settings.architecture not in chosen["architectures"]:
        chosen["architectures"] = [settings.architecture]
    only = {TRAINED_ON: networks.held_out(collection, settings.model)[TRAINED_ON]}
    models = networks.every(
        collection, settings.model, settings.seed, chosen["architectures"], [TRAINED_ON]
    )
    images = only[TRAINED_ON]
    shown = {"per_class": chosen["mosaics"], "seed": settings.seed}
    designs = {TRAINED_ON: design(images.table, images.classes, **shown)}
    how = {"effort": chosen["effort"], "shape": chosen["shape"]}
    rated = rating.ratings(models, only, designs, METHODS_RATED, **how)
    right = (rated["focus"] > CHANCE).astype(int)
    return rated[["architecture", "training", "mosaic", "focus", "method"]].assign(right=right)
