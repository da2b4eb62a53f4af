"""Controls with a known Focus: maps without information, and networks in which Focus must be 1."""

import copy
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import NotConserved, layers, settings_of
from helpers.focus import equation
from helpers.focus.mosaics import CELLS, batches, cut, joined, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import label_of, score
from helpers.models.networks import Classifier
from helpers.store import progress

MAP = "last map"
AT_MAP = {"": {}, MAP: {"layer": MAP}}
SETTINGS = {
    "integrated-gradients": AT_MAP,
    "lrp": AT_MAP,
    "lime": {
        "": {},
        "grid on the seams, no penalty": {"segments": 4, "penalty": 1e-9},
    },
}
"""Settings of methods in disconnected networks, where they are not only the default ones."""


def random_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return a map of random blobs: smooth noise, (B, H, W), seeded by the image's bytes."""
    maps = []
    for image in images.cpu():
        digest = zlib.crc32(image.contiguous().numpy().tobytes())
        generator = torch.Generator().manual_seed(digest)
        maps.append(torch.rand(1, 6, 6, generator=generator))
    size = images.shape[-2:]
    maps = torch.stack(maps)
    maps = interpolate(maps, size, mode="bilinear", align_corners=False)
    return maps[:, 0]


def uniform_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return a map of ones, (B, H, W)."""
    return torch.ones(len(images), *images.shape[-2:])


class _Step(nn.Module):
    """A function as a layer."""

    def __init__(self, function: Callable):
        super().__init__()
        self.forward = function


class Disconnected(Classifier):
    """A trained classifier that reads each cell of a 2 x 2 mosaic by itself (DiFull).

    Its logits are sums of the cells' logits, weighted by the rows of `cells`, (L, 4) (Rao et al.
    2022)."""

    def __init__(self, model: Classifier, mosaic: torch.Tensor, cells: torch.Tensor):
        network = nn.Sequential(
            OrderedDict(enter=_Step(cut), network=copy.deepcopy(model.network))
        )
        super().__init__(network, model.mean, model.std)
        last = f"network.{layers.last_map(model, mosaic, runs_once=True)}"
        parts = OrderedDict(
            own=network.get_submodule(last), whole=_Step(joined), cells=_Step(cut)
        )
        network.set_submodule(last, nn.Sequential(parts))
        self.layer = f"{last}.whole"
        self.register_buffer("cells", cells.to(model.mean.device))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits of mosaics (B, 3, H, W)."""
        each = super().forward(images).unflatten(0, (CELLS, -1))
        return torch.einsum("lc,cbk->blk", self.cells, each).flatten(1)


def in_disconnected(
    model: Model,
    images: ImageSet,
    table,
    methods: Iterable,
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Return the Focus of every method in networks where the correct Focus is 1.

    It is NaN where a method refuses the network. `focus_of` is Equation 1."""
    mosaics = torch.cat(list(batches(table, images.images)))
    classes = torch.tensor([model.logit[name] for name in table["target"]])
    where = layouts(table)
    tables = []
    cells, at = where.flatten(1).float().unique(dim=0, return_inverse=True)
    for run, network in enumerate(model.trainings):
        whole = Disconnected(network, mosaics[:1], cells).eval()
        targets = classes + at * (whole(mosaics[:1]).shape[1] // len(cells))
        for about, maps in _maps(whole, mosaics, targets, methods):
            focus = np.nan
            if maps is not None:
                focus = score(maps, where, focus_of).numpy()
            tables.append(table.assign(**about, run=run, focus=focus))
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def by_cell(
    model: Model,
    images: ImageSet,
    table,
    methods: Iterable,
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Compare Focus with the correct Focus in networks in which all four cells count.

    The correct Focus follows from what the logit loses when a cell is filled with the mean colour.
    The mean Focus is computed by pixel, and by cell, where relevance is summed with its sign.
    `focus_of` is Equation 1."""
    mosaics = torch.cat(list(batches(table, images.images))) / 255
    where = layouts(table)
    targets = torch.tensor([model.logit[name] for name in table["target"]])
    network = model.trainings[0]
    cells = cut(mosaics)
    blank = torch.zeros_like(cells) + network.mean.to(cells.device)
    with torch.no_grad():
        gained = network(cells) - network(blank)
    gained = gained.cpu().unflatten(0, (CELLS, -1))
    gained = gained[:, range(len(table)), targets]
    gained = gained.T.reshape(-1, 2, 2)
    whole = Disconnected(network, mosaics[:1], torch.ones(1, CELLS)).eval()
    rows = []
    for about, maps in _maps(whole, mosaics, targets, methods):
        if maps is not None:
            parts = gained, maps, adaptive_avg_pool2d(maps, 2)
            means = [score(one, where, focus_of).nanmean().item() for one in parts]
            rows.append((about["name"], *means))
    columns = ["method", "correct Focus", "Focus by pixel", "Focus by cell"]
    return pd.DataFrame(rows, columns=columns)


def _maps(whole: Disconnected, mosaics, targets, methods: Iterable) -> Iterator[tuple]:
    """Yield the columns that name a method and its settings, and its maps.

    The maps are None where the method refuses the network.
    """
    for method in progress(methods, desc="disconnected networks", delay=2):
        default = settings_of(method).get("layer")
        for setting, more in SETTINGS.get(method, {"": {}}).items():
            reads = MAP if MAP in (default, more.get("layer")) else "input"
            settings = {"preset": "quick", **more}
            if reads == MAP:
                settings["layer"] = whole.layer
            label = label_of(method)
            name = label
            if setting:
                name = f"{label}, {setting}"
            elif reads == MAP:
                name = f"{label}, {MAP}"
            about = {"method": label, "reads": reads, "name": name}
            try:
                maps = explain.explain(whole, mosaics, targets, method, **settings).maps
            except NotConserved:
                maps = None
            yield about, maps
