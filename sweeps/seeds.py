"""Do the verdicts survive another seed? What ``make seeds`` runs, records in ``data/seeds.csv``,
and prints; other seeds are set beside. A verdict is turned over where a claim is right under one
seed and wrong under another. Claims of recorded tables and fixed data are left out, and lessons of
such claims alone: another seed cannot change them (tried with eight)."""

import argparse
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import yaml

from helpers import claims, recorded, store
from helpers.recorded import SEEDS
from helpers.suite import notebooks

RECORDED = range(8)
ABSENT = "not made"
WITHOUT = {
    "08",
    "08b",
    "09b",
    "10",
    "11",
    "11b",
    "12",
    "13",
}  # from 11 on: judge nothing
CANNOT_VARY = (
    r"suite/contexts/(alarms|baseline|map|power|relied|several|told)|focus/(first|remedy)"
    r"|suite/focus/(found|alarms|names)"
    r"|blocks/(backends|backtracking|balance|deo|libraries|snippet|toolkits)"
)
CLAIM = ["lesson", "id", "of"]
RIGHT = {claims.SUPPORTED, claims.REPLICATED, claims.NOT_SPECIFIC}
WRONG = {claims.NOT_SUPPORTED, claims.NOT_REPLICATED, claims.CONTRADICTS}


def _file(seed: int) -> Path:
    """Where verdicts are kept; those of other seeds are no part of the project."""
    return SEEDS if seed in RECORDED else store.outputs() / "seeds" / "others.csv"


def read(file: Path | None = None) -> pd.DataFrame:
    """Verdicts of a file (default: of all), and the digests of what made them."""
    files = [one for one in (SEEDS, _file(-1)) if one.is_file() and file in (None, one)]
    tables = [pd.read_csv(one, dtype=str, keep_default_na=False) for one in files]
    empty = pd.DataFrame(columns=[*CLAIM, "seed", "verdict", "made_by"], dtype=str)
    return pd.concat(tables or [empty]).astype({"seed": int})


def missing(lessons: Iterable[str], seed: int) -> list[str]:
    """The lessons whose verdicts under a seed are not recorded by the code of today."""
    makers = read().query("seed == @seed").groupby("lesson")["made_by"].agg(set)
    return [name for name in lessons if makers.get(name) != {recorded.of_lesson(name)}]


def record(folder: Path, lessons: Sequence[str], seed: int) -> None:
    """Record what executed lessons judged under a seed, in place of what stood there of them."""
    judged = notebooks.findings(
        folder / "notebooks" / f"{name}.ipynb" for name in lessons
    )
    judged = judged.rename(columns={"notebook": "lesson", "subject": "of"})[
        [*CLAIM, "verdict"]
    ].assign(seed=seed)
    if silent := {*lessons} - {*judged["lesson"]}:
        raise FileNotFoundError(
            f"{folder}: {min(silent)} holds no findings; run it with that seed"
        )
    judged = judged[~judged["id"].str.fullmatch(CANNOT_VARY)]
    judged["made_by"] = judged["lesson"].map(
        {name: recorded.of_lesson(name) for name in lessons}
    )
    old = read(file := _file(seed))
    others = old[~(old["lesson"].isin(lessons) & (old["seed"] == seed))]
    table = pd.concat([others, judged[old.columns]]).sort_values([*CLAIM, "seed"])
    store.write_text(file, table.to_csv(index=False))


def confirm(lessons: Sequence[str], seed: int) -> list[str]:
    """The lessons whose stored notebooks, run with `seed`, judge as recorded: today's code is noted
    as the maker of all their seeds."""
    before = read(SEEDS)
    record(store.root(), lessons, seed)
    of_seed = (table[table["seed"] == seed] for table in (before, read(SEEDS)))
    old, new = (table.groupby("lesson")["verdict"].agg(list) for table in of_seed)
    same = [name for name in lessons if old.get(name) == new[name]]
    makers = {name: recorded.of_lesson(name) for name in same}
    pairs = zip(before["lesson"], before["made_by"], strict=True)
    made = before.assign(made_by=[makers.get(lesson, maker) for lesson, maker in pairs])
    store.write_text(SEEDS, made.to_csv(index=False))
    return same


