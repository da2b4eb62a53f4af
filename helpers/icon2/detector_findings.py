"""Judge the gaps of a detector audit, and say in words what was found."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

LEVEL = 0.05
SMALLEST = 1.0  # points of recall or AP, below which a gap is not significant
FOUND = "significant"
EXPLAINED = "may be due to class or size"
NO_GAP = "not significant"
SCALE = (FOUND, EXPLAINED, NO_GAP)
ALL_POOLED = "all classes pooled"


def verdicts(is_significant: pd.Series, is_gap: pd.Series) -> np.ndarray:
    """Return one of three words for each row.

    Parameters
    ----------
    is_significant : bool Series
        Whether the difference is significant with size (and class) held fixed.
    is_gap : bool Series
        Whether the gap is significant if nothing is held fixed.
    """
    return np.select([is_significant, is_gap], [FOUND, EXPLAINED], NO_GAP)


def findings(pooled: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Say in a sentence what was found for each attribute, and for each of its classes.

    Parameters
    ----------
    pooled : pandas.DataFrame
        From `pooled_recall.by_group`. The most important group of each attribute gets
        a row: one with a significant difference, or else the one with the lowest
        recall.
    gaps : pandas.DataFrame
        From `group_gaps.gap_table`.

    Returns
    -------
    pandas.DataFrame
        First the rows of all classes pooled.
    """
    rank = pooled["verdict"].map(SCALE.index)
    ordered = pooled.assign(rank=rank).sort_values(["rank", "gap"])
    foremost = ordered.drop_duplicates("attribute")
    of_recall = foremost.rename(columns={"difference": "value"}).assign(
        measure=ALL_POOLED,
        name="difference of recall at the same class and size (points)",
        sentence=[recall_sentence(row) for row in foremost.to_dict("records")],
    )
    of_gaps = gaps.rename(columns={"gap": "value", "class": "measure"}).assign(
        name="gap in average precision (points)",
        sentence=[gap_sentence(row) for row in gaps.to_dict("records")],
    )
    table = pd.concat([of_recall, of_gaps], ignore_index=True)
    table = table.rename(columns={"attribute": "by"})
    table["finding"] = table["by"] + "/" + table["measure"]
    columns = ["finding", "name", "measure", "by", "value", "low", "high", "p"]
    return table[[*columns, "verdict", "sentence"]]


def headline(findings: pd.DataFrame) -> str:
    """Return the sentence of the most important row of the `findings`."""
    rank = findings["verdict"].map(SCALE.index)
    first = findings.loc[rank.idxmin()]
    if first["verdict"] == FOUND:
        return first["sentence"]
    return (
        "No difference of a point or more between groups is significant at the same "
        f"class and size. {first['sentence']}"
    )


def recall_sentence(row: Mapping) -> str:
    """Say in words what a row of `pooled_recall.by_group` shows."""
    group = f"{row['attribute']} is {row['group']}"
    recall = f"{row['recall']:.0f}%"
    others = f"{row['others']:.0f}% elsewhere"
    interval = (
        f"95% CI {row['low']:+.1f} to {row['high']:+.1f}, adjusted p = {row['p']:.3f}"
    )
    if row["verdict"] == FOUND:
        is_worse = row["difference"] < 0
        start = "Worse" if is_worse else "Better"
        direction = "lower" if is_worse else "higher"
        return (
            f"{start} where {group}: at the same class and size of the boxes, recall "
            f"is {abs(row['difference']):.1f} points {direction} ({interval}). Of all "
            f"boxes, {recall} are found there, against {others}."
        )
    text = f"Where {group}, {recall} of the boxes are found, against {others}."
    if np.isnan(row["difference"]):
        return (
            f"{text} The groups share too few boxes of the same class and size to say "
            "whether the detector is worse there."
        )
    if row["verdict"] == EXPLAINED:
        text += " The class and size of the boxes can explain this gap."
    return (
        f"{text} At the same class and size of the boxes, the difference is "
        f"{row['difference']:+.1f} points ({interval})."
    )


def gap_sentence(row: Mapping) -> str:
    """Say in words what a row of `group_gaps.gap_table` shows."""
    text = (
        f"{row['class']}, {row['attribute']}: AP {row['AP']:.1f} for {row['lowest']}, "
        f"{row['AP of highest']:.1f} for {row['highest']}; the gap is "
        f"{row['gap']:z.1f} points (95% CI {row['low']:z.1f} to {row['high']:z.1f})"
    )
    if row["verdict"] != NO_GAP and np.isfinite(row["remaining"]):
        text += f", of which {row['remaining']:z.1f} remain with box size held fixed"
    return f"{text}."
