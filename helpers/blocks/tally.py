"""From files to counts: columns recognised by their names, rows counted by DuckDB through Ibis.

A tally says how often each combination of values occurs. All reports follow from it, and tallies of
shards, days or sites add. The rows themselves are never held in memory.
"""

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
class Columns:
    """Which column of a table is what; None or empty where there is none."""

    y_true: str | None = None
    y_pred: str | None = None
    y_score: str | None = None
    sample_weight: str | None = None
    cluster: str | None = None
    sensitive_features: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """Role to the column that has it, groups and strata aside."""
        names = [*ROLES, "cluster"]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class Tally:
    """How often each combination of values occurs.

    `rows` has a row for each combination: the columns of `columns` by their roles, groups and
    strata by their names, and `times`. `notes` are sentences about what was left out or rounded,
    `steps` is the number of steps in which scores were counted, None where they are exact.
    """

    rows: pd.DataFrame
    columns: Columns
    notes: tuple[str, ...] = ()
    steps: int | None = None

    def __add__(self, other: "Tally") -> "Tally":
        """Both tallies as one; refused where they count other columns."""
        if set(self.rows) != set(other.rows) or self.steps != other.steps:
            differ = (
                ", ".join(sorted(set(self.rows) ^ set(other.rows))) or "the steps of the scores"
            )
            raise ValueError(f"tallies of different columns do not add: {differ}")
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        return replace(self, rows=_collapsed(pd.concat([self.rows, other.rows])), notes=notes)

    def __len__(self) -> int:
        """The number of rows that were counted."""
        return int(self.rows["times"].sum())

    def table(
        self, sensitive_features: Sequence[str] = (), intersect: str = "each", fixed: bool = False
    ) -> counts.Table:
        """The table that measures are computed from, of some group columns (all if none given).

        `fixed` holds the strata fixed; `intersect` is as in `counts.table`.
        """
        by = list(sensitive_features or self.columns.sensitive_features)
        strata = list(self.columns.strata) if fixed else []
        roles = list(self.columns.roles)
        if self.steps and fixed:  # rates need no scores
            roles = [role for role in roles if role != "y_score"]
        roles += ["y_pred"] if "y_pred" in self.rows and "y_pred" not in roles else []
        rows = _collapsed(self.rows[list(dict.fromkeys([*by, *strata, *roles, "times"]))])
        given = {role: rows[role] for role in roles if role != "cluster"}
        given["clusters"] = rows.get("cluster")
        given["strata"] = rows[strata] if strata else None
        return counts.table(rows[by], **given, intersect=intersect, times=rows["times"])


def read(path: str | Path) -> Any:
    """A CSV or Parquet file, a folder or a pattern of such files -> an Ibis table on DuckDB.

    Raises
    ------
    ValueError
        When there is no such file, one cannot be read, or shards have different columns.
    """
    import ibis

    path = Path(path)
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
        first, *others = [(p.name, set(reader(p).columns)) for p in found]
        for name, columns in others:
            if columns != first[1]:
                differ = ", ".join(sorted(columns ^ first[1]))
                raise ValueError(f"{name} and {first[0]} have different columns: {differ}")
        return reader([str(p) for p in found], union_by_name=True)
    except ValueError:
        raise
    except Exception as error:  # DuckDB has many kinds
        raise ValueError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from None


def recognised(table: Any, **given: Any) -> tuple[Columns, tuple[str, ...]]:
    """What the columns of an Ibis table are, by name (`ROLES`) or as `given`, and what is left out.

    `given` are fields of `Columns`. Group columns are, if not given, all others with at most `MANY`
    different values; identifiers and numbers that measure something are left out with a sentence.
    """
    asked = [
        name for value in given.values() for name in ([value] if isinstance(value, str) else value)
    ]
    missing = [name for name in asked if name not in table.columns]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; there are {', '.join(table.columns)}")
    found = dict(given)
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
    for name in found.get("sensitive_features", ()):
        _refuse_many(name, head[name].nunique(), MOST)
    if "sensitive_features" not in found:
        taken = {*asked, *(v for v in found.values() if isinstance(v, str))}
        free, chosen = [name for name in table.columns if name not in taken], []
        for name in free:
            values = head[name].nunique()
            fractions = head[name].dtype.kind == "f" and (head[name].dropna() % 1 != 0).any()
            if values > MANY or fractions:
                why = "numbers with fractions" if fractions else f"{values:,} different values"
                notes.append(f"The column {name} holds {why}, so it is not taken for groups.")
            elif values < 2:
                notes.append(f"The column {name} has one value only: there is nothing to compare.")
            else:
                chosen.append(name)
        found["sensitive_features"] = chosen
    lists = {name: tuple(found.get(name, ())) for name in ("sensitive_features", "strata")}
    if not lists["sensitive_features"]:
        raise ValueError(
            f"no column is a group. {' '.join(notes)} Say which are: sensitive=race,sex"
        )
    return Columns(**(found | lists)), tuple(notes)


