"""What the Snakefile runs: which notebooks, with which parameters, and when again."""

import os

import pytest
import yaml

from helpers import store, workflow

NOTEBOOKS = store.root() / "notebooks"
PASTE = "04_paste_check"
TABLE = "13_audit_your_table"


def test_a_run_without_a_configuration_executes_all_lessons_as_they_are():
    name, planned = workflow.plan({}, NOTEBOOKS)
    assert name == "demo"
    assert list(planned) == workflow.lessons(NOTEBOOKS)
    assert all(parameters == {"output": "demo"} for parameters in planned.values())


def test_each_parameter_goes_to_the_lessons_that_have_it():
    config = {
        "run": "mine",
        "notebooks": [PASTE, TABLE],
        "parameters": {"seed": 3, "trainings": 2},
        TABLE: {"draws": 199},
    }
    name, planned = workflow.plan(config, NOTEBOOKS)
    assert name == "mine"
    assert planned[PASTE] == {"seed": 3, "trainings": 2, "output": "mine"}
    assert planned[TABLE] == {"seed": 3, "draws": 199, "output": "mine"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"parameters": {"sed": 3}},
            "There is no parameter 'sed'. Did you mean 'seed'?",
        ),
        (
            {"notebooks": ["04_paste"]},
            "There is no notebook '04_paste'. Did you mean '04_paste_c",
        ),
        ({"parametrs": {}}, "There is no key 'parametrs'. Did you mean 'parameters'?"),
        (
            {TABLE: {"dras": 1}},
            f"There is no parameter of {TABLE} 'dras'. Did you mean 'draws'?",
        ),
        ({"parameters": {"output": "x"}}, "There is no parameter 'output'"),
    ],
)
def test_a_name_that_belongs_to_nothing_is_refused(config, message):
    with pytest.raises(ValueError, match=r"Did you mean|Known") as refusal:
        workflow.plan(config, NOTEBOOKS)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("parameters", "cores"),
    [({"images": "photos.yml"}, 8), ({"network": "resnet18"}, 8), ({"seed": 1}, 1)],
)
def test_your_own_images_and_networks_take_all_cores(parameters, cores):
    _, planned = workflow.plan({"parameters": parameters}, NOTEBOOKS)
    name = "11_audit_your_model" if "network" in parameters else PASTE
    assert workflow.threads(planned[name], 8) == cores


@pytest.mark.parametrize("path", sorted((store.root() / "sweeps").glob("paper*.yml")))
def test_the_presets_can_be_planned(path):
    name, planned = workflow.plan(yaml.safe_load(path.read_text()), NOTEBOOKS)
    assert name.startswith("paper")
    assert planned["06_focus_rating"]["effort"] == "paper"


def test_every_lesson_has_its_seconds_by_which_a_run_is_ordered():
    seconds = yaml.safe_load((store.root() / "data" / "seconds.yml").read_text())
    assert sorted(seconds) == workflow.lessons(NOTEBOOKS)


@pytest.mark.parametrize("name", workflow.lessons(NOTEBOOKS))
def test_a_notebook_that_is_run_by_itself_writes_to_its_own_folder(name):
    defaults = workflow.defaults(NOTEBOOKS / f"{name}.ipynb")
    assert defaults["output"] == f"single-runs/{name}"


@pytest.fixture
def photographs(tmp_path):
    """A YAML file of a folder with a photograph, behind a link to a folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "1.jpg").write_bytes(b"one")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat").symlink_to(elsewhere)
    (tmp_path / "photos.yml").write_text("folder: photos\n")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "elsewhere" / "2.jpg").write_bytes(b"two"),
        lambda folder: os.utime(folder / "elsewhere" / "1.jpg", (1, 1)),
        lambda folder: (folder / "elsewhere" / "1.jpg").unlink(),
        lambda folder: (folder / "photos.yml").write_text("folder: photos\nsize: 64\n"),
    ],
    ids=["added", "touched", "removed", "configured"],
)
def test_a_changed_file_of_the_users_changes_the_digest(photographs, change):
    parameters = {"images": str(photographs / "photos.yml"), "seed": 1}
    before = workflow.input_digest(parameters)
    assert before == workflow.input_digest({**parameters, "seed": 2})
    change(photographs)
    assert workflow.input_digest(parameters) != before


def test_a_changed_module_next_to_a_users_network_changes_the_digest(tmp_path):
    (tmp_path / "mine.py").write_text("import layers\n")
    (tmp_path / "layers.py").write_text("WIDTH = 4\n")
    parameters = {"model": {"architecture": f"{tmp_path / 'mine.py'}:network"}}
    before = workflow.input_digest(parameters)
    (tmp_path / "layers.py").write_text("WIDTH = 16\n")
    assert workflow.input_digest(parameters) != before


def test_a_run_without_files_of_the_users_has_no_digest(tmp_path):
    parameters = {"images": "world", "layer": None, "output": str(tmp_path)}
    assert workflow.input_digest(parameters) == ""
