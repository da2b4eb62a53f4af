"""Plant the shared patch at several doses and seeds, train, rank the class pairs each time.

    snakemake -s sweeps/shared_patch.smk --cores 2    resumes where it was stopped
    snakemake -s sweeps/shared_patch.smk --executor slurm --jobs 60        on a cluster
    snakemake -s sweeps/shared_patch.smk --cores 2 --config seeds=48 doses='[0,0.8,1]'

The trials are those of notebook 07: one, with its five trainings, is about 24 s of one core.
Written are trials.csv and, on screen, how often the planted pair came first at each dose. Notebook
07 shows them in place of the file in data/ where it says `trials.recorded("outputs/shared-patch/trials.csv")`.
"""

from pathlib import Path

from helpers.run import parameters, preflight, project
from helpers.focus import trials

try:  # refused here, before anything runs
    preflight.known_keys(config, ["run", "doses", "seeds"])
    swept = {"doses": list(trials.DOSES), "seeds": 12, **config}  # how many seeds, or which
    swept = parameters.checked({name: swept[name] for name in ("doses", "seeds")}, [])
    DOSES, SEEDS = swept.doses, swept.seeds
    OUT = str(project.outputs() / project.output_name(config.get("run", "shared-patch")))
except ValueError as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None
TRIAL = OUT + "/trials/dose-{dose}_seed-{seed}.csv"


rule all:
    input:
        OUT + "/trials.csv",


rule trial:
    input:
        code=sorted(map(str, Path("helpers").rglob("*.py"))),
    output:
        TRIAL,
    threads: 1
    shell:
        "python -m helpers.focus.trials {output:q} --first {wildcards.seed} --seeds 1"
        " --doses {wildcards.dose} > /dev/null"


rule gather:
    input:
        expand(TRIAL, dose=DOSES, seed=SEEDS),
    output:
        OUT + "/trials.csv",
    shell:
        "python -m helpers.focus.trials {output:q} --gather {input:q}"
