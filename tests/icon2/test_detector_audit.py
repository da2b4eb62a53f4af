"""Test the detector audit with injected faults, and its lesson."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import papermill
import pytest
from audited import comparison, differences
from detection_oracles import as_coco, average_precision, overlap, scene

from helpers import audits, store
from helpers.audit import detector_audit
from helpers.icon2 import Frames, group_ap, match
from helpers.icon2 import group_comparison as audit
from helpers.icon2.analysis import with_interval
from helpers.icon2.attributes import (
    CORNERS,
    Attribute,
    DetectionDataError,
    from_column,
)
from helpers.icon2.measures import (
    ALL_CLASSES,
    AVERAGE_RECALL,
    FALSE_POSITIVES,
    RECALL,
    labelled_boxes,
)
from helpers.run_lesson import exercises_may_fail

KINDS = ("ring", "kite")
CELL = 100
SIDE = 40


def world(n_images=300, seed=0, loss=0.0, harder=0.0, tilt=0.0):
    """Boxes in cells of their own, each found with .8. In dim light a ring is found
    less often by `loss`, and a box of dark tone by `harder`; in dim light boxes are
    dark more often by `tilt`.
    """
    rng = np.random.default_rng(seed)
    dim = rng.random(n_images) < 0.4
    image = np.repeat(np.arange(n_images), 6)
    place = np.tile(np.arange(6), n_images)
    kind = rng.integers(2, size=len(image))
    dark = rng.random(len(image)) < 0.3 + tilt * dim[image]
    low = np.column_stack([place * CELL, np.zeros(len(image))])
    low += rng.uniform(5, 50, (len(image), 2))
    high = low + SIDE
    corners = np.hstack([low, high])
    boxes = pd.DataFrame(corners, columns=CORNERS)
    boxes = boxes.assign(image=image, category=kind, ignore=False)
    boxes["tone"] = np.where(dark, "dark", "bright")
    boxes["area"] = boxes["extent"] = float(SIDE**2)
    is_dim_ring = dim[image] & (kind == 0)
    rate = 0.8 - loss * is_dim_ring - harder * dark
    hit = rng.random(len(image)) < rate
    columns = ["image", "category", *CORNERS]
    detections = boxes.loc[hit, columns]
    detections = detections.reset_index(drop=True)
    detections[CORNERS] += rng.normal(0, 3, (len(detections), 4))
    false = pd.DataFrame(
        {"image": rng.integers(n_images, size=n_images), "category": 0}
    )
    false["category"] = rng.integers(2, size=n_images)
    corner = rng.uniform(0, 400, n_images)
    false["x1"] = corner
    false["y1"] = 200.0
    false["x2"] = corner + SIDE
    false["y2"] = 240.0
    detections = pd.concat([detections, false], ignore_index=True)
    width = detections["x2"] - detections["x1"]
    detections["extent"] = width * (detections["y2"] - detections["y1"])
    detections["score"] = rng.permutation(len(detections)) / len(detections)  # no ties
    light = np.where(dim, "dim", "day")
    site = rng.choice(["A", "B", "C"], n_images)
    images = pd.DataFrame(
        {"name": [f"{i:04}.png" for i in range(n_images)], "light": light, "site": site}
    )
    return Frames(images, boxes, detections, KINDS)


def test_one_group_of_all_images_has_the_ap_of_pycocotools():
    """Compare with `average_precision` of the oracles, which equals pycocotools."""
    matches = match(scene(3, 60))
    every = Attribute("every", ("yes",), np.zeros(60, int), "image")
    weights = np.ones((3, 60))
    table = group_ap.ap_by_group(matches, matches.classes, [every], weights)
    at_each_threshold = average_precision(matches)
    expected = 100 * at_each_threshold.mean(1)
    np.testing.assert_allclose(table["AP"], expected, atol=1e-10)


def test_the_ap_of_a_group_does_not_depend_on_how_many_images_it_has():
    """Copies of the images of one group change neither its AP nor the other's."""
    frames = world(80, loss=0.3)
    dim = np.flatnonzero(frames.images["light"] == "dim")
    copies = np.concatenate([np.arange(80), dim, dim])
    tables = []
    for table in (frames.boxes, frames.detections):
        parts = [
            table[table["image"] == old].assign(image=new)
            for new, old in enumerate(copies)
        ]
        tables.append(pd.concat(parts, ignore_index=True))
    images = frames.images.iloc[copies].reset_index(drop=True)
    more = Frames(images, *tables, KINDS)
    each = []
    for one in (frames, more):
        light = from_column(one, "light")
        weights = np.ones((3, len(one.images)))
        table = group_ap.ap_by_group(match(one), KINDS, [light], weights)
        each.append(table["AP"])
    # N is a mean of two numbers of boxes an image
    np.testing.assert_allclose(*each, atol=1)


