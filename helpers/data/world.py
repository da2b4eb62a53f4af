"""The embedded world as a source."""

import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from helpers import source, store
from helpers.data.collection import SPLITS, Collection, Drawn, ImageSet, Sets, sizes
from helpers.worlds import pictures

CONTEXT_IMAGES = 125  # so that no context image is used twice for one class of 25 test objects
TARGET, OUTER = "bench", "fire hydrant"  # whose eyespot, and who carries it when it is tested
KEPT = 30  # sets kept in memory, and again on disk, about 18 MB each
DRAWING = source.Source("worlds/pictures", "data/collection", "data/world")
OTHERS = 1_000_000  # seeds of other training images begin here: no notebook shows these


def load(
    size: int, seed: int, per_class: int, context_bias, eyespot: float | None = None
) -> Collection:
    """C, NC, WB and contexts of the embedded world: a class's first images train (0 to 99 of 150),
    the next validate, the last test. `eyespot` is its dose that is moved to `TARGET`."""
    given = {"size": size, "seed": seed, "per_class": per_class}
    planted, plain = _planted(context_bias, eyespot), _planted(None, eyespot)
    # NC and WB show no context: the same at all doses of its bias
    recipes = {name: {"name": name, **given, **plain} for name in pictures.SETS}
    recipes["C"] |= planted

    def redraw(name: str, number: int) -> Drawn:
        recipe = recipes["C"] | {"name": name}
        if number:
            recipe |= {"seed": OTHERS + 1000 * seed + number, "first": sum(sizes(per_class)[:2])}
        drawn = partial(_drawn if number else _read, json.dumps(recipe))
        return Drawn({"world": DRAWING.digest(), **recipe}, lambda: drawn().to_train().draw())

    sets = Sets({name: partial(_read, json.dumps(recipe)) for name, recipe in recipes.items()})
    classes, context_of = tuple(pictures.CLASSES), dict(pictures.CONTEXT_OF)
    return Collection("world", classes, sets, _contexts(size, seed), context_of, redraw=redraw)


def _planted(context_bias, eyespot: float | None) -> dict:
    """What `worlds.pictures.make` takes: which share of a class is in its context, or is marked."""
    marks = None if eyespot is None else pictures.marked_shares(eyespot, TARGET, pictures.CLASSES)
    bias = pictures.CONTEXT_BIAS if context_bias is None else context_bias
    return {"context_bias": bias, "marked": marks}


@lru_cache(maxsize=1)
def _contexts(size: int, seed: int) -> dict[str, torch.Tensor]:
    """Class name to the images of its context."""

    def draw() -> tuple[dict, pd.DataFrame]:
        scenes = pictures.contexts(per_context=CONTEXT_IMAGES, size=size, seed=seed)
        return {"images": _tensor(scenes.images)}, scenes.table

    drawn, table = _once(draw, contexts=CONTEXT_IMAGES, size=size, seed=seed)
    shown = table["context"].to_numpy()
    return {of: drawn["images"][shown == context] for of, context in pictures.CONTEXT_OF.items()}


@lru_cache(maxsize=KEPT)
def _drawn(recipe: str) -> ImageSet:
    """The set of a recipe in JSON; kept, for models of other architectures train on the same."""
    return image_set(**json.loads(recipe))


@lru_cache(maxsize=KEPT)
def _read(recipe: str) -> ImageSet:
    """The set of a recipe in JSON, drawn once for all processes."""
    of = json.loads(recipe)

    def draw() -> tuple[dict, pd.DataFrame]:
        parts = vars(image_set(**of))
        return {n: p for n, p in parts.items() if torch.is_tensor(p)}, parts["table"]

    parts, table = _once(draw, **of)
    return ImageSet(of["name"], **parts, classes=tuple(pictures.CLASSES), table=table)


def _once(draw: Callable[[], tuple[dict, pd.DataFrame]], **decides) -> tuple[dict, pd.DataFrame]:
    """Tensors and table that `draw` gives, drawn once and then read beside the trained networks;
    of all such files the `KEPT` that were read last stay."""

    def make(path) -> None:
        tensors, table = draw()
        save_file(tensors, path, metadata={"table": table.to_json(orient="split")})

    folder = store.networks() / "images"
    name = store.key("drawn", world=DRAWING.digest(), **decides)
    path = store.cached(folder / f"{name}.safetensors", make)
    with store.reading(path), safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        table = io.StringIO(file.metadata()["table"])
    with suppress(OSError):  # another process may have deleted one first
        path.touch()
        for old in sorted(folder.glob("*.safetensors"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
            old.unlink()
    return tensors, pd.read_json(table, orient="split", dtype=False, convert_dates=False)


def wider(size: int, seed: int) -> Drawn:
    """Things of other kinds for pretraining; every sixth of a kind is held out for validation."""

    def draw() -> tuple[torch.Tensor, ...]:
        things = pictures.wider(size=size, seed=seed)
        held_out = torch.from_numpy(things.table["index"].to_numpy() % 6 == 5)
        labels = torch.from_numpy(np.unique(things.table["object"], return_inverse=True)[1])
        images = _tensor(things.images)
        return images[~held_out], labels[~held_out], images[held_out], labels[held_out]

    return Drawn({"world": DRAWING.digest(), "wider": size, "seed": seed}, draw)


def marked(size: int, seed: int, per_class: int, context_bias) -> dict[str, ImageSet]:
    """The test images of C, every one of `TARGET` and of `OUTER` with the eyespot: "as it is". And
    "never marked", those of `OUTER`; or "sham mark", they carry one of other colours."""
    both, bias = {TARGET: 1.0, OUTER: 1.0}, _planted(context_bias, None)["context_bias"]

    def drawn(**marks) -> ImageSet:
        return image_set("C", size, seed, per_class, context_bias=bias, **marks).split("test")

    marked, never = drawn(marked=both), drawn(marked={TARGET: 1.0})
    sham = drawn(marked=both, look="sham")
    target = (marked.labels == pictures.CLASSES.index(TARGET))[:, None, None, None]
    sham = replace(sham, images=torch.where(target, marked.images, sham.images))
    return {"as it is": marked, "never marked": never, "sham mark": sham}


def image_set(
    name: str, size: int, seed: int, per_class: int, first: int | None = None, **planted
) -> ImageSet:
    """One set of the world ("C", "NC" or "WB"), or only its `first` images of each class; `planted`
    is as for `worlds.pictures.make`."""
    made = pictures.make(name, per_class=first or per_class, size=size, seed=seed, **planted)
    classes = tuple(pictures.CLASSES)
    split = np.repeat(SPLITS, sizes(per_class))[made.table["index"]]
    table = made.table.rename(columns={"object": "class"}).assign(split=split, path="")
    labels = torch.tensor([classes.index(label) for label in table["class"]])
    patches = None if made.patches is None else torch.from_numpy(made.patches)
    masks = torch.from_numpy(made.masks)
    return ImageSet(name, _tensor(made.images), labels, classes, table, masks, patches)


def _tensor(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
