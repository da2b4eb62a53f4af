"""Collect the tables of many cases, so that a stopped sweep can be continued."""

import argparse
import pickle
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from helpers import store


def collect(
    path: Path,
    measure: Callable[..., pd.DataFrame],
    cases: Iterable[tuple],
    *,
    float_format: str | None = None,
) -> pd.DataFrame:
    """Write the tables that a function measures for several cases as one CSV file.

    The table of each case is kept below ``outputs/sweeps`` until the file is written.
    A sweep that is stopped and started again measures only the cases that are missing.
    If you change the code in between, delete that folder first.

    Parameters
    ----------
    path : Path
        The file to write.
    measure : callable
        Returns the table of one case. It is called with the case's values.
    cases : iterable of tuple
        The arguments of `measure`, which are numbers and strings.
    float_format : str, optional
        The format of numbers in the file, such as ``"%.4g"``.

    Returns
    -------
    pandas.DataFrame
        The table as it was written, one block of rows per case.
    """
    folder = store.outputs() / "sweeps" / path.stem
    parts = []
    for case in store.progress(list(cases), desc=path.stem):
        part = folder / f"{store.key('case', values=case)}.pickle"
        if not part.exists():
            store.write_bytes(part, pickle.dumps(measure(*case)))
        parts.append(pd.read_pickle(part))
    table = pd.concat(parts, ignore_index=True)
    store.write_text(path, table.to_csv(index=False, float_format=float_format))
    shutil.rmtree(folder)
    return pd.read_csv(path)


def run(
    measure: Callable[..., pd.DataFrame],
    list_cases: Callable[[Iterable[int]], list[tuple]],
    seeds: Iterable[int],
    float_format: str,
) -> None:
    """Collect the cases of some seeds, as the command line asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=seeds)
    arguments = parser.parse_args()
    cases = list_cases(arguments.seeds)
    collect(arguments.path, measure, cases, float_format=float_format)
