"""Execute lessons with several seeds, and record their verdicts in ``data/seeds.csv``.

Run ``make seeds``, or ``python -m sweeps.seeds --lessons 03 09 --seeds 0 1``.
"""

import argparse
import subprocess
import sys

import pandas as pd
import yaml

from helpers import claims, store

SEEDS = store.root() / "data" / "seeds.csv"
CLAIM = ["lesson", "id", "of"]
FIXED_CLAIMS = (  # claims about recorded tables and fixed data: no seed changes them
    "suite/contexts/alarms",
    "suite/contexts/alarms-others",
    "suite/contexts/baseline",
    "suite/contexts/map",
    "suite/contexts/power",
    "suite/contexts/power-others",
    "suite/contexts/relied",
    "suite/contexts/several",
    "suite/contexts/told",
    "focus/first",
    "focus/remedy",
    "suite/focus/alarms",
    "suite/focus/found",
    "suite/focus/names",
    "blocks/backends",
    "blocks/backtracking",
    "blocks/balance",
    "blocks/deo",
    "blocks/libraries",
    "blocks/snippet",
    "blocks/toolkits",
)
RIGHT = [claims.REPLICATED, claims.SUPPORTED, claims.NOT_SPECIFIC]
WRONG = [claims.NOT_REPLICATED, claims.NOT_SUPPORTED, claims.CONTRADICTS]
NOT_COUNTED = [claims.REPORTED_ONLY, claims.NOT_TESTABLE]


def read_verdicts() -> pd.DataFrame:
    """Read the recorded verdicts, one row per lesson, claim, subject and seed."""
    table = pd.read_csv(SEEDS, dtype=str, keep_default_na=False)
    return table.astype({"seed": int})[[*CLAIM, "seed", "verdict"]]


def record(findings: pd.DataFrame, lesson: str) -> None:
    """Replace the recorded verdicts of a lesson with these seeds by new ones."""
    findings = findings.rename(columns={"subject": "of"}).assign(lesson=lesson)
    findings = findings[~findings["id"].isin(FIXED_CLAIMS)]
    recorded = read_verdicts()
    replaced = (recorded["lesson"] == lesson) & recorded["seed"].isin(findings["seed"])
    table = pd.concat([recorded[~replaced], findings[recorded.columns]])
    table = table.sort_values([*CLAIM, "seed"])
    store.write_text(SEEDS, table.to_csv(index=False))


def summarize(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count the claims of each lesson, and those whose verdict depends on the seed."""
    wide = verdicts.pivot(index=CLAIM, columns="seed", values="verdict")
    wide = wide.fillna("missing")
    wide = wide[~wide.isin(NOT_COUNTED).all(axis=1)]
    counts = pd.DataFrame({"verdicts": 1, "same in all": wide.nunique(axis=1) == 1})
    counts["differ"] = ~counts["same in all"]
    counts["turned over"] = wide.isin(RIGHT).any(axis=1) & wide.isin(WRONG).any(axis=1)
    table = counts.groupby("lesson").sum()
    table.loc["all"] = table.sum()
    return table


def main() -> None:
    """Execute the lessons, record verdicts and count those that differ."""
    recorded = sorted(read_verdicts()["lesson"].unique())
    numbers = {name.split("_")[0]: name for name in recorded}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", nargs="+", default=list(numbers))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(8)))
    arguments, options = parser.parse_known_args()
    lessons = [numbers.get(name, name) for name in arguments.lessons]
    config = {"name": "seeds", "lesson": lessons}
    config["parameters"] = {"seed": arguments.seeds}
    path = store.write_text(store.outputs() / "seeds.yml", yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "--snakefile", "sweeps/Snakefile"]
    command += ["--configfile", str(path), *options]
    if subprocess.run(command, cwd=store.root()).returncode:
        sys.exit("A lesson failed. Run the same command again to continue from there.")
    for lesson in lessons:
        path = store.outputs() / "seeds" / lesson / "findings.csv"
        record(pd.read_csv(path, keep_default_na=False), lesson)
    verdicts = read_verdicts()
    print(summarize(verdicts[verdicts["lesson"].isin(lessons)]).to_string())


if __name__ == "__main__":
    main()
