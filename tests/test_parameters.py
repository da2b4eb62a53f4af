"""Parameters: declared once, typed, in range; everything else is refused by name."""

import nbformat
import pytest
import torch
from safetensors.torch import save_file
from torchvision import models as torchvision_models

from helpers import store
from helpers.data.images import Images
from helpers.models.recipe import Recipe, recipes
from helpers.suite import parameters, project
from helpers.suite.parameters import ParameterError, check

DEFAULTS = {
    "seed": 0,
    "output": "demo",
    "images": "world",
    "model": "alexnet-quarter",
    "trainings": 10,
    "doses": [0.0, 0.25],
    "layer": None,
    "side": "left",
}


SMALL = {"architecture": "alexnet-quarter"}
SHARES = {"bench": 0.5, "fire hydrant": 0.25, "mug": 0.5, "plane": 1.0}


def validated(path, values):
    return parameters.accepted(parameters.defaults(path), values)


def namespace(**values):
    return {"__annotations__": dict.fromkeys(DEFAULTS, object), **DEFAULTS, **values}


def test_images_the_model_and_its_weights_come_back_as_what_they_are():
    settings = check(
        namespace(images={"context_bias": SHARES}, model="resnet10-eighth")
    )
    assert settings.images == Images(context_bias=SHARES) and settings.layer is None
    assert settings.model == Recipe("resnet10-eighth", trainings=10)
    assert settings.models == [settings.model]
    small = {"architecture": "alexnet-quarter", "fit": "probe"}
    large = {"architecture": "alexnet", "fit": "probe"}
    own = {"architecture": "alexnet", "weights": "mine.safetensors"}
    made = recipes([small, large, own])
    assert [one.start for one in made] == [
        "wider world",
        "imagenet",
        "mine.safetensors",
    ]
    assert made[2].fit == "fine-tuned"


def test_a_file_describes_a_folder_with_paths_relative_to_it(tmp_path, monkeypatch):
    (tmp_path / "photos" / "contexts").mkdir(parents=True)
    file = tmp_path / "mine.yml"
    file.write_text("folder: photos\ncontexts: photos/contexts\nsize: 224\n")
    images = check(namespace(images=str(file))).images
    assert images.source == "folder" and images.size == 224
    assert images.folder == str(tmp_path / "photos")
    assert images.contexts == str(tmp_path / "photos/contexts")
    monkeypatch.setenv("HOME", str(tmp_path))
    file.write_text("folder: ~/photos\n")
    assert check(namespace(images="~/mine.yml")).images.folder == images.folder


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"folder: [photos", "mine.yml cannot be read as YAML"),
        (b"folder: caf\xe9", "mine.yml cannot be read as YAML"),
        (
            b"contexts: nowhere",
            "mine.yml: `contexts` names .*nowhere, which is not there",
        ),
        (b"folder: 5", r"5 \[folder\] should be a valid string"),
        (b"- folder", r"\['folder'\] is no source, no path of a YAML file and no keys"),
    ],
)
def test_a_file_that_describes_no_folder_is_refused(tmp_path, text, words):
    file = tmp_path / "mine.yml"
    file.write_bytes(text)
    with pytest.raises(ParameterError, match=f"parameter 'images': .*{words}"):
        check(namespace(images=str(file)))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"seed": -1, "side": "up"}, r"'seed': -1 should be greater than(.|\n)*'side'"),
        ({"seed": 2**32}, "'seed': 4294967296 should be less than 4294967296"),
        ({"seed": True}, "'seed': True should be a valid integer"),
        ({"doses": [float("nan")]}, r"'doses': nan \[0\] should be less than"),
        (
            {"doses": {"a": 0.5}},
            r"'doses': .* should be a valid list. .* -y 'doses: \[first",
        ),
        ({"side": "up"}, "'side': 'up' should be 'left' or 'right'"),
        (
            {"images": "wrld"},
            "'images': 'wrld' .*should be 'world', 'visual-contexts', 'focus'",
        ),
        ({"images": 5}, "'images': 5 is no source, no path of a YAML file and no keys"),
        ({"images": "no.yml"}, "'images': there is no file or folder 'no.yml' below"),
        ({"images": {"contxts": "a"}}, "'contxts' is no key; did you mean 'contexts'"),
        ({"images": {"source": "folder"}}, "`folder` and `source: folder` go together"),
        (
            {"images": {"folder": ".", "context_bias": 0.5}},
            "injected in the synthetic dataset only",
        ),
        (
            {"images": {"context_of": {"mug": "wood"}}},
            "the synthetic dataset has its own",
        ),
        (
            {"images": {"context_bias": SHARES | {"mug": 2}}},
            "'images': 2 .*less than or",
        ),
        ({"images": {"size": 8}}, r"8 \[size\] should be greater than or equal to 32"),
        ({"model": {"weights": "a"}}, "'model': says no `architecture`"),
        (
            {"model": {"architecture": "alexnet", "fit": "x"}},
            "'scratch', 'fine-tuned', 'probe'",
        ),
        ({"model": []}, "'model': .*should have at least 1 item"),
        ({"model": 7}, "7 is neither an architecture nor the keys of a model"),
        ({"model": ["alexnet", "vgg11"]}, "only notebook 06 takes several"),
        (
            {"model": {"architecture": "alexnet", "fit": "as it is"}},
            "for notebooks 06 and 07",
        ),
        ({"images": "focus"}, "'focus' are ready-made mosaics"),
        (
            {"In": ["", "# Parameters\nsed = 3\nseed = 1"]},
            "'sed' is not declared .*mean 'seed'",
        ),
        (
            {"In": ["# Parameters\nmodel = 1"], "model": "no_such"},
            "no architecture 'no_such'",
        ),
        (
            {
                "In": ["# Parameters\nmodel = 1"],
                "model": {**SMALL, "weights": "imagenet"},
            },
            "publishes ImageNet weights for 'alexnet-quarter'",
        ),
    ],
)
def test_refusals_name_the_parameter_and_what_is_allowed(bad, words):
    with pytest.raises(ParameterError, match=words):
        check(namespace(**bad))


