"""Test the detector audit with injected faults, and its lesson."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import papermill
import pytest
from detection_oracles import as_coco, average_precision, overlap, scene

from helpers import audits, store
from helpers.icon2 import (
    Frames,
    compared,
    deployed,
    injected_faults,
    match,
    pooled_recall,
)
from helpers.icon2 import group_gaps as audit
from helpers.icon2.analysis import image_weights
from helpers.icon2.analysis import interval as usual
from helpers.icon2.attributes import Attribute, from_column
from helpers.icon2.file_checks import CORNERS
from helpers.icon2.pooled_recall import RecallBySize
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
    boxes = pd.DataFrame(np.hstack([low, low + SIDE]), columns=CORNERS)
    boxes = boxes.assign(image=image, category=kind, ignore=False)
    boxes["tone"] = np.where(dark, "dark", "bright")
    boxes["area"] = float(SIDE**2)
    is_dim_ring = dim[image] & (kind == 0)
    rate = 0.8 - loss * is_dim_ring - harder * dark
    hit = rng.random(len(image)) < rate
    detections = boxes.loc[hit, ["image", "category", *CORNERS]].reset_index(drop=True)
    detections[CORNERS] += rng.normal(0, 3, (len(detections), 4))
    false = pd.DataFrame(
        {"image": rng.integers(n_images, size=n_images), "category": 0}
    )
    false["category"] = rng.integers(2, size=n_images)
    corner = rng.uniform(0, 400, n_images)
    false = false.assign(x1=corner, y1=200.0, x2=corner + SIDE, y2=240.0)
    detections = pd.concat([detections, false], ignore_index=True)
    detections["score"] = rng.permutation(len(detections)) / len(detections)  # no ties
    light = np.where(dim, "dim", "day")
    site = rng.choice(["A", "B", "C"], n_images)
    images = pd.DataFrame(
        {"name": [f"{i:04}.png" for i in range(n_images)], "light": light, "site": site}
    )
    return Frames(images, boxes, detections, KINDS)


def prepared(frames, *names):
    matches = match(frames)
    attributes = [from_column(frames, name) for name in names]
    classes = {name: matches.of(name) for name in frames.classes}
    return matches, classes, attributes


def pooled(frames, matches):
    return RecallBySize(pooled_recall.labelled_boxes(frames, matches))


def dealt(matches, attributes, seed=0, clusters=None):
    clusters = np.arange(matches.n_images) if clusters is None else clusters
    return audit.permuted_attributes(attributes, matches.boxes, clusters, seed)


def test_one_group_of_all_images_has_the_ap_of_pycocotools():
    """Compare with `average_precision` of the oracles, which equals pycocotools."""
    frames = scene(3, 60)
    matches, classes, _ = prepared(frames)
    every = Attribute("every", ("yes",), np.zeros(60, int), "image")
    expected = average_precision(matches).mean(1)
    ap = audit.group_ap(classes, every)[0, :, 0]
    np.testing.assert_allclose(ap, [expected.mean(), *expected], atol=1e-12)


def test_the_ap_of_a_group_does_not_depend_on_how_many_images_it_has():
    """Copies of the images of one group change neither its AP nor the other's."""
    frames = world(80, loss=0.3)
    copies = np.concatenate(
        [np.arange(80), *[np.flatnonzero(frames.images["light"] == "dim")] * 2]
    )
    tables = []
    for table in (frames.boxes, frames.detections):
        parts = [
            table[table["image"] == old].assign(image=new)
            for new, old in enumerate(copies)
        ]
        tables.append(pd.concat(parts, ignore_index=True))
    more = Frames(frames.images.iloc[copies].reset_index(drop=True), *tables, KINDS)
    each = []
    for one in (frames, more):
        _, classes, [light] = prepared(one, "light")
        each.append(audit.group_ap(classes, light))
    np.testing.assert_allclose(
        *each, atol=0.01
    )  # N is a mean of two numbers of boxes an image


def test_an_injected_loss_is_detected_with_its_group_and_class():
    frames = world(400, loss=0.25)
    matches, classes, attributes = prepared(frames, "light", "site", "tone")
    recall = pooled(frames, matches)
    null = audit.null_distribution(classes, dealt(matches, attributes), 60, recall)
    deviations = null.deviations(audit.every_gap(classes, attributes))
    assert (deviations > null.gap_threshold).tolist() == [
        [True, True, False],
        [False] * 3,
        [False] * 3,
    ]
    ap_of_ring = audit.group_ap(classes, attributes[0])[0, 1]
    assert attributes[0].values[ap_of_ring.argmin()] == "dim"
    assert (null.largest_gap >= deviations[0, 1]).sum() == 0


