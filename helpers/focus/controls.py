"""Controls whose correct result is known.

They are maps without information, and networks of which we know what each image of a
mosaic adds to the logit.
"""

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
from helpers.focus import deletion, equation, faithfulness
from helpers.focus.mosaics import CELLS, batches, cut, joined, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import label_of, targets_of
from helpers.models.networks import Classifier
from helpers.store import progress

MAP = "last map"
AT_MAP = {"": {}, MAP: {"layer": MAP}}
# settings of methods in disconnected networks, where they are not only the default ones
SETTINGS = {
    "integrated-gradients": AT_MAP,
    "lrp": AT_MAP,
    "lime": {
        "": {},
        "grid on the seams, no penalty": {"segments": 4, "penalty": 1e-9},
    },
}


def random_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return a map of smooth noise, (B, H, W), seeded by the image's bytes."""
    maps = []
    for image in images.cpu():
        digest = zlib.crc32(image.contiguous().numpy().tobytes())
        generator = torch.Generator().manual_seed(digest)
        maps.append(torch.rand(1, 6, 6, generator=generator))
    size = images.shape[-2:]
    maps = interpolate(torch.stack(maps), size, mode="bilinear", align_corners=False)
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

    Its logits are sums of the cells' logits, weighted by the rows of `cells`, (L, 4).
    The logit of class c and row l is number l x classes + c.

    References
    ----------
    Rao, Böhle and Schiele, CVPR 2022.
    """

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


def of_targets(network: Classifier, mosaics, design, targets) -> tuple:
    """Return DiFull, in which only target cells count, and the logits to explain."""
    cells, which = layouts(design).flatten(1).float().unique(dim=0, return_inverse=True)
    whole = Disconnected(network, mosaics[:1], cells).eval()
    n_classes = whole(mosaics[:1]).shape[1] // len(cells)
    return whole, targets + which * n_classes


@torch.no_grad()
def contributions(network: Classifier, mosaics: torch.Tensor, targets) -> torch.Tensor:
    """Return what each cell adds to the target's logit, float (N, 2, 2).

    It is the amount that the logit loses if the cell is filled with the mean colour of
    the network's training images.
    """
    cells = cut(mosaics / 255).to(network.mean.device)
    blank = torch.zeros_like(cells) + network.mean
    gained = (network(cells) - network(blank)).cpu().unflatten(0, (CELLS, -1))
    return gained[:, range(len(targets)), targets].T.reshape(-1, 2, 2)


def in_disconnected(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    methods: Iterable[str | Callable],
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Rate every method in networks where the correct Focus is 1.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`. ``reads`` names the layer that a method explains, and
        ``name`` the method with its settings. Focus is NaN where a method refuses the
        network.
    """
    mosaics = torch.cat(list(batches(design, images.images)))
    targets = targets_of(model, design)
    tables = []
    for run, network in enumerate(model.trainings):
        whole, logits = of_targets(network, mosaics, design, targets)
        for about, maps in _maps(whole, mosaics, logits, methods):
            focus = np.nan
            if maps is not None:
                focus = focus_of(maps, layouts(design)).numpy()
            tables.append(design.assign(**about, run=run, focus=focus))
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def by_cell(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    methods: Iterable[str | Callable],
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Compare Focus with the correct Focus in a network in which all four cells count.

    The correct Focus is that of the `contributions`. The mean Focus of each method is
    computed by pixel, and by cell, where relevance is summed with its sign.
    """
    mosaics = torch.cat(list(batches(design, images.images)))
    targets = targets_of(model, design)
    network = model.trainings[0]
    gained = contributions(network, mosaics, targets)
    whole = Disconnected(network, mosaics[:1], torch.ones(1, CELLS)).eval()
    rows = []
    for about, maps in _maps(whole, mosaics, targets, methods):
        if maps is None:
            continue
        row = {"method": about["name"]}
        scored = {
            "correct Focus": gained,
            "Focus by pixel": maps,
            "Focus by cell": adaptive_avg_pool2d(maps, 2),
        }
        for name, relevance in scored.items():
            focus = focus_of(relevance, layouts(design))
            row[name] = focus.nanmean().item()
        rows.append(row)
    return pd.DataFrame(rows)


def check_deletion(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    *,
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Delete in networks whose correct map is known, by this map and by others.

    Returns
    -------
    pandas.DataFrame
        One row per network, map and baseline: ``network``, ``method`` (the correct map,
        a random map, or the correct map with its order reversed), ``baseline`` and
        ``deletion`` (the mean over mosaics of the first run, 0 by chance).
    """
    mosaics = torch.cat(list(batches(design, images.images)))
    targets = targets_of(model, design)
    network = model.trainings[0]
    gained = contributions(network, mosaics, targets)
    four = Disconnected(network, mosaics[:1], torch.ones(1, CELLS)).eval()
    two, logits = of_targets(network, mosaics, design, targets)
    cases = {
        "two images count": (two, logits, gained * layouts(design)),
        "four images count": (four, targets, gained),
    }
    parts = []
    for name, (whole, wanted, correct) in cases.items():
        maps = {
            "correct": correct,
            "random": random_map(whole, mosaics, wanted),
            "reversed": -correct,
        }
        rows = faithfulness.compare(whole, mosaics, wanted, maps, mean_logit)
        parts.append(rows.assign(network=name))
    groups = pd.concat(parts).groupby(["network", "method", "baseline"], sort=False)
    return groups["deletion"].mean().reset_index()


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
