"""Rate six methods on photographs of ImageNet, and run notebooks 06 and 07."""

import re
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
    """Return the file and the imagenet_index of photographs of 57 ImageNet classes."""
    folder = real / "imagenet_compatible"
    table = pd.read_csv(folder / "images.csv")
    table["file"] = [folder / file for file in table["file"]]
    return table


def linked(table: pd.DataFrame, names: pd.Series, folder: Path) -> Path:
    """Class folders of these names with links to the photographs."""
    for file, name in zip(table["file"], names, strict=True):
        class_folder = folder / str(name)
        class_folder.mkdir(exist_ok=True)
        (class_folder / file.name).symlink_to(file)
    return folder


def test_six_methods_on_imagenet_photographs(real, photographs, tmp_path):
    """114 mosaics of 57 classes, the network as it is; LRP conserves in SqueezeNet.

    With few samples on mosaics of 128 pixels.
    """
    recipe = Recipe("squeezenet1_0", networks.AS_IT_IS, str(real / WEIGHTS))
    folder = linked(photographs, photographs["imagenet_index"], tmp_path)
    collection = data.load(Images("folder", 64, folder=str(folder)), 0)
    images = networks.held_out(collection, recipe)["C"]
    model = networks.model(collection, recipe, 0)
    assert len(model.logit) == 57
    design = focus.design(images.table, images.classes, per_class=2)
    parts = []
    for method in METHODS:
        parts.append(focus.rate(model, images, design, method, effort="quick"))
    found = focus.summary(pd.concat(parts))
    found = found.set_index("method")
    assert (found["mosaics"] == 114).all()
    assert (found["undefined"] <= 5).all()
    assert found["low"]["GradCAM"] > 0.65
    assert found["low"]["LRP"] > 0.65
    recorded = store.recorded_table("focus_imagenet.csv").set_index("method")
    for means in (found["mean"], recorded["mean"]):
        leaders = means[["GradCAM", "LRP"]]
        assert leaders.min() > means[["GradCAM++", "SmoothGrad"]].max()
        assert means["GradCAM++"] < means["IG"]


def run_on_cats_and_dogs(real, folder, number, **more):
    """Run a lesson on photographs; return the folder of its tables and its captions."""
    [notebook] = (store.root() / "notebooks").glob(f"{number}_*.ipynb")
    images = {"folder": str(real / "dogs_vs_cats/train"), "size": 64, "per_class": 40}
    model = {"architecture": "squeezenet1_0", "fit": "probe", "epochs": 6}
    model["weights"] = str(real / WEIGHTS)
    given = {
        "output": "dogs",
        "images": images,
        "model": model,
        "trainings": 2,
    }
    done = executed(notebook, {**given, **more}, folder)
    captions = []
    for cell in done.cells:
        for output in cell.get("outputs", []):
            shown = output.get("data", {}).get("text/html", "")
            captions += re.findall(r"<figcaption[^>]*>([^<]+)<", shown)
    tables = folder / "dogs" / "tables" / notebook.stem
    return tables, captions


def test_notebook_06_rates_two_methods_on_cats_and_dogs(real, tmp_path):
    tables, captions = run_on_cats_and_dogs(
        real, tmp_path, "06", methods=["gradcam", "lrp"], mosaics=2
    )
    rated = pd.read_csv(tables / "methods.csv")
    assert set(rated["method"]) == {"GradCAM", "LRP"}
    assert rated["mean"].between(0, 1).all()
    assert len(captions) >= 4
    assert not any("synthetic" in caption for caption in captions)


def test_notebook_07_on_cats_and_dogs_says_nothing_of_the_synthetic_dataset(
    real, tmp_path
):
    """The images are small and the mosaics few. The last step inpaints LRP's guess."""
    tables, _ = run_on_cats_and_dogs(real, tmp_path, "07", per_pair=3)
    ranked = pd.read_csv(tables / "pairs.csv")
    assert set(ranked["target"]) == {"cat", "dog"}
    assert ranked["mean"].between(0, 1).all()
    states = pd.read_csv(tables / "interventions.csv")
    assert states["state"].tolist() == [
        "unchanged",
        "inpainted",
        "another part inpainted",
    ]
    assert not (tables / "on-eyespot.csv").exists(), "no bias is injected"