def test_what_is_taken_out_is_as_if_the_detector_had_not_found_it():
    frames = world(60)
    matches, _, [tone] = prepared(frames, "tone")
    rng = np.random.default_rng(1)
    lost = rng.random(len(frames.boxes)) < 0.3
    left = injected_faults.without(matches, lost)
    taken = np.flatnonzero(lost)
    gone = np.unique(matches.detections["row"][np.isin(matches.taken, taken).any(0)])
    fewer = Frames(
        frames.images,
        frames.boxes,
        frames.detections.drop(gone).reset_index(drop=True),
        KINDS,
    )
    again, expected, _ = prepared(fewer)
    np.testing.assert_array_equal(
        audit.group_ap({name: left.of(name) for name in KINDS}, tone),
        audit.group_ap(expected, tone),
    )
    assert len(again.detections) < len(matches.detections)


def test_a_box_is_found_if_a_detection_of_its_class_overlaps_it():
    """Boxes are in cells of their own."""
    frames = world(50, loss=0.5)
    boxes = pooled_recall.labelled_boxes(frames, match(frames))
    expected = []
    for box in boxes.to_dict("records"):
        own = frames.detections.query(
            f"category == {box['category']} and image == {box['image']}"
        )
        corners = [box[name] for name in CORNERS]
        near = [overlap(one, corners, False) for one in own[CORNERS].to_numpy()]
        expected.append(max(near, default=0) >= 0.5)
    assert boxes["found"].tolist() == expected


def test_without_a_fault_the_family_wise_error_rate_is_about_one_in_twenty():
    false_positives = []
    for seed in range(4):
        frames = world(150, seed)
        matches, classes, attributes = prepared(frames, "light", "site")
        recall = pooled(frames, matches)
        deals = dealt(matches, attributes, seed)
        null = audit.null_distribution(classes, deals, 60, recall)
        table = injected_faults.detection_rates(
            matches, classes, attributes, null, recall, deals, [0.5], 15, seed
        )
        false_positives.append(table["rate"][0])
        every = ["all classes pooled", "all classes", *KINDS]
        assert table["class"].tolist() == ["any", *every[:1] * 2, *every[1:] * 2]
        assert (table["rate"][1:] == 1).all(), "half of the boxes of a group are lost"
    assert np.mean(false_positives) < 0.15


def test_each_permutation_is_compared_with_the_others():
    """Its deviations are by the mean and deviation of all other permutations."""
    frames = world(80)
    matches, classes, attributes = prepared(frames, "light", "site")
    recall = pooled(frames, matches)
    null = audit.null_distribution(classes, dealt(matches, attributes), 30, recall)
    deals = dealt(matches, attributes)
    gaps = [audit.every_gap(classes, next(deals)) for _ in range(30)]
    most = []
    for n in range(30):
        others = np.delete(gaps, n, axis=0)
        most.append(((gaps[n] - others.mean(0)) / others.std(0, ddof=1)).max())
    np.testing.assert_allclose(null.largest_gap, most, rtol=1e-9)
    exceeds = (null.largest_gap > null.gap_threshold) | (
        null.largest_recall > null.recall_threshold
    )
    assert exceeds.sum() <= 1, "one of 30 is at most one in twenty"


def test_a_scene_that_makes_the_gap_is_named_and_leaves_nothing():
    """Dim light has more dark boxes, which are found less often: light itself does
    nothing.
    """
    frames = world(1200, harder=0.5, tilt=0.6)
    matches, classes, [light, tone, site] = prepared(frames, "light", "tone", "site")
    ap = audit.group_ap(classes, light)[0]
    table = compared.explained(
        matches,
        light,
        "ring",
        [tone, site],
        options=audit.HOW,
        resamples=40,
    )
    by = table.set_index("candidate")
    gap = 100 * (ap[1, 0] - ap[1, 1])
    assert gap > 8
    assert by.loc["tone", "suite's rule"] in (
        "explains the gap",
        "explains a part",
    )
    assert by.loc["tone", "remaining_low"] < 0.25 * gap
    assert by.loc["tone", "remaining"] < 0.4 * gap
    assert by.loc["site", "remaining"] == pytest.approx(gap, abs=1)
    assert by.loc["site", "suite's rule"] == "does not explain it"


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_nineteen_of_twenty_intervals_hold_the_truth(bias):
    """Numbers are normal and too high by `bias`, as their resamples are again."""
    rng = np.random.default_rng(0)
    values = rng.normal(bias, 1, 4000)
    resamples = values + rng.normal(bias, 1, (60, 4000))
    low, high = audit.interval(np.vstack([values, resamples]) / 100)
    assert 0.95 < ((low <= 0) & (high >= 0)).mean() < 0.985
    low, high = usual(np.vstack([values, resamples]))
    assert ((low <= 0) & (high >= 0)).mean() < 0.93, (
        "of 60 resamples, quantiles are too narrow"
    )
    assert np.isnan(audit.interval(values[:2])).all()


