"""Pairs of real photographs: twelve ImageNet classes, and the notebook on dogs and cats.

`shared/real` beside the checkout holds the photographs and weights; without it these are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from torchvision.models import SqueezeNet1_0_Weights

from helpers import project, sources
from helpers.focus import pairs, study, trials

REAL = project.root().parent / "shared/real"
WEIGHTS = REAL / "weights/squeezenet1_0_imagenet.safetensors"
pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(not WEIGHTS.exists(), reason="no shared/real beside the checkout"),
]


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory):
    """Class folders of the twelve classes that come first, five photographs each."""
    folder = tmp_path_factory.mktemp("imagenet")
    table = pd.read_csv(REAL / "imagenet_compatible/images.csv")
    names = SqueezeNet1_0_Weights.DEFAULT.meta["categories"]
    most = table.groupby("imagenet_index").size()
    for index in most[most == 5].index[:12]:
        (folder / names[index]).mkdir()
        for file in table["file"][table["imagenet_index"] == index]:
            path = REAL / "imagenet_compatible" / file
            (folder / names[index] / path.name).symlink_to(path)
    return folder


def test_pair_matrix_of_twelve_imagenet_classes(imagenet, monkeypatch, tmp_path):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    settings = SimpleNamespace(
        family=study.AS_IT_IS,
        architecture="squeezenet1_0",
        pretrained=str(WEIGHTS),
        epochs=1,
        method="gradcam",
        per_pair=3,
    )
    collection = sources.load("folder", folder=imagenet, size=160)
    images = study.held_out(collection, settings)["C"]
    assert len(images.classes) == 12 and len(images) == 60
    network = study.one("squeezenet1_0", "C", collection, settings)
    logit = study.answers("squeezenet1_0", images, settings)
    right = study.accuracy(network, images, logit)
    rated = trials.rated_pairs(network, images, logit, settings, 0)
    table = pairs.ranked(rated, resamples=200)
    means = pairs.matrix(table)
    print(f"top-1 of a thousand: {right['accuracy']:.2f}; mean Focus {rated['focus'].mean():.3f}")
    print(f"undefined: {rated['focus'].isna().sum()} of {len(rated)}")
    print(table.head(5).round(3).to_string())
    assert len(rated) == 12 * 11 * 3 and len(table) == 132
    assert right["accuracy"] > 0.4 and rated["focus"].isna().mean() < 0.05
    assert means.shape == (12, 12) and means.notna().to_numpy().sum() >= 130
    assert 0.6 < rated["focus"].mean() < 0.95
    best = pairs.extremes(rated, *table[pairs.PAIR].iloc[-1], n=1)
    assert best["focus"].iloc[0] > 0.6


def test_notebook_on_dogs_and_cats(tmp_path):
    """The same network, its last layer fitted to dogs and cats, asked by the whole notebook."""
    notebook = project.root() / "notebooks/07_focus_bias_pairs.ipynb"
    given = {
        "source": "folder",
        "folder": str(REAL / "dogs_vs_cats"),
        "architecture": "squeezenet1_0",
        "pretrained": str(WEIGHTS),
        "family": "probe",
        "image_size": 224,
        "epochs": 20,
        "per_class": 250,
        "per_pair": 20,
        "against": "chance",
        "output": "dogs",
    }
    command = [sys.executable, "-m", "papermill", "--no-progress-bar"]
    command += [str(notebook), str(tmp_path / "out.ipynb")]
    for name, value in given.items():
        command += ["-p", name, str(value)]
    environment = {**os.environ, "SUITE_OUTPUTS": str(tmp_path), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=600)
    tables = tmp_path / "dogs/tables/07_focus_bias_pairs"
    accuracy = pd.read_csv(tables / "accuracy.csv").iloc[0]
    table = pd.read_csv(tables / "pairs.csv")
    print(f"accuracy {accuracy['accuracy']:.3f} of {accuracy['images']:.0f}")
    print(table[["target", "outer", "focus", "low", "high", "undefined"]].round(3).to_string())
    assert accuracy["accuracy"] > 0.9
    assert set(table["target"] + table["outer"]) == {"catdog", "dogcat"}
    assert (table["focus"] > 0.6).all()
    found = json.loads((tmp_path / "dogs/findings/07_focus_bias_pairs.json").read_text())
    assert len(found["findings"]) >= 3
