"""What the workflow checks before anything runs."""

import os
import shutil
from pathlib import Path

import pytest
import yaml

from helpers import store
from helpers.suite import notebooks, preflight

NOTEBOOKS = store.root() / "notebooks"


def photographs(folder, classes=("cat", "dog")):
    """Class folders with an (empty) image each."""
    for name in classes:
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jpg").write_bytes(b"")
    return folder


def test_a_changed_added_or_lost_file_changes_the_fingerprint(tmp_path):
    """Behind a link and in a list, too; a link to nothing counts for nothing."""
    folder, elsewhere = photographs(tmp_path / "photos", ["cat"]), photographs(tmp_path / "other")
    (folder / "dog").symlink_to(elsewhere / "dog")
    (folder / "cat" / "2.jpg").symlink_to(tmp_path / "not there")
    (folder / "cat" / "3.jpg").symlink_to("3.jpg")
    Path(os.fsdecode(os.fsencode(folder) + b"/cat/caf\xe9.jpg")).write_bytes(b"1")
    own = tmp_path / "own.csv"
    own.write_text("name\n")
    given = {"images": {"folder": str(folder)}, "further": ["x", str(own)]}
    given |= {"output": str(tmp_path), "seed": 3, "layer": None}
    assert preflight.inputs(given) == preflight.inputs(given | {"seed": 4})
    changes = [
        lambda: None,
        lambda: (folder / "cat" / "4.jpg").write_bytes(b"four"),
        lambda: os.utime(folder / "cat" / "1.jpg", (1, 1)),
        lambda: (folder / "cat" / "1.jpg").unlink(),
        lambda: (elsewhere / "dog" / "1.jpg").write_bytes(b"changed"),
        lambda: own.write_text("name,weight\n"),
    ]
    assert len({(change(), preflight.inputs(given))[1] for change in changes}) == len(changes)
    assert preflight.inputs({"images": "world", "seed": 1, "layer": None}) == ""
    assert preflight.inputs({"output": str(tmp_path)}) == "", "results are no input"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"run": "my photos"}, "output: 'my photos' cannot be the folder of a run: use letters"),
        ({"run": "../x"}, r"output: '\.\./x' cannot be the folder"),
        ({"run": "models"}, "'models' cannot be .*not home, models, predictions"),
        ({"notebooks": 5}, r"notebooks: 5 is no list of names, such as \[00_template"),
        ({"notebooks": ["01_dataset"]}, "no 01_dataset.ipynb in .*; did you mean '01_datasets'"),
        ({"notebooks": [1]}, "there is no 1.ipynb in .*; there are: 00_"),
        ({"parameters": ["seed"]}, r"\['seed'\] is no mapping; write `parameters: {seed: 3}`"),
        ({"parameters": {"output": "other"}}, "write `run: other` beside `parameters`, not in it"),
        ({"parameters": {"sed": 3}}, "'sed' is not declared here; did you mean 'seed'"),
        ({"01_datasets": {"doses": [1]}}, "01_datasets.ipynb: parameter 'doses' is not declared"),
        ({"images": "world"}, r"'images' is no key of the configuration; .*\n.*stands below"),
        ({"parameters": {"table": "no.csv"}}, "13_.*'table': there is no file or folder 'no.csv'"),
        ({"parameters": {"labels": "no.json"}}, "08_icon2.*12_.*: parameter 'labels': there is no"),
        ({"parameters": {"figure_classes": []}}, "'figure_classes': .*should have at least 1 item"),
    ],
)
def test_configurations_that_would_be_misread_are_refused(config, said):
    with pytest.raises(ValueError, match=said):
        preflight.plan(config, NOTEBOOKS)


@pytest.fixture(autouse=True)
def reached(monkeypatch):
    """ImageNet's weights are taken to be in reach."""
    monkeypatch.setattr("helpers.models.networks.reach", lambda architecture: None)


def plan(parameters=None, **config):
    return preflight.plan({**config, "parameters": parameters}, NOTEBOOKS)


def test_what_is_fine_is_let_through():
    own = {"06_focus_rating": {"mosaics": 7}}
    run, parameters = plan({"model": "squeezenet1_0", "seed": 3}, run="sweep/seed-3", **own)
    assert run == "sweep/seed-3" and len(parameters) == len(notebooks.lessons())
    assert parameters["02_cross_evaluation"]["model"] == "squeezenet1_0"
    assert "model" not in parameters["01_datasets"]
    assert parameters["06_focus_rating"]["mosaics"] == 7
    names = ["02_cross_evaluation", "01_datasets"]
    assert list(plan(notebooks=names)[1]) == names


def test_the_papers_configuration_fits_the_notebooks():
    file = store.root() / "sweeps" / "paper.yml"
    run, parameters = preflight.plan(yaml.safe_load(file.read_text()), NOTEBOOKS, [file])
    assert run == "paper" and parameters["03_contextualized_mosaics"]["images"] == "visual-contexts"


def test_the_papers_street_is_bdd100k_or_none(tmp_path, monkeypatch, capsys):
    """No drawn frame comes into a run of the papers' data."""
    file = store.root() / "sweeps" / "paper.yml"
    config = yaml.safe_load(file.read_text()) | {"notebooks": ["01_datasets", "08_icon2"]}
    monkeypatch.chdir(tmp_path)
    assert list(preflight.plan(config, NOTEBOOKS, [file])[1]) == ["01_datasets"]
    assert "08_icon2 is left out: there is no folder bdd100k here" in capsys.readouterr().out
    (tmp_path / "bdd100k").mkdir()
    with pytest.raises(ValueError, match="bdd100k has none of labels/det_20"):
        preflight.plan(config, NOTEBOOKS, [file])


def test_values_are_checked_by_the_notebooks_that_run_only():
    given = {"model": {"architecture": "squeezenet1_0", "fit": "as it is"}}
    given |= {"shape": "squeezed"}
    assert plan(given, notebooks=["06_focus_rating"])[1]["06_focus_rating"]["model"]
    with pytest.raises(ValueError, match=r"04_paste_check.*'as it is' is for (.|\n)*`notebooks`"):
        plan(given)


def test_a_folder_without_contexts_leaves_out_what_needs_them(tmp_path, capsys):
    given = {"images": {"folder": str(photographs(tmp_path))}}
    names = ["01_datasets", "04_paste_check", "08_icon2", "06_focus_rating"]
    assert list(plan(given, notebooks=names)[1]) == ["01_datasets", "06_focus_rating"]
    said = capsys.readouterr().out
    assert "holds no context images, so 04_paste_check is left out" in said
    assert "08_icon2 is not about photographs" in said
    with_data = plan(given | {"resamples": 20}, notebooks=names)[1]
    assert list(with_data) == ["01_datasets", "08_icon2", "06_focus_rating"]
    with pytest.raises(ValueError, match="no notebook is left to run"):
        plan(given, notebooks=["04_paste_check"])


def test_a_lesson_with_a_later_number_is_run_like_the_others(tmp_path):
    """And tested: 10 to 13 will come; 00 has pages without a lesson. `walks/test_system.py` runs a
    10 and reads its page."""
    for name in ("00_template", "02_cross_evaluation"):
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", tmp_path)
    shutil.copy(NOTEBOOKS / "02_cross_evaluation.ipynb", tmp_path / "10_which_method.ipynb")
    names = ["02_cross_evaluation", "10_which_method"]
    assert [path.stem for path in notebooks.lessons(tmp_path)] == names
    assert list(preflight.plan({"run": "next"}, tmp_path)[1]) == names
    assert "--nbval notebooks tests" in (store.root() / "Makefile").read_text(), "the whole folder"
