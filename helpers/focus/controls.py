"""Controls, whose Focus is known beforehand, and the choices that move a score.

A map that ignores the class has Focus 1/2 on average over a mosaic and its twin, in which the other
class is asked for."""

import copy
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.functional import interpolate

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved, layers
from helpers.focus.means import contrast
from helpers.focus.mosaics import CELLS, LAYOUTS, TARGETS, batches, cut, design, layouts, moved
from helpers.focus.networks import AS_IT_IS, Model, right
from helpers.focus.rating import method_settings, rate, ratings, score, shown
from helpers.models.networks import Classifier
from helpers.store import progress

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
FOLLOWED = ("lrp", "lime", "gradcam")  # methods whose Focus is set beside accuracy
AUTHORS = "0.5"  # mean and deviation by which the authors' code normalises images
PLACES = {"side by side": LAYOUTS[0], "on a diagonal": LAYOUTS[2]}  # cells of the targets
LAYERS, FED = {"input": {}, MAP: {"layer": MAP}}, {"as trained": {}, AUTHORS: {}}
TRIED = (
    ("sign", "smoothgrad", {"signed": {}, "absolute": {"reduce": "max absolute"}}),
    ("sign", "integrated-gradients", {"signed": {}, "absolute": {"reduce": "absolute sum"}}),
    ("values", "lime", {"weights": {}, "five best": {"best": 5}}),
    ("grid", "lime", {"5 × 5, across the seams": {}, "4 × 4, on the seams": {"segments": 4}}),
    *(("layer", method, LAYERS) for method in ("lrp", "smoothgrad", "integrated-gradients")),
    *(("normalisation", method, FED) for method in ("gradcam", "lrp", "integrated-gradients")),
    ("targets", "gradcam", {place: {} for place in PLACES}),
)
"""Choice, method, and its two options (some of the authors' code) with the settings they change."""


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
    other = table.assign(target=table["outer"], outer=table["target"], **~table[TARGETS])
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


def knows_nothing(model: Model, images: ImageSet, methods: Iterable) -> pd.DataFrame:
    """Two class-blind maps, and every method, on networks of random weights: Focus must be 0.5.

    Each network explains other mosaics and twins. A row a map or method: method; mosaics (with a
    Focus); mean, low, high (99.5%, over the networks); holds; why (it refuses the networks)."""
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
        holds = bool(known[1] - 1e-6 <= 0.5 <= known[2] + 1e-6)
        rows.append((shown(method), count, *known, holds, why))
    return pd.DataFrame(rows, columns=["method", "mosaics", "mean", "low", "high", "holds", "why"])


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Cells as `cut` gives them, put together again."""
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

    The last map (its name is `layer`) is cut, the head gives each cell the logits of all classes,
    and these are summed. With `apart` no convolution or pooling sees across a seam either (DiFull);
    else cells meet in the features (DiPart). `cells`, float (L, 4), say how much each cell counts:
    the logits (B, L x classes) are those of all classes by the first row, then by the second."""

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


