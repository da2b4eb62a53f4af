"""What moves a score besides the method: the network's accuracy, and single choices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from helpers.data import ImageSet
from helpers.explain import NotConserved
from helpers.focus.controls import uniform_map
from helpers.focus.means import contrast
from helpers.focus.mosaics import IMAGES, LAYOUTS, TARGETS, placed
from helpers.focus.networks import AS_IT_IS, Model, right
from helpers.focus.rating import method_settings, rate, ratings, shown
from helpers.models.networks import Classifier
from helpers.run.progress import progress

FOLLOWED = ("lrp", "lime", "gradcam")  # methods whose Focus is set beside accuracy
AUTHORS = "0.5"  # mean and deviation by which the authors' code normalises images
PLACES = {"side by side": LAYOUTS[0], "on a diagonal": LAYOUTS[2]}  # cells of the targets
LAYERS = {"input": {}, "last map": {"layer": "last map"}}
FED = {"as trained": {}, AUTHORS: {}}
TRIED = (
    ("sign", "smoothgrad", {"signed": {}, "absolute": {"reduce": "max absolute"}}),
    ("sign", "integrated-gradients", {"signed": {}, "absolute": {"reduce": "absolute sum"}}),
    ("values", "lime", {"weights": {}, "five best": {"best": 5}}),
    ("grid", "lime", {"5 × 5, across the seams": {}, "4 × 4, on the seams": {"segments": 4}}),
    *(("layer", method, LAYERS) for method in ("lrp", "smoothgrad", "integrated-gradients")),
    *(("normalisation", method, FED) for method in ("gradcam", "lrp", "integrated-gradients")),
    ("targets", "gradcam", {place: {} for place in PLACES}),
)
"""Choice, method, and its two options with the settings that they change."""


def with_accuracy(
    models: Sequence[Model],
    stopped: Sequence[Model],
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Sequence[str],
    **more,
) -> pd.DataFrame:
    """Accuracy beside Focus for better and worse networks, each training being a network.

    The models on their own set and on the others, and models that were stopped early. Images and
    their mosaics are given by set; `more` is `effort` and `shape`.
    Columns are network (a name for each), model (its name without the training), architecture, set
    (of the mosaics), how ("own set", "other set" or "stopped early"), training, accuracy, and the
    mean Focus of those of LRP, LIME and GradCAM that are among the `methods`.
    """
    known = {model.trained_on for model in models}
    known = known if len(known) > 1 else set(images)  # sets that networks of this run have learned
    cases = [(model, model.trained_on, "own set") for model in models]
    cases += [
        (model, on, "other set")
        for model, on in product(models, images)
        if on in known - {model.trained_on}
        and model.recipe.fit != AS_IT_IS
        and images[on].classes == images[model.trained_on].classes
    ]
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


def rises(table: pd.DataFrame) -> dict[str, float]:
    """By method, how much its Focus rises with accuracy: the slope of a least-squares line."""
    known = {name: table.dropna(subset=[name]) for name in map(shown, FOLLOWED) if name in table}
    return {n: float(np.polyfit(rows["accuracy"], rows[n], 1)[0]) for n, rows in known.items()}


def tried(
    model: Model, images: ImageSet, table: pd.DataFrame, methods: Sequence[str]
) -> pd.DataFrame:
    """What each choice does to Focus on the same mosaics, one choice at a time from quick settings.

    The options are those of the authors' public code, and of Rao et al. (CVPR 2022) for the layer.
    To the rows of :func:`helpers.focus.rate` come the columns choice and option; a method that
    refuses has rows without a Focus.
    """
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


def moved(table: pd.DataFrame, cells: tuple[int, int]) -> pd.DataFrame:
    """A design with the same images in every mosaic, those of the target in these two cells."""
    is_target = table[TARGETS].to_numpy(dtype=bool)
    first = np.argsort(~is_target, axis=1, kind="stable")  # the cells of the targets, then others
    images = np.take_along_axis(table[IMAGES].to_numpy(), first, 1)
    return table.assign(**pd.DataFrame([placed(row, cells) for row in images], table.index))


def paired(chosen: pd.DataFrame) -> pd.DataFrame:
    """What each choice changes: the second option's Focus less the first's, on the same mosaics.

    Columns are choice, method, first, second (the options), first_mean, second_mean, difference,
    low, high (95%, of the paired difference, over trainings and images), undefined (pairs of maps
    of which one has no Focus, which count in none of these), and maps (pairs of them).
    """
    rows = []
    for (choice, method), part in chosen.groupby(["choice", "method"], sort=False):
        first, second = part["option"].unique()
        gap = contrast(part, {second: 1, first: -1}, of="option").interval()
        wide = part.pivot(index=["training", "mosaic"], columns="option", values="focus")
        known = wide.dropna()
        row = {"choice": choice, "method": method, "first": first, "second": second}
        row |= {"first_mean": known[first].mean(), "second_mean": known[second].mean()}
        row |= {"difference": gap.estimate, "low": gap.low, "high": gap.high}
        rows.append(row | {"undefined": len(wide) - len(known), "maps": len(wide)})
    return pd.DataFrame(rows)
