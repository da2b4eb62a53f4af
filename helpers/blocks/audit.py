"""From a table of predictions to one page: who is in it, whose rates differ, and what is not known.

``python -m helpers audit predictions.csv --sensitive race,sex --out audit.html``
"""

import argparse
import contextlib
import csv
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from helpers import stats, store
from helpers.blocks import blocks, counts, evidence, report, tally
from helpers.blocks.tally import Tally
from helpers.figures import blocks as figures

WORDS = report.NAMES
"""Measures of the page; fnr, tnr and error are what is left of tpr, fpr and acc."""
WORK = 50_000_000  # draws x counts, or rows where these come in clusters
A_GAP = 40  # shuffles for each gap that p values are corrected for, where counts are not too many
LEVEL = 0.05
FEWEST = 40  # draws, of which the 95% in the middle are fewer than all
OLD = "<p><b>The latest audit did not succeed. This page is of an earlier one.</b></p>"
GAP = (["pairs"], ["abs"], ["max"])


class Audit:
    """What the page says: `rates` of groups, the widest `gaps` of each measure and attribute (told:
    yes, no, or "cannot" with so few shuffles), `fixed`, the same with strata held fixed, NaN for
    what is no rate, `ratios` of positive rates, and sentences on what is `unsaid`."""

    def __init__(
        self,
        counted: Tally,
        name: str = "the table",
        *,
        limit: float = 0.8,
        draws: int = report.DRAWS,
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
        by = {n: counted.table([n]) for n in several}
        held = {n: counted.table([n], fixed=True) for n in several} if counted.strata else {}
        first, resampling = by[several[0]], {"draws": draws, "seed": seed}
        who = pd.concat({n: counted.sizes(n) for n in several}, names=["attribute", "group"])
        self.who = who.reset_index().assign(share=who.to_numpy() / len(counted))
        rates = [_rates(data, **resampling).assign(attribute=n) for n, data in by.items()]
        self.rates = pd.concat(rates, ignore_index=True)
        self.gaps, self.fixed = (_gaps(tables, **resampling) for tables in (by, held))
        if len(self.fixed):
            before = self.gaps[["measure", "attribute", "value", "told"]]
            before = before.rename(columns={"value": "before", "told": "sure"})
            self.fixed = before.merge(self.fixed, on=["measure", "attribute"], how="left")
        decided = by.items() if "y_pred" in first.has else ()
        ratios = [_ratio(data, limit, **resampling) | {"attribute": n} for n, data in decided]
        self.ratios = pd.DataFrame(ratios)
        binned = counted.steps and "y_true" in first.has
        self.auc_error = blocks.auc_error(first).max() if binned else 0
        lacking = blocks.lacking(first)
        self.unsaid = [f"{WORDS[of]}: it needs {lacking[of]}." for of in lacking if of in WORDS]
        self.unsaid += self._apart(held)
        if first.rows is not None and len(counted) > evidence.MOST_ROWS:
            self.unsaid.append("p values: clusters have too many rows to exchange one by one.")

    def _apart(self, held: dict[str, counts.Table]) -> list[str]:
        """Sentences on rows in strata that two groups do not share: there nothing is held fixed."""
        said, strata = [], " and ".join(self.counted.strata)
        for name, data in held.items():
            there = data.counts.sum(-1)  # rows by stratum and group
            mine = self.fixed[self.fixed["attribute"] == name].dropna(subset=["value"])
            if mine.empty:
                said.append(f"{name} with {strata} held fixed: no two groups share a stratum.")
            pairs = zip(mine["group_i"], mine["group_j"], strict=True)
            for pair in sorted({tuple(sorted(pair)) for pair in pairs}):
                both = (there[:, [data.groups.place(g) for g in pair]] > 0).all(1)
                if not both.all():
                    said.append(
                        f"{name} = {pair[0]} against {pair[1]}, with {strata} held fixed: they "
                        f"share strata of {there[both].sum():,} of {there.sum():,} rows, and are "
                        "compared in these alone."
                    )
        return said

    @property
    def html(self) -> str:
        """The page: one file that needs no other."""
        folder = jinja2.FileSystemLoader(Path(__file__).parent)
        environment = jinja2.Environment(loader=folder, trim_blocks=True, autoescape=True)
        known = self.rates.dropna(subset=["value", "low", "high"])
        picture = figures.svg(figures.audit(known, WORDS)) if len(known) else ""
        template = environment.get_template("audit.html.jinja")
        return template.render(audit=self, words=WORDS, picture=picture)


def _measures(data: counts.Table) -> list[str]:
    """The measures of the page that a table has the columns for; with strata only rates."""
    missing, names = blocks.lacking(data), blocks.SHARES if data.counts.ndim == 3 else WORDS
    return [of for of in WORDS if of in names and of not in missing]


def _affordable(data: counts.Table, draws: int) -> int:
    """The draws asked for, or as many as take seconds where tables are large."""
    size = data.counts.size if data.rows is None else data.counts.sum()
    return max(99, min(draws, WORK // size))


def _rates(data: counts.Table, draws: int, seed: int) -> pd.DataFrame:
    """Every measure of every group with its interval."""
    options = {"draws": _affordable(data, draws), "seed": seed}
    parts = [report.rates(data, of, **options).assign(measure=of) for of in _measures(data)]
    return pd.concat(parts)


def _gaps(tables: dict[str, counts.Table], draws: int, seed: int) -> pd.DataFrame:
    """The widest gaps by measure and attribute, widest first, with p corrected for all (Holm)."""
    parts = []
    for attribute, data in tables.items():
        needed = max(draws, A_GAP * len(_measures(data)) * len(tables))
        drawn, shuffled = (_affordable(data, n) for n in (draws, needed))
        if data.rows is not None and data.counts.sum() > evidence.MOST_ROWS:
            shuffled = 0
        options = {"bootstrap": drawn, "permutations": shuffled, "seed": seed}
        cells = report.make(data, _measures(data), *GAP, **options).cells
        parts.append(cells.assign(attribute=attribute, shuffles=shuffled))
    if not parts:
        return pd.DataFrame()
    found = pd.concat(parts, ignore_index=True).dropna(subset=["value"])
    found["p_holm"] = stats.adjust(found["p"]) if "p" in found else np.nan
    floor = found["p_holm"].count() / (found["shuffles"] + 1)
    hidden = (floor > LEVEL) & (found["p_holm"] > LEVEL) & (found["p"] <= LEVEL)
    found["told"] = np.where(found["p_holm"] <= LEVEL, "yes", np.where(hidden, "cannot", "no"))
    return found.sort_values("value", ascending=False, ignore_index=True, kind="stable")


def _ratio(data: counts.Table, limit: float, draws: int, seed: int) -> dict:
    """The smallest positive rate over the largest, with its interval and verdict."""
    options = {"bootstrap": draws, "permutations": 0, "seed": seed}
    cell = report.make(data, ["pr"], ["pairs"], ["srel"], ["max"], **options).cells.loc[0]
    low, high = (float(np.clip(1 - cell[end], 0, 1)) for end in ("high", "low"))
    verdict = "fails" if high < limit else "passes" if low >= limit else "undecided"
    found = {"smallest": cell["group_i"], "largest": cell["group_j"], "verdict": verdict}
    return found | {"value": 1 - cell["value"], "low": low, "high": high}


def _role(text: str) -> tuple[str, str]:
    """ROLE=COLUMN of the command line."""
    role, equals, column = text.partition("=")
    if role not in tally.ROLES or not equals:
        every = ", ".join(tally.ROLES)
        raise argparse.ArgumentTypeError(f"expected ROLE=COLUMN, with a role of {every}")
    return role, column


def _names(text: str) -> list[str]:
    """Columns with commas between; one that holds a comma stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def _parser() -> argparse.ArgumentParser:
    about = "One page about a table of predictions."
    parser = argparse.ArgumentParser("python -m helpers audit", description=about)
    add, more = parser.add_argument, {"action": "extend", "default": []}
    add("table", help="CSV or Parquet: a file, a folder or a pattern")
    roles = "y_true=, y_pred= or y_score= and the column's name"
    add("--map", nargs="*", type=_role, metavar="ROLE=COLUMN", help=roles, **more)
    groups = "group columns, with commas between"
    add("--sensitive", type=_names, dest="sensitive_features", help=groups, action="extend")
    add("--strata", type=_names, help="columns held fixed, with commas between", **more)
    one, said = {"dest": "map", "action": "append"}, "column that says which rows belong together"
    add("--cluster", type=lambda name: ("cluster", name), help=said, **one)
    add("--weight", type=lambda name: ("sample_weight", name), help="column of weights", **one)
    positive = "the value that counts as 1, against all others; or COLUMN=VALUE,COLUMN=VALUE"
    add("--positive", action="append", help=positive)
    add("--ratio", dest="limit", type=float, default=0.8, help="smallest accepted ratio")
    add("--draws", type=int, default=report.DRAWS, help="bootstrap draws")
    add("--out", default="audit.html", help="the page to write")
    return parser


def made(arguments: list[str]) -> Audit:
    """The audit that the command line asks for; a ValueError says what is in doubt."""
    asked = vars(_parser().parse_args(arguments))
    path, options = asked.pop("table"), {name: asked.pop(name) for name in ("limit", "draws")}
    del asked["out"]
    return Audit(tally.of_file(path, **_given(**asked)), Path(path).name, **options)


def main(arguments: list[str] | None = None) -> None:
    """``python -m helpers audit TABLE``: write the page of a table."""
    out = _parser().parse_args(arguments).out
    page = Path(out)
    try:
        found = made(arguments)
        store.write_text(page, found.html)
    except (ValueError, OSError, MemoryError) as error:
        hint = ' (to make, as ASK="...")' if "--" in str(error) else ""
        old = f"\n{out} is the page of an earlier table." if _outdated(page) else ""
        raise SystemExit(f"audit: {error}{hint}{old}") from None
    except BaseException:
        _outdated(page)
        raise
    print(f"{found.counted.taken}\n{len(found.counted):,} rows, {len(found.gaps)} gaps: open {out}")


def _given(map: list, positive: list | None, **columns: Any) -> dict:
    """What `tally.of_file` takes; refused where a role was given two columns."""
    given = {name: column for name, column in columns.items() if column is not None}
    for role, column in map:
        if given.setdefault(role, column) != column:
            raise ValueError(f"{given[role]} and {column} were both given as {role}: give one")
    return given | ({"positive": ",".join(positive)} if positive else {})


def _outdated(page: Path) -> bool:
    """Say in a page of before that it is one."""
    with contextlib.suppress(OSError, UnicodeError):
        text = page.read_text(encoding="utf-8")
        if "<title>Audit of" in text and OLD not in text:
            store.write_text(page, text.replace("<body>", f"<body>\n{OLD}", 1))
    return page.exists()
