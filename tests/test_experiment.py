"""Models of a run, and lessons on real photographs from end to end."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from executed import executed, printed
from test_background import image_set

from helpers import store
from helpers.data import Collection
from helpers.models import experiment
from helpers.models.recipe import Recipe
from helpers.workflow import defaults

IMAGES = {"C": image_set(), "WB": replace(image_set(), name="WB")}
COLLECTION = Collection("folder", ("bench", "mug"), IMAGES, {}, {})


def test_names_are_the_papers_for_the_sets_there_are():
    names = experiment.model_names(COLLECTION, ["scratch", "fine-tuned", "probe"])
    assert names == ["model-C", "model-WB", "pt-C", "pt-WB", "probe-C", "probe-WB"]


def test_a_lesson_that_trains_refuses_a_network_as_it_is():
    settings = SimpleNamespace(model=Recipe("squeezenet1_1", fit="as it is"), seed=0)
    with pytest.raises(ValueError, match=r"no model with fit 'as it is'\. Use one"):
        experiment.with_control("C", COLLECTION, settings)


CONTEXTS = {
    "airplane": "sky",
    "cup": "wood",
    "fire hydrant": "road",
    "kangaroo": "park",
}


@pytest.fixture(scope="module")
def photographed(tmp_path_factory):
    """Return a folder for these notebooks, which share the networks in it."""
    return tmp_path_factory.mktemp("photographed")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "with_contexts", "figures", "says"),
    [
        ("01_datasets", True, 2, ""),
        ("01_datasets", False, 1, ""),
        ("02_cross_evaluation", True, 2, ""),
        ("03_contextualized_mosaics", True, 2, ""),
        ("05_gradcam_comparison", True, 2, "object masks are known: False"),
    ],
)
def test_notebooks_run_on_real_photographs(
    real, photographed, name, with_contexts, figures, says
):
    weights = str(real / "weights" / "squeezenet1_0_imagenet.safetensors")
    values = {
        "output": "photos",
        "images": {
            "folder": str(real / "photos4" / "objects"),
            "contexts": str(real / "photos4" / "contexts"),
            "context_of": CONTEXTS,
            "size": 64,
        },
        "model": {"architecture": "squeezenet1_0", "weights": weights, "fit": "probe"},
        "fits": ["probe"],
        "trainings": 2,
    }
    if not with_contexts:
        values["images"] = {"folder": str(real / "photos4" / "objects"), "size": 64}
    path = store.root() / "notebooks" / f"{name}.ipynb"
    declared = defaults(path)
    known = {name: value for name, value in values.items() if name in declared}
    lesson = executed(path, known, photographed)
    results = photographed / "photos"
    record = json.loads((results / "findings" / f"{name}.json").read_text())
    assert record["settings"]["images"]["source"] == "folder"
    assert len(record["findings"]) >= 1
    drawn = list((results / "figures" / name).glob("*.png"))
    assert len(drawn) >= figures
    assert says in printed(lesson)
