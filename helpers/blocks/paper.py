"""Table 1 of the paper, its report of section 5.2, and the toolkits' results on examples."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from helpers import store
from helpers.blocks import blocks, chance, counts
from helpers.blocks.counts import Table
from helpers.blocks.report import KEYS, Report

TABLE_1 = {  # its rows but ib: the four blocks of each; F_bias and wcb take any F, here acc
    "|dfpr|": ("fpr", "compl", "sabs", "max"),
    "|dfnr|": ("fnr", "compl", "sabs", "max"),
    "|deo|": ("tpr", "compl", "sabs", "max"),
    "spsf": ("pr", "vsany", "abs", "wmean"),
    "fpsf": ("fpr", "vsany", "abs", "wmean"),
    "cv": ("pr", "compl", "sabs", "max"),
    "1 - prule": ("pr", "compl", "srel", "max"),
    "db": ("pr", "pairs", "srel", "max"),
    "F_bias": ("acc", "vsany", "abs", "max"),
    "wcb": ("acc", "pairs", "srel", "max"),
}
FIGURE_1 = {  # columns of FairBench's report, and the blocks that they are
    "min": (blocks.alone, "none", "min"),
    "wmean": (
        blocks.with_everyone,
        "none",
        "wmean_normalised",
    ),  # everyone (*Any*) is one more
    "gini": (blocks.with_everyone, "none", "gini"),
    "minratio": ("pairs", "srel", "max"),  # is 1 less the cell
    "maxdiff": ("pairs", "abs", "max"),
    "minratio[vsAny]": (blocks.alone, "srel", "max"),
    "maxdiff[vsAny]": ("vsany", "abs", "max"),
}


def _of_all(kinds, mass, cell):
    """Of all rows, not of the negatives or positives alone, the share in one cell of counts."""
    return blocks.ratio(counts.confusion(kinds, mass)[..., cell], mass.sum(-1))


ROWS = {"accuracy": "acc", "pr": "pr", "tpr": "tpr", "tnr": "tnr"} | {
    name: blocks.Measure(name, {"y_pred", "y_true"}, partial(_of_all, cell=cell))
    for name, cell in {"frr": blocks.FN, "far": blocks.FP}.items()
}


def by_name(
    data: Table, name: str, group: str | None = None, wmean: Callable = chance.wmean
) -> float:
    """A measure of Table 1 by its printed name. Those of one group and its complement are of
    `group`, or the largest over all groups (Equation 8). Lesson 09 passes its own `wmean`."""
    counts.known("measure", TABLE_1, name)
    of, which, comparison, reduction = TABLE_1[name]
    if group is not None and which == "compl":
        at = np.array([data.groups.place(group)])
        which = lambda g: blocks.both_ways(at, g + 1 + at)  # noqa: E731
    return blocks.bias(data, of, which, comparison, reduction, wmean=wmean)


def table_1(
    data: Table, group: str | None = None, wmean: Callable = chance.wmean
) -> pd.DataFrame:
    """The rows of Table 1 with the blocks they are made of; `group` as in `by_name`."""
    rows = [
        [name, by_name(data, name, group, wmean), *of] for name, of in TABLE_1.items()
    ]
    columns = ["measure", "value", "base", "set", "comparison", "reduction"]
    return pd.DataFrame(rows, columns=columns)


def figure_1(data: Table) -> pd.DataFrame:
    """FairBench's report of a table by our blocks: its rows, its columns but those of curves."""
    values = {
        name: [blocks.bias(data, of, *cell) for of in ROWS.values()]
        for name, cell in FIGURE_1.items()
    }
    table = pd.DataFrame(values, index=[*ROWS])
    return table.assign(**{name: 1 - table[name] for name in table if "ratio" in name})


def with_chance(observed: Report) -> pd.DataFrame:
    """`figure_1` of a report in long form: gaps with their `size`, and p `corrected` by minP."""
    rows = []
    for of, column in itertools.product(observed.sample.grid.measures, FIGURE_1):
        cell, gap = FIGURE_1[column], column.startswith(("max", "minr"))
        value = blocks.bias(observed.sample.data, of, *cell)
        known = (
            observed.cell(of.name, blocks.name_of(cell[0]), *cell[1:]) if gap else {}
        )
        best = (
            ("1" if "ratio" in column else "0") + " is best" if gap else "value itself"
        )
        row = {"measure": of.name, "column": column, "best": best, "gap": gap}
        row |= {"value": 1 - value if "ratio" in column else value}
        row |= {
            "size": value if gap else np.nan,
            "corrected": known.get("p_minp", np.nan),
        }
        rows.append(row)
    return pd.DataFrame(rows)


# --- tables and answers of the toolkits, in data/toolkits ---

FOLDER = "data/toolkits"


def tables() -> dict[str, pd.DataFrame]:
    """Rows of every example in `data/toolkits`: group, y_true, and y_pred or y_score."""
    held, scores = (_read(name) for name in ("blocks_examples", "blocks_scores"))
    held = held.melt(["example", "group"], list(counts.CELLS), "cell", "rows")
    cell = held.pop("cell").map(counts.CELLS.index)
    held = held.assign(y_pred=cell // 2, y_true=cell % 2)
    rows = [
        of.loc[of.index.repeat(of["rows"])].drop(columns="rows")
        for of in (held, scores)
    ]
    every = [pair for of in rows for pair in of.groupby("example", sort=False)]
    return {
        name: part.drop(columns="example").reset_index(drop=True)
        for name, part in every
    }


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(store.root() / FOLDER / f"{name}.csv")


def counted(example: pd.DataFrame) -> Table:
    """Count an example's rows in a table."""
    return counts.table(example["group"], **example.drop(columns="group"))


def answers() -> pd.DataFrame:
    """Return recorded results of the toolkits, next to ours, and whether they agree."""
    table = _read("blocks_answers")
    data = {name: counted(example) for name, example in tables().items()}
    cells = zip(table["example"], table[KEYS].to_numpy(), strict=True)
    table["ours"] = [blocks.bias(data[example], *cell) for example, cell in cells]
    same = np.isclose(table["theirs"], table["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return table.assign(agree=same)
