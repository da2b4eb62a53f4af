"""Examples: objects in their own context first, one of each kind of mosaic."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.contexts import mosaics, typical

CLASSES = ("bench", "plane", "mug")
CONTEXT_OF = {"bench": "park", "plane": "sky", "mug": "wood"}


@pytest.fixture
def table():
    names = np.repeat(CLASSES, 4)
    contexts = ["sky", "wood", "park", "park"] + ["sky"] * 4 + ["park", "sky", "sky", "park"]
    return pd.DataFrame({"class": names, "context": contexts})


def test_own_contexts_are_found_and_unknown_ones_do_not_empty_the_choice(table):
    assert np.flatnonzero(typical.in_own(table, CONTEXT_OF)).tolist() == [2, 3, 4, 5, 6, 7]
    assert typical.in_own(table.assign(context=""), CONTEXT_OF).all()


def test_one_each_shows_every_class_beside_every_partner(table):
    labels = torch.arange(3).repeat_interleave(4)
    contexts = {name: [0] * 7 for name in CLASSES}
    design = mosaics.design(labels, contexts, CLASSES, per_context=2, seed=0)
    shown = typical.one_each(design, table, CONTEXT_OF)
    assert shown["kind"].tolist() == ["context", "context", "own", "neutral"] * 3
    assert shown["object_class"].tolist() == list(np.repeat(CLASSES, 4))
    own = shown[shown["kind"] == "own"]
    assert (own["object_class"] == own["context_class"]).all()
    seen = shown[shown["object_class"] != "mug"]  # no mug stands on wood
    assert typical.in_own(table, CONTEXT_OF)[seen["object"]].all()
    assert (shown.index.isin(design.index)).all() and set(shown.columns) == set(design.columns)
