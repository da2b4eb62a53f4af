"""What the paper's printed numbers say when they are computed again."""

import numpy as np
import pandas as pd

from helpers.icon2 import formulas
from helpers.run import project

GROUPS = ["low", "middle", "high"]
LARGEST = "first has the largest Δ"
CORRELATION, GONE = "Spearman (5 attributes)", "share of σ gone"


def read(name: str) -> pd.DataFrame:
    """A table of the paper: ``groups``, ``control`` or ``ranking`` (Tables 1 to 3)."""
    return pd.read_csv(project.root() / "data" / "paper" / f"icon2_{name}.csv")


def sigmas() -> pd.DataFrame:
    """Table 1: sigma of each row by both formulas, beside the printed one.

    Columns ``class printed sample population nearer``.
    """
    table = read("groups")
    found = table[["class", "sigma"]].rename(columns={"sigma": "printed"})
    found["sample"] = formulas.sigma(table[GROUPS].to_numpy())
    found["population"] = np.std(table[GROUPS].to_numpy(), axis=1)
    off = found[["sample", "population"]].sub(found.printed, axis=0).abs()
    return found.assign(nearer=off.idxmin(axis=1))


def averages() -> pd.DataFrame:
    """Table 1: the row "All Classes" beside the mean of the eight class rows."""
    table = read("groups").set_index("class")[["overall", *GROUPS]]
    both = {
        "printed": table.loc["all classes"].astype(float),
        "mean of the classes": table.drop("all classes").mean(),
    }
    return pd.DataFrame(both).rename_axis("column").reset_index()


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


def foretold() -> pd.DataFrame:
    """Table 2: does a larger sigma of ProxyAP foretell a larger Delta? A row a class."""
    sigma = read("groups").set_index("class").sigma
    return pd.DataFrame(
        {
            "class": name,
            LARGEST: bool(one.delta.iloc[0] == one.delta.max()),
            CORRELATION: one.proxy_sigma.corr(one.delta, method="spearman"),
            GONE: one.delta.iloc[0] / sigma[name],
        }
        for name, one in deltas().groupby("class", sort=False)
    )


def rising() -> list[str]:
    """Table 1: classes whose AP rises from low to middle to high income."""
    table = read("groups").set_index("class")
    return table.index[(table.low < table.middle) & (table.middle < table.high)].tolist()
