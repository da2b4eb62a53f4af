"""Plant an eyespot at several doses and seeds, train, and try to prove it by painting it over.

    snakemake -s sweeps/eyespot.smk --cores 2    resumes where it was stopped
    snakemake -s sweeps/eyespot.smk --executor slurm --jobs 60        on a cluster
    snakemake -s sweeps/eyespot.smk --cores 2 --config seeds=80

The trials are those of notebook 07: those of one seed are about two minutes of one core. Notebook
07 shows them if it says `pd.read_csv(run.folder.parent / "eyespot/trials.csv")` in place of
`recorded.read("eyespot_trials.csv")`.
"""

import os
import sys

from helpers import recorded, store
from helpers.suite import parameters, preflight, project

try:  # refused here, before anything runs
    preflight.known_keys(config, ["run", "seeds"])
    SEEDS = parameters.checked({"seeds": config.get("seeds", 10)}, []).seeds  # how many, or which
    preflight.once(workflow.configfiles)
    OUT = os.path.relpath(store.outputs() / project.run_name(config, "eyespot"))
except (OSError, ValueError) as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None
TRIAL = OUT + "/trials/seed-{seed}.csv"


rule all:
    input:
        OUT + "/trials.csv",


rule trial:
    input:
        code=recorded.files("eyespot_trials.csv"),
    output:
        TRIAL,
    threads: 1
    shell:
        "{sys.executable:q} -m sweeps.eyespot_trials {output:q} --seeds {wildcards.seed} > /dev/null"


rule gather:
    input:
        expand(TRIAL, seed=SEEDS),
    output:
        OUT + "/trials.csv",
    params:
        seeds=SEEDS,
    shell:
        "{sys.executable:q} -m sweeps.eyespot_trials {output:q} --seeds {params.seeds}"  # from the store
