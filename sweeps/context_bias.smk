"""Plant the context bias in pairs of worlds, train, and ask every method.

    make sweep                                        resumes where it was stopped; or, without make:
    snakemake -s sweeps/context_bias.smk --cores 2 --config seeds='[7,8]' per_class=150

A pair, with its 15 trainings, is about 75 s of one core. Notebook 05b reads worlds.csv in place of the
file in data/ if its cell says `worlds = pd.read_csv(run.folder.parent / "sweep/worlds.csv")`.
"""

import os
import sys
from pathlib import Path

import pandas as pd

from helpers import store
from helpers.workflow import refuse_unknown
from sweeps import context_worlds

try:  # refused here, before anything runs
    refuse_unknown("key", config, ["run", "seeds", "per_class", "trainings"])
except ValueError as error:
    raise WorkflowError(f"The configuration was refused, nothing ran:\n{error}") from None
SEEDS = config.get("seeds", [*context_worlds.SEEDS])
PER_CLASS = config.get("per_class", context_worlds.IMAGES.per_class)
TRAININGS = config.get("trainings", context_worlds.RECIPE.trainings)
OUT = os.path.relpath(store.outputs() / config.get("run", "sweep"))
WORLD = OUT + "/worlds/seed-{seed}.csv"


rule all:
    input:
        OUT + "/worlds.csv",


rule world:
    input:
        code=["sweeps/context_worlds.py", *sorted(map(str, Path("helpers").rglob("*.py")))],
    output:
        WORLD,
    threads: 1
    shell:
        "{sys.executable:q} -m sweeps.context_worlds {output:q} --seeds {wildcards.seed}"
        " --per-class {PER_CLASS} --trainings {TRAININGS}"


rule gather:
    input:
        expand(WORLD, seed=SEEDS),
    output:
        OUT + "/worlds.csv",
    run:
        pd.concat(map(pd.read_csv, input)).to_csv(output[0], index=False)
