"""Controls: maps, networks and mosaics whose Focus is known beforehand, and what is found there.

A map that ignores the class that is asked for has Focus 1/2 on average over a mosaic and its twin,
in which the other class is asked for: what lies on one's targets lies on the other's others. A
network of disconnected heads, whose target logit sees the target cells only, has Focus 1.
"""

import copy
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.stats
import torch
from torch import nn
from torch.nn.functional import conv2d, interpolate, pad

from helpers import stats
from helpers.data import ImageSet
from helpers.explain import NotConserved
from helpers.focus.means import mean
from helpers.focus.mosaics import CELLS, IMAGES, LAYOUTS, TARGETS, design, placed
from helpers.focus.networks import Model
from helpers.focus.rating import rate, shown
from helpers.run.parameters import Recipe
from helpers.run.progress import progress

ENOUGH = 96  # mosaics of class-blind maps, about
NETWORKS = 12  # of random weights
FEW = 2  # mosaics, and as many twins, that each explains
HEADS = 12  # mosaics in disconnected heads: two of each layout
GROUPS = 24  # of the same four images in six layouts
ROUNDING = 1e-3  # LIME's regression is solved, not summed
LEVEL = 0.995  # of each interval: about ten are looked at, and all are to hold together
FEWER = {
    "smoothgrad": {"samples": 4},
    "integrated-gradients": {"steps": 4},
    "lime": {"segments": 5, "samples": 24},
}
LIME = {
    "": {},
    "grid on seams": {"segments": 4},
    "grid on seams, no penalty": {"segments": 4, "penalty": 1e-9},
}
"""One change at a time, until LIME is right in disconnected heads."""
CAMS = ("GradCAM", "GradCAM++")
LEAVES = "relevance leaves the cells that the logit sees"
WHOLE = "it weighs whole channels, and a channel that the cells share is active in all"
WHY = {
    **{(method, ""): WHOLE for method in CAMS},
    ("LIME", ""): "superpixels across the seams show both sides, and the ridge penalty leaks",
    ("LIME", "grid on seams"): "the ridge penalty gives a share to superpixels that do not count",
}
LAYOUT_NAMES = ("top", "left", "falling", "rising", "right", "bottom")  # in the order of LAYOUTS


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


def edge_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Sobel's edges of the grey image, (B, H, W). Busy images have more, so a class may have."""
    grey = pad(images.float().mean(1, keepdim=True), (1, 1, 1, 1), mode="replicate").cpu()
    across = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    filters = torch.stack([across, across.T])[:, None]
    return conv2d(grey, filters).square().sum(1).sqrt()


MAPS = {"random map": random_map, "uniform map": uniform_map, "edge map": edge_map}


