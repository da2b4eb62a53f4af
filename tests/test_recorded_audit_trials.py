"""Make recorded trials of the model audit again, and audit one by the lesson."""

import numpy as np
import pandas as pd
import papermill
import pytest
from safetensors.torch import save_file
from torchvision.io import write_png

import helpers
from helpers import audits, store
from helpers.audit import classifiers, sample
from sweeps import audit_features, audit_trials
from sweeps.audit_features import CLASSES, LABELS

REAL = store.root().parent / "shared" / "real"
PHOTOGRAPHS = REAL / "photos4"
WEIGHTS = REAL / "weights" / "squeezenet1_0_imagenet.safetensors"


@pytest.mark.slow
@pytest.mark.skipif(not helpers.pinned, reason="the kernels are not pinned")
@pytest.mark.parametrize(
    "images", ["photographs", audit_trials.CAPTION, "synthetic images"]
)
def test_the_trials_of_one_partition_are_those_of_the_table(images, monkeypatch):
    monkeypatch.setattr(audit_trials, "FINE_TUNED", [])  # these take minutes
    if images != "synthetic images" and not PHOTOGRAPHS.is_dir():
        pytest.skip("there are no photographs next to the checkout")
    seed = audit_trials.SEEDS[0]
    made = audit_trials.measure(images, seed, str(PHOTOGRAPHS), str(WEIGHTS))
    recorded = store.recorded_table("audit_trials.csv")
    recorded = recorded.query(
        "images == @images and seed == @seed and layers == 'last'"
    )
    made["recipe"] = made["recipe"].astype(str)
    pd.testing.assert_frame_equal(
        made.fillna(float("nan")),
        recorded.reset_index(drop=True).fillna(float("nan")),
        check_dtype=False,
        rtol=1e-3,
        atol=1e-4,
    )


NETWORK = """
from helpers import models
mean, std, size = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 96
network = models.build("alexnet-quarter", 4).network
"""


def write_trial(seed, folder):
    """Write the network and the images of a trial with synthetic images."""
    rng = np.random.default_rng(seed)
    drawn = audit_features.partition(rng)
    _, inputs = audit_trials.of_synthetic_images(seed, "")
    own = drawn.choose(inputs, "others")
    context = rng.permutation(4)
    x = own.draw_training(np.arange(len(own.labels)), context, 1, rng)
    classifier = classifiers.train_classifier(x, own.labels, 4, 0.05)
    model = audit_features.pretrained_network("synthetic images", "")
    sample.set_last_layer(model, classifier)
    state = {name: w.contiguous() for name, w in model.network.state_dict().items()}
    save_file(state, folder / "mine.safetensors")
    (folder / "mine.py").write_text(NETWORK)
    images, _ = sample.synthetic_photographs(seed, audit_features.PER_CLASS)
    for i in drawn.photographs["the audit's"]:
        file = folder / "photos" / CLASSES[LABELS[i]] / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_png(images[i], str(file))
    for name, backgrounds in sample.synthetic_contexts(seed).items():
        (folder / "places" / name).mkdir(parents=True)
        for i, background in enumerate(backgrounds):
            write_png(background, str(folder / "places" / name / f"{i}.png"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", audit_trials.SEEDS[:5])
def test_the_lesson_says_of_a_trial_what_the_function_says(seed, tmp_path, monkeypatch):
    write_trial(seed, tmp_path)
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    values = {
        "network": f"{tmp_path}/mine.py:network",
        "images": f"{tmp_path}/photos",
        "contexts": f"{tmp_path}/places",
        "weights": f"{tmp_path}/mine.safetensors",
        "trained": "last layer",
        "seed": seed,
    }
    audit = audits.model(**values)
    papermill.execute_notebook(
        store.root() / "notebooks/11_audit_your_model.ipynb",
        tmp_path / "ran.ipynb",
        {**values, "output": "mine"},
        progress_bar=False,
    )
    pairs = pd.read_csv(tmp_path / "outputs/mine/pairs.csv")
    pd.testing.assert_frame_equal(pairs, audit.pairs, check_dtype=False)
