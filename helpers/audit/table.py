"""Audit a table of predictions: find the groups whose rates differ."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pandas as pd

from helpers.audit import form, table_gaps, table_rates, table_scores
from helpers.audit.table_counts import TableCounts, count_table
from helpers.audit.table_rates import NAMES
from helpers.blocks.counts import Counts

MEANINGS = {
    "pr": "of all rows, those predicted positive (demographic parity)",
    "tpr": "of the positives, those predicted positive (equal opportunity)",
    "fpr": "of the negatives, those predicted positive (equalized odds, with tpr)",
    "ppv": "of those predicted positive, the positives (predictive parity)",
    "npv": "of those predicted negative, the negatives",
    "acc": "of all rows, those with a correct prediction (accuracy equality)",
    "prevalence": "of all rows, the positives",
    "score": "the mean of the scores",
    "calibration": "mean distance of ten bins' mean score from their positives' share",
    "auc": "how often a positive has a higher score than a negative",
}
LIMITS = [
    "A gap that is not significant may exist. Its interval says how large it may be.",
    "No number says whether a gap is unfair, and to whom.",
    "Rows count as independent. If several belong to one person, keep one of them.",
    "Regression, rankings and bands of scores are not audited. fairlearn's MetricFrame "
    "takes any function of a group's rows.",
]
METHOD = [
    "Intervals are 95% CIs: Wilson's for rates, Newcombe's for differences and changes "
    "of rates, and MOVER's for ratios. The mean score, the calibration error and the "
    "area under the roc curve have a bootstrap's.",
    "A gap is tested by random permutation of the groups, in units of its spread. p is "
    "adjusted for all pairs, measures and columns (min-p). Intervals are not adjusted, "
    "except that of the smallest ratio.",
    "The power is that of a z test whose level is 0.05 divided by the number of pairs "
    "of groups over all columns and measures. This is conservative. It is the power "
    "for the smallest group against the largest. Measures of scores have none.",
    "With strata held fixed, both groups have the mix of strata of all rows. Strata in "
    "which one of them has no rows are left out.",
]
ROLES = ("y_pred", "y_true", "score")
MOST_SHOWN = 20  # intersections in the report
PREDICTIONS = ("y_pred", "y_true", "second")
# headings of the report, in its order
HEADINGS = {
    "gaps": "The gap of each measure and column of groups",
    "power": "Which gaps would be detected: the power at three true gaps",
    "fixed": "The gaps with the strata held fixed",
    "ratios": "The smallest positive rate, divided by the largest",
    "reference": "Each group against the reference",
    "intersections": "Intersections against all other rows: the smallest p values",
    "changes": "Two predictions: the change of each group's rates",
    "changed_gaps": "Two predictions: the change of the widest gaps",
    "rates": "Each group's rates",
    "groups": "Who is in the table",
}


@dataclass(frozen=True)
class TableAudit:
    """The result of an audit.

    Attributes
    ----------
    name : str
        Name of the table.
    tables : dict of str to pandas.DataFrame
        Tidy tables; `HEADINGS` says what they hold. If there are scores, ``thresholds``
        and ``calibration`` are among them.
    notes : list of str
        How the columns were read.
    limits : list of str
        What the audit cannot say.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    notes: list[str]
    limits: list[str]

    @property
    def significant(self) -> pd.DataFrame:
        """Return the gaps that are significant, the widest first."""
        gaps = self.tables["gaps"]
        return gaps[gaps["significant"]]

    @property
    def headline(self) -> str:
        """Say what was found, and what could have been detected."""
        found, gaps = self.significant, self.tables["gaps"]
        if gaps.empty:
            return "No measure varies between rows, so no gap can be tested."
        verb = "is" if len(found) == 1 else "are"
        parts = [f"{len(found)} of {len(gaps)} gaps between groups {verb} significant."]
        for row in found.nlargest(1, "ci_low").itertuples():
            where = f"{row.attribute} = {row.group}"
            parts.append(f"The clearest gap: the {_gap_sentence(row, where)}")
        if "fixed" in self.tables:
            widest = found[["measure", "attribute"]].head(3)
            for row in widest.merge(self.tables["fixed"]).itertuples():
                parts.append(_held_sentence(row))
        crossed = self.tables.get("intersections", pd.DataFrame())
        for row in crossed.head(1).itertuples():
            is_widest = found.empty or abs(row.difference) > found["difference"].max()
            if row.significant and is_widest:
                sentence = _gap_sentence(row, f"{row.group} (n = {row.rows:,})")
                parts.append(f"The clearest intersection: the {sentence}")
        power = self.tables["power"]
        if len(power):
            low, high = power["5 points"].min(), power["5 points"].max()
            parts.append(
                "A true gap of 5 points between the smallest and the largest group "
                f"would be detected with a power of {low:.0%} to {high:.0%}, depending "
                "on measure and column."
            )
        return " ".join(parts)

    def to_html(self, figures: Sequence[tuple] = ()) -> str:
        """Write the report as one HTML page, with (figure, caption) pairs if given."""
        present = self.tables["rates"]["measure"].unique()
        parts = [("Figures", *figures)]
        for name, heading in HEADINGS.items():
            if name in self.tables:
                table = self.tables[name].replace({"measure": NAMES})
                if name == "intersections":
                    table = table.head(MOST_SHOWN)
                parts.append((heading, table))
            if name == "power":
                parts.append(("What cannot be said", self.limits))
        parts += [
            ("How the columns were read", self.notes),
            ("What the measures are", [f"{NAMES[m]}: {MEANINGS[m]}" for m in present]),
            ("How this was computed", METHOD),
        ]
        title = f"Audit of {self.name}"
        return form.page(title, f"{self.name}: {self.headline}", parts)

    def _repr_html_(self) -> str:
        """Show the headline and the significant gaps in a notebook."""
        table = self.significant.replace({"measure": NAMES})
        return f"<p>{escape(self.headline)}</p>{table.to_html(index=False)}"

    def save(self, folder: Path, figures: Sequence[tuple] = (), **about) -> Path:
        """Write page.html, one CSV per table and findings.json into a folder."""
        findings = []
        for row in self.tables["gaps"].itertuples():
            finding = {
                "finding": f"{row.measure}/{row.attribute}",
                "name": MEANINGS[row.measure],
                "measure": NAMES[row.measure],
                "by": row.attribute,
                "value": row.difference,
                "low": row.ci_low,
                "high": row.ci_high,
                "p": row.p,
                "verdict": "significant" if row.significant else "not significant",
                "sentence": _gap_sentence(row, f"{row.attribute} = {row.group}"),
            }
            findings.append(finding)
        about = {"table": self.name, "headline": self.headline, **about}
        page = self.to_html(figures)
        return form.write(Path(folder), page, self.tables, findings, **about)


