"""A walk through mosaics: their relevance, and what becomes of it when a part is painted over."""

import ipywidgets
import pandas as pd
import torch

from helpers import explain
from helpers.data import ImageSet
from helpers.data.mosaics import grid
from helpers.figures import focus as figures
from helpers.figures.style import show as display
from helpers.focus.feature import disc, paint_over
from helpers.focus.mosaics import batches, cut, layouts
from helpers.focus.networks import Model
from helpers.focus.pairs import PAIR, in_mosaics
from helpers.focus.rating import score


def explained(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    method: str,
    mask: torch.Tensor | None = None,
) -> dict:
    """Mosaics of one pair and their relevance in the first training.

    `rows` are of a design of `images`, whose `patches` are outlined, with a column kind that is
    shown where there is one. With a `mask`, bool (2 H, 2 W), there is one row: its mosaic is shown
    as it is, and with the mask painted over. Returned is what
    :func:`helpers.figures.focus.mosaics_explained` takes by name.
    """
    target, outer = rows[PAIR].iloc[0]
    mosaics = torch.cat(list(batches(rows, images.images)))
    kinds = rows["kind"] + ": " if "kind" in rows else [""] * len(rows)
    patches = None if images.patches is None else in_mosaics(rows, images.patches)
    if mask is not None:
        painted = paint_over(cut(mosaics), cut(mask[None, None])[:, 0])
        mosaics = torch.cat([mosaics, grid(painted[None], 2, 2, shape="native")])
        kinds, patches = ("as it is: ", "painted over: "), mask.expand(2, -1, -1)
    maps = explain.explain(model.trainings[0], mosaics, model.logit[target], method).maps
    where = layouts(rows).expand(len(mosaics), -1, -1)
    captions = [f"{k}Focus {v:.2f}" for k, v in zip(kinds, score(maps, where), strict=True)]
    drawn = {"mosaics": mosaics, "maps": maps, "layouts": where, "captions": captions}
    return drawn | {"names": (target, outer), "patches": patches}


def controls(model: Model, images: ImageSet, rows: pd.DataFrame, method: str) -> ipywidgets.Widget:
    """Widgets: choose one of a pair's mosaics, place a disc on it, and paint it over."""

    def show(number: int, row: int, column: int, radius: int) -> None:
        mask = disc((side, side), (row, column), radius)
        shown = explained(model, images, rows.iloc[number : number + 1], method, mask)
        figure = figures.mosaics_explained(**shown)
        display(figure, "by-hand", f"mosaic {number} as it is, and with a disc painted over")

    side = 2 * images.images.shape[-1]
    return ipywidgets.interactive(
        show,
        {"manual": True, "manual_name": "paint"},  # draws nothing where nobody can choose
        number=ipywidgets.Dropdown(options=range(len(rows))),
        row=ipywidgets.IntSlider(side // 4, 0, side),
        column=ipywidgets.IntSlider(side // 4, 0, side),
        radius=ipywidgets.IntSlider(side // 12, 1, side // 2),
    )
