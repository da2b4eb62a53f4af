"""Gather a sweep's runs: one table, how often each method answers yes, and how it follows the dose.

`sweeps/context_bias.smk` runs one notebook for each dose and seed; this reads what they wrote.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import yaml

from helpers import figures
from helpers.contexts import doses
from helpers.run import artifacts
from helpers.stats import ranks
from helpers.worlds import pictures

RUN = re.compile(r"[A-Za-z]\w*?-[^_]+(_[A-Za-z]\w*?-[^_]+)*")


def read(files: Iterable[Path | str]) -> pd.DataFrame:
    """The same table of all runs as one, with what the names of their folders tell.

    Parameters
    ----------
    files
        One a run, such as ``.../bias-0.25_seed-1/tables/.../answers.csv``: the columns bias and
        seed are added, numbers where they are numbers. Rows are sorted by them.

    Raises
    ------
    ValueError
        For a file outside a folder named like that, folders that tell other things, or no file.
    """
    parts, names = [], None
    for file in map(Path, files):
        near = file.parts[-4:-1]  # run/tables/notebook
        run = next((part for part in reversed(near) if RUN.fullmatch(part)), None)
        if run is None:
            raise ValueError(f"{file}: no folder named like bias-0.25_seed-1 tells its parameters")
        told = dict(re.findall(r"([A-Za-z]\w*?)-([^_]+)_?", run))
        if names not in (None, list(told)):
            raise ValueError(f"{file}: tells {', '.join(told)}, and others {', '.join(names)}")
        names = list(told)
        parts.append(pd.read_csv(file).assign(**{n: yaml.safe_load(v) for n, v in told.items()}))
    if not parts:
        raise ValueError("a sweep without runs has nothing to gather")
    return pd.concat(parts, ignore_index=True).sort_values(names, kind="stable")


def correlations(answers: pd.DataFrame) -> pd.DataFrame:
    """How each measure follows the dose: Spearman's correlation over runs, with its interval.

    A run (one dose, one seed, the several trainings of one model) is the unit: its effect is the
    mean over the contexts, which share a model and so are not independent of one another.

    Parameters
    ----------
    answers
        From :func:`read`.

    Returns
    -------
    DataFrame
        measure, runs, spearman, low, high.
    """
    rows = []
    for measure, part in answers.groupby("measure", sort=False):
        runs = part.groupby(["bias", "seed"])["effect"].mean().reset_index()
        rows.append((measure, len(runs), *ranks.spearman(runs["bias"], runs["effect"])))
    return pd.DataFrame(rows, columns=["measure", "runs", "spearman", "low", "high"])


def gather(folder: Path | str, files: Iterable[Path | str]) -> None:
    """Write answers.csv, rates.csv, correlations.csv and dose-response.png, and print the last two.

    Parameters
    ----------
    folder
        Of the sweep, such as ``outputs/sweep``.
    files
        As for :func:`read`.
    """
    folder, answers = Path(folder), read(files)
    tables = {
        "answers": answers,
        "rates": doses.rates(answers),
        "correlations": correlations(answers),
    }
    figures.style()
    colours = figures.palette(list(answers["context_class"].unique()))
    figure = figures.dose_response(answers, colours, pictures.CONTEXT_OF)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    artifacts.write_bytes(folder / "dose-response.png", picture.getvalue())
    for name, table in tables.items():
        artifacts.write_text(folder / f"{name}.csv", table.to_csv(index=False))
    wide = tables["rates"].pivot(index="measure", columns="bias", values="rate")
    print("\nShare of answers that are yes, by planted bias (0.25 and less: false alarms)")
    print(wide.loc[answers["measure"].unique()].round(2).to_string())
    print("\nSpearman's correlation of dose and effect over the runs")
    print(tables["correlations"].round(2).to_string(index=False))


def main() -> None:
    """``python -m helpers.contexts.sweep [--tables] FOLDER FILES...``."""
    parser = argparse.ArgumentParser(description="Gather the runs of a sweep.")
    parser.add_argument("--tables", action="store_true", help="of any sweep: one table, no more")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="+", help="the same table of each run")
    arguments = parser.parse_args()
    if arguments.tables:
        name = arguments.files[0].name
        artifacts.write_text(arguments.folder / name, read(arguments.files).to_csv(index=False))
        print(f"{len(arguments.files)} tables in {arguments.folder / name}")
    else:
        gather(arguments.folder, arguments.files)


if __name__ == "__main__":
    main()
