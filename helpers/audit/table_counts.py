"""Count a table of predictions by its named columns, with one query of DuckDB.

The table is a DataFrame, a CSV or Parquet file, or a folder of them. Files may be
larger than memory.
"""

import glob
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet

from helpers.blocks import counts
from helpers.blocks.measures import UNKNOWN

LABELS = ("y_pred", "y_true", "second")
MISSING = "(missing)"
MOST_VALUES = 20  # of a column of groups
ENDINGS = (".csv", ".parquet")
DECIMALS = 3  # of scores
NO_SCORE = -1  # stands for a value that is not a score between 0 and 1
TRUTH_VALUES = ({"0", "1"}, {"false", "true"})  # which need no `positive`


@dataclass(frozen=True)
class TableCounts:
    """How often each combination of values occurs in a table.

    Attributes
    ----------
    values, groups, strata : pandas.DataFrame
        One row per combination: predictions, outcomes and scores by role; the columns
        of groups; and the columns that can be held fixed.
    rows : pandas.Series
        The number of rows of each combination.
    columns : dict of str to str
        The column of the table that has each role.
    notes : list of str
        Sentences on how the table was read.
    """

    values: pd.DataFrame
    groups: pd.DataFrame
    strata: pd.DataFrame
    rows: pd.Series
    columns: dict[str, str]
    notes: list[str]

    def table(
        self,
        groups: Sequence[str],
        roles: Sequence[str] = counts.VALUES,
        intersect: bool = False,
        fixed: bool = False,
    ) -> counts.Counts:
        """Return the counts from which measures are computed."""
        return counts.count(
            self.groups[list(groups)],
            self.values[[role for role in self.values if role in roles]],
            intersect=intersect,
            strata=self.strata if fixed else None,
            times=self.rows,
        )


def count_table(
    data: pd.DataFrame | str | Path,
    columns: Mapping[str, str],
    groups: str | Sequence[str],
    *,
    strata: str | Sequence[str] = (),
    positive: Mapping[str, object] | None = None,
    threshold: float | None = None,
) -> TableCounts:
    """Count the rows of a table by the values of its named columns.

    Parameters
    ----------
    data : pandas.DataFrame, str or Path
    columns : mapping of str to str
        The column of each role of `counts.VALUES` that the table has.
    groups, strata : str or sequence of str
        Columns of groups, and columns that can be held fixed.
    positive : mapping of str to value or list of values, optional
        The values that count as 1, by column of predictions or outcomes. All other
        values count as 0. Columns of 0 and 1, or of true and false, need none.
    threshold : float, optional
        The score from which a row is predicted positive. It is the second prediction if
        there is a column `y_pred`.

    Returns
    -------
    TableCounts

    Raises
    ------
    ValueError
        If the table cannot be read, a column is not there, or its values do not fit.
    """
    columns = {role: _trimmed(name) for role, name in columns.items()}
    groups = [_trimmed(name) for name in _as_list(groups)]
    strata = [_trimmed(name) for name in _as_list(strata)]
    positive = positive or {}
    if not isinstance(positive, Mapping):
        raise ValueError(
            f"positive is {positive!r}. Give a dictionary of columns and the values "
            "that count as 1, such as {'approved': 'yes'}."
        )
    positive = {_trimmed(name): chosen for name, chosen in positive.items()}
    database = duckdb.cursor()
    source, stored = _open(database, data, [*columns.values(), *groups, *strata])
    _check_names(columns, [*groups, *strata], stored)
    if not groups:
        raise ValueError(
            f"No column of groups is named. Name some of {', '.join(stored)}."
        )
    unknown = positive.keys() - {columns.get(role) for role in LABELS}
    if unknown:
        raise ValueError(
            f"positive names {', '.join(unknown)}, which is not named as y_pred, "
            "y_true or second. Name the column there, or leave it out of positive."
        )
    expressions = {role: _quoted(stored[name]) for role, name in columns.items()}
    if threshold is not None:
        role = _role_of_threshold(columns, threshold)
        columns[role] = f"{columns['score']} >= {threshold:g}"
        number = f"TRY_CAST({expressions['score']} AS DOUBLE)"
        expressions[role] = f"({number} >= {threshold})::INTEGER"
    for name in [*groups, *strata]:
        expressions[f"column {name}"] = _quoted(stored[name])
    rows = _count(database, source, expressions)
    if "score" in columns:
        _check_scores(database, source, columns["score"], expressions["score"], rows)
    notes = []
    kept = _drop_incomplete(rows, columns, notes)
    values = kept[[role for role in counts.VALUES if role in columns]].copy()
    for role in LABELS:
        if role in columns:
            name = columns[role]
            values[role] = _as_labels(name, values[role], positive, notes)
    if "y_true" in columns:
        _note_known_outcomes(values, kept["rows"], columns, notes)
    named = {name: kept[f"column {name}"] for name in [*groups, *strata]}
    for name, column in named.items():
        missing = kept.loc[column.isna(), "rows"].sum()
        if missing:
            notes.append(f"{missing:,} rows have no {name}: they are {MISSING}.")
    attributes = pd.DataFrame(named).fillna(MISSING)
    for name in groups:
        _check_group(name, attributes[name])
    return TableCounts(
        values,
        attributes[groups],
        attributes[strata],
        kept["rows"],
        columns,
        notes,
    )


