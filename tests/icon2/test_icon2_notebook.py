"""What notebook 08 stands on: loading, choices, claims and figures."""

import json

import drawn as made_up
import numpy as np
import pytest
from detection_oracles import recorded_worlds

from helpers import icon2
from helpers.figures import icon2 as figures
from helpers.icon2 import Options, attributes, claims, frames, match, verdicts
from helpers.icon2.average_precision import CHOICES
from helpers.icon2.reading import CORNERS, DetectionDataError
from helpers.suite.claims import AGREES, CONTRADICTS, NO_COUNTERPART, judge
from helpers.worlds.driving import street

LAW = made_up.Law(confounding=0.4)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """A rendered street written as BDD100K's files, and detections that are near its boxes."""
    folder = tmp_path_factory.mktemp("bdd")
    scenes, things = street.scenes(60, 2)
    images, boxes = street.render(scenes, street.dressed(scenes, things, 0.5))
    files, rng = street.write(folder, scenes, images, boxes), np.random.default_rng(0)
    found = boxes[["image", "category", *CORNERS]].astype({name: float for name in CORNERS})
    found[["x2", "y2"]] += rng.uniform(0, 3, (len(found), 2))
    found["score"] = rng.random(len(found))
    labels = [[] for _ in scenes.index]
    for row in found.to_dict("records"):
        box = {name: row[name] for name in CORNERS}
        label = {"category": street.KINDS[row["category"]], "score": row["score"], "box2d": box}
        labels[row["image"]].append(label)
    frames = [{"name": n, "labels": some} for n, some in zip(scenes["name"], labels, strict=True)]
    (folder / "predictions.json").write_text(json.dumps(frames))
    pictures, both = files.pop("images"), (files.pop("labels"), folder / "predictions.json")
    world = icon2.Frames(scenes, boxes, found, street.KINDS)
    return world, both, files, (pictures, images)


def test_ones_own_files_give_what_the_street_gives(on_disk):
    world, both, place, (pictures, images) = on_disk
    data = icon2.read(*both, **place)
    scenes, codes = world.images, world.images["income"].cat.codes.to_numpy()
    known = scenes["video"].isin([file.stem for file in place["gps"].iterdir()]).to_numpy()
    assert f"60 frames, {known.sum()} joined, {60 - known.sum()} without GPS" in data.report[-1]
    income = data.attribute("income")
    assert income.values == ("low", "middle", "high")
    assert ((income.codes >= 0) == known).all() and 0 < known.sum() < 60
    assert np.corrcoef(income.codes[known], codes[known])[0, 1] > 0.9
    looks = data.boxes["look"].map(street.LOOKS.index)
    np.testing.assert_array_equal(np.sort(looks), np.sort(world.boxes["look"]))
    drawn, taken = (np.sort(match(one).taken >= 0) for one in (world, data))
    np.testing.assert_array_equal(drawn, taken)
    assert (frames.picture(data, pictures, 0) == images[0].transpose(1, 2, 0)).all()
    five = ["size", "occlusion", "time", "scene", "weather"]
    assert [a.name for a in data.explanatory("income")] == five
    assert [a.name for a in data.explanatory("timeofday")][-2:] == ["scene", "weather"]
    assert data.explanatory("income", ["look"])[-1].values == street.LOOKS
    names, classes = frames.labelled(both[0])
    assert names == list(scenes["name"]) and set(classes) == set(world.classes)
    assert len(np.unique(data.clusters("video"))) == 60
    with pytest.raises(DetectionDataError, match="no column 'camera'; there are: name"):
        data.clusters("camera")
    first = pictures / names[0]
    written_at = first.stat().st_mtime_ns
    street.write(pictures.parent, scenes, images, world.boxes)
    assert first.stat().st_mtime_ns == written_at, "a folder that has been written stays"


def test_classes_without_a_labelled_box_are_left_out_and_counted(on_disk, tmp_path):
    content = json.loads(on_disk[1][0].read_text())
    for frame in content:
        frame["labels"] = [label for label in frame["labels"] if label["category"] == "car"]
    (tmp_path / "cars.json").write_text(json.dumps(content))
    data = icon2.read(tmp_path / "cars.json", on_disk[1][1])
    assert data.classes == ("car",) and (data.detections.category == 0).all()
    assert "detections left out: no box of their class is labelled" in data.report[-1]


@pytest.fixture(scope="module")
def small():
    world = icon2.Frames(*made_up.make(400, 1, LAW))
    matches = match(world, (0.5, 0.75))
    group = attributes.from_column(world, "income")
    explanatory = [attributes.made(world, name) for name in attributes.OF_PAPER]
    analysis = icon2.analyse(matches, group, explanatory, resamples=10)
    return matches, group, explanatory, analysis


def test_every_choice_moves_something(small):
    matches, group, explanatory, _ = small
    table = icon2.change_each_choice(matches, group, explanatory[:2], "car", Options())
    assert len(table) == sum(len(v) - 1 for v in CHOICES.values())
    moved = table[["cells", "delta"]].max(axis=1)
    assert (moved[table.choice != "number"] > 0).all()


def test_claims_are_judged(small):
    matches, group, _, analysis = small
    null = icon2.sigma_null(matches, group, permutations=200)
    worlds = recorded_worlds(["size", "time"])
    deeper = claims.of_worlds(worlds, verdicts.error_rates(worlds))
    verdict = judge("08b_deeper_icon2", claims.of_printed() + deeper).set_index("id")["verdict"]
    assert (verdict[["icon2/formula", "icon2/reductions"]] == CONTRADICTS).all()
    exact = ["icon2/table-3", "icon2/not-alike", "icon2/highest"]
    assert (verdict[exact] == AGREES).all()
    assert len(verdict) == 12 and NO_COUNTERPART not in set(verdict)
    planted, own = (
        judge("08_icon2", claims.of_analysis(analysis, null, planted), data=["labels"]).set_index(
            "id"
        )["verdict"]
        for planted in (True, False)
    )
    assert own["icon2/gap/car"] == own["icon2/control/car"] == AGREES
    assert own["icon2/control/pedestrian"] == NO_COUNTERPART, "size ranks first, not occlusion"
    incomes = ["icon2/falls-with-income", "icon2/small-cars"]
    assert own[incomes].tolist() == [CONTRADICTS, AGREES]
    cannot_fail = [*incomes, "icon2/gap/car", "icon2/gap/pedestrian", "icon2/control/car"]
    assert (planted[cannot_fail] == NO_COUNTERPART).all(), "what is planted is not judged"


def test_figures_mark_what_is_not_estimable(small):
    analysis = small[-1]
    tables = (
        t[t["class"] == "bus"] for t in (analysis.values(), analysis.shares(), analysis.cells())
    )
    figure = figures.attributes_of_class(*tables, "bus")
    assert "too few" in {t.get_text() for ax in figure.axes for t in ax.texts}


def test_an_example_shows_what_each_detection_took(small):
    world, matches = icon2.Frames(*made_up.make(400, 1, LAW)), small[0]
    number, boxes, detections = frames.example(world, matches, "car")
    assert (boxes.image == number).all() and (detections.image == number).all()
    assert detections.hit.any() and not detections.hit.all() and not boxes.found.all()
    assert set(detections.box[detections.hit]) == set(boxes.index[boxes.found])
    assert frames.picture(world, None, number).shape == (720, 1280, 3)
