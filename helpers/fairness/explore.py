"""From a report to a cell, its pairs and its counts: plain functions, and widgets over them.

The paper's Figure 2 explores a report by clicking. Each step is a function here that returns
tables; `widget` only calls them when a choice changes.
"""

from __future__ import annotations

import pandas as pd

from helpers.fairness.reports import KEYS, Report


def step(
    report: Report,
    measure: str | None = None,
    set: str | None = None,
    comparison: str | None = None,
    reduction: str | None = None,
) -> pd.DataFrame:
    """The cells left after fixing any of the four blocks, the largest value first."""
    chosen = {"measure": measure, "set": set, "comparison": comparison, "reduction": reduction}
    cells = report.cells
    for key, name in chosen.items():
        if name is not None:
            cells = cells[cells[key] == name]
    return cells.sort_values("value", ascending=False, ignore_index=True, kind="stable")


def explain(report: Report, measure: str, set: str, comparison: str, reduction: str, top: int = 5):
    """What a cell was made from, in three tables.

    Returns
    -------
    dict
        ``cell`` (its value and evidence), ``pairs`` (the `top` comparisons, the deciding one among
        them; a pair once where both directions give the same) and ``counts`` (of the two sides that
        decide).
    """
    cell = report.cell(measure, set, comparison, reduction)
    pairs = report.pairs(measure, set, comparison)
    if reduction == "min":
        pairs = pairs.iloc[::-1].reset_index(drop=True)
    known = _once(pairs.dropna(subset=["compared"]))
    sides = [side for side in (cell["group_i"], cell["group_j"]) if side]
    columns = [c for c in report.units if c in ("unit", "stratum", "n", "tn", "fn", "fp", "tp")]
    counts = report.units[report.units["unit"].isin(sides)]
    return {
        "cell": cell.to_frame("value"),
        "pairs": known.head(top),
        "counts": counts[[*columns, measure]].reset_index(drop=True),
    }


def _once(pairs: pd.DataFrame) -> pd.DataFrame:
    """Leave out (j, i) where it compares as (i, j) did."""
    names = [
        " ".join(sorted(both)) for both in zip(pairs["group_i"], pairs["group_j"], strict=True)
    ]
    again = pd.DataFrame({"names": names, "compared": pairs["compared"].round(12).to_numpy()})
    return pairs[~again.duplicated().to_numpy()].reset_index(drop=True)


def widget(report: Report, top: int = 5):
    """Four menus over `explain`, for a kernel (ipywidgets).

    Returns
    -------
    ipywidgets.VBox
        Its menus and the page they change; display it. It keeps no state but the menus' values.
    """
    import ipywidgets

    menus = [
        ipywidgets.Dropdown(options=list(report.cells[key].unique()), description=key)
        for key in KEYS
    ]
    page = ipywidgets.HTML()

    def show(_=None) -> None:
        try:
            found = explain(report, *(menu.value for menu in menus), top=top)
            page.value = "".join(f"<h4>{k}</h4>{_html(t)}" for k, t in found.items())
        except (KeyError, ValueError) as error:
            page.value = f"<p>{error.args[0]}</p>"

    for menu in menus:
        menu.observe(show, names="value")
    show()
    return ipywidgets.VBox([ipywidgets.HBox(menus), page])


def _html(table: pd.DataFrame) -> str:
    return table.to_html(float_format="{:.3f}".format, border=0, na_rep="not estimable")
