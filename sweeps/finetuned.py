"""What is a reader told whose whole network was fine-tuned? ``python -m sweeps.finetuned FILE``

Readers fine-tune SqueezeNet on photographs that the audit does not have, and get what lesson 11
gives them, a calibration by linear heads on what the last layer saw before. With `--own` also one
by networks fine-tuned alike on the audit's photographs: an hour of one core a partition."""

from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import recorded
from helpers.audit import planting, retraining
from helpers.data import decoding, folders
from helpers.models.inference import default_device
from helpers.suite import project
from sweeps import audit_trials as trials

LAST = "network.classifier.1"
RECIPE = 1e-4, 10  # rate of AdamW, epochs: nine in ten other photographs are recognised (seed 900)


class Placed(nn.Module):
    """A network that takes images in 0 to 255 from the CPU, and computes on a device."""

    def __init__(self, network: nn.Module, device: str):
        super().__init__()
        self.network, self.device = network, device

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.to(self.device).network(images.to(self.device, torch.uint8)).cpu()


@cache
def photographs(folder: Path) -> dict[str, np.ndarray]:
    """What `audit_trials.kept` has features of: uint8 images, (..., 3, SIZE, SIZE)."""
    rng, names, framed, alone = np.random.default_rng(0), trials.CONTEXT_OF, [], []

    def read(path: Path) -> torch.Tensor:
        return torch.stack([decoding.decode(file, trials.SIZE) for file in folders.files(path)])

    images = torch.cat([read(folder / "objects" / name)[: trials.EACH] for name in names])
    for of in [read(folder / "contexts" / name) for name in names.values()]:
        parts = np.array_split(np.arange(len(of)), trials.PARTS)
        which = [part[rng.permutation(len(images)) % len(part)] for part in parts]
        framed.append(torch.stack([planting.framed(images, of[rows]) for rows in which], 1))
        alone.append(torch.stack([of[part[:6]] for part in parts]))
    marked = torch.stack([planting.marked(images, kind) for kind in planting.MARKS], 1)
    made = {"plain": images, "marked": marked, "framed": torch.stack(framed, 1)}
    made = {name: one.numpy() for name, one in (made | {"alone": torch.stack(alone)}).items()}
    return made | {"y": np.arange(len(names)).repeat(trials.EACH)}


@cache
def features(network: Placed, folder: Path) -> dict[str, np.ndarray]:
    """What the last layer sees of photographs, pooled."""
    seen, of = {}, photographs(folder)
    for name in of.keys() - {"y"}:
        images = torch.from_numpy(of[name]).flatten(0, -4)
        parts, _ = retraining.seen_by(LAST, network.eval(), images, name, retraining.pooled)
        seen[name] = torch.cat(parts).cpu().numpy().reshape(*of[name].shape[:-3], -1)
    return seen | {"y": of["y"]}


def audits(seed: int, own: bool, network: Placed, folder: Path) -> pd.DataFrame:
    """A row a reader, one of each kind and dose, and calibration: what it says."""
    shares, rows = (photographs(folder), features(network, folder)), []
    rng = np.random.default_rng(seed)
    parts = [trials.partition(one, np.random.default_rng(seed)) for one in shares]
    (audit, others, _), (before, *_) = parts
    y, images, few = audit["mark"].y, audit["mark"].plain, retraining.FEW
    begun = network, f"network.{LAST}", tuple(n for n, _ in network.named_parameters()), 1.0
    alike = retraining.Retraining(y, images, np.inf, begun, (RECIPE,))
    by_kind = {k: planting.calibrate(of, alike, seed, **few) for k, of in audit.items() if own}
    for kind, dose in product(audit, (0, 1)):
        readers, plan = others[kind], np.full(len(trials.CONTEXT_OF), -1)
        if dose and kind == "context":
            plan = rng.permutation(len(plan))
        elif dose:
            plan[rng.integers(len(plan))] = rng.integers(len(planting.MARKS))
        x = readers.train(np.arange(len(readers.y)), plan, dose, rng)
        part, *_ = retraining.trained_anew(begun, x, readers.y, len(plan), RECIPE, rng)
        answer = partial(retraining.answers, part, axes=3)
        score, logits = audit[kind].score(answer, np.arange(len(y))), answer(images)
        linear = planting.Linear(y, before["mark"].plain)
        limit = planting.sharp_enough(before[kind], linear, planting.sharpness(logits, y), seed)
        linear = planting.Linear(y, before["mark"].plain, limit)
        by = {"linear heads": planting.calibrate(before[kind], linear, seed)}
        for name, calibration in (by | ({"own recipe": by_kind[kind]} if own else {})).items():
            flagged = calibration.most(score) > calibration.cut_of_most
            planted = plan[:, None] == np.arange(flagged.shape[1])
            rest = ~planted if kind == "context" else ~planted & (plan < 0)[:, None]
            row = {"seed": seed, "kind": kind, "dose": dose, "calibration": name}
            row["right"] = (logits.argmax(1) == y).mean()
            row["unplanted pairs flagged"] = flagged[rest].mean()
            row["found"] = flagged[planted].mean() if dose else np.nan
            row["promised"] = planting.power(calibration)[dose].mean() if dose else np.nan
            rows.append(row | {"device": network.device})
    return pd.DataFrame(rows)


def main() -> None:
    """Write the table of some seeds as CSV; a run that was stopped goes on."""
    about = "Fine-tune whole networks with something planted, and audit them."
    more = {"own": False, **trials.OF_PHOTOGRAPHS}
    options = recorded.driver(about, seeds=range(5001, 5013), **more)
    project.seed_everything(0)
    torch.backends.cudnn.allow_tf32 = False  # single precision, as on a CPU
    network = Placed(trials.squeezenet(options.weights).model, default_device().type)
    made = partial(audits, network=network, folder=options.photographs)
    recorded.in_parts(options.file, made, [(seed, options.own) for seed in options.seeds], 4)


if __name__ == "__main__":
    main()