def _open(
    database: duckdb.DuckDBPyConnection, data: pd.DataFrame | str | Path, used: list
) -> tuple[str, dict[str, str | None]]:
    """Return a table in SQL, and the name of each of its columns in the database."""
    if isinstance(data, pd.DataFrame):
        names = [str(name) for name in data]
        unique = data.loc[:, ~data.columns.duplicated(keep=False)]
        chosen = [name for name in unique if _trimmed(str(name)) in used]
        database.register("frame", unique[chosen])
        return "frame", _names(names, names)
    files = _files(Path(data))
    listed = ", ".join(_string(glob.escape(str(file))) for file in files)
    if _ending(files[0]) == ".parquet":
        source = f"read_parquet([{listed}], hive_partitioning=false)"
        in_file = pyarrow.parquet.read_schema(files[0]).names
        return source, _names(in_file, in_file)
    dialect = (
        "delim=',', quote='\"', escape='\"', all_varchar=true, "
        "hive_partitioning=false, files_to_sniff=-1"
    )
    source = f"read_csv([{listed}], header=true, {dialect})"
    in_database = [row[0] for row in _ask(database, f"DESCRIBE FROM {source}")]
    first = _string(glob.escape(str(files[0])))
    header = _ask(database, f"FROM read_csv({first}, header=false, {dialect}) LIMIT 1")
    if not header:
        raise ValueError(f"{files[0].name} is empty. Give a table with a header.")
    return source, _names(header[0], in_database)


def _names(in_file: Sequence, in_database: Sequence[str]) -> dict[str, str | None]:
    """Return the name in the database by the trimmed name in the file.

    It is None if several columns have the same trimmed name.
    """
    names = {}
    for name, column in zip(in_file, in_database, strict=True):
        if name is not None:
            trimmed = _trimmed(name)
            names[trimmed] = None if trimmed in names else column
    return names


def _files(source: Path) -> list[Path]:
    """List the file, or the files of a folder: all CSV, or all Parquet."""
    if not source.exists():
        raise ValueError(f"{source} does not exist. Give the path of a table.")
    files = sorted(source.rglob("[!.]*")) if source.is_dir() else [source]
    files = [file for file in files if file.is_file() and _ending(file) in ENDINGS]
    if len({_ending(file) for file in files}) != 1:
        raise ValueError(
            f"{source}: there is no table, or files of several kinds. Give a CSV or "
            "Parquet file (.csv, .csv.gz or .parquet), or a folder of files of one "
            "kind."
        )
    return files


