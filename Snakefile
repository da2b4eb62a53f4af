"""Which notebook runs with which parameters, and what that makes. See README, "Sweeps"."""

from pathlib import Path

import yaml

from helpers.run import preflight, project

FOLDER = Path("notebooks")

try:  # refused here, before anything runs
    RUN, PARAMETERS = preflight.plan(config, FOLDER)
except (OSError, ValueError) as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None
OUT = str(project.outputs() / RUN)
NOTEBOOKS = list(PARAMETERS)
LAST = [name for name in NOTEBOOKS if preflight.tagged(FOLDER / f"{name}.ipynb", "reads-findings")]


rule all:
    input:  # each of them, not the index alone: `onerror` writes it, too
        expand(OUT + "/notebooks/{name}.ipynb", name=NOTEBOOKS),
        expand(OUT + "/findings/{name}.json", name=NOTEBOOKS),
        f"{OUT}/index.html",


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        code=sorted(map(str, Path("helpers").rglob("*.py"))),
        paper=sorted(map(str, Path("data/paper").glob("*.csv"))),
        others=lambda wildcards: [
            f"{OUT}/findings/{name}.json"
            for name in NOTEBOOKS
            if wildcards.name in LAST and name not in LAST
        ],
    output:
        notebook=OUT + "/notebooks/{name}.ipynb",
        findings=OUT + "/findings/{name}.json",
    log:
        notebook=OUT + "/logs/{name}.ipynb",  # stays, with its error, when the notebook fails
    params:
        yaml=lambda wildcards: yaml.safe_dump(PARAMETERS[wildcards.name]),
        inputs=lambda wildcards: preflight.inputs(PARAMETERS[wildcards.name]),
    threads: 1
    shell:
        "echo '{wildcards.name}: started';"
        " TQDM_DISABLE=1 papermill --no-progress-bar --log-level WARNING -y {params.yaml:q}"
        " {input.notebook:q} {log.notebook:q} 2> >(grep -v '^.IPKernelApp' >&2)"
        " || {{ echo '{wildcards.name}: FAILED; its cells, with the error, are in {log.notebook}'; exit 1; }};"
        " cp {log.notebook:q} {output.notebook:q}.part"
        " && mv {output.notebook:q}.part {output.notebook:q}"
        " && echo \"{wildcards.name}: done in $SECONDS s\""


rule book:
    input:
        notebooks=expand(OUT + "/notebooks/{name}.ipynb", name=NOTEBOOKS),
        findings=expand(OUT + "/findings/{name}.json", name=NOTEBOOKS),
        book=sorted(map(str, Path("helpers/run/book").rglob("*.*"))),
        teaching=str(project.root() / "TEACHING.md"),
    output:
        f"{OUT}/index.html",
    shell:
        "python -m helpers.run.pages {OUT:q}"


onerror:  # what there is can be read, and what failed is named
    shell("python -m helpers.run.pages {OUT:q}")
