"""What moves a score besides the method: the network's accuracy, single choices, the time taken."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.data import ImageSet
from helpers.explain import NotConserved
from helpers.focus.means import contrast, summary
from helpers.focus.networks import AS_IT_IS, Model, right
from helpers.focus.rating import method_settings, rate, shown
from helpers.models.networks import Classifier
from helpers.run.progress import progress

MOST = 48  # mosaics on which choices are tried
FOLLOWED = ("lrp", "lime", "gradcam")  # methods whose Focus is set beside accuracy
FURTHER = ("lrp-epsilon-plus", "gradient", "input-x-gradient", "guided-gradcam", "occlusion")
AUTHORS = "0.5"  # mean and deviation by which the authors' code normalises images
PAPERS_NOISE = {"reduce": "max absolute", "samples": 10, "sigma": 0.2}
TRIED = (
    ("sign", "smoothgrad", "signed", {}),
    ("sign", "smoothgrad", "absolute", {"reduce": "max absolute"}),
    ("sign", "integrated-gradients", "signed", {}),
    ("sign", "integrated-gradients", "absolute", {"reduce": "absolute sum"}),
    ("paper's noise", "smoothgrad", "absolute, 6 × 0.15", {"reduce": "max absolute"}),
    ("paper's noise", "smoothgrad", "absolute, 10 × 0.2", PAPERS_NOISE),
    ("values", "lime", "weights", {}),
    ("values", "lime", "five best", {"best": 5}),
    ("grid", "lime", "5 × 5, across the seams", {}),
    ("grid", "lime", "4 × 4, on the seams", {"segments": 4}),
    *(
        ("layer", method, layer, {"layer": layer} if layer == "last map" else {})
        for method in ("lrp", "input-x-gradient", "smoothgrad", "integrated-gradients")
        for layer in ("input", "last map")
    ),
    *(
        ("normalisation", method, option, {})
        for method in ("gradcam", "lrp", "integrated-gradients")
        for option in ("as trained", AUTHORS)
    ),
)
"""Choice, method, option and changed settings; what changes nothing is found in the store."""


def with_accuracy(
    models: Sequence[Model],
    stopped: Sequence[Model],
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Sequence[str],
    **more,
) -> pd.DataFrame:
    """Accuracy beside Focus for better and worse networks.

    The models on their own set; those of the set C on the other sets; and models that were stopped
    early. Each training is a network: it is in several rows where it is on several sets. Images and
    their mosaics are given by set; LIME is left out where it is none of the `methods` that the run
    rates; `more` is `effort` and `shape`.

    Returns
    -------
    DataFrame
        network (a name for each), model (its name without the training), architecture, set (of the
        mosaics), how ("own set", "other set" or "stopped early"), training, accuracy, and the mean
        Focus of LRP, LIME and GradCAM.
    """
    trained = [m for m in models if m.trained_on == "C" and m.recipe.fit != AS_IT_IS]
    cases = [(model, model.trained_on, "own set") for model in models]
    cases += [(model, on, "other set") for model in trained for on in images if on != "C"]
    cases += [(model, model.trained_on, "stopped early") for model in stopped]
    rows = []
    for model, on, how in progress(cases, desc="accuracy and Focus", delay=2):
        found = {"accuracy": right(model, images[on]).mean(1)}
        for method in (m for m in FOLLOWED if m != "lime" or m in methods):
            try:
                focus = rate(model, images[on], tables[on], method, **more)
            except NotConserved:
                continue
            means = focus.groupby("training")["focus"].mean()
            found[shown(method)] = means.reindex(range(len(model.trainings)))
        name = model.name + f" stopped after {model.recipe.epochs}" * (how == "stopped early")
        case = {"architecture": model.recipe.architecture, "set": on, "how": how, "model": name}
        rows.append(pd.DataFrame(found).assign(training=range(len(model.trainings)), **case))
    table = pd.concat(rows, ignore_index=True)
    table.insert(0, "network", table["model"] + ", training " + table["training"].astype(str))
    return table


def by_case(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the trainings of each case: model, set, how, accuracy, and Focus by method."""
    values = table.drop(columns=["network", "training", "architecture"])
    return values.groupby(["model", "set", "how"], sort=False).mean().reset_index()


def rises(table: pd.DataFrame) -> dict[str, float]:
    """By method, how much its Focus rises with accuracy: the slope of a least-squares line."""
    found = {}
    for name in (name for name in map(shown, FOLLOWED) if name in table):
        known = table.dropna(subset=[name])
        found[name] = float(np.polyfit(known["accuracy"], known[name], 1)[0])
    return found


def most_typical(rated: pd.DataFrame) -> int:
    """The mosaic whose Focus is nearest to each method's median, summed over the methods.

    `rated` is of one network and design; mosaics without a Focus for some method come last.
    """
    wide = rated.pivot(index="mosaic", columns="method", values="focus").dropna(axis=1, how="all")
    apart = (wide - wide.median()).abs().sum(axis=1, skipna=False)
    return int(apart.fillna(np.inf).idxmin())


def tried(
    model: Model,
    images: ImageSet,
    table: pd.DataFrame,
    methods: Sequence[str],
    *,
    seed: int,
    shape: str,
) -> pd.DataFrame:
    """What each choice does to Focus on the same mosaics (facts of the paper's code; Rao 2022).

    One choice at a time, from quick settings; methods that the run does not rate are left out, but
    for Input x Gradient. `seed` chooses mosaics where there are more than `MOST`. To the rows of
    :func:`helpers.focus.rate` come the columns choice and option.
    """
    if len(table) > MOST:
        table = table.sample(MOST, random_state=seed).sort_index()
    device = next(model.trainings[0].parameters()).device
    half = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
    fed = [Classifier(n.network, **half).to(device).eval() for n in model.trainings]
    found = []
    for choice, method, option, changes in progress(TRIED, desc="choices", delay=2):
        if method not in (*methods, "input-x-gradient"):
            continue
        asked = method_settings(method, "quick") | changes | {"shape": shape}
        on = replace(model, trainings=fed) if option == AUTHORS else model
        try:
            focus = rate(on, images, table, method, **asked)
        except NotConserved:
            continue
        found.append(focus.assign(choice=choice, option=option))
    return pd.concat(found, ignore_index=True)


def paired(chosen: pd.DataFrame) -> pd.DataFrame:
    """What each choice changes: the second option's Focus less the first's, on the same mosaics.

    Returns
    -------
    DataFrame
        choice, method, first, second (the options), first_mean, second_mean, difference, low, high
        (95%, of the paired difference, over trainings and images), undefined (pairs of maps of
        which one has no Focus, which count in none of these), and maps (pairs of them).
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


def timed(rated: pd.DataFrame, set_name: str) -> pd.DataFrame:
    """Focus on one set beside the shortest time that a mosaic took on any: the first call warms up.

    The summary of one architecture's ratings, the fastest first, with the column front: no other
    method is as fast (within 10%) and better.
    """
    found = summary(rated[rated["set"] == set_name])
    found["seconds"] = found["method"].map(rated.groupby("method")["seconds"].min())
    mean, seconds = found["mean"].to_numpy(), found["seconds"].to_numpy()
    better = (mean[:, None] > mean) & (seconds[:, None] <= 1.1 * seconds)
    faster = (mean[:, None] == mean) & (1.1 * seconds[:, None] < seconds)
    found["front"] = found["mean"].notna() & ~(better | faster).any(0)
    return found.sort_values("seconds", ignore_index=True)
