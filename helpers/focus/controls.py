"""Controls: maps and networks whose Focus is known beforehand, and what is found there.

A map that ignores the class that is asked for has Focus 1/2 on average over a mosaic and its twin,
in which the other class is asked for. The deep networks are those of Rao, Böhle and Schiele
(*Towards Better Understanding Attribution Methods*, CVPR 2022), made of a trained classifier.
"""

import copy
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved, layers
from helpers.focus.mosaics import CELLS, TARGETS, batches, cut, design, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import method_settings, rate, score, shown
from helpers.models.networks import Classifier
from helpers.run.progress import progress

NETWORKS = 12  # of random weights
FEW = 2  # mosaics, and as many twins, that each explains
LEVEL = 0.995  # of their intervals: about ten are looked at, and all are to hold together
FEWER = {"smoothgrad": {"samples": 4}, "lime": {"samples": 24}}
FEWER |= {"integrated-gradients": {"steps": 4}}
MAP = "last map"
AT_MAP = {"": {}, MAP: {"layer": MAP}}
SETTINGS = {"integrated-gradients": AT_MAP, "lrp": AT_MAP}
SETTINGS |= {"lime": {"": {}, "grid on the seams, no penalty": {"segments": 4, "penalty": 1e-9}}}
"""How methods are asked in disconnected networks, if not with their own settings only."""


def random_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A map of random blobs: smooth noise, (B, H, W), that the image's bytes decide."""
    found = []
    for image in images.cpu():
        draw = torch.Generator().manual_seed(zlib.crc32(image.contiguous().numpy().tobytes()))
        found.append(torch.rand(1, 6, 6, generator=draw))
    size = images.shape[-2:]
    return interpolate(torch.stack(found), size, mode="bilinear", align_corners=False)[:, 0]


def uniform_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A map of ones, (B, H, W)."""
    return torch.ones(len(images), *images.shape[-2:])


def twins(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic of a two-class design twice: as it is, and asked for its other class."""
    other = table.assign(target=table["outer"], outer=table["target"])
    other[TARGETS] = ~table[TARGETS]
    return pd.concat([table, other], ignore_index=True).assign(mosaic=range(2 * len(table)))


def randomized(model: nn.Module, seed: int) -> nn.Module:
    """A copy with weights drawn anew, layer by layer as its layers draw them: it knows nothing."""
    model = copy.deepcopy(model)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        for module in model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
    return model.eval()


def knows_nothing(
    model: Model, images: ImageSet, methods: Iterable[str | Callable]
) -> pd.DataFrame:
    """Two class-blind maps, and every method, on networks of random weights: Focus must be 0.5.

    Methods are as for :func:`helpers.focus.rate`. Each network explains other mosaics and twins.
    A row a map or method, one that refuses the network included: method; mosaics (with a Focus);
    mean, low, high (99.5%, over the networks); holds; why it has no mean.
    """
    rows = []
    for method in progress([random_map, uniform_map, *methods], desc="controls", delay=2):
        means, count, why = [], 0, ""
        for seed in range(NETWORKS):
            table = design(images.table, images.classes, two_classes=True, per_class=1, seed=seed)
            table = twins(table.sample(min(FEW, len(table)), random_state=seed))
            blank = replace(model, trainings=[randomized(model.trainings[0], seed)])
            try:
                fewer = FEWER.get(method, {})
                focus = rate(blank, images, table, method, effort="quick", **fewer)["focus"]
            except NotConserved as refusal:
                means, why = [], str(refusal)
                break
            means.append(focus.mean())
            count += int(focus.notna().sum())
        known = stats.mean(means).interval(LEVEL) if np.isfinite(means).any() else [np.nan] * 3
        row = dict(zip(("mean", "low", "high"), known, strict=True))
        row["holds"] = bool(row["low"] - 1e-6 <= 0.5 <= row["high"] + 1e-6)
        rows.append({"method": shown(method), "mosaics": count, **row, "why": why})
    return pd.DataFrame(rows)


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Cells as :func:`helpers.focus.mosaics.cut` gives them, put together again."""
    first, second, third, fourth = cells.chunk(CELLS)
    return torch.cat([torch.cat([first, second], -1), torch.cat([third, fourth], -1)], -2)


class _ConvApart(nn.Conv2d):
    """A convolution that works on each cell alone; LRP's rules call the same method."""

    def _conv_forward(self, x, weight, bias):
        return joined(super()._conv_forward(cut(x), weight, bias))


class _PoolApart(nn.MaxPool2d):
    def forward(self, x):
        return joined(super().forward(cut(x)))


class _Cut(nn.Module):
    def forward(self, x):
        return cut(x)