def test_errors_at_a_threshold_are_those_of_a_matching_without_the_other_scores():
    frames = scene(5, 40)
    errors = deployed.errors_at(frames, match(frames), 0.6)
    kept = frames.detections[frames.detections["score"] >= 0.6].reset_index(drop=True)
    fewer = replace(frames, detections=kept)
    again = deployed.errors_at(fewer, match(fewer), 0.0)
    np.testing.assert_array_equal(errors.boxes["found"], again.boxes["found"])
    np.testing.assert_array_equal(errors.false_positives, again.false_positives)
    assert 0 < errors.boxes["found"].mean() < 1
    assert errors.false_positives.sum() > 0


def errors_by_light(frames, threshold=0.0):
    matches, _, [light] = prepared(frames, "light")
    errors = deployed.errors_at(frames, matches, threshold)
    return errors, light, image_weights(len(frames.images), 200)


def test_misses_at_the_threshold_are_counted_by_group():
    frames = world(200, loss=0.5)
    errors, light, weights = errors_by_light(frames)
    permutations = dealt(match(frames), [light])
    table = deployed.by_group(
        errors,
        [light],
        weights,
        permutations,
        99,
    )
    row = table.set_index(["group", "error"]).loc["dim", deployed.MISSED]
    dim = light.codes[errors.boxes["image"]] == light.values.index("dim")
    missed = 1 - errors.boxes["found"]
    assert row["rate"] == pytest.approx(100 * missed[dim].mean())
    assert row["others"] == pytest.approx(100 * missed[~dim].mean())
    assert row["low"] < row["rate"] < row["high"]
    assert row["p_adjusted"] == pytest.approx(0.01)


def test_false_positives_are_counted_per_image():
    errors, light, weights = errors_by_light(world(200))
    permutations = dealt(match(world(200)), [light])
    table = deployed.by_group(
        errors,
        [light],
        weights,
        permutations,
        19,
    )
    row = table.set_index(["group", "error"]).loc["day", deployed.FALSE]
    day = light.codes == light.values.index("day")
    assert row["rate"] == pytest.approx(100 * errors.false_positives[day].mean())


def test_a_second_detector_that_misses_more_in_one_group_is_significant_there_alone():
    frames = world(300)
    errors, light, weights = errors_by_light(frames)
    dim = light.codes[errors.boxes["image"]] == light.values.index("dim")
    lost = dim & (np.arange(len(dim)) % 5 == 0)
    boxes = errors.boxes.assign(found=errors.boxes["found"] * ~lost)
    worse = replace(errors, boxes=boxes)
    table = deployed.compare(errors, worse, [light], weights)
    rows = table.set_index(["group", "error"])
    in_dim_light = rows.loc[("dim", deployed.MISSED)]
    by_day = rows.loc[("day", deployed.MISSED)]
    assert in_dim_light["p_adjusted"] < 0.01
    assert in_dim_light["low"] > 0
    assert by_day["difference"] == 0


def test_one_function_audits_files_and_returns_tables_and_a_page(tmp_path):
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
    assert (result.second["difference"] == 0).all()
    page = result.to_html()
    assert page.count("<svg") == 3
    assert "Worse where light is dim" in page
    assert result.power_sentences()[0].startswith("Without a fault, ")


def test_where_no_group_can_be_compared_the_sizes_of_boxes_are(tmp_path):
    frames = world(60)
    frames = replace(frames, images=frames.images[["name"]])
    labels, results = written(
        tmp_path, replace(frames, boxes=frames.boxes.drop(columns="tone"))
    )
    result = audits.detector(labels, results, draws=19, resamples=5)
    for text in (result.notes[0], result.headline):
        assert text.startswith("There is no attribute to compare, so ")
    assert result.by_size.empty
    assert "class and size" not in result.to_html()


def written(folder, frames):
    for name, content in zip(("boxes", "detections"), as_coco(frames), strict=True):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return [str(folder / "boxes.json"), str(folder / "detections.json")]


@pytest.mark.slow
def test_the_lesson_leaves_a_folder_whose_report_names_the_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "out"))
    labels, results = written(tmp_path, world(250, loss=0.4))
    values = {"labels": labels, "detections": results, "resamples": 20}
    notebook = store.root() / "notebooks/12_audit_your_detector.ipynb"

    def run(**more):
        executed = tmp_path / "ran.ipynb"
        with exercises_may_fail(executed):
            papermill.execute_notebook(
                notebook, executed, {**values, **more}, progress_bar=False
            )

    run(groups="site, light", output="audit")
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
        "Findings</h2>",
        "What this audit could have detected</h2>",
    ]
    assert [page.index(part) for part in headings] == sorted(map(page.index, headings))
    assert {path.stem for path in folder.glob("*.csv")} == {
        *("files", "findings", "power", "pooled", "by-size", "errors", "gaps"),
        *("by-group", "explanations", "missed", "values"),
    }
    assert record["command"].startswith("make audit-detector LABELS=")
    with pytest.raises(
        papermill.PapermillExecutionError, match="no labelled class 'cow'"
    ):
        run(classes="cow")
