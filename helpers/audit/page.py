"""What is asked of a table of predictions: who is in it, whose rates differ, what is not known."""

from pathlib import Path

import pandas as pd

from helpers.audit import command, largest_gaps, tally
from helpers.audit.tally import Tally
from helpers.blocks import blocks, counts, report

WORDS = report.NAMES
"""Measures of the page; fnr, tnr and error are what is left of tpr, fpr and acc."""
KEPT = ["measure", "attribute", "group_i", "group_j", "before", "value", "low", "high"]
KEPT += ["p", "floor", "told"]
READ = {"attribute": "by", "group_i": "group", "f_i": "its value", "group_j": "other group"}
READ |= {"f_j": "other's value", "value": "gap", "p": "p corrected"}
FEWEST = 40  # draws, of which the 95% in the middle are fewer than all
BOTH = "group_i", "group_j"
SMALL = 30  # rows of a group of which little can be said
OTHERS = "Regression, rankings and bands of scores: fairlearn (its MetricFrame takes any function) \
and aequitas (reports for bands) are for them."
HELD = "Both groups are given the mix of {0} that all rows have, as far as both have rows there. A \
gap that becomes small came from the mix. p is corrected over the gaps of this table; only rates \
can be held fixed."
RATIO = "A ratio passes if its whole interval lies above the limit, fails if all of it lies below, \
and is undecided otherwise. With a limit of 0.8 this is the four-fifths rule of thumb."
TOLD = {"yes": "more than chance gives", "no": "not told from chance"}
TOLD |= {"cannot": "cannot be told with so few shuffles", "untested": "not tested"}


