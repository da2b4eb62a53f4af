"""What the lessons say together: their tables as gaps, as tests of methods, and as remedies.

Nothing is computed again. The tables are those of a run's folder, or those of the stored lessons,
of which ``data/lessons`` keeps the few that are read here::

    python -m helpers.synthesis.gaps outputs/demo      writes data/lessons anew
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.run import artifacts, claims, lessons, project

COLUMNS = ["notebook", "asks", "lowest", "highest", "value", "low", "high", "p", "do"]
STORED = project.root() / "data" / "lessons"
PERFECT = "DiFull"  # the network in which the right explanation is known


class Question(NamedTuple):
    """A table with a value of each group, and what to do about a wide gap between two of them."""

    notebook: str
    table: str
    asks: str
    by: tuple[str, ...]  # the columns of the groups
    value: str  # its interval is in <value>_low and <value>_high, or in low and high
    do: str
    only: str = ""  # a query of the rows that are meant
    whole: float = 1  # what stands for all, such as 100 where shares are per cent


QUESTIONS = (
    Question(
        "02_cross_evaluation", "accuracy", "Does the model need the background?",
        ("test_set",), "accuracy", "train with each object in several contexts", "train_set == 'C'",
    ),
    Question(
        "03_contextualized_mosaics", "table1", "Which context outscores which object?",
        ("object_class", "context_class"), "flip_share",
        "ask 03b whether the context is strong or the object weak",
    ),
    Question(
        "06_focus_rating", "pooled", "Does it matter which explanation is read?",
        ("method",), "mean", "read the highest, and check it with the controls of 06b",
    ),
    Question(
        "07_focus_bias_pairs", "pairs", "Which two classes are confused?",
        ("target", "outer"), "focus", "look what both classes show in the lowest pair's mosaics",
    ),
    Question(
        "08_icon2", "table-1-groups", "Is the detector worse where income is low?",
        ("value",), "AP", "hold the attribute fixed that ranks first, then blame the detector",
        "`class` == 'car'", 100,
    ),
    Question(
        "09b_deeper_blocks", "real-frames", "Is a time of day served worse, scenes alike?",
        ("group",), "adjusted", "collect more frames of that time, of every scene",
        "panel == 'time'",
    ),
)  # fmt: skip
TRUTHS = {  # tables in which a method was tried where the truth is known
    "05b_dose_and_worlds": "told-apart",
    "06b_focus_controls": "disconnected",
    "08b_deeper_icon2": "error-rates",
}
REMEDIES = ("05b_dose_and_worlds", "mitigation")
READ = {(q.notebook, q.table) for q in QUESTIONS} | set(TRUTHS.items()) | {REMEDIES}


def tables(folder: Path | None = None) -> dict[tuple[str, str], pd.DataFrame]:
    """The tables of `READ` that there are, of a run's folder or (None) of the stored lessons."""
    where = STORED if folder is None else folder / "tables"
    paths = {(notebook, name): where / notebook / f"{name}.csv" for notebook, name in sorted(READ)}
    return {key: pd.read_csv(path) for key, path in paths.items() if path.is_file()}


def gap(rows: pd.DataFrame, by: str, value: str) -> pd.Series:
    """The widest difference between two groups, from each group's value and interval.

    The interval of a difference follows from both intervals (Zou and Donner, *Statistics in
    Medicine* 27, 2008). It is made wider for being the widest of all pairs (Bonferroni), as p is.

    Returns
    -------
    Series
        lowest, highest : the two groups
        value, low, high : how far they are apart, with the ends of a 95% interval, 0 at least
        p : of no difference
    """
    own = f"{value}_low", f"{value}_high"
    ends = own if own[0] in rows else ("low", "high")
    rows = rows.sort_values(value)
    (a, a_low, a_high), (b, b_low, b_high) = rows[[value, *ends]].to_numpy(float)[[0, -1]]
    pairs, z = len(rows) * (len(rows) - 1) / 2, scipy.stats.norm.isf(0.025)
    down, up = np.hypot(a_high - a, b - b_low), np.hypot(a - a_low, b_high - b)
    wider = scipy.stats.norm.isf(0.025 / pairs) / z
    p = 2 * pairs * scipy.stats.norm.sf(z * (b - a) / down) if down else float(a == b)
    found = {"value": b - a, "low": max(b - a - wider * down, 0), "high": b - a + wider * up}
    first, last = rows[by].iloc[[0, -1]]
    return pd.Series({"lowest": first, "highest": last} | found | {"p": min(p, 1)})


