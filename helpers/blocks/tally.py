"""From files to counts: columns recognised by their names, rows counted by DuckDB through Ibis.

All reports follow from a tally, and tallies add. The rows are never held in memory.
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
    "y_true": ("y_true", "label", "labels", "target", "outcome", "actual", "truth", "ground_truth"),
    "y_pred": ("y_pred", "pred", "predicted", "prediction", "predictions", "decision", "y_hat"),
    "y_score": ("y_score", "score", "scores", "probability", "proba"),
    "sample_weight": ("sample_weight", "weight", "weights"),
}
"""What a column is taken for, by its name."""
YES = ("1", "true", "yes", "y", "t", "positive")
NO = ("0", "-1", "false", "no", "n", "f", "negative")
MANY = 50  # values of a column that may be a group each without anybody asking for it
MOST = 1000  # values of a column that may be a group each at all
LOOKED_AT = 100_000  # rows by which columns are recognised
STEPS = 1000  # of the scores of a large table
LARGE = 5000  # rows from which scores are counted in steps
BUCKETS = 1000  # of clusters, where there are more
MISSING = "(missing)"


@dataclass(frozen=True)
class Tally:
    """How often each combination of values occurs: `rows`, with columns by their roles, groups and
    strata by their names, and `times`.

    `roles` says which column of the file has which role, `notes` are sentences about what was left
    out, and `steps` counts those of the scores (None: exact).
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
    if {p.suffix for p in found} not in ({".csv"}, {".parquet"}):
        raise ValueError(f"{path}: give files that all end in .csv, or all in .parquet")
    database = ibis.duckdb.connect(memory_limit="1GB")
    reader = database.read_csv if found[0].suffix == ".csv" else database.read_parquet
    if empty := [p.name for p in found if p.stat().st_size == 0]:
        raise ValueError(f"{empty[0]}: the file is empty")
    try:
        columns = {p.name: set(reader(p).columns) for p in found}
        table = reader([str(p) for p in found], union_by_name=True)
    except Exception:  # DuckDB has many kinds
        raise ValueError(f"{path.name}: this is no table in the form its ending says") from None
    every = set().union(*columns.values())
    lacks = [
        f"{n} lacks {', '.join(sorted(every - of))}" for n, of in columns.items() if every - of
    ]
    if lacks:
        raise ValueError(f"the {len(found)} files have different columns: {'; '.join(lacks[:4])}")
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
            raise ValueError(
                f"{' and '.join(here)} could both be {role}: say --map {role}={here[0]}"
            )
        if role not in found and here:
            found[role] = here[0]
    if not {"y_true", "y_pred", "y_score"} & set(found):
        raise ValueError(
            f"none of the columns {', '.join(table.columns)} is recognised as y_true, y_pred or "
            "y_score: say which is, such as --map y_true=paid_back (is it a table at all?)"
        )
    head, notes = table.limit(LOOKED_AT).execute(), []
    if head.empty:
        raise ValueError("the table has no rows")
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
        _doubtful(name, head, found)
        note = ""
        if head[name].dtype.kind == "f" and (head[name].dropna() % 1 != 0).any():
            note = "holds numbers with fractions: no groups."
        elif values[name] > MANY:
            note = (
                f"holds {values[name]:,} different values: no groups. Put numbers such as ages "
                "into bands (18-29, 30-44) to compare them."
            )
        elif values[name] < 2:
            note = "has one value only: there is nothing to compare."
        if note:
            notes.append(f"The column {name} {note}")
        else:
            lists["sensitive_features"].append(name)
    if not lists["sensitive_features"]:
        raise ValueError(
            f"no column is a group. {' '.join(notes)} Say which are: --sensitive race,sex"
        )
    roles = {role: found[role] for role in (*ROLES, "cluster") if role in found}
    return {"roles": roles} | lists, notes


def _doubtful(name: str, head: pd.DataFrame, found: dict) -> None:
    """Refuse to take a column for a group that may be the missing labels or predictions."""
    labels = [role for role in ("y_true", "y_pred") if role in found]
    lacking = [role for role in ("y_true", "y_pred") if role not in found]
    its, *said = (set(_plain(head[n].dropna())) for n in (name, *(found[role] for role in labels)))
    asked = len(lacking) == 1 or (lacking and "y_score" in found)
    if asked and len(its) > 1 and (its in said or its <= {*YES, *NO}):
        maps = " or ".join(f"--map {role}={name}" for role in lacking)
        raise ValueError(
            f"{name} holds {', '.join(sorted(its))}: is it {' or '.join(lacking)}? "
            f"Say {maps}, or name the group columns, such as --sensitive {name}"
        )