def twins(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic of a two-class design twice: as it is, and asked for its other class."""
    other = table.assign(target=table["outer"], outer=table["target"])
    other[TARGETS] = ~table[TARGETS]
    return pd.concat([table, other], ignore_index=True).assign(mosaic=range(2 * len(table)))


def six_layouts(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic's four images in all six layouts: a design with the columns group and layout."""
    rows = []
    for group, row in enumerate(table.to_dict("records")):
        cells = sorted(range(CELLS), key=lambda cell: not row[TARGETS[cell]])
        images = [row[IMAGES[cell]] for cell in cells]
        for name, layout in zip(LAYOUT_NAMES, LAYOUTS, strict=True):
            made = row | placed(images, layout) | {"mosaic": len(rows)}
            rows.append(made | {"group": group, "layout": name})
    return pd.DataFrame(rows)


def randomized(model: nn.Module, seed: int) -> nn.Module:
    """A copy with weights drawn anew, layer by layer as its layers draw them: it knows nothing."""
    model = copy.deepcopy(model)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        for module in model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
    return model.eval()


class DisconnectedHeads(nn.Module):
    """Four heads that each see one cell; a layout's logit adds the heads of its target cells.

    Filters of 4 x 4 pixels do not cross cells whose sides are multiples of 4, and features at the
    rim of a cell are zero, so that a map of features stays inside its cell when it is enlarged.
    Each cell has channels of its own, or the cells share channels as those of a convolutional
    network do, and what a method reads off a whole channel mixes cells.
    """

    mean, std = 0.0, 1.0  # it takes images as they are

    def __init__(self, own_channels: bool):
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        copies, channels = CELLS if own_channels else 1, 8
        filters = torch.randn(channels, 3, 4, 4, generator=draw) / 7
        head = torch.rand(channels, generator=draw) + 0.5
        weight = torch.zeros(len(LAYOUTS), copies, channels, CELLS)
        for layout, cells in enumerate(LAYOUTS):
            for cell in cells:
                weight[layout, cell if own_channels else 0, :, cell] = head
        wide = nn.Conv2d(3, copies * channels, 4, stride=4, bias=False)
        wide.weight = nn.Parameter(filters.repeat(copies, 1, 1, 1))
        self.features = nn.Sequential(wide, nn.ReLU(), _Inside(copies))
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Linear(copies * channels * CELLS, len(LAYOUTS), bias=False)
        self.classifier.weight = nn.Parameter(weight.flatten(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits (B, 6) of mosaics (B, 3, H, W), one a layout."""
        images = images.float() / 255 if images.dtype == torch.uint8 else images
        return self.classifier(self.pool(self.features(images)).flatten(1))


class _Inside(nn.Module):
    """Zero at the rims of the four cells, and in each block of channels but one cell's."""

    def __init__(self, copies: int):
        super().__init__()
        self.copies = copies

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        height, width = maps.shape[-2:]
        inside = maps.new_zeros(CELLS, height, width)
        for cell in range(CELLS):
            down, across = cell // 2, cell % 2
            rows = slice(down * height // 2 + 1, (down + 1) * height // 2 - 1)
            columns = slice(across * width // 2 + 1, (across + 1) * width // 2 - 1)
            inside[cell, rows, columns] = 1
        inside = inside if self.copies == CELLS else inside.sum(0, keepdim=True)
        return maps * inside.repeat_interleave(maps.shape[1] // self.copies, 0)


def disconnected(
    images: ImageSet,
    table: pd.DataFrame,
    method: str | Callable,
    *,
    own_channels: bool = True,
    **settings,
) -> np.ndarray:
    """Focus of a method in disconnected heads, each mosaic explained for its layout.

    Tiles have a multiple of 4 pixels a side. NaN where a map has no positive relevance.
    """
    network = DisconnectedHeads(own_channels).eval()
    logit = {name: number for number, name in enumerate(LAYOUT_NAMES)}
    model = Model(Recipe("disconnected heads"), "", [network], logit)
    cells = [tuple(np.flatnonzero(row)) for row in table[TARGETS].to_numpy(dtype=bool)]
    table = table.assign(target=[LAYOUT_NAMES[LAYOUTS.index(layout)] for layout in cells])
    return rate(model, images, table, method, effort="quick", **settings)["focus"].to_numpy()


def class_blind(model: Model, images: ImageSet, seed: int, **more) -> pd.DataFrame:
    """Random, uniform and edge maps on mosaics of the run's kind, and with each one's twin.

    These maps ask no network anything, so one training is enough. `more` is the mosaics' `shape`.

    Returns
    -------
    DataFrame
        control; method (empty here); setting (of the method, where it is tried in several); on
        ("mosaics" or "mosaics and twins"); mosaics; mean, low, high (of 99.5%, not 95%: of ten
        controls that hold, two in five runs would lose one); expected; holds; and why not.
    """
    each = -(-ENOUGH // len(images.classes))
    model = replace(model, trainings=model.trainings[:1])
    plain = design(images.table, images.classes, per_class=each, seed=seed)
    two = design(images.table, images.classes, per_class=each, seed=seed, two_classes=True)
    reason = "classes differ in it: images of some have more of it than others'"
    rows = []
    for name, control in MAPS.items():
        for on, table in (("mosaics", plain), ("mosaics and twins", twins(two))):
            found = mean(rate(model, images, table, control, **more)).interval(LEVEL)
            rows.append(_row(name, "", on, len(table), found, 0.5, reason))
    return pd.DataFrame(rows)


def knows_nothing(
    model: Model, images: ImageSet, methods: Iterable[str | Callable], *, effort: str, **more
) -> pd.DataFrame:
    """Every method on networks of random weights; the interval is over the networks.

    Methods may be callables, as for :func:`helpers.focus.rate`. Each network explains other mosaics
    and their twins. Rows as of :func:`class_blind`; a method that refuses the network has one, too.
    """
    rows = []
    for method in progress(methods, desc="controls", delay=2):
        means, count, reason = [], 0, "the map follows the picture, and its classes differ"
        fewer = FEWER.get(method, {}) | more
        for seed in range(NETWORKS):
            table = design(images.table, images.classes, two_classes=True, per_class=1, seed=seed)
            table = twins(table.sample(min(FEW, len(table)), random_state=seed))
            blank = replace(model, trainings=[randomized(model.trainings[0], seed)])
            try:
                focus = rate(blank, images, table, method, effort=effort, **fewer)["focus"]
            except NotConserved as refusal:
                means, reason = [], str(refusal)
                break
            means.append(focus.mean())
            count += int(focus.notna().sum())
        known = stats.mean(means).interval(LEVEL) if np.isfinite(means).any() else [np.nan] * 3
        rows.append(_row("random weights", shown(method), "twins", count, known, 0.5, reason))
    return pd.DataFrame(rows)


def heads(images: ImageSet, methods: Iterable[str | Callable], seed: int) -> pd.DataFrame:
    """Every method in a network of disconnected heads, of own and of shared channels.

    Methods may be callables, as for :func:`helpers.focus.rate`. LIME is there three times, with one
    change at a time, and with own channels only: it reads nothing but logits, and those are the
    same with shared ones. Rows as of :func:`class_blind`; low and high are the worst and the best
    mosaic. A method that refuses these networks has a row, too.
    """
    each = -(-HEADS // len(images.classes))
    table = design(images.table, images.classes, per_class=each, seed=seed)
    table = table.sample(min(HEADS, len(table)), random_state=seed)
    rows = []
    for method in progress(methods, desc="controls", delay=2):
        settings = LIME if method == "lime" else {"": {}}
        for own in (True,) if method == "lime" else (True, False):
            on = "own channels" if own else "shared channels"
            for setting, more in settings.items():
                reason = WHY.get((shown(method), setting), LEAVES)
                try:
                    focus = disconnected(images, table, method, own_channels=own, **more)
                    found = np.nanmean(focus), np.nanmin(focus), np.nanmax(focus)
                except NotConserved as refusal:
                    found, reason = [np.nan] * 3, str(refusal)
                row = _row("disconnected heads", shown(method), on, len(table), found, 1, reason)
                rows.append(row | {"setting": setting})
    return pd.DataFrame(rows)


def positions(model: Model, images: ImageSet, seed: int, **more) -> tuple[pd.DataFrame, float]:
    """GradCAM's Focus for the six layouts of the same four images, and Friedman's p of no effect.

    The table has layout, and mean, low and high: the deviation from the mean of a group's six
    layouts, with its interval over trainings and groups. p is of groups' means over the trainings.
    """
    each = -(-GROUPS // len(images.classes))
    table = design(images.table, images.classes, per_class=each, seed=seed)
    table = six_layouts(table.sample(min(GROUPS, len(table)), random_state=seed))
    found = rate(model, images, table, "gradcam", **more)
    wide = found.pivot(index=["training", "group"], columns="layout", values="focus")
    apart = wide.sub(wide.mean(axis=1, skipna=False), axis=0)
    rows = [(n, *stats.mean(apart[n].unstack("group")).interval()) for n in LAYOUT_NAMES]
    each = wide.groupby("group").mean().dropna().T.to_numpy()
    p = float(scipy.stats.friedmanchisquare(*each).pvalue)
    return pd.DataFrame(rows, columns=["layout", "mean", "low", "high"]), p


def _row(
    control: str, method: str, on: str, mosaics: int, found, expected: float, reason: str
) -> dict:
    """One control's row; without a mean it gives no map there."""
    estimate, low, high = map(float, found)
    holds = low >= 1 - ROUNDING if expected == 1 else low - 1e-6 <= 0.5 <= high + 1e-6
    reason = f"gives no map: {reason}" if np.isnan(estimate) else reason
    row = {"control": control, "method": method, "setting": "", "on": on, "mosaics": mosaics}
    row |= {"mean": estimate, "low": low, "high": high, "expected": float(expected)}
    return row | {"holds": holds, "why": "" if holds else reason}
