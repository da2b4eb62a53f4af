"""Say in words what the audit of a detector found."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.icon2.group_comparison import EXPLAINED, FOUND, VERDICTS
from helpers.icon2.measures import ALL_CLASSES, FALSE_POSITIVES


def findings(table: pd.DataFrame) -> pd.DataFrame:
    """Say in a sentence what was found for each attribute and measure.

    Parameters
    ----------
    table : pandas.DataFrame
        From `group_comparison.compare`. The most important group of each attribute and
        measure gets a row: one with a significant difference, or else the worst.

    Returns
    -------
    pandas.DataFrame
        The measures are in the order of the table.
    """
    rank = table["verdict"].map(VERDICTS.index)
    order = table.groupby(["measure", "class"], sort=False).ngroup()
    is_false = table["measure"] == FALSE_POSITIVES
    surplus = table["gap"].where(~is_false, -table["gap"])
    unknown = table["difference"].isna()
    table = table.assign(rank=rank, order=order, unknown=unknown, surplus=surplus)
    table = table.sort_values(["order", "rank", "unknown", "surplus"])
    first = table.drop_duplicates(["attribute", "order"])
    measure = first["measure"] + ", " + first["class"]
    columns = {
        "finding": first["attribute"] + "/" + measure,
        "name": "difference from all other groups",
        "measure": measure,
        "by": first["attribute"],
        "group": first["group"],
        "value": first["difference"],
        "low": first["low"],
        "high": first["high"],
        "p": first["p"],
        "verdict": first["verdict"],
        "sentence": [sentence(row) for row in first.to_dict("records")],
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def headline(findings: pd.DataFrame) -> str:
    """Return the sentence of the most important row of the `findings`."""
    rank = findings["verdict"].map(VERDICTS.index)
    first = findings.loc[rank.idxmin()]
    if first["verdict"] == FOUND:
        return first["sentence"]
    return (
        "No difference of a point or more between groups is significant at the same "
        f"class and size. {first['sentence']}"
    )


def sentence(row: Mapping) -> str:
    """Say in words what a row of `group_comparison.compare` shows."""
    is_false = row["measure"] == FALSE_POSITIVES
    start = "Where"
    if row["verdict"] == FOUND:
        is_worse = (row["difference"] > 0) == is_false
        start = "Worse where" if is_worse else "Better where"
    group = f"{row['attribute']} is {row['group']}"
    measure = row["measure"]
    if row["class"] != ALL_CLASSES:
        measure += f" of class {row['class']}"
    unit = "" if is_false else "%"
    verb = "are" if is_false else "is"
    text = (
        f"{start} {group}: {measure} {verb} {row['value']:.0f}{unit}, against "
        f"{row['others']:.0f}{unit} elsewhere."
    )
    if np.isnan(row["difference"]):
        return f"{text} The groups share too few similar boxes or images to compare."
    if row["verdict"] == EXPLAINED:
        text += " The class and size of the boxes may explain this gap."
    difference = "At the same class and size of the boxes, the difference"
    if is_false:
        difference = "The difference"
    return (
        f"{text} {difference} is {row['difference']:+.1f} (95% CI {row['low']:+.1f} to "
        f"{row['high']:+.1f}, adjusted p = {row['p']:.3f})."
    )
