"""The check of parameters, which a lesson's cell declares by annotations."""

import pytest

from helpers.data.images import Images, read_specification
from helpers.models.recipe import Recipe
from helpers.settings import Model, ParameterError, check

CELL = """from typing import Literal, Optional
from helpers.settings import Draws, Images, Model, PositiveInt, Seed, Share, Values
images: Images = "world"
model: Model = "alexnet-quarter"
trainings: PositiveInt = 6
seed: Seed = 0
side: Literal["left", "right"] = "left"
doses: list[Share] = [0.0, 0.25]
groups: Optional[list[str]] = None
positive: Optional[Values] = None
draws: Draws = 999
output: str = "single-runs/any"
"""
SHARES = {"bench": 0.5, "fire hydrant": 0.25, "mug": 0.5, "plane": 1.0}


def kernel(*cells):
    """Return the globals of a kernel in which cells have run."""
    namespace = {"In": ["", *cells]}
    for cell in cells:
        exec(cell, namespace)
    return namespace


def given(**values):
    """Check the cell with values that papermill injects."""
    lines = [f"{name} = {value!r}" for name, value in values.items()]
    return check(kernel(CELL, "\n".join(["# Parameters", *lines])))


def test_settings_have_the_values_of_the_cell():
    settings = check(kernel(CELL))
    assert settings.images == Images()
    assert settings.model == Recipe("alexnet-quarter", trainings=6)
    assert settings.doses == [0.0, 0.25]
    assert settings.groups is None


def test_injected_values_replace_those_of_the_cell():
    settings = given(seed=3, images={"context_bias": SHARES}, trainings=2)
    assert settings.seed == 3
    assert settings.images == Images(context_bias=SHARES)
    assert settings.model.trainings == 2, "the recipe holds it as well"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sed": 3}, "There is no parameter 'sed'. Did you mean 'seed'?"),
        ({"seed": -1}, "Parameter 'seed' is -1. Input should be greater than"),
        ({"side": "up"}, "Parameter 'side' is 'up'. Input should be 'left' or 'right'"),
        ({"draws": 9}, "Parameter 'draws' is 9. Input should be greater than or equal"),
        ({"doses": [0, 2]}, "Parameter 'doses' (item 2) is 2. Input should be less"),
        ({"groups": True}, "Parameter 'groups' (item 1) is True. Input should be a"),
        ({"images": "wrld"}, "(source) is 'wrld'. Input should be 'world', 'visual"),
        ({"images": 5}, "Images are the name of a source, the path of a YAML file"),
        ({"images": "no.yml"}, "no.yml cannot be read: [Errno 2] No such file"),
        ({"images": {"contxts": "a"}}, "key 'contxts'. Did you mean 'contexts'?"),
        ({"images": {"size": 8}}, "Parameter 'images' (size) is 8. Input should be"),
        ({"images": {"folder": "none"}}, "Path does not point to a directory"),
        ({"images": {"folder": __file__}}, "Path does not point to a directory"),
        (
            {"images": {"context_bias": {"mug": 1.0}}},
            "`context_bias` needs one share per class: bench",
        ),
        (
            {"images": {"folder": ".", "eyespot": 1.0}},
            "`eyespot` is not read with `source: folder`",
        ),
        ({"images": {"source": "folder"}}, "`source: folder` needs a `folder`"),
        ({"model": "alexnet-quater"}, "Did you mean 'alexnet-quarter'?"),
        ({"model": {"architecture": "resnt18"}}, "Did you mean 'resnet18'?"),
        ({"model": {"weights": "a.pt"}}, "The model has no key `architecture`"),
        ({"model": ["vgg11", "resnet18"]}, "A model is the name of an architecture"),
        (
            {"model": {"architecture": "alexnet", "fit": "scratch", "weights": "a"}},
            "trained from scratch reads no `weights`",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence(values, message):
    with pytest.raises(ParameterError) as refusal:
        given(**values)
    assert message in str(refusal.value)


def test_all_wrong_parameters_are_named_at_once():
    with pytest.raises(ParameterError) as refusal:
        given(seed=-1, side="up", sed=1)
    assert len(str(refusal.value).splitlines()) == 3


def test_jupyter_shows_a_refusal_without_a_traceback():
    error = ParameterError("a sentence")
    assert error._render_traceback_() == ["a sentence"]


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [
        ("groups", "region", ["region"]),
        ("groups", "race, sex", ["race", "sex"]),
        ("groups", '["region", "NO"]', ["region", "NO"]),
        ("groups", '"sex, stated",race', ["sex, stated", "race"]),
        ("groups", 2020, ["2020"]),
        ("doses", 0.25, [0.25]),
        ("doses", "0,0.25", [0.0, 0.25]),
        ("positive", "a=x,a=y,b=1", {"a": ["x", "y"], "b": ["1"]}),
        ("positive", {"paid": True}, {"paid": ["true"]}),
        ("positive", {"risk": ["Medium", 2]}, {"risk": ["Medium", "2"]}),
        ("positive", '{"risk": ["High"]}', {"risk": ["High"]}),
    ],
)
def test_a_text_of_papermill_can_stand_for_a_list(name, text, meant):
    assert getattr(given(**{name: text}), name) == meant


def test_the_cell_that_ran_last_counts():
    later = CELL.replace("seed: Seed = 0", "seed: Seed = 7").replace(
        "draws", "shuffles"
    )
    settings = check(kernel(CELL, later, "other: int = 1"))
    assert settings.seed == 7
    assert not hasattr(settings, "draws"), "an earlier cell declared it"


def test_without_the_cell_of_parameters_a_sentence_says_what_to_do():
    with pytest.raises(ParameterError, match="Run the cell above first"):
        check({"In": ["", "settings = check(globals())"]})


def test_several_models_are_a_list_of_recipes():
    namespace = {"__annotations__": {"model": list[Model]}, "model": "vgg11,resnet18"}
    names = [recipe.architecture for recipe in check(namespace).model]
    assert names == ["vgg11", "resnet18"]


def test_paths_in_a_yaml_file_are_relative_to_the_file(tmp_path):
    (tmp_path / "photos" / "contexts").mkdir(parents=True)
    file = tmp_path / "mine.yml"
    file.write_text("folder: photos\ncontexts: photos/contexts\nsize: 224\n")
    images = read_specification(str(file))
    assert (images.source, images.size) == ("folder", 224)
    assert images.folder == str(tmp_path / "photos")
    assert images.contexts == str(tmp_path / "photos" / "contexts")


@pytest.mark.parametrize("text", ["folder: [photos", "- folder"])
def test_a_yaml_file_that_is_wrong_is_refused(tmp_path, text):
    file = tmp_path / "mine.yml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"cannot be read: while|or a mapping"):
        read_specification(str(file))