class Disconnected(Classifier):
    """A trained classifier that reads each cell of a 2 x 2 mosaic by itself (Rao et al. 2022).

    The last map is cut into cells, the classifier's head gives each cell the logits of all classes,
    and these are summed over the cells that count. With `apart` no convolution or pooling sees
    across a seam either (DiFull); else cells meet in the features (DiPart). `layer` names the last
    map of the whole mosaic. `cells`, float (L, 4), say how much each cell counts: the logits
    (B, L x classes) are those of all classes by the first row, then by the second, and so on.
    """

    def __init__(self, model: Classifier, mosaic: torch.Tensor, cells: torch.Tensor, apart: bool):
        super().__init__(copy.deepcopy(model.network), model.mean, model.std)
        last = layers.last_map(model, mosaic)
        for module in self.network.modules() if apart else ():
            if type(module) is nn.MaxPool2d:
                module.__class__ = _PoolApart
            elif type(module) is nn.Conv2d and max(*module.kernel_size, *module.stride) > 1:
                module.__class__ = _ConvApart
        parts = OrderedDict(whole=self.network.get_submodule(last), cells=_Cut())
        self.network.set_submodule(last, nn.Sequential(parts))
        self.layer = f"{last}.whole"
        self.register_buffer("cells", cells)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits of mosaics (B, 3, H, W)."""
        each = super().forward(images).unflatten(0, (CELLS, -1))
        return torch.einsum("lc,cbk->blk", self.cells, each).flatten(1)


def in_disconnected(
    model: Model, images: ImageSet, table: pd.DataFrame, methods: Iterable[str | Callable]
) -> pd.DataFrame:
    """Focus of every method in networks that read each cell by itself, beside the right Focus.

    In "DiFull" and "DiPart" the logit adds up the target cells: the right Focus is 1, but for
    DiPart at the input, where it is not known. In "sum", which is apart as DiFull is, the logit
    adds up all four: the right Focus is the target cells' share of the positive
    :func:`contributions`.

    Returned is a row a mosaic of `table`, training, control, method and setting (of the method,
    where it is tried in several), with the columns name (method and how it is asked); reads
    ("input" or "last map"); focus (of pixels); by_cell (of relevance that was summed in each cell,
    with its sign, before negative relevance is left out); right (in "sum"); and why there is no
    Focus where a method refuses the network.
    """
    mosaics = torch.cat(list(batches(table, images.images))).float() / 255
    classes = torch.tensor([model.logit[name] for name in table["target"]])
    where, found = layouts(table), []
    seen, at = where.flatten(1).float().unique(dim=0, return_inverse=True)
    for training, network in enumerate(model.trainings):
        shares = score(contributions(network, mosaics, classes), where).numpy()
        with torch.no_grad():
            per_layout = network(mosaics[:1]).shape[1]
        for control in ("DiFull", "DiPart", "sum"):
            cells, right, targets = seen, np.nan, classes + per_layout * at
            if control == "sum":
                cells, right, targets = torch.ones(1, CELLS), shares, classes
            whole = Disconnected(network, mosaics[:1], cells, apart=control != "DiPart").eval()
            for about, method, asked in _ways(methods, whole.layer):
                row = about | {"control": control, "training": training, "right": right, "why": ""}
                try:
                    maps = explain.explain(whole, mosaics, targets, method, **asked).maps
                except NotConserved as refusal:
                    maps, row["why"] = torch.full_like(mosaics[:, 0], torch.nan), str(refusal)
                row["focus"] = score(maps, where).numpy()
                row["by_cell"] = score(adaptive_avg_pool2d(maps, 2), where).numpy()
                found.append(table.assign(**row))
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def _ways(methods: Iterable[str | Callable], layer: str) -> Iterator[tuple]:
    """How each method is asked: columns that say it, the method, and all its settings."""
    for method in progress(methods, desc="disconnected networks", delay=2):
        default = METHODS[method].layer if method in METHODS else None
        quick = method_settings(method, "quick") if method in METHODS else {}
        for setting, more in SETTINGS.get(method, {"": {}}).items():
            reads = MAP if MAP in (default, more.get("layer")) else "input"
            at = {"layer": layer} if reads == MAP else {}
            about = {"method": shown(method), "setting": setting, "reads": reads}
            named = [shown(method), setting or (reads if at else "")]
            yield about | {"name": ", ".join(filter(None, named))}, method, quick | more | at


@torch.no_grad()
def contributions(
    network: Classifier, mosaics: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """What each cell adds to the sum of cells' logits, beside one of the mean colour: (B, 2, 2)."""
    plain = torch.zeros_like(mosaics) + network.mean
    gained = (network(cut(mosaics)) - network(cut(plain))).unflatten(0, (CELLS, -1))
    return gained[:, range(len(targets)), targets].T.reshape(-1, 2, 2)
