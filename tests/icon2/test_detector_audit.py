"""Test the detector audit with injected faults, and its lesson."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import papermill
import pytest
from audited import audited, comparison
from detection_oracles import as_coco, average_precision, overlap, scene

from helpers import audits, store
from helpers.audit import detector_audit
from helpers.icon2 import Frames, compared, deployed, injected_faults, match
from helpers.icon2 import group_gaps as audit
from helpers.icon2.analysis import image_weights
from helpers.icon2.analysis import interval as usual
from helpers.icon2.attributes import CORNERS, Attribute, DetectionDataError
from helpers.icon2.pooled_recall import labelled_boxes
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
    codes = np.zeros(60, int)
    every = Attribute("every", ("yes",), codes, "image")
    expected = average_precision(matches).mean(1)
    classes = {name: matches.of(name) for name in matches.classes}
    ap = audit.group_ap(classes, [every])
    ap = np.concatenate([*ap.values()])
    np.testing.assert_allclose(ap[:, 0], expected, atol=1e-12)


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
        groups = comparison(one, "light")
        ap = audit.group_ap(groups.classes, groups.attributes)
        each.append([*ap.values()])
    # N is a mean of two numbers of boxes an image
    np.testing.assert_allclose(*each, atol=0.01)


def test_an_injected_loss_is_detected_with_its_group_and_class():
    tables = audited(world(400, loss=0.25), "light", draws=60)
    gaps = tables["gaps"]
    assert gaps["class"].tolist() == ["ring", "kite"]
    assert gaps["verdict"].tolist() == ["significant", "not significant"]
    assert gaps["lowest"][0] == "dim"


def test_what_is_taken_out_is_as_if_the_detector_had_not_found_it():
    frames = world(60)
    groups = comparison(frames, "tone")
    matches = groups.matches
    rng = np.random.default_rng(1)
    lost = rng.random(len(frames.boxes)) < 0.3
    left = injected_faults.without(matches, lost)
    lost_rows = np.flatnonzero(lost)
    gone = np.isin(matches.taken, lost_rows).any(0)
    rows = matches.detections["row"][gone].unique()
    detections = frames.detections.drop(rows).reset_index(drop=True)
    fewer = comparison(replace(frames, detections=detections), "tone")
    classes = {name: left.of(name) for name in KINDS}
    ours = audit.group_ap(classes, groups.attributes)
    theirs = audit.group_ap(fewer.classes, groups.attributes)
    for key in ours:
        np.testing.assert_array_equal(ours[key], theirs[key])
    assert len(detections) < len(frames.detections)


def test_a_box_is_found_if_a_detection_of_its_class_overlaps_it():
    """Boxes are in cells of their own."""
    frames = world(50, loss=0.5)
    boxes = labelled_boxes(frames, match(frames))
    expected = []
    for box in boxes.to_dict("records"):
        own = frames.detections.query(
            f"category == {box['category']} and image == {box['image']}"
        )
        corners = [box[name] for name in CORNERS]
        others = own[CORNERS].to_numpy()
        near = [overlap(other, corners, False) for other in others]
        expected.append(max(near, default=0) >= 0.5)
    assert boxes["found"].tolist() == expected


def test_without_a_fault_the_family_wise_error_rate_is_about_one_in_twenty():
    false_positives = []
    for seed in range(4):
        groups = comparison(world(150, seed), "light", "site", seed=seed)
        null = audit.null_distribution(groups, 60)
        table = injected_faults.detection_rates(groups, null, [0.5], 15, seed)
        false_positives.append(table["rate"][0])
        targets = ["all classes pooled", *KINDS]
        assert table["class"].tolist() == ["any", *targets, *targets]
        assert (table["rate"][1:] > 0.8).all(), "half of the boxes of a group are lost"
    assert np.mean(false_positives) < 0.15


def test_each_permutation_is_compared_with_the_others():
    """Its deviations are by the mean and deviation of all other permutations."""
    groups = comparison(world(80), "light", "site")
    null = audit.null_distribution(groups, 30)
    again = comparison(world(80), "light", "site")
    gaps = []
    for _ in range(30):
        ap = audit.group_ap(again.classes, next(again.permutations))
        gaps.append(audit.gaps_of(ap))
    most = []
    for n in range(30):
        others = np.delete(gaps, n, axis=0)
        above = gaps[n] - others.mean(0)
        deviations = above / others.std(0, ddof=1)
        most.append(deviations.max())
    of_gaps, of_recall = null.largest.T
    np.testing.assert_allclose(of_gaps, most, rtol=1e-9)
    p_gaps = null.p(of_gaps, audit.GAPS)
    p_recall = null.p(of_recall, audit.RECALL)
    significant = np.minimum(p_gaps, p_recall) <= 0.05
    assert significant.sum() <= 1, "one of 30 is at most one in twenty"


def test_p_values_are_by_the_best_rank_in_any_family():
    largest = np.column_stack([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 8.0, 7.0]])
    null = audit.Null([], np.zeros(1), np.ones(1), largest)
    values = np.array([9.0, 3.5, np.nan])
    of_gaps = null.p(values, audit.GAPS)
    np.testing.assert_array_equal(of_gaps, [0.2, 0.6, np.nan])
    assert null.p(np.array(6.5), audit.RECALL) == 0.6


def test_a_scene_that_makes_the_gap_is_named_and_leaves_nothing():
    """Dim light has more dark boxes, which are found less often: light itself does
    nothing.
    """
    frames = world(1200, harder=0.5, tilt=0.6)
    groups = comparison(frames, "light", "tone", "site")
    light, *others = groups.attributes
    table = compared.explained(groups.matches, light, "ring", others, resamples=40)
    by = table.set_index("candidate")
    gap = by.loc["tone", "gap"]
    assert gap > 8
    assert by.loc["tone", "suite's rule"] in ("explains the gap", "explains a part")
    assert gap - by.loc["tone", "fall_high"] < 0.25 * gap
    assert by.loc["tone", "remaining"] < 0.4 * gap
    assert by.loc["site", "remaining"] == pytest.approx(gap, abs=1)
    assert by.loc["site", "suite's rule"] == "does not explain it"


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_nineteen_of_twenty_intervals_hold_the_truth(bias):
    """Numbers are normal and too high by `bias`, as their resamples are again."""
    rng = np.random.default_rng(0)
    values = rng.normal(bias, 1, 4000)
    resamples = values + rng.normal(bias, 1, (60, 4000))
    every = np.vstack([values, resamples])
    low, high = audit.interval(every / 100)
    covers = (low <= 0) & (high >= 0)
    assert 0.95 < covers.mean() < 0.985
    low, high = usual(every)
    covers = (low <= 0) & (high >= 0)
    assert covers.mean() < 0.93, "of 60 resamples, quantiles are too narrow"


def test_errors_at_a_threshold_are_those_of_a_matching_without_the_other_scores():
    frames = scene(5, 40)
    errors = deployed.errors_at(frames, match(frames), 0.6)
    is_kept = frames.detections["score"] >= 0.6
    kept = frames.detections[is_kept].reset_index(drop=True)
    fewer = replace(frames, detections=kept)
    again = deployed.errors_at(fewer, match(fewer), 0.0)
    for name in (deployed.MISSED, deployed.FALSE):
        number = errors[name]["number"]
        np.testing.assert_array_equal(number, again[name]["number"])
        assert number.sum() > 0


@pytest.fixture
def errors():
    """Errors of a detector that misses more in dim light, and what is compared."""
    frames = world(200, loss=0.5)
    groups = comparison(frames, "light")
    return deployed.errors_at(frames, groups.matches, 0.0), groups


def test_errors_at_the_threshold_are_counted_by_group(errors):
    errors, groups = errors
    table = deployed.by_group(errors, groups, image_weights(200, 200), 99)
    rows = table.set_index(["error", "group"])
    [light] = groups.attributes
    is_dim = light.codes == light.values.index("dim")
    missed = errors[deployed.MISSED]
    in_dim = is_dim[missed["image"]]
    share = missed["number"].groupby(in_dim).mean()
    row = rows.loc[deployed.MISSED, "dim"]
    assert row["rate"] == pytest.approx(100 * share[True])
    assert row["others"] == pytest.approx(100 * share[False])
    assert row["low"] < row["rate"] < row["high"]
    assert row["p_adjusted"] <= 0.03
    false = errors[deployed.FALSE]["number"]
    row = rows.loc[deployed.FALSE, "day"]
    assert row["rate"] == pytest.approx(100 * false[~is_dim].mean())


def test_a_second_detector_that_misses_more_in_one_group_is_significant_there_alone(
    errors,
):
    errors, groups = errors
    [light] = groups.attributes
    missed = errors[deployed.MISSED]
    in_dim = light.codes[missed["image"]] == light.values.index("dim")
    lost = in_dim & (np.arange(len(missed)) % 3 == 0)
    number = missed["number"].where(~lost, 1.0)
    worse = errors | {deployed.MISSED: missed.assign(number=number)}
    weights = image_weights(200, 200)
    table = deployed.compare(errors, worse, [light], weights)
    rows = table.set_index(["error", "group"])
    in_dim_light = rows.loc[deployed.MISSED, "dim"]
    assert in_dim_light["p_adjusted"] < 0.01
    assert in_dim_light["low"] > 0
    assert rows.loc[deployed.MISSED, "day"]["difference"] == 0


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
    assert result.significant["finding"][0] == "light/all classes pooled"
    assert (result.tables["second"]["difference"] == 0).all()
    page = result.to_html()
    assert page.count("<svg") == 2
    assert "Worse where light is dim" in page
    assert result.power_sentences[0].startswith("Without a fault, ")


def test_without_attributes_the_sizes_of_boxes_are_compared(tmp_path):
    frames = world(250)
    frames = replace(frames, images=frames.images[["name"]])
    labels, results = written(tmp_path, frames)
    result = audits.detector(labels, results, draws=59, resamples=10)
    assert result.notes[0].startswith("There is no attribute to compare")
    assert set(result.tables["pooled"]["attribute"]) == {"size"}
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
    first, _, third = findings[:3]
    assert first["finding"] == "light/all classes pooled"
    assert first["high"] < 0
    assert third["finding"] == "light/ring"
    assert third["low"] > 0
    for finding in (first, third):
        assert finding["verdict"] == "significant"
        assert finding["p"] == pytest.approx(0.001)
    others = [one for one in findings if one["by"] == "site"]
    assert {one["verdict"] for one in others} == {"not significant"}
    page = (folder / "page.html").read_text()
    assert "<h1>Worse where light is dim: " in page
    assert "2 of 2 classes could be compared one by one.</h1>" in page
    headings = [
        "<h1>",
        "What was read, and what looks wrong</h2>",
        "What this audit could have detected</h2>",
        "Findings</h2>",
    ]
    places = [page.index(part) for part in headings]
    assert places == sorted(places)
    assert {path.stem for path in folder.glob("*.csv")} == {
        *("files", "findings", "power", "pooled", "by_size", "errors", "gaps"),
        *("by_group", "explanations"),
    }
    assert record["command"].startswith("make audit-detector LABELS=")
