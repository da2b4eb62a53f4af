"""From files to counts: columns recognised by their names, rows counted by DuckDB through Ibis.

A tally says how often each combination of values occurs. All reports follow from it, and tallies of
shards, days or sites add. The rows themselves are never held in memory.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.blocks import counts

ROLES = {
    "y_true": ("y_true", "label", "labels", "target"),
    "y_pred": ("y_pred", "prediction", "predictions", "decision"),
    "y_score": ("y_score", "score", "scores", "probability"),
    "sample_weight": ("sample_weight", "weight", "weights"),
}
"""What a column is taken for, by its name."""
YES, NO = (
    ("1", "true", "yes", "y", "t", "positive"),
    ("0", "-1", "false", "no", "n", "f", "negative"),
)
MANY = 50  # values of a column that may be a group each without anybody asking for it
MOST = 1000  # values of a column that may be a group each at all
LOOKED_AT = 100_000  # rows by which columns are recognised
STEPS = 1000  # of the scores of a large table
LARGE = 5000  # rows from which scores are counted in steps
BUCKETS = 1000  # of clusters, where there are more
MISSING = "(missing)"


@dataclass(frozen=True)
class Tally:
    """How often each combination of values occurs.

    `rows` has a row for each combination: columns by their roles, groups and strata by their names,
    and `times`. `roles` says which column of the file has which role, `notes` are sentences about
    what was left out or rounded, and `steps` counts those of the scores (None: exact).
    """

    rows: pd.DataFrame
    roles: dict[str, str]
    sensitive_features: list[str]
    strata: list[str]
    notes: list[str]
    steps: int | None = None

    def __add__(self, other: "Tally") -> "Tally":
        """Both tallies as one; refused where they count other columns."""
        differ = sorted(set(self.rows) ^ set(other.rows))
        differ += ["the steps of the scores"] if self.steps != other.steps else []
        if differ:
            raise ValueError(f"tallies of different columns do not add: {', '.join(differ)}")
        notes = list(dict.fromkeys(self.notes + other.notes))
        return replace(self, rows=_collapsed(pd.concat([self.rows, other.rows])), notes=notes)

    def __len__(self) -> int:
        """The number of rows that were counted."""
        return int(self.rows["times"].sum())

    def table(
        self, sensitive_features: Sequence[str] = (), intersect: str = "each", fixed: bool = False
    ) -> counts.Table:
        """The table of some group columns (all if none given); `fixed` holds the strata fixed."""
        by = list(sensitive_features or self.sensitive_features)
        strata = self.strata if fixed else []
        roles = [role for role in (*ROLES, "cluster") if role in self.rows]
        if self.steps and fixed:  # rates need no scores
            roles.remove("y_score")
        rows = _collapsed(self.rows[list(dict.fromkeys([*by, *strata, *roles, "times"]))])
        given = rows[[*roles, "times"]].rename(columns={"cluster": "clusters"}).to_dict("series")
        given["strata"] = rows[strata] if strata else None
        return counts.table(rows[by], intersect=intersect, **given)


def read(source: str | Path | pd.DataFrame) -> Any:
    """A CSV or Parquet file, a folder or pattern of them, or rows -> an Ibis table on DuckDB."""
    import ibis

    if isinstance(source, pd.DataFrame):
        return ibis.memtable(source)
    path = Path(source)
    found = [path] if path.is_file() else sorted(path.parent.glob(path.name))
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix in (".csv", ".parquet"))
    if not found:
        raise ValueError(f"{path}: no such file or folder, and no file matches it")
    endings = {p.suffix for p in found}
    if len(endings) > 1 or not endings <= {".csv", ".parquet"}:
        raise ValueError(
            f"{path}: give files that end in .csv, or in .parquet, and not in {endings}"
        )
    database = ibis.duckdb.connect(memory_limit="1GB")
    reader = database.read_csv if endings == {".csv"} else database.read_parquet
    try:
        columns = {p.name: set(reader(p).columns) for p in found}
        table = reader([str(p) for p in found], union_by_name=True)
    except Exception as error:  # DuckDB has many kinds
        raise ValueError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from None
    first = found[0].name
    for name, its in columns.items():
        if differ := ", ".join(sorted(its ^ columns[first])):
            raise ValueError(f"{name} and {first} have different columns: {differ}")
    return table


def recognised(table: Any, given: dict) -> tuple[dict, list[str]]:
    """Column by role and lists of groups and strata, by name if not given; what is left out."""
    lists = {name: list(given.get(name, ())) for name in ("sensitive_features", "strata")}
    found = {role: column for role, column in given.items() if role not in lists}
    asked = [*found.values(), *itertools.chain(*lists.values())]
    missing = [name for name in asked if name not in table.columns]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; there are {', '.join(table.columns)}")
    for role, names in ROLES.items():
        here = [name for name in names if name in table.columns and name not in asked]
        if role not in found and len(here) > 1:
            raise ValueError(f"{' and '.join(here)} could both be {role}: say {role}=one of them")
        if role not in found and here:
            found[role] = here[0]
    if not {"y_true", "y_pred", "y_score"} & set(found):
        raise ValueError(
            f"none of the columns {', '.join(table.columns)} is recognised as y_true, y_pred or "
            "y_score: say which is, such as y_true=outcome"
        )
    head, notes = table.limit(LOOKED_AT).execute(), []
    values = head.nunique()
    for name in itertools.chain(*lists.values()):
        if values[name] > MOST:
            raise ValueError(
                f"{name} has {values[name]:,} different values or more, too many for groups (at "
                f"most {MOST:,}): is it an identifier? Give it as cluster if it says which rows "
                "belong together, or merge its values"
            )
    free = [n for n in table.columns if n not in asked and n not in found.values()]
    for name in free if "sensitive_features" not in given else ():
        if head[name].dtype.kind == "f" and (head[name].dropna() % 1 != 0).any():
            notes.append(f"The column {name} holds numbers with fractions: no groups.")
        elif values[name] > MANY:
            notes.append(f"The column {name} holds {values[name]:,} different values: no groups.")
        elif values[name] < 2:
            notes.append(f"The column {name} has one value only: there is nothing to compare.")
        else:
            lists["sensitive_features"].append(name)
    if not lists["sensitive_features"]:
        raise ValueError(
            f"no column is a group. {' '.join(notes)} Say which are: sensitive=race,sex"
        )
    roles = {role: found[role] for role in (*ROLES, "cluster") if role in found}
    return {"roles": roles} | lists, notes


def of_file(
    source: str | Path | pd.DataFrame,
    *,
    positive: str | None = None,
    threshold: float | None = None,
    **given: Any,
) -> Tally:
    """Count a file, a folder, a pattern of files, or rows in memory: one GROUP BY.

    Scores of more than `LARGE` rows are counted in `STEPS` equal steps of [0, 1], as the middles of
    these, and many clusters in `BUCKETS` (by hashing), which are drawn as wholes.

    Parameters
    ----------
    positive : the value of y_true and y_pred that counts as 1, all others as 0; needed where they
        are not 0 and 1, yes and no, or true and false.
    threshold : scores from which on the prediction is positive, where there is no column of them.
    given : columns by role, such as y_true="outcome", and lists of sensitive_features and strata

    Raises
    ------
    ValueError
        For columns that are not there or not recognised, scores outside [0, 1] that are to be
        counted in steps or are compared with a threshold, values that are not two, and bad weights.
    """
    table = read(source)
    columns, notes = recognised(table, given)
    roles, others = columns["roles"], {*columns["sensitive_features"], *columns["strata"]}
    steps = STEPS if "y_score" in roles and table.count().execute() > LARGE else None
    keys = {role: table[name] for role, name in (roles | {n: n for n in others}).items()}
    aggregates = {"times": table.count()}
    if "y_score" in roles:
        score = keys["y_score"].cast("float64")
        aggregates |= {"lowest": score.min(), "highest": score.max()}
        if threshold is not None and "y_pred" not in roles:
            keys["y_pred"] = score >= threshold
        if steps:
            keys["y_score"] = (score * steps).floor().clip(0, steps - 1)
    if "cluster" in roles and (several := keys["cluster"].nunique().execute()) > BUCKETS * 5:
        keys["cluster"] = keys["cluster"].cast("string").hash().abs() % BUCKETS
        notes.append(f"The {several:,} clusters were put into {BUCKETS:,} buckets.")
    by = [expression.name(name) for name, expression in keys.items()]
    rows = table.group_by(by).aggregate(**aggregates).execute()
    complete = rows[[key for key in keys if key not in others]].notna().all(axis=1)
    if not complete.all():
        left_out = rows.loc[~complete, "times"].sum()
        notes.append(f"{left_out:,} rows without a {' or '.join(roles.values())} are left out.")
    rows = rows[complete].copy()
    if rows.empty:
        raise ValueError("there is no row in which nothing is missing")
    if "y_score" in roles:
        low, high = rows.pop("lowest").min(), rows.pop("highest").max()
        if not (0 <= low <= high <= 1) and (steps or threshold is not None):
            raise ValueError(
                f"{roles['y_score']}: scores lie between {low:g} and {high:g}, and not in [0, 1]; "
                "turn them into probabilities first"
            )
        exact = rows["y_score"].astype(float)
        rows["y_score"] = (exact + 0.5) / steps if steps else exact
    for role in {"y_true", "y_pred"} & set(rows):
        rows[role] = binary(rows[role], keys[role].get_name(), positive)
    if "sample_weight" in roles:
        rows["sample_weight"] = counts.weights(rows["sample_weight"])
    rows[list(others)] = rows[list(others)].map(_text)
    return Tally(_collapsed(rows), notes=notes, steps=steps, **columns)


def binary(values: pd.Series, name: str, positive: str | None = None) -> pd.Series:
    """A column as 0 and 1: by the value that is positive, or as yes and no are usually written."""
    texts = values.map(_text).str.strip().str.lower()
    kinds = sorted(texts.unique())
    if positive is not None and positive.lower() in kinds:
        return (texts == positive.lower()).astype(np.int8)
    if set(kinds) <= {*YES, *NO}:
        return texts.isin(YES).astype(np.int8)
    shown = ", ".join([*kinds[:8], *(["..."] if len(kinds) > 8 else [])])
    raise ValueError(
        f"{name} has {len(kinds)} values ({shown}); "
        f"say which one counts against the rest, such as positive={kinds[0]}"
    )


def _text(value: Any) -> str:
    """A value as text; whole numbers without a decimal point."""
    if pd.isna(value):
        return MISSING
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _collapsed(rows: pd.DataFrame) -> pd.DataFrame:
    """Each combination once, with the sum of its times."""
    names = [name for name in rows if name != "times"]
    return rows.groupby(names, sort=True, as_index=False)["times"].sum()
