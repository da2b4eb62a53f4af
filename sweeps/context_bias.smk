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
from helpers.suite import parameters, preflight, project
from sweeps import context_worlds

try:  # refused here, before anything runs
    preflight.known_keys(config, ["run", "seeds", "per_class", "trainings"])
    swept = {"seeds": [*context_worlds.SEEDS], "trainings": context_worlds.RECIPE.trainings}
    swept |= {name: config[name] for name in swept if name in config}
    swept = parameters.checked(swept, [])
    many = config.get("per_class", context_worlds.IMAGES.per_class)
    images = parameters.images_of({"source": "world", "per_class": many})
    preflight.once(workflow.configfiles)
    OUT = os.path.relpath(store.outputs() / project.run_name(config, "sweep"))
except (OSError, ValueError) as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None
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
        " --per-class {images.per_class} --trainings {swept.trainings}"


rule gather:
    input:
        expand(WORLD, seed=swept.seeds),
    output:
        OUT + "/worlds.csv",
    run:
        pd.concat(map(pd.read_csv, input)).to_csv(output[0], index=False)
