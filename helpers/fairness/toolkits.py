"""What other toolkits answered on small tables, beside ours: `data/toolkits`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import project
from helpers.fairness.counts import CELLS, Table, table
from helpers.fairness.literature import bias
from helpers.fairness.reports import KEYS

FOLDER = "data/toolkits"
REASONS = {
    "no positives": "a group without positive labels: its tpr is 0/0, which they count as 0",
    "nobody predicted": "a group without positive predictions: its ppv is 0/0, counted as 0",
    "tied scores": "the area between curves is sampled, and tied scores make steps",
}
"""Why the toolkits answer differently on an example."""


def examples() -> dict[str, pd.DataFrame]:
    """Rows of every example: group, prediction and label, or group, label and score."""
    counts = pd.read_csv(project.root() / FOLDER / "blocks_examples.csv")
    found = {name: rows(part) for name, part in counts.groupby("example", sort=False)}
    scores = pd.read_csv(project.root() / FOLDER / "blocks_scores.csv")
    repeated = scores.loc[scores.index.repeat(scores["rows"]), ["group", "label", "score"]]
    return found | {"tied scores": repeated.reset_index(drop=True)}


def rows(counts: pd.DataFrame) -> pd.DataFrame:
    """Rows (group, prediction, label) from counts (group, tn, fn, fp, tp)."""
    cells = counts[list(CELLS)].to_numpy()
    group, outcome = np.indices(cells.shape).reshape(2, -1).repeat(cells.ravel(), axis=1)
    names = counts["group"].to_numpy()
    return pd.DataFrame({"group": names[group], "prediction": outcome // 2, "label": outcome % 2})


def data(example: pd.DataFrame) -> Table:
    """The table of an example's rows."""
    given = {f"{c}s": example[c] for c in ("prediction", "label", "score") if c in example}
    return table(example["group"].to_numpy(), **given)


def answers() -> pd.DataFrame:
    """Recorded answers of the toolkits with ours beside them.

    Returns
    -------
    DataFrame: example, toolkit, version, measure, set, comparison, reduction, theirs, ours, agree
    """
    found = pd.read_csv(project.root() / FOLDER / "blocks_answers.csv")
    tables = {name: data(rows_) for name, rows_ in examples().items()}
    found["ours"] = [bias(tables[row["example"]], *row[KEYS]) for _, row in found.iterrows()]
    same = np.isclose(found["theirs"], found["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return found.assign(agree=same)
