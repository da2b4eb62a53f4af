"""Look at mosaics beside their explanations: Figure 2, and a walk through a pair's mosaics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ipywidgets
import pandas as pd
import torch
from matplotlib.figure import Figure

from helpers import explain, figures
from helpers.focus import pairs
from helpers.focus.design import batches, layouts
from helpers.focus.feature import in_mosaics
from helpers.focus.rating import logit_of

ORDERS = ("lowest Focus first", "highest Focus first", "as drawn")


def explained(
    model,
    images: torch.Tensor,
    rows: pd.DataFrame,
    method: str = "gradcam",
    *,
    classes: Sequence[str] | Mapping[str, int],
    patches: torch.Tensor | None = None,
    shape: str = "native",
    **settings,
) -> Figure:
    """Mosaics of one pair and where their relevance lies, with the Focus of each (Figure 2).

    Parameters
    ----------
    model : nn.Module
    images : uint8 tensor (M, 3, H, W)
        Those that the design counts.
    rows : DataFrame
        Of one pair, from :func:`helpers.focus.rate`; a column kind is shown where there is one.
    method, shape, settings
        As they were rated.
    classes : sequence of str, or dict from class to logit
    patches : bool tensor (M, H, W), optional
        What is known to be shared, which is outlined.
    """
    target, outer = rows[pairs.PAIR].iloc[0]
    mosaics = torch.cat(list(batches(rows, images, shape)))
    maps = explain.explain(model, mosaics, logit_of(classes)[target], method, **settings)
    kinds = rows["kind"] + ": " if "kind" in rows else [""] * len(rows)
    captions = [f"{k}Focus {value:.2f}" for k, value in zip(kinds, rows["focus"], strict=True)]
    spots = None if patches is None else in_mosaics(rows, patches, shape)
    return figures.mosaics_explained(
        mosaics,
        maps.maps,
        layouts(rows),
        captions,
        (target, outer),
        colours=figures.palette(list(classes)),
        patches=spots,
    )


def one(
    model,
    images: torch.Tensor,
    rated: pd.DataFrame,
    target: str,
    outer: str,
    number: int = 0,
    order: str = ORDERS[0],
    **asked,
) -> Figure:
    """One mosaic of a pair, chosen by its place in an order.

    Parameters
    ----------
    model, images
    rated : DataFrame
        From :func:`helpers.focus.rate`.
    target, outer : str
    number : int
        From 0; beyond the last it begins again.
    order : str
        One of `ORDERS`.
    **asked
        As for :func:`explained`: method, classes, patches, shape ...

    Raises
    ------
    ValueError
        When there is no such pair.
    """
    part = pairs.of_pair(rated, target, outer)
    if part.empty:
        raise ValueError(f"there is no mosaic of {target!r} beside {outer!r}")
    if order != ORDERS[2]:
        part = part.sort_values("focus", ascending=order == ORDERS[0], kind="stable")
    at = number % len(part)
    return explained(model, images, part.iloc[at : at + 1], **asked)


def controls(model, images: torch.Tensor, rated: pd.DataFrame, **asked) -> ipywidgets.Widget:
    """Widgets to choose a pair and walk through its mosaics; a button has :func:`one` draw."""

    def draw(target: str, outer: str, order: str, number: int) -> None:
        try:
            figure = one(model, images, rated, target, outer, number, order, **asked)
        except ValueError as reason:
            print(reason)
        else:
            figures.show(figure, "pair", f"mosaic {number} of {target} beside {outer}, {order}")

    lowest = rated.groupby(pairs.PAIR)["focus"].mean().idxmin()
    classes, most = list(rated["target"].unique()), int(rated.groupby(pairs.PAIR).size().max())
    return ipywidgets.interactive(
        draw,
        {"manual": True, "manual_name": "show"},  # draws nothing where nobody can choose
        target=ipywidgets.Dropdown(options=classes, value=lowest[0]),
        outer=ipywidgets.Dropdown(options=classes, value=lowest[1]),
        order=list(ORDERS),
        number=ipywidgets.IntSlider(0, 0, most - 1),
    )
