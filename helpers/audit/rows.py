"""Tables of any size as rows of text, in DuckDB: no type is guessed, every value has a place."""

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from helpers import store

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
PRIVATE = ("y_true", "y_pred", "y_beside", "y_score", "sample_weight", "cluster")
PRIVATE = {name: f"__{name}" for name in (*PRIVATE, "times", "file", "row")}
"""Names that no column of the reader's can have."""
FILE, ROW, TIMES = PRIVATE["file"], PRIVATE["row"], PRIVATE["times"]
SMALL = 100_000_000  # bytes of text files that are parsed once and kept
BEFORE = re.compile(r"\s*$|sep=.\s*$")  # lines before the header
BLANKS = "' \t\r\n\N{NO-BREAK SPACE}'"  # in SQL
NO_TABLE = "this is no table in the form its ending says"
WRONG = {
    "TOO MANY COLUMNS": "more values than the header has names",
    "MISSING COLUMNS": "fewer values than the header has names",
    "UNQUOTED VALUE": "a quotation mark that is not closed, or text beside it",
}


class Rows:
    """The table `rows` of a database: columns `names` as text, and the file that a row is from."""

    def __init__(self, source: str | Path | pd.DataFrame, folder: str) -> None:
        """Read a file, a folder or pattern of them, or rows; what needs space goes to `folder`."""
        config = {"memory_limit": "1GB", "temp_directory": f"{folder}/spilled"}
        self.database, self.notes, self.comma = duckdb.connect(config=config), [], False
        self.files = [] if isinstance(source, pd.DataFrame) else _files(Path(source))
        self.texts, kinds, columns = [], {}, {}
        for number, path in enumerate(self.files):
            read, *kind = self._form(path, Path(folder, str(number)))
            kinds.setdefault(tuple(kind), []).append(read)
            columns[path] = set(kind[0])
        _same(columns)
        parts = [self._reader(paths, *kind) for kind, paths in kinds.items()]
        parts = parts or [self._memory(source.rename(columns=str))]
        self.parts = {p: dict(r[:2] for r in self.fetch(f"DESCRIBE FROM {p}")) for p in parts}
        self.names = [name for name in self.parts[parts[0]] if name != FILE]
        self.small = self.texts and sum(path.stat().st_size for path in self.files) < SMALL
        selects = [f"SELECT {_texts(types)} FROM {part}" for part, types in self.parts.items()]
        union = " UNION ALL BY NAME ".join(selects)
        self.fetch(f"CREATE {'TABLE' if self.small else 'VIEW'} rows AS {union}")
        self.source, self.times = "rows", "count(*)"

    def narrow(self, names: Iterable[str]) -> None:
        """Count each combination of some columns once: as they are, before they become text."""
        raw, selects = ", ".join(map(quoted, names)), []
        for part, types in self.parts.items():
            texts = _texts({name: types[name] for name in names})
            counted = f"SELECT {raw}, count(*) AS {TIMES} FROM {part} GROUP BY ALL"
            selects.append(f"SELECT {texts}, {TIMES} FROM ({counted})")
        self.fetch(f"CREATE TABLE kinds AS {' UNION ALL BY NAME '.join(selects)}")
        self.source, self.times = "kinds", f"sum({TIMES})::BIGINT"

    def fetch(self, query: str, *values: Any, form: str = "fetchall") -> Any:
        """The rows of a query, or a `form` "df"; refuses with file and line what cannot be read."""
        try:
            return getattr(self.database.execute(query, values), form)()
        except duckdb.Error as error:
            problem = f"the table cannot be read: {str(error).splitlines()[0]}"
        with contextlib.suppress(duckdb.Error):  # which line is it?
            for text in self.texts:
                rejecting = f"{text[:-1]}, store_rejects=true, rejects_limit=1)"
                self.database.execute(f"SELECT count(COLUMNS(*)) FROM {rejecting}").fetchall()
            path, line, error, message = self.database.execute(
                "SELECT file_path, line, error_type, error_message FROM reject_errors "
                "JOIN reject_scans USING (scan_id, file_id) ORDER BY ALL LIMIT 1"
            ).fetchone()
            problem = f"{Path(path).name}, line {line}: {WRONG.get(error, message)}; mend that line"
        raise ValueError(problem)

    def ask(self, *expressions: str) -> tuple:
        """One row of aggregates over all rows."""
        return self.fetch(f"SELECT {', '.join(expressions)} FROM {self.source}")[0]

    def values(self, names: Iterable[str], most: int) -> dict[str, dict[str, int] | int]:
        """How often columns have each value, or about how many values where they have many."""
        distinct = self._each("approx_count_distinct", dict.fromkeys(names))
        few = [name for name in distinct if distinct[name] <= 2 * most]
        if self.source == "kinds":
            of = "SELECT {0}, {1} FROM kinds WHERE {0} IS NOT NULL GROUP BY ALL".format
            few = {name: dict(self.fetch(of(quoted(name), self.times))) for name in few}
        else:
            few = self._each("histogram", few)
        return distinct | {name: values or {} for name, values in few.items()}

    def _each(self, function: str, names: Iterable[str]) -> dict[str, Any]:
        expressions = [f"{function}({quoted(name)})" for name in names]
        return dict(zip(names, self.ask(*expressions), strict=True)) if expressions else {}

    def first(self, name: str, condition: str, *values: Any) -> str:
        """The first value of a column for which a condition is true, and where it stands."""
        numbered = f"(SELECT *, row_number() OVER () AS {ROW} FROM rows)"
        [(value, row, path)] = self.fetch(
            f"SELECT {quoted(name)}, {ROW}, {FILE} FROM {numbered} WHERE {condition} "
            f"ORDER BY {ROW} LIMIT 1",
            *values,
        )
        if len(self.files) < 2:
            return f"{value!r} in row {row:,}"
        before = f"SELECT min({ROW}) - 1 FROM {numbered} WHERE {FILE} = ?"
        row -= self.fetch(before, path)[0][0]
        return f"{value!r} in row {row:,} of {Path(path).name}"

    def _memory(self, rows: pd.DataFrame) -> str:
        _distinct("the table", list(rows))
        mixed = {n: rows[n].map(str, na_action="ignore") for n in rows if rows[n].dtype == object}
        held = pa.Table.from_pandas(rows.assign(**mixed), preserve_index=False)
        self.database.register("held", held)
        return f"(SELECT *, NULL::VARCHAR AS {FILE} FROM held)"

    def _form(self, path: Path, folder: Path) -> tuple:
        """The file to read, its columns, and types or separator: what files share that are one."""
        if path.stat().st_size == 0:
            raise ValueError(f"{path.name}: the file is empty")
        try:
            if _ending(path) in PARQUET:
                schema = pyarrow.parquet.read_schema(path)
                _distinct(path.name, schema.names)
                return path, tuple(schema.names), tuple(map(str, schema.types))
            if (encoding := _encoding(path)) != "utf-8":
                self.notes.append(f"{path.name} is no UTF-8: it was read as {encoding}.")
                path = _copied(path, encoding, folder)
            with _opened(path) as file:
                lines = io.TextIOWrapper(file, "utf-8-sig", newline="")
                skip, first = next(pair for pair in enumerate(lines) if not BEFORE.match(pair[1]))
                separator = max(",;\t|", key=first.count)
                names = next(csv.reader(itertools.chain([first], lines), delimiter=separator))
        except (pa.ArrowException, OSError, EOFError, StopIteration, zlib.error, csv.Error):
            raise ValueError(f"{path.name}: {NO_TABLE}") from None
        names = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
        _distinct(path.name, names)
        return path, tuple(names), separator, "gzip" if _packed(path) else "none", skip

    def _reader(self, paths: list[Path], names: tuple, *form: Any) -> str:
        """What DuckDB reads files with."""
        # its patterns have no escape but brackets
        every = [str(p).translate({ord(c): f"[{c}]" for c in "[*?"}) for p in paths]
        files = ", ".join(map(_string, every))
        # folders such as site=A are columns, but for those that the files have themselves
        folders = [part for p in paths for part in p.parent.parts if "=" in part]
        above = {part.partition("=")[0].casefold() for part in folders}
        own = above & {name.casefold() for name in names}
        hive = f"hive_partitioning={str(len(self.files) > 1 and not own).lower()}"
        if isinstance(form[0], tuple):
            return f"read_parquet([{files}], filename='{FILE}', {hive})"
        separator, compression, skip = form
        self.comma |= separator == ";"
        columns = ", ".join(f"{_string(name)}: 'VARCHAR'" for name in names)
        self.texts.append(
            f"read_csv([{files}], columns={{{columns}}}, header=true, auto_detect=false, "
            f"delim='{separator}', quote='\"', escape='\"', compression='{compression}', "
            f"skip={skip}, filename='{FILE}', {hive})"
        )
        return self.texts[-1]


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def number(text: str, comma: bool = False) -> str:
    """Text as a number, in SQL: 0.96, 96% and, where wanted, 0,96; NULL for what is none."""
    point = f"replace({text}, ',', '.')" if comma else text
    percent = f"TRY_CAST(nullif(regexp_replace({point}, '%\\s*$', ''), {point}) AS DOUBLE) / 100"
    return f"coalesce(TRY_CAST({point} AS DOUBLE), {percent})"


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _texts(types: dict[str, str]) -> str:
    return ", ".join(map(_as_text, types, types.values()))


