"""What the paper's printed numbers say when they are computed again."""

from __future__ import annotations

import pandas as pd

from helpers.icon2 import formulas
from helpers.run import project

GROUPS = ["low", "middle", "high"]
LARGEST = "first has the largest Δ"
CORRELATION, GONE = "Spearman (5 attributes)", "share of σ gone"


def read(name: str) -> pd.DataFrame:
    """A table of the paper: ``groups``, ``control``, ``ranking`` or ``text``."""
    return pd.read_csv(project.root() / "data" / "paper" / f"icon2_{name}.csv")


def sigmas() -> pd.DataFrame:
    """Table 1: sigma of each row by both formulas, beside the printed one.

    Columns ``class printed sample population nearer``.
    """
    table = read("groups")
    ap = table[GROUPS].to_numpy()
    found = pd.DataFrame(
        {
            "class": table["class"],
            "printed": table.sigma,
            "sample": formulas.sigma(ap, 1),
            "population": formulas.sigma(ap, 0),
        }
    )
    off = found[["sample", "population"]].sub(found.printed, axis=0).abs()
    found["nearer"] = off.idxmin(axis=1)
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
    """Table 2: Delta computed from the printed sigmas, beside the printed one.

    ``rounding`` says whether rounding allows the difference: Delta and both sigmas are printed with
    two decimals, so each may be .005 off.
    """
    table = read("control").drop(columns="source")
    sigma = read("groups").set_index("class").sigma
    table["recomputed"] = (table["class"].map(sigma) - table.controlled).round(4)
    table["off"] = (table.delta - table.recomputed).round(4)
    table["rounding"] = table.off.abs() <= 3 * 0.005
    return table


def orders() -> pd.DataFrame:
    """Tables 2 and 3: is each class's column sorted? ``class source sorted``."""
    both = pd.concat([read("control"), read("ranking")])
    groups = both.groupby(["class", "source"], sort=False).proxy_sigma
    return groups.agg(sorted=lambda column: column.is_monotonic_decreasing).reset_index()


def foretold() -> pd.DataFrame:
    """Table 2: does a larger sigma of ProxyAP foretell a larger Delta? A row a class."""
    sigma, rows = read("groups").set_index("class").sigma, []
    for name, one in deltas().groupby("class", sort=False):
        rows.append(
            {
                "class": name,
                LARGEST: bool(one.delta.iloc[0] == one.delta.max()),
                CORRELATION: one.proxy_sigma.corr(one.delta, method="spearman"),
                GONE: one.delta.iloc[0] / sigma[name],
            }
        )
    return pd.DataFrame(rows)


def rising() -> list[str]:
    """Table 1: classes whose AP rises from low to middle to high income."""
    table = read("groups").set_index("class")
    return table.index[(table.low < table.middle) & (table.middle < table.high)].tolist()
