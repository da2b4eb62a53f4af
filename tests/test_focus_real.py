"""Focus on photographs: methods and class pairs of ImageNet, and notebooks 06 and 07."""

from pathlib import Path

import pandas as pd
import pytest
from executed import executed

from helpers import data, focus, store
from helpers.data.images import Images
from helpers.explain import METHODS
from helpers.focus import networks
from helpers.models.recipe import Recipe

pytestmark = [pytest.mark.real, pytest.mark.slow]

WEIGHTS = "weights/squeezenet1_0_imagenet.safetensors"


@pytest.fixture(scope="module")
def photographs(real) -> pd.DataFrame:
    """The photographs of 57 ImageNet classes: columns file (whole path) and imagenet_index."""
    table = pd.read_csv(real / "imagenet_compatible/images.csv")
    return table.assign(
        file=[real / "imagenet_compatible" / file for file in table["file"]]
    )


def linked(table: pd.DataFrame, names: pd.Series, folder: Path) -> Path:
    """Class folders of these names with links to the photographs."""
    for file, name in zip(table["file"], names, strict=True):
        (folder / str(name)).mkdir(exist_ok=True)
        (folder / str(name) / file.name).symlink_to(file)
    return folder


def test_six_methods_on_imagenet_photographs(real, photographs, tmp_path, monkeypatch):
    """114 mosaics of 57 classes, the network as it is; LRP applies, for SqueezeNet conserves.

    With few samples on squeezed mosaics of 128 pixels.
    """
    recipe = Recipe("squeezenet1_0", networks.AS_IT_IS, str(real / WEIGHTS))
    folder = str(linked(photographs, photographs["imagenet_index"], tmp_path))
    collection = data.load(Images("folder", 128, folder=folder), 0)
    images = networks.held_out(collection, recipe)["C"]
    model = networks.model(collection, recipe, 0)
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    table = focus.design(images.table, images.classes, per_class=2)
    assert len(table) >= 100
    assert len(model.logit) == 57
    rated = [
        focus.rate(model, images, table, method, effort="quick", shape="squeezed")
        for method in METHODS
    ]
    found = focus.summary(pd.concat(rated)).set_index("method")
    print(found[["mean", "low", "high", "undefined"]].round(3))
    assert (found["mosaics"] == len(table)).all()
    assert (found["undefined"] <= 5).all()
    assert found["low"]["GradCAM"] > 0.65
    assert found["low"]["LRP"] > 0.65
    means = found["mean"]
    assert means[["GradCAM", "LRP"]].min() > means[["GradCAM++", "SmoothGrad"]].max()
    recorded = pd.read_csv(store.root() / "data/focus_imagenet.csv").set_index(
        "method"
    )["mean"]
    assert recorded["GradCAM++"] < recorded["IG"]
    assert means["GradCAM++"] < means["IG"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> Path:
    """Where 06 and 07 write; the second finds the network that the first has fitted."""
    return tmp_path_factory.mktemp("outputs")


def tables_of(number: str, given: dict, outputs: Path) -> Path:
    """Run a notebook on cats and dogs, the last layer fitted; the folder of its tables."""
    [notebook] = (store.root() / "notebooks").glob(f"{number}_*.ipynb")
    executed(notebook, given, outputs)
    return outputs / "dogs/tables" / notebook.stem


@pytest.fixture(scope="module")
def cats_and_dogs(real) -> dict:
    """Parameters that 06 and 07 share."""
    images = {"folder": str(real / "dogs_vs_cats/train"), "size": 224, "per_class": 60}
    model = {"architecture": "squeezenet1_0", "fit": "probe", "epochs": 6}
    model["weights"] = str(real / WEIGHTS)
    return {"output": "dogs", "images": images, "model": model, "trainings": 2}


SMALL = {"size": 64, "per_class": 40}


def test_notebook_07_on_cats_and_dogs_says_nothing_of_the_synthetic_dataset(
    cats_and_dogs, outputs
):
    """Small images and few mosaics, to the end: the last step inpaints LRP's guess."""
    given = cats_and_dogs | {"images": cats_and_dogs["images"] | SMALL, "per_pair": 3}
    tables = tables_of("07", given, outputs)
    ranked = pd.read_csv(tables / "pairs.csv")
    assert set(ranked["target"]) == {"cat", "dog"}
    assert ranked["mean"].between(0, 1).all()
    states = pd.read_csv(tables / "interventions.csv")
    assert states["state"].tolist() == ["unchanged", "inpainted", "inpainted elsewhere"]
    assert not (tables / "on-eyespot.csv").exists(), "no bias is injected"
