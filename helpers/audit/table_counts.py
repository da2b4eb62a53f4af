"""Counts of a table of predictions: one query of DuckDB with named columns.

A table may be a CSV or Parquet file, a folder of them or a pattern, and larger than
memory.
"""

import csv
import glob
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from helpers.blocks import counts

ROLES = ("y_true", "y_pred", "y_score", "sample_weight", "cluster", "y_beside")
LABELS = ("y_true", "y_pred", "y_beside")
NUMBERS = ("y_score", "sample_weight")
PRIVATE = {name: f"__{name}" for name in (*ROLES, "times")}
"""Names of the counted columns that have a role."""
TIMES = PRIVATE["times"]
MISSING = "(missing)"
MOST_VALUES = 20  # of a group column
STEPS = 1000  # of the scores of a large table
LARGE = 5000  # rows from which scores are counted in steps
PARQUET = (".parquet", ".pq")
TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""What separates the columns of text files, by their ending."""


@dataclass(frozen=True)
class TableCounts:
    """How often each combination of values occurs in a table.

    Attributes
    ----------
    rows : pandas.DataFrame
        One row per combination. Columns with a role have the names of `PRIVATE`, and
        groups and strata have their own.
    roles : dict of str to str
        The column of the table that has the role.
    sensitive_features, strata : list of str
        The columns of groups, and those that can be held fixed.
    notes : list of str
        Sentences on what was left out.
    steps : int or None
        Number of steps in which scores were counted; None if they are exact.
    """

    rows: pd.DataFrame
    roles: dict[str, str]
    sensitive_features: list[str]
    strata: list[str]
    notes: list[str]
    steps: int | None = None

    def __len__(self) -> int:
        """Return the number of rows of the table."""
        return int(self.rows[TIMES].sum())

    @property
    def taken(self) -> str:
        """Say how each column is used."""
        roles = ", ".join(f"{name} is {role}" for role, name in self.roles.items())
        fixed = f"; {', '.join(self.strata)} held fixed" if self.strata else ""
        groups = ", ".join(self.sensitive_features)
        return f"{roles}; groups are those of {groups}{fixed}."

    def sizes(self, name: str) -> pd.Series:
        """Return the number of rows of each group of a column."""
        return self.rows.groupby(name)[TIMES].sum().rename("rows")

    def table(
        self,
        sensitive_features: Sequence[str] = (),
        intersect: str = "each",
        fixed: bool = False,
        scores: bool = True,
    ) -> counts.Table:
        """Return the table from which measures are computed.

        Parameters
        ----------
        sensitive_features : sequence of str, optional
            The columns of groups; all of them by default.
        intersect : {"each", "joint", "all"}
            As in :func:`helpers.blocks.counts.table`.
        fixed : bool
            Whether the strata are held fixed.
        scores : bool
            Whether the scores are kept, which rates do not need.
        """
        by = list(sensitive_features or self.sensitive_features)
        strata = self.strata if fixed else []
        roles = {
            own: role
            for role, own in PRIVATE.items()
            if own in self.rows and role != "y_beside"
        }
        if not scores or (self.steps and fixed):
            roles.pop(PRIVATE["y_score"], None)
        names = list(dict.fromkeys([*by, *strata, *roles]))
        rows = _collapsed(self.rows[names])
        roles[PRIVATE["cluster"]] = "clusters"
        columns = {role: rows[own] for own, role in roles.items() if own in rows}
        if strata:
            columns["strata"] = rows[strata]
        columns = counts.with_unknown(columns)
        return counts.table(rows[by], intersect=intersect, **columns)


def count_table(
    source: str | Path,
    roles: Mapping[str, str],
    groups: Sequence[str],
    *,
    strata: Sequence[str] = (),
    positive: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    threshold: float | None = None,
) -> TableCounts:
    """Count the rows of a table by the values of its named columns.

    Parameters
    ----------
    source : str or Path
        A CSV or Parquet file, a folder of them, or a pattern.
    roles : mapping of str to str
        The column of each role of `ROLES` that the table has.
    groups : sequence of str
        The columns of groups.
    strata : sequence of str, optional
        Columns that can be held fixed.
    positive : mapping, str or sequence of str, optional
        The values that count as 1, by column: ``{"risk": ["Medium", "High"]}``, or as
        text ``"risk=Medium,High,paid=yes"``. Columns of 0 and 1, or of true and false,
        need none.
    threshold : float, optional
        Score from which a row is predicted positive. It is the second prediction if
        `roles` has a column of predictions.

    Returns
    -------
    TableCounts

    Raises
    ------
    ValueError
        If a file cannot be read, a column is not there, or its values do not fit.
    """
    roles = {role: _composed(roles[role]) for role in ROLES if role in roles}
    groups = [_composed(name) for name in groups]
    strata = [_composed(name) for name in strata]
    source_sql, stored = _open(Path(source))
    _check_names(roles, groups, strata, [*stored])
    database = duckdb.connect()
    numbers = {role: roles[role] for role in NUMBERS if role in roles}
    for role, name in numbers.items():
        _check_numbers(database, source_sql, role, name, stored[name])
    columns = {}
    for role, name in roles.items():
        columns[PRIVATE[role]] = _quoted(stored[name])
        if role in NUMBERS:
            columns[PRIVATE[role]] = _number(stored[name])
    steps = None
    if "y_score" in roles:
        score = columns[PRIVATE["y_score"]]
        if threshold is not None:
            role = _role_of_threshold(roles, threshold)
            columns[PRIVATE[role]] = f"({score} >= {threshold})::INTEGER"
        [[total]] = _ask(database, f"SELECT count(*) FROM {source_sql}").fetchall()
        if total > LARGE:
            steps = STEPS
            step = f"least(floor({score} * {steps}), {steps - 1})"
            columns[PRIVATE["y_score"]] = f"({step} + 0.5) / {steps}"
    elif threshold is not None:
        raise ValueError(
            "The threshold needs scores. Name their column in roles, such as "
            "roles y_score=score."
        )
    columns |= {name: _quoted(stored[name]) for name in [*groups, *strata]}
    rows = _count(database, source_sql, columns)
    rows, notes = _with_roles(rows, roles, positive)
    for name in dict.fromkeys([*groups, *strata]):
        missing = rows.loc[rows[name].isna(), TIMES].sum()
        if missing:
            notes.append(
                f"{missing:,} rows have no {name}: they are the group {MISSING}."
            )
            rows[name] = rows[name].fillna(MISSING)
    for name in groups:
        _check_group(name, rows[name])
    return TableCounts(_collapsed(rows), roles, groups, strata, notes, steps)


# --- files and columns ---


def _open(source: Path) -> tuple[str, dict[str, str]]:
    """Return a table in SQL, and the names of its columns in the database."""
    files = _files(source)
    listed = ", ".join(_string(glob.escape(str(file))) for file in files)
    parquet = _ending(files[0]) in PARQUET
    if parquet:
        table = f"read_parquet([{listed}], hive_partitioning=false)"
    else:
        dialect = (
            f"delim={_string(TEXT[_ending(files[0])])}, quote='\"', escape='\"', "
            "all_varchar=true, hive_partitioning=false, files_to_sniff=-1"
        )
        table = f"read_csv([{listed}], header=true, {dialect})"
    database = duckdb.connect()
    described = _ask(database, f"DESCRIBE FROM {table}").fetchall()
    in_database = [column[0] for column in described]
    in_file = in_database
    if not parquet:
        first_file = _string(glob.escape(str(files[0])))
        header = f"FROM read_csv({first_file}, header=false, {dialect}) LIMIT 1"
        first_row = _ask(database, header).fetchall()
        if not first_row:
            raise ValueError(f"{files[0].name} is empty. Give a table with a header.")
        in_file = first_row[0]
    stored = {}
    often = Counter(in_file)
    for name, column in zip(in_file, in_database, strict=True):
        if name is not None and often[name] == 1:
            stored[_composed(name).strip()] = column
    return table, stored


def _files(source: Path) -> list[Path]:
    """List the files of a name, a folder or a pattern: all CSV, or all Parquet."""
    if source.is_file():
        files = [source]
    elif source.is_dir():
        files = [
            file for file in source.rglob("*") if _ending(file) in (*TEXT, *PARQUET)
        ]
    else:
        pattern = str(source.relative_to(source.anchor))
        files = [*Path(source.anchor).glob(pattern)]
    files = sorted(file for file in files if not file.name.startswith("."))
    if not files:
        raise ValueError(
            f"{source}: there is no such file or folder, and no file matches it. Give "
            "a CSV or Parquet file, a folder of them, or a pattern."
        )
    endings = {_ending(file) for file in files}
    readable = [{ending} for ending in TEXT] + [{*PARQUET}]
    if not any(endings <= kind for kind in readable):
        raise ValueError(
            f"{source}: the files end in {', '.join(sorted(endings))}. Give files of "
            f"one kind, which end in {', '.join([*TEXT, *PARQUET])}. A spreadsheet can "
            "be saved as CSV."
        )
    return files


def _ending(file: Path) -> str:
    """Return the ending of a file, without that of its compression."""
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _ask(database: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyConnection:
    """Run a query; a ValueError has what DuckDB says of the file."""
    try:
        return database.execute(query)
    except duckdb.Error as error:
        lines = str(error).partition("\nPossible")[0].partition("\nPotential")[0]
        raise ValueError(
            f"The table cannot be read. {' '.join(lines.split())} A CSV is UTF-8, has "
            "one header, and separates columns by commas (.csv) or tabs (.tsv, .txt). "
            "All files of a folder have the same columns."
        ) from None


def _check_names(
    roles: Mapping[str, str], groups: list[str], strata: list[str], names: list[str]
) -> None:
    """Refuse columns that are not there, or that are named for two uses."""
    listed = f"The columns are {', '.join(names)}."
    if not {"y_true", "y_pred", "y_score"} & {*roles}:
        raise ValueError(
            "No column of predictions, outcomes or scores is named. Say which they "
            f"are, such as roles y_true=repaid,y_pred=decision,y_score=score. {listed}"
        )
    if not groups:
        raise ValueError(
            "No column of groups is named. Say which, such as groups sex,race. "
            f"{listed}"
        )
    if "y_beside" in roles and "y_pred" not in roles:
        raise ValueError("A second prediction needs a first one: name roles y_pred=...")
    for name in [*roles.values(), *groups, *strata]:
        if name not in names:
            raise ValueError(
                f"There is no column {name!r} of which the table has exactly one. "
                f"{listed}"
            )
    uses = [(role, name) for role, name in roles.items() if role != "cluster"]
    uses += [("a group", name) for name in dict.fromkeys(groups)]
    uses += [("held fixed", name) for name in strata if name in groups]
    often = Counter(name for _, name in uses)
    for name in often:
        if often[name] > 1:
            both = " and ".join(use for use, column in uses if column == name)
            raise ValueError(
                f"The column {name} cannot be {both} at once. Name another column for "
                "one."
            )


def _role_of_threshold(roles: dict[str, str], threshold: float) -> str:
    """Enter the scores from a threshold as predictions, and return which they are."""
    if not 0 <= threshold <= 1:
        raise ValueError(
            f"The threshold is {threshold:g}. Scores are between 0 and 1, such as 0.5."
        )
    if "y_beside" in roles:
        raise ValueError(
            "The threshold and the column second both give a second prediction. Give "
            "one of them."
        )
    role = "y_beside" if "y_pred" in roles else "y_pred"
    roles[role] = f"{roles['y_score']} from {threshold:g}"
    return role


# --- the counts ---


def _count(database, table: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Count each combination of values; texts are trimmed, and None if empty."""
    numbers = [PRIVATE[role] for role in NUMBERS]
    counted = ", ".join(f"{sql} AS {_quoted(name)}" for name, sql in columns.items())
    written = []
    for name in map(_quoted, columns):
        text = f"nullif(nfc_normalize(trim({name}::VARCHAR)), '')"
        number = name.strip('"') in numbers
        written.append(f"{name if number else text} AS {name}")
    query = (
        f"SELECT {', '.join(written)}, {TIMES} "
        f"FROM (SELECT {counted}, count(*) AS {TIMES} FROM {table} GROUP BY ALL)"
    )
    rows = _ask(database, query).df()
    if rows.empty:
        raise ValueError(
            "The table has no rows. Give a table with rows below its header."
        )
    rows = rows.astype({name: object for name in columns if name not in numbers})
    return rows.where(rows.notna(), None)


