"""What the lessons say together: their tables as gaps, as tests of methods, and as remedies.

Nothing is computed again. The tables are those of a run's folder, or those of the stored lessons,
of which ``data/lessons`` keeps the few that are read here::

    python -m helpers.synthesis.gaps outputs/demo      writes data/lessons anew
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.run import artifacts, claims, lessons, project

COLUMNS = ["notebook", "asks", "lowest", "highest", "value", "low", "high", "p", "do"]
STORED = project.root() / "data" / "lessons"
QUESTIONS = pd.read_csv(project.root() / "data" / "questions.csv", keep_default_na=False)
TRUTHS = {  # tables in which a method was tried where the truth is known
    "05b_dose_and_worlds": "told-apart",
    "06b_focus_controls": "disconnected",
    "08b_deeper_icon2": "error-rates",
}
REMEDIES = ("05b_dose_and_worlds", "mitigation")
READ = {*zip(QUESTIONS["notebook"], QUESTIONS["table"], strict=True), *TRUTHS.items(), REMEDIES}


def tables(folder: Path | None = None) -> dict[tuple[str, str], pd.DataFrame]:
    """The tables of `READ` that there are, of a run's folder or (None) of the stored lessons."""
    where = STORED if folder is None else folder / "tables"
    paths = {(notebook, name): where / notebook / f"{name}.csv" for notebook, name in sorted(READ)}
    return {key: pd.read_csv(path) for key, path in paths.items() if path.is_file()}


def gap(rows: pd.DataFrame, by: str, value: str) -> pd.Series:
    """The widest difference between two groups, from each group's value and interval.

    The interval of a difference follows from both intervals (Zou and Donner, *Statistics in
    Medicine* 27, 2008). It is made wider for being the widest of all pairs (Bonferroni), as p is.

    Series: lowest and highest, the two groups; value, how far they are apart, with low and high,
    the ends of a 95% interval, 0 at least; and p, of no difference.
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
    for q in QUESTIONS.itertuples():
        table = found.get((q.notebook, q.table))
        if table is None:
            continue
        table = table.query(q.only) if q.only else table
        table = table.assign(group=table[q.groups.split()].agg(" beside ".join, axis=1))
        table = table.dropna(subset=q.value).drop_duplicates("group")
        if len(table) > 1:
            one = gap(table, "group", q.value)
            one["value":"high"] = (one["value":"high"] / q.whole).clip(upper=1)
            rows.append({"notebook": q.notebook, "asks": q.asks, **one, "do": q.do})
    every = pd.DataFrame(rows, columns=COLUMNS).assign(p_holm=lambda t: stats.adjust(t["p"]))
    return every.sort_values("value", ascending=False, ignore_index=True)


def tried(found: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """How methods did where the truth is known, with what knowing nothing gives.

    DataFrame: notebook, measure, method, value, low, high, chance.

    Of 05b the area under the roc curve between worlds with and without a planted context, of 06b
    the Focus of a network (DiFull) in which all relevance belongs on the right images, and of 08b
    the mean of two shares: of worlds with a cause in which a rule blames it, and of worlds without
    one in which it blames none (the balanced accuracy).
    """
    parts = []
    if (table := found.get(("05b_dose_and_worlds", "told-apart"))) is not None:
        table = table[table["trainings"] == table["trainings"].max()]
        names = table["method"] + ", " + table["quantity"] + ", " + table["reading"]
        about = {"notebook": "05b", "measure": "worlds with a planted context told apart"}
        parts.append(table.rename(columns={"auc": "value"}).assign(method=names, **about))
    if (table := found.get(("06b_focus_controls", "disconnected"))) is not None:
        about = {"notebook": "06b", "measure": "relevance on the right images"}
        parts.append(table.rename(columns={"name": "method", "DiFull": "value"}).assign(**about))
    if (table := found.get(("08b_deeper_icon2", "error-rates"))) is not None:
        cause = table["world"].isin(["scenes harder", "both"])
        table = table[table["outcome"] == np.where(cause, "hit", "false alarm")]
        right = table["times"].where(cause, table["of"] - table["times"])
        kinds = table.assign(times=right, cause=cause).groupby(["rule", "cause"], sort=False)
        both = kinds[["times", "of"]].sum()
        low, high = stats.wilson(both["times"], both["of"])
        both = both.assign(value=both["times"] / both["of"])
        spread = both.assign(down=both["value"] - low, up=high - both["value"]).groupby("rule")
        mean, off = spread["value"].mean(), spread[["down", "up"]].agg(np.linalg.norm) / 2
        ends = {"value": mean, "low": mean - off["down"], "high": mean + off["up"]}
        about = {"notebook": "08b", "measure": "worlds answered right, with and without a cause"}
        parts.append(pd.DataFrame(ends).rename_axis("method").reset_index().assign(**about))
    columns = ["notebook", "measure", "method", "value", "low", "high", "chance"]
    every = pd.DataFrame(columns=columns) if not parts else pd.concat(parts, ignore_index=True)
    return every.assign(chance=0.5).reindex(columns=columns)


def remedies(found: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """What each way of training leaves of the gap between contexts as they are and mixed ones.

    DataFrame: training, and the columns of :func:`gap`; empty where 05b has not run.
    """
    if (table := found.get(REMEDIES)) is None:
        return pd.DataFrame()
    table = table[table["test_set"].isin(["C", "C, mixed"])]
    both = table.groupby("model").filter(lambda part: len(part) == 2).groupby("model")
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
        down = np.hypot(before["value"] - before["low"], after["high"] - after["value"])
        up = np.hypot(before["high"] - before["value"], after["value"] - after["low"])
        found.append(claims.Estimate("suite/synthesis/remedy", (less, less - down, less + up)))
    return found


def main(folder: str) -> None:
    """Keep the tables of a run as those of the stored lessons."""
    for (notebook, name), table in tables(Path(folder)).items():
        artifacts.write_text(STORED / notebook / f"{name}.csv", table.to_csv(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
