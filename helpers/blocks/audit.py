"""From a table of predictions to one page: who is in it, whose rates differ, and what is not known.

    python -m helpers.blocks.audit predictions.csv --sensitive race,sex --out audit.html

No network is loaded. `tally` counts the table, the rest follows from the counts.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import blocks, counts, evidence, report, tally
from helpers.blocks.tally import Tally

ASKED = ("pr", "tpr", "fpr", "ppv", "npv", "acc", "score", "calibration", "auc", "prevalence")
"""Measures of the page; fnr, tnr and error are what is left of tpr, fpr and acc."""
WORDS = {
    "pr": "positive rate",
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "ppv": "precision",
    "npv": "negative predictive value",
    "acc": "accuracy",
    "score": "mean score",
    "calibration": "calibration error",
    "auc": "area under the roc curve",
    "prevalence": "share of positive labels",
}
MEANS = {
    "pr": "of all rows, those predicted positive",
    "tpr": "of the positives, those predicted positive",
    "fpr": "of the negatives, those predicted positive",
    "ppv": "of those predicted positive, the positives",
    "npv": "of those predicted negative, the negatives",
    "acc": "of all rows, those predicted right",
    "score": "the mean of the scores",
    "calibration": "how far scores are from shares of positives, in ten bins",
    "auc": "how often a positive has a higher score than a negative",
    "prevalence": "of all rows, those with a positive label",
}
FEW = 30  # rows of a group below which its rates say little
WIDEST = 5
LEVEL = 0.05
WORK = 20_000_000  # draws x rows, where rows are drawn
GAP = (["pairs"], ["abs"], ["max"])


@dataclass
class Audit:
    """What the page shows, as tables.

    Attributes
    ----------
    who : attribute, group, rows, share
    rates : attribute, group, measure, n, value, low, high
    gaps, fixed : measure, attribute, value, low, high, p, p_holm, group_i, group_j, f_i, f_j, the
        widest first; `fixed` with the strata held fixed
    ratios : attribute, smallest and largest (groups), value, low, high, verdict; the smallest
        positive rate over the largest
    intersections : group, measure, n, value, low, high, of all attributes at once
    unsaid, how : sentences
    """

    name: str
    counted: Tally
    limit: float
    difference: float | None
    who: pd.DataFrame
    rates: pd.DataFrame
    gaps: pd.DataFrame
    fixed: pd.DataFrame
    ratios: pd.DataFrame
    intersections: pd.DataFrame
    unsaid: list[str] = field(default_factory=list)
    how: list[str] = field(default_factory=list)

    @property
    def html(self) -> str:
        """The page: one file that needs no other."""
        from helpers.figures import blocks as figures

        folder = jinja2.FileSystemLoader(Path(__file__).parent)
        environment = jinja2.Environment(loader=folder, trim_blocks=True, autoescape=True)
        environment.filters |= {"p": _p, "number": "{:,.0f}".format, "share": "{:.3f}".format}
        picture = figures.svg(figures.audit(self.rates, WORDS))
        known = {"words": WORDS, "means": MEANS, "picture": picture, "widest": WIDEST}
        return environment.get_template("audit.html.jinja").render(audit=self, **known)

    def _repr_html_(self) -> str:
        return self.html


def make(
    counted: Tally,
    name: str = "the table",
    *,
    limit: float = 0.8,
    difference: float | None = None,
    draws: int = report.DRAWS,
    seed: int = 0,
) -> Audit:
    """Everything the page says about a tally.

    Parameters
    ----------
    limit : the smallest accepted ratio of two groups' positive rates; four fifths by default
    difference : the largest accepted difference of two groups, of any measure; None for none
    draws : of the intervals and of the nulls; fewer where rows have to be drawn and are many
    """
    by = {name: _table(counted, [name]) for name in counted.columns.sensitive_features}
    by = {name: data for name, data in by.items() if data is not None}
    if not by:
        raise ValueError("each group column has one value only: there is nothing to compare")
    unsaid = [f"{WORDS[of]}: it needs {what}." for of, what in _lacking(next(iter(by.values())))]
    resampling = {"draws": draws, "seed": seed}
    every = [_gaps(data, attribute, unsaid, **resampling) for attribute, data in by.items()]
    fixed = []
    for attribute in by if counted.columns.strata else ():
        data = _table(counted, [attribute], fixed=True)
        fixed.append(_gaps(data, attribute, unsaid, **resampling))
    ratios = [
        _ratio(data, a, limit, **resampling) for a, data in by.items() if "y_pred" in data.has
    ]
    joint = _table(counted, list(by), "joint") if len(by) > 1 else None
    found = Audit(
        name=name,
        counted=counted,
        limit=limit,
        difference=difference,
        who=pd.concat([_who(counted, attribute) for attribute in by], ignore_index=True),
        rates=pd.concat([_rates(d, a, **resampling) for a, d in by.items()], ignore_index=True),
        gaps=_judged(every, difference),
        fixed=_judged(fixed, difference),
        ratios=pd.DataFrame(ratios),
        intersections=pd.DataFrame() if joint is None else _intersections(joint),
    )
    found.unsaid = [*dict.fromkeys(unsaid), *_unsaid(found)]
    found.how = _how(found, draws)
    return found


def _table(counted: Tally, by: list[str], intersect="each", fixed=False) -> counts.Table | None:
    """The table of some group columns; None where a column has one value."""
    several = (counted.rows[by].nunique() > 1).all()
    return counted.table(by, intersect, fixed) if several else None


def _lacking(data: counts.Table) -> list[tuple[str, str]]:
    return [(of, what) for of, what in blocks.lacking(data).items() if of in ASKED]


def _measures(data: counts.Table) -> list[str]:
    """The measures of the page that a table has the columns for; with strata rates only."""
    lacking = blocks.lacking(data)
    held = [of for of in ASKED if of not in lacking]
    return [of for of in held if of in blocks.SHARES or data.strata is None]


def _who(counted: Tally, attribute: str) -> pd.DataFrame:
    rows = counted.rows.groupby(attribute)["times"].sum()
    found = {"attribute": attribute, "group": rows.index, "rows": rows, "share": rows / rows.sum()}
    return pd.DataFrame(found)


def _affordable(data: counts.Table, draws: int) -> int:
    """The draws asked for, or as many as take seconds where rows have to be drawn."""
    return max(99, min(draws, WORK // len(data)))


def _rates(data: counts.Table, attribute: str, draws: int, seed: int) -> pd.DataFrame:
    """Every measure of every group with its interval."""
    measures, parts = _measures(data), []
    for of in measures:
        if of in blocks.SHARES:
            parts.append(report.rates(data, of).assign(measure=of))
    others = [of for of in measures if of not in blocks.SHARES]
    if others:
        grid = blocks.grid_of(data, others, [blocks.alone], ["none"], ["max"])
        seen, groups = blocks.drawn(data, grid), len(data.groups)
        ends = evidence.of_groups(data, grid, _affordable(data, draws), seed)
        for of in others:
            low, high = ends[of][:, :groups]
            column = {"value": seen.f[of][..., :groups], "low": low, "high": high, "measure": of}
            n = [int(data.number[data.groups.rows(g)].sum()) for g in data.groups.names]
            parts.append(pd.DataFrame({"group": data.groups.names, "n": n, **column}))
    return pd.concat(parts, ignore_index=True).assign(attribute=attribute)


def _gaps(data: counts.Table, attribute: str, unsaid: list, draws: int, seed: int) -> pd.DataFrame:
    """The widest difference between two groups, by measure, with its evidence."""
    measures = _measures(data)
    rates = [of for of in measures if of in blocks.SHARES]
    parts = []
    for names in (rates, [of for of in measures if of not in rates]):
        if not names:
            continue
        drawn = draws if names is rates and data.clusters is None else _affordable(data, draws)
        shuffled = drawn
        if data.clusters is not None and data.number.sum() > evidence.MOST_ROWS:
            shuffled = 0
            unsaid.append("p values: rows in clusters are too many to be exchanged one by one.")
        elif data.clusters is not None:
            shuffled = max(99, min(drawn, WORK // int(data.number.sum())))
        options = {"bootstrap": drawn, "permutations": shuffled, "seed": seed}
        cells = report.make(data, names, *GAP, **options).cells
        cells = cells if shuffled else cells.assign(p=np.nan)
        parts.append(cells.assign(attribute=attribute, shuffles=shuffled))
    return pd.concat(parts, ignore_index=True)


def _judged(every: list[pd.DataFrame], difference: float | None) -> pd.DataFrame:
    """All gaps, the widest first, with p values corrected for all of them (Holm)."""
    if not every:
        return pd.DataFrame()
    found = pd.concat(every, ignore_index=True).dropna(subset=["value"])
    found["p_holm"] = stats.adjust(found["p"])
    if difference is not None:
        found["verdict"] = _verdicts(found["low"] > difference, found["high"] <= difference)
    return found.sort_values("value", ascending=False, ignore_index=True, kind="stable")


def _ratio(data: counts.Table, attribute: str, limit: float, draws: int, seed: int) -> dict:
    """The smallest positive rate over the largest, with its interval and verdict."""
    options = {"bootstrap": draws, "permutations": 0, "seed": seed}
    cell = report.make(data, ["pr"], ["pairs"], ["srel"], ["max"], **options).cells.loc[0]
    low, high = (float(np.clip(1 - cell[end], 0, 1)) for end in ("high", "low"))
    [verdict] = _verdicts(np.array([high < limit]), np.array([low >= limit]))
    found = {"attribute": attribute, "smallest": cell["group_i"], "largest": cell["group_j"]}
    return found | {"value": 1 - cell["value"], "low": low, "high": high, "verdict": verdict}


def _verdicts(fails, passes) -> np.ndarray:
    return np.where(fails, "fails", np.where(passes, "passes", "undecided"))


def _intersections(data: counts.Table) -> pd.DataFrame:
    """Rates of all intersections, from the least to the most."""
    of = next(of for of in ("acc", "pr", "prevalence", None) if of in (None, *_measures(data)))
    if of is None:
        return pd.DataFrame()
    found = report.rates(data, of).assign(measure=of)
    return found.sort_values("value", ignore_index=True, kind="stable")


def _unsaid(found: Audit) -> list[str]:
    """What the table cannot say, beside measures without columns."""
    small = found.who[found.who["rows"] < FEW]
    sentences = [
        f"{row.attribute} = {row.group}: {row.rows} rows are too few to say much."
        for row in small.itertuples()
    ]
    empty = found.rates[found.rates["value"].isna()]
    sentences += [
        f"The {WORDS[row.measure]} of {row.attribute} = {row.group}: it has no row that counts."
        for row in empty.itertuples()
    ]
    open_ = found.gaps[found.gaps["p_holm"] > LEVEL]
    if len(open_):
        sentences.append(
            f"{len(open_)} of {len(found.gaps)} gaps are not told from chance. That is no proof "
            "that there are none: their intervals say how large they may be."
        )
    if not found.counted.columns.strata:
        sentences.append(
            "Whether a gap comes from another mix of cases in the groups: no strata were given."
        )
    return [*sentences, "Whether a gap is unfair, and to whom: no number says that."]


def _how(found: Audit, draws: int) -> list[str]:
    columns, tested = found.counted.columns, found.gaps.dropna(subset=["p"])
    said = [f"{name} is {role}" for role, name in columns.roles.items()]
    sentences = [
        f"Columns: {', '.join(said)}.",
        "Intervals are of 95%. Rates have Wilson's, gaps and ratios those of a bootstrap "
        f"({draws:,} draws, or fewer where rows have to be drawn one by one) that knows that the "
        "widest of many gaps is too wide by chance.",
    ]
    if len(tested):
        fewest = tested["shuffles"].min()
        lowest = min(1, len(tested) / (fewest + 1))
        sentences.append(
            "p says how often groups that are shuffled show as wide a gap; p corrected is Holm's, "
            f"over all {len(tested)} gaps. {fewest:,} shuffles cannot show a p below "
            f"{1 / (fewest + 1):.3g}, nor a corrected one below {lowest:.2g} for the first gap."
        )
    if columns.cluster:
        sentences.append(f"Rows of one {columns.cluster} are drawn and exchanged together.")
    if found.counted.steps:
        step = 1 / found.counted.steps
        off = (
            blocks.auc_error(found.counted.table(columns.sensitive_features[:1])).max()
            if columns.y_true
            else 0
        )
        sentences.append(
            f"Scores were counted in steps of {step:g}: mean scores are off by {step / 2:g} at most"
            + (f", areas under the roc curve by {off:.2g}." if columns.y_true else ".")
        )
    return sentences + list(found.counted.notes)


def _p(value: float) -> str:
    if np.isnan(value):
        return "not tested"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def write(path: str, out: str | Path, *, options: dict, **given) -> Audit:
    """Count a table and write its page to `out`: `given` is for `tally.of_file`, `options` for
    `make`."""
    found = make(tally.of_file(path, **given), Path(path).name, **options)
    Path(out).write_text(found.html, encoding="utf-8")
    return found


def main(arguments: list[str] | None = None) -> None:
    """``python -m helpers.blocks.audit TABLE``: write the page of a table."""
    words = {"sensitive": "group columns", "strata": "columns held fixed"}
    one = {"cluster": "column that says which rows belong together", "weight": "sample weights"}
    parser = argparse.ArgumentParser(description="One page about a table of predictions.")
    parser.add_argument("table", help="CSV or Parquet: a file, a folder or a pattern")
    parser.add_argument(
        "--map",
        nargs="*",
        default=[],
        metavar="ROLE=COLUMN",
        help="y_true=, y_pred= or y_score= and the column's name",
    )
    for name, text in words.items():
        parser.add_argument(f"--{name}", help=f"{text}, with commas between")
    for name, text in one.items():
        parser.add_argument(f"--{name}", help=text)
    parser.add_argument("--positive", help="the value that counts as 1, against all others")
    parser.add_argument("--threshold", type=float, help="scores from here on are positive")
    parser.add_argument("--ratio", type=float, default=0.8, help="smallest accepted ratio")
    parser.add_argument("--difference", type=float, help="largest accepted difference")
    parser.add_argument("--draws", type=int, default=report.DRAWS)
    parser.add_argument("--out", default="audit.html")
    asked = parser.parse_args(arguments)
    try:
        given = _given(asked)
        options = {"limit": asked.ratio, "difference": asked.difference, "draws": asked.draws}
        found = write(asked.table, asked.out, options=options, **given)
    except (ValueError, OSError) as error:
        raise SystemExit(f"audit: {error}") from None
    print(f"{len(found.counted):,} rows, {len(found.gaps)} gaps: open {asked.out}")


def _given(asked: argparse.Namespace) -> dict:
    roles = (*tally.ROLES, "cluster")
    given = {}
    for pair in asked.map:
        role, equals, column = pair.partition("=")
        if role not in roles or not equals:
            raise ValueError(
                f"--map {pair}: expected ROLE=COLUMN, with a role of {', '.join(roles)}"
            )
        given[role] = column
    lists = {"sensitive_features": asked.sensitive, "strata": asked.strata}
    given |= {name: value.split(",") for name, value in lists.items() if value}
    single = {"cluster": asked.cluster, "sample_weight": asked.weight}
    single |= {"positive": asked.positive, "threshold": asked.threshold}
    return given | {name: value for name, value in single.items() if value is not None}


if __name__ == "__main__":
    main()
