"""Measure how often the audit of a model detects injected biases, and errs.

Users' classifiers are trained on other photographs than the audit's. Seeds below 7000
were used while the audit was developed. Run ``python -m sweeps.audit_trials
data/audit_trials.csv FOLDER WEIGHTS``, where the folder has objects/ and contexts/.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.audit import calibration as audit
from helpers.audit import classifiers
from helpers.audit.context_scores import ContextImages
from sweeps import audit_features
from sweeps.audit_features import LABELS, PARTS
from sweeps.resume import collect

SEEDS = range(7000, 7030)
AUDITED = 37  # photographs of a class that the audit uses; users train on the others
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

features_of_photographs = cache(audit_features.of_photographs)


def measure(images: str, seed: int, folder: str, weights: str) -> pd.DataFrame:
    """Calibrate on some photographs, and audit classifiers of each cell and recipe."""
    if images == "photographs":
        plain, pasted, alone = features_of_photographs(folder, weights)
    else:
        plain, pasted, alone = audit_features.of_synthetic_images(seed)
    rng = np.random.default_rng(seed)
    orders = np.stack([rng.permutation(rows) for rows in audit_features.BY_CLASS])
    audited = orders[:, :AUDITED].ravel()
    others = orders[:, AUDITED:].ravel()
    # two parts of the backgrounds are for training, and two for queries
    parts = rng.permutation(PARTS)
    every = np.arange(len(LABELS))
    query = pasted[every, :, parts[2 + rng.integers(2, size=len(LABELS))]]
    train = pasted[every, :, parts[rng.integers(2, size=len(LABELS))], None]
    alone = np.concatenate([alone[:, part] for part in parts[2:]], axis=1)
    in_audit = ContextImages(LABELS[audited], train[audited], query[audited], alone)
    in_training = ContextImages(LABELS, pasted[:, :, parts[:2]], query, alone)
    calibration = audit.calibrate(in_audit, seed)
    predicted_above = audit.detection_rates(calibration, least_change=-np.inf)
    predicted_reported = audit.detection_rates(calibration)
    rows = []
    for trained_on, strength, owner in CELLS:
        seen = others if owner == "others" else audited
        for recipe in classifiers.RECIPES:
            context = rng.permutation(4) if strength else np.full(4, -1)
            inputs = plain[seen]
            if trained_on == "composites":
                inputs = in_training.draw_training(seen, context, strength, rng)
            classifier = classifiers.trained(inputs, LABELS[seen], 4, recipe, rng)
            row = {
                "images": images,
                "seed": seed,
                "trained_on": trained_on,
                "bias_strength": strength,
                "photographs": owner,
                "recipe": recipe,
                "predicted_power_threshold": predicted_above.get(strength),
                "predicted_power_reported": predicted_reported.get(strength),
            }
            row.update(judge(calibration, in_audit, classifier, context))
            rows.append(row)
    table = pd.DataFrame(rows)
    is_plain = table["trained_on"] == "plain photographs"
    pairs = table["pairs_above_threshold"]
    return table.assign(pairs_above_threshold=pairs.where(is_plain)).round(12)


def judge(
    calibration: audit.Calibration,
    in_audit: ContextImages,
    classifier: Callable,
    context_of_class: np.ndarray,
) -> dict[str, object]:
    """Audit a classifier, and compare its verdicts with the biases that it has."""
    photographs = np.arange(len(in_audit.labels))
    score = in_audit.score(classifier, photographs)
    effect = in_audit.effect(classifier, photographs)
    verdicts = audit.verdicts(calibration, score, effect)
    biased = context_of_class[:, None] == np.arange(4)
    row = audit.rates_by_verdict(verdicts, biased)
    row["exact"] = (verdicts["significant"] == biased).all()
    estimated, _, _ = audit.estimated_strength(calibration, score)
    row["estimated_strength"] = estimated[biased == biased.any()].mean()
    row["pairs_above_threshold"] = str(np.argwhere(verdicts["threshold"]).tolist())
    return row


def main() -> None:
    """Measure the trials, and write their table."""
    _, path, *files = sys.argv
    cases = [("photographs", seed, *files) for seed in SEEDS]
    cases += [("synthetic images", seed, *files) for seed in SEEDS[:15]]
    collect(Path(path), measure, cases, float_format="%.4g")


if __name__ == "__main__":
    main()
