"""Plant the context bias at several doses and seeds, train a model each time, ask every method.

    make sweep                                        or, the same without make:
    snakemake -s sweeps/context_bias.smk --cores 2    resumes where it was stopped
    snakemake -s sweeps/context_bias.smk --executor slurm --jobs 15        on a cluster
    snakemake -s sweeps/context_bias.smk --cores 2 --config seeds='[0,1,2,3,4]'

A sweep of your own: copy this file, name another notebook, one of its tables and other parameters.
`python -m helpers.contexts.sweep --tables FOLDER FILES` makes one table of the runs' tables, with a column for
each parameter in which the runs differ; what else is gathered here, `helpers.contexts.sweep` computes for
this sweep. `snakemake -s ... -n --quiet host` shows the plan.
"""

import yaml
from pathlib import Path

from helpers.run import parameters, preflight, project

NOTEBOOK = "05_gradcam_comparison"


def given(dose, seed):
    """Parameters of one run. Its results go to a folder of their own; `doses: []` trains no more."""
    one = {"seed": int(seed), "doses": [], "output": f"{NAME}/bias-{dose}_seed-{seed}"}
    more = preflight.of_notebooks(config)
    if set(one) & set(more):
        raise ValueError(f"parameters: this sweep sets {', '.join(set(one) & set(more))} itself")
    images = {"source": "world", **more.pop("images", {}), "context_bias": float(dose)}
    return {"images": images, **one, **more}


try:  # refused here, before anything runs
    preflight.known_keys(config, ["run", "doses", "seeds", "parameters"])
    NAME = project.output_name(config.get("run", "sweep"))
    swept = {"doses": [0, 0.25, 0.5, 0.75, 1], "seeds": 3, **config}  # how many seeds, or which
    swept = parameters.checked({name: swept[name] for name in ("doses", "seeds")}, [])
    DOSES, SEEDS = swept.doses, swept.seeds
    for dose in DOSES:
        parameters.validated(f"notebooks/{NOTEBOOK}.ipynb", given(dose, SEEDS[0]))
except ValueError as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None
OUT = str(project.outputs() / NAME)
ANSWERS = OUT + "/bias-{dose}_seed-{seed}/tables/" + NOTEBOOK + "/answers.csv"


rule all:
    input:
        OUT + "/correlations.csv",


rule ask:
    input:
        notebook=f"notebooks/{NOTEBOOK}.ipynb",
        code=sorted(map(str, Path("helpers").rglob("*.py"))),
    output:
        ANSWERS,
    log:
        OUT + "/bias-{dose}_seed-{seed}/run.ipynb",  # stays, with its error, when the run fails
    params:
        yaml=lambda wildcards: yaml.safe_dump(given(wildcards.dose, wildcards.seed)),
    threads: 1
    shell:
        "papermill --no-progress-bar --log-level WARNING -y {params.yaml:q} {input.notebook:q} {log:q}"


rule gather:
    input:
        expand(ANSWERS, dose=DOSES, seed=SEEDS),
    output:
        OUT + "/answers.csv",
        OUT + "/rates.csv",
        OUT + "/correlations.csv",
        OUT + "/dose-response.png",
    params:
        folder=OUT,
    shell:
        "python -m helpers.contexts.sweep {params.folder:q} {input:q}"
