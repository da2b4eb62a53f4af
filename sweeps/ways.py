"""Which way of asking finds a context that was planted? ``python -m sweeps.ways FILE``

Heads of readers on other photographs than the audit's, as in `audit_trials`, asked in the `WAYS`. A
row a partition, dose, recipe, class and context, and a column a way: z by the audit's calibration,
in units of its cut, so that 1 and more is flagged; *share* is that of the activation map itself.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers import recorded
from helpers.audit import model, planting, retraining
from helpers.data import mosaic
from helpers.lesson import seed_everything
from helpers.store import progress
from sweeps import audit_trials as trials

WAYS = (
    "pasting, logits, less other contexts", "context alone, logits, less other contexts",
    "mosaics, logits, less other contexts", "pasting, decisions, raw", "mosaics, flips, raw",
    "activation map, less other contexts",
)  # fmt: skip
INSIDE = 0.65  # of the side is the photograph, in the middle
ASK = 2  # of the parts of the context images: one asks with them, and plants with the others


@dataclass(frozen=True)
class Ways(planting.Contexts):
    """Contexts, with features of mosaics, (n, K, D), and the last maps of `ask`, (n, K, P, D)."""

    beside: np.ndarray
    maps: np.ndarray

    def score(self, answer, who):
        """How much contexts raise classes by each of the `WAYS`: (ways, classes, K)."""
        y, beside, pasted = self.y[who], answer(self.beside[who]), answer(self.ask[who])
        decided = 1.0 * (pasted == pasted.max(2, keepdims=True))
        flips = 1.0 * (beside > np.take_along_axis(beside, y[:, None, None], 2))
        logits = planting.centred(beside)
        less = planting.less_others(logits, 1) / logits.reshape(
            -1, logits.shape[2]
        ).std(0)
        more = [planting.by_other_classes(one, y) for one in (less, decided, flips)]
        more.append(planting.less_others(self.outside(answer, who), 1))
        return np.concatenate([super().score(answer, who), more])

    def outside(self, answer, who):
        """The share of a class's activation map (its logit is the mean of it; the positive part)
        that lies on the context, for the class's own photographs: (classes, K)."""
        weights = answer(np.eye(self.ask.shape[2])) - answer(
            np.zeros(self.ask.shape[2])
        )
        side = round(self.maps.shape[2] ** 0.5)
        middle, shares = np.abs((np.arange(side) + 0.5) / side - 0.5), []
        context = np.maximum.outer(middle, middle).ravel() > INSIDE / 2
        for c in range(weights.shape[1]):
            map_of = self.maps[who[self.y[who] == c]] @ weights[:, c].astype(np.float32)
            relevance = map_of.clip(0).sum(0)
            shares.append((relevance * context).sum(1) / relevance.sum(1).clip(1e-9))
        return np.stack(shares)


