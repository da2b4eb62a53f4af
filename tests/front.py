"""Write README's three findings and draw its picture: ``python tests/front.py``."""

import re

import helpers  # noqa: F401  pins the kernels before torch and numpy are loaded

# ruff: isort: split
import matplotlib.pyplot as plt
import pandas as pd
import torch
from matplotlib.figure import Figure

from helpers import data, overview, store
from helpers.contexts import cutting, mosaics, pasting
from helpers.contexts.compositing import paste
from helpers.contexts.predictions import predict
from helpers.data.white import object_masks
from helpers.figures import style
from helpers.models import experiment
from helpers.settings import Device, Images, Model, PositiveInt, Seed, check

README = store.root() / "README.md"
PICTURE = store.root() / "outputs" / "example.png"
FINDINGS = re.compile(r"(?<=<!-- findings -->\n).*?(?=\n<!-- end -->)", re.DOTALL)

# the parameters of lesson 04
images: Images = "world"
model: Model = "alexnet-quarter"
trainings: PositiveInt = 6
seed: Seed = 0
output: str = "single-runs/04_paste_check"
device: Device = "auto"


def findings() -> str:
    """Return the three findings with links from README to the lessons."""
    return overview.three().data.replace("](", "](notebooks/")


def draw(object_class: str = "plane", context: str = "park") -> Figure:
    """Draw an object on white and in a context, and what the networks predict.

    Objects, backgrounds and networks are those of lesson 04.
    """
    settings = check(globals())
    collection = data.load(settings.images, settings.seed)
    networks = experiment.with_control("C", collection, settings)
    objects = pasting.require_objects(collection)
    cutouts = cutting.cut(objects.images, object_masks(objects.images))
    design = mosaics.design(
        objects.labels,
        collection.contexts,
        collection.classes,
        per_context=1,
        seed=settings.seed,
    )
    design["context"] = design["context_class"].map(collection.context_of)
    is_drawn = (design["object_class"] == object_class) & (design["context"] == context)
    design = design[is_drawn].reset_index(drop=True)
    composites = pasting.composites(design, cutouts, collection.contexts, paste=paste)
    on_white = objects.images[torch.from_numpy(design["object"].to_numpy(copy=True))]
    figure, axes = plt.subplots(
        2, 2, figsize=(9, 4.2), width_ratios=(1, 3.2), layout="constrained"
    )
    for row, pictures, place in zip(
        axes, (on_white, composites), ("on white", f"in a {context}"), strict=True
    ):
        predictions = predict(networks, pictures, design, collection.classes)
        shares = pd.crosstab(
            predictions["prediction"], predictions["model"], normalize="columns"
        )
        shares = 100 * shares.reindex(collection.classes, fill_value=0)
        shares = shares.loc[::-1, ["control model", "model"]]
        row[0].imshow(pictures[0].permute(1, 2, 0))
        row[0].set_axis_off()
        row[0].set_title(f"a {object_class} {place}")
        colours = [style.FAINT, style.RED]
        shares.plot.barh(ax=row[1], color=colours, width=0.75, legend=False)
        row[1].set(xlim=(0, 100), xlabel="", ylabel="")
        row[1].spines[["top", "right"]].set_visible(False)
    axes[0, 1].set_title("predicted class")
    axes[1, 1].set_xlabel(
        f"% of predictions (n = {len(design)} images, 6 training runs)"
    )
    handles, names = axes[1, 1].get_legend_handles_labels()
    names = [
        "control model: saw all classes in all contexts",
        "model: saw benches in parks",
    ]
    axes[0, 1].legend(handles[::-1], names[::-1], loc="upper right", frameon=False)
    return figure


if __name__ == "__main__":
    text = FINDINGS.sub(lambda match: findings(), README.read_text())
    store.write_text(README, text)
    draw().savefig(PICTURE, dpi=110)
