"""Test the detector audit with injected faults, and its lesson."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import papermill
import pytest
from audited import differences, permutations_of, units_of
from detection_oracles import as_coco, average_precision, overlap, scene

from helpers import audits, store
from helpers.icon2 import Frames, group_ap, match, measures
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
    place = np.tile(np.arange(6), n_images)
    image = np.arange(6 * n_images) // 6
    kind = rng.integers(2, size=len(image))
    share = 0.3 + tilt * dim[image]
    dark = rng.random(len(image)) < share
    low = rng.uniform(5, 50, (len(image), 2))
    low[:, 0] += place * CELL
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
    noise = rng.normal(0, 3, (len(detections), 4))
    detections[CORNERS] += noise
    false = pd.DataFrame({"image": rng.integers(n_images, size=n_images)})
    false["category"] = rng.integers(2, size=n_images)
    corner = rng.uniform(0, 400, n_images)
    false["x1"] = corner
    false["y1"] = 200.0
    false["x2"] = corner + SIDE
    false["y2"] = 240.0
    detections = pd.concat([detections, false], ignore_index=True)
    width = detections["x2"] - detections["x1"]
    detections["extent"] = width * (detections["y2"] - detections["y1"])
    number = len(detections)
    detections["score"] = rng.permutation(number) / number  # no ties
    light = np.where(dim, "dim", "day")
    site = rng.choice(["A", "B", "C"], n_images)
    images = pd.DataFrame({"light": light, "site": site})
    images.insert(0, "name", images.index.map("{:04}.png".format))
    return Frames(images, boxes, detections, KINDS)


def test_one_group_of_all_images_has_the_ap_of_pycocotools():
    """Compare with `average_precision` of the oracles, which equals pycocotools."""
    matches = match(scene(3, 60))
    every = Attribute("every", ("yes",), np.zeros(60, int), "image")
    table = group_ap.ap_by_group(matches, [every], matches.classes, resamples=2)
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
        table = group_ap.ap_by_group(match(one), [light], KINDS, resamples=2)
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
    fewer = units_of(replace(frames, detections=detections))
    ours = audit.after_loss(units_of(frames), pd.Series(lost))
    np.testing.assert_array_equal(ours["value"], fewer["value"])
    assert len(detections) < len(frames.detections)


def test_a_box_is_found_if_a_detection_of_its_class_overlaps_it():
    """Boxes are in cells of their own."""
    frames = world(50, loss=0.5)
    units = units_of(frames, threshold=0.2)
    units = units[units["class"] == ALL_CLASSES]
    of_all = units.set_index("measure")["value"]
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
    np.testing.assert_allclose(of_all[RECALL], 100 * (expected >= 0.5))
    thresholds = np.arange(50, 100, 5) / 100
    at_each = [expected >= threshold for threshold in thresholds]
    mean = 100 * np.mean(at_each, axis=0)
    np.testing.assert_allclose(of_all[AVERAGE_RECALL], mean)


def test_without_a_fault_the_family_wise_error_rate_is_about_one_in_twenty(
    monkeypatch,
):
    monkeypatch.setattr(audit, "LOSSES", [0.5])
    monkeypatch.setattr(audit, "TRIALS", 15)
    false_positives = []
    for seed in range(4):
        frames = world(150, seed)
        attributes = [from_column(frames, name) for name in ("light", "site")]
        units = units_of(frames)
        permutations = permutations_of(frames, attributes, seed)
        null = audit.null_distribution(units, permutations, 60)
        compared = audit.compare(units, attributes, null)
        table = audit.detection_rates(units, compared, permutations, null, seed)
        false_positives.append(table["rate"][0])
        targets = [ALL_CLASSES, *KINDS, ALL_CLASSES]
        assert table["class"].tolist() == ["any", *targets, *targets]
        rates = table["rate"][1:]
        assert (rates > 0.8).all(), "half of the boxes of a group are lost"
    assert np.mean(false_positives) < 0.15


def test_p_values_are_by_the_largest_difference_of_any_row():
    null = pd.Series([5.0, 2.0, 8.0, 7.0])
    z = pd.Series([9.0, -6.0, np.nan, 0.9])
    p = audit.p_values(z, null)
    np.testing.assert_allclose(p, [0.2, 0.6, np.nan, 1.0])


def test_a_gap_of_one_group_with_enough_boxes_is_not_explained():
    frames = world(60)
    light = from_column(frames, "light")
    site = from_column(frames, "site")
    boxes = frames.boxes
    is_dim = light.codes[boxes["image"]] == light.values.index("dim")
    boxes = boxes.assign(ignore=is_dim & (boxes["category"] == 0))
    matches = match(replace(frames, boxes=boxes))
    ap = group_ap.ap_by_group(matches, [light], KINDS, resamples=2)
    is_known = ap["AP"].notna().groupby(ap["class"])
    assert is_known.sum().to_dict() == {"ring": 1, "kite": 2}
    table = group_ap.explained(matches, ap, [light, site], resamples=10)
    assert table["class"].tolist() == ["kite"]
    assert table["candidate"].tolist() == ["site"]


def test_a_scene_that_makes_the_gap_is_named_and_leaves_nothing():
    """Dim light has more dark boxes, which are found less often: light itself does
    nothing.
    """
    frames = world(1200, harder=0.5, tilt=0.6)
    attributes = [from_column(frames, name) for name in ("light", "tone", "site")]
    matches = match(frames)
    light = attributes[:1]
    ap = group_ap.ap_by_group(matches, light, ["ring"], resamples=2)
    table = group_ap.explained(matches, ap, attributes, resamples=40)
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
    frames = replace(frames, boxes=frames.boxes.assign(area=100.0))
    fewer = replace(frames, detections=kept)
    with_all = units_of(frames, threshold=0.6)
    without = units_of(fewer)
    np.testing.assert_array_equal(with_all["value"], without["value"])
    assert with_all["value"].sum() > 0


def test_false_positives_are_counted_by_image():
    frames = world(200, loss=0.5)
    light = from_column(frames, "light")
    rows = measures.by_group(units_of(frames), [light], measures.differences)
    rows = rows[rows["measure"] == FALSE_POSITIVES].set_index("group")
    matches = match(frames)
    image = matches.detections["image"][matches.taken[0] < 0]
    is_dim = frames.images["light"] == "dim"
    in_dim = is_dim.to_numpy()[image]
    expected = 100 * in_dim.sum() / is_dim.sum()
    assert rows.loc["dim", "value"] == pytest.approx(expected)
    assert rows.loc["day", "others"] == pytest.approx(expected)


def test_a_second_detector_that_misses_more_in_one_group_is_significant_there_alone():
    frames = world(200)
    light = from_column(frames, "light")
    first = units_of(frames)
    boxes = first[first["measure"] == RECALL]
    codes = light.codes[boxes["image"]]
    in_dim = codes == light.values.index("dim")
    is_third = np.arange(len(boxes)) % 3 == 0
    second = audit.after_loss(first, boxes["row"][in_dim & is_third])
    table = audit.compare_detectors(first, second, [light])
    table = table[table["measure"] == RECALL].set_index("group")
    assert table.loc["dim", "p"] < 0.01
    assert table.loc["dim", "high"] < 0
    assert table.loc["day", "difference"] == 0
    before = boxes["value"][in_dim].mean()
    lost = boxes["value"].where(is_third, 0)[in_dim].mean()
    assert table.loc["dim", "first"] == pytest.approx(before)
    assert table.loc["dim", "difference"] == pytest.approx(-lost)


def test_a_single_class_is_compared_once_and_groups_of_boxes_by_recall_alone():
    frames = world(100)
    boxes = frames.boxes.query("category == 0").reset_index(drop=True)
    found = frames.detections.query("category == 0").reset_index(drop=True)
    one_class = Frames(frames.images, boxes, found, KINDS[:1])
    table = differences(one_class, "tone", draws=19)
    assert set(table["class"]) == {KINDS[0]}, "its gap in AP can be explained"
    assert set(table["measure"]) == {AVERAGE_RECALL, RECALL}


def test_low_scores_of_a_group_are_distinguished_from_missed_boxes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(audit, "TRIALS", 1)
    frames = world(250)
    light = frames.images["light"].to_numpy()[frames.detections["image"]]
    is_low = (light == "dim") & (np.arange(len(light)) % 2 == 0)
    score = frames.detections["score"].mask(is_low, frames.detections["score"] / 4)
    low = replace(frames, detections=frames.detections.assign(score=score))
    missed = replace(frames, detections=frames.detections[~is_low])
    threshold = frames.detections["score"].quantile(0.05)
    for changed, is_said in ((low, True), (missed, False)):
        files = written(tmp_path, changed)
        result = audits.detector(
            *files, groups=["light"], threshold=threshold, draws=59
        )
        assert result.headline.startswith("Worse where light is dim: ")
        assert ("a lower threshold may help" in result.headline) == is_said


def test_one_function_audits_files_and_returns_tables_and_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "TRIALS", 4)
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
    assert result.significant["measure"][0] == AVERAGE_RECALL
    assert (result.tables["second"]["difference"] == 0).all()
    files = result.tables["files"].set_index("status")["text"]
    assert files["second detector, read"] == files["read"]
    page = result.to_html()
    assert page.count("<svg") == 2
    assert "Worse where light is dim" in page


def test_without_attributes_the_sizes_of_boxes_are_compared(tmp_path):
    frames = world(250)
    frames = replace(frames, images=frames.images[["name"]])
    labels, results = written(tmp_path, frames)
    result = audits.detector(labels, results, draws=59, resamples=10)
    assert result.notes[0].startswith("There is no attribute to compare")
    assert set(result.tables["differences"]["attribute"]) == {"box size"}
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
    for name in ("all classes", "ring"):
        wanted = {"attribute": "light", "measure": AVERAGE_RECALL, "class": name}
        [finding] = [one for one in findings if wanted.items() <= one.items()]
        assert finding["high"] < 0
        assert finding["verdict"] == "significant"
        assert finding["p"] < 0.05
    others = [one for one in findings if one["attribute"] == "site"]
    assert {one["verdict"] for one in others} == {"not significant"}
    page = (folder / "page.html").read_text()
    assert "<h1>Worse where light is dim: " in page
    assert "not compared one by one" not in page
    headings = [
        "<h1>",
        "What was read, and what looks wrong</h2>",
        "What this audit could have detected</h2>",
        "Findings</h2>",
    ]
    places = [page.index(part) for part in headings]
    assert places == sorted(places)
    assert {path.stem for path in folder.glob("*.csv")} == {
        "files",
        "findings",
        "power",
        "differences",
        "by_size",
        "by_group",
        "explanations",
    }
    assert record["command"].startswith("make audit-detector LABELS=")
