"""What the workflow checks before anything runs."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torchvision import models as torchvision_models

from helpers.run import preflight, project

NOTEBOOKS = project.root() / "notebooks"


def test_keys_that_nothing_reads_are_refused():
    allowed = ["run", "seeds", "doses"]
    preflight.known_keys({"run": 1, "doses": []}, allowed)
    with pytest.raises(ValueError, match=r"'seed' is no key .*did you mean 'seeds'"):
        preflight.known_keys({"seed": 3}, allowed)
    with pytest.raises(ValueError, match="stands below `parameters:`"):
        preflight.known_keys({"folder": "x"}, ["run", "parameters"])


def test_seeds_are_a_number_or_a_list():
    assert preflight.numbers(3) == [0, 1, 2]
    assert preflight.numbers([4, 7]) == [4, 7]
    for wrong in (0, [], "3", [1.5], True, None):
        with pytest.raises(ValueError, match="neither a number of seeds nor a list"):
            preflight.numbers(wrong)


def test_doses_are_a_list_of_shares():
    assert preflight.shares([0, 0.5, 1]) == [0.0, 0.5, 1.0]
    for wrong in (0.5, [], ["a"], [2], [True], None, [float("nan")]):
        with pytest.raises(ValueError, match="is no list of numbers from 0 to 1"):
            preflight.shares(wrong)


def photographs(folder, classes=("cat", "dog")):
    """Class folders with an (empty) image each."""
    for name in classes:
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jpg").write_bytes(b"")
    return folder


def test_a_changed_added_or_lost_file_changes_the_fingerprint(tmp_path):
    folder = photographs(tmp_path / "photos")
    given = {"folder": str(folder), "output": "x", "seed": 3, "contexts": None}
    first = preflight.inputs(given)
    assert first and first == preflight.inputs(given | {"seed": 4})
    (folder / "cat" / "2.jpg").write_bytes(b"two")
    second = preflight.inputs(given)
    os.utime(folder / "cat" / "1.jpg", (1, 1))
    third = preflight.inputs(given)
    (folder / "cat" / "1.jpg").unlink()
    assert len({first, second, third, preflight.inputs(given)}) == 4


def test_what_lies_behind_a_link_and_in_a_list_counts_and_a_dangling_link_does_not(tmp_path):
    elsewhere = photographs(tmp_path / "elsewhere")
    folder = photographs(tmp_path / "photos", ["cat"])
    (folder / "dog").symlink_to(elsewhere / "dog")
    (folder / "cat" / "2.jpg").symlink_to(tmp_path / "not there")
    (folder / "cat" / "3.jpg").symlink_to("3.jpg")
    (tmp_path / "own.csv").write_text("name\n")
    given = {"folder": str(folder), "further": ["truncation", str(tmp_path / "own.csv")]}
    first = preflight.inputs(given)
    (elsewhere / "dog" / "1.jpg").write_bytes(b"changed")
    second = preflight.inputs(given)
    (tmp_path / "own.csv").write_text("name,weight\n")
    assert len({first, second, preflight.inputs(given)}) == 3


def test_names_that_are_not_utf_8_have_a_fingerprint(tmp_path):
    folder = os.fsencode(photographs(tmp_path / "photos"))
    Path(os.fsdecode(folder + b"/cat/caf\xe9.jpg")).write_bytes(b"1")
    assert preflight.inputs({"folder": str(tmp_path / "photos")})


def test_parameters_that_name_no_file_have_no_fingerprint(tmp_path):
    assert preflight.inputs({"pretrained": "imagenet", "seed": 1, "folder": None}) == ""
    assert preflight.inputs({"output": str(tmp_path)}) == "", "results are no input"


def plan(parameters=None, **config):
    return preflight.plan({**config, "parameters": parameters}, NOTEBOOKS)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"run": "my photos"}, "is not a folder name"),
        ({"run": "models"}, "'models' is the folder of trained models; take another name"),
        ({"notebooks": 5}, r"notebooks: 5 is no list of names, such as \[00_"),
        ({"notebooks": []}, r"notebooks: \[\] is no list of names"),
        ({"notebooks": ["01_dataset"]}, "no 01_dataset.ipynb in .*; did you mean '01_datasets'"),
        ({"notebooks": [1]}, "there is no 1.ipynb in .*; there are: 00_"),
        (
            {"parameters": ["seed", 3]},
            r"\['seed', 3\] is no mapping; write `parameters: {seed: 3}`",
        ),
        ({"parameters": {"output": "other"}}, "write `run: other` beside `parameters`, not in it"),
        ({"parameters": {"preset": "paper"}}, "write `preset: paper` beside `parameters`, not in"),
        ({"preset": "huge"}, "parameter 'preset': 'huge' is not known; allowed: demo, paper"),
        ({"source": "folder"}, "'source' is no key of the configuration"),
    ],
)
def test_configurations_that_would_be_misread_are_refused(config, said):
    with pytest.raises(ValueError, match=said):
        preflight.plan(config, NOTEBOOKS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folder": "."}, "say `source: folder` as well"),
        ({"source": "folder"}, "the parameter 'folder' must name one"),
        ({"source": "folder", "folder": "nowhere"}, "'folder': there is no file or folder 'nowher"),
        ({"table": "no.csv"}, "09_bias_building_blocks.ipynb: parameter 'table': there is no file"),
        ({"labels": "no.json"}, "08_icon2.ipynb: parameter 'labels': there is no file or folder"),
        ({"predictions": "no.json"}, "'predictions': there is no file or folder 'no.json' below"),
        ({"shown": ["dog"]}, "'shown': 'dog' is not known; allowed: car, pedestrian"),
        ({"shown": []}, "'shown': names no class"),
        ({"architecture": "no_such_network"}, "no_such_network"),
        ({"pretrained": "no_such.safetensors"}, "no_such.safetensors"),
        ({"pretrained": "imagenet"}, "Nobody publishes ImageNet weights for 'alexnet-quarter'"),
        ({"image_size": 48}, r"alexnet-quarter cannot take images of 48 pixels .*; 64 fits"),
    ],
)
def test_what_would_fail_later_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        plan(given)


def test_what_is_fine_is_let_through():
    run, parameters = plan({"architecture": "squeezenet1_0", "seed": 3}, run="sweep/seed-3")
    assert run == "sweep/seed-3" and len(parameters) == len(preflight.chapters(NOTEBOOKS))
    assert parameters["02_cross_evaluation"]["architecture"] == "squeezenet1_0"
    assert "architecture" not in parameters["01_datasets"]
    names = ["02_cross_evaluation", "01_datasets"]
    assert list(plan(notebooks=names)[1]) == names == list(plan(notebooks=",".join(names))[1])


def test_values_are_checked_by_the_notebooks_that_run_only(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "squeezenet.safetensors"
    save_file(torchvision_models.squeezenet1_0().state_dict(), path)
    given = {"family": "as it is", "architecture": "squeezenet1_0", "pretrained": str(path)}
    given |= {"per_context": 3, "shape": "squeezed"}  # of others, and stays in the file
    assert plan(given, notebooks=["06_focus_rating"])[1]["06_focus_rating"]["family"] == "as it is"
    with pytest.raises(
        ValueError, match=r"04_paste_check.*'as it is' is not known(.|\n)*`notebooks`"
    ):
        plan(given)
    with pytest.raises(ValueError, match="'as it is' needs a network: `pretrained: imagenet` or"):
        plan({"family": "as it is"}, notebooks=["06_focus_rating"])


def test_a_folder_without_contexts_leaves_out_what_needs_them(tmp_path, capsys):
    given = {"source": "folder", "folder": str(photographs(tmp_path))}
    names = ["01_datasets", "04_paste_check", "08_icon2", "09_bias_building_blocks"]
    assert list(plan(given, notebooks=names)[1]) == ["01_datasets", "09_bias_building_blocks"]
    said = capsys.readouterr().out
    assert "holds no context images, so these notebooks are left out: 04_paste_check" in said
    assert "08_icon2 is not about photographs" in said
    (tmp_path / "labels.json").write_text("[]")
    with_data = plan(given | {"labels": str(tmp_path / "labels.json")}, notebooks=names)[1]
    assert list(with_data) == ["01_datasets", "08_icon2", "09_bias_building_blocks"]
    with pytest.raises(ValueError, match="no notebook is left to run"):
        plan(given, notebooks=["04_paste_check"])


def test_only_the_last_notebook_reads_findings():
    assert preflight.reads_findings(NOTEBOOKS / "09_bias_building_blocks.ipynb")
    assert not preflight.reads_findings(NOTEBOOKS / "08_icon2.ipynb")
