"""Gather a sweep's runs: one table, how often each method answers yes, and how it follows the dose.

`sweeps/context_bias.smk` runs one notebook for each dose and seed; this reads what they wrote.
"""

import argparse
import io
import json
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from helpers import stats
from helpers.contexts import methods
from helpers.figures import contexts as figures
from helpers.run import artifacts
from helpers.worlds import pictures


def with_parameters(files: Sequence[Path]) -> pd.DataFrame:
    """The same table of several runs as one, with a column for each parameter that differs.

    A file is one run's, such as ``RUN/tables/NOTEBOOK/focus.csv``. The run's parameters are those
    that the notebook recorded in ``RUN/findings/NOTEBOOK.json``.
    """
    records = [file.parents[2] / "findings" / f"{file.parent.name}.json" for file in files]
    given = pd.json_normalize([json.loads(record.read_text())["settings"] for record in records])
    differ = given.loc[:, given.astype(str).nunique() > 1].drop(
        columns=["output", "models"], errors="ignore"
    )
    parts = [
        pd.read_csv(file).assign(**asked)
        for file, asked in zip(files, differ.to_dict("records"), strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def correlations(answers: pd.DataFrame) -> pd.DataFrame:
    """How each measure follows the dose: Spearman's correlation over runs, with its interval.

    A run (one dose, one seed, the several trainings of one model) is the unit: its effect is the
    mean over the contexts, which share a model and so are not independent of one another.
    """
    rows = []
    for measure, part in answers.groupby(methods.MEASURE, sort=False):
        runs = part.groupby(["dose", "seed"])["effect"].mean().reset_index()
        rows.append((*measure, len(runs), *stats.spearman(runs["dose"], runs["effect"])))
    return pd.DataFrame(rows, columns=[*methods.MEASURE, "runs", "spearman", "low", "high"])


def gather(folder: Path, files: Sequence[Path]) -> None:
    """Write answers.csv, rates.csv, correlations.csv and dose-response.png, and print the last two.

    `folder` is the sweep's, such as ``outputs/sweep``; `files` are the ``answers.csv`` of its runs.
    """
    answers = pd.concat(map(pd.read_csv, files), ignore_index=True)
    answers = answers.sort_values(["dose", "seed"], kind="stable")
    rates, follows = methods.rates(answers), correlations(answers)
    figures.style()
    colours = figures.palette(list(answers["context_class"].unique()))
    figure = figures.dose_response(answers, colours, pictures.CONTEXT_OF)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    artifacts.write_bytes(folder / "dose-response.png", picture.getvalue())
    for name, table in (("answers", answers), ("rates", rates), ("correlations", follows)):
        artifacts.write_text(folder / f"{name}.csv", table.to_csv(index=False))
    print("\nShare of answers that are yes, by planted bias (0.25 and less: false alarms)")
    print(rates.pivot(index=methods.MEASURE, columns="dose", values="rate").round(2).to_string())
    print("\nSpearman's correlation of dose and effect over the runs")
    print(follows.round(2).to_string(index=False))


def main() -> None:
    """``python -m helpers.contexts.sweep [--tables] FOLDER FILES...``."""
    parser = argparse.ArgumentParser(description="Gather the runs of a sweep.")
    parser.add_argument("--tables", action="store_true", help="of any sweep: one table, no more")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="+", help="the same table of each run")
    asked = parser.parse_args()
    if asked.tables:
        name = asked.files[0].name
        table = with_parameters(asked.files)
        artifacts.write_text(asked.folder / name, table.to_csv(index=False))
        print(f"{len(asked.files)} tables in {asked.folder / name}")
    else:
        gather(asked.folder, asked.files)


if __name__ == "__main__":
    main()
