"""Controls: maps and networks whose Focus is known beforehand, and what is found there.

A map that ignores the class that is asked for has Focus 1/2 on average over a mosaic and its twin,
in which the other class is asked for: what lies on one's targets lies on the other's others. The
deep networks are those of Rao, Böhle and Schiele (*Towards Better Understanding Attribution
Methods*, CVPR 2022), made of a trained classifier.
"""

import copy
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.stats
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved, layers
from helpers.focus.mosaics import CELLS, IMAGES, LAYOUTS, TARGETS, batches, design, layouts, placed
from helpers.focus.networks import Model
from helpers.focus.rating import method_settings, rate, shown
from helpers.focus.score import score
from helpers.models.networks import Classifier
from helpers.run.progress import progress

NETWORKS = 12  # of random weights
FEW = 2  # mosaics, and as many twins, that each explains
LEVEL = 0.995  # of their intervals: about ten are looked at, and all are to hold together
ROUNDING = 1e-3  # LIME's regression is solved, not summed
FEWER = {"smoothgrad": {"samples": 4}, "integrated-gradients": {"steps": 4}}
FEWER |= {"lime": {"samples": 24}}
MAP = "last map"
AT_MAP = {"": {}, MAP: {"layer": MAP}}
SETTINGS = {
    "lime": {"": {}, "grid on the seams, no penalty": {"segments": 4, "penalty": 1e-9}},
    "integrated-gradients": AT_MAP,
    "lrp": AT_MAP,
}
"""How methods are asked in disconnected networks; the others with their own settings only."""
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
    model: Model, images: ImageSet, methods: Iterable[str | Callable], *, effort: str, **more
) -> pd.DataFrame:
    """Two class-blind maps, and every method, on networks of random weights: Focus must be 0.5.

    Methods may be callables, as for :func:`helpers.focus.rate`. Each network explains other mosaics
    and their twins; `more` is the mosaics' `shape`.

    Returns
    -------
    DataFrame
        A row a map or method, one that refuses the network included: control; method; setting;
        mosaics (with a Focus); mean, low, high (99.5%, over the networks); expected; holds; why
        not.
    """
    rows = []
    for method in progress([random_map, uniform_map, *methods], desc="controls", delay=2):
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
        rows.append(_row("random weights", shown(method), "", count, known, 0.5, reason))
    return pd.DataFrame(rows)


