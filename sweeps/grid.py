"""Plan the runs of lessons over a grid of parameters, and collect their tables."""

import json
from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import store
from helpers.workflow import defaults, refuse_unknown


def plan(config: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """List the parameters of each run of each lesson, by the name of the run.

    Raises
    ------
    ValueError
        A key, lesson or parameter does not exist.
    """
    refuse_unknown("key", config, ["lesson", "parameters", "name"])
    lessons = config.get("lesson") or []
    if isinstance(lessons, str):
        lessons = [lessons]
    folder = Path("notebooks")
    known = sorted(path.stem for path in folder.glob("*.ipynb"))
    refuse_unknown("lesson", lessons or [None], known)
    grid = {}
    for name, values in (config.get("parameters") or {}).items():
        grid[name] = values if isinstance(values, list) else [values]
    runs = {}
    for lesson in lessons:
        declared = defaults(folder / f"{lesson}.ipynb")
        refuse_unknown(f"parameter of {lesson}", grid, declared)
        combinations = [
            dict(zip(grid, row, strict=True)) for row in product(*grid.values())
        ]
        runs[lesson] = {
            store.key("run", values=values): values for values in combinations
        }
    return runs


def collect_tables(
    folder: Path, lesson: str, runs: Mapping[str, Mapping[str, Any]]
) -> None:
    """Concatenate each table of a lesson, and its findings, over all runs.

    The files are written next to the executed notebooks. The parameters of a run are
    the first columns. If a table has a column of this name, "parameter" is put before
    it.
    """
    parts = defaultdict(list)
    for run, parameters in runs.items():
        results = folder / lesson / run
        record = json.loads((results / f"findings/{lesson}.json").read_text())
        tables = {"findings": pd.DataFrame(record["findings"])}
        for path in sorted((results / "tables" / lesson).glob("*.csv")):
            tables[path.stem] = pd.read_csv(path)
        for name, table in tables.items():
            for parameter, value in reversed(parameters.items()):
                column = f"parameter {parameter}" if parameter in table else parameter
                table.insert(0, column, [value] * len(table))
            parts[name].append(table)
    for name, tables in parts.items():
        text = pd.concat(tables).to_csv(index=False)
        store.write_text(folder / lesson / f"{name}.csv", text)