def _gap_sentence(row, where: str) -> str:
    """Write a difference of two groups with its interval."""
    rates = f"{row.value:.3f} for {where} and {row.other_value:.3f} for {row.other}"
    interval = f"{row.ci_low:.3f} to {row.ci_high:.3f}"
    return (
        f"{NAMES[row.measure]} is {rates}, a difference of {row.difference:.3f} "
        f"(95% CI {interval})."
    )


def _held_sentence(row) -> str:
    """Say what is left of a gap with the strata held fixed."""
    measure = f"the {NAMES[row.measure]} by {row.attribute}"
    if not row.significant:
        return f"With the strata held fixed, no gap in {measure} is significant."
    return (
        f"With the strata held fixed, the gap in {measure} is {row.difference:.3f} "
        f"(95% CI {row.ci_low:.3f} to {row.ci_high:.3f})."
    )


def table(
    data: pd.DataFrame | str | Path,
    *,
    y_pred: str | None = None,
    y_true: str | None = None,
    score: str | None = None,
    groups: str | Sequence[str],
    strata: str | Sequence[str] = (),
    positive: Mapping[str, object] | None = None,
    reference: str = "best",
    threshold: float | None = None,
    second: str | None = None,
    limit: float = 0.8,
    draws: int = 999,
    seed: int = 0,
) -> TableAudit:
    """Audit a table of predictions.

    Parameters
    ----------
    data : pandas.DataFrame, str or Path
        One row per case: a DataFrame, a CSV or Parquet file, or a folder of them.
        Columns that you do not name are not read.
    y_pred, y_true, score, second : str, optional
        Columns of predictions, outcomes, scores from 0 to 1, and a second prediction.
        At least one of the first three is needed.
    groups : str or sequence of str
        Columns of groups, with at most 20 values each.
    strata : str or sequence of str, optional
        Columns that are held fixed in an additional table of gaps.
    positive : mapping of str to value or list of values, optional
        The values that count as 1, by column. Columns of 0 and 1, or of true and false,
        need no entry.
    reference : str, default="best"
        What each group is compared with: ``best`` (the highest rate), ``largest``,
        ``rest`` (all other groups) or the name of a group.
    threshold : float, optional
        The score from which a row is predicted positive. If `y_pred` is given, this is
        the second prediction.
    limit : float, default=0.8
        The smallest accepted ratio of two groups' positive rates.
    draws : int, default=999
        The least number of random permutations.
    seed : int, default=0
        Seed of the permutations.

    Returns
    -------
    TableAudit

    Raises
    ------
    ValueError
        If a column is not there, or its values do not fit.
    """
    columns = {"y_pred": y_pred, "y_true": y_true, "score": score, "second": second}
    columns = {role: column for role, column in columns.items() if column is not None}
    counted = count_table(
        data, columns, groups, strata=strata, positive=positive, threshold=threshold
    )
    counts = {name: counted.table([name], roles=ROLES) for name in counted.groups}
    sizes = _of_each(counts, _sizes)
    counts = {name: table for name, table in counts.items() if len(table.groups) > 1}
    _check_options(sizes, counts, reference, limit)
    n_strata = len(counted.strata.drop_duplicates())
    if strata and n_strata > counted.rows.sum() / 2:
        raise ValueError(
            f"The strata have {n_strata:,} combinations of values, so most have rows "
            "of one group only. Put numbers into bins, and merge rare values."
        )
    tables = _tables(counted, counts, reference, limit, draws, seed)
    tables["groups"] = sizes
    lacking = table_rates.lacking(next(iter(counts.values())))
    limits = _limits(tables, lacking, strata)
    uses = [f"{column} is used as {role}." for role, column in counted.columns.items()]
    name = "the table" if isinstance(data, pd.DataFrame) else Path(data).name
    return TableAudit(name, tables, uses + counted.notes, limits)


