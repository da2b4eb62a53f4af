"""The tables that notebook 09 reads: small counts, other toolkits' answers, and real frames."""

import numpy as np
import pandas as pd

from helpers.blocks import blocks, report
from helpers.blocks.counts import CELLS, Table, table
from helpers.run import project

FOLDER = "data/toolkits"
REASONS = {
    "no positives": "a group without positive labels: its tpr is 0/0, which they count as 0",
    "nobody predicted": "a group without positive predictions: its ppv is 0/0, counted as 0",
    "tied scores": "the area between curves is sampled, and tied scores make steps",
}
"""Why the toolkits answer differently on an example."""
TEN = {
    "1 - prule: ratio of positive rates": ("pr", "compl", "srel", "max"),
    "wcb of fnr: ratio of false negative rates": ("fnr", "pairs", "srel", "max"),
    "cv: difference of positive rates": ("pr", "compl", "abs", "max"),
    "spsf as printed, both directions": ("pr", "vsany", "abs", "wmean"),
    "|dfpr|: false positive rates": ("fpr", "compl", "abs", "max"),
    "|dfnr|: false negative rates": ("fnr", "compl", "abs", "max"),
    "gini of the groups' positive rates": ("pr", "pairs", "none", "gini"),
    "spsf normalised": ("pr", "vsany", "abs", "wmean_normalised"),
    "difference of precision": ("ppv", "compl", "abs", "max"),
    "difference of accuracy": ("acc", "compl", "abs", "max"),
}
"""Ten questions to one table, by the blocks they are made of."""


def tables() -> dict[str, pd.DataFrame]:
    """Rows of every example in `data/toolkits`: group, y_true, and y_pred or y_score."""
    counts = pd.read_csv(project.root() / FOLDER / "blocks_examples.csv")
    scores = pd.read_csv(project.root() / FOLDER / "blocks_scores.csv")
    scores = scores.loc[scores.index.repeat(scores.pop("rows"))]
    found = {}
    for name, part in counts.groupby("example", sort=False):
        cells = part[list(CELLS)].to_numpy()
        group, outcome = np.indices(cells.shape).reshape(2, -1).repeat(cells.ravel(), axis=1)
        columns = {"y_pred": outcome // 2, "y_true": outcome % 2}
        found[name] = pd.DataFrame({"group": part["group"].to_numpy()[group]} | columns)
    for name, part in scores.groupby("example", sort=False):
        found[name] = part.drop(columns="example").reset_index(drop=True)
    return found


def counted(example: pd.DataFrame) -> Table:
    """The table of counts of an example's rows."""
    return table(example["group"], **example.drop(columns="group"))


def answers() -> pd.DataFrame:
    """Recorded answers of the toolkits, theirs, with ours beside them, and whether they agree."""
    found = pd.read_csv(project.root() / FOLDER / "blocks_answers.csv")
    data = {name: counted(example) for name, example in tables().items()}
    cells = zip(found["example"], found[report.KEYS].to_numpy(), strict=True)
    found["ours"] = [blocks.bias(data[example], *cell) for example, cell in cells]
    same = np.isclose(found["theirs"], found["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return found.assign(agree=same)


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """How real frames are served: shares by time and weather, and each group's gap to the rest.

    `data/toolkits/README.md` says what the columns are and what made both tables.
    """
    names = ("blocks_bdd100k.csv", "blocks_bdd100k_contrasts.csv")
    served, contrasts = (pd.read_csv(project.root() / FOLDER / name) for name in names)
    return served, contrasts
