"""Do the verdicts survive another seed? What ``make seeds`` runs, records in ``data/seeds.csv`` (a
row a lesson, claim and seed), and prints. What is recorded by the code of today is not run again.

Two verdicts contradict each other where a claim is right under one seed and wrong under the other.
They differ, too, where one is undecided, or where only one run makes the claim. Lessons that judge
recorded tables alone are left out: there another seed changes no verdict (tried with eight)."""

import argparse
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import yaml

from helpers import recorded, store
from helpers.recorded import SEEDS
from helpers.suite import claims, notebooks

DIFFER_AT_MOST = 0.05  # share of claims
ABSENT = "not made"
WITHOUT = {"08", "08b", "09b", "10", "11", "12", "13"}  # the last three judge nothing
CLAIM = ["lesson", "id", "of"]
RIGHT = {claims.HOLDS, claims.AGREES, claims.BLIND}
WRONG = {claims.FAILS, claims.DIFFERS, claims.CONTRADICTS}


def read() -> pd.DataFrame:
    """The recorded verdicts: lesson, id, of, seed, verdict, and the digest of what made them."""
    return pd.read_csv(SEEDS, dtype=str, keep_default_na=False).astype({"seed": int})


def missing(lessons: Iterable[str], seed: int) -> list[str]:
    """The lessons whose verdicts under a seed are not recorded by the code of today."""
    makers = read().query("seed == @seed").groupby("lesson")["made_by"].agg(set)
    return [name for name in lessons if makers.get(name) != {recorded.of_lesson(name)}]


def record(folder: Path, lessons: Sequence[str], seed: int) -> None:
    """Record what executed lessons judged under a seed, in place of what stood there of them."""
    judged = notebooks.findings(folder / "notebooks" / f"{name}.ipynb" for name in lessons)
    judged = judged.rename(columns={"notebook": "lesson"})[[*CLAIM, "verdict"]].assign(seed=seed)
    if silent := {*lessons} - {*judged["lesson"]}:
        raise FileNotFoundError(f"{folder}: {min(silent)} holds no findings; run it with that seed")
    judged["made_by"] = judged["lesson"].map({name: recorded.of_lesson(name) for name in lessons})
    old = read()
    others = old[~(old["lesson"].isin(lessons) & (old["seed"] == seed))]
    table = pd.concat([others, judged[old.columns]]).sort_values([*CLAIM, "seed"])
    store.write_text(SEEDS, table.to_csv(index=False))


def confirm(lessons: Sequence[str], seed: int) -> list[str]:
    """The lessons whose stored notebooks (run with `seed`, as strict nbval proves of today's code)
    judge as recorded: today's code is noted as the maker of all their seeds."""
    before, makers = read(), {name: recorded.of_lesson(name) for name in lessons}
    record(store.root(), lessons, seed)
    old, new = (
        t[t["seed"] == seed].groupby("lesson")["verdict"].agg(list) for t in (before, read())
    )
    same = [name for name in lessons if old.get(name) == new[name]]
    makers = before["lesson"].where(before["lesson"].isin(same)).map(makers)
    made = before.assign(made_by=makers.fillna(before["made_by"]))
    store.write_text(SEEDS, made.to_csv(index=False))
    return same


def verdicts(lessons: Sequence[str], seeds: Sequence[int]) -> pd.DataFrame:
    """The recorded verdict of every claim (by lesson, id and what it is about) under each seed."""
    table = read().query("lesson in @lessons and seed in @seeds")
    together = table.pivot(index=CLAIM, columns="seed", values="verdict").fillna(ABSENT)
    return together.loc[(together != claims.NO_COUNTERPART).any(axis=1), list(seeds)]


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of claims, contradictions and differences from the first seed: a row a seed."""
    first, rows = table.iloc[:, 0], []
    for seed, other in table.iloc[:, 1:].items():
        turned = (first.isin(RIGHT) & other.isin(WRONG)) | (first.isin(WRONG) & other.isin(RIGHT))
        differs = first != other
        rows.append((seed, len(table), turned.sum(), differs.sum(), differs.mean()))
    return pd.DataFrame(rows, columns=["seed", "claims", "contradictions", "differ", "share"])


def run(lessons: Sequence[str], seed: int, cores: str) -> Path:
    """Run lessons with a seed, as ``make run`` does; what is unchanged is not run again."""
    name = f"seeds/{seed}"
    asked = {"run": name, "notebooks": [*lessons], "parameters": {"seed": seed}}
    config = store.write_text(store.outputs() / f"{name}.yml", yaml.safe_dump(asked))
    command = ["make", "run", f"CONFIG={config}", f"CORES={cores}"]
    if subprocess.run(command, cwd=store.root()).returncode:
        raise SystemExit(f"The run with seed {seed} failed: see the lines above, and run again.")
    return store.outputs() / name


def main() -> None:
    """``python -m sweeps.seeds``: run, record, compare; exit with 1 where verdicts turn over."""
    every = {path.stem.split("_")[0]: path.stem for path in notebooks.lessons()}
    every = {number: name for number, name in every.items() if number not in WITHOUT}
    parser = argparse.ArgumentParser(description="Do the verdicts survive another seed?")
    parser.add_argument("--lessons", nargs="+", default=every, choices=every, help="such as 03 09")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(8), help="first: compared")
    parser.add_argument("--cores", default="all", help="notebooks side by side")
    text = "run nothing: note today's code where the stored lessons judge as recorded"
    parser.add_argument("--confirm", action="store_true", help=text)
    asked = parser.parse_args()
    lessons, seeds = [every[name] for name in asked.lessons], [*dict.fromkeys(asked.seeds)]
    if asked.confirm:
        same = confirm(missing(lessons, seeds[0]), seeds[0])
        return print("judge as recorded:", ", ".join(same) or "none")
    for seed in seeds:
        if left := missing(lessons, seed):
            record(run(left, seed, asked.cores), left, seed)
    table = verdicts(lessons, seeds)
    comparison = compared(table)
    print(table[table.nunique(axis=1) > 1].reset_index().to_string(index=False))
    print(f"(all in {SEEDS})\n\n{comparison.round(3).to_string(index=False)}")
    if comparison["contradictions"].any() or (comparison["share"] > DIFFER_AT_MOST).any():
        raise SystemExit(
            "Verdicts do not survive another seed: there must be no contradiction, and at most "
            f"{DIFFER_AT_MOST:.0%} may differ."
        )


if __name__ == "__main__":
    main()
