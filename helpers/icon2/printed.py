"""What the paper prints, and what its printed numbers say when they are computed again."""

import numpy as np
import pandas as pd

from helpers import store
from helpers.icon2 import analysis

GROUPS = ["low", "middle", "high"]
ABOUT = [5, 2.5, 5]  # percentage points that "about" may be off: of 50, of 10, of 50


def read(name: str) -> pd.DataFrame:
    """A table of the paper: ``groups``, ``control``, ``ranking`` (Tables 1 to 3) or ``text``."""
    return pd.read_csv(store.root() / "data" / "paper" / f"icon2_{name}.csv")


def numbers() -> pd.DataFrame:
    """Every number of the paper's tables and of its section 4, and the same computed from others.

    Columns ``exhibit of quantity printed``; ``recomputed`` (from other printed numbers; NaN for
    what can only be transcribed); ``rounding`` (how far rounding lets the two be apart: half a unit
    of the last digit of each number that takes part, or what "about" allows); and ``fits``.
    """
    table = pd.concat([_table_1(), _tables_2_and_3(), _text()], ignore_index=True)
    off = (table.printed - table.recomputed).abs()
    return table.assign(fits=off.round(6) <= table.rounding)


def _table_1() -> pd.DataFrame:
    wide = read("groups").set_index("class").drop(columns="source")
    again = pd.DataFrame(np.nan, wide.index, wide.columns)
    again["sigma"] = analysis.sigma(wide[GROUPS].to_numpy())
    again.loc["all classes", ["overall", *GROUPS]] = wide.drop("all classes").mean()
    # three APs off by .05 each move their sigma by no more than .05 sqrt(3 / 2)
    rounding = {"sigma": 0.005 + 0.05 * np.sqrt(1.5)} | dict.fromkeys(["overall", *GROUPS], 0.1)
    long = wide.rename_axis("of").reset_index().melt("of", None, "quantity", "printed")
    long["recomputed"] = again.melt().value.to_numpy()
    return long.assign(exhibit="Table 1", rounding=long.quantity.map(rounding))


def _tables_2_and_3() -> pd.DataFrame:
    tables = {"Table 2": read("control"), "Table 3": read("ranking")}
    table = pd.concat(tables, names=["exhibit"]).reset_index("exhibit")
    table["of"] = table["class"] + ", " + table.attribute
    sigma = table["class"].map(read("groups").set_index("class").sigma)
    again = (sigma - table.controlled).set_axis(table.of)
    long = table.melt(
        ["exhibit", "of"], ["proxy_sigma", "controlled", "delta"], "quantity", "printed"
    )
    long["recomputed"] = long.of.map(again).where(long.quantity == "delta")
    return long.dropna(subset="printed").assign(rounding=0.015)


def _text() -> pd.DataFrame:
    table = read("text")
    long = table.rename(columns={"statement": "of", "value": "printed", "source": "exhibit"})
    rows = read("groups").set_index("class")
    first = read("control").query("rank == 1").set_index("class")
    gone = 100 * first.delta / rows.sigma
    mean = rows.drop("all classes")[GROUPS].mean()
    again = [*mean, np.nan, np.nan, *gone.loc[list(first.index)]]
    return long.assign(quantity="in the text", recomputed=again, rounding=[0.055] * 5 + ABOUT)


def formula_of_sigma() -> pd.DataFrame:
    """Table 1: sigma by both formulas beside the printed: ``class printed sample population``."""
    table = read("groups")
    sample = analysis.sigma(table[GROUPS].to_numpy())
    given = {"class": table["class"], "printed": table.sigma, "sample": sample}
    return pd.DataFrame(given | {"population": sample * np.sqrt(2 / 3)})
