"""Test the loading, the choices and the claims of lesson 08."""

import itertools
import json
from types import SimpleNamespace

import city
import drawn as made_up
import numpy as np
import pandas as pd
import pytest
import yaml
from executed import executed

from helpers import icon2, store, workflow
from helpers.claims import CONTRADICTS, NOT_TESTABLE, REPLICATED, judge
from helpers.icon2 import attributes, claims, control_errors, formulas, match
from helpers.icon2.attributes import CORNERS
from helpers.icon2.lesson_frames import load, picture, read
from synthetic import street


def written(folder, number):
    """Write street scenes as BDD100K's files, with detections near their boxes."""
    scenes, things = street.scenes(number, 2)
    images, boxes = street.render(scenes, street.dressed(scenes, things, 0.5))
    rng = np.random.default_rng(0)
    results = boxes[["image", "category", *CORNERS]]
    results = results.astype({name: float for name in CORNERS})
    results[["x2", "y2"]] += rng.uniform(0, 3, (len(results), 2))
    results["score"] = rng.random(len(results))
    files = city.write(folder, scenes, images, boxes, results)
    return icon2.Frames(scenes, boxes, results, street.KINDS), files, images


def test_ones_own_files_give_what_the_street_gives(tmp_path):
    world, files, images = written(tmp_path, 60)
    pictures = files.pop("images")
    data = read(**files)
    codes = world.images["income"].cat.codes.to_numpy()
    income = data.attribute("income")
    known = income.codes >= 0
    assert income.values == ("low", "middle", "high") and 0 < known.sum() < 60
    assert np.corrcoef(income.codes[known], codes[known])[0, 1] > 0.9
    paper = read(**files, edges="paper").attribute("income")
    np.testing.assert_array_equal(paper.codes[known], codes[known])
    appearances = data.boxes["appearance"].map(street.APPEARANCES.index)
    np.testing.assert_array_equal(
        np.sort(appearances), np.sort(world.boxes["appearance"])
    )
    hits = np.sort(match(data).taken >= 0)
    np.testing.assert_array_equal(hits, np.sort(match(world).taken >= 0))
    assert (picture(data, pictures, 0) == images[0].transpose(1, 2, 0)).all()
    assert picture(data, tmp_path, 0).shape == (160, 320, 3), (
        "grey, of the frame's size"
    )
    five = ["size", "occlusion", "time", "scene", "weather"]
    named = [a.name for a in data.explanatory("income")]
    assert named[:5] == five and set(named[5:]) <= {"crowds", "aspect"}, (
        "no picture, no contrast"
    )
    assert [a.name for a in data.explanatory("timeofday")][2:4] == ["scene", "weather"]
    assert data.explanatory("income", ["appearance"])[-1].values == street.APPEARANCES
    assert set(data.classes) == set(world.classes)
    assert len(np.unique(data.clusters("name"))) == 60


@pytest.fixture(scope="module")
def small():
    world = icon2.Frames(*made_up.make(400, 1, 0.4))
    matches = match(world, (0.5, 0.75))
    group = attributes.from_column(world, "income")
    explanatory = [attributes.made(world, name) for name in attributes.OF_PAPER]
    analysis = icon2.analyse(matches, group, explanatory, resamples=10)
    return matches, group, analysis


def of_cell(variable, **names):
    """What the cell of lesson 08 that assigns a variable assigns to it."""
    cells = workflow.read_cells(store.root() / "notebooks/08_icon2.ipynb")
    sources = ["".join(cell["source"]) for cell in cells]
    [source] = [source for source in sources if f"\n{variable} = " in source]
    exec(source, names)
    return names[variable]


def test_claims_are_judged_on_user_supplied_frames_and_not_where_they_are_injected(
    small,
):
    matches, group, analysis = small
    null = icon2.sigma_null(matches, group, permutations=200)
    sigmas = analysis.sigmas().merge(null.drop(columns="sigma"))
    control = analysis.control()
    judged = []
    for synthetic in (True, False):
        estimates = claims.of_frames(analysis, sigmas, synthetic)
        one = judge("08_icon2", estimates, {"table-2": control}, data=["labels"])
        judged.append(one.set_index("id"))
    injected = judged[0]["verdict"]
    own = judged[1]["verdict"]
    assert own["icon2/gap/car"] == own["icon2/control/car"] == REPLICATED
    assert own["icon2/control/pedestrian"] == NOT_TESTABLE, (
        "size ranks first, not occlusion"
    )
    incomes = ["icon2/falls-with-income", "icon2/small-cars"]
    assert own[incomes].tolist() == [CONTRADICTS, REPLICATED]
    cannot_fail = [*incomes, "icon2/gap/car", "icon2/gap/pedestrian"]
    assert (injected[cannot_fail] == NOT_TESTABLE).all(), (
        "an injected gap is not judged"
    )
    rows = control[control["attribute"] == "size"]
    rows = rows.set_index("class")
    found = judged[0].loc["icon2/control/car", ["estimate", "ci_low", "ci_high"]]
    assert found.tolist() == rows.loc["car", ["delta", "low", "high"]].tolist()
    assert injected["icon2/control/car"] == REPLICATED, "control can fail"