def test_an_injected_loss_is_detected_with_its_group_and_class():
    table = differences(world(400, loss=0.25), "light", draws=60)
    is_average = table["measure"] == AVERAGE_RECALL
    of_dim = table[is_average & (table["group"] == "dim")]
    of_dim = of_dim.set_index("class")
    assert of_dim.loc["ring", "verdict"] == "significant"
    assert of_dim.loc["kite", "verdict"] == "not significant"
    assert of_dim.loc["ring", "difference"] < -10


def test_a_loss_is_as_if_the_detector_had_not_found_the_boxes():
    """Detections of lost boxes are removed, and everything is measured again."""
    frames = world(60)
    matches = match(frames)
    rng = np.random.default_rng(1)
    is_lost = rng.random(len(frames.boxes)) < 0.3
    lost = np.flatnonzero(is_lost)
    gone = np.isin(matches.taken, lost).any(0)
    rows = matches.detections["row"][gone].unique()
    detections = frames.detections.drop(rows).reset_index(drop=True)
    fewer = comparison(replace(frames, detections=detections), "tone")
    before = comparison(frames, "tone")
    for ours, theirs in zip(before.measures, fewer.measures, strict=True):
        ours = ours.after_loss(pd.Series(lost))
        np.testing.assert_array_equal(ours.units["value"], theirs.units["value"])
    assert len(detections) < len(frames.detections)


def test_a_box_is_found_if_a_detection_of_its_class_overlaps_it():
    """Boxes are in cells of their own."""
    frames = world(50, loss=0.5)
    boxes = labelled_boxes(frames, match(frames), 0.2)
    detections = frames.detections[frames.detections["score"] >= 0.2]
    expected = []
    for box in frames.boxes.to_dict("records"):
        own = detections.query(
            f"category == {box['category']} and image == {box['image']}"
        )
        corners = [box[name] for name in CORNERS]
        others = own[CORNERS].to_numpy()
        near = [overlap(other, corners, False) for other in others]
        expected.append(max(near, default=0))
    expected = np.array(expected)
    assert boxes[RECALL].tolist() == (expected >= 0.5).tolist()
    thresholds = np.arange(50, 100, 5) / 100
    at_each = [expected >= threshold for threshold in thresholds]
    mean = np.mean(at_each, axis=0)
    np.testing.assert_allclose(boxes[AVERAGE_RECALL], mean)


def test_without_a_fault_the_family_wise_error_rate_is_about_one_in_twenty():
    false_positives = []
    for seed in range(4):
        groups = comparison(world(150, seed), "light", "site", seed=seed)
        null = audit.null_distribution(groups, 60)
        table = audit.detection_rates(groups, null, [0.5], 15, seed)
        false_positives.append(table["rate"][0])
        targets = [ALL_CLASSES, *KINDS, ALL_CLASSES]
        assert table["class"].tolist() == ["any", *targets, *targets]
        assert (table["rate"][1:] > 0.8).all(), "half of the boxes of a group are lost"
    assert np.mean(false_positives) < 0.15


