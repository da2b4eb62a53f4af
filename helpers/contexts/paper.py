"""What the paper prints, for the tables and figures that set it beside what a run measures.

*Assessing Biases through Visual Contexts* prints these values in Table 1 and in its text.
"""

import numpy as np
import pandas as pd

from helpers.contexts import effects
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


def of_mosaics(collection: Collection) -> pd.DataFrame:
    """What the paper prints of each pair; without rows for other classes and contexts.

    Columns object_class, context_class; mosaic and single (Table 1, logits); flips (section 3, of
    125 mosaics) and kept (how many kept the highest logit): NaN where the paper prints none.
    """
    counts = printed("flips").drop(columns="mosaics")
    table = printed("distance").merge(counts, on=effects.PAIR, how="left")
    return table if collection.has_the_papers_classes() else table.iloc[:0]


def agreement(images: pd.DataFrame) -> pd.DataFrame:
    """How alike a run and the paper rank the pairs, in each quantity that the paper prints.

    `images` are those of :func:`helpers.contexts.effects.per_image`. A row a quantity (a column of
    `images`): pairs (how many the paper prints), rank_correlation with low and high (of other
    trainings and images: `effects.agreement`), and the means over these pairs: ours, paper.
    """
    table = printed("distance").merge(printed("flips"), on=effects.PAIR, how="left")
    theirs = {
        "flip_share": table["flips"] / table["mosaics"],
        "mosaic_distance": table["mosaic"],
        "single_distance": table["single"],
        "drop": table["single"] - table["mosaic"],
    }
    rows = []
    for name, values in theirs.items():
        of_pair = table[effects.PAIR].assign(paper=values).dropna()
        both = images.merge(of_pair, on=effects.PAIR)
        found = effects.agreement(both, both.assign(**{name: both["paper"]}), name)
        means = both.groupby(effects.PAIR)[[name, "paper"]].mean().mean()
        rows.append([name, len(of_pair), *found, *means])
    columns = ["quantity", "pairs", "rank_correlation", "low", "high", "ours", "paper"]
    return pd.DataFrame(rows, columns=columns)


def pairs() -> pd.DataFrame:
    """The mosaic_share and paste_share of the pairs for which the paper prints both.

    These are eleven of the twelve: of fire hydrants beside the sky the paper gives only how many
    kept the highest logit.
    """
    pasted = printed("paste").rename(columns={"pasted": "object_class"})
    both = printed("flips").dropna(subset="flips").merge(pasted, on=effects.PAIR)
    both["mosaic_share"] = both["flips"] / both["mosaics"]
    both["paste_share"] = both["predicted"] / both["images"]
    return both[[*effects.PAIR, "mosaic_share", "paste_share"]]
