"""What notebook 08 stands on: loading, choices, claims and figures."""

import json
from types import SimpleNamespace

import city
import drawn as made_up
import numpy as np
import pandas as pd
import pytest
import yaml
from detection_oracles import recorded_worlds
from executed import executed

from helpers import icon2, store
from helpers.figures import icon2 as figures
from helpers.icon2 import Options, attributes, checks, claims, frames, match, strengths, verdicts
from helpers.icon2.average_precision import CHOICES
from helpers.icon2.reading import CORNERS, DetectionDataError
from helpers.suite.claims import AGREES, CONTRADICTS, NO_COUNTERPART, judge
from helpers.worlds.driving import street


def written(folder, number):
    """A rendered street as BDD100K's files, and detections that are near its boxes."""
    scenes, things = street.scenes(number, 2)
    images, boxes = street.render(scenes, street.dressed(scenes, things, 0.5))
    files, rng = city.write(folder, scenes, images, boxes), np.random.default_rng(0)
    results = boxes[["image", "category", *CORNERS]].astype({name: float for name in CORNERS})
    results[["x2", "y2"]] += rng.uniform(0, 3, (len(results), 2))
    results["score"] = rng.random(len(results))
    labels = [[] for _ in scenes.index]
    for row in results.to_dict("records"):
        box = {name: row[name] for name in CORNERS}
        label = {"category": street.KINDS[row["category"]], "score": row["score"], "box2d": box}
        labels[row["image"]].append(label)
    frames = [{"name": n, "labels": some} for n, some in zip(scenes["name"], labels, strict=True)]
    (folder / "predictions.json").write_text(json.dumps(frames))
    pictures, both = files.pop("images"), (files.pop("labels"), folder / "predictions.json")
    return icon2.Frames(scenes, boxes, results, street.KINDS), both, files, (pictures, images)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    return written(tmp_path_factory.mktemp("bdd"), 60)


def published(folder, labels, predictions, place, pictures):
    """The files under the names that they have in BDD100K's folder; areas and incomes as given."""
    targets = {
        "labels/det_20/det_val.json": labels,
        "predictions.json": predictions,
        "images/100k/val": pictures,
        "info/100k/val": place["gps"],
        place["areas"].name: place["areas"],
        place["incomes"].name: place["incomes"],
    }
    for name, source in targets.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(source)
    return folder


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
    named = [a.name for a in data.explanatory("income")]
    assert named[:5] == five and set(named[5:]) <= {"crowds", "aspect"}, "no picture, no contrast"
    assert [a.name for a in data.explanatory("timeofday")][2:4] == ["scene", "weather"]
    assert data.explanatory("income", ["look"])[5].values == street.LOOKS
    names, classes = frames.labelled(both[0])
    assert names == list(scenes["name"]) and set(classes) == set(world.classes)
    assert len(np.unique(data.clusters("video"))) == 60
    with pytest.raises(DetectionDataError, match="no column 'camera'; there are: name"):
        data.clusters("camera")
    first = pictures / names[0]
    written_at = first.stat().st_mtime_ns
    city.write(pictures.parent, scenes, images, world.boxes)
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
    world = icon2.Frames(*made_up.make(400, 1, 0.4))
    matches = match(world, (0.5, 0.75))
    group = attributes.from_column(world, "income")
    explanatory = [attributes.made(world, name) for name in attributes.OF_PAPER]
    analysis = icon2.analyse(matches, group, explanatory, resamples=10)
    return matches, group, explanatory, analysis


def test_every_choice_moves_something(small):
    matches, group, explanatory, _ = small
    table = icon2.change_each_choice(matches, group, explanatory[:2], "car", Options(), {})
    assert len(table) == sum(len(v) - 1 for v in CHOICES.values())
    moved = table[["cells", "delta"]].max(axis=1)
    assert (moved[table.choice != "number"] > 0).all()


def test_claims_are_judged(small):
    matches, group, _, analysis = small
    null = icon2.sigma_null(matches, group, permutations=200)
    worlds = recorded_worlds(["size", "time"])
    level = worlds["confounder"].map(verdicts.LEVELS)
    leveled = [checks.found_by(worlds.assign(level=one), "level") for one in ("all", level)]
    worse = worlds[worlds["world"].isin([verdicts.WORSE, verdicts.BESIDE])]
    worse = worse.assign(scenes=worse["strength"])
    tables = {"printed-again": checks.printed_again(), "error-rates": checks.error_rates(worlds)}
    tables["found-by-level"] = pd.concat(leveled)
    tables["alarms"] = checks.any_named(worse, verdicts.PAPER_RULE, "scenes")
    judged = judge("08b_deeper_icon2", [], tables).set_index("id")["verdict"]
    assert judged["icon2/formula"] == CONTRADICTS
    exact = ["icon2/table-3", "icon2/not-alike", "icon2/highest", "icon2/reductions"]
    assert (judged[exact] == AGREES).all()
    assert NO_COUNTERPART not in set(judged) and len(judged["icon2/rule/alarm"]) == 6
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