def kept(folder: Path, weights: Path) -> dict[str, np.ndarray]:
    """What the last layer sees of photographs in one image of each part of each context, framed,
    (N, K, PARTS, D); of mosaics with those to ask with, beside, (N, K, ASK, D), and of the framed
    at each place, maps, (N, K, ASK, P, D); and of contexts to ask with, alone, (K, m, D)."""
    network, rng = (
        model.brought("squeezenet1_0", str(weights)),
        np.random.default_rng(0),
    )
    features_of, alone = {"framed": [], "beside": [], "maps": []}, []

    def features(some) -> np.ndarray:
        return retraining.passes(network.model, some, "photographs")["features"]

    def half(some) -> torch.Tensor:
        return mosaic.squeeze(some, trials.SIZE, trials.SIZE // 2)

    images = torch.cat(
        [trials.read(folder / "objects" / n)[: trials.EACH] for n in trials.CONTEXT_OF]
    )
    for name in trials.CONTEXT_OF.values():
        of = trials.read(folder / "contexts" / name)
        parts = np.array_split(np.arange(len(of)), trials.PARTS)
        which = [part[rng.permutation(len(images)) % len(part)] for part in parts]
        partners = [of[torch.from_numpy(one)] for one in which]
        framed = [planting.framed(images, one) for one in partners]
        beside = [
            mosaic.join([half(images), half(one)], 1, 2) for one in partners[-ASK:]
        ]
        features_of["framed"].append(np.stack([*map(features, framed)], 1))
        features_of["beside"].append(np.stack([*map(features, beside)], 1))
        features_of["maps"].append(
            np.stack([maps(network.model, one) for one in framed[-ASK:]], 1)
        )
        alone.append(features(of[np.concatenate([part[:6] for part in parts[-ASK:]])]))
    seen = {name: np.stack(some, 1) for name, some in features_of.items()}
    return seen | {"alone": np.stack(alone)}


def maps(network, images) -> np.ndarray:
    """What the last layer sees of images at each place, float16 (N, P, D)."""
    seen, _ = retraining.seen_by(
        network.head, network, images, "maps", torch.Tensor.half
    )
    return torch.cat(seen).flatten(2).transpose(1, 2).numpy()


def readers(of: dict, seed: int) -> pd.DataFrame:
    """What each way says of heads of readers: a row a dose, recipe, class and context."""
    rng, rows, names = np.random.default_rng(seed), [], list(trials.CONTEXT_OF)
    order = [rng.permutation(trials.EACH) + c * trials.EACH for c in range(len(names))]
    mine = np.concatenate([one[: trials.AUDITED] for one in order])
    others = np.concatenate([one[trials.AUDITED :] for one in order])
    y = np.arange(len(names)).repeat(trials.EACH)
    part, plant = rng.integers(ASK, size=len(mine)), of["framed"][:, :, :-ASK]
    pictures = [of[name][mine, :, part] for name in ("beside", "maps")]
    ask = of["framed"][:, :, -ASK:][mine, :, part], of["alone"]
    one = plant[mine, :, rng.integers(plant.shape[2], size=len(mine))][:, :, None]
    audit = Ways(y[mine], one, *ask, pictures[0], pictures[1].astype(np.float32))
    reader = planting.Contexts(y[others], plant[others], *ask)
    fit, everyone = planting.Linear(audit.y, audit.ask[:, 0]), np.arange(len(mine))
    calibration = planting.calibrate(audit, fit, seed)
    for dose in (0, 0.5, 1):
        for recipe in planting.RECIPES:
            own = rng.permutation(len(names)) if dose else np.full(len(names), -1)
            x = reader.train(np.arange(len(others)), own, dose, rng)
            answer = trials.linear(x, reader.y, len(names), recipe, rng)
            z = (
                calibration.z(audit.score(answer, everyone))
                / calibration.cut[:, None, None]
            )
            share = audit.outside(answer, everyone)
            for c, k in np.ndindex(share.shape):
                row = {
                    "seed": seed,
                    "dose": dose,
                    "recipe": str(recipe),
                    "class": names[c],
                }
                row["context"], row["planted"] = (
                    trials.CONTEXT_OF[names[k]],
                    int(own[c] == k),
                )
                rows.append(
                    row
                    | dict(zip(WAYS, z[:, c, k], strict=True))
                    | {"share": share[c, k]}
                )
    return pd.DataFrame(rows)


def main() -> None:
    """Write the table of some seeds as CSV."""
    seeds = range(2000, 2015)
    about = "Plant contexts in photographs, and ask."
    options = recorded.driver(about, seeds=seeds, **trials.OF_PHOTOGRAPHS)
    seed_everything(0)
    of = kept(options.photographs, options.weights)
    parts = [readers(of, seed) for seed in progress(options.seeds, desc="partitions")]
    recorded.write(
        options.file, pd.concat(parts).to_csv(index=False, float_format="%.3g")
    )


if __name__ == "__main__":
    main()