def _as_text(name: str, kind: str) -> str:
    """A column as people write it; what holds blanks only is missing."""
    own = quoted(name)
    text = f"{own}::VARCHAR"
    if kind == "VARCHAR":
        filled = f"ascii({own}) BETWEEN 33 AND 126 OR trim({own}, {BLANKS}) <> ''"
        return f"CASE WHEN {filled} THEN {own} END AS {own}"
    if kind in ("DOUBLE", "FLOAT"):  # whole numbers beside missing ones
        whole = f"{own} = trunc({own}) AND abs({own}) < 1e15"
        text = (
            f"CASE WHEN {whole} THEN TRY_CAST({own} AS BIGINT)::VARCHAR "
            f"WHEN NOT isnan({own}) THEN {text} END"
        )
    elif kind.startswith("TIMESTAMP"):
        text = f"regexp_replace({text}, ' 00:00:00([+]00)?$', '')"
    return f"{text} AS {own}"


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


def _opened(path: Path) -> BinaryIO:
    return gzip.open(path) if _packed(path) else path.open("rb")


def _encoding(path: Path) -> str:
    """How a text file is written: UTF-8, UTF-16, or else as Windows does."""
    with _opened(path) as file:
        part, decoder = file.read(2), codecs.getincrementaldecoder("utf-8")()
        if part in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        try:
            while part:
                if b"\0" in part:
                    raise ValueError(f"{path.name}: {NO_TABLE}")
                decoder.decode(part)
                part = file.read(1 << 20)
        except UnicodeDecodeError:
            return "cp1252"  # Latin-1 and a few more
    return "utf-8"


def _copied(path: Path, encoding: str, folder: Path) -> Path:
    """A text file in UTF-8."""
    folder.mkdir()
    copy = folder / (path.stem if _packed(path) else path.name)
    with _opened(path) as file, copy.open("w", encoding="utf-8", newline="") as out:
        shutil.copyfileobj(io.TextIOWrapper(file, encoding, errors="replace", newline=""), out)
    return copy


def _distinct(where: str, names: Sequence[str]) -> None:
    """Refuse columns of one name."""
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
    lacks = {path.name: ", ".join(sorted(every - of)) for path, of in columns.items() if every - of}
    if lacks:
        first = "; ".join(f"{name} lacks {those}" for name, those in [*lacks.items()][:4])
        raise ValueError(f"the {len(columns)} files have different columns: {first}")
