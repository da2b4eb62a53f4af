"""Walk through the mosaics of a pair: one by its place from the lowest Focus up, and widgets."""

from collections.abc import Callable

import ipywidgets
import pandas as pd

from helpers.figures import style
from helpers.focus import pairs


def one(rated: pd.DataFrame, target: str, outer: str, number: int) -> pd.DataFrame:
    """One rated mosaic of a pair by its place from the lowest Focus; the first follows the last."""
    part = pairs.of_pair(rated, target, outer).sort_values("focus", kind="stable")
    if part.empty:
        raise ValueError(f"there is no mosaic of {target!r} beside {outer!r}")
    at = number % len(part)
    return part.iloc[at : at + 1]


def controls(rated: pd.DataFrame, draw: Callable) -> ipywidgets.Widget:
    """Widgets to choose a pair and walk through its mosaics; `draw` makes a figure of one."""

    def show(target: str, outer: str, number: int) -> None:
        try:
            row = one(rated, target, outer, number)
        except ValueError as reason:
            print(reason)
        else:
            style.show(draw(row), "pair", f"mosaic {number} of {target} beside {outer}")

    by_pair = rated.groupby(pairs.PAIR)["focus"]
    classes, lowest = list(rated["target"].unique()), by_pair.mean().idxmin()
    return ipywidgets.interactive(
        show,
        {"manual": True, "manual_name": "show"},  # draws nothing where nobody can choose
        target=ipywidgets.Dropdown(options=classes, value=lowest[0]),
        outer=ipywidgets.Dropdown(options=classes, value=lowest[1]),
        number=ipywidgets.IntSlider(0, 0, int(by_pair.size().max()) - 1),
    )
