"""Parameters: declared, typed, in range; everything else is refused by name."""

from typing import Union

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.run import parameters
from helpers.run.parameters import ParameterError, check


def namespace(**values):
    annotations = {
        "preset": str,
        "seed": int,
        "bias": Union[float, dict[str, float]],  # noqa: UP007  as a notebook writes it
        "folder": str,
        "sides": list[str],
    }
    defaults = {"preset": "demo", "seed": 0, "bias": None, "folder": None, "sides": ["left"]}
    return {"__annotations__": annotations, **defaults, **values}


ALLOWED = {
    "preset": ["demo", "paper"],
    "seed": (0, None),
    "bias": (0, 1),
    "sides": ["left", "right", "random"],
}


def test_allowed_values_come_back():
    settings = check(namespace(seed=3, bias={"mug": 0.5}), **ALLOWED)
    assert (settings.seed, settings.bias, settings.folder) == (3, {"mug": 0.5}, None)


def test_none_is_filled_from_the_preset():
    space = namespace(source=None, image_size=64)
    images = {"source": str, "image_size": int, "per_class": int, "context_bias": float}
    space |= {"per_class": 12, "context_bias": None}
    space["__annotations__"] |= images
    settings = check(space, **ALLOWED)
    assert (settings.source, settings.image_size) == ("world", 64)
    assert settings.images == parameters.Images("world", 64, 12)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"seed": -1}, "'seed': -1 is out of range; allowed: 0 or more"),
        ({"seed": 1.5}, "'seed': 1.5 is of type float; allowed: int"),
        ({"seed": True}, "'seed': True is of type bool; allowed: int"),
        ({"seed": "3"}, "'seed': '3' is of type str; allowed: int"),
        ({"bias": 1.2}, "'bias': 1.2 is out of range; allowed: 0 to 1"),
        ({"bias": float("nan")}, "'bias': nan is out of range"),
        ({"bias": {"mug": 2}}, "'bias': 2 is out of range"),
        ({"bias": {"mug": "x"}}, r"allowed: Union\[float, dict\[str, float\]\]"),
        ({"preset": "big"}, "'preset': 'big' is not known; allowed: demo, paper"),
        ({"sides": "left"}, r"'left' is of type str; allowed: list\[str\], such as \[left\]"),
        ({"sides": ["up"]}, "'sides': 'up' is not known; allowed: left, right, random"),
    ],
)
def test_refusals_name_the_parameter_and_what_is_allowed(bad, said):
    with pytest.raises(ParameterError, match=said):
        check(namespace(**bad), **ALLOWED)


def test_all_problems_are_named_at_once():
    with pytest.raises(ParameterError) as error:
        check(namespace(seed=-1, preset="big"), **ALLOWED)
    assert "'seed'" in str(error.value) and "'preset'" in str(error.value)


def test_what_papermill_injected_undeclared_is_refused():
    with pytest.raises(ParameterError, match="'sed' is not declared here; did you mean 'seed'"):
        check(namespace(In=["", "# Parameters\nsed = 3\nseed = 1"]), **ALLOWED)


def test_running_the_check_again_after_other_cells_refuses_nothing():
    check(namespace(In=["seed: int = 0", "table = 3"], table=3, run=object()), **ALLOWED)


@given(st.integers() | st.floats() | st.text() | st.booleans() | st.none())
def test_a_seed_is_accepted_exactly_when_it_is_a_whole_number_from_zero(seed):
    right = seed is None or (type(seed) is int and seed >= 0)
    try:
        check(namespace(seed=seed), **ALLOWED)
    except ParameterError:
        assert not right
    else:
        assert right


@pytest.fixture
def notebook(tmp_path):
    def cell(source, tag):
        return nbformat.v4.new_code_cell(source, metadata={"tags": [tag]})

    cells = [
        cell("seed: int = 0  # random seed\nname: str = None  # any name", "parameters"),
        cell(
            "from helpers.run.parameters import check\ns = check(globals(), seed=(0, 9))", "check"
        ),
        cell("raise SystemExit('the rest never runs')", "other"),
    ]
    path = tmp_path / "01_one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_validated_runs_only_the_two_cells(notebook):
    assert parameters.validated(notebook, {"seed": 4}) == {"seed": 4}


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"seed": 10}, "01_one.ipynb: parameter 'seed': 10 is out of range; allowed: 0 to 9"),
        ({"sed": 1}, "'sed' is not declared here; did you mean 'seed'. the parameters"),
        ({"name": 7}, "'name': 7 is of type int; allowed: str"),
    ],
)
def test_validated_refuses_before_anything_runs(notebook, given_, said):
    with pytest.raises(ParameterError, match=said):
        parameters.validated(notebook, given_)


def test_shared_gives_each_notebook_what_it_declares(notebook, tmp_path):
    other = nbformat.read(notebook, as_version=4)
    other.cells[0].source = "seed: int = 0  # random seed"
    nbformat.write(other, tmp_path / "02_two.ipynb")
    shared = parameters.shared([notebook, tmp_path / "02_two.ipynb"], {"seed": 1, "name": "x"})
    assert shared == {"01_one": {"seed": 1, "name": "x"}, "02_two": {"seed": 1}}
    with pytest.raises(ParameterError, match="'nme' is not declared"):
        parameters.shared([notebook], {"nme": 1})