def _ending(file: Path) -> str:
    """Return the ending of a file, without ``.gz``."""
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _ask(database: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    """Run a query; a ValueError has what DuckDB says of the file."""
    try:
        return database.execute(query).fetchall()
    except duckdb.Error as error:
        reason = " ".join(str(error).split("\nPo")[0].split())  # without its advice
        raise ValueError(
            f"The table cannot be read. {reason} A CSV is UTF-8, has "
            "one header, and separates columns by commas. All files of a folder have "
            "the same columns."
        ) from None


def _check_names(
    columns: Mapping[str, str],
    attributes: list[str],
    stored: Mapping[str, str | None],
) -> None:
    """Refuse columns that are not there, or that are named for two uses."""
    listed = ", ".join(stored)
    if not {"y_true", "y_pred", "score"} & {*columns}:
        raise ValueError(
            "No column of predictions, outcomes or scores is named. Name at least one "
            f"of y_pred, y_true and score. The columns are {listed}."
        )
    if "second" in columns and "y_pred" not in columns:
        raise ValueError("A second prediction needs a first one. Name it as y_pred.")
    names = [*columns.values(), *attributes]
    for name in names:
        if name not in stored:
            raise ValueError(
                f"The table has no column {name!r}. It has {listed}. A CSV separates "
                "its columns by commas."
            )
        if stored[name] is None:
            raise ValueError(
                f"The table has several columns {name!r}. Spaces before and after a "
                "name do not count. Rename all but one of them."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"The column {name} is named for two uses. Name another column for one "
                "of them."
            )


def _check_scores(database, source: str, name: str, column: str, rows) -> None:
    """Refuse values that are not between 0 and 1, and scores that are predictions."""
    wrong = rows["score"] == NO_SCORE
    if wrong.any():
        query = f"SELECT {column} FROM {source} WHERE {_as_score(column)} = {NO_SCORE}"
        [[example]] = _ask(database, f"{query} LIMIT 1")
        raise ValueError(
            f"The column {name} has {rows.loc[wrong, 'rows'].sum():,} values, such as "
            f"'{example}', which are not scores between 0 and 1. Decimals have a "
            "point, and percentages have to be divided by 100."
        )
    scores = {*rows["score"].dropna()}
    if scores and scores <= {0, 1}:
        raise ValueError(
            f"All scores in {name}, with {DECIMALS} decimals, are 0 or 1. Are they "
            "predictions? Then name the column as y_pred, and not as score."
        )


def _as_score(column: str) -> str:
    """Write a column as rounded scores in SQL; any other text becomes `NO_SCORE`."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    return (
        f"CASE WHEN {number} BETWEEN 0 AND 1 THEN round({number}, {DECIMALS}) "
        f"WHEN trim({column}::VARCHAR) != '' THEN {NO_SCORE} END"
    )


def _role_of_threshold(columns: Mapping[str, str], threshold: float) -> str:
    """Return whether the scores from a threshold are the first or second prediction."""
    if "score" not in columns or not 0 <= threshold <= 1:
        raise ValueError(
            f"The threshold is {threshold:g}. It lies between 0 and 1, and needs a "
            "column of scores. Name it as score."
        )
    if "second" in columns:
        raise ValueError(
            "The threshold and the column second both give a second prediction. Give "
            "one of them."
        )
    return "second" if "y_pred" in columns else "y_pred"


def _count(database, source: str, expressions: Mapping[str, str]) -> pd.DataFrame:
    """Count each combination of values; texts are trimmed, and empty ones missing."""
    inner, outer = [], []
    for name, expression in expressions.items():
        column = _quoted(name)
        if name == "score":
            inner.append(f"{_as_score(expression)} AS {column}")
            outer.append(column)
        else:
            inner.append(f"{expression} AS {column}")
            text = f"nullif(nfc_normalize(trim({column}::VARCHAR)), '')"
            outer.append(f"{text} AS {column}")
    counted = f"SELECT {', '.join(inner)}, count(*) AS n FROM {source} GROUP BY ALL"
    query = (
        f"SELECT {', '.join(outer)}, sum(n)::BIGINT AS rows FROM ({counted}) "
        "GROUP BY ALL ORDER BY ALL"
    )
    rows = pd.DataFrame(_ask(database, query), columns=[*expressions, "rows"])
    if rows.empty:
        raise ValueError("The table has no rows. Give rows below its header.")
    return rows


def _drop_incomplete(
    rows: pd.DataFrame, columns: Mapping[str, str], notes: list[str]
) -> pd.DataFrame:
    """Leave out rows without a prediction or score; a missing outcome may stay."""
    needed = [role for role in columns if role != "y_true"] or ["y_true"]
    kept = rows.dropna(subset=needed)
    if kept.empty or kept[[*columns]].isna().all().any():
        raise ValueError(
            f"No row has a value in all of {', '.join(columns.values())}. Name columns "
            "that are filled in the same rows."
        )
    left_out = rows["rows"].sum() - kept["rows"].sum()
    if left_out:
        names = " or ".join(columns[role] for role in needed)
        notes.append(
            f"{left_out:,} rows have no value in {names}. They are left out of all "
            "rates."
        )
    return kept.reset_index(drop=True)


def _as_labels(name: str, texts: pd.Series, positive, notes: list[str]) -> pd.Series:
    """Return the labels of a column as 0, 1 or `UNKNOWN`."""
    labels = texts.map(_label, na_action="ignore")
    values = sorted(set(labels.dropna()))
    chosen = positive.get(name)
    if chosen is None:
        if not any({*values} <= pair for pair in TRUTH_VALUES):
            raise ValueError(
                f"The column {name} has {len(values)} values: "
                f"{', '.join(values[:8])}. Say which count as 1, such as "
                f"positive={{{name!r}: {values[-1]!r}}} in Python, or "
                f"POSITIVE={name}={values[-1]} after make. If the column holds scores, "
                "name it as score, with a threshold."
            )
        chosen = ["1", "true"]
    else:
        chosen = [_label(value) for value in _as_list(chosen)]
        if not {*chosen} <= {*values} or (len(values) > 1 and {*values} <= {*chosen}):
            raise ValueError(
                f"positive says that {', '.join(chosen)} count as 1 in {name}. Its "
                f"values are {', '.join(values[:8])}. Name some of them, and not all."
            )
        notes.append(
            f"In {name}, these values count as 1: {', '.join(chosen)}. All others "
            "count as 0."
        )
    return labels.isin(chosen).astype(int).mask(labels.isna(), UNKNOWN)


def _note_known_outcomes(values: pd.DataFrame, rows: pd.Series, columns, notes) -> None:
    """Say for which rows the outcome is known, if it is known for some only."""
    known, name = values["y_true"] != UNKNOWN, columns["y_true"]
    if known.all():
        return
    notes.append(
        f"{name} is known for {rows[known].sum():,} of {rows.sum():,} rows. Rates that "
        "need it are those of these rows, and other rates are those of all rows."
    )


def _check_group(name: str, values: pd.Series) -> None:
    """Refuse a column with too many values for groups."""
    different = values[values != MISSING].nunique()
    if different > MOST_VALUES:
        raise ValueError(
            f"The column {name} has {different:,} different values, and groups can "
            f"have {MOST_VALUES}. Put numbers into bins, such as "
            f"pandas.qcut(table[{name!r}], 4). Merge names, such as codes by their "
            "first digits."
        )


def _label(value) -> str:
    """Write a value of a label as text: truth values in small letters, 1.0 as 1."""
    text = _composed(str(value)).strip().removesuffix(".0")
    return text.lower() if text.lower() in ("true", "false") else text


def _as_list(value) -> list:
    """Return values as a list; a single value becomes its only item."""
    single = isinstance(value, str) or not isinstance(value, Iterable)
    return [value] if single else [*value]


def _trimmed(name: str) -> str:
    """Return the name of a column without spaces at its ends, composed."""
    return _composed(name).strip()


def _composed(text: str) -> str:
    """Return a text in the composed form of Unicode (NFC)."""
    return unicodedata.normalize("NFC", text)


def _quoted(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"
