"""Paste counts against counting one by one, and against what the paper prints."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_colour import image_set

from helpers import stats
from helpers.contexts import paste_counts
from helpers.data import Collection

CLASSES = ("bench", "fire hydrant", "plane", "mug")


def scored(seed=0):
    """A design of 12 pairs of 5, with controls, and random logits."""
    rng = np.random.default_rng(seed)
    rows = [
        {"object_class": o, "context_class": c, "kind": kind}
        for o in CLASSES
        for c in CLASSES
        for kind in (["own"] if o == c else ["context", "neutral"])
        for _ in range(5)
    ]
    design = pd.DataFrame(rows).sample(frac=1, random_state=seed, ignore_index=True)
    logits = torch.tensor(rng.normal(size=(3, len(design), 4)))
    alone = {c: torch.tensor(rng.normal(size=(3, 7, 4))) for c in CLASSES}
    return alone, logits, design


def test_taken_and_counts_equal_counting_one_by_one():
    alone, logits, design = scored()
    taken = paste_counts.taken(alone, CLASSES, logits, design)
    assert len(taken) == 4 * (1 + 3 + 1)
    for (context, pasted), said in taken.items():
        if pasted == paste_counts.NOTHING:
            asked = [[one for one in training] for training in alone[context]]
        else:
            rows = [
                i
                for i, d in enumerate(design.to_dict("records"))
                if (
                    d["kind"] == "neutral" and d["object_class"] != context
                    if pasted == paste_counts.NEUTRAL
                    else (d["kind"], d["object_class"], d["context_class"])
                    == ("context", pasted, context)
                )
            ]
            asked = [[training[i] for i in rows] for training in logits]
        wanted = CLASSES.index(context)
        by_hand = [[float(np.argmax(one.numpy()) == wanted) for one in said] for said in asked]
        assert said.tolist() == by_hand
    table = paste_counts.counts(taken)
    assert len(table) == 16
    for row in table.to_dict("records"):
        said = taken[row["context_class"], row["pasted"]]
        assert row["predicted"] == pytest.approx(said.sum() / 3)
        assert row["images"] == (7 if row["pasted"] == "nothing" else 5) == said.shape[1]
        assert (row["share"], row["low"], row["high"]) == pytest.approx(stats.share(said))


def test_without_masks_the_contexts_alone_remain():
    table = paste_counts.counts(paste_counts.taken(scored()[0], CLASSES))
    assert table["pasted"].tolist() == ["nothing"] * 4


def test_refuses_logits_that_do_not_fit():
    alone, logits, design = scored()
    with pytest.raises(ValueError, match="rows of the design"):
        paste_counts.taken(alone, CLASSES, logits[:, :-1], design)
    with pytest.raises(ValueError, match="do not fit 4 classes"):
        paste_counts.taken({"mug": torch.zeros(1, 3, 2)}, CLASSES)


def collection_of(sets):
    return Collection("folder", ("bench", "mug"), sets, {}, {})


def test_objects_are_the_test_images_that_show_one():
    images = image_set("WB")
    images.masks[-1] = False
    sets = {"WB": images}
    found = paste_counts.objects(collection_of(sets))
    assert len(found) == 19 and found.masks.flatten(1).any(1).all()
    without = {"WB": image_set("WB", masks=False)}
    assert paste_counts.objects(collection_of(without)) is None
    assert paste_counts.objects(collection_of({})) is None


def test_the_papers_counts_are_the_printed_ones():
    printed = paste_counts.paper_counts().set_index(["context", "pasted"])["predicted"]
    assert printed["sky"].to_dict() == {"nothing": 24, "mug": 19, "bench": 21, "fire hydrant": 4}
    assert printed["park"].to_dict() == {"nothing": 25, "mug": 25, "fire hydrant": 22, "plane": 24}
    assert printed["road"].to_dict() == {"nothing": 15, "bench": 5, "mug": 9, "plane": 0}
    assert printed["wood"].to_dict() == {"nothing": 25, "bench": 9, "fire hydrant": 6, "plane": 8}
    pairs = paste_counts.paper_pairs()
    assert len(pairs) == 11  # not the fire hydrant beside the sky
    bench = pairs.set_index(["context", "object_class"]).loc[("sky", "bench")]
    assert bench["mosaic_share"] == 44 / 125 and bench["paste_share"] == 21 / 25


def test_what_contexts_are_called_equals_counting_one_by_one():
    alone, _, _ = scored()
    for name in CLASSES:
        called = [CLASSES[int(np.argmax(one))] for one in alone[name].numpy().reshape(-1, 4)]
        found = paste_counts.called(alone, CLASSES).loc[name]
        assert found.to_dict() == pytest.approx({c: called.count(c) / 3 for c in CLASSES})
