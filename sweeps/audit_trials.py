"""Measure how often the audit of a model detects injected biases, and errs.

Users' networks are trained on other photographs than the audit's. Seeds below 9000
were used while the audit was developed. Run ``python -m sweeps.audit_trials
data/audit_trials.csv FOLDER WEIGHTS``, where the folder has objects/ and contexts/.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.audit import calibration, classifiers, reliance
from helpers.audit.context_scores import ContextImages
from sweeps import audit_features
from sweeps.resume import collect

SEEDS = range(9000, 9030)
FINE_TUNED = SEEDS[:8]  # partitions for which whole networks are trained
CAPTION = "photographs with a caption"
# what a user trains on, the bias strength, and whose photographs the user has
CELLS = [
    ("composites", 0, "others"),
    ("composites", 0.5, "others"),
    ("composites", 0.75, "others"),
    ("composites", 1, "others"),
    ("composites", 1, "the audit's"),
    ("plain photographs", 0, "others"),
    ("plain photographs", 0, "the audit's"),
]

RATES = ["fpr_threshold", "fpr_reported", "fpr_detected"]
RATES += ["power_threshold", "power_reported", "power_detected"]


@cache
def of_photographs(folder: str, weights: str, caption: bool) -> tuple:
    """Read photographs in all versions, and compute their features."""
    versions = audit_features.photographs(folder, caption)
    network = audit_features.pretrained_network("photographs", weights)
    return versions, audit_features.compute_features(network, versions)


def of_synthetic_images(seed: int, weights: str) -> tuple:
    """Render images in all versions, and compute their features."""
    versions = audit_features.synthetic_images(seed)
    network = audit_features.pretrained_network("synthetic images", weights)
    return versions, audit_features.compute_features(network, versions)


def measure(images: str, seed: int, folder: str, weights: str) -> pd.DataFrame:
    """Calibrate once on some photographs, and audit classifiers and networks."""
    if images == "synthetic images":
        versions, inputs = of_synthetic_images(seed, weights)
    else:
        versions, inputs = of_photographs(folder, weights, images == CAPTION)
    rng = np.random.default_rng(seed)
    drawn = audit_features.partition(rng)
    in_audit = drawn.choose(inputs, "the audit's")
    calibrated = calibration.calibrate(in_audit, seed)
    trials = []
    for trained_on, strength, owner in CELLS:
        own = drawn.choose(inputs, owner)
        every = np.arange(len(own.labels))
        for recipe in classifiers.RECIPES:
            context = draw_contexts(strength, images, rng)
            x = own.plain
            if trained_on == "composites":
                x = own.draw_training(every, context, strength, rng)
            classifier = classifiers.train_classifier(x, own.labels, 4, recipe)
            trial = judge(calibrated, in_audit, classifier, context)
            about = ["last", trained_on, strength, owner, recipe]
            trials.append([*about, *trial])
    if images == "photographs" and seed in FINE_TUNED:
        rng = np.random.default_rng([seed, 1])
        own = drawn.choose(versions, "others")
        every = np.arange(len(own.labels))
        audited = drawn.choose(versions, "the audit's")
        for strength in (0, 0.5, 1):
            context = draw_contexts(strength, images, rng)
            x = own.draw_training(every, context, strength, rng)
            network = audit_features.fine_tune(x, own.labels, weights, seed)
            trial = judge(calibrated, audited, network, context)
            trials.append(["all", "composites", strength, "others", "AdamW", *trial])
    columns = ["layers", "trained_on", "bias_strength", "photographs", "recipe"]
    table = pd.DataFrame(trials, columns=columns + RATES)
    rates = reliance.reported_rates(reliance.detection_table(calibrated))
    predicted = table["bias_strength"].map(rates.drop(0))
    table.insert(5, "predicted_power_reported", predicted)
    table.insert(0, "images", images)
    table.insert(2, "seed", seed)
    return table.round(12)


def draw_contexts(strength: float, images: str, rng: np.random.Generator) -> np.ndarray:
    """Draw the context of each class; -1 means none."""
    if not strength:
        return np.full(4, -1)
    order = rng.permutation(4)
    if images == CAPTION:
        return np.where(order == 0, 0, -1)  # one class has the caption
    return order


def judge(
    calibrated: calibration.Calibration,
    in_audit: ContextImages,
    network: Callable,
    context_of_class: np.ndarray,
) -> list[float]:
    """Audit a network, and compare the verdicts with its biases, in `RATES`."""
    logits = in_audit.classified_by(network)
    n_contexts = logits.query.shape[1]
    pairs = reliance.judge(calibrated, logits, range(4), range(n_contexts))
    biased = context_of_class[pairs["class"]] == pairs["context"]
    verdicts = [
        pairs["z"] > calibrated.threshold,
        reliance.is_reported(pairs),
        pairs["verdict"] == reliance.DETECTED,
    ]
    false_positive_rates = [verdict[~biased].mean() for verdict in verdicts]
    detection_rates = [verdict[biased].mean() for verdict in verdicts]
    return false_positive_rates + detection_rates


def main() -> None:
    """Measure the trials, and write their table."""
    _, path, *files = sys.argv
    cases = [("photographs", seed, *files) for seed in SEEDS]
    cases += [(CAPTION, seed, *files) for seed in SEEDS[:5]]
    cases += [("synthetic images", seed, *files) for seed in SEEDS[:15]]
    collect(Path(path), measure, cases, float_format="%.4g")


if __name__ == "__main__":
    main()
