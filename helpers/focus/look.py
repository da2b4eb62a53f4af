"""Paint over any part of a mosaic and see what becomes of its Focus: by hand, with widgets."""

import ipywidgets
import pandas as pd
import torch

from helpers import explain
from helpers.data import ImageSet
from helpers.figures import focus as figures
from helpers.figures import style
from helpers.focus.feature import disc, paint_over
from helpers.focus.mosaics import batches, layouts
from helpers.focus.networks import Model
from helpers.focus.pairs import PAIR
from helpers.focus.score import score


def painted(
    model: Model, images: ImageSet, row: pd.DataFrame, method: str, mask: torch.Tensor
) -> dict:
    """A mosaic as it is and with a part painted over, explained in the first training.

    `row` is one row of a design, `mask` bool (2 H, 2 W). Returned is what
    :func:`helpers.figures.focus.mosaics_explained` takes by name.
    """
    [mosaic] = batches(row, images.images)
    both = torch.cat([mosaic, paint_over(mosaic, mask[None])])
    target, outer = row[PAIR].iloc[0]
    maps = explain.explain(model.trainings[0], both, model.logit[target], method).maps
    where = layouts(row).expand(2, -1, -1)
    names = ("as it is", "painted over")
    captions = [f"{n}: Focus {v:.2f}" for n, v in zip(names, score(maps, where), strict=True)]
    return {
        "mosaics": both,
        "maps": maps,
        "layouts": where,
        "captions": captions,
        "names": (target, outer),
        "patches": mask.expand(2, -1, -1),
    }


def controls(model: Model, images: ImageSet, rows: pd.DataFrame, method: str) -> ipywidgets.Widget:
    """Widgets: choose one of a pair's mosaics, place a disc on it, and paint it over."""

    def show(number: int, row: int, column: int, radius: int) -> None:
        mask = disc((side, side), (row, column), radius)
        shown = painted(model, images, rows.iloc[number : number + 1], method, mask)
        figure = figures.mosaics_explained(**shown)
        style.show(figure, "by-hand", f"mosaic {number} as it is, and with a disc painted over")

    side = 2 * images.images.shape[-1]
    return ipywidgets.interactive(
        show,
        {"manual": True, "manual_name": "paint"},  # draws nothing where nobody can choose
        number=ipywidgets.Dropdown(options=range(len(rows))),
        row=ipywidgets.IntSlider(side // 4, 0, side),
        column=ipywidgets.IntSlider(side // 4, 0, side),
        radius=ipywidgets.IntSlider(side // 12, 1, side // 2),
    )
