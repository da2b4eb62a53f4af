"""What the workflow checks before anything runs: parameters and YAML as readers write them."""

import os
from pathlib import Path

import pytest
import yaml

from helpers import store
from helpers.suite import notebooks, parameters, preflight

NOTEBOOKS = store.root() / "notebooks"


def photographs(folder, classes=("cat", "dog")):
    """Class folders with an (empty) image each."""
    for name in classes:
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jpg").write_bytes(b"")
    return folder


def test_a_changed_added_or_lost_file_changes_the_fingerprint(tmp_path):
    """Behind a link and in a list, too; a link to nothing counts for nothing."""
    folder, elsewhere = (
        photographs(tmp_path / "photos", ["cat"]),
        photographs(tmp_path / "other"),
    )
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
    assert len({(change(), preflight.inputs(given))[1] for change in changes}) == len(
        changes
    )
    assert preflight.inputs({"images": "world", "seed": 1, "layer": None}) == ""
    assert preflight.inputs({"output": str(tmp_path)}) == "", "results are no input"


SMALL = {"architecture": "alexnet-quarter"}
M01, M03, M06, M08 = (
    "01_datasets",
    "03_contextualized_mosaics",
    "06_focus_rating",
    "08_icon2",
)


def asked(*names, own=None, **parameters):
    return {"notebooks": [*names], "parameters": parameters, **(own or {})}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            {"run": "my photos"},
            "output: 'my photos' cannot be the folder of a run: use letters",
        ),
        ({"run": "models"}, "'models' cannot be .*not home, models, predictions"),
        ({"run": "demo/pages"}, "nor what is in a run"),
        ({"run": "Test"}, "'Test' is what `make` writes"),
        ({"run": "single-runs"}, "'single-runs' is what `make` writes"),
        ({"run": False}, "run: False is what .*YAML.s word for no"),
        ({"run": None}, "run: None is what .*YAML.s word for no"),
        ({"notebooks": 5}, r"notebooks: 5 is no list of names, such as \[00_template"),
        (asked("01_dataset"), "no 01_dataset.ipynb in .*; did you mean '01_datasets'"),
        (asked("00_start_here"), "00_start_here has no parameters and is for reading"),
        (
            {"images": "world"},
            r"'images' is no key of the configuration; .*\n.*stands below",
        ),
        (
            {"parameters": ["seed"]},
            r"\['seed'\] is no mapping; write `parameters: {seed: 3}`",
        ),
        (
            asked(M01, output="other"),
            "write `run: other` beside `parameters`, not in it",
        ),
        (asked(M01, sed=3), "'sed' is not declared here; did you mean 'seed'"),
        ({M01: {"doses": [1]}}, "01_datasets.ipynb: parameter 'doses' is not declared"),
        (
            {"parameters": {"table": "no.csv"}},
            "13_.*'table': there is no file or folder 'no.csv'",
        ),
        (
            {"parameters": {"labels": "no.json"}},
            "08_icon2.*12_.*: parameter 'labels': there is no",
        ),
        (
            asked(M03, fits=["scratch"]),
            "'fits' is read by none .* only by 02_cross_evaluation",
        ),
        (
            asked(M03, own={M06: {"mosaix": 3}}),
            "06_focus_rating: this notebook does not run",
        ),
        (
            asked(M03, model=SMALL | {"trainings": 3}),
            "write `trainings: 3` beside `model`",
        ),
        (
            asked(M03, model=SMALL | {"weights": "a.pt", "fit": "scratch"}),
            "reads no `weights`",
        ),
        (asked(M03, model=SMALL | {"weights": "no.pt"}), "no weights file no.pt"),
        (
            asked(M03, images={"size": 48}),
            "cannot take images of 48 pixels: .*too small",
        ),
        (
            asked(M03, images={"context_bias": {"a": 0.5}}),
            "a share of each class .* are of a",
        ),
        (
            asked(M03, images={"context_bias": 1.5}),
            r"images': 1.5 \[context_bias\] should be less",
        ),
        (asked(M01, images={"archives": ["mame"]}), "`archives` are read only with"),
        (asked(M01, images={"folder": __file__}), "is a file, and a folder is needed"),
        (
            asked("05b_dose_and_worlds", images={"folder": "."}, exchanged=0.5),
            "'exchanged' is of",
        ),
        (asked(M06, sets=["X"]), "no set 'X'; there are: C, NC, WB"),
        (asked(M06, sets=["C", "C"]), "'sets': one of .* is there twice"),
        (asked(M08, gps="."), "'gps' is read only together with 'labels'"),
        (asked(M08, frames="."), "'frames': .* has none of labels/det_20/det_val.json"),
        (asked(M08, labels=__file__, frames="."), "test_preflight.py .*no JSON"),
        (
            asked(M08, sensitive="nosuch"),
            "no column 'nosuch'; there are: name, .*income",
        ),
        (asked(M08, further=["weather"]), "'further': 'weather' is .* one of the five"),
        (
            asked(M08, sensitive="look", further=["look"]),
            "'further': 'look' is the sensitive one",
        ),
    ],
)
def test_configurations_that_would_be_misread_ignored_or_fail_later_are_refused(
    config, told
):
    with pytest.raises(ValueError, match=told):
        preflight.plan(config, NOTEBOOKS)


