"""*Focus!* as `PRESET=paper` and `paper-tuned` ask for it, on class folders.

The images are noise, and the networks' weights are random, so no number here says
anything about the paper. LIME's 1,000 samples are left out.
"""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from executed import copied, executed, printed
from PIL import Image
from safetensors.torch import save_file

from helpers import claims, models, store

ROOT = store.root()
SIDE = 32
METHODS = ["gradcam", "lrp", "smoothgrad", "gradcam++", "integrated-gradients"]
ARCHITECTURES = ["squeezenet1_0", "resnet18"]
CLASSES = ["goldfish", "peacock", "common iguana"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the project; add class folders, and random weights for 1,000 classes."""
    folder = copied(tmp_path_factory.mktemp("focus"))
    rng = np.random.default_rng(3)
    for name in CLASSES:
        photos = folder / "photos" / name
        photos.mkdir(parents=True)
        for number in range(12):
            noise = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            Image.fromarray(noise).save(photos / f"{number}.png")
    pair = folder / "pair"
    pair.mkdir()
    for name in CLASSES[1:]:
        (pair / name).symlink_to(folder / "photos" / name)
    for name in ARCHITECTURES:
        weights = models.build(name, 1000, seed=1).network.state_dict()
        weights = {key: tensor.contiguous() for key, tensor in weights.items()}
        save_file(weights, folder / f"{name}.safetensors")
    return folder


def run_preset(project, preset, lesson, folder, architectures, **small):
    """Run a lesson with a small version of a preset; return its tables and output."""
    settings = (ROOT / "sweeps" / f"{preset}.yml").read_text()
    given = yaml.safe_load(settings)[lesson]
    given["images"]["folder"] = str(project / folder)
    given["images"]["size"] = SIDE
    recipes = []
    for name in architectures:
        recipe = given["model"]
        if isinstance(recipe, list):
            recipe = recipe[0]
        weights = str(project / f"{name}.safetensors")
        recipe = {**recipe, "architecture": name, "weights": weights}
        if "epochs" in recipe:
            recipe["epochs"] = 1
        recipes.append(recipe)
    given["model"] = recipes if isinstance(given["model"], list) else recipes[0]
    notebook = project / "notebooks" / f"{lesson}.ipynb"
    values = {**given, **small, "output": preset}
    done = executed(notebook, values, project / "outputs", project)
    tables = project / "outputs" / preset / "tables" / lesson
    return tables, printed(done)


def test_networks_as_they_are_with_the_settings_of_the_paper(project):
    small = {"mosaics": 1, "methods": METHODS}
    tables, said = run_preset(
        project, "paper", "06_focus_rating", "photos", ARCHITECTURES, **small
    )
    assert "The maps need " in said
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["architecture"]) == set(ARCHITECTURES)
    assert set(found["mosaics"]) == {3}
    assert found["method"].nunique() == len(METHODS)
    # 36 images in one run
    accuracies = pd.read_csv(tables / "accuracies.csv")
    assert (accuracies["n"] == 36).all()
    findings = tables.parents[1] / "findings/06_focus_rating.json"
    judged = json.loads(findings.read_text())["findings"]
    verdicts = {claim["id"]: claim["verdict"] for claim in judged}
    assert verdicts["focus/near-random/ig"] == claims.INCONCLUSIVE
    assert verdicts["focus/varies/lime"] == claims.NOT_TESTABLE


def test_two_classes_of_imagenet(project):
    tables, said = run_preset(
        project, "paper", "07_focus_bias_pairs", "pair", ARCHITECTURES[1:], per_pair=3
    )
    ranked = pd.read_csv(tables / "pairs.csv")
    assert set(ranked["target"]) == {"peacock", "common iguana"}
    assert (ranked["mosaics"] == 3).all()
    assert "24 held-out images of 2 classes" in said


def test_a_network_that_is_fine_tuned_is_rated_on_held_out_images(project):
    """With two methods, whose figures have titles of their own."""
    small = {"mosaics": 1, "methods": ["gradcam", "lrp"], "trainings": 1}
    tables, _ = run_preset(
        project, "paper-tuned", "06_focus_rating", "photos", ARCHITECTURES[1:], **small
    )
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["mosaics"]) == {3}
    accuracies = pd.read_csv(tables / "accuracies.csv")
    assert (accuracies["n"] == 6).all()