def count(
    table: Any,
    columns: Columns,
    *,
    positive: str | None = None,
    threshold: float | None = None,
    steps: int | None = None,
    buckets: int | None = None,
    notes: tuple[str, ...] = (),
) -> Tally:
    """Count an Ibis table on any of its engines: one GROUP BY, of which the result is small.

    Parameters
    ----------
    positive : the value of y_true and y_pred that counts as 1, all others as 0; needed where they
        are not 0 and 1, yes and no, or true and false.
    threshold : scores from which on the prediction is positive, where there is no column of them.
    steps : count scores in so many equal steps of [0, 1], as the middles of these; None: exactly.
    buckets : put clusters into so many buckets (by hashing), which are drawn as wholes.

    Raises
    ------
    ValueError
        For scores outside [0, 1] that are to be counted in steps or are compared with a threshold,
        values that are not two, bad weights, and too many combinations.
    """
    keys = {role: table[name] for role, name in columns.roles.items()}
    keys |= {name: table[name] for name in (*columns.sensitive_features, *columns.strata)}
    aggregates = {"times": table.count()}
    if columns.y_score:
        score = table[columns.y_score].cast("float64")
        aggregates |= {"lowest": score.min(), "highest": score.max()}
        if threshold is not None and not columns.y_pred:
            keys["y_pred"] = score >= threshold
        if steps:
            keys["y_score"] = (score * steps).floor().clip(0, steps - 1)
    if columns.cluster and buckets:
        keys["cluster"] = table[columns.cluster].cast("string").hash().abs() % buckets
    by = [expression.name(name) for name, expression in keys.items()]
    rows = table.group_by(by).aggregate(**aggregates).execute()
    rows, missing = _complete(rows, [k for k in keys if k in (*ROLES, "cluster")])
    if missing:
        notes += (
            f"{missing:,} rows without a {' or '.join(columns.roles.values())} are left out.",
        )
    if rows.empty:
        raise ValueError("there is no row in which nothing is missing")
    if columns.y_score:
        low, high = rows.pop("lowest").min(), rows.pop("highest").max()
        if not (0 <= low <= high <= 1) and (steps or threshold is not None):
            raise ValueError(
                f"{columns.y_score}: scores lie between {low:g} and {high:g}, and not in [0, 1]; "
                "turn them into probabilities first"
            )
        rows["y_score"] = (
            (rows["y_score"] + 0.5) / steps if steps else rows["y_score"].astype(float)
        )
    for role in {"y_true", "y_pred"} & set(rows):
        rows[role] = binary(rows[role], keys[role].get_name(), positive)
    if columns.sample_weight:
        rows["sample_weight"] = counts.weights(rows["sample_weight"])
    for name in (*columns.sensitive_features, *columns.strata):
        _refuse_many(name, rows[name].nunique(), MOST)
        rows[name] = rows[name].map(_text)
    return Tally(_collapsed(rows), columns, notes, steps if columns.y_score else None)


def of_file(path: str | Path, *, positive=None, threshold=None, **given: Any) -> Tally:
    """Count a file, a folder or a pattern of files: `read`, `recognised` and `count` in one."""
    table = read(path)
    columns, notes = recognised(table, **given)
    steps = STEPS if columns.y_score and table.count().execute() > LARGE else None
    buckets = None
    if columns.cluster and (several := table[columns.cluster].nunique().execute()) > BUCKETS * 5:
        buckets = BUCKETS
        notes += (f"The {several:,} clusters were put into {BUCKETS:,} buckets.",)
    options = {"positive": positive, "threshold": threshold, "steps": steps, "buckets": buckets}
    return count(table, columns, notes=notes, **options)


def of_frame(rows: pd.DataFrame, **given: Any) -> Tally:
    """Count rows that are in memory already; `given` are the fields of `Columns`."""
    columns = Columns(
        **{name: value if isinstance(value, str) else tuple(value) for name, value in given.items()}
    )
    names = columns.roles | {n: n for n in (*columns.sensitive_features, *columns.strata)}
    found = pd.DataFrame({name: rows[column] for name, column in names.items()})
    for role in {"y_true", "y_pred"} & set(found):
        found[role] = binary(found[role], names[role])
    return Tally(_collapsed(found.assign(times=1)), columns)


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


def _complete(rows: pd.DataFrame, needed: list[str]) -> tuple[pd.DataFrame, int]:
    """Combinations in which nothing `needed` is missing, and the number of rows in the others."""
    complete = rows[needed].notna().all(axis=1)
    return rows[complete].copy(), int(rows.loc[~complete, "times"].sum())


def _collapsed(rows: pd.DataFrame) -> pd.DataFrame:
    """Each combination once, with the sum of its times."""
    names = [name for name in rows if name != "times"]
    return rows.groupby(names, sort=True, as_index=False)["times"].sum()


def _refuse_many(name: str, values: int, most: int) -> None:
    if values > most:
        raise ValueError(
            f"{name} has {values:,} different values or more, too many for groups (at most "
            f"{most:,}): is it an identifier? Give it as cluster if it says which rows belong "
            "together, or merge its values"
        )
