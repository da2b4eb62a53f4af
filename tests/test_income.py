"""Income by place, on a synthetic city whose answer is known without any join."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers import income
from helpers import places as places_of
from helpers.detection import DetectionDataError
from helpers.driving_world import city

VIDEOS = [f"video-{i}" for i in range(250)]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("city")
    made = city.make(6, 1)
    tracks, areas = city.drives(made, VIDEOS, missing=0.32, seed=2)
    paths = made.write(folder)
    return made, tracks, areas, city.write_tracks(tracks, folder / "gps"), *paths


def test_every_frame_with_gps_gets_its_area_and_income(town):
    made, tracks, areas, gps, map_, table = town
    joined = income.join(VIDEOS, gps, map_, table)
    listed = made.incomes.set_index("area").income
    for row, area in zip(joined.table.itertuples(), areas, strict=True):
        if row.video in tracks:
            assert row.area == area
            assert row.income == listed[area]
        else:
            assert pd.isna(row.income)
    assert joined.report["frames"] == 250
    assert joined.report["joined"] == len(tracks)
    assert joined.report[income.NO_GPS] == 250 - len(tracks)


def test_bins_are_equal_or_the_papers(town):
    _, tracks, _, gps, map_, table = town
    equal = income.join(VIDEOS, gps, map_, table).table["bin"].value_counts()
    assert equal.max() - equal.min() < 0.15 * len(tracks)
    paper = income.join(VIDEOS, gps, map_, table, edges="paper").table.dropna()
    low = paper[paper["bin"] == "low"].income
    assert low.between(21_400, 62_100, inclusive="left").all()
    assert (paper[paper["bin"] == "high"].income >= 93_400).all()
    narrow = income.join(VIDEOS, gps, map_, table, edges=(50_000, 60_000, 70_000, 80_000))
    assert narrow.report[income.OUTSIDE] > 0
    assert narrow.report["joined"] + narrow.report[income.OUTSIDE] == len(tracks)


def test_centres_in_a_csv_give_the_same_areas(town, tmp_path):
    made, _, _, gps, map_, _table = town
    rows = []
    for feature in made.areas["features"]:
        west, south = np.array(feature["geometry"]["coordinates"][0][:4]).mean(0)
        rows.append({"area": feature["properties"]["area"], "latitude": south, "longitude": west})
    centres = tmp_path / "centres.csv"
    pd.DataFrame(rows).to_csv(centres, index=False)
    places = places_of.positions(VIDEOS, gps)
    by_centre = places_of.areas_of(places, centres)
    inside = places_of.areas_of(places, map_)
    known = inside.notna()
    assert (by_centre[known] == inside[known]).all()
    assert by_centre[~known].isna().all()


def test_the_position_is_the_one_at_ten_seconds(tmp_path):
    track = {
        "startTime": 1000,
        "locations": [
            {"latitude": 10.0, "longitude": 20.0, "timestamp": 9000},
            {"latitude": 11.0, "longitude": 24.0, "timestamp": 13000},
        ],
    }
    (tmp_path / "v.json").write_text(json.dumps(track))
    row = places_of.positions(["v"], tmp_path).iloc[0]
    assert (row.latitude, row.longitude) == (10.5, 22.0)


def test_holes_and_several_parts():
    def ring(low, high):
        return [[low, low], [high, low], [high, high], [low, high], [low, low]]

    shape = {
        "features": [
            {
                "properties": {"area": 7},
                "geometry": {
                    "type": "MultiPolygon",
                    "coordinates": [[ring(0, 10), ring(4, 6)], [ring(20, 22)]],
                },
            }
        ]
    }
    places = pd.DataFrame({"latitude": [1, 5, 21, 15.0], "longitude": [1, 5, 21, 15.0]})
    assert places_of.areas_of(places, shape).tolist() == ["7", None, "7", None]


def test_what_cannot_be_joined_is_counted(town):
    made, _tracks, _areas, gps, map_, _ = town
    some = made.incomes.iloc[::2]
    joined = income.join(VIDEOS, gps, map_, some)
    assert joined.report[income.NO_INCOME] > 0
    fewer = {"features": made.areas["features"][:20]}
    joined = income.join(VIDEOS, gps, fewer, made.incomes)
    assert joined.report[income.NO_AREA] > 0
    for report in (joined.report,):
        assert sum(v for k, v in report.items() if k != "frames") == report["frames"]


def test_bad_input_is_named(town, tmp_path):
    made, _, _, gps, map_, table = town
    twice = pd.concat([made.incomes, made.incomes.iloc[:1]])
    with pytest.raises(DetectionDataError, match="listed twice"):
        income.join(VIDEOS, gps, map_, twice)
    with pytest.raises(DetectionDataError, match="no column 'income'"):
        income.join(VIDEOS, gps, map_, made.incomes[["area"]])
    with pytest.raises(DetectionDataError, match="no frame could be joined"):
        income.join(["absent"], gps, map_, table)
    with pytest.raises(DetectionDataError, match="four rising"):
        income.join(VIDEOS, gps, map_, table, edges=(1, 3, 2, 4))
    with pytest.raises(DetectionDataError, match="no 'features'"):
        places_of.areas_of(places_of.positions(VIDEOS, gps), {})
    with pytest.raises(DetectionDataError, match="no property 'zip'"):
        places_of.areas_of(places_of.positions(VIDEOS, gps), map_, "zip")
    (tmp_path / "v.json").write_text('{"locations": [{"latitude": 1.0, ')
    with pytest.raises(DetectionDataError, match=r"v.json, line 1.*cut short"):
        places_of.positions(["v"], tmp_path)
    (tmp_path / "v.json").write_text('{"locations": [{"latitude": 1.0}]}')
    with pytest.raises(DetectionDataError, match="every entry of 'locations' needs timestamp"):
        places_of.positions(["v"], tmp_path)
