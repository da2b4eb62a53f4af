"""Read the example tables of `data/toolkits`, and count them."""

import pandas as pd

from helpers import store
from helpers.blocks import counts

FOLDER = store.root() / "data" / "toolkits"


def tables() -> dict[str, pd.DataFrame]:
    """Return the rows of every example: group, y_true, and y_pred or score."""
    examples = {}
    for file in ("blocks_examples.csv", "blocks_scores.csv"):
        counted = pd.read_csv(FOLDER / file)
        each_row = counted.index.repeat(counted.pop("rows"))
        for name, rows in counted.loc[each_row].groupby("example", sort=False):
            rows = rows.drop(columns="example")
            examples[name] = rows.reset_index(drop=True)
    return examples


def count_example(name: str) -> counts.Counts:
    """Count the rows of an example."""
    rows = tables()[name]
    return counts.count(rows["group"], rows)
