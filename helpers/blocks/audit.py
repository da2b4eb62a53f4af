"""From a table of predictions to one page: who is in it, whose rates differ, and what is not known.

    python -m helpers audit predictions.csv --sensitive race,sex --out audit.html

No network is loaded. `tally` counts the table, the rest follows from the counts.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import blocks, counts, evidence, report, tally
from helpers.blocks.tally import Tally

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
"""Measures of the page; fnr, tnr and error are what is left of tpr, fpr and acc."""
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
    unsaid : what the table has no columns for
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
    unsaid: list[str]
    auc_error: float
    draws: int

    @property
    def html(self) -> str:
        """The page: one file that needs no other."""
        from helpers.figures import blocks as figures

        folder = jinja2.FileSystemLoader(Path(__file__).parent)
        environment = jinja2.Environment(loader=folder, trim_blocks=True, autoescape=True)
        picture = figures.svg(figures.audit(self.rates, WORDS))
        template = environment.get_template("audit.html.jinja")
        return template.render(audit=self, words=WORDS, picture=picture)

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
    by = {name: _table(counted, [name]) for name in counted.sensitive_features}
    by = {name: data for name, data in by.items() if data is not None}
    if not by:
        raise ValueError("each group column has one value only: there is nothing to compare")
    first, resampling = next(iter(by.values())), {"draws": draws, "seed": seed}
    lacking = blocks.lacking(first)
    unsaid = [f"{WORDS[of]}: it needs {lacking[of]}." for of in lacking if of in WORDS]
    every = [_gaps(data, attribute, unsaid, **resampling) for attribute, data in by.items()]
    fixed = []
    for attribute in by if counted.strata else ():
        data = _table(counted, [attribute], fixed=True)
        fixed.append(_gaps(data, attribute, unsaid, **resampling))
    decided = by if "y_pred" in first.has else {}
    joint = _table(counted, list(by), "joint") if len(by) > 1 else None
    return Audit(
        name=name,
        counted=counted,
        limit=limit,
        difference=difference,
        who=pd.concat([_who(counted, attribute) for attribute in by], ignore_index=True),
        rates=pd.concat([_rates(d, a, **resampling) for a, d in by.items()], ignore_index=True),
        gaps=_judged(every, difference),
        fixed=_judged(fixed, difference),
        ratios=pd.DataFrame([_ratio(by[a], a, limit, **resampling) for a in decided]),
        intersections=pd.DataFrame() if joint is None else _intersections(joint),
        unsaid=list(dict.fromkeys(unsaid)),
        auc_error=blocks.auc_error(first).max() if counted.steps and "y_true" in first.has else 0,
        draws=draws,
    )


def _table(counted: Tally, by: list[str], intersect="each", fixed=False) -> counts.Table | None:
    """The table of some group columns; None where a column has one value."""
    several = (counted.rows[by].nunique() > 1).all()
    return counted.table(by, intersect, fixed) if several else None


def _measures(data: counts.Table) -> list[str]:
    """The measures of the page that a table has the columns for; with strata rates only."""
    lacking = blocks.lacking(data)
    held = [of for of in WORDS if of not in lacking]
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
    options = {"draws": _affordable(data, draws), "seed": seed}
    measures = sorted(_measures(data), key=lambda of: of not in blocks.SHARES)
    parts = [report.rates(data, of, **options).assign(measure=of) for of in measures]
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
    measures = [of for of in ("acc", "pr", "prevalence") if of in _measures(data)]
    if not measures:
        return pd.DataFrame()
    found = report.rates(data, measures[0]).assign(measure=measures[0])
    return found.sort_values("value", ignore_index=True, kind="stable")


def _role(text: str) -> tuple[str, str]:
    """ROLE=COLUMN of the command line."""
    role, equals, column = text.partition("=")
    roles = (*tally.ROLES, "cluster")
    if role not in roles or not equals:
        raise argparse.ArgumentTypeError(f"expected ROLE=COLUMN, with a role of {', '.join(roles)}")
    return role, column


def main(arguments: list[str] | None = None) -> None:
    """``python -m helpers audit TABLE``: write the page of a table."""
    parser = argparse.ArgumentParser(description="One page about a table of predictions.")
    add, names = parser.add_argument, {"type": lambda text: text.split(",")}
    add("table", help="CSV or Parquet: a file, a folder or a pattern")
    roles = "y_true=, y_pred= or y_score= and the column's name"
    add("--map", nargs="*", default=[], type=_role, metavar="ROLE=COLUMN", help=roles)
    groups = "group columns, with commas between"
    add("--sensitive", **names, dest="sensitive_features", help=groups)
    add("--strata", **names, help="columns held fixed, with commas between")
    add("--cluster", help="column that says which rows belong together")
    add("--weight", dest="sample_weight", help="sample weights")
    add("--positive", help="the value that counts as 1, against all others")
    add("--threshold", type=float, help="scores from here on are positive")
    add("--ratio", dest="limit", type=float, default=0.8, help="smallest accepted ratio")
    add("--difference", type=float, help="largest accepted difference")
    add("--draws", type=int, default=report.DRAWS)
    add("--out", default="audit.html")
    asked = vars(parser.parse_args(arguments))
    path, out, roles = (asked.pop(name) for name in ("table", "out", "map"))
    options = {name: asked.pop(name) for name in ("limit", "difference", "draws")}
    given = {name: value for name, value in asked.items() if value is not None}
    try:
        found = make(tally.of_file(path, **given, **dict(roles)), Path(path).name, **options)
        Path(out).write_text(found.html, encoding="utf-8")
    except (ValueError, OSError) as error:
        raise SystemExit(f"audit: {error}") from None
    print(f"{len(found.counted):,} rows, {len(found.gaps)} gaps: open {out}")