def test_p_values_are_by_the_largest_difference_of_any_row():
    null = np.array([[1.0, 5.0], [2.0, np.nan], [8.0, 3.0], [4.0, 7.0]])
    difference = np.array([9.0, 6.0, np.nan, 0.9])
    p, is_significant = audit.significance(difference, np.ones(4), null)
    np.testing.assert_allclose(p, [0.2, 0.6, np.nan, 1.0])
    assert not is_significant.any()
    many = np.zeros((99, 2))
    p, is_significant = audit.significance(difference, np.ones(4), many)
    assert is_significant.tolist() == [True, True, False, False]


def test_a_scene_that_makes_the_gap_is_named_and_leaves_nothing():
    """Dim light has more dark boxes, which are found less often: light itself does
    nothing.
    """
    frames = world(1200, harder=0.5, tilt=0.6)
    light, *others = (from_column(frames, name) for name in ("light", "tone", "site"))
    table = group_ap.explained(match(frames), light, "ring", others, resamples=40)
    by = table.set_index("candidate")
    sigma = by.loc["tone", "sigma"]
    assert sigma > 6
    assert by.loc["tone", "suite's rule"] in ("explains the gap", "explains a part")
    assert sigma - by.loc["tone", "fall_high"] < 0.25 * sigma
    assert by.loc["tone", "remaining"] < 0.4 * sigma
    assert by.loc["site", "remaining"] == pytest.approx(sigma, abs=1)
    assert by.loc["site", "suite's rule"] == "does not explain it"


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_nineteen_of_twenty_intervals_hold_the_truth(bias):
    """Numbers are normal and too high by `bias`, as their resamples are again."""
    rng = np.random.default_rng(0)
    values = rng.normal(bias, 1, 4000)
    resamples = values + rng.normal(bias, 1, (60, 4000))
    every = np.vstack([values, resamples])
    low, high = group_ap.outer_interval(every)
    covers = (low <= 0) & (high >= 0)
    assert 0.95 < covers.mean() < 0.985
    usual = with_interval("AP", every)
    covers = (usual["low"] <= 0) & (usual["high"] >= 0)
    assert covers.mean() < 0.93, "of 60 resamples, quantiles are too narrow"


def test_measures_at_a_threshold_are_those_without_the_other_scores():
    frames = scene(5, 40)
    is_kept = frames.detections["score"] >= 0.6
    kept = frames.detections[is_kept].reset_index(drop=True)
    frames = replace(
        frames,
        images=frames.images.assign(half=np.arange(40) % 2),
        boxes=frames.boxes.assign(area=100.0),
    )
    fewer = replace(frames, detections=kept)
    with_all = comparison(frames, "half", threshold=0.6).measures
    without = comparison(fewer, "half").measures
    for ours, theirs in zip(with_all, without, strict=True):
        np.testing.assert_array_equal(ours.units["value"], theirs.units["value"])
        assert ours.units["value"].sum() > 0


def test_false_positives_are_counted_by_image():
    frames = world(200, loss=0.5)
    rows = comparison(frames, "light").rows()
    rows = rows[rows["measure"] == FALSE_POSITIVES].set_index("group")
    matches = match(frames)
    image = matches.detections["image"][matches.taken[0] < 0]
    is_dim = frames.images["light"] == "dim"
    expected = 100 * is_dim.to_numpy()[image].sum() / is_dim.sum()
    assert rows.loc["dim", "value"] == pytest.approx(expected)
    assert rows.loc["day", "others"] == pytest.approx(expected)