def in_disconnected(model: Model, images: ImageSet, table, methods: Iterable) -> pd.DataFrame:
    """Focus of every method in networks that read each cell of a mosaic by itself.

    The logit adds up the target cells, so the right Focus is 1; for "DiPart" at the input it is not
    known. A row a mosaic, training, control ("DiFull" or "DiPart"), method and setting: name
    (method and how it is asked); reads ("input" or "last map"); focus; and why there is none, where
    a method refuses the network."""
    mosaics = torch.cat(list(batches(table, images.images)))
    classes = torch.tensor([model.logit[name] for name in table["target"]])
    where, found = layouts(table), []
    cells, at = where.flatten(1).float().unique(dim=0, return_inverse=True)
    for (training, network), control in product(enumerate(model.trainings), ("DiFull", "DiPart")):
        whole = Disconnected(network, mosaics[:1], cells, apart=control == "DiFull").eval()
        targets = classes + at * (whole(mosaics[:1]).shape[1] // len(cells))
        for about, method, asked in _ways(methods, whole.layer):
            row = about | {"control": control, "training": training, "why": ""}
            try:
                maps = explain.explain(whole, mosaics, targets, method, **asked).maps
                row["focus"] = score(maps, where).numpy()
            except NotConserved as refusal:
                row |= {"focus": np.nan, "why": str(refusal)}
            found.append(table.assign(**row))
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def _ways(methods: Iterable, layer: str) -> Iterator[tuple]:
    """How each method is asked: columns that say it, the method, and all its settings."""
    for method in progress(methods, desc="disconnected networks", delay=2):
        default = METHODS[method].layer if method in METHODS else None
        quick = method_settings(method, "quick") if method in METHODS else {}
        for setting, more in SETTINGS.get(method, {"": {}}).items():
            reads = MAP if MAP in (default, more.get("layer")) else "input"
            at = {"layer": layer} if reads == MAP else {}
            named = [shown(method), setting or (reads if at else "")]
            about = {"method": shown(method), "reads": reads}
            yield about | {"name": ", ".join(filter(None, named))}, method, quick | more | at


def with_accuracy(models, stopped, images, tables, methods, **more) -> pd.DataFrame:
    """Accuracy beside the mean Focus of `FOLLOWED`, of better and worse networks, each training
    being one: the models on their own set and on others, and models that were `stopped` early.
    For the other arguments see `rating.ratings`. Columns are network, model (without the training),
    architecture, set (of the mosaics), how, training, accuracy, and the methods."""
    known = {model.trained_on for model in models}
    known = known if len(known) > 1 else set(images)  # sets that networks of this run have learned
    cases = [(model, model.trained_on, "own set") for model in models]
    for model, on in product(models, images):
        alike = images[on].classes == images[model.trained_on].classes
        if alike and on in known - {model.trained_on} and model.recipe.fit != AS_IT_IS:
            cases.append((model, on, "other set"))
    cases += [(model, model.trained_on, "stopped early") for model in stopped]
    rows, followed = [], [method for method in FOLLOWED if method in methods]
    for model, on, how in progress(cases, desc="accuracy and Focus", delay=2):
        rated = ratings([model], images, tables, followed, on=on, **more)
        found = rated.groupby(["training", "method"])["focus"].mean().unstack().reset_index()
        name = model.name + f" stopped after {model.recipe.epochs}" * (how == "stopped early")
        case = {"architecture": model.recipe.architecture, "set": on, "how": how, "model": name}
        rows.append(found.assign(accuracy=right(model, images[on]).mean(1), **case))
    table = pd.concat(rows, ignore_index=True)
    table.insert(0, "network", table["model"] + ", training " + table["training"].astype(str))
    return table


def tried(model: Model, images: ImageSet, table, methods: Iterable[str]) -> pd.DataFrame:
    """Ratings of the same mosaics, with the columns choice and option, one of `TRIED` at a time
    changed from quick settings; a method that refuses has rows without a Focus."""
    device = next(model.trainings[0].parameters()).device
    half = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
    fed = [Classifier(n.network, **half).to(device).eval() for n in model.trainings]
    found = []
    asked = [(c, m, *one) for c, m, options in TRIED if m in methods for one in options.items()]
    for choice, method, option, changes in progress(asked, desc="choices", delay=2):
        on = replace(model, trainings=fed) if option == AUTHORS else model
        rows = moved(table, PLACES[option]) if option in PLACES else table
        try:
            focus = rate(on, images, rows, method, **method_settings(method, "quick") | changes)
        except NotConserved:
            focus = rate(on, images, rows, uniform_map).assign(method=shown(method), focus=np.nan)
        found.append(focus.assign(choice=choice, option=option))
    return pd.concat(found, ignore_index=True)


def paired(chosen: pd.DataFrame) -> pd.DataFrame:
    """What each choice changes: the second option's Focus less the first's, on the same mosaics.
    Of the pairs of maps those are undefined of which one has no Focus; they do not count."""
    rows = []
    for (choice, method), part in chosen.groupby(["choice", "method"], sort=False):
        first, second = part["option"].unique()
        gap = contrast(part, {second: 1, first: -1}, of="option").interval()
        wide = part.pivot(index=["training", "mosaic"], columns="option", values="focus")
        undefined = int(wide.isna().any(axis=1).sum())
        rows.append((choice, method, first, second, *gap, undefined, len(wide)))
    names = ["choice", "method", "first", "second", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=[*names, "undefined", "maps"])