def worded(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its measures, verdicts, p and columns in words, as a page prints it."""
    readable = table.assign(p=printed(table)) if "p" in table else table
    readable = readable.drop(columns=["floor"], errors="ignore")
    return readable.replace({"told": TOLD, "measure": WORDS}).rename(columns=READ)


class Audit:
    """What the page says: `rates` of groups, the widest `gaps` of each measure and attribute (told:
    one of `TOLD`), `fixed`, the same with strata held fixed, NaN for what is no rate, `ratios` of
    positive rates, and sentences on what is `unsaid`."""

    def __init__(
        self,
        counted: Tally,
        name: str = "the table",
        *,
        limit: float = 0.8,
        draws: int = report.DRAWS,
        reference: str = "best",
        seed: int = 0,
    ) -> None:
        """Ask everything; `limit` is the smallest accepted ratio of two groups' positive rates."""
        if not 0 < limit <= 1:
            raise ValueError(f"--ratio {limit:g}: a ratio lies between 0 and 1, such as 0.8")
        if draws < FEWEST:
            raise ValueError(f"--draws {draws}: an interval of 95% needs {FEWEST} or more")
        self.counted, self.name, self.limit, self.draws = counted, name, limit, draws
        several = [n for n in counted.sensitive_features if counted.rows[n].nunique() > 1]
        if not several:
            raise ValueError("each group column has one value only: there is nothing to compare")
        known = [*command.REFERENCES, *counted.rows[several].stack().unique()]
        counts.known("--reference", known, reference)
        self.several, self.reference = several, reference
        by = {n: counted.table([n]) for n in several}
        held = {n: counted.table([n], fixed=True) for n in several} if counted.strata else {}
        first, resampling = by[several[0]], {"draws": draws, "seed": seed}
        who = pd.concat({n: counted.sizes(n) for n in several}, names=["attribute", "group"])
        self.who = who.reset_index().assign(share=who.to_numpy() / len(counted))
        rates = [
            largest_gaps.rates(data, **resampling).assign(attribute=n) for n, data in by.items()
        ]
        self.rates = pd.concat(rates, ignore_index=True)
        self.gaps, self.fixed = (largest_gaps.gaps(tables, **resampling) for tables in (by, held))
        if len(self.fixed):
            before = self.gaps[["measure", "attribute", "told"]].rename(columns={"told": "sure"})
            self.fixed = before.merge(self.fixed, on=["measure", "attribute"], how="left")
            of = self.rates.set_index(["measure", "attribute", "group"])["value"]
            pairs = ([*self.fixed[["measure", "attribute", g]].T.to_numpy()] for g in BOTH)
            one, other = (of.reindex(pd.MultiIndex.from_arrays(at)).to_numpy() for at in pairs)
            self.fixed["before"] = abs(one - other)  # of the same two groups
        decided = by.items() if "y_pred" in first.has else ()
        ratios = [
            {"attribute": n} | largest_gaps.ratio(data, limit, **resampling) for n, data in decided
        ]
        self.ratios = pd.DataFrame(ratios)
        self.shuffles = int(self.gaps["shuffles"].min())
        self.unsaid = self._unsaid(first) + self._apart(held)
        self.computed = self._computed(first)

    def _unsaid(self, first: counts.Table) -> list[str]:
        """Sentences on what cannot be said of this table."""
        lacking = blocks.lacking(first)
        reasons = [f"{WORDS[of]}: it needs {lacking[of]}." for of in lacking if of in WORDS]
        if not self.shuffles:
            reasons.append("p values: clusters have too many rows to exchange one by one.")
        for row in self.who[self.who["rows"] < SMALL].itertuples():
            reasons.append(
                f"{row.attribute} = {row.group}: {row.rows} rows are too few to say much."
            )
        for row in self.rates[self.rates["value"].isna()].itertuples():
            of = f"The {WORDS[row.measure]} of {row.attribute} = {row.group}"
            reasons.append(f"{of}: it has no row that counts.")
        if count := (self.gaps["told"] == "no").sum():
            reasons.append(
                f"{count} of {len(self.gaps)} gaps are not told from chance. That is no proof "
                "that there are none: their intervals say how large they may be."
            )
        if (self.gaps["told"] == "cannot").any():
            reasons.append(
                f"Gaps that no shuffle reaches, but that {self.shuffles:,} shuffles are too few "
                "for: ask about fewer group columns; their intervals are what there is to judge by."
            )
        if not self.counted.strata:
            why = "Whether a gap comes from another mix of cases in the groups"
            reasons.append(f"{why}: no strata were given (--strata COLUMN).")
        return [*reasons, OTHERS, "Whether a gap is unfair, and to whom: no number says that."]

    def _computed(self, first: counts.Table) -> list[str]:
        """Sentences on how the numbers were made."""
        sentences = [
            "Intervals are of 95%. Rates have Wilson's, gaps and ratios those of a bootstrap "
            f"({self.draws:,} draws, or fewer where rows have to be drawn one by one)."
        ]
        if self.shuffles:
            sentences.append(
                "p says how often shuffled groups are as far apart, in units of what shuffles give "
                f"each pair. It is corrected for all pairs and {len(self.gaps)} rows (minP), by "
                f"{self.shuffles:,} shuffles: where none reaches a gap, p is at most what is "
                "printed. An interval is for its own gap only."
            )
        if cluster := self.counted.roles.get("cluster"):
            sentences.append(f"Rows of one {cluster} are drawn and exchanged together.")
        if steps := self.counted.steps:
            off = f"mean scores are off by {0.5 / steps:g} at most"
            if "y_true" in first.has:
                off += f", areas under the roc curve by {blocks.auc_error(first).max():.2g}"
            sentences.append(f"Scores were counted in steps of {1 / steps:g}: {off}.")
        return sentences

    def _apart(self, held: dict[str, counts.Table]) -> list[str]:
        """Sentences on rows in strata that two groups do not share: there nothing is held fixed."""
        sentences, strata = [], " and ".join(self.counted.strata)
        for name, data in held.items():
            there = data.counts.sum(-1)  # rows by stratum and group
            mine = self.fixed[self.fixed["attribute"] == name].dropna(subset=["value"])
            if mine.empty:
                sentences.append(f"{name} with {strata} held fixed: no two groups share a stratum.")
            pairs = zip(mine["group_i"], mine["group_j"], strict=True)
            for pair in sorted({tuple(sorted(pair)) for pair in pairs}):
                both = (there[:, [data.groups.place(g) for g in pair]] > 0).all(1)
                if not both.all():
                    sentences.append(
                        f"{name} = {pair[0]} against {pair[1]}, with {strata} held fixed: they "
                        f"share strata of {there[both].sum():,} of {there.sum():,} rows, and are "
                        "compared in these alone."
                    )
        return sentences

    @property
    def parts(self) -> tuple[list, list]:
        """What begins and what ends the page: (heading, content, ...) each, for `form.page`."""
        strata, first = " and ".join(self.counted.strata), self.counted
        begin = [
            ("What was read", first.taken, first.notes),
            ("Who is in the table", f"{len(first):,} rows.", self.who),
        ]
        ratios = f"Is the smallest positive rate at least {self.limit:g} of the largest?"
        end = []
        if len(self.fixed):
            kept = worded(self.fixed.dropna(subset=["value"])[KEPT])
            end.append((f"The same, with {strata} held fixed", HELD.format(strata), kept))
        end += [(ratios, RATIO, self.ratios)] * bool(len(self.ratios))
        end += [("What cannot be said", self.unsaid), ("How this was computed", self.computed)]
        return begin, end


def printed(table: pd.DataFrame) -> pd.Series:
    """The corrected p of a table in words: "at most" where it is at its floor."""
    text = table["p"].map("{:.4f}".format).replace("nan", "not tested")
    return text.where(~table["floor"].astype(bool), "at most " + text)


def made(arguments: list[str], seed: int = 0) -> Audit:
    """The audit that the command line asks for; a ValueError says what is in doubt."""
    told = vars(command.of_table().parse_args(arguments))
    path, positive, maps = (told.pop(of) for of in ("table", "positive", "map"))
    how = {of: told.pop(of) for of in ("limit", "draws", "reference")}
    for role, column in maps:
        counts.known("--map: role", tally.ROLES, role)
        if (told.get(role) or column) != column:
            raise ValueError(f"{told[role]} and {column} were both given as {role}: give one")
        told[role] = column
    columns = {name: column for name, column in told.items() if column is not None}
    counted = tally.of_file(path, positive=positive and ",".join(positive), **columns)
    return Audit(counted, Path(path).name, seed=seed, **how)