def test_the_papers_tables_are_compared_in_their_own_quantities(small):
    """All of Tables 1 to 3: 9 rows of 8, 15 of 4, 25 values."""
    *_, analysis = small
    one = claims.printed("groups").set_index("class")
    assert len(one) == 9
    assert one.notna().all(axis=None)
    assert one.loc["car", "low"] == 48.7
    assert one.loc["car", "low_half_width"] == 0.1
    assert one.loc["bicycle", "sigma"] == 5.05
    control = analysis.control()
    two = claims.tables_2_and_3(control, True)
    theirs = two["paper"]
    assert theirs["σ(ProxyAP)"].notna().sum() == 40 and theirs["Δ"].notna().sum() == 15
    row = theirs.loc[("car", "size")]
    printed = {
        "σ(ProxyAP)": 1.65,
        "μ(σ)": 1.20,
        "Δ": 1.18,
        "σ": 2.38,
    }
    assert row[list(printed)].to_dict() == printed
    ours = two["here"].loc[("car", "size")]
    assert ours["σ"] - ours["μ(σ)"] == pytest.approx(ours["Δ"])
    assert claims.tables_2_and_3(control, False)["paper"].isna().all(axis=None)


def test_errors_are_computed_by_difficulty_with_resampled_runs():
    """Control that leaves just the appearance's share removes the whole error."""
    record = pd.DataFrame(
        itertools.product((0.5, 1.0), (0, 1), (0, 1)),
        columns=["difficulty", "share_of_b", "run"],
    )
    same_in_all_rows = {
        "gap": 10.0,
        "gap_low": 5.0,
        "gap_high": 15.0,
        "appearance": 4.0,
        "scenes_low": 2.0,
        "scenes_high": 9.0,
        "sigma": 1.0,
    }
    record = record.assign(**same_in_all_rows)
    record["delta"] = np.where(record["difficulty"] == 0.5, 0.6, 0.0)
    record["proxy_sigma"] = record["share_of_b"]
    insignificant = record.iloc[:1].assign(gap_low=-1.0, delta=9.0)

    def flags_a_share(rank, proxy_sigma, delta):
        return formulas.FLAGGED if proxy_sigma else formulas.NOT_FLAGGED

    errors = of_cell(
        "errors",
        record=pd.concat([record, insignificant]),
        paper_says=flags_a_share,
        FLAGGED=formulas.FLAGGED,
        run=SimpleNamespace(table=lambda table, name: table),
        control_errors=control_errors,
        np=np,
    )
    np.testing.assert_allclose(errors["error_before"], [0.6, 0.6])
    np.testing.assert_allclose(errors["error_reduction"], [0.6, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        errors["error_reduction_low"], errors["error_reduction_high"], atol=1e-12
    )
    assert errors["flagged"].tolist() == [0.5, 0.5]
    assert (errors["flagged_low"] == 0).all()
    assert errors["runs"].tolist() == [4, 4]


def test_errors_of_one_training_run_have_no_interval():
    columns = ["difficulty", "share_of_b", "run", *control_errors.MEASURES]
    compared = pd.DataFrame(0.5, range(2), columns)
    errors = control_errors.by_difficulty(compared)
    assert errors["flagged"].tolist() == [0.5]
    assert errors["flagged_low"].isna().all()


@pytest.mark.slow
def test_the_papers_preset_runs_whole_on_a_small_copy(tmp_path):
    """Run BDD100K's published folder with the parameters of `make run PRESET=paper`."""
    written(tmp_path / "bdd100k", 300)
    preset = yaml.safe_load((store.root() / "sweeps/paper.yml").read_text())["08_icon2"]
    preset |= {
        "frames": str(tmp_path / preset["frames"]),
        "resamples": 20,
        "output": "paper",
    }
    executed(store.root() / "notebooks/08_icon2.ipynb", preset, tmp_path / "outputs")
    settings = SimpleNamespace(frames=preset["frames"], gps=None, edges="paper")
    data, _, _ = load(settings)
    groups = icon2.analyse(match(data), data.attribute("income"), []).groups()
    ran = tmp_path / "outputs/paper"
    table = pd.read_csv(ran / "tables/08_icon2/table-1-groups.csv")
    assert set(table["value"]) == {"low", "middle", "high"}
    pd.testing.assert_series_equal(table["AP"], groups["AP"])
    told = json.loads((ran / "findings/08_icon2.json").read_text())["findings"]
    judged = {one["id"]: one for one in told}
    verdict = judged["icon2/gap/car"]["verdict"]
    assert verdict != NOT_TESTABLE, "these gaps are not injected, so they are judged"