def cut(maps: torch.Tensor) -> torch.Tensor:
    """The four cells of maps (B, C, H, W), one after the other: (4 B, C, H // 2, W // 2)."""
    height, width = (side // 2 for side in maps.shape[-2:])
    lines = maps[..., :height, :], maps[..., -height:, :]
    return torch.cat([part for line in lines for part in (line[..., :width], line[..., -width:])])


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Cells as :func:`cut` gives them, put together again."""
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
    map of the whole mosaic. `cells`, (L, 4), say how much each cell counts: the logits
    (B, L x classes) are those of all classes by the first row, then by the second, and so on.
    """

    def __init__(self, model: Classifier, mosaic: torch.Tensor, cells: torch.Tensor, apart: bool):
        super().__init__(copy.deepcopy(model.network), model.mean, model.std)
        last = layers.last_map(model, mosaic)
        if apart:
            for module in self.network.modules():
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


def disconnected(model: Model, mosaic: torch.Tensor, *, apart: bool = True) -> Model:
    """A model with its trainings disconnected: a logit for each class and layout.

    Logits are named "class, layout", with the names of `LAYOUT_NAMES`.
    """
    seen = torch.tensor([[float(cell in at) for cell in range(CELLS)] for at in LAYOUTS])
    trainings = [Disconnected(one, mosaic, seen, apart).eval() for one in model.trainings]
    with torch.no_grad():
        classes = trainings[0](mosaic).shape[1] // len(LAYOUTS)
    logit = {
        f"{name}, {layout}": number * classes + at
        for number, layout in enumerate(LAYOUT_NAMES)
        for name, at in model.logit.items()
    }
    return replace(model, trainings=trainings, logit=logit)


def of_layouts(table: pd.DataFrame) -> pd.DataFrame:
    """A design whose targets are those of :func:`disconnected`."""
    names = dict(zip(LAYOUTS, LAYOUT_NAMES, strict=True))
    cells = [names[tuple(np.flatnonzero(row))] for row in table[TARGETS].to_numpy(dtype=bool)]
    return table.assign(target=table["target"] + ", " + cells)


def deep(
    model: Model, images: ImageSet, table: pd.DataFrame, methods: Iterable[str | Callable]
) -> pd.DataFrame:
    """Focus of every method in DiFull and DiPart, where the logit counts the target cells only.

    In DiFull the right Focus is 1; in DiPart it is 1 at the last map, and at the input not known.

    Returns
    -------
    DataFrame
        A row a mosaic, as of :func:`helpers.focus.rate`, with the columns control, setting (of the
        method, where it is tried in several) and reads ("input" or "last map"). A method that
        refuses the network has rows without a Focus, with the reason in the column why.
    """
    [mosaic] = batches(table[:1], images.images)
    table, found = of_layouts(table), []
    for control, apart in (("DiFull", True), ("DiPart", False)):
        network = disconnected(model, mosaic, apart=apart)
        layer = network.trainings[0].layer
        for method in progress(methods, desc=control, delay=2):
            own = METHODS[method].layer if method in METHODS else None
            for setting, more in SETTINGS.get(method, {"": {}}).items():
                reads = MAP if MAP in (own, more.get("layer")) else "input"
                more = more | ({"layer": layer} if reads == MAP else {})
                try:
                    rows = rate(network, images, table, method, effort="quick", **more)
                except NotConserved as refusal:
                    rows = table.assign(method=shown(method), focus=np.nan, why=str(refusal))
                found.append(rows.assign(control=control, setting=setting, reads=reads))
    return pd.concat(found, ignore_index=True)


def checked(rated: pd.DataFrame) -> pd.DataFrame:
    """The rows of DiFull read at the input, as those of :func:`knows_nothing`: each must be 1.

    Low and high are the worst and the best mosaic.
    """
    rows, reason = [], "relevance lies in cells that the logit does not see"
    known = rated[(rated["control"] == "DiFull") & (rated["reads"] == "input")]
    for (method, setting), part in known.groupby(["method", "setting"], sort=False):
        focus = part["focus"]
        why = part["why"].iloc[0] if "why" in part and focus.isna().all() else reason
        ends = focus.mean(), focus.min(), focus.max()
        rows.append(_row("DiFull", method, setting, int(focus.notna().sum()), ends, 1, why))
    return pd.DataFrame(rows)


def sums(
    model: Model, images: ImageSet, table: pd.DataFrame, methods: Iterable[str]
) -> pd.DataFrame:
    """Focus in a network that adds up what four cells say, each by itself: all four count.

    What a cell contributes to the logit is then known: what the logit loses when the cell is
    painted over in the mean colour. The right Focus is the target cells' share of the positive
    contributions.

    Returns
    -------
    DataFrame
        A row a mosaic and method: the columns of `table`, method, focus (of pixels), by_cell (the
        same of relevance that was summed in each cell, with its sign, before negative relevance is
        left out), and right. NaN where a method refuses the network.
    """
    mosaics = torch.cat(list(batches(table, images.images))).float() / 255
    targets = torch.tensor([model.logit[name] for name in table["target"]])
    where, found = layouts(table), []
    for number, network in enumerate(model.trainings):
        whole = Disconnected(network, mosaics[:1], torch.ones(1, CELLS), apart=True).eval()
        right = score(contributions(network, mosaics, targets), where)
        for method in progress(methods, desc="sums of cells", delay=2):
            at = {"layer": whole.layer} if METHODS[method].layer == MAP else {}
            settings = method_settings(method, "quick") | at
            try:
                maps = explain.explain(whole, mosaics, targets, method, **settings).maps
            except NotConserved:
                maps = torch.full_like(mosaics[:, 0], torch.nan)
            cells = adaptive_avg_pool2d(maps, 2)
            scores = {"focus": score(maps, where), "by_cell": score(cells, where), "right": right}
            scores = {name: one.numpy() for name, one in scores.items()}
            found.append(table.assign(method=shown(method), training=number, **scores))
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


@torch.no_grad()
def contributions(
    network: Classifier, mosaics: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """What each cell adds to the sum of cells' logits, beside one of the mean colour: (B, 2, 2)."""
    plain = torch.zeros_like(mosaics) + network.mean
    gained = (network(cut(mosaics)) - network(cut(plain))).unflatten(0, (CELLS, -1))
    return gained[:, range(len(targets)), targets].T.reshape(-1, 2, 2)


def six_layouts(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic's four images in all six layouts: a design with the columns group and layout."""
    rows = []
    for group, row in enumerate(table.to_dict("records")):
        cells = sorted(range(CELLS), key=lambda cell: not row[TARGETS[cell]])
        images = [row[IMAGES[cell]] for cell in cells]
        for name, layout in zip(LAYOUT_NAMES, LAYOUTS, strict=True):
            about = {"mosaic": len(rows), "group": group, "layout": name}
            rows.append(row | placed(images, layout) | about)
    return pd.DataFrame(rows)


def positions(
    model: Model, images: ImageSet, table: pd.DataFrame, **more
) -> tuple[pd.DataFrame, float]:
    """GradCAM's Focus for the six layouts of the same four images, and Friedman's p of no effect.

    The table has layout, and mean, low and high: the deviation from the mean of a group's six
    layouts, with its interval over trainings and groups. p is of groups' means over the trainings.
    """
    found = rate(model, images, six_layouts(table), "gradcam", **more)
    wide = found.pivot(index=["training", "group"], columns="layout", values="focus")
    apart = wide.sub(wide.mean(axis=1, skipna=False), axis=0)
    rows = [(n, *stats.mean(apart[n].unstack("group")).interval()) for n in LAYOUT_NAMES]
    each = wide.groupby("group").mean().dropna().T.to_numpy()
    p = float(scipy.stats.friedmanchisquare(*each).pvalue)
    return pd.DataFrame(rows, columns=["layout", "mean", "low", "high"]), p


def _row(control, method, setting, mosaics, found, expected: float, reason: str) -> dict:
    """One control's row; without a mean it gives no map there."""
    estimate, low, high = map(float, found)
    holds = low >= 1 - ROUNDING if expected == 1 else low - 1e-6 <= 0.5 <= high + 1e-6
    reason = f"gives no map: {reason}" if np.isnan(estimate) else reason
    row = {"control": control, "method": method, "setting": setting, "mosaics": mosaics}
    row |= {"mean": estimate, "low": low, "high": high, "expected": float(expected)}
    return row | {"holds": holds, "why": "" if holds else reason}
