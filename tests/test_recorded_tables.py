"""Make a small part of each recorded table again, and compare it with the stored rows.

Networks are trained again, in a store of their own. ``data/README.md`` has the commands
that make whole tables.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from test_focus_real import WEIGHTS, linked, photographs  # noqa: F401  a fixture

import helpers
from helpers import data, focus, store
from helpers.data import mosaic
from helpers.data.images import Images
from helpers.focus import networks
from helpers.icon2 import verdicts
from helpers.icon2.streets import TABLES
from helpers.models.recipe import Recipe
from sweeps import (
    bdd_frames,
    context_worlds,
    eyespot_trials,
    resume,
    rules,
    street_boxes,
    streets,
)
from sweeps.recorded_streets import LESSON_08B
from synthetic import street_causes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not helpers.pinned, reason="kernels are not pinned"),
]


@pytest.fixture(scope="module")
def own_store(tmp_path_factory):
    """Train and detect in an empty store."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("outputs")
        patch.setenv("SUITE_OUTPUTS", str(folder))
        yield folder


def assert_stored(path: Path, name: str) -> None:
    """Assert that all rows of a file are rows of the recorded table, to the last digit."""
    made = pd.read_csv(path, dtype=str).fillna("")
    stored = pd.read_csv(store.root() / "data" / name, dtype=str).fillna("")
    assert set(made) == set(stored)
    found = made.merge(stored, how="left", indicator=True)["_merge"] == "both"
    assert len(made) and found.all(), made[~found]


def test_context_worlds(own_store):
    """One pair of datasets."""
    path = own_store / "context_worlds.csv"
    resume.collect(path, context_worlds.measure_pair, [(3000,)], float_format="%.3g")
    assert_stored(path, path.name)


def test_eyespot_trials(own_store):
    """The networks of one seed and marked class."""
    path = own_store / "eyespot_trials.csv"
    case = (9, 1.0, "mug")
    resume.collect(path, eyespot_trials.measure_case, [case], float_format="%.4g")
    made = pd.read_csv(path, dtype=str)
    # an earlier version counted these, without a bias only
    made["significant_pairs"] = ""
    made["significant_pairs_one_run"] = ""
    made.to_csv(path, index=False)
    assert_stored(path, path.name)


def test_rules(own_store):
    """One kind of scenes, in which a cause and the detector explain the gap."""
    path = own_store / "rules.csv"
    case = (6, verdicts.BOTH, "occlusion", street_causes.STRENGTHS["occlusion"], True)
    resume.collect(path, rules.measure_scenario, [case])
    assert_stored(path, path.name)


def test_street_boxes(own_store):
    """The whole table."""
    made = street_boxes.measure().to_csv(index=False)
    assert made == (store.root() / "data" / "street_boxes.csv").read_text()


@pytest.mark.timeout(2700)  # a detector is trained
def test_recorded_streets(own_store, monkeypatch):
    """Labels and detections of lesson 08b."""
    recorded = LESSON_08B.load()
    monkeypatch.setattr("helpers.icon2.streets.FOLDER", own_store)
    made = LESSON_08B.load()
    for name in TABLES:
        table = getattr(made, name)
        kept = getattr(recorded, name)
        pd.testing.assert_frame_equal(
            table, kept, check_exact=True, check_column_type=False
        )


def test_streets(own_store):
    """One run of the detector, with groups whose scenes are equally hard."""
    path = own_store / "streets.csv"
    resume.collect(path, streets.measure_world, [(0.0, 0.12, 0)])
    assert_stored(path, path.name)


def test_icon2_bdd100k(real, tmp_path):
    """The whole table."""
    table = bdd_frames.measure(real / "bdd100k")
    table.to_csv(tmp_path / "made.csv", index=False)
    assert_stored(tmp_path / "made.csv", "icon2_bdd100k.csv")


def test_focus_imagenet(real, photographs, own_store, tmp_path):  # noqa: F811
    """The means of the two fastest methods; their intervals are tested elsewhere."""
    folder = linked(photographs, photographs["imagenet_index"], tmp_path)
    recipe = Recipe("squeezenet1_0", networks.AS_IT_IS, str(real / WEIGHTS))
    collection = data.load(Images("folder", 224, folder=str(folder)), 0)
    images = networks.held_out(collection, recipe)["C"]
    images = replace(images, images=mosaic.squeeze(images.images, 112, 112))
    model = networks.model(collection, recipe, 0)
    design = focus.design(images.table, images.classes, per_class=2)
    stored = store.recorded_table("focus_imagenet.csv").set_index("method")
    for method, name in (("gradcam", "GradCAM"), ("gradcam++", "GradCAM++")):
        rated = focus.rate(model, images, design, method)
        summary = focus.summary(rated)
        made = summary.iloc[0]
        recorded = stored.loc[name]
        for column in ("mosaics", "undefined", "mean"):
            rounded = round(made[column], 4)
            assert rounded == recorded[column]
