"""Parameters and YAML as readers write them: applied or refused before anything runs, and told.

A7, A12, B8 and C of the walks.
"""

import subprocess
import sys

import pytest
import yaml

from helpers import store
from helpers.suite import parameters, preflight

NOTEBOOKS = store.root() / "notebooks"
SMALL = {"architecture": "alexnet-quarter"}
M03, M06, M08 = "03_contextualized_mosaics", "06_focus_rating", "08_icon2"


def plan(folder, text):
    """What a run would do with a YAML file, as `make run CONFIG=` reads it."""
    file = folder / "mine.yml"
    file.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
    return preflight.plan(yaml.safe_load(file.read_text()), NOTEBOOKS)


def asked(*notebooks, own=None, **parameters):
    return {"notebooks": list(notebooks), "parameters": parameters, **(own or {})}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (asked(M03, model=SMALL | {"trainings": 3}), "write `trainings: 3` beside `model`"),
        (asked(M03, model=SMALL | {"weights": "a.pt", "fit": "scratch"}), "reads no `weights`"),
        (asked(M03, fits=["scratch"]), "'fits' is read by none .* only by 02_cross_evaluation"),
        (asked(M03, methods=["lrp"]), "'methods' is read by none .* 06_focus_rating"),
        (asked(M03, own={M06: {"mosaics": 3}}), "06_focus_rating: this notebook does not run"),
        (asked(M03, own={M06: {"mosaix": 3}}), "06_focus_rating: this notebook does not run"),
        (asked("01_datasets", images={"folder": ".", "archives": ["mame"]}), "`archives` are read"),
        (asked("01_datasets", images={"archives": ["mame"]}), "`archives` are read only with"),
        (
            asked("09_bias_building_blocks", groups=["sex"]),
            "no parameter is called 'groups'|'groups'",
        ),
        (asked(M08, gps="."), "'gps' is read only together with 'labels'"),
        (asked(M08, frames="."), "'frames': .* has none of labels/det_20/det_val.json"),
        (
            asked("05b_dose_and_worlds", images={"folder": "."}, exchanged=0.5),
            "'exchanged' is of",
        ),
        (asked("01_datasets", seed=2**32), "'seed': 4294967296 should be less than 4294967296"),
        (asked(M03, images={"context_bias": {"zzz": 0.5}}), "a share of each class .* are of zzz"),
        (asked(M03, images={"context_bias": {"bench": 0.9}}), "fire hydrant.* these are of bench"),
        (asked(M06, sets=["X"]), "no set 'X'; there are: C, NC, WB"),
        (asked(M06, sets=[]), "'sets': .*at least 1"),
        (asked(M08, sensitive="nosuch"), "no column 'nosuch'; there are: name, .*income"),
        (asked(M08, labels=__file__, frames="."), "test_parameters_given.py .*no JSON"),
        (asked(M06, sets=["C", "C"]), "'sets': one of .* is there twice"),
        (asked(M06, model=["alexnet-quarter"] * 2), "'model': one of .* is there twice"),
        (asked("02_cross_evaluation", fits=[]), "'fits': .*at least 1"),
        (asked(M08, further=["weather"]), "'further': 'weather' is .* one of the five"),
        (asked(M08, further=["timeofday"]), "'further': 'timeofday' is .* one of the five"),
        (asked(M08, sensitive="look", further=["look"]), "'further': 'look' is the sensitive one"),
        ("run: no", "run: False is what .*YAML.s word for no"),
        ("run:", "run: None is what .*YAML.s word for no"),
        (asked("00_start_here"), "00_start_here has no parameters and is for reading"),
        (asked("01_datasets", images={"folder": __file__}), "is a file, and a folder is needed"),
        ({"run": "lab"}, "'lab' is what `make` writes"),
        ({"run": "Test"}, "'Test' is what `make` writes"),
        ({"run": "class"}, "is what `make` writes"),
        ({"run": "seeds"}, "is what `make` writes"),
        ({"run": "example.png"}, "is what `make` writes"),
        ({"run": "predictions"}, "'predictions' cannot be the folder"),
        ({"run": "demo/pages"}, "nor what is in a run"),
    ],
)
def test_what_would_be_ignored_or_fail_later_is_refused(tmp_path, config, told):
    with pytest.raises(ValueError, match=told) as refusal:
        plan(tmp_path, config)
    assert "the parameters are: \n" not in f"{refusal.value}\n", "never an empty list"


def test_one_mistake_is_one_complaint(tmp_path):
    with pytest.raises(ValueError) as refusal:
        plan(tmp_path, asked("01_datasets", images={"context_bias": 1.5}))
    told = str(refusal.value).splitlines()
    assert len(told) == 1 and "1.5 [context_bias] should be less than or equal to 1" in told[0]


def test_the_check_in_the_notebook_is_the_same(tmp_path):
    own = parameters.defaults(NOTEBOOKS / f"{M06}.ipynb")
    with pytest.raises(ValueError, match="no set 'X'"):
        parameters.check({"__annotations__": dict.fromkeys(own), **own, "sets": ["X"]})


def test_the_sets_of_a_folder_are_looked_up(tmp_path):
    for place in ("C/cat", "C/dog", "WB/cat", "WB/dog"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "1.png").touch()
    images = {"folder": str(tmp_path)}
    with pytest.raises(ValueError, match="no set 'NC'; there are: C, WB"):
        plan(tmp_path, asked(M06, images=images, sets=["C", "NC"]))
    assert plan(tmp_path, asked(M06, images=images, sets=["C", "WB"]))


@pytest.mark.parametrize("model", [{"fit": "probe"}, {"fit": "fine-tuned", "weights": "imagenet"}])
def test_weights_out_of_reach_are_refused_before_the_run(tmp_path, monkeypatch, model):
    def unreachable(address, timeout):
        raise OSError("no route")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("helpers.models.networks.urlopen", unreachable)
    parameters._misfit.cache_clear()
    with pytest.raises(ValueError, match="ImageNet weights of squeezenet1_0 could not be had"):
        plan(tmp_path, asked(M03, model={"architecture": "squeezenet1_0"} | model))
    with pytest.raises(ValueError, match="could not be had"):
        plan(tmp_path, asked("02_cross_evaluation", model="squeezenet1_0"))
    parameters._misfit.cache_clear()


def test_keys_given_twice_are_refused_with_their_line(tmp_path):
    (tmp_path / "photos.yml").write_text("folder: .\nsize: 96\nfolder: .\n")
    with pytest.raises(ValueError, match=r"photos.yml, line 3: the key 'folder' is given twice"):
        plan(tmp_path, asked("01_datasets", images=str(tmp_path / "photos.yml")))
    (tmp_path / "twice.yml").write_text("run: a\nparameters: {seed: 1, seed: 2}\n")
    with pytest.raises(ValueError, match=r"twice.yml, line 2: the key 'seed' is given twice"):
        preflight.plan({"run": "a"}, NOTEBOOKS, [tmp_path / "twice.yml"])


def test_a_preset_may_be_narrowed_to_a_notebook():
    preset = store.root() / "sweeps" / "paper.yml"
    config = yaml.safe_load(preset.read_text()) | {"notebooks": ["08b_deeper_icon2"]}
    assert list(preflight.plan(config, NOTEBOOKS, [preset])[1]) == ["08b_deeper_icon2"]


def test_assertions_that_python_leaves_out_are_told():
    asks = "from helpers.suite import parameters; parameters.optimized()"
    run = [sys.executable, "-O", "-c", asks]
    told = subprocess.run(run, cwd=store.root(), capture_output=True, text=True).stdout
    assert "turns all `assert` lines off" in told
