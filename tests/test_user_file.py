"""Networks in Python files of users, with modules next to them (cases 13 and 14)."""

import sys

import pytest
import torch

from helpers import models
from helpers.audit import model
from helpers.data.collection import TrainingImages
from helpers.models.recipe import read_specification

NETWORK = """
import torch
from torch import nn
mean, std, size = (0, 0, 0), (1, 1, 1), 32
network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
network[2].weight.data, network[2].bias.data = ROWS, torch.zeros(3)
"""
ALONE = NETWORK.replace("ROWS", "20 * torch.eye(3)")
IMPORTING = f"from layers import ROWS\n{NETWORK}"
LAYERS = "import torch\nROWS = 20 * torch.eye(3){order}\n"
STRAIGHT, TURNED = LAYERS.format(order=""), LAYERS.format(order="[[1, 0, 2]]")


@pytest.fixture
def load(tmp_path):
    """Write files into a folder and load a network from them."""

    def write_and_load(text, folder="files", **modules):
        place = tmp_path / folder
        for name, content in {"mine": text, **modules}.items():
            file = place / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return model.load_network(f"{place / 'mine.py'}:network")

    return write_and_load


def answers(network):
    """Return the answer to one pure red image."""
    red = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    red[:, 0] = 255
    return network(red)[0].detach().round().tolist()


def test_a_dataclass_under_postponed_annotations_works(load):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\n"
        "@dataclass\nclass Config:\n    rows: list[int] = field(default_factory=list)\n"
    )
    assert answers(load(f"{text}Config()\n{ALONE}")) == [20, 0, 0]


def test_modules_of_one_name_next_to_two_files_are_not_mixed_up(load):
    first = load(IMPORTING, "first", layers=STRAIGHT)
    second = load(IMPORTING, "second", layers=TURNED)
    assert (answers(first), answers(second)) == ([20, 0, 0], [0, 20, 0])


def test_an_edit_of_the_module_next_to_a_file_is_seen_and_changes_the_digests(load):
    first = load(IMPORTING, layers=STRAIGHT)
    second = load(IMPORTING, layers=TURNED)
    assert (answers(first), answers(second)) == ([20, 0, 0], [0, 20, 0])
    assert first.code != second.code


def test_a_file_may_have_the_name_of_a_module_that_is_loaded(tmp_path):
    loaded = sys.modules["json"]
    (tmp_path / "json.py").write_text(ALONE)
    network = model.load_network(f"{tmp_path / 'json.py'}:network")
    assert answers(network) == [20, 0, 0]
    assert sys.modules["json"] is loaded


def test_the_folder_can_be_imported_from_while_the_file_is_loaded_only(load):
    path = list(sys.path)
    load(IMPORTING, layers=STRAIGHT)
    assert sys.path == path
    assert "layers" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowh"),
        ("\nmean = 1 / 0", r"ZeroDivisionError: division by zero"),
        ("\ndef f(:", r"SyntaxError: invalid syntax \(mine\.py, line 2\)"),
        ("\nimport sys\nsys.exit()", "SystemExit: "),
    ],
)
def test_an_error_in_a_users_file_is_named(load, text, message):
    with pytest.raises(ValueError, match=rf"could not be imported \({message}"):
        load(text)


def test_a_syntax_error_next_to_a_users_file_is_named_with_its_line(load):
    with pytest.raises(ValueError, match=r"SyntaxError: .*layers\.py, line 2"):
        load(IMPORTING, layers="\ndef f(:\n")


COUNTING = """
from torch import nn

mean, std, size = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 32
classes = ("red", "green")


def network():
    from layers import WIDTH

    return nn.Sequential(
        nn.Conv2d(3, WIDTH, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(WIDTH, 2),
    )
"""


@pytest.fixture
def named(tmp_path):
    """Write a file with a function, which imports a module next to it."""

    def write(width=4):
        (tmp_path / "counting.py").write_text(COUNTING)
        (tmp_path / "layers.py").write_text(f"WIDTH = {width}\n")
        return f"{tmp_path / 'counting.py'}:network"

    return write


def test_a_function_is_called_with_its_folder_on_the_path(named):
    built = models.build(named(), seed=1)
    assert built.network[0].out_channels == 4
    assert built.mean.flatten().tolist() == [0.5, 0.5, 0.5]
    assert built.preprocessing.classes == ("red", "green")


def test_a_lesson_gets_the_network_with_a_last_layer_for_its_classes(named):
    recipe = read_specification({"architecture": named(), "fit": "scratch"})
    assert recipe.start is None
    built = models.build(recipe.architecture, 5, weights=recipe.start)
    assert built.network[-1].out_features == 5


def test_an_edit_of_a_users_file_trains_the_network_again(named, tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    images = torch.randint(0, 256, (8, 3, 32, 32), dtype=torch.uint8)
    labels = torch.arange(8) % 2
    seen = TrainingImages({"given": 1}, lambda: (images, labels, images, labels))
    for width in (4, 6, 4):
        models.trainings(
            1,
            named(width),
            ("red", "green"),
            lambda run: seen,
            seed=0,
            epochs=1,
        )
    assert len(list((tmp_path / "models").glob("*.safetensors"))) == 2


def test_a_file_that_does_not_exist_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*none\.py"):
        read_specification(f"{tmp_path}/none.py:network")


def test_hugging_faces_processor_states_the_normalization(load):
    text = ALONE.replace("mean, std, size = (0, 0, 0), (1, 1, 1), 32", "").replace(
        "import torch\n",
        "import torch\nfrom types import SimpleNamespace\n"
        "preprocessing = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.25] * 3, "
        "size={'height': 48, 'width': 48})\n",
        1,
    )
    network = load(text)
    assert network.preprocessing.size == 48
    assert network.std.flatten().tolist() == [0.25, 0.25, 0.25]


def test_one_number_normalizes_all_channels(load):
    text = ALONE.replace("(0, 0, 0), (1, 1, 1), 32", "0.5, 0.25, 32")
    classifier = load(text)
    assert classifier.mean.flatten().tolist() == [0.5] * 3
    assert classifier.std.flatten().tolist() == [0.25] * 3


def test_a_mean_without_a_standard_deviation_is_refused(load):
    text = ALONE.replace("mean, std, size = (0, 0, 0), (1, 1, 1), 32", "mean = 0.5")
    with pytest.raises(ValueError, match=r"write mean = \(\.\.\.\) and std"):
        load(text)
