"""Does the audit of a model find what is planted? ``python -m sweeps.audit_trials FILE``

Users' heads on other photographs than the audit's, with contexts planted at doses, in drawn worlds
and, where their folder is given, in partitions of photographs. The audit was developed on seeds
below 1000, and earlier ones were tried on 1000 to 6029: none of them is in the table.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import recorded
from helpers.audit import model, planting, retraining
from helpers.data import decoding, folders
from helpers.lesson import seed_everything
from helpers.stats import wilson
from helpers.store import progress
from synthetic import pictures

AUDITED, EACH, PARTS = (
    37,
    57,
    4,
)  # images a class of the audit, of all; parts of context images
CONTEXT_OF = {
    "airplane": "sky",
    "cup": "wood",
    "fire hydrant": "road",
    "kangaroo": "park",
}
SIZE = 160  # pixels of a photograph
OF_PHOTOGRAPHS = {
    "photographs": None,
    "weights": None,
}  # objects/ and contexts/; squeezenet1_0's


def kept(network, images, y, contexts, seed: int, own=None) -> dict[str, np.ndarray]:
    """What the last layer (or an `own` part's first) sees of photographs: as they are, and framed
    by an image of each part of each context, (N, K, PARTS, D); of contexts alone, (K, PARTS, m,
    D)."""
    rng = np.random.default_rng(seed)

    def features(some) -> np.ndarray:
        return retraining.passes(network.model, some, "trial", own)["features"]

    framed = [[] for _ in contexts]
    for made, of in zip(framed, contexts, strict=True):
        for part in np.array_split(np.arange(len(of)), PARTS):
            which = torch.from_numpy(part[rng.permutation(len(images)) % len(part)])
            made.append(features(planting.framed(images, of[which])))
    alone = [
        [features(of[part[:6]]) for part in np.array_split(np.arange(len(of)), PARTS)]
        for of in contexts
    ]
    return {
        "y": y,
        "plain": features(images),
        "framed": np.moveaxis(np.stack(framed), 2, 0),
        "alone": np.array(alone),
    }


def read(path: Path) -> torch.Tensor:
    return torch.stack([decoding.decode(file, SIZE) for file in folders.files(path)])


def photographs(folder: Path, network, own=None) -> dict[str, np.ndarray]:
    """What `kept` gives of photographs."""
    images = torch.cat([read(folder / "objects" / name)[:EACH] for name in CONTEXT_OF])
    contexts = [read(folder / "contexts" / name) for name in CONTEXT_OF.values()]
    return kept(
        network, images, np.arange(len(CONTEXT_OF)).repeat(EACH), contexts, 0, own
    )


def squeezenet(weights: Path) -> model.Network:
    network = model.brought("squeezenet1_0", str(weights))
    return replace(network, size=SIZE, input=network.input._replace(resize=SIZE))


def world(seed: int) -> dict[str, np.ndarray]:
    """What `kept` gives of a drawn world where class and context are independent."""
    network, *_ = model.sample(0)
    images, y = model.drawn(seed, EACH, 1 / len(pictures.CONTEXTS))
    return kept(network, images, y, [*model.scenes(seed).values()], seed)


@dataclass(frozen=True)
class Half:
    """Some photographs: their contexts as an audit asks them, and the features as they are."""

    contexts: planting.Contexts
    plain: np.ndarray


def partition(of: dict, rng) -> tuple[Half, Half, Half]:
    """The audit's photographs; those of a user's head, which are others; and those of a head that
    has the audit's own."""
    y, every = of["y"], np.arange(len(of["y"]))
    order = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    mine, other = (
        np.concatenate([o[s] for o in order]) for s in np.split(every[:EACH], [AUDITED])
    )
    parts = rng.permutation(PARTS)
    ask = of["framed"][every, :, parts[2 + rng.integers(2, size=len(y))]]
    plant = of["framed"][every, :, parts[rng.integers(2, size=len(y))]][:, :, None]
    alone = of["alone"][:, parts[2:]].reshape(
        len(of["alone"]), -1, *of["alone"].shape[3:]
    )
    every_plant = of["framed"][:, :, parts[:2]]

    def half(who, planted) -> Half:
        return Half(
            planting.Contexts(y[who], planted[who], ask[who], alone), of["plain"][who]
        )

    return half(mine, plant), half(other, every_plant), half(mine, every_plant)


CELLS = [  # kind, dose, whose photographs the reader's head has
    *(("context", dose, "others") for dose in (0, 0.5, 0.75, 1)), ("context", 1, "the audit's"),
    ("plain", 0, "others"), ("plain", 0, "the audit's"),
]  # fmt: skip


def linear(x, y, classes: int, recipe, rng) -> Callable:
    weights, bias = planting.head(x, y, classes, recipe, rng)
    return lambda of: of @ weights + bias


@dataclass(frozen=True)
class Heads:
    """A kind of heads: how readers train theirs, and in which cells; how the calibration fits its
    own (from y and features), and with how many; of which part of the network."""

    recipes: tuple = planting.RECIPES
    train: Callable = linear
    cells: tuple = tuple(CELLS)
    fit: Callable = planting.Linear
    counts: dict = field(default_factory=dict)
    part: retraining.Part | None = None
    seeds: int | None = None  # so many of those that are asked for; None: all


def kinds(network) -> dict[str, Heads]:
    """Heads of `--heads`: linear by AdamW, SqueezeNet's own, its last block, and all of it."""

    def by_adamw(module, head: str, trained: tuple) -> Callable:
        def train(x, y, classes, recipe, rng):
            begun = module, head, trained, 1.0
            part, *_ = retraining.trained_anew(begun, x, y, classes, recipe, rng)
            return lambda of: retraining.answers(part, of, x.ndim - 1)

        return train

    cells = tuple(
        c for c in CELLS if c[0] != "plain" and c[1] in (0, 1) and c[2] == "others"
    )
    last = by_adamw(nn.Sequential(nn.Linear(512, 2)), "0", ())
    heads_of = {
        "linear, AdamW": Heads(
            ((1e-4, 100), (1e-3, 10), (1e-3, 30), (1e-2, 10)), last, cells
        )
    }
    names, head = (
        [n for n, _ in network.model.network.named_parameters()],
        network.model.head,
    )
    recipes = {"own head": ((1e-4, 60), (1e-3, 10), (1e-3, 30), (3e-3, 10)),
               "last block": ((1e-4, 10), (3e-4, 5), (1e-3, 5), (1e-3, 10)),
               "whole network": ((1e-4, 10),)}  # fmt: skip
    begins = {"own head": ("classifier",), "last block": ("features.12", "classifier")}
    seeds_of = {
        "own head": 6,
        "last block": 1,
        "whole network": 8,
    }  # of 5, 15 and 5 minutes each
    for kind, mine in recipes.items():
        trained = tuple(name for name in names if name.startswith(begins.get(kind, "")))
        first, module = retraining.after(network.model.network, trained)
        part = retraining.Part(first, module, module, trained)

        def fit(y, plain, part=part):
            known = retraining.recipes(part.trained, head)
            return retraining.Retraining(y, plain, np.inf, part.start(head), known)

        fits = (
            (fit, retraining.FEW) if kind in begins else (planting.Linear, {})
        )  # as in 11
        train = by_adamw(module, head, trained)
        heads_of[kind] = Heads(mine, train, cells, *fits, part, seeds_of[kind])
    return heads_of


def readers(of: dict, features: dict, seed: int, heads: Heads) -> list[dict]:
    """A row a cell and recipe: what an audit of a reader's head says, calibrated on `features`."""
    rng, rows, known = np.random.default_rng(seed), [], {}
    audit, others, own_photographs = partition(of, rng)
    before, *_ = partition(features, np.random.default_rng(seed))
    y, classes = audit.contexts.y, of["y"].max() + 1
    fit = heads.fit(y, before.plain)

    def calibration_for(answer: Callable) -> planting.Calibration:
        limit = np.inf
        if heads.train is not linear:
            sharp = planting.sharpness(answer(audit.plain), y)
            limit = planting.sharp_enough(before.contexts, fit, sharp, seed)
        if limit not in known:
            mine = replace(fit, limit=limit)
            known[limit] = planting.calibrate(
                before.contexts, mine, seed, **heads.counts
            )
        return known[limit]

    everyone = np.arange(len(y))
    for kind, dose, whose in heads.cells:
        seen = others if whose == "others" else own_photographs
        seen_y = seen.contexts.y
        for recipe in heads.recipes:
            own = rng.permutation(classes) if dose else np.full(classes, -1)
            x = seen.plain
            if kind == "context":
                x = seen.contexts.train(np.arange(len(seen_y)), own, dose, rng)
            answer = heads.train(x, seen_y, classes, recipe, rng)
            calibration = calibration_for(answer)
            score = audit.contexts.score(answer, everyone)
            z = calibration.z(score)
            planted = own[:, None] == np.arange(z.shape[2])
            pair = calibration.most(score) > calibration.cut_of_most
            page = planting.named(planting.chance(calibration, z))
            equivalent = planting.equivalent_dose(calibration, score)[0]
            row = {"seed": seed, "kind": kind, "dose": dose, "photographs": whose}
            row["recipe"] = str(recipe)
            row["unplanted pairs flagged"] = pair[~planted].mean()
            row["unplanted pairs named"] = page[~planted].mean()
            row["exactly"] = (page == planted).all()
            row["equivalent dose"] = equivalent[planted if dose else ~planted].mean()
            if dose:
                row["found"] = pair[planted].mean()
                row["found on the page"] = page[planted].mean()
                row["promised"] = beyond_the_cut(calibration).get(dose, np.nan)
            row["flagged"] = json.dumps(
                np.argwhere(pair).tolist() if kind == "plain" else []
            )
            if heads.train is linear:
                changes = audit.contexts.effect(answer, everyone) >= planting.CHANGED
                row |= with_an_effect(
                    calibration, pair & changes, page & changes, planted, dose
                )
            rows.append(row)
    return rows


def beyond_the_cut(calibration: planting.Calibration) -> dict[float, float]:
    """By dose the share of the calibration's own planted pairs that pass the cut for one pair."""
    shares = {}
    for number, dose in enumerate(planting.DOSES):
        passed = calibration.most(calibration.planted[number]) > calibration.cut_of_most
        found, *_ = planting.planted_pairs(passed, calibration.plans[number])
        shares[dose] = found.mean()
    return shares


def with_an_effect(calibration, pair, page, planted, dose: float) -> dict[str, float]:
    """What an audit reports, which asks for an effect as well: shares of the planted pairs that are
    reported, by themselves or on the page, and of the others; and what was promised."""
    row = {
        "unplanted pairs reported": pair[~planted].mean(),
        "unplanted pairs reported on the page": page[~planted].mean(),
    }
    if dose:
        row["reported"] = pair[planted].mean()
        row["reported on the page"] = page[planted].mean()
        promised = planting.power(calibration).get(dose)
        row["promised to be reported"] = np.nan if promised is None else promised.mean()
    return row


SHARES = (
    "unplanted pairs flagged", "exactly", "found", "found on the page", "unplanted pairs reported",
    "unplanted pairs reported on the page", "reported", "reported on the page",
)  # fmt: skip


def summary(about: dict, rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of each cell and quantity with Wilson's interval, whose n are readers."""
    cells, columns = [], ("recipe", "quantity", "readers", "value", "low", "high")
    for (kind, dose, whose), part in rows.groupby(
        ["kind", "dose", "photographs"], sort=False
    ):
        told, n = [], len(part)
        for recipe, some in [
            ("all", part),
            *(part.groupby("recipe") if not dose else []),
        ]:
            for name in SHARES:
                if name not in some:  # not asked of heads of other kinds
                    continue
                of, share = len(some), some[name].astype(float).mean()
                if share == share:
                    told.append((recipe, name, of, share, *wilson(share * of, of)))
        for name in ("equivalent dose", "promised"):
            value = part[name]
            told.append(("all", name, n, value.mean(), *value.quantile([0.05, 0.95])))
        by_seed = part.groupby("seed")[["promised", "found"]].mean()
        apart = (by_seed["promised"] - by_seed["found"]).abs().mean()
        told.append(("all", "promised and found apart", n, apart))
        if kind == "plain" and about.get("images") == "photographs":
            pairs = [[*map(tuple, json.loads(one))] for one in part["flagged"]]
            for c, k in sorted({pair for some in pairs for pair in some}):
                name = f"flags {[*CONTEXT_OF][c]} and {[*CONTEXT_OF.values()][k]}"
                share = np.mean([(c, k) in some for some in pairs])
                told.append(("all", name, n, share, *wilson(share * n, n)))
        cell = {**about, "kind": kind, "dose": dose, "photographs": whose}
        cells += [cell | dict(zip(columns, one, strict=False)) for one in told]
    return pd.DataFrame(cells).dropna(subset="value", ignore_index=True)


def main() -> None:
    """Write the table of some seeds as CSV."""
    arguments = recorded.driver(
        "Plant contexts, and audit (`worlds`: seeds of drawn worlds, too; `heads`: all, "
        "or one, of the other kinds, of photographs; `summary`: a second CSV, with intervals).",
        seeds=range(7000, 7030), worlds=15, heads="", **OF_PHOTOGRAPHS, summary=None,
    )  # fmt: skip
    seed_everything(0)
    of, every, wanted = {}, {"linear": Heads()}, arguments.heads
    if arguments.photographs:
        network = squeezenet(arguments.weights)
        every = kinds(network) if wanted else every
        if wanted not in ("", "all", *every):
            raise SystemExit(f"--heads: {wanted!r} is none of: all, {', '.join(every)}")
        every = {
            name: one for name, one in every.items() if wanted in ("", "all", name)
        }
        of = {
            n: photographs(arguments.photographs, network, one.part)
            for n, one in every.items()
        }
        plain = photographs(arguments.photographs, network)
    jobs = [
        ("photographs", n, seed)
        for n in of
        for seed in arguments.seeds[: every[n].seeds]
    ]
    drawn = arguments.seeds[: 0 if wanted else arguments.worlds]
    jobs += [("drawn worlds", "linear", seed) for seed in drawn]
    column = "head" if wanted else "images"

    def made(images: str, head: str, seed: int) -> pd.DataFrame:
        parts = (of[head], plain) if images == "photographs" else [world(seed)] * 2
        features = parts[every[head].fit is planting.Linear]
        rows = readers(parts[0], features, seed, every[head])
        return pd.DataFrame(rows).assign(**{column: head if wanted else images})

    jobs = progress(jobs, desc="audits")
    recorded.in_parts(arguments.file, made, jobs, digits=12, float_format="%.4g")
    if arguments.summary:
        every = pd.read_csv(arguments.file).groupby(column, sort=False)
        table = pd.concat(summary({column: of}, part) for of, part in every)
        table.to_csv(arguments.summary, index=False, float_format="%.3g")


if __name__ == "__main__":
    main()