def _of_each(counts: Mapping, function, *arguments) -> pd.DataFrame:
    """Stack the tables that a function makes of each column of groups."""
    parts = []
    for name, one in counts.items():
        part = function(one, *arguments)
        if len(part):
            parts.append(part.assign(attribute=name))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _sizes(table: Counts) -> pd.DataFrame:
    """Count the rows of each group."""
    number = len(table.groups)
    rows = table.mass[:number].sum(axis=-1).astype(int)
    columns = {
        "group": table.groups,
        "rows": rows,
        "share": table.shares[:number],
    }
    return pd.DataFrame(columns)


def _tables(
    counted: TableCounts,
    counts: Mapping[str, Counts],
    reference: str,
    limit: float,
    draws: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Compute the tables of an audit; `counts` are of each column that is compared."""
    tables = {"rates": _of_each(counts, table_rates.rates)}
    tables["gaps"] = table_gaps.gaps(counts, draws, seed)
    tables["power"] = pd.DataFrame()
    if len(tables["gaps"]):
        n_tests = table_gaps.number_of_pairs(counts)
        tables["power"] = table_gaps.powers(tables["rates"], n_tests)
    tables["reference"] = _of_each(counts, table_gaps.against_reference, reference)
    if not counted.strata.empty:
        fixed = {
            name: counted.table([name], roles=ROLES[:2], fixed=True) for name in counts
        }
        tables["fixed"] = table_gaps.gaps(fixed, draws, seed)
    if "y_pred" in counted.columns:
        tables["ratios"] = _of_each(counts, table_gaps.smallest_ratio, limit)
    possible = math.prod(len(table.groups) + 1 for table in counts.values())
    if len(counts) > 1 and possible <= table_gaps.MOST_POSSIBLE:
        crossed = table_gaps.intersections(counted, list(counts), draws, seed)
        tables["intersections"] = crossed
    if "score" in counted.columns:
        tables["thresholds"] = _of_each(counts, table_scores.thresholds)
        if "y_true" in counted.columns:
            tables["calibration"] = _of_each(counts, table_scores.calibration)
    if "second" in counted.columns:
        both = {name: counted.table([name], roles=PREDICTIONS) for name in counts}
        tables["changes"] = _of_each(both, table_rates.changes)
        tables["changed_gaps"] = table_rates.changed_gaps(tables["changes"])
    return tables


def _check_options(
    sizes: pd.DataFrame,
    compared: Mapping[str, Counts],
    reference: str,
    limit: float,
) -> None:
    """Refuse groups, a reference or a limit that cannot be compared."""
    listed = ", ".join(sizes["group"])
    if not compared:
        raise ValueError(
            "No column of groups has two groups or more, so there is nothing to "
            f"compare. The groups are {listed}. Name a column with two groups or more."
        )
    if reference not in {"best", "largest", "rest", *sizes["group"]}:
        raise ValueError(
            f"The reference is {reference}, which is no group. "
            f"The groups are {listed}. "
            "Name one of them, or best, largest or rest."
        )
    if not 0 < limit <= 1:
        raise ValueError(
            f"The limit is {limit:g}. Give a number above 0 and at most 1, such as 0.8."
        )


def _limits(tables: Mapping, lacking: Mapping[str, str], strata) -> list[str]:
    """Say what the table cannot show."""
    limits = [f"{NAMES[name]}: it needs {what}." for name, what in lacking.items()]
    auc = tables["rates"].query("measure == 'auc'")["value"]
    if auc.max() < 0.5:
        limits.append(
            "Negatives have higher scores than positives in every group. If a high "
            "score means 0, audit a column of 1 minus the score."
        )
    small = tables["groups"].query(f"rows < {table_gaps.SMALL}")
    for row in small.itertuples():
        limits.append(
            f"{row.attribute} = {row.group} has {row.rows} rows, too few to say much."
        )
    if tables["gaps"]["attribute"].nunique() > 1 and "intersections" not in tables:
        limits.append(
            f"There are more than {table_gaps.MOST_POSSIBLE:,} intersections, and none "
            "is compared. Merge small groups to compare them."
        )
    if not strata:
        limits.append(
            "No strata were given, so a gap may come from another mix of cases."
        )
    return limits + LIMITS
