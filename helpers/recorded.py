"""Recorded tables: which code made each, and whether that is still the code of today.

python -m helpers.recorded             which tables of data/recorded.csv are stale
python -m helpers.recorded FILE ...    make a part of each again; where it comes out as recorded,
                                       today's code is noted as its maker
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import nbformat
import pandas as pd

from helpers import source, store

DATA = store.root() / "data"
LEDGER = (
    DATA / "recorded.csv"
)  # file, driver (modules and tables), again, made_by, content
SEEDS = DATA / "seeds.csv"  # verdicts by seed: lesson, id, of, seed, verdict, made_by
JUDGING = [
    "id",
    "side",
    "bound",
    "same",
    "cannot_fail",
    "own_data",
]  # columns of claims.csv
BESIDE = (  # what decides nothing in a drawn world: judging, drawing figures, the reader's files
    "store", "source", "recorded", "suite", "figures", "data/archives", "data/contexts",
    "data/decoding", "data/duplicates", "data/folders", "data/images", "data/published",
    "data/splits", "icon2/frames", "icon2/income", "icon2/reading", "models/recipe",
)  # fmt: skip


def read(name: str) -> pd.DataFrame:
    """A recorded table, such as ``streets.csv``; where it is stale, a sentence says so."""
    if reason := stale(name):
        print(
            f"data/{name} is stale: {reason}. Its numbers may differ from what the code gives."
        )
    return pd.read_csv(DATA / name)


def stale(name: str) -> str:
    """Why a recorded table may not be what the code gives; empty where it is."""
    row = _ledger().loc[name]
    if _content(DATA / name) != row["content"]:
        return "the file was changed after it was recorded (data/README.md has its command)"
    if maker(row["driver"]) != row["made_by"]:
        again = f"`python -m helpers.recorded {name}` makes a part of it again"
        return f"the code that made it has changed ({again})"
    return ""


def write(path: Path, text: str) -> None:
    """Write what a driver made; if it is a table in ``data/``, its maker is noted."""
    store.write_text(path, text)
    if path.resolve().is_relative_to(DATA):
        note(path.resolve().relative_to(DATA).as_posix())


def driver(about: str, **options) -> argparse.Namespace:
    """What is asked of a driver: the file to write, and options with their defaults: a
    sequence stands for several numbers, None for a file or folder, False for a switch."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("file", type=Path)
    for name, value in options.items():
        several = (
            {} if value is None or isinstance(value, int | str) else {"nargs": "+"}
        )
        of = Path if value is None else type(value[0] if several else value)
        kind = {"action": "store_true"} if value is False else {"type": of, **several}
        parser.add_argument(f"--{name.replace('_', '-')}", default=value, **kind)
    return parser.parse_args()


def in_parts(
    path: Path, made: Callable, arguments: Iterable, digits: int, **csv
) -> None:
    """Write the table of what `made` gives for each of the tuples `arguments`; each is kept."""
    code, parts, csv = (
        maker(_ledger().loc[path.name, "driver"]),
        [],
        {"index": False, **csv},
    )
    for one in arguments:
        name = store.key("part", table=path.name, code=code, asked=one)
        part = store.outputs() / "sweeps" / f"{name}.csv"
        text = partial(
            lambda one, file: made(*one).round(digits).to_csv(file, **csv), one
        )
        parts.append(store.cached(part, text))
    write(path, pd.concat(map(pd.read_csv, parts)).to_csv(**csv))


def note(*names: str) -> None:
    """Note the code of today as the maker of tables."""
    table = _ledger()
    for name in names:
        table.loc[name, "made_by"] = maker(table.loc[name, "driver"])
        table.loc[name, "content"] = _content(DATA / name)
    store.write_text(LEDGER, table.to_csv())


def same(command: str) -> list[str]:
    """Make a part of recorded tables by a command; their names, if every row is as recorded."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as outputs,
    ):
        # a store of its own: what is made again is not found in an older one
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {
            **os.environ,
            "PATH": programs,
            "SUITE_OUTPUTS": outputs,
            "FOLDER": folder,
        }
        subprocess.run(
            command, shell=True, check=True, cwd=store.root(), env=environment
        )
        made = {
            f.relative_to(folder).as_posix(): f
            for f in sorted(Path(folder).rglob("*.csv"))
        }
        for name, file in made.items():
            new, old = (
                pd.read_csv(path, dtype=str).fillna("") for path in (file, DATA / name)
            )
            known = set(old.itertuples(index=False, name=None))
            rows = list(
                new.reindex(columns=old.columns).itertuples(index=False, name=None)
            )
            other = [row for row in rows if row not in known]
            if other or not rows or set(new) != set(old):
                raise ValueError(
                    f"data/{name}: {len(other)} of {len(rows)} rows come out differently, the "
                    f"first is {other[:1]}. Record it anew (data/README.md has the command)."
                )
    return list(made)


def of_lesson(name: str) -> str:
    """Digest of what a lesson's verdicts come from: cells, imports, claims, and how it judges."""
    notebook = nbformat.read(store.root() / f"notebooks/{name}.ipynb", as_version=4)
    cells = [
        c
        for c in notebook.cells
        if c.cell_type == "code" and "nbgrader" not in c.metadata
    ]
    code = "\n".join(cell.source for cell in cells)
    modules = source.imported("suite/claims", *source.named(code), without=BESIDE)
    claims = pd.read_csv(DATA / "paper/claims.csv", dtype=str, keep_default_na=False)
    claims = claims[claims["notebook"] == name.split("_")[0]]
    rows = pd.read_csv(DATA / "paper/claim_rows.csv", dtype=str, keep_default_na=False)
    rows = rows[rows["id"].isin(claims["id"])]
    judged = [claims[JUDGING].to_csv(index=False), rows.to_csv(index=False)]
    return store.key(
        "maker", code=source.Source(*modules).digest(), cells=code, claims=judged
    )


def _ledger() -> pd.DataFrame:
    return pd.read_csv(LEDGER, dtype=str, keep_default_na=False).set_index("file")


def maker(driver: str) -> str:
    """Digest of what a driver does: its modules with all that they import, and tables it reads."""
    tables = [name for name in driver.split() if name.endswith(".csv")]
    modules = source.imported(*{*driver.split()} - {*tables}, without=BESIDE)
    code = source.Source(*modules).digest()
    return store.key("maker", code=code, tables=[_content(DATA / t) for t in tables])


def _content(path: Path) -> str:
    return store.file_digest(path)[:16]


def main(names: list[str]) -> None:
    """Print which tables are stale, or make a part of those that are named again."""
    for name in _ledger().index if not names else ():
        print(f"{name}: {stale(name) or 'made by the code of today'}")
    for name, makers in (
        [] if names else pd.read_csv(SEEDS).groupby("lesson")["made_by"]
    ):
        if {of_lesson(name)} != {*makers}:
            chapter = name.split("_")[0]
            how = (
                f"`make seeds LESSONS={chapter}`, or `python -m sweeps.seeds --confirm`"
            )
            print(f"{SEEDS.name}, {name}: stale ({how})")
    for command in dict.fromkeys(_ledger().loc[names, "again"]):
        print(command)
        made = same(command)
        note(*made)
        print(f"every row came out as recorded: {', '.join(made)}")


if __name__ == "__main__":
    main(sys.argv[1:])