def _with_roles(
    rows: pd.DataFrame, roles: Mapping[str, str], positive
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out rows without a value that is needed, and write labels as 0 and 1."""
    needed = [role for role in roles if role != "y_true"]
    if not {"y_pred", "y_score"} & {*roles}:
        needed = [*roles]
    notes = []
    kept = rows.dropna(subset=[PRIVATE[role] for role in needed])
    left_out = rows[TIMES].sum() - kept[TIMES].sum()
    names = " or ".join(roles[role] for role in needed)
    if kept.empty or kept[[PRIVATE[role] for role in roles]].isna().all().any():
        raise ValueError(
            f"No row has a value in all of {', '.join(roles.values())}. Name columns "
            "that are filled in the same rows."
        )
    if left_out:
        notes.append(f"{left_out:,} rows without a {names} are left out.")
    kept = kept.copy()
    labels = {roles[role]: PRIVATE[role] for role in LABELS if role in roles}
    chosen = positive_values(positive, list(labels))
    for name, own in labels.items():
        kept[own], sentence = _zeros_and_ones(name, kept[own], chosen.get(name))
        notes += sentence
    for role in NUMBERS:
        if role in roles:
            kept[PRIVATE[role]] = kept[PRIVATE[role]].astype(float)
    if "y_true" in roles:
        notes += _known_outcomes(roles, kept)
    return kept, notes


def positive_values(positive, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the values that count as 1 by column, from a mapping or a text."""
    if positive is None:
        return {}
    pairs = []
    if isinstance(positive, Mapping):
        for name, values in positive.items():
            listed = [values] if isinstance(values, str | int | float) else values
            pairs += [(_composed(str(name)), _label(value)) for value in listed]
    else:
        parts = [positive] if isinstance(positive, str) else positive
        name = None
        for part in next(csv.reader([",".join(parts)], skipinitialspace=True)):
            column, equals, value = part.partition("=")
            if equals and (name is None or _composed(column) in columns):
                name, part = _composed(column), value
            pairs.append((name, _label(part)))
    values = {}
    for name, value in pairs:
        if name not in columns:
            raise ValueError(
                f"positive does not say of which column {value!r} is a value, or names "
                f"{name!r}. Write COLUMN=VALUE for the columns of predictions and "
                f"outcomes, which are {', '.join(columns) or 'not there'}."
            )
        values.setdefault(name, []).append(value)
    return values


def _zeros_and_ones(
    name: str, texts: pd.Series, positive: list[str] | None
) -> tuple[pd.Series, list[str]]:
    """Return the labels of a column as 0, 1 or `counts.UNKNOWN`, and notes on them."""
    labels = texts.map(_label, na_action="ignore")
    values = sorted(set(labels.dropna()))
    listed = ", ".join([*values[:8], "..."] if len(values) > 8 else values)
    notes = []
    if positive is None:
        labels = labels.map(str.lower, na_action="ignore")
        if not any({*labels.dropna()} <= {*pair} for pair in ("01", ("false", "true"))):
            raise ValueError(
                f"The column {name} has {len(values)} values: {listed}. Say which "
                f"count as 1, such as positive {name}={values[-1]}. If they are "
                f"scores, name the column as roles y_score={name}."
            )
        positive = ["1", "true"]
    else:
        unknown = [value for value in positive if value not in values]
        if unknown or (len(values) > 1 and {*values} <= {*positive}):
            what = (
                f"has no {unknown[0]!r}" if unknown else "would count as 1 in all rows"
            )
            raise ValueError(
                f"positive {name}={','.join(positive)}: the column {what}. Its values "
                f"are {listed}. Name those that count as 1."
            )
        others = [value for value in values if value not in positive]
        zeros = f" ({', '.join(others[:8])})" if len(others) > 1 else ""
        verb = "counts" if len(positive) == 1 else "count"
        notes.append(
            f"In {name}, {' and '.join(positive)} {verb} as 1 and all other "
            f"values{zeros} as 0."
        )
    ones = labels.isin(positive).astype(np.int8)
    return ones.mask(labels.isna(), counts.UNKNOWN), notes


def _known_outcomes(roles: Mapping[str, str], rows: pd.DataFrame) -> list[str]:
    """Say for which rows the outcome is known, if it is known for some only."""
    name, times = roles["y_true"], rows[TIMES]
    known = rows[PRIVATE["y_true"]] != counts.UNKNOWN
    if known.all():
        return []
    notes = [
        f"{name} is known for {times[known].sum():,} of {times.sum():,} rows. Rates "
        "that need it are those of these rows, and all other rates are those of all "
        "rows."
    ]
    if "y_pred" not in roles:
        return notes
    for predicted in (0, 1):
        here = rows[PRIVATE["y_pred"]] == predicted
        if here.any():
            share = times[here & known].sum() / times[here].sum()
            notes.append(
                f"{name} is known for {share:.0%} of the rows that were predicted "
                f"{predicted}."
            )
            if share == 0:
                notes.append(
                    f"How often rows that were predicted {predicted} were predicted "
                    "right, no number of this table can say."
                )
    return notes


def _check_numbers(database, table: str, role: str, name: str, stored: str) -> None:
    """Refuse scores that are no probabilities, and weights that are negative."""
    column, number = _quoted(stored), _number(stored)
    allowed = f"{number} BETWEEN 0 AND 1" if role == "y_score" else f"{number} >= 0"
    filled = f"nullif(trim({column}::VARCHAR), '') IS NOT NULL"
    query = (
        f"SELECT count(*), any_value({column}::VARCHAR) FROM {table} "
        f"WHERE {filled} AND coalesce(NOT ({allowed} AND isfinite({number})), true)"
    )
    [[wrong, example]] = _ask(database, query).fetchall()
    if wrong:
        expected = "weights of 0 or more"
        if role == "y_score":
            expected = "scores between 0 and 1; divide percentages by 100"
        raise ValueError(
            f"The column {name} has {wrong:,} values, such as {example!r}, which are "
            f"no {expected}. Decimals have a point."
        )


def _check_group(name: str, values: pd.Series) -> None:
    """Refuse a column with too many values for groups."""
    several = values[values != MISSING].nunique()
    if several > MOST_VALUES:
        raise ValueError(
            f"The column {name} has {several:,} different values, and groups can have "
            f"{MOST_VALUES}. Put numbers into bins, such as "
            f"pandas.qcut(table[{name!r}], 4), and merge rare names."
        )


def _collapsed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each combination once, with the sum of its times."""
    names = [name for name in rows if name != TIMES]
    return rows.groupby(names, sort=True, as_index=False)[TIMES].sum()


def _label(value) -> str:
    """Write a value of a label as text; a whole number has no point."""
    if isinstance(value, bool):
        return str(value).lower()
    return _composed(str(value)).strip().removesuffix(".0")


def _composed(text: str) -> str:
    """Return a text in the composed form of Unicode (NFC)."""
    return unicodedata.normalize("NFC", text)


def _quoted(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _number(stored: str) -> str:
    """Write the numbers of a column in SQL."""
    return f"TRY_CAST({_quoted(stored)} AS DOUBLE)"
