"""Measure how often the audit of a model detects injected biases, and errs.

Users' classifiers are trained on other photographs than the audit's. Seeds below 7000
were used while the audit was developed. Run ``python -m sweeps.audit_trials
data/audit_trials.csv
--photographs FOLDER --weights FILE``, where the folder has objects/ and contexts/.
"""

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers.audit import calibration as audit
from helpers.audit import classifiers, features, model, sample
from helpers.audit.context_scores import ContextImages, paste
from helpers.data import decoding
from sweeps.resume import collect

CLASSES = ("airplane", "cup", "fire hydrant", "kangaroo")
CONTEXTS = ("sky", "wood", "road", "park")
PER_CLASS = 57  # photographs
AUDITED = 37  # those that the audit uses; the users train on the others
PARTS = 4  # of the backgrounds of a context: two for training, two for queries
SIZE = 160  # pixels
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


def compute_features(network, images, labels, contexts, seed) -> dict:
    """Compute features of photographs, alone and in each part of each context."""
    rng = np.random.default_rng(seed)
    pasted, alone = [], []
    for backgrounds in contexts:
        parts = np.array_split(np.arange(len(backgrounds)), PARTS)
        for part in parts:
            choice = part[rng.permutation(len(images)) % len(part)]
            composites = paste(images, backgrounds[torch.from_numpy(choice)])
            pasted.append(features.passes(network.model, composites, "pasted"))
            first_six = backgrounds[part[:6]]
            alone.append(features.passes(network.model, first_six, "alone"))
    plain = features.passes(network.model, images, "plain")["features"]
    pasted = np.stack([passed["features"] for passed in pasted], 1)
    alone = np.stack([passed["features"] for passed in alone])
    pasted = pasted.reshape(len(images), len(contexts), PARTS, -1)
    alone = alone.reshape(len(contexts), PARTS, *alone.shape[1:])
    return {"labels": labels, "plain": plain, "pasted": pasted, "alone": alone}


@cache
def features_of_photographs(folder: str, weights: str) -> dict:
    """Compute the features that SqueezeNet gives of photographs."""
    network = model.load_network("squeezenet1_0", weights)
    network = replace(network, size=SIZE, input=network.input._replace(resize=SIZE))

    def read(name: str) -> torch.Tensor:
        files = sorted((Path(folder) / name).iterdir())
        return torch.stack([decoding.decode(file, SIZE) for file in files])

    images = torch.cat([read(f"objects/{name}")[:PER_CLASS] for name in CLASSES])
    contexts = [read(f"contexts/{name}") for name in CONTEXTS]
    labels = np.arange(len(CLASSES)).repeat(PER_CLASS)
    return compute_features(network, images, labels, contexts, 0)


def features_of_synthetic_images(seed: int) -> dict:
    """Compute features of synthetic images in which classes have no context."""
    network, *_ = sample.audited_network(0)
    images, labels = sample.synthetic_photographs(seed, PER_CLASS, context_bias=0.25)
    contexts = list(sample.synthetic_contexts(seed).values())
    return compute_features(network, images, labels, contexts, seed)


def measure(images: str, seed: int, folder: str, weights: str) -> pd.DataFrame:
    """Calibrate on some photographs, and audit classifiers of each cell and recipe."""
    if images == "photographs":
        computed = features_of_photographs(folder, weights)
    else:
        computed = features_of_synthetic_images(seed)
    rng = np.random.default_rng(seed)
    labels, plain = computed["labels"], computed["plain"]
    pasted = computed["pasted"]
    orders = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    audited = np.concatenate([order[:AUDITED] for order in orders])
    others = np.concatenate([order[AUDITED:PER_CLASS] for order in orders])
    parts = rng.permutation(PARTS)
    every = np.arange(len(labels))
    query_part = parts[2 + rng.integers(2, size=len(labels))]
    query = pasted[every, :, query_part]
    train_part = parts[rng.integers(2, size=len(labels))]
    train = pasted[every, :, train_part, None]
    alone = np.concatenate([computed["alone"][:, part] for part in parts[2:]], axis=1)
    trainer = classifiers.Trainer(labels[audited], plain[audited])
    in_audit = ContextImages(labels[audited], train[audited], query[audited], alone)
    in_training = ContextImages(labels, pasted[:, :, parts[:2]], query, alone)
    users_trainer = classifiers.Trainer(labels, plain)
    calibration = audit.calibrate(in_audit, trainer, seed)
    predicted_above = audit.detection_rates(calibration, least_change=-np.inf)
    predicted_reported = audit.detection_rates(calibration)
    photographs = np.arange(len(audited))
    rows = []
    for trained_on, strength, owner in CELLS:
        seen = others if owner == "others" else audited
        for recipe in classifiers.RECIPES:
            context_of_class = rng.permutation(4) if strength else np.full(4, -1)
            inputs = plain[seen]
            if trained_on == "composites":
                inputs = in_training.draw_training(
                    seen, context_of_class, strength, rng
                )
            classifier = users_trainer.train(inputs, seen, recipe, rng)
            biased = context_of_class[:, None] == np.arange(4)
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
            score = in_audit.score(classifier, photographs)
            effect = in_audit.effect(classifier, photographs)
            verdicts = audit.verdicts(calibration, score, effect)
            row.update(audit.rates_by_verdict(verdicts, biased))
            row["exact"] = (verdicts["significant"] == biased).all()
            estimated, _, _ = audit.estimated_strength(calibration, score)
            row["estimated_strength"] = estimated[biased == bool(strength)].mean()
            if trained_on == "plain photographs":
                pairs = np.argwhere(verdicts["threshold"])
                row["pairs_above_threshold"] = str(pairs.tolist())
            rows.append(row)
    return pd.DataFrame(rows).round(12)


def main() -> None:
    """Measure the trials, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--photographs", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(7000, 7030))
    arguments = parser.parse_args()
    files = (arguments.photographs, arguments.weights)
    cases = [("photographs", seed, *files) for seed in arguments.seeds]
    cases += [("synthetic images", seed, *files) for seed in arguments.seeds[:15]]
    collect(arguments.path, measure, cases, float_format="%.4g")


if __name__ == "__main__":
    main()