def test_a_network_as_it_is_comes_from_a_file_or_torchvision(tmp_path):
    torch.manual_seed(0)
    file = str(tmp_path / "squeezenet.safetensors")
    save_file(torchvision_models.squeezenet1_0().state_dict(), file)
    path = store.root() / "notebooks" / "07_focus_bias_pairs.ipynb"
    model = {"architecture": "squeezenet1_0", "weights": file, "fit": "as it is"}
    assert validated(path, {"model": model}).model.weights == file
    with pytest.raises(ParameterError, match="'as it is' needs a network"):
        validated(path, {"model": {"architecture": "vgg11-eighth", "fit": "as it is"}})
    two = {"source": "focus", "archives": {"ilsvrc2012": ["84", "39"]}, "size": 64}
    assert (
        validated(path, {"model": model, "images": two}).images.archives
        == two["archives"]
    )
    with pytest.raises(
        ParameterError, match="too few to train on: take fit 'as it is'"
    ):
        validated(path, {"images": two})
    with pytest.raises(ParameterError, match=r"'images': .*'imagenet'"):
        validated(
            path, {"model": model, "images": two | {"archives": {"imagenet": ["84"]}}}
        )


def test_every_notebook_declares_what_is_declared_here(tmp_path):
    for path in (store.root() / "notebooks").glob("*.ipynb"):
        validated(path, {})  # refuses what is not declared
    cell = nbformat.v4.new_code_cell(
        "other: int = 1", metadata={"tags": ["parameters"]}
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "01_one.ipynb")
    with pytest.raises(
        ParameterError, match=r"no parameter is called 'other': .*Whoever"
    ):
        validated(tmp_path / "01_one.ipynb", {})


def test_a_fit_of_the_models_own_is_the_one_that_02_compares(tmp_path):
    notebook = store.root() / "notebooks" / "02_cross_evaluation.ipynb"
    probed = {"model": {"architecture": "alexnet-quarter", "fit": "probe"}}
    assert validated(notebook, probed).fits == ["probe"]
    assert validated(notebook, probed | {"fits": ["scratch"]}).fits == ["scratch"]
    assert validated(notebook, {}).fits == ["scratch", "fine-tuned"]


