"""Figures of *Focus!* show what their tables say, for few classes and many."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.figures import focus as figures


def made(n: int) -> pd.DataFrame:
    names, rng = [f"class number {i}" for i in range(n)], np.random.default_rng(0)
    rows = [(a, b, rng.uniform(0.4, 1)) for a in names for b in names if a != b]
    table = pd.DataFrame(rows, columns=["target", "outer", "focus"])
    table["rank"] = table["focus"].rank()
    return table.sort_values("focus", ignore_index=True)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def said(figure) -> str:
    """The title, which a legend carries where there is one."""
    legends = figure.legends
    return legends[0].get_title().get_text() if legends else figure.get_suptitle()


@pytest.mark.parametrize("n", [2, 4, 12])
def test_matrix_writes_every_value_once_and_frames_the_planted_pair(n):
    table = made(n)
    planted = tuple(table.loc[1, ["target", "outer"]])
    table.loc[0, ["focus", "rank"]] = np.nan
    names = [f"class number {i}" for i in range(n)]
    figure = figures.pair_matrix(table, names, planted)
    written = texts(figure)
    ranks = {2: "\n(2.)", 3: "\n(3.)"}
    values = [f"{row.focus:.2f}{ranks.get(row.rank, '')}" for row in table[1:].itertuples()]
    assert sorted(text for text in written if "none" not in text) == sorted(values)
    assert sum("none" in text for text in written) == 1
    [frame] = figure.axes[0].patches
    middle = frame.get_x() + 0.47, frame.get_y() + 0.46
    assert middle == pytest.approx((names.index(planted[1]), names.index(planted[0])))


def test_interventions_say_whether_the_rise_counts():
    rows = [
        ("model", "as it is", 0.6),
        ("model", "painted over", 0.75),
        ("reference", "as it is", 0.9),
    ]
    table = pd.DataFrame(rows, columns=["networks", "state", "mean"])
    table = table.assign(low=table["mean"] - 0.1, high=table["mean"] + 0.1)
    for effect, text in ((0.1, "enough"), (0.2, "too little"), (0.15, "undecided")):
        figure = figures.interventions(table, (0.15, 0.12, 0.18), effect, ("a", "b"))
        assert said(figure).startswith("Painted over: Focus changes by +0.15 [0.12, 0.18]")
        assert text in said(figure)


def test_trials_write_what_is_proved():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": np.repeat([0.0, 1.0], 10), "rise": rng.uniform(-0.1, 0.4, 20)})
    table = table.assign(learned=table["dose"] == 1, found=table["rise"] >= 0.1)
    figure = figures.trials(table, 0.1)
    none, full = (int(part["found"].sum()) for _, part in table.groupby("dose"))
    assert texts(figure) == [f"{none} of 10", f"{full} of 10"]
    text = f"Proved in {full} of 10 trials that learned it at dose 1; {none} of 10 false alarms"
    assert said(figure).startswith(text)
