"""Audit a table of predictions: its groups, the gaps in their rates, and limits."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.audit import largest_gaps
from helpers.audit.table_counts import TableCounts, count_table
from helpers.blocks import blocks, counts, report

WORDS = report.NAMES
"""Measures of the report; fnr, tnr and error are what is left of tpr, fpr and acc."""
KEPT = ["measure", "attribute", "group_i", "group_j", "before", "value", "low", "high"]
KEPT += ["p", "floor", "significant"]
READ = {
    "attribute": "by",
    "group_i": "group",
    "f_i": "its value",
    "group_j": "other group",
}
READ |= {"f_j": "other's value", "value": "gap", "p": "adjusted p"}
BOTH = "group_i", "group_j"
REFERENCES = "best", "largest", "rest"
SMALL = 30  # rows of a group of which little can be said
OTHERS = (
    "Regression, rankings and bands of scores: fairlearn (its MetricFrame takes any "
    "function) and aequitas (reports for bands) are for them."
)
SIGNIFICANCE = {
    "yes": "significant",
    "no": "not significant",
    "cannot": "not testable with so few permutations",
    "untested": "not tested",
}


def worded(table: pd.DataFrame) -> pd.DataFrame:
    """Replace measures, verdicts, p and columns of a table by the terms of a report."""
    readable = table.assign(p=printed(table)) if "p" in table else table
    readable = readable.drop(columns=["floor"], errors="ignore")
    return readable.replace({"significant": SIGNIFICANCE, "measure": WORDS}).rename(
        columns=READ
    )


class Audit:
    """An audit: `rates` of groups, and the widest `gaps` of each measure and attribute.

    `fixed` has the gaps with strata held fixed, NaN for measures that are not rates.
    `ratios` are of positive rates, and `unsaid` holds sentences on what the table
    cannot show.
    """

    def __init__(
        self,
        counted: TableCounts,
        name: str = "the table",
        *,
        limit: float = 0.8,
        draws: int = report.DRAWS,
        reference: str = "best",
        seed: int = 0,
    ) -> None:
        """Run the audit.

        `limit` is the smallest accepted ratio of two groups' positive rates.
        """
        if not 0 < limit <= 1:
            raise ValueError(
                f"limit {limit:g}: a ratio lies between 0 and 1, such as 0.8"
            )
        self.counted, self.name, self.limit, self.draws = counted, name, limit, draws
        several = [
            n for n in counted.sensitive_features if counted.rows[n].nunique() > 1
        ]
        if not several:
            raise ValueError(
                "each group column has one value only: there is nothing to compare"
            )
        known = [*REFERENCES, *counted.rows[several].stack().unique()]
        counts.known("reference", known, reference)
        self.several, self.reference = several, reference
        by = {n: counted.table([n]) for n in several}
        held = (
            {n: counted.table([n], fixed=True) for n in several}
            if counted.strata
            else {}
        )
        first, resampling = by[several[0]], {"draws": draws, "seed": seed}
        who = pd.concat(
            {n: counted.sizes(n) for n in several}, names=["attribute", "group"]
        )
        self.who = who.reset_index().assign(share=who.to_numpy() / len(counted))
        rates = [
            largest_gaps.rates(data, **resampling).assign(attribute=n)
            for n, data in by.items()
        ]
        self.rates = pd.concat(rates, ignore_index=True)
        self.gaps, self.fixed = (
            largest_gaps.gaps(tables, **resampling) for tables in (by, held)
        )
        if len(self.fixed):
            self.fixed = self.gaps[["measure", "attribute"]].merge(
                self.fixed, how="left"
            )
            of = self.rates.set_index(["measure", "attribute", "group"])["value"]
            pairs = (
                [*self.fixed[["measure", "attribute", g]].T.to_numpy()] for g in BOTH
            )
            one, other = (
                of.reindex(pd.MultiIndex.from_arrays(at)).to_numpy() for at in pairs
            )
            self.fixed = self.fixed.assign(before=abs(one - other))[
                KEPT
            ]  # of the same two groups
        decided = by.items() if "y_pred" in first.has else ()
        ratios = [
            {"attribute": n} | largest_gaps.ratio(data, limit, **resampling)
            for n, data in decided
        ]
        self.ratios = pd.DataFrame(ratios)
        self.shuffles = int(self.gaps["shuffles"].min())
        self.unsaid = self._unsaid(first) + self._apart(held)

    def _unsaid(self, first: counts.Table) -> list[str]:
        """Return sentences on what the table cannot show."""
        lacking = blocks.lacking(first)
        reasons = [
            f"{WORDS[of]}: it needs {lacking[of]}." for of in lacking if of in WORDS
        ]
        if not self.shuffles:
            reasons.append(
                "p values: clusters have too many rows to exchange one by one."
            )
        for row in self.who[self.who["rows"] < SMALL].itertuples():
            reasons.append(
                f"{row.attribute} = {row.group}: {row.rows} rows are too few to say "
                "much."
            )
        for row in self.rates[self.rates["value"].isna()].itertuples():
            of = f"The {WORDS[row.measure]} of {row.attribute} = {row.group}"
            reasons.append(f"{of}: it has no row that counts.")
        if count := (self.gaps["significant"] == "no").sum():
            reasons.append(
                f"{count} of {len(self.gaps)} gaps are not significant. This does not "
                "prove that there are none: their intervals say how large they may be."
            )
        if (self.gaps["significant"] == "cannot").any():
            reasons.append(
                f"Some gaps are wider than in all permutations, but {self.shuffles:,} "
                "permutations are too few for a test. Compare fewer group columns, or "
                "use their intervals."
            )
        if not self.counted.strata:
            why = "Whether a gap comes from another mix of cases in the groups"
            reasons.append(f"{why}: no strata were given (strata).")
        return [
            *reasons,
            OTHERS,
            "No number says whether a gap is unfair, and to whom.",
        ]

    def _apart(self, held: dict[str, counts.Table]) -> list[str]:
        """Return sentences on rows in strata that no two groups share."""
        sentences, strata = [], " and ".join(self.counted.strata)
        for name, data in held.items():
            there = data.counts.sum(-1)  # rows by stratum and group
            rows, shared = there.sum(), there[(there > 0).sum(1) > 1].sum()
            what = "no two groups share a stratum"
            if shared:
                what = (
                    f"groups share strata of {shared:,} of {rows:,} rows, and are "
                    "compared in these alone"
                )
            if shared < rows:
                sentences.append(f"{name} with {strata} held fixed: {what}.")
        return sentences


def printed(table: pd.DataFrame) -> pd.Series:
    """Format the adjusted p values of a table, with "at most" at their floor."""
    text = table["p"].map("{:.4f}".format).replace("nan", "not tested")
    return text.where(~table["floor"].astype(bool), "at most " + text)


def made(
    table: str | Path,
    roles: Iterable[str],
    groups: Iterable[str],
    *,
    strata: Iterable[str] = (),
    second: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    positive: Any = None,
    threshold: float | None = None,
    **options: Any,
) -> Audit:
    """Make the audit from the parameters of lesson 13.

    Parameters
    ----------
    table : str or Path
        The file, folder or pattern.
    roles : iterable of str
        ``"y_true=COLUMN"``, ``"y_pred=COLUMN"`` and ``"y_score=COLUMN"``, as far as the
        table has them.
    groups, strata : iterable of str
        Columns of groups, and columns that are held fixed.
    second, cluster, weight : str, optional
        Columns of a second prediction, of what belongs together, and of weights.
    positive, threshold
        As in :func:`helpers.audit.table_counts.count_table`.
    **options
        As in :class:`Audit`.

    Raises
    ------
    ValueError
        If a column is not there or does not fit.
    """
    columns = {"y_beside": second, "cluster": cluster, "sample_weight": weight}
    columns = {role: column for role, column in columns.items() if column is not None}
    for text in roles:
        role, equals, column = text.partition("=")
        if role not in ("y_true", "y_pred", "y_score") or not equals or role in columns:
            raise ValueError(
                f"roles has {text!r}. Give each of y_true, y_pred and y_score once, "
                "such as y_true=repaid,y_pred=decision."
            )
        columns[role] = column
    counted = count_table(
        table,
        columns,
        list(groups),
        strata=list(strata),
        positive=positive,
        threshold=threshold,
    )
    return Audit(counted, Path(table).name, **options)
