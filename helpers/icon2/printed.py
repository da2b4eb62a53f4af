"""What the paper's printed numbers say when they are computed again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import project
from helpers.icon2 import statistics

GROUPS = ["low", "middle", "high"]
ROUNDING = {"groups": 0.05, "sigma": 0.005, "delta": 0.005}  # half a unit of the last digit


def read(name: str) -> pd.DataFrame:
    """A table of the paper: ``groups``, ``control``, ``ranking`` or ``text``."""
    return pd.read_csv(project.root() / "data" / "paper" / f"icon2_{name}.csv")


def sigmas() -> pd.DataFrame:
    """Table 1: sigma of each row by both formulas, beside the printed one.

    Columns ``class printed sample population nearer within_rounding``: the last says whether the
    sample formula can give the printed number from some APs that round to the printed ones.
    """
    table = read("groups")
    ap = table[GROUPS].to_numpy()
    found = pd.DataFrame(
        {
            "class": table["class"],
            "printed": table.sigma,
            "sample": statistics.sigma(ap, 1),
            "population": statistics.sigma(ap, 0),
        }
    )
    off = found[["sample", "population"]].sub(found.printed, axis=0).abs()
    found["nearer"] = off.idxmin(axis=1)
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * ROUNDING["groups"]
    reach = statistics.sigma(ap[:, None, :] + corners, 1)
    low, high = reach.min(1) - ROUNDING["sigma"], reach.max(1) + ROUNDING["sigma"]
    found["within_rounding"] = (found.printed >= low) & (found.printed <= high)
    return found


def averages() -> pd.DataFrame:
    """Table 1: the row "All Classes" beside the mean of the eight class rows."""
    table = read("groups").set_index("class")
    columns = ["overall", *GROUPS]
    return (
        pd.DataFrame(
            {
                "printed": table.loc["all classes", columns].astype(float),
                "mean of the classes": table.drop("all classes")[columns].mean(),
            }
        )
        .rename_axis("column")
        .reset_index()
    )


def deltas() -> pd.DataFrame:
    """Table 2: Delta computed from the printed sigmas, beside the printed one."""
    table = read("control").drop(columns="source")
    sigma = read("groups").set_index("class").sigma
    table["recomputed"] = (table["class"].map(sigma) - table.controlled).round(4)
    table["off"] = (table.delta - table.recomputed).round(4)
    return table


def orders() -> pd.DataFrame:
    """Tables 2 and 3: is each column sorted, and is the printed first the largest?

    Columns ``class source sorted first largest``.
    """
    both = pd.concat([read("control"), read("ranking")])
    rows = []
    for name, one in both.groupby("class", sort=False):
        values = one.proxy_sigma.to_numpy()
        rows.append(
            {
                "class": name,
                "source": one.source.iloc[0],
                "sorted": bool((np.diff(values) <= 0).all()),
                "first": one.attribute.iloc[0],
                "largest": one.attribute.iloc[int(values.argmax())],
            }
        )
    return pd.DataFrame(rows)


def foretold() -> pd.DataFrame:
    """Table 2: does a larger sigma of ProxyAP foretell a larger Delta?

    Columns ``class top_is_best correlation share_gone``: Spearman's over the five attributes, and
    the share of sigma that controlling for the first one takes away.
    """
    table, rows = deltas(), []
    sigma = read("groups").set_index("class").sigma
    for name, one in table.groupby("class", sort=False):
        rank = one[["proxy_sigma", "delta"]].rank()
        rows.append(
            {
                "class": name,
                "top_is_best": bool(one.delta.iloc[0] == one.delta.max()),
                "correlation": rank.proxy_sigma.corr(rank.delta),
                "share_gone": one.delta.iloc[0] / sigma[name],
            }
        )
    return pd.DataFrame(rows)


def foretold_in_words() -> pd.DataFrame:
    """:func:`foretold` for reading: rounded, its columns in words."""
    words = {
        "top_is_best": "first has the largest Δ",
        "correlation": "Spearman (5 attributes)",
        "share_gone": "share of σ gone",
    }
    return foretold().round(2).rename(columns=words)


def rising() -> list[str]:
    """Table 1: classes whose AP rises from low to middle to high income."""
    table = read("groups").set_index("class")
    return table.index[(table.low < table.middle) & (table.middle < table.high)].tolist()