def test_a_second_detector_that_misses_more_in_one_group_is_significant_there_alone():
    frames = world(200)
    first = comparison(frames, "light")
    [light] = first.attributes
    boxes = first.measures[0].units
    codes = light.codes[boxes["image"]]
    in_dim = codes == light.values.index("dim")
    is_third = np.arange(len(boxes)) % 3 == 0
    lost = boxes["row"][in_dim & is_third]
    worse = [measure.after_loss(lost) for measure in first.measures]
    second = replace(first, measures=worse)
    table = audit.compare_detectors(first, second)
    table = table[table["measure"] == RECALL].set_index("group")
    assert table.loc["dim", "p"] < 0.01
    assert table.loc["dim", "high"] < 0
    assert table.loc["day", "difference"] == 0
    before = first.measures[-2].units["value"]
    after = worse[-2].units["value"]
    change = (after - before)[in_dim].mean()
    assert table.loc["dim", "difference"] == pytest.approx(100 * change)


def test_one_function_audits_files_and_returns_tables_and_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(detector_audit, "TRIALS", 4)
    labels, results = written(tmp_path, world(250, loss=0.4))
    result = audits.detector(
        labels,
        results,
        groups=["light"],
        second=results,
        draws=59,
        resamples=10,
    )
    assert result.headline.startswith("Worse where light is dim: ")
    assert result.significant["finding"][0] == "light/average recall, all classes"
    assert (result.tables["second"]["difference"] == 0).all()
    page = result.to_html()
    assert page.count("<svg") == 2
    assert "Worse where light is dim" in page


def test_without_attributes_the_sizes_of_boxes_are_compared(tmp_path):
    frames = world(250)
    frames = replace(frames, images=frames.images[["name"]])
    labels, results = written(tmp_path, frames)
    result = audits.detector(labels, results, draws=59, resamples=10)
    assert result.notes[0].startswith("There is no attribute to compare")
    assert set(result.tables["differences"]["attribute"]) == {"size"}
    assert result.significant.empty


def test_an_unknown_class_is_refused(tmp_path):
    labels, results = written(tmp_path, world(30))
    with pytest.raises(DetectionDataError, match="no labelled class 'cow'"):
        audits.detector(labels, results, classes=["cow"])


def written(folder, frames):
    labels, results = as_coco(frames)
    (folder / "boxes.json").write_text(json.dumps(labels))
    (folder / "detections.json").write_text(json.dumps(results))
    return [str(folder / "boxes.json"), str(folder / "detections.json")]


@pytest.mark.slow
def test_the_lesson_leaves_a_folder_whose_report_names_the_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "out"))
    labels, results = written(tmp_path, world(250, loss=0.4))
    values = {
        "labels": labels,
        "detections": results,
        "resamples": 20,
        "groups": "site, light",
        "output": "audit",
    }
    notebook = store.root() / "notebooks/12_audit_your_detector.ipynb"
    executed = tmp_path / "ran.ipynb"
    with exercises_may_fail(executed):
        papermill.execute_notebook(notebook, executed, values, progress_bar=False)
    folder = tmp_path / "out" / "audit"
    record = json.loads((folder / "findings.json").read_text())
    findings = record["findings"]
    by_name = {one["finding"]: one for one in findings}
    for measure in ("all classes", "ring"):
        finding = by_name[f"light/average recall, {measure}"]
        assert finding["high"] < 0
        assert finding["verdict"] == "significant"
        assert finding["p"] < 0.05
    others = [one for one in findings if one["by"] == "site"]
    assert {one["verdict"] for one in others} == {"not significant"}
    page = (folder / "page.html").read_text()
    assert "<h1>Worse where light is dim: " in page
    assert "2 of 2 classes were compared one by one.</h1>" in page
    headings = [
        "<h1>",
        "What was read, and what looks wrong</h2>",
        "What this audit could have detected</h2>",
        "Findings</h2>",
    ]
    places = [page.index(part) for part in headings]
    assert places == sorted(places)
    assert {path.stem for path in folder.glob("*.csv")} == {
        *("files", "findings", "power", "differences", "by_size"),
        *("by_group", "explanations"),
    }
    assert record["command"].startswith("make audit-detector LABELS=")
