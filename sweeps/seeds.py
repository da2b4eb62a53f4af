"""Do the verdicts survive another seed? What ``make seeds`` runs, and the table it prints.

Two verdicts contradict each other where a claim holds under one seed and does not hold under the
other. They differ, too, where one is undecided, or where only one run makes the claim."""

import argparse
import subprocess
from pathlib import Path

import pandas as pd
import yaml

from helpers import store
from helpers.suite import claims, notebooks

DIFFER_AT_MOST = 0.05  # share of claims
ABSENT = "not made"
RIGHT, WRONG = {claims.HOLDS, claims.AGREES}, {claims.FAILS, claims.CONTRADICTS}


def verdicts(folders: dict[int, Path]) -> pd.DataFrame:
    """The verdict of every claim (by notebook, id and what it is about; rows) under each seed."""
    columns = {}
    for seed, folder in folders.items():
        judged = notebooks.findings(sorted(folder.glob("notebooks/*.ipynb")))
        columns[seed] = judged.set_index(["notebook", "id", "of"])["verdict"]
        if columns[seed].empty:
            raise FileNotFoundError(f"{folder} holds no findings: run the suite with seed {seed}")
    together = pd.DataFrame(columns).fillna(ABSENT)
    return together[(together != claims.NO_COUNTERPART).any(axis=1)]


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of claims, contradictions and differences from the first seed: a row a seed."""
    first, rows = table.iloc[:, 0], []
    for seed, other in table.iloc[:, 1:].items():
        turned = (first.isin(RIGHT) & other.isin(WRONG)) | (first.isin(WRONG) & other.isin(RIGHT))
        differs = first != other
        rows.append((seed, len(table), turned.sum(), differs.sum(), differs.mean()))
    return pd.DataFrame(rows, columns=["seed", "claims", "contradictions", "differ", "share"])


def run(seed: int, cores: str) -> Path:
    """Run every notebook with a seed, as ``make run`` does; what is unchanged is not run again."""
    name = f"seeds/{seed}"
    asked = yaml.safe_dump({"run": name, "parameters": {"seed": seed}})
    config = store.write_text(store.outputs() / f"{name}.yml", asked)
    command = ["make", "run", f"CONFIG={config}", f"CORES={cores}"]
    if subprocess.run(command, cwd=store.root()).returncode:
        raise SystemExit(f"The run with seed {seed} failed: see the lines above, and run again.")
    return store.outputs() / name


def main() -> None:
    """``python -m sweeps.seeds``: run, compare; exit with 1 where verdicts do not survive."""
    parser = argparse.ArgumentParser(description="Do the verdicts survive another seed?")
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2), help="first: compared")
    parser.add_argument("--cores", default="all", help="notebooks side by side")
    asked = parser.parse_args()
    table = verdicts({seed: run(seed, asked.cores) for seed in dict.fromkeys(asked.seeds)})
    differing, comparison = table[table.nunique(axis=1) > 1], compared(table)
    path = store.outputs() / "seeds" / "verdicts.csv"
    store.write_text(path, differing.to_csv())
    print(differing.reset_index().to_string(index=False))
    print(f"(in {path})\n\n{comparison.round(3).to_string(index=False)}")
    if comparison["contradictions"].any() or (comparison["share"] > DIFFER_AT_MOST).any():
        raise SystemExit(
            "Verdicts do not survive another seed: there must be no contradiction, and at most "
            f"{DIFFER_AT_MOST:.0%} may differ."
        )


if __name__ == "__main__":
    main()