def test_the_papers_tables_stand_beside_ours_in_their_own_quantities(small):
    """All of Tables 1 to 3 (a blank is no number): 9 rows of 8, 15 of 4, 25 values."""
    analysis = small[-1]
    paper = claims.printed("groups").set_index("class").drop(columns="source")
    one = claims.table_1(analysis.groups(), analysis.sigmas(), paper)
    assert one["paper"].shape == (9, 5) and one["paper"].map(str).map(len).gt(0).all(axis=None)
    assert (
        one.loc["car", ("paper", "low")] == "48.7 ±0.1"
        and one.loc["bicycle", ("paper", "σ")] == 5.05
    )
    ranking = analysis.ranking()
    control = ranking[["class", "attribute"]].merge(analysis.control())
    two = claims.tables_2_and_3(ranking, control, True)
    theirs = two["paper"]
    assert theirs["σ(ProxyAP)"].notna().sum() == 40 and theirs["Δ"].notna().sum() == 15
    row = theirs.loc[("car", "size")]
    assert row[["σ(ProxyAP)", "μ(σ)", "Δ", "σ"]].tolist() == [1.65, 1.20, 1.18, 2.38]
    ours = two["here"].loc[("car", "size")]
    known = analysis.control().set_index(["class", "attribute"]).loc[("car", "size")]
    assert ours["σ"] - ours["μ(σ)"] == pytest.approx(known["delta"]) == ours["Δ"]
    assert claims.tables_2_and_3(ranking, control, False)["paper"].isna().all(axis=None)


def test_strengths_are_judged_apart_by_trainings_drawn_anew():
    """Control that leaves just the looks' share is nearer by what the raw gap is off."""
    rows = [
        (harder, rare, training, "car", 0.4, True, verdicts.NAMED if rare else verdicts.NOT_NAMED)
        for harder in (0.5, 1.0)
        for rare in (0, 1)
        for training in (0, 1)
    ]
    columns = ["harder", "rare", "training", "class", "looks", "scenes?", verdicts.PAPER_RULE]
    table = pd.DataFrame(rows, columns=columns)
    table["left"] = np.where(table["harder"] == 0.5, 0.4, 1.0)
    by = strengths.by_strength(table, draws=500).set_index("harder")
    np.testing.assert_allclose(by["nearer"], [0.6, 0.0], atol=1e-12)
    np.testing.assert_allclose(by["nearer_low"], by["nearer_high"], atol=1e-12)
    assert by["named"].tolist() == [0.5, 0.5] and (by["named_low"] == 0).all()
    assert by["detectors"].tolist() == [4, 4]


def test_the_published_folder_is_found_and_what_it_lacks_is_named(on_disk, tmp_path):
    """BDD100K's own layout; tracks are read only where areas and incomes stand beside them."""
    _, (labels, predictions), place, (pictures, _) = on_disk
    folder = published(tmp_path / "bdd100k", labels, predictions, place, pictures)
    values, areas = SimpleNamespace(frames=str(folder), edges="equal"), folder / place["areas"].name
    areas.rename(tmp_path / "elsewhere")
    paths = frames.files(values)
    assert paths["labels"] == folder / "labels/det_20/det_val.json"
    assert paths["images"].name == "val" and paths["gps"] is None
    (tmp_path / "elsewhere").rename(areas)
    paths = frames.files(values)
    pictures = paths.pop("images")
    data = icon2.read(**paths)
    assert data.attribute("income").values == ("low", "middle", "high")
    assert (frames.picture(data, pictures, 3) == on_disk[3][1][3].transpose(1, 2, 0)).all()
    assert frames.files(SimpleNamespace(frames=None)) == {}
    with pytest.raises(DetectionDataError, match="images has none of labels/det_20"):
        frames.files(SimpleNamespace(frames=str(on_disk[3][0])))


@pytest.mark.slow
def test_the_papers_preset_runs_whole_on_a_small_copy(tmp_path):
    """Of BDD100K's folder as it is given out, with the parameters of `make run PRESET=paper`."""
    _, both, place, (pictures, _) = written(tmp_path, 300)
    published(tmp_path / "bdd100k", *both, place, pictures)
    preset = yaml.safe_load((store.root() / "sweeps/paper.yml").read_text())["08_icon2"]
    preset |= {"frames": str(tmp_path / preset["frames"]), "resamples": 20, "output": "paper"}
    executed(store.root() / "notebooks/08_icon2.ipynb", preset, tmp_path / "outputs")
    files = frames.files(SimpleNamespace(frames=preset["frames"]))
    del files["images"]
    data = icon2.read(**files, edges="paper")
    groups = icon2.analyse(match(data), data.attribute("income"), []).groups()
    ran = tmp_path / "outputs/paper"
    table = pd.read_csv(ran / "tables/08_icon2/table-1-groups.csv")
    assert set(table["value"]) == {"low", "middle", "high"}
    pd.testing.assert_series_equal(table["AP"], groups["AP"])
    told = json.loads((ran / "findings/08_icon2.json").read_text())["findings"]
    judged = {one["id"]: one for one in told}
    verdict = judged["icon2/gap/car"]["verdict"]
    assert verdict != NO_COUNTERPART, "these gaps are not planted: they are judged"


def test_figures_mark_what_is_not_estimable_and_an_example_what_each_detection_took(small):
    analysis = small[-1]
    tables = (
        t[t["class"] == "bus"] for t in (analysis.values(), analysis.shares(), analysis.cells())
    )
    figure = figures.attributes_of_class(*tables, "bus")
    assert "too few" in {t.get_text() for ax in figure.axes for t in ax.texts}
    world, matches = icon2.Frames(*made_up.make(400, 1, 0.4)), small[0]
    number, boxes, detections = frames.example(world, matches, "car")
    assert (boxes.image == number).all() and (detections.image == number).all()
    assert detections.hit.any() and not detections.hit.all() and not boxes.found.all()
    assert set(detections.box[detections.hit]) == set(boxes.index[boxes.found])
    assert frames.picture(world, None, number).shape == (720, 1280, 3)