def cells(*sources):
    """A kernel's names after the cells were run one after the other, with their history."""
    space = {"In": ["", *sources]}
    for source in sources:
        exec(compile(source, "a cell", "exec"), space)
    return space


GOOD = "seed: int = 0\noutput: str = 'demo'\ntrainings: int = 10"
SLIP = "seed: int = 0\noutput: str = 'demo'\ntraining: int = 3"


def test_a_slip_is_answered_and_what_was_run_last_counts():
    with pytest.raises(
        ParameterError, match=r"called 'training': did you mean 'trainings'\?"
    ):
        check(cells(SLIP))
    space = cells(
        GOOD, SLIP, "other: int = 1", GOOD.replace("10", "3"), "broken = (1,)"
    )
    assert "training" in space["__annotations__"]
    assert vars(check(space)) == {"seed": 0, "output": "demo", "trainings": 3}
    space["In"].append("seed: int = (")
    assert check(space).trainings == 3
    space = cells(GOOD, "# Parameters\nsed = 1", "# Parameters\nseed = 5")
    assert check(space).seed == 5


def test_refusals_have_no_traceback_and_say_to_run_what_is_missing():
    with pytest.raises(ParameterError) as refusal:
        check(namespace(side="up"))
    assert refusal.value._render_traceback_() == [str(refusal.value)]
    with pytest.raises(ParameterError, match="run the cell above first"):
        check({"In": ["", "settings = check(globals())"]})


def test_changed_parameters_are_told_where_the_lesson_begins(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    lesson = "03_contextualized_mosaics"
    own = parameters.defaults(store.root() / "notebooks" / f"{lesson}.ipynb")
    for new in (
        {},
        {"output": "mine"},
        {"trainings": 7, "side": "right"},
        {"model": "vgg11"},
    ):
        settings = parameters.checked(own | new, ())
        begun = project.start(lesson, settings)
        names = [name for name in own if name in new and name != "output"]
        told = f"You changed {', '.join(names)}: the sentences below tell of the stored run."
        assert [*begun.changed] == names
        assert (told in capsys.readouterr().out) == bool(names)


@pytest.mark.parametrize(
    ("model", "nearest"),
    [
        ("alexnet-quater", "alexnet-quarter"),
        ({"architecture": "resnt18"}, "resnet18"),
    ],
)
def test_an_unknown_model_that_was_typed_is_refused_in_the_check_cell(model, nearest):
    with pytest.raises(ParameterError) as refusal:
        check(namespace(model=model))
    said = str(refusal.value)
    assert "parameter 'model': there is no architecture" in said
    assert f"did you mean '{nearest}'? there are: alexnet-quarter, vgg11-eighth" in said


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("groups", "region", ["region"]),
        ("groups", '["region", "NO"]', ["region", "NO"]),
        ("groups", "race,sex", ["race", "sex"]),
        ("groups", "rain , snow ", ["rain", "snow"]),
        ("groups", '"sex, stated",race', ["sex, stated", "race"]),
        ("groups", 2020, ["2020"]),
        ("roles", "y_true=repaid", ["y_true=repaid"]),
        ("roles", "y_true=a, b,y_pred=c", ["y_true=a, b", "y_pred=c"]),
        ("roles", "y_true=a , y_pred=c ", ["y_true=a", "y_pred=c"]),
        ("doses", 0.25, [0.25]),
        ("doses", "0,0.25", [0.0, 0.25]),
        ("methods", "gradcam", ["gradcam"]),
        ("seeds", 3, [3]),
        ("positive", 1, "1"),
        ("positive", True, "true"),
        ("positive", {"risk": ["Medium", 2]}, {"risk": ["Medium", "2"]}),
        ("positive", '{"risk": ["Medium", "High"]}', {"risk": ["Medium", "High"]}),
    ],
)
def test_a_text_or_number_of_papermills_p_is_the_list_that_is_meant(name, given, meant):
    assert getattr(parameters.checked({name: given}, ()), name) == meant


@pytest.mark.parametrize("given", [True, [True]])
def test_a_truth_value_is_no_list_of_texts(given):
    with pytest.raises(parameters.ParameterError, match="parameter 'groups': True"):
        parameters.checked({"groups": given}, ())