def verdicts(lessons: Sequence[str], seeds: Sequence[int]) -> pd.DataFrame:
    """The recorded verdict of every claim (by lesson, id and what it is about) under each seed."""
    table = read().query("lesson in @lessons and seed in @seeds")
    together = table.pivot(index=CLAIM, columns="seed", values="verdict").reindex(
        columns=seeds
    )
    return (
        together[(together != claims.NOT_TESTABLE).any(axis=1)]
        .astype(object)
        .fillna(ABSENT)
    )


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """How many verdicts there are, by lesson and of all, and how many differ or are turned over."""
    judged = table[~table.isin([claims.REPORTED_ONLY, claims.NOT_TESTABLE]).all(axis=1)]
    same = judged.nunique(axis=1) == 1
    turned = judged.isin(RIGHT).any(axis=1) & judged.isin(WRONG).any(axis=1)
    counts = {
        "verdicts": same | True,
        "same in all": same,
        "differ": ~same,
        "turned over": turned,
    }
    sums = pd.DataFrame(counts).groupby("lesson").sum()
    return pd.concat([sums, sums.sum().to_frame("all").T]).rename_axis("lesson")


def run(lessons: Sequence[str], seed: int, cores: str) -> Path:
    """Run lessons with a seed, as ``make run`` does; what is unchanged is not run again."""
    name = f"seeds/{seed}"
    settings = {"run": name, "notebooks": [*lessons], "parameters": {"seed": seed}}
    config = store.write_text(store.outputs() / f"{name}.yml", yaml.safe_dump(settings))
    command = ["make", "run", f"CONFIG={config}", f"CORES={cores}"]
    if subprocess.run(command, cwd=store.root()).returncode:
        raise SystemExit(
            f"The run with seed {seed} failed: see the lines above, and run again."
        )
    return store.outputs() / name


def main() -> None:
    """``python -m sweeps.seeds``: run, record, compare; exit with 1 where verdicts turn over."""
    every = {path.stem.split("_")[0]: path.stem for path in notebooks.lessons()}
    every = {number: name for number, name in every.items() if number not in WITHOUT}
    parser = argparse.ArgumentParser(
        description="Do the verdicts survive another seed?"
    )
    parser.add_argument(
        "--lessons", nargs="+", default=every, choices=every, help="such as 03 09"
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=RECORDED, help="first: compared"
    )
    parser.add_argument("--cores", default="all", help="notebooks side by side")
    text = "run nothing: note today's code where the stored lessons judge as recorded"
    parser.add_argument("--confirm", action="store_true", help=text)
    arguments = parser.parse_args()
    lessons, seeds = (
        [every[name] for name in arguments.lessons],
        [*dict.fromkeys(arguments.seeds)],
    )
    if arguments.confirm:
        same = confirm(missing(lessons, seeds[0]), seeds[0])
        return print("judge as recorded:", ", ".join(same) or "none")
    for seed in seeds:
        if left := missing(lessons, seed):
            record(run(left, seed, arguments.cores), left, seed)
    beside = [seed for seed in seeds if seed not in RECORDED]
    table = verdicts(lessons, RECORDED if beside else seeds)
    print(table[table.nunique(axis=1) > 1].reset_index().to_string(index=False))
    print(f"(all in {SEEDS})\n\n{(counts := summary(table)).to_string()}")
    shared = table[table.nunique(axis=1) == 1].iloc[:, :1]
    for seed in beside:
        both = shared.join(verdicts(lessons, [seed]), how="left").fillna(ABSENT)
        print(
            f"seed {seed}, beside what the recorded seeds share:\n{summary(both).to_string()}"
        )
    if counts.loc["all", "turned over"]:
        raise SystemExit(
            "Verdicts are turned over by another seed: see the table above."
        )


if __name__ == "__main__":
    main()
