"""Tables as people have them: a database reads and counts them, and every value becomes a text."""

import codecs
import csv
import gzip
import io
import re
import unicodedata
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from helpers import store

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
PRIVATE = (
    "y_true",
    "y_pred",
    "y_beside",
    "y_score",
    "sample_weight",
    "cluster",
    "times",
)
PRIVATE = {name: f"__{name}" for name in PRIVATE}
"""Names that no column of the reader's can have."""
TIMES = PRIVATE["times"]
BEFORE = re.compile(r"(\s*\n|sep=.\s*\n)*")  # lines before the header
BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_TABLE = "this is no table in the form its ending says"
NESTED = re.compile(
    r"\]$|^(STRUCT|MAP|UNION|BLOB|BIT)"
)  # types that hold no single text or number
LONG = 1e15  # whole numbers below it are written without a point


class Column(NamedTuple):
    """A column of one file."""

    name: str  # as the user writes it, in Unicode's composed form
    stored: str  # as the database calls it, which knows no two names that differ in capitals only
    kind: str  # the database's type


class Rows:
    """Columns of a file, a folder or a pattern of files, as the table `rows` of a database.

    Only the header is looked at until `keep` says which columns are needed.

    Attributes
    ----------
    names : list of str
        Every column once.
    parts : dict
        The kept columns in SQL, by file.
    notes : list of str
        Sentences on how the files were read.
    """

    def __init__(self, source: str | Path) -> None:
        self.database, self.notes, self.comma = duckdb.connect(), [], False
        self.parts: dict[Path, str] = {}
        self._columns: dict[Path, list[Column]] = {}
        self._tables: dict[Path, str] = {}
        files = _files(Path(source))
        for number, path in enumerate(files):
            try:
                names, table = self._read(path)
            except (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error):
                raise ValueError(f"{path.name}: {NO_TABLE}") from None
            if isinstance(table, pa.Table):
                self.database.register(f"part{number}", table)
                table = f"part{number}"
            stored = self.ask(f"DESCRIBE FROM {table}")
            self._columns[path] = [
                Column(name, *described[:2])
                for name, described in zip(names, stored, strict=True)
            ]
            self._tables[path] = table
        self._folders = {
            path: _folder_columns(path) if len(files) > 1 else {} for path in files
        }
        held = [column.name for columns in self._columns.values() for column in columns]
        held += [name for folders in self._folders.values() for name in folders]
        self.names = [*dict.fromkeys(held)]

    def unusable(self) -> dict[str, str]:
        """Return why columns cannot be read, or not without being asked for, by their names."""
        reasons = {}
        for columns in self._columns.values():
            often = Counter(column.name.casefold() for column in columns)
            for column in columns:
                if often[column.name.casefold()] > 1:
                    reasons[column.name] = "several columns have the same name"
                elif column.name.casefold() in PRIVATE.values():
                    reasons[column.name] = (
                        f"rename the column {column.name}, which is a name of the suite's own"
                    )
                elif NESTED.search(column.kind):
                    reasons[column.name] = f"its values are of the type {column.kind}"
        return reasons

    def keep(self, names: Iterable[str]) -> None:
        """Make the table `rows` of these columns; a ValueError says which cannot be read."""
        names = [*names]
        often = Counter(name.casefold() for name in names)
        for path, columns in self._columns.items():
            selected = []
            for name in names:
                same = [column for column in columns if column.name == name]
                if len(same) > 1 or often[name.casefold()] > 1:
                    alike = [
                        c.name for c in columns if c.name.casefold() == name.casefold()
                    ]
                    raise ValueError(
                        f"{path.name}: the columns {', '.join(alike)} have the same name (A and a "
                        "are the same where both are used). Rename one of them."
                    )
                if name.casefold() in PRIVATE.values():
                    raise ValueError(f"{path.name}: {self.unusable()[name]}")
                if same and NESTED.search(same[0].kind):
                    raise ValueError(
                        f"{path.name}: the column {name} holds values of the type {same[0].kind}. "
                        "A column that is used holds one text or number per row. Name another "
                        "column, or write its values out."
                    )
                if same:
                    selected.append(f"{quoted(same[0].stored)} AS {quoted(name)}")
                elif name in self._folders[path]:
                    selected.append(
                        f"{_string(self._folders[path][name])} AS {quoted(name)}"
                    )
            columns_in_sql = ", ".join(selected) or "1"
            self.parts[path] = f"SELECT {columns_in_sql} FROM {self._tables[path]}"
        _same(
            {
                path: {column.name for column in columns} | {*self._folders[path]}
                for path, columns in self._columns.items()
            },
            names,
        )
        union = " UNION ALL BY NAME ".join(f"({part})" for part in self.parts.values())
        self.database.execute(f"CREATE OR REPLACE VIEW rows AS {union}")

    def ask(self, query: str) -> list[tuple]:
        """The rows of a query."""
        return self.database.execute(query).fetchall()

    def about(self, names: Sequence[str]) -> dict[str, int]:
        """Count about how many different values some columns have."""
        if not names:
            return {}
        counted = ", ".join(f"approx_count_distinct({quoted(name)})" for name in names)
        [values] = self.ask(f"SELECT {counted} FROM rows")
        return dict(zip(names, values, strict=True))

    def quarters(self, name: str) -> list[float]:
        """Compute the smallest value, the quartiles and the largest value of a column of numbers.
        Empty where it holds anything else."""
        number = f"TRY_CAST({quoted(name)} AS DOUBLE)"
        [[missing, values]] = self.ask(
            f"SELECT count({quoted(name)}) - count({number}), "
            f"quantile_disc({number}, [0, 0.25, 0.5, 0.75, 1]) FROM rows"
        )
        return [] if missing or values is None else values

    def kinds(self, names: Iterable[str]) -> pd.DataFrame:
        """Each combination of some columns once, as texts, and how many rows it has."""
        columns = "".join(f"{quoted(name)}, " for name in names)
        counted = f"SELECT {columns}count(*) AS {TIMES} FROM rows GROUP BY ALL"
        return self._texts(counted)

    def first(self, name: str, texts: Iterable[str]) -> str:
        """The first value of a column that is one of these texts, and where it stands."""
        for path, part in self.parts.items():
            column = self._texts(f"SELECT {quoted(name)} FROM ({part})")[name]
            if (odd := column.isin([*texts]).to_numpy()).any():
                row = int(odd.argmax())
                where = f" of {path.name}" if len(self.parts) > 1 else ""
                return f"{column[row]!r} in row {row + 1:,}{where}"
        raise LookupError(f"{name} holds none of {texts}")

    def _texts(self, query: str) -> pd.DataFrame:
        table = (
            self.database.sql(query)
            .to_arrow_table()
            .to_pandas(integer_object_nulls=True)
        )
        return table.apply(lambda of: of if of.name == TIMES else written(of))

    def _read(self, path: Path) -> tuple[list[str], pa.Table | str]:
        """The columns' names, and a file of text as a table, or what Parquet is called in SQL."""
        if path.stat().st_size == 0:
            raise ValueError(f"{path.name}: the file is empty")
        if _ending(path) in PARQUET:
            names = [composed(name) for name in pa.parquet.read_schema(path).names]
            # patterns have no escape but brackets
            pattern = str(path).translate({ord(c): f"[{c}]" for c in "[*?"})
            return names, f"read_parquet({_string(pattern)}, hive_partitioning=false)"
        data = (
            gzip.decompress(path.read_bytes()) if _packed(path) else path.read_bytes()
        )
        encoding = "utf-16" if data[:2] in BOMS else "utf-8-sig"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            encoding = "cp1252"  # Latin-1 and a few more
            text = data.decode(encoding, errors="replace")
        if encoding != "utf-8-sig":
            self.notes.append(f"{path.name} is no UTF-8: it was read as {encoding}.")
        text = text[BEFORE.match(text).end() :]
        if not text or "\0" in text:
            raise pa.ArrowInvalid(NO_TABLE)
        return self._parsed(path.name, text)

    def _parsed(self, where: str, text: str) -> tuple[list[str], pa.Table]:
        separator = max(",;\t|", key=text.partition("\n")[0].count)
        self.comma |= separator == ";"
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        names = [
            name.strip() or f"column {place}" for place, name in enumerate(header, 1)
        ]
        names = [composed(name) for name in names]
        if '"' in text:  # all up to the next mark would be one value
            lines = csv.reader(
                io.StringIO(text, newline=""), delimiter=separator, strict=True
            )
            try:
                deque(lines, maxlen=0)
            except csv.Error:
                what = "a quotation mark that is not closed, or text beside it"
                raise ValueError(
                    f"{where}, line {lines.line_num}: {what}; mend it"
                ) from None
        kind = dict.fromkeys(header, pa.dictionary(pa.int32(), pa.string()))
        try:
            table = pa.csv.read_csv(
                io.BytesIO(text.encode()),
                pa.csv.ReadOptions(use_threads=False),  # so that errors name the row
                pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types=kind, strings_can_be_null=True, null_values=[""]
                ),
            )
        except pa.ArrowInvalid as error:
            message = (
                str(error).removeprefix("CSV parse error: ").replace("Row #", "row ")
            )
            raise ValueError(
                f"{where}, {message} (the header is row 1); mend that row"
            ) from None
        return names, table.rename_columns(
            [f"column{place}" for place in range(len(names))]
        )


