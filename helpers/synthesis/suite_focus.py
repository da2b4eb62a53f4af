"""What notebook 06 measures, as rows with groups: is an explanation about its target's images?"""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from helpers.data import Collection
from helpers.explain import METHODS
from helpers.focus import study
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
    settings = SimpleNamespace(**chosen)
    only = {TRAINED_ON: study.held_out(collection, settings)[TRAINED_ON]}
    networks = {
        (architecture, TRAINED_ON): study.one(architecture, TRAINED_ON, collection, settings)
        for architecture in settings.architectures
    }
    designs = study.designs(only, settings)
    rated = study.ratings(networks, only, designs, METHODS_RATED, settings)
    names = rated["method"].map({name: METHODS[name].name for name in METHODS_RATED})
    right = (rated["focus"] > CHANCE).astype(int)
    found = rated[["architecture", "training", "mosaic", "focus"]]
    return found.assign(method=names, right=right)
