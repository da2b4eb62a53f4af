"""Do the verdicts survive another seed? What ``make seeds`` runs, and the table it prints.

The whole suite runs with several seeds, as the runs ``seeds/0``, ``seeds/1`` ... Every claim's
verdict under the first seed is compared with its verdict under each other seed. They differ where
they are not the same, also where only one of the runs makes the claim. They contradict each other
where the claim holds under one seed and does not hold under the other.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml

from helpers.run import artifacts, claims, project

SEEDS = (0, 1, 2)
DIFFER_AT_MOST = 0.05  # share of claims
ABSENT = "not made"
RIGHT, WRONG = {claims.HOLDS, claims.AGREES}, {claims.FAILS, claims.CONTRADICTS}


def verdicts(folders: dict[int, Path]) -> pd.DataFrame:
    """The verdict of every measured claim under each seed, given the seeds' folders.

    Rows are claims, by notebook, id and what the claim is about; columns are seeds. ``not made``
    stands where a run does not make the claim.
    """
    columns = {}
    for seed, folder in folders.items():
        table = claims.scorecard(folder)
        if table.empty:
            raise FileNotFoundError(f"{folder} holds no findings: run the suite with seed {seed}")
        columns[seed] = table.set_index(["notebook", "id", "of"])["verdict"]
    together = pd.DataFrame(columns).fillna(ABSENT)
    return together[(together != claims.NO_COUNTERPART).any(axis=1)]


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """How each seed's verdicts differ from those of the first: a row a seed.

    Columns: claims, contradictions and differ (numbers), and share (of the claims that differ).
    """
    first, rows = table.iloc[:, 0], []
    for seed in table.columns[1:]:
        other = table[seed]
        differs = first != other
        turned = (first.isin(RIGHT) & other.isin(WRONG)) | (first.isin(WRONG) & other.isin(RIGHT))
        rows.append((seed, len(table), turned.sum(), differs.sum(), differs.mean()))
    return pd.DataFrame(rows, columns=["seed", "claims", "contradictions", "differ", "share"])


def survive(comparison: pd.DataFrame) -> bool:
    """Whether no seed contradicts the first, and none differs in more than `DIFFER_AT_MOST`."""
    fine = (comparison["contradictions"] == 0) & (comparison["share"] <= DIFFER_AT_MOST)
    return bool(fine.all())


def run(seed: int, cores: str) -> Path:
    """Run every notebook with a seed through the Snakefile; what is unchanged is not run again."""
    name = f"seeds/{seed}"
    command = [sys.executable, "-m", "snakemake", "--cores", cores, "--nolock", "--keep-going"]
    command += ["--rerun-incomplete", "--quiet", "rules", "host", "reason"]
    config = artifacts.write_text(
        project.outputs() / f"{name}.yml",
        yaml.safe_dump({"run": name, "parameters": {"seed": seed}}),
    )
    command += ["--configfile", str(config)]
    if subprocess.run(command, cwd=project.root()).returncode:
        raise SystemExit(f"The run with seed {seed} failed: see the lines above, and run again.")
    return project.outputs() / name


def main() -> None:
    """``python -m helpers.run.seeds``: run, compare; exit with 1 where they differ."""
    parser = argparse.ArgumentParser(description="Do the verdicts survive another seed?")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="the first is compared")
    parser.add_argument("--cores", default="all", help="notebooks side by side")
    asked = parser.parse_args()
    table = verdicts({seed: run(seed, asked.cores) for seed in dict.fromkeys(asked.seeds)})
    differing = table[table.nunique(axis=1) > 1]
    path = project.outputs() / "seeds" / "verdicts.csv"
    artifacts.write_text(path, differing.to_csv())
    comparison = compared(table)
    print(differing.reset_index().to_string(index=False))
    print(f"(in {path})\n\n{comparison.round(3).to_string(index=False)}")
    if not survive(comparison):
        raise SystemExit(
            "Verdicts do not survive another seed: there must be no contradiction, and at most "
            f"{DIFFER_AT_MOST:.0%} may differ."
        )


if __name__ == "__main__":
    main()
