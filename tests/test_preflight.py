"""What the workflow checks before anything runs."""

import os

import pytest

from helpers import preflight


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


def test_a_changed_added_or_lost_file_changes_the_fingerprint(tmp_path):
    folder = tmp_path / "photos"
    (folder / "cat").mkdir(parents=True)
    (folder / "cat" / "1.jpg").write_bytes(b"one")
    given = {"folder": str(folder), "output": "x", "seed": 3, "contexts": None}
    first = preflight.inputs(given)
    assert first and first == preflight.inputs(given | {"seed": 4})
    (folder / "cat" / "2.jpg").write_bytes(b"two")
    second = preflight.inputs(given)
    os.utime(folder / "cat" / "1.jpg", (1, 1))
    third = preflight.inputs(given)
    (folder / "cat" / "1.jpg").unlink()
    assert len({first, second, third, preflight.inputs(given)}) == 4


def test_parameters_that_name_no_file_have_no_fingerprint(tmp_path):
    assert preflight.inputs({"pretrained": "imagenet", "seed": 1, "folder": None}) == ""
    assert preflight.inputs({"output": str(tmp_path)}) == "", "results are no input"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folder": "photos"}, "say `source: folder` as well"),
        ({"output": "my photos"}, "is not a folder name"),
        ({"architecture": "no_such_network"}, "no_such_network"),
        ({"pretrained": "no_such.safetensors"}, "no_such.safetensors"),
    ],
)
def test_what_would_fail_later_is_refused(given, said):
    with pytest.raises((ValueError, OSError), match=said):
        preflight.check_inputs({"preset": "demo"} | given)


def test_what_is_fine_is_let_through():
    preflight.check_inputs({"preset": "demo", "output": "photos", "architecture": "squeezenet1_0"})


def test_notebooks_about_other_things_need_their_own_data(tmp_path, capsys):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jpg").write_bytes(b"")
    given = {"source": "folder", "folder": str(tmp_path)}
    every = ["01_datasets", "04_paste_check", "08_icon2", "09_bias_building_blocks"]
    assert preflight.fitting(every, given) == ["01_datasets", "09_bias_building_blocks"]
    assert "08_icon2 is not about photographs" in capsys.readouterr().out
    with_data = preflight.fitting(every, given | {"labels": "labels.json"})
    assert with_data == ["01_datasets", "08_icon2", "09_bias_building_blocks"]


def test_only_the_last_notebook_reads_findings():
    assert preflight.reads_findings("09_bias_building_blocks")
    assert not preflight.reads_findings("08_icon2")