def gaps(found: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The widest gap of each of `QUESTIONS` that the tables answer, the widest first.

    DataFrame: notebook, asks, the columns of :func:`gap`, do, and p_holm (over the questions).
    """
    rows = []
    for question in QUESTIONS:
        table = found.get((question.notebook, question.table))
        if table is None:
            continue
        table = table.query(question.only) if question.only else table
        table = table.assign(group=table[list(question.by)].agg(" beside ".join, axis=1))
        table = table.dropna(subset=question.value).drop_duplicates("group")
        if len(table) > 1:
            one = gap(table, "group", question.value)
            one["value":"high"] = (one["value":"high"] / question.whole).clip(upper=1)
            rows.append(
                {"notebook": question.notebook, "asks": question.asks, **one} | {"do": question.do}
            )
    every = pd.DataFrame(rows, columns=COLUMNS).assign(p_holm=lambda t: stats.adjust(t["p"]))
    return every.sort_values("value", ascending=False, ignore_index=True)


def tried(found: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """How methods did where the truth is known, with what knowing nothing gives.

    DataFrame: notebook, measure, method, value, low, high, chance.

    Of 05b the area under the roc curve between worlds with and without a planted context, of 06b
    the Focus of a network in which all relevance belongs on the right images, and of 08b the share
    of planted worlds in which a rule blames an attribute that is a cause, or rightly none.
    """
    parts = []
    if (table := found.get(("05b_dose_and_worlds", "told-apart"))) is not None:
        table = table[table["trainings"] == table["trainings"].max()]
        names = table["method"] + ", " + table["quantity"] + ", " + table["reading"]
        about = {
            "notebook": "05b",
            "measure": "worlds with a planted context told apart",
            "method": names,
        }
        parts.append(table.rename(columns={"auc": "value"}).assign(**about))
    if (table := found.get(("06b_focus_controls", "disconnected"))) is not None:
        about = {"notebook": "06b", "measure": "relevance on the right images"}
        named = table.rename(columns={"name": "method", PERFECT: "value"})
        parts.append(named.assign(**about))
    if (table := found.get(("08b_deeper_icon2", "error-rates"))) is not None:
        cause = table["world"].isin(["scenes harder", "both"])
        table = table[table["outcome"] == np.where(cause, "hit", "false alarm")]
        right = table["times"].where(cause, table["of"] - table["times"])
        table = table.assign(times=right, yes=table["of"].where(cause, 0))
        table = table.groupby("rule", sort=False)[["times", "of", "yes"]].sum()
        low, high = stats.wilson(table["times"], table["of"])
        about = {"notebook": "08b", "measure": "worlds answered right", "method": table.index}
        ends = {"value": table["times"] / table["of"], "low": low, "high": high}
        always = table["yes"] / table["of"]
        ends["chance"] = np.maximum(always, 1 - always)  # of a rule that always says the same
        parts.append(table.assign(**about, **ends))
    columns = ["notebook", "measure", "method", "value", "low", "high", "chance"]
    every = pd.DataFrame(columns=columns) if not parts else pd.concat(parts, ignore_index=True)
    return every.reindex(columns=columns).fillna({"chance": 0.5})


def remedies(found: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """What each way of training leaves of the gap between contexts as they are and mixed ones.

    DataFrame: training, and the columns of :func:`gap`; empty where 05b has not run.
    """
    table = found.get(REMEDIES)
    if table is None:
        return pd.DataFrame()
    table = table[table["test_set"].isin(["C", "C, mixed"])]
    both = [(name, part) for name, part in table.groupby("model") if len(part) == 2]
    every = [{"training": name, **gap(part, "test_set", "accuracy")} for name, part in both]
    return pd.DataFrame(every)


def verdicts(folder: Path | None = None) -> pd.DataFrame:
    """How each notebook's claims were judged, in a run or (None) in the stored lessons."""
    if folder is None:
        names = sorted(path.stem for path in lessons.NOTEBOOKS.glob("0[1-9]*.ipynb"))
        every = [lessons.verdicts(name).assign(notebook=name) for name in names]
        judged = pd.concat(every, ignore_index=True)
    else:
        judged = claims.scorecard(folder)
    return pd.crosstab(judged["notebook"], judged["verdict"]).rename_axis(columns=None)


def estimates(widest: pd.DataFrame, left: pd.DataFrame) -> list[claims.Estimate]:
    """What notebook 09c measures for its claims, from `gaps` and `remedies`."""
    found, by = [], left.set_index("training") if len(left) else left
    if len(widest):
        top = widest.iloc[0]
        ends = tuple(top[["value", "low", "high"]])
        found.append(claims.Estimate("suite/blocks/widest", ends, p=top["p_holm"]))
    if {"model-C", "other contexts"} <= set(by.index):
        before, after = by.loc["model-C"], by.loc["other contexts"]
        less = before["value"] - after["value"]
        down = before["value"] - before["low"], after["high"] - after["value"]
        up = before["high"] - before["value"], after["value"] - after["low"]
        ends = less - np.hypot(*down), less + np.hypot(*up)
        found.append(claims.Estimate("suite/synthesis/remedy", (less, *ends)))
    return found


def main(folder: str) -> None:
    """Keep the tables of a run as those of the stored lessons."""
    for (notebook, name), table in tables(Path(folder)).items():
        artifacts.write_text(STORED / notebook / f"{name}.csv", table.to_csv(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