def written(column: pd.Series) -> pd.Series:
    """A column as people write it; what holds blanks only is missing."""
    places, values = pd.factorize(column)
    texts = np.array([*map(_text, values), None], dtype=object)
    return pd.Series(texts[places], column.index, dtype=object)


def _text(value) -> str | None:
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if (
        isinstance(value, float | np.floating)
        and value == np.trunc(value)
        and abs(value) < LONG
    ):
        return str(int(value))
    text = str(value).removesuffix("+00:00").removesuffix(" 00:00:00")
    return text if text.strip() else None


def composed(text: str) -> str:
    """Return a text in the composed form of Unicode (NFC), in which equal texts are equal."""
    return unicodedata.normalize("NFC", text)


def _folder_columns(path: Path) -> dict[str, str]:
    """Return columns that are names of folders, such as site=A."""
    parts = [part.partition("=") for part in path.parent.parts]
    return {composed(name): composed(value) for name, equals, value in parts if equals}


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _files(path: Path) -> list[Path]:
    """The file of this name, the files of a folder, or those of a pattern; all of one form."""
    if path.is_dir():
        every = [p for p in path.rglob("*") if _ending(p) in (*TEXT[:2], *PARQUET)]
        every = [
            p for p in every if "/." not in f"/{p.relative_to(path).as_posix()}"
        ]  # hidden
    else:
        pattern = str(path.relative_to(path.anchor))
        every = [path] if path.is_file() else Path(path.anchor).glob(pattern)
    paths = sorted(p for p in every if p.is_file())
    if not paths:
        raise ValueError(f"{path}: no such file or folder, and no file matches it")
    sizes, before = Counter(p.stat().st_size for p in paths), {}
    for path in paths:
        plain = path.with_suffix("") if _packed(path) else path
        same = sizes[path.stat().st_size] > 1 and (path.parent, store.file_digest(path))
        for key in filter(None, (plain, same)):
            if (other := before.setdefault(key, path)) != path:
                raise ValueError(
                    f"{other.name} and {path.name} are copies: their rows count twice"
                )
    endings = {_ending(p) for p in paths}
    if not any(endings <= set(form) for form in (TEXT, PARQUET)):
        raise ValueError(
            f"{path}: give files that all end in {', '.join(TEXT)} (also with .gz), or all in "
            f"{' or '.join(PARQUET)}; a spreadsheet can be saved as CSV"
        )
    return paths


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _ending(path: Path) -> str:
    return Path(path.stem if _packed(path) else path).suffix.lower()


def _same(columns: dict[Path, set], names: Iterable[str]) -> None:
    """Refuse files of which some lack a column that is used."""
    missing = {
        path: [name for name in names if name not in of] for path, of in columns.items()
    }
    lacks = [
        f"{path.name} lacks {', '.join(sorted(of))}"
        for path, of in missing.items()
        if of
    ]
    if lacks:
        first = "; ".join(lacks[:3])
        raise ValueError(f"the {len(columns)} files have different columns: {first}")
