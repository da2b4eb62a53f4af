"""What notebook 08 stands on: loading, choices, claims and figures."""

import json

import numpy as np
import pytest

from helpers import icon2
from helpers.figures import icon2 as figures
from helpers.icon2 import Options, claims, error_rates, match
from helpers.icon2.options import CHOICES
from helpers.icon2.reading import DetectionDataError
from helpers.run.claims import AGREES, CONTRADICTS, NO_COUNTERPART, judge
from helpers.worlds import driving
from helpers.worlds.driving import city

LAW = driving.Law(confounding=0.4)


def as_scalabel(world, boxes, scored):
    """A planted world's boxes as BDD100K's files have them."""
    columns = ["weather", "scene", "timeofday"]
    frames = [
        {"name": row.name, "videoName": row.video, "labels": []}
        | ({} if scored else {"attributes": {c: getattr(row, c) for c in columns}})
        for row in world.images.itertuples(index=False)
    ]
    for row in boxes.itertuples():
        corners = {c: getattr(row, c) for c in ("x1", "y1", "x2", "y2")}
        label = {"category": world.classes[row.category], "box2d": corners}
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
    world = driving.make(90, 2)
    for name, boxes in (("labels", world.boxes), ("predictions", world.detections)):
        frames = as_scalabel(world, boxes, name == "predictions")
        (folder / f"{name}.json").write_text(json.dumps(frames))
    group = world.images.income.cat.codes.to_numpy()
    where = (world.images.video.tolist(), group, 0.2)
    both = (folder / "labels.json", folder / "predictions.json")
    return world, driving.drives(*where)[0], both, city.write(folder, *where)


def test_ones_own_files_give_what_the_planted_world_gives(on_disk):
    world, tracks, both, place = on_disk
    data = icon2.read(*both, **place)
    assert data.law is None
    assert f"90 frames, {len(tracks)} joined, {90 - len(tracks)} without GPS" in data.report[-1]
    income = data.attribute("income")
    assert income.values == ("low", "middle", "high")
    known = world.images.video.isin(tracks).to_numpy()
    assert ((income.codes >= 0) == known).all()
    assert np.corrcoef(income.codes[known], world.images.income.cat.codes[known])[0, 1] > 0.9
    np.testing.assert_array_equal(match(data).taken, match(world).taken)
    five = ["size", "occlusion", "time", "scene", "weather"]
    assert [a.name for a in data.explanatory("income")] == five
    assert [a.name for a in data.explanatory("timeofday")][-2:] == ["scene", "weather"]
    assert len(np.unique(data.clusters("video"))) == 90
    with pytest.raises(DetectionDataError, match="no column 'camera'; there are: name"):
        data.clusters("camera")


def test_what_is_missing_is_named(on_disk):
    _, _, both, place = on_disk
    with pytest.raises(DetectionDataError, match="'predictions' is missing: labels, predictions"):
        icon2.read(both[0], None)
    with pytest.raises(DetectionDataError, match="'areas' is missing"):
        icon2.read(None, None, **place | {"areas": None})
    with pytest.raises(DetectionDataError, match="'labels' is missing"):
        icon2.read(None, None, **place)
    assert icon2.read(None, None) is None
    message = "give 'gps', 'areas' and 'incomes', .* another column: weather, scene, timeofday"
    with pytest.raises(DetectionDataError, match=message):
        icon2.read(*both).attribute("income")


@pytest.fixture
def ones_own(on_disk, tmp_path):
    """A CSV with a word and a number for all frames but ten, and for one that is no frame."""
    names = on_disk[0].images.name
    rows = [f"{name},{'ab'[i % 2]},{i / 7}" for i, name in enumerate(names[10:])]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["name,camera,speed", *rows, "elsewhere.jpg,a,1"]))
    return str(path)