def of_file(
    source: str | Path | pd.DataFrame, *, positive: str | None = None, **given: Any
) -> Tally:
    """Count a file, a folder, a pattern of files, or rows in memory: one GROUP BY.

    Scores of more than `LARGE` rows are counted in `STEPS` equal steps of [0, 1], as the middles of
    these, and many clusters in `BUCKETS` (by hashing), which are drawn as wholes.

    Parameters
    ----------
    positive : the value of y_true and y_pred that counts as 1, all others as 0; needed where they
        are not 0 and 1, yes and no, or true and false.
    given : columns by role, such as y_true="outcome", and lists of sensitive_features and strata

    Raises
    ------
    ValueError : for columns that are not there, not recognised or in doubt, scores outside [0, 1],
        values that are not two, a positive that occurs nowhere, and bad weights
    """
    table = read(source)
    columns, notes = recognised(table, given)
    roles = columns["roles"]
    others = list(dict.fromkeys([*columns["sensitive_features"], *columns["strata"]]))
    keys = {role: table[name] for role, name in (roles | {n: n for n in others}).items()}
    steps = STEPS if "y_score" in roles and table.count().execute() > LARGE else None
    if "y_score" in roles:
        score = keys["y_score"].cast("float64")
        low, high = table.aggregate([score.min(), score.max()]).execute().loc[0]
        if low < 0 or high > 1:
            percent = " (divide by 100?)" if low >= 0 and high <= 100 else ""
            raise ValueError(
                f"{roles['y_score']}: scores lie between {low:g} and {high:g}, and not in [0, 1]; "
                f"turn them into probabilities{percent}"
            )
        if steps:
            keys["y_score"] = (score * steps).floor().clip(0, steps - 1)
    if "cluster" in roles and (several := keys["cluster"].nunique().execute()) > BUCKETS * 5:
        keys["cluster"] = keys["cluster"].cast("string").hash().abs() % BUCKETS
        notes.append(f"The {several:,} clusters were put into {BUCKETS:,} buckets.")
    by = [expression.name(name) for name, expression in keys.items()]
    rows = table.group_by(by).aggregate(times=table.count()).execute()
    complete = rows[list(roles)].notna().all(axis=1)
    if not complete.all():
        left_out = rows.loc[~complete, "times"].sum()
        notes.append(f"{left_out:,} rows without a {' or '.join(roles.values())} are left out.")
    rows = rows[complete].copy()
    if rows.empty:
        raise ValueError("there is no row in which nothing is missing")
    if "y_score" in roles:
        score = rows["y_score"].astype(float)
        rows["y_score"] = (score + 0.5) / steps if steps else score
    said = {roles[role]: role for role in ("y_true", "y_pred") if role in roles}
    if positive is not None and said:
        notes.append(_counted(positive, {name: set(_plain(rows[of])) for name, of in said.items()}))
    for name, role in said.items():
        rows[role] = binary(rows[role], name, positive)
    if "sample_weight" in roles:
        below = rows.loc[rows["sample_weight"] < 0, "times"].sum()
        if below:
            name, every = roles["sample_weight"], rows["times"].sum()
            raise ValueError(f"{name}: {below:,} of {every:,} rows have a negative weight")
        rows["sample_weight"] = counts.weights(rows["sample_weight"])
    rows[others] = rows[others].map(_text)
    return Tally(_collapsed(rows), notes=notes, steps=steps, **columns)


def _plain(values: pd.Series) -> pd.Series:
    """Values as texts in small letters, without spaces around them."""
    return values.map(_text).str.strip().str.lower()


def _counted(positive: str, kinds: dict[str, set]) -> str:
    """What the positive value means in each column; refused where a column speaks otherwise."""
    usual, wanted, every = {*YES, *NO}, positive.lower(), set().union(*kinds.values())
    for name, its in kinds.items():
        shared = any(its & other for of, other in kinds.items() if of != name and wanted in other)
        if wanted not in its and not shared and not (wanted in YES and its <= usual):
            shown = ", ".join(sorted(its)[:8])
            raise ValueError(f"--positive {positive}: {name} holds {shown}, and no {positive}")
    sentence = f"In {' and '.join(kinds)}, {positive} counts as 1 and all other values as 0."
    more = " Accuracy over all classes is not on this page." if len(every - usual) > 2 else ""
    return sentence + more


def binary(values: pd.Series, name: str, positive: str | None = None) -> pd.Series:
    """A column as 0 and 1: by the value that is positive, or as yes and no are usually written."""
    texts = _plain(values)
    kinds = sorted(texts.unique())
    if set(kinds) <= {*YES, *NO} and (positive is None or positive.lower() not in kinds):
        return texts.isin(YES).astype(np.int8)
    if positive is not None:
        return (texts == positive.lower()).astype(np.int8)
    shown = ", ".join([*kinds[:8], *(["..."] if len(kinds) > 8 else [])])
    raise ValueError(
        f"{name} has {len(kinds)} values ({shown}); "
        f"say which one counts against the rest, such as --positive {kinds[0]}"
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
