"""Compare numbers that may move in their last digits with those of a recorded run.

Training ends elsewhere on another processor, so strict equality cannot hold for trained numbers. A
notebook therefore says how far each table may be from the recorded one, and prints only whether it
is: that line is what nbval checks.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import artifacts, project
from helpers.findings import FAILS, HOLDS, Finding

RECORD = "SUITE_RECORD"  # environment variable that makes `agrees` write instead of compare
NOT_RESULTS = {"output"}  # settings that say where results go, not what they are


def path_of(run: project.Run, name: str) -> Path:
    """File that holds the recorded numbers of a notebook's table."""
    return project.root() / "data" / "recorded" / run.notebook / f"{name}.csv"


def agrees(run: project.Run, table: pd.DataFrame, name: str, tolerance: float) -> None:
    """Print whether each number of a table is within `tolerance` of the recorded run's.

    Parameters
    ----------
    run
        The notebook's run; numbers are compared only when its settings are the recorded ones.
    table
        What was measured. Columns that are not numbers must be equal.
    name
        Name of the table.
    tolerance
        Largest absolute difference allowed, in the table's own unit.

    Raises
    ------
    AssertionError
        When a number is further away, or a row, column or label differs; it names the first.
    """
    table = table.reset_index(drop=isinstance(table.index, pd.RangeIndex))
    recorded = _recorded(run, table, name)
    if recorded is None:
        return
    numbers = _compare(table, recorded, name, tolerance)
    print(f"{name}: {numbers} numbers agree with the recorded run within {tolerance:g}")


def _recorded(run: project.Run, table: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """The recorded table, after recording where that is asked; None for other parameters."""
    settings = {k: v for k, v in vars(run.settings).items() if k not in NOT_RESULTS}
    header = "# " + json.dumps(settings, sort_keys=True, default=str)
    path = path_of(run, name)
    if os.environ.get(RECORD):
        artifacts.write_text(path, header + "\n" + table.to_csv(index=False, float_format="%.4g"))
    if not path.exists():
        raise AssertionError(f"{name}: nothing is recorded; `make notebooks` records")
    recorded_header, _, text = path.read_text().partition("\n")
    if recorded_header != header:
        print(f"{name}: not compared, the recorded run had other parameters")
        return None
    return pd.read_csv(io.StringIO(text))


def verdicts(run: project.Run, found: list[Finding], tolerance: float = 0.0) -> None:
    """Print that no verdict contradicts the recorded run's.

    A verdict near its threshold may be undecided on one processor and not on another; what must
    not happen is that a claim which held does not hold, or the reverse.

    Parameters
    ----------
    run
        As for :func:`agrees`.
    found
        The notebook's findings.
    tolerance : float
        A verdict may turn over where its value, in the finding's unit, moved by no more than this:
        as much as a training on another processor moves such values.

    Raises
    ------
    AssertionError
        When the claims are others, or one is contradicted; it is named.
    """
    columns = ["claim", "verdict", "measured"]
    table = pd.DataFrame([[f.claim, f.verdict, f.measured] for f in found], columns=columns)
    table = table if tolerance else table.drop(columns="measured")
    recorded = _recorded(run, table, "verdicts")
    if recorded is None:
        return
    before = recorded.set_index("claim")
    if set(before.index) != set(table["claim"]):
        raise AssertionError("the claims differ from the recorded run's; `make notebooks` records")
    for f in found:
        then = before.loc[f.claim]
        if {f.verdict, then["verdict"]} == {HOLDS, FAILS}:
            if tolerance and abs(f.measured - then["measured"]) <= tolerance:
                continue
            raise AssertionError(f"{f.claim!r}: {f.verdict} here, {then['verdict']} when recorded")
    print(f"{len(found)} verdicts, none contradicts the recorded run")


def _compare(table: pd.DataFrame, recorded: pd.DataFrame, name: str, tolerance: float) -> int:
    if list(map(str, table.columns)) != list(recorded.columns) or len(table) != len(recorded):
        raise AssertionError(
            f"{name}: {len(table)} rows of {list(table.columns)}, recorded were "
            f"{len(recorded)} rows of {list(recorded.columns)}; `make notebooks` records anew"
        )
    count = 0
    for column in table.columns:
        ours, theirs = table[column].to_numpy(), recorded[str(column)].to_numpy()
        if pd.api.types.is_float_dtype(table[column]):
            same = np.isclose(ours, theirs, rtol=1e-3, atol=tolerance, equal_nan=True)
            count += len(ours)
        else:
            same = ours.astype(str) == theirs.astype(str)
        if not same.all():
            row = int(np.argmin(same))
            raise AssertionError(
                f"{name}: {column} of row {row} is {ours[row]}, recorded was {theirs[row]} "
                f"(tolerance {tolerance:g}); `make notebooks` records anew"
            )
    return count
