"""What notebook 08 stands on: loading, choices, claims and figures."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import driving_world, findings, plots_icon2
from helpers.detection import DetectionDataError, match
from helpers.driving_world import city
from helpers.icon2 import (
    Options,
    analyse,
    attributes,
    choices,
    claims,
    claims_of_trials,
    loading,
    nulls,
    trials,
)

FILES = ("labels", "predictions", "gps", "areas", "incomes", "further")


def settings(**given):
    named = dict.fromkeys(FILES)
    law = {"confounding": 0.4, "confounder": "size", "inequity": 0.0}
    more = {"edges": "equal", "planted_images": 150, "seed": 1, "preset": "demo"}
    return SimpleNamespace(**named | law | more | given)


def as_scalabel(truth, boxes, scored):
    """A planted world's boxes as BDD100K's files have them."""
    columns = ["weather", "scene", "timeofday"]
    frames = [
        {"name": row.name, "videoName": row.video, "labels": []}
        | ({} if scored else {"attributes": {c: getattr(row, c) for c in columns}})
        for row in truth.images.itertuples(index=False)
    ]
    for row in boxes.itertuples():
        corners = {c: getattr(row, c) for c in ("x1", "y1", "x2", "y2")}
        label = {"category": truth.classes[row.category], "box2d": corners}
        if scored:
            label["score"] = row.score
        else:
            flags = ("occluded", "truncated")
            label["attributes"] = {c: bool(getattr(row, c)) for c in flags}
        frames[row.image]["labels"].append(label)
    return frames


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """A planted world written as BDD100K's files, with GPS, areas and incomes."""
    folder = tmp_path_factory.mktemp("bdd")
    world = driving_world.make(90, 2)
    parts = (("labels", world.truth.boxes, False), ("predictions", world.detections.boxes, True))
    for name, boxes, scored in parts:
        frames = as_scalabel(world.truth, boxes, scored)
        (folder / f"{name}.json").write_text(json.dumps(frames))
    town = city.make()
    group = np.asarray(world.truth.images.income.cat.codes)
    videos = world.truth.images.video.tolist()
    tracks, _ = city.drives(town, videos, 0.2, 0, group)
    town.write(folder)
    city.write_tracks(tracks, folder / "gps")
    return world, tracks, folder


def test_ones_own_files_give_what_the_planted_world_gives(on_disk):
    world, tracks, folder = on_disk
    data = loading.load(
        settings(
            labels=folder / "labels.json",
            predictions=folder / "predictions.json",
            gps=folder / "gps",
            areas=folder / "areas.geojson",
            incomes=folder / "incomes.csv",
        )
    )
    assert data.planted is None
    assert data.joined["joined"] == len(tracks)
    income = data.attribute("income")
    assert income.values == ("low", "middle", "high")
    assert income.absent == 90 - len(tracks)
    found = match(data.truth, data.detections)
    ours = match(world.truth, world.detections)
    np.testing.assert_array_equal(found.taken, ours.taken)
    assert [a.name for a in data.explanatory("income")] == [
        "size", "occlusion", "time", "scene", "weather"
    ]  # fmt: skip
    assert [a.name for a in data.explanatory("timeofday")][-2:] == ["scene", "weather"]
    assert len(np.unique(data.clusters("video"))) == 90
    with pytest.raises(DetectionDataError, match="no column 'camera'; there are: name"):
        data.clusters("camera")


def test_files_that_belong_together(on_disk):
    folder = on_disk[2]
    with pytest.raises(DetectionDataError, match="'predictions' is missing: labels, predictions"):
        loading.load(settings(labels=folder / "labels.json"))
    with pytest.raises(DetectionDataError, match="'areas' is missing"):
        loading.load(settings(gps=folder / "gps", incomes=folder / "incomes.csv"))


@pytest.fixture
def ones_own(on_disk, tmp_path):
    """A CSV with a word and a number for all frames but ten, and for one that is no frame."""
    names = on_disk[0].truth.images.name
    rows = [f"{name},{'ab'[i % 2]},{i / 7}" for i, name in enumerate(names[10:])]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["name,camera,speed", *rows, "elsewhere.jpg,a,1"]))
    return path


def test_columns_of_ones_own_join_by_name(on_disk, ones_own):
    folder = on_disk[2]
    files = {name: folder / f"{name}.json" for name in ("labels", "predictions")}
    data = loading.load(settings(**files, further=[ones_own]))
    assert "10 frames are not listed in mine.csv" in data.report()
    assert "1 rows of mine.csv are of no frame here" in data.report()
    camera, speed = data.explanatory("income")[-2:]
    assert (camera.values, camera.absent) == (("a", "b"), 10)
    assert camera.codes[10:14].tolist() == [0, 1, 0, 1]
    assert speed.values == ("low", "middle", "high")
    assert np.bincount(speed.codes + 1).tolist() == [10, 27, 26, 27]
    assert data.attribute("camera").values == ("a", "b")
    assert [a.name for a in data.explanatory("camera")][-1] == "speed"
    names = ["truncation", "aspect", "crowding", "video"]
    data = loading.load(settings(**files, further=[*names, ones_own]))
    assert [a.name for a in data.explanatory("income")][-6:] == [*names, "camera", "speed"]
    with pytest.raises(ValueError, match="no column 'lens'"):
        loading.load(settings(**files, further=["lens"])).explanatory("income")
    with pytest.raises(DetectionDataError, match="'further': there is no folder 'no/pictures'"):
        loading.load(settings(further=["no/pictures"]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.csv: is not a CSV table"),
        ("frame,camera\nx,a", "mine.csv: no column 'name'"),
        ("name,camera\nx.jpg,a\nx.png,b", "frame 'x' is listed twice"),
        ("name,weather\nx,a", "column 'weather' is one of the labels'"),
        ("name\nx", "no column but 'name'"),
        ("name,camera\nx,a", "none of its names is that of a frame"),
    ],
)
def test_a_csv_that_cannot_be_joined(ones_own, text, message):
    ones_own.write_text(text)
    with pytest.raises(DetectionDataError, match=message):
        loading.load(settings(further=[ones_own]))
    with pytest.raises(DetectionDataError, match="there is no such file"):
        loading.load(settings(further=[ones_own.with_name("no.csv")]))