def test_columns_of_ones_own_join_by_name(on_disk, ones_own):
    data = icon2.read(*on_disk[2]).with_further(["truncated", "aspect", "crowding", ones_own])
    assert "10 frames are not listed in mine.csv" in data.report
    assert "1 rows of mine.csv are of no frame here" in data.report
    *others, camera, speed = data.explanatory("income")[-5:]
    assert [a.name for a in others] == ["truncated", "aspect", "crowding"]
    assert camera.values == ("a", "b")
    assert camera.codes[8:14].tolist() == [-1, -1, 0, 1, 0, 1]
    assert speed.values == ("low", "middle", "high")
    assert np.bincount(speed.codes + 1).tolist() == [10, 27, 26, 27]
    assert data.attribute("camera").values == ("a", "b")
    assert [a.name for a in data.explanatory("camera")][-1] == "speed"
    with pytest.raises(DetectionDataError, match="no column 'lens'"):
        data.with_further(["lens"]).explanatory("income")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.csv: is not a CSV table"),
        ("frame,camera\nx,a", "mine.csv: no column 'name'"),
        ("name,camera\nx.jpg,a\nx.png,b", r"frame \['x'\] is listed twice"),
        ("name,weather\nx,a", r"column \['weather'\] is taken"),
        ("name,time\nx,a", r"column \['time'\] is taken"),
        ("name\nx", "no column but 'name'"),
        ("name,camera\nx,a", "none of its names is that of a frame"),
    ],
)
def test_a_csv_that_cannot_be_joined(tmp_path, text, message):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(DetectionDataError, match=message):
        icon2.planted(30, 0, LAW).with_further([str(path)])


def test_the_income_of_a_tenth_of_the_planted_frames_is_not_known():
    data = icon2.planted(150, 1, LAW)
    known, drawn = data.images.income.notna(), driving.make(150, 1, LAW).images.income
    assert 5 < (~known).sum() < 30
    assert f"{(~known).sum()} without GPS" in data.report[-1]
    assert (data.images.income[known] == drawn[known]).all()


@pytest.fixture(scope="module")
def small():
    data = icon2.planted(400, 1, LAW)
    matches = match(data, (0.5, 0.75))
    group, explanatory = data.attribute("income"), data.explanatory("income")
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
    ranked = error_rates.ask_readings(range(2), ("occlusion", "time"), n_images=150)
    rates = error_rates.rates(error_rates.ask_rules(range(2), n_images=150, resamples=5))
    always = claims.of_printed() + claims.of_error_rates(ranked, rates)
    planted = judge("08_icon2", always + claims.of_analysis(analysis, null, planted=True))
    own = judge("08_icon2", always + claims.of_analysis(analysis, null, planted=False))
    verdict, own = (found.set_index("id")["verdict"] for found in (planted, own))
    assert verdict["icon2/gap/car"] == verdict["icon2/control/car"] == AGREES
    assert verdict["icon2/control/pedestrian"] == NO_COUNTERPART, "size ranks first, not occlusion"
    assert (verdict["icon2/formula"], verdict["icon2/delta"]) == (CONTRADICTS, AGREES)
    incomes = ["icon2/falls-with-income", "icon2/car-rises", "icon2/small-cars"]
    assert (verdict[incomes] == NO_COUNTERPART).all(), "what is planted is not found"
    assert own[incomes].tolist() == [CONTRADICTS, AGREES, AGREES]
    assert len(verdict) == len(own) < 32


def test_figures_mark_what_is_not_estimable(small):
    cells = small[-1].cells()
    figure = figures.controlled_cells(cells[cells["class"] == "bus"], "bus")
    texts = {t.get_text() for ax in figure.axes for t in ax.texts}
    assert "n < min" in texts


def test_a_class_of_one_estimable_attribute_has_no_ranking(small):
    table = small[-1].ranking()
    table.loc[(table["class"] == "bus") & (table.attribute != "occlusion"), "proxy_sigma"] = np.nan
    table.loc[(table["class"] == "bus") & (table.attribute == "occlusion"), "proxy_sigma"] = 98.76
    (axes,) = figures.rankings(table).axes
    texts = [t.get_text() for t in axes.texts]
    assert not any("98.76" in text for text in texts)
    car = table[(table["class"] == "car") & (table["rank"] == 1)].iloc[0]
    assert f"{car.proxy_sigma:.2f} ({100 * car['first']:.0f}%)" in texts
