"""Tables as people have them: a database reads and counts them, and every value becomes a text."""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from helpers import store

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
PRIVATE = ("y_true", "y_pred", "y_beside", "y_score", "sample_weight", "cluster", "times")
PRIVATE = {name: f"__{name}" for name in PRIVATE}
"""Names that no column of the reader's can have."""
TIMES = PRIVATE["times"]
BEFORE = re.compile(r"(\s*\n|sep=.\s*\n)*")  # lines before the header
BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_TABLE = "this is no table in the form its ending says"
LONG = 1e15  # whole numbers below it are written without a point


class Rows:
    """The table `rows` of a database: its columns `names`, and the `parts` that it has, by file."""

    def __init__(self, source: str | Path) -> None:
        """Read a file, a folder or a pattern of them."""
        self.database, self.notes, self.comma, self.parts = duckdb.connect(), [], False, {}
        files, columns = _files(Path(source)), {}
        for number, path in enumerate(files):
            try:
                held = self._read(path)
            except (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error):
                raise ValueError(f"{path.name}: {NO_TABLE}") from None
            if isinstance(held, pa.Table):
                self.database.register(f"part{number}", held)
                held = f"part{number}"
            columns[path] = {
                name.casefold(): name for name, *_ in self.ask(f"DESCRIBE FROM {held}")
            }
            # folders such as site=A are columns, where the files have none of that name
            parts = path.parent.parts if len(files) > 1 else ()
            folders = [part.partition("=")[::2] for part in parts if "=" in part]
            more = [(name, of) for name, of in folders if name.casefold() not in columns[path]]
            more = "".join(f", {_string(of)} AS {quoted(name)}" for name, of in more)
            self.parts[path] = f"SELECT *{more} FROM {held}"
        _same({path: {*names.values()} for path, names in columns.items()})
        union = " UNION ALL BY NAME ".join(f"({part})" for part in self.parts.values())
        self.database.execute(f"CREATE VIEW rows AS {union}")
        self.names = [name for name, *_ in self.ask("DESCRIBE FROM rows")]

    def ask(self, query: str) -> list[tuple]:
        """The rows of a query."""
        return self.database.execute(query).fetchall()

    def about(self) -> dict[str, int]:
        """About how many different values each column has."""
        [values] = self.ask("SELECT approx_count_distinct(COLUMNS(*)) FROM rows")
        return dict(zip(self.names, values, strict=True))

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
        table = self.database.sql(query).to_arrow_table().to_pandas(integer_object_nulls=True)
        return table.apply(lambda of: of if of.name == TIMES else written(of))

    def _read(self, path: Path) -> pa.Table | str:
        """A file of text as a table; what Parquet is called in SQL."""
        if path.stat().st_size == 0:
            raise ValueError(f"{path.name}: the file is empty")
        if _ending(path) in PARQUET:
            _distinct(path.name, pa.parquet.read_schema(path).names)
            # patterns have no escape but brackets
            pattern = str(path).translate({ord(c): f"[{c}]" for c in "[*?"})
            return f"read_parquet({_string(pattern)}, hive_partitioning=false)"
        data = gzip.decompress(path.read_bytes()) if _packed(path) else path.read_bytes()
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

    def _parsed(self, where: str, text: str) -> pa.Table:
        separator = max(",;\t|", key=text.partition("\n")[0].count)
        self.comma |= separator == ";"
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        names = [name.strip() or f"column {place}" for place, name in enumerate(header, 1)]
        if '"' in text:  # all up to the next mark would be one value
            lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
            try:
                deque(lines, maxlen=0)
            except csv.Error:
                what = "a quotation mark that is not closed, or text beside it"
                raise ValueError(f"{where}, line {lines.line_num}: {what}; mend it") from None
        _distinct(where, names)
        kind = dict.fromkeys(header, pa.dictionary(pa.int32(), pa.string()))
        try:
            return pa.csv.read_csv(
                io.BytesIO(text.encode()),
                pa.csv.ReadOptions(use_threads=False),  # so that errors name the row
                pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types=kind, strings_can_be_null=True, null_values=[""]
                ),
            ).rename_columns(names)
        except pa.ArrowInvalid as error:
            message = str(error).removeprefix("CSV parse error: ").replace("Row #", "row ")
            raise ValueError(f"{where}, {message} (the header is row 1); mend that row") from None


def written(column: pd.Series) -> pd.Series:
    """A column as people write it; what holds blanks only is missing."""
    places, values = pd.factorize(column)
    texts = np.array([*map(_text, values), None], dtype=object)
    return pd.Series(texts[places], column.index, dtype=object)


def _text(value) -> str | None:
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and value == np.trunc(value) and abs(value) < LONG:
        return str(int(value))
    text = str(value).removesuffix("+00:00").removesuffix(" 00:00:00")
    return text if text.strip() else None


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _files(path: Path) -> list[Path]:
    """The file of this name, the files of a folder, or those of a pattern; all of one form."""
    if path.is_dir():
        every = [p for p in path.rglob("*") if _ending(p) in (*TEXT[:2], *PARQUET)]
        every = [p for p in every if "/." not in f"/{p.relative_to(path).as_posix()}"]  # hidden
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
                raise ValueError(f"{other.name} and {path.name} are copies: their rows count twice")
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


def _distinct(where: str, names: Sequence[str]) -> None:
    """Refuse columns of one name, and of the suite's own."""
    often = Counter(name.casefold() for name in names)
    if twice := [name for name in names if often[name.casefold()] > 1]:
        raise ValueError(
            f"{where}: the columns {', '.join(twice)} have the same name (A and a are the same "
            "here): rename them"
        )
    if own := [name for name in names if name.casefold() in PRIVATE.values()]:
        raise ValueError(f"{where}: rename the column {own[0]}, which is a name of the suite's own")


def _same(columns: dict[Path, set]) -> None:
    """Refuse files that have different columns."""
    every = set().union(*columns.values())
    lacks = {path: ", ".join(sorted(every - of)) for path, of in columns.items() if every - of}
    if lacks:
        first = "; ".join(f"{path.name} lacks {those}" for path, those in [*lacks.items()][:3])
        raise ValueError(f"the {len(columns)} files have different columns: {first}")
