"""Read the example tables of `data/toolkits`, and count them."""

import pandas as pd

from helpers import store
from helpers.blocks import counts, measures

FOLDER = store.root() / "data" / "toolkits"


def tables() -> dict[str, pd.DataFrame]:
    """Return the rows of every example: group, y_true, and y_pred or score."""
    counted = pd.read_csv(FOLDER / "blocks_examples.csv")
    counted = counted.melt(
        id_vars=["example", "group"],
        value_vars=[*measures.CONFUSION],
        var_name="cell",
        value_name="rows",
    )
    cell = counted.pop("cell")
    counted["y_pred"] = cell.isin(["fp", "tp"]).astype(int)
    counted["y_true"] = cell.isin(["fn", "tp"]).astype(int)
    scores = pd.read_csv(FOLDER / "blocks_scores.csv")
    scores = scores.rename(columns={"y_score": "score"})
    examples = {}
    for table in (counted, scores):
        each_row = table.index.repeat(table.pop("rows"))
        rows = table.loc[each_row]
        for name, part in rows.groupby("example", sort=False):
            part = part.drop(columns="example")
            examples[name] = part.reset_index(drop=True)
    return examples


def count_example(name: str) -> counts.Counts:
    """Count the rows of an example."""
    rows = tables()[name]
    return counts.count(rows["group"], rows)