def test_light_comes_from_pictures(on_disk, tmp_path):
    data = loading.load(settings())
    light, contrast = data.light()
    time = data.truth.images.timeofday
    assert (light.codes[time.eq("night")] < 2).all() and (light.codes[time == "daytime"] > 0).all()
    assert (contrast.level, contrast.absent) == ("box", 0)
    driving_world.pictures.paint(data.truth, tmp_path)
    again = loading.load(settings(further=[str(tmp_path)])).light()[0]
    assert (again.codes == light.codes).all()
    folder = on_disk[2]
    files = {name: folder / f"{name}.json" for name in ("labels", "predictions")}
    assert loading.load(settings(**files)).light() == []


def test_the_planted_worlds_income_comes_by_gps():
    data = loading.load(settings())
    world = driving_world.make(150, 1, data.planted)
    known = data.truth.images.income.notna()
    assert (~known).sum() == data.joined["without GPS"] > 0
    assert (data.truth.images.income[known] == world.truth.images.income[known].astype(str)).all()


@pytest.fixture(scope="module")
def small():
    data = loading.load(settings(planted_images=400))
    matches = match(data.truth, data.detections, (0.5, 0.75))
    group, explanatory = data.attribute("income"), data.explanatory("income")
    analysis = analyse(matches, group, explanatory, resamples=10)
    return data, matches, group, explanatory, analysis


def test_every_choice_moves_something_and_the_paper_is_the_start(small):
    data, _, group, explanatory, _ = small
    table = choices.moves(data.truth, data.detections, group, explanatory[:2], "car")
    assert len(table) == sum(len(v) - 1 for v in choices.CHOICES.values()) + 1
    moved = table[["cells", "delta"]].max(axis=1)
    assert (moved[table.choice != "number"] > 0).all()


def test_claims_are_judged(small):
    data, matches, group, _, analysis = small
    null = nulls.sigma_null(matches, group, permutations=10)
    found = claims.of_analysis(analysis, null, ["car", "pedestrian"], data.law("income"))
    by_claim = {f.claim: f.verdict for f in found}
    assert by_claim["The planted confounder (size) ranks first"] == findings.HOLDS
    assert by_claim["AP differs over the groups by more than chance (car)"] == findings.HOLDS
    printed = {f.claim: f.verdict for f in claims.of_printed()}
    assert printed["Table 1's σ follow Eq. 5, which divides by n"] == findings.FAILS
    assert all(f.verdict == findings.UNTESTED for f in claims.not_tested())
    ranked = trials.readings(range(2), ("occlusion", "time"), n_images=150)
    rates = trials.rates(trials.run(range(2), n_images=150, resamples=5))
    assert len(claims_of_trials.of_trials(ranked, rates)) > 8


def test_every_control_can_be_looked_at(small):
    analysis = small[-1]
    for control in plots_icon2.CONTROLS:
        assert plots_icon2.one_control(analysis, "car", "size", control).axes
    with pytest.raises(ValueError, match="allowed: none, within its values"):
        plots_icon2.one_control(analysis, "car", "size", "other")
    menus = plots_icon2.chooser(analysis)
    before = menus.children[1].value
    menus.children[0].children[2].value = "standardised"
    assert menus.children[1].value != before, "choosing redraws"


def test_figures_mark_what_is_not_estimable(small):
    _, matches, group, explanatory, _ = small
    analysis = analyse(matches, group, explanatory, classes=["bus"], options=Options())
    figure = plots_icon2.controlled_cells(analysis.cells(), "bus")
    texts = {t.get_text() for ax in figure.axes for t in ax.texts}
    assert "n < min" in texts
    assert attributes.report(explanatory).shape[0] == 5


def test_a_class_of_one_estimable_attribute_has_no_ranking(small):
    table = small[-1].ranking()
    table.loc[(table["class"] == "bus") & (table.attribute != "occlusion"), "proxy_sigma"] = np.nan
    table.loc[(table["class"] == "bus") & (table.attribute == "occlusion"), "proxy_sigma"] = 98.76
    (axes,) = plots_icon2.rankings(table).axes
    texts = [t.get_text() for t in axes.texts]
    assert not any("98.76" in text for text in texts)
    car = table[(table["class"] == "car") & (table["rank"] == 1)].iloc[0]
    assert f"{car.proxy_sigma:.2f} ({100 * car['first']:.0f}%)" in texts


def test_the_law_speaks_of_income_only():
    data = loading.load(settings(planted_images=60))
    assert data.law("income") is data.planted
    assert data.law("scene") is None
