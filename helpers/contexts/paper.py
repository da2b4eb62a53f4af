"""What the paper prints, for the tables and figures that set it beside what a run measures.

*Assessing Biases through Visual Contexts* prints these values in Table 1 and in its text.
"""

import numpy as np
import pandas as pd

from helpers.data import Collection
from helpers.run import project
from helpers.worlds import pictures

CLASS_OF = {context: name for name, context in pictures.CONTEXT_OF.items()}  # the paper's contexts


def printed(name: str) -> pd.DataFrame:
    """Printed values: ``accuracy``, ``distance``, ``flips`` or ``paste``.

    Where a row is about a context, context_class is the class it is typical of.
    """
    table = pd.read_csv(project.root() / f"data/paper/contexts_{name}.csv").drop(columns="source")
    if "context" in table:
        table["context_class"] = table.pop("context").map(CLASS_OF)
    return table


def beside(table: pd.DataFrame, collection: Collection, name: str, value: str) -> pd.DataFrame:
    """Set printed values beside ours.

    `name` and `value` say which printed values to take, and which of their columns. The result
    has a column paper: NaN where the paper prints nothing, and everywhere where the collection's
    classes and contexts are not the paper's.
    """
    if not collection.has_the_papers_classes():
        return table.assign(paper=np.nan)
    theirs = printed(name).rename(columns={value: "paper"})
    keys = [key for key in ("model", "test_set", "context_class", "pasted") if key in theirs]
    return table.merge(theirs[[*keys, "paper"]], on=keys, how="left")


def distances(collection: Collection) -> pd.DataFrame:
    """Table 1: object_class, context_class, mosaic, single; without rows for other classes."""
    table = printed("distance")
    return table if collection.has_the_papers_classes() else table.iloc[:0]


def pairs() -> pd.DataFrame:
    """The shares by both methods of the pairs that both were printed for.

    Columns context_class, object_class, mosaic_share and paste_share. These are eleven of the
    twelve: of fire hydrants beside the sky the paper gives only how many kept the highest logit.
    """
    pasted = printed("paste").rename(columns={"pasted": "object_class"})
    both = printed("flips").merge(pasted, on=["context_class", "object_class"])
    both["mosaic_share"] = both["flips"] / both["mosaics"]
    both["paste_share"] = both["predicted"] / both["images"]
    return both[["context_class", "object_class", "mosaic_share", "paste_share"]]