@pytest.fixture(autouse=True)
def reached(monkeypatch):
    """ImageNet's weights are taken to be in reach."""
    monkeypatch.setattr("helpers.models.networks.reach", lambda architecture: None)


def plan(parameters=None, **config):
    return preflight.plan({**config, "parameters": parameters}, NOTEBOOKS)


def test_what_is_fine_is_let_through():
    own = {"06_focus_rating": {"mosaics": 7}}
    run, parameters = plan(
        {"model": "squeezenet1_0", "seed": 3}, run="sweep/seed-3", **own
    )
    assert run == "sweep/seed-3" and len(parameters) == len(notebooks.lessons())
    assert parameters["02_cross_evaluation"]["model"] == "squeezenet1_0"
    assert "model" not in parameters["01_datasets"]
    assert parameters["06_focus_rating"]["mosaics"] == 7
    names = ["02_cross_evaluation", "01_datasets"]
    assert list(plan(notebooks=names)[1]) == names


def test_the_papers_configuration_fits_the_notebooks():
    file = store.root() / "sweeps" / "paper.yml"
    run, parameters = preflight.plan(
        yaml.safe_load(file.read_text()), NOTEBOOKS, [file]
    )
    assert (
        run == "paper"
        and parameters["03_contextualized_mosaics"]["images"] == "visual-contexts"
    )


def test_the_papers_street_is_bdd100k_or_none(tmp_path, monkeypatch, capsys):
    """No drawn frame comes into a run of the papers' data."""
    file = store.root() / "sweeps" / "paper.yml"
    config = yaml.safe_load(file.read_text()) | {
        "notebooks": ["01_datasets", "08_icon2"]
    }
    monkeypatch.chdir(tmp_path)
    assert list(preflight.plan(config, NOTEBOOKS, [file])[1]) == ["01_datasets"]
    assert (
        "08_icon2 is left out: there is no folder bdd100k here"
        in capsys.readouterr().out
    )
    (tmp_path / "bdd100k").mkdir()
    with pytest.raises(ValueError, match="bdd100k has none of labels/det_20"):
        preflight.plan(config, NOTEBOOKS, [file])


def test_values_are_checked_by_the_notebooks_that_run_only():
    given = {"model": {"architecture": "squeezenet1_0", "fit": "as it is"}}
    given |= {"shape": "squeezed"}
    assert plan(given, notebooks=["06_focus_rating"])[1]["06_focus_rating"]["model"]
    with pytest.raises(
        ValueError, match=r"04_paste_check.*'as it is' is for (.|\n)*`notebooks`"
    ):
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


def test_the_sets_of_a_folder_are_looked_up(tmp_path):
    for place in ("C/cat", "C/dog", "WB/cat", "WB/dog"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "1.png").touch()
    images = {"folder": str(tmp_path)}
    with pytest.raises(ValueError, match="no set 'NC'; there are: C, WB"):
        plan({"images": images, "sets": ["C", "NC"]}, notebooks=[M06])
    assert plan({"images": images, "sets": ["C", "WB"]}, notebooks=[M06])


@pytest.mark.parametrize(
    "model", [{"fit": "probe"}, {"fit": "fine-tuned", "weights": "imagenet"}]
)
def test_weights_out_of_reach_are_refused_before_the_run(tmp_path, monkeypatch, model):
    def unreachable(address, timeout):
        raise OSError("no route")

    monkeypatch.undo()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("helpers.models.networks.urlopen", unreachable)
    parameters._misfit.cache_clear()
    with pytest.raises(
        ValueError, match="ImageNet weights of squeezenet1_0 could not be had"
    ):
        plan({"model": {"architecture": "squeezenet1_0"} | model}, notebooks=[M03])
    with pytest.raises(ValueError, match="could not be had"):
        plan({"model": "squeezenet1_0"}, notebooks=["02_cross_evaluation"])
    parameters._misfit.cache_clear()


def test_keys_given_twice_are_refused_with_their_line(tmp_path):
    (tmp_path / "photos.yml").write_text("folder: .\nsize: 96\nfolder: .\n")
    with pytest.raises(
        ValueError, match=r"photos.yml, line 3: the key 'folder' is given twice"
    ):
        plan({"images": str(tmp_path / "photos.yml")}, notebooks=[M01])
    (tmp_path / "twice.yml").write_text("run: a\nparameters: {seed: 1, seed: 2}\n")
    with pytest.raises(
        ValueError, match=r"twice.yml, line 2: the key 'seed' is given twice"
    ):
        preflight.plan({"run": "a"}, NOTEBOOKS, [tmp_path / "twice.yml"])
