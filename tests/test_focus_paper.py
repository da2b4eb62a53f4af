"""*Focus!* as `PRESET=paper` and `paper-tuned` ask for it, through the notebooks, on class folders.

The images are noise, and the networks' weights are random, so no number here says anything about
the paper. LIME's 1,000 samples are left out."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from executed import copied, executed, printed
from PIL import Image
from safetensors.torch import save_file

from helpers import claims, models, store

ROOT, SIDE = store.root(), 32
METHODS = ["gradcam", "lrp", "smoothgrad", "gradcam++", "integrated-gradients"]
ARCHITECTURES = ["squeezenet1_0", "resnet18"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the project; add class folders, and random weights for 1,000 classes."""
    folder = copied(tmp_path_factory.mktemp("focus"))
    rng = np.random.default_rng(3)
    for name in ("goldfish", "peacock", "common iguana"):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(12):
            noise = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            Image.fromarray(noise).save(folder / "photos" / name / f"{i}.png")
    pair = folder / "pair"
    pair.mkdir()
    for name in ("peacock", "common iguana"):
        (pair / name).symlink_to(folder / "photos" / name)
    for name in ARCHITECTURES:
        weights = models.build(name, 1000, seed=1).network.state_dict()
        weights = {key: tensor.contiguous() for key, tensor in weights.items()}
        save_file(weights, folder / f"{name}.safetensors")
    return folder


def run_preset(folder, preset: str, lesson: str, images: str, **small) -> tuple:
    """Run a lesson with the block of a preset, made small; return its tables, and its output."""
    given = yaml.safe_load((ROOT / f"sweeps/{preset}.yml").read_text())[lesson]
    given["images"] |= {"folder": str(folder / images), "size": SIDE}
    names = small.pop("architectures", ARCHITECTURES)
    asked = given["model"] if isinstance(given["model"], list) else [given["model"]]
    several = []
    for recipe, name in zip(asked, names[-len(asked) :], strict=False):
        weights = str(folder / f"{name}.safetensors")
        recipe = recipe | {"architecture": name, "weights": weights}
        if "epochs" in recipe:
            recipe["epochs"] = 1
        several.append(recipe)
    given["model"] = several if lesson.startswith("06") else several[0]
    notebook = folder / "notebooks" / f"{lesson}.ipynb"
    values = given | small | {"output": preset}
    done = executed(notebook, values, folder / "outputs", folder)
    return folder / "outputs" / preset / "tables" / lesson, printed(done)


def test_networks_as_they_are_with_the_settings_of_the_paper(project):
    small = {"mosaics": 1, "methods": METHODS}
    tables, _ = run_preset(project, "paper", "06_focus_rating", "photos", **small)
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["architecture"]) == set(ARCHITECTURES)
    assert set(found["mosaics"]) == {3}
    assert found["method"].nunique() == len(METHODS)
    # 36 images in one run
    assert (pd.read_csv(tables / "accuracies.csv")["n"] == 36).all()
    findings = tables.parents[1] / "findings/06_focus_rating.json"
    judged = pd.DataFrame(json.loads(findings.read_text())["findings"])
    verdicts = judged.set_index("id")["verdict"]
    assert verdicts["focus/near-random/ig"] == claims.INCONCLUSIVE
    assert verdicts["focus/varies/lime"] == claims.NOT_TESTABLE


def test_two_classes_of_imagenet(project):
    lesson = "07_focus_bias_pairs"
    tables, said = run_preset(project, "paper", lesson, "pair", per_pair=3)
    ranked = pd.read_csv(tables / "pairs.csv")
    assert set(ranked["target"]) == {"peacock", "common iguana"}
    assert (ranked["mosaics"] == 3).all()
    assert "24 held-out images of 2 classes" in said


def test_a_network_that_is_fine_tuned_is_rated_on_held_out_images(project):
    small = {"mosaics": 1, "methods": ["gradcam", "lrp"], "trainings": 1}
    small["architectures"] = ARCHITECTURES[1:]
    tables, _ = run_preset(project, "paper-tuned", "06_focus_rating", "photos", **small)
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["mosaics"]) == {3}
    assert (pd.read_csv(tables / "accuracies.csv")["n"] == 6).all()
