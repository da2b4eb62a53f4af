"""Paste counts against counting one by one, and against what the paper prints."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_colour import image_set

from helpers import paste_counts, stats
from helpers.sources import Collection

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
    logits = torch.tensor(rng.normal(size=(len(design), 4)))
    alone = {c: torch.tensor(rng.normal(size=(7, 4))) for c in CLASSES}
    return alone, logits, design


def test_counts_equal_counting_one_by_one():
    alone, logits, design = scored()
    table = paste_counts.counts(alone, CLASSES, logits, design)
    assert len(table) == 16
    for row in table.to_dict("records"):
        wanted = CLASSES.index(row["context_class"])
        if row["pasted"] == "nothing":
            said = [int(np.argmax(one)) for one in alone[row["context_class"]].numpy()]
        else:
            said = [
                int(np.argmax(logits[i].numpy()))
                for i, d in enumerate(design.to_dict("records"))
                if d["kind"] == "context"
                and d["object_class"] == row["pasted"]
                and d["context_class"] == row["context_class"]
            ]
        assert row["predicted"] == said.count(wanted) and row["images"] == len(said)
        assert (row["low"], row["high"]) == pytest.approx(
            stats.wilson(row["predicted"], row["images"])
        )


def test_without_masks_the_contexts_alone_remain():
    table = paste_counts.counts(scored()[0], CLASSES)
    assert table["pasted"].tolist() == ["nothing"] * 4


def test_refuses_logits_that_do_not_fit():
    alone, logits, design = scored()
    with pytest.raises(ValueError, match="rows of the design"):
        paste_counts.counts(alone, CLASSES, logits[:-1], design)
    with pytest.raises(ValueError, match="do not fit 4 classes"):
        paste_counts.counts({"mug": torch.zeros(3, 2)}, CLASSES)


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


def test_neutral_counts_and_what_contexts_are_called_equal_counting_one_by_one():
    alone, logits, design = scored()
    table = paste_counts.on_neutral(logits, design, CLASSES).set_index("context_class")
    for name in CLASSES:
        rows = [
            i
            for i, d in enumerate(design.to_dict("records"))
            if d["kind"] == "neutral" and d["object_class"] != name
        ]
        said = [CLASSES[int(np.argmax(logits[i].numpy()))] for i in rows]
        assert table.loc[name].tolist() == [said.count(name), len(rows)]
        called = [CLASSES[int(np.argmax(one))] for one in alone[name].numpy()]
        found = paste_counts.called(alone, CLASSES).loc[name]
        assert found.to_dict() == {c: called.count(c) for c in CLASSES}
