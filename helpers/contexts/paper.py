"""What *Assessing Biases through Visual Contexts* prints in Table 1 and in its text."""

import numpy as np
import pandas as pd

from helpers import store
from helpers.contexts import effects
from helpers.data import Collection
from helpers.worlds import pictures

CLASS_OF = {context: name for name, context in pictures.CONTEXT_OF.items()}  # the paper's contexts


def printed(name: str) -> pd.DataFrame:
    """Printed values (accuracy, distance, flips or paste); context_class is the context's class."""
    table = pd.read_csv(store.root() / f"data/paper/contexts_{name}.csv").drop(columns="source")
    if "context" in table:
        table["context_class"] = table.pop("context").map(CLASS_OF)
    return table


def beside(table: pd.DataFrame, collection: Collection, name: str, value: str) -> pd.DataFrame:
    """Set printed values (`name`, and their column `value`) beside ours: a column paper, or NaN."""
    if not collection.has_the_papers_classes():
        return table.assign(paper=np.nan)
    theirs = printed(name).rename(columns={value: "paper"})
    keys = [key for key in ("model", "test_set", "context_class", "pasted") if key in theirs]
    return table.merge(theirs[[*keys, "paper"]], on=keys, how="left")


def of_pairs(collection: Collection | None = None) -> pd.DataFrame:
    """What the paper prints of each pair of object and context: distances in logits (Table 1), NaN
    where it prints nothing, and no row for a collection of other classes."""
    pasted = printed("paste").rename(columns={"pasted": "object_class"})
    table = printed("distance").merge(printed("flips"), on=effects.PAIR, how="left")
    table = table.merge(pasted, on=effects.PAIR, how="left")
    if collection is not None and not collection.has_the_papers_classes():
        table = table.iloc[:0]
    return table.assign(
        drop=table["single"] - table["mosaic"],
        mosaic_share=table["flips"] / table["mosaics"],
        paste_share=table["predicted"] / table["images"],
    )


def agreement(images: pd.DataFrame) -> pd.DataFrame:
    """How alike a run and the paper rank the pairs, in each quantity that it prints; with means."""
    names = {"mosaic_share": "flip_share", "mosaic": "mosaic_distance", "single": "single_distance"}
    rows, table = [], of_pairs().rename(columns=names)
    for name in (*names.values(), "drop"):
        of_pair = table[effects.PAIR].assign(paper=table[name]).dropna()
        both = images.merge(of_pair, on=effects.PAIR)
        found = effects.agreement(both, both.assign(**{name: both["paper"]}), name)
        means = both.groupby(effects.PAIR)[[name, "paper"]].mean().mean()
        rows.append([name, len(of_pair), *found, *means])
    columns = ["quantity", "pairs", "rank_correlation", "low", "high", "ours", "paper"]
    return pd.DataFrame(rows, columns=columns)


def pairs(collection: Collection | None = None) -> pd.DataFrame:
    """The mosaic_share and paste_share of the eleven pairs for which the paper prints both."""
    return of_pairs(collection)[[*effects.PAIR, "mosaic_share", "paste_share"]].dropna()
