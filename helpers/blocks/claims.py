"""The tables that notebook 09 reads, and what it measures for the claims."""

import numpy as np
import pandas as pd

from helpers import store
from helpers.blocks import blocks, counts, paper
from helpers.blocks.report import KEYS, Report
from helpers.stats import Estimate

FOLDER = "data/toolkits"
REASONS = {  # why the toolkits answer differently on an example
    "no positives": "a group without positive labels: its tpr is 0/0, which they count as 0",
    "nobody predicted": "a group without positive predictions: its ppv is 0/0, counted as 0",
    "tied scores": "the area between curves is sampled, and tied scores make steps",
}
LIBRARIES = {"1 - prule": 0.447639, "cv": 0.263303, "|dfpr|": 0.228450, "|dfnr|": 0.226814}
"""Four libraries on COMPAS, African-American defendants against the rest."""


def tables() -> dict[str, pd.DataFrame]:
    """Rows of every example in `data/toolkits`: group, y_true, and y_pred or y_score."""
    held, scores = (_read(name) for name in ("blocks_examples", "blocks_scores"))
    held = held.melt(["example", "group"], list(counts.CELLS), "cell", "rows")
    cell = held.pop("cell").map(counts.CELLS.index)
    held = held.assign(y_pred=cell // 2, y_true=cell % 2)
    rows = [of.loc[of.index.repeat(of["rows"])].drop(columns="rows") for of in (held, scores)]
    every = [pair for of in rows for pair in of.groupby("example", sort=False)]
    return {name: part.drop(columns="example").reset_index(drop=True) for name, part in every}


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(store.root() / FOLDER / f"{name}.csv")


def counted(example: pd.DataFrame) -> counts.Table:
    """The table of counts of an example's rows."""
    return counts.table(example["group"], **example.drop(columns="group"))


def answers() -> pd.DataFrame:
    """Recorded answers of the toolkits, theirs, with ours beside them, and whether they agree."""
    table = _read("blocks_answers")
    data = {name: counted(example) for name, example in tables().items()}
    cells = zip(table["example"], table[KEYS].to_numpy(), strict=True)
    table["ours"] = [blocks.bias(data[example], *cell) for example, cell in cells]
    same = np.isclose(table["theirs"], table["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return table.assign(agree=same)


def of_paper(
    compas: counts.Table,
    whole: Report,
    apart: pd.DataFrame,
    backends: pd.Series,
    answers: pd.DataFrame,
    unbiased: pd.DataFrame,
) -> list[Estimate]:
    """Notebook 09: COMPAS, a whole grid, FairBench's cells, other toolkits, and a null."""
    ours = paper.table_1(compas, "African-American").set_index("measure")["value"]
    backtracking, cells = 0, whole.cells[whole.cells["reduction"].isin(["max", "min", "mean"])]
    for names, part in cells.groupby(KEYS[:3], sort=False):
        behind = whole.pairs(*names)["compared"].agg(["max", "min", "mean"])
        again = part["reduction"].map(behind)
        backtracking += (~np.isclose(again, part["value"], equal_nan=True)).sum()
    value = whole.cells.set_index(KEYS)["value"]
    same = [
        np.isclose(value[one, "pairs", "abs", "max"], value[other, "pairs", "abs", "max"])
        for one, other in (("tpr", "fnr"), ("tnr", "fpr"))
    ]
    plain = answers[~answers["example"].isin(REASONS)]
    medians = unbiased[unbiased["n"] == 1000].set_index("groups")
    measured = {
        "libraries": np.isclose(ours[list(LIBRARIES)], list(LIBRARIES.values()), 0, 1e-6).sum(),
        "deo": abs(ours["cv"] - ours["|deo|"]),  # the row of |deo| as printed is that of cv
        "backtracking": backtracking,
        "snippet": (apart > 1e-9).to_numpy().sum(),
        "backends": (backends == backends.iloc[0]).sum(),
        "balance": sum(same),
        "toolkits": (~plain["agree"]).sum(),
    }
    exact = [Estimate(f"blocks/{claim}", (it, it, it)) for claim, it in measured.items()]
    gap = (
        medians.loc[60, ["median", "low", "high"]] - medians.loc[2, ["median", "high", "low"]].array
    )
    return [*exact, Estimate("suite/blocks/sixty", tuple(gap))]
