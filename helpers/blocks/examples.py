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


def tables() -> dict[str, pd.DataFrame]:
    """Rows of every example in `data/toolkits`: group, y_true, and y_pred or y_score."""
    held, scores = (_recorded(name) for name in ("blocks_examples", "blocks_scores"))
    held = held.melt(["example", "group"], list(CELLS), "cell", "rows")
    cell = held.pop("cell").map(CELLS.index)
    held = held.assign(y_pred=cell // 2, y_true=cell % 2)
    rows = [of.loc[of.index.repeat(of["rows"])].drop(columns="rows") for of in (held, scores)]
    every = [pair for of in rows for pair in of.groupby("example", sort=False)]
    return {name: part.drop(columns="example").reset_index(drop=True) for name, part in every}


def _recorded(name: str) -> pd.DataFrame:
    return pd.read_csv(project.root() / FOLDER / f"{name}.csv")


def counted(example: pd.DataFrame) -> Table:
    """The table of counts of an example's rows."""
    return table(example["group"], **example.drop(columns="group"))


def answers() -> pd.DataFrame:
    """Recorded answers of the toolkits, theirs, with ours beside them, and whether they agree."""
    found = _recorded("blocks_answers")
    data = {name: counted(example) for name, example in tables().items()}
    cells = zip(found["example"], found[report.KEYS].to_numpy(), strict=True)
    found["ours"] = [blocks.bias(data[example], *cell) for example, cell in cells]
    same = np.isclose(found["theirs"], found["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return found.assign(agree=same)


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """How real frames are served: shares by time and weather, and each group's gap to the rest.

    `data/toolkits/README.md` says what the columns are and what made both tables.
    """
    return _recorded("blocks_bdd100k"), _recorded("blocks_bdd100k_contrasts")
