"""Income by place, on a planted city whose answer is known without any join."""

import json

import city
import numpy as np
import pandas as pd
import pytest

from helpers.icon2 import frames as income

VIDEOS = [f"video-{i}" for i in range(250)]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("city")
    groups = np.random.default_rng(0).integers(0, 3, len(VIDEOS))
    files = tuple(city.write_city(folder, VIDEOS, groups, missing=0.32).values())
    tracks = {file.stem: json.loads(file.read_text()) for file in files[0].iterdir()}
    return tracks, files


def with_incomes(town, folder, rows):
    """The town with another table of incomes."""
    path = folder / "other.csv"
    rows.to_csv(path, index=False)
    return (*town[1][:2], path)


def test_every_frame_with_gps_gets_its_area_and_income(town):
    tracks, files = town
    table, report = income.join(VIDEOS, *files)
    listed = city.incomes().set_index("area").income
    for row in table.itertuples():
        if row.video in tracks:
            before, after = tracks[row.video]["locations"][2:4]  # at 8 and 12 seconds
            north = (before["latitude"] + after["latitude"]) / 2 - city.SOUTH
            east = (before["longitude"] + after["longitude"]) / 2 - city.WEST
            area = f"{int(north / city.STEP)}-{int(east / city.STEP)}"
            assert (row.area, row.income) == (area, listed[area])
        else:
            assert pd.isna(row.income)
    assert report["frames"] == 250
    assert report[income.JOINED] == len(tracks) == 250 - report[income.NO_GPS]


def test_bins_are_equal_or_the_papers(town):
    tracks, files = town
    equal = income.join(VIDEOS, *files)[0]["bin"].value_counts()
    assert equal.sum() == len(tracks) and np.ptp(equal) < 0.15 * len(tracks)
    paper = income.join(VIDEOS, *files, edges="paper")[0].dropna()
    low = paper[paper["bin"] == "low"].income
    assert low.between(21_400, 62_100, inclusive="left").all()
    assert (paper[paper["bin"] == "high"].income >= 93_400).all()


def test_positions_are_at_ten_seconds_in_areas_with_holes_and_several_parts(tmp_path):
    track = {
        "startTime": 1000,
        "locations": [
            {"latitude": 10.0, "longitude": 20.0, "timestamp": 9000},
            {"latitude": 11.0, "longitude": 24.0, "timestamp": 13000},
        ],
    }
    (tmp_path / "v.json").write_text(json.dumps(track))
    row = income.positions(["v"], tmp_path).iloc[0]
    assert (row.latitude, row.longitude) == (10.5, 22.0)
    track["locations"][0]["timestamp"], track["locations"][1]["timestamp"] = 2000, 60_000
    (tmp_path / "gap.json").write_text(json.dumps(track))
    assert income.positions(["gap"], tmp_path)[income.PLACE].isna().all(axis=None)

    def ring(low, high):
        return [[low, low], [high, low], [high, high], [low, high], [low, low]]

    parts = [[ring(0, 10), ring(4, 6)], [ring(20, 22)]]
    geometry = {"type": "MultiPolygon", "coordinates": parts}
    shape = {"features": [{"properties": {"area": 7}, "geometry": geometry}]}
    (tmp_path / "map.json").write_text(json.dumps(shape))
    where = [1, 5, 21, 15, np.nan]
    areas = income.areas_of(pd.DataFrame(dict.fromkeys(income.PLACE, where)), tmp_path / "map.json")
    assert areas.fillna("none").tolist() == ["7", "none", "7", "none", "none"]


def test_what_cannot_be_joined_is_counted(town, tmp_path):
    gps, map_, incomes = town[1]
    rich = city.incomes().iloc[::2]
    some = with_incomes(town, tmp_path, rich.assign(income=rich.income * 2))
    _, report = income.join(VIDEOS, *some, edges="paper")
    assert report[income.NO_INCOME] > 0 and report[income.OUTSIDE] > 0
    assert sum(report.values()) == 2 * report["frames"]
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps({"features": json.loads(map_.read_text())["features"][:20]}))
    assert income.join(VIDEOS, gps, fewer, incomes)[1][income.NO_AREA] > 0
