"""Which notebook runs with which parameters, and what that makes. See README, "Sweeps"."""

from pathlib import Path

import yaml

from helpers import parameters, project

PRESET = config.get("preset", "demo")
RUN = str(config.get("run", PRESET))
NOTEBOOKS = config.get("notebooks") or sorted(p.stem for p in Path("notebooks").glob("0[1-9]_*.ipynb"))
if isinstance(NOTEBOOKS, str):
    NOTEBOOKS = NOTEBOOKS.split(",")
GIVEN = {"preset": PRESET, "output": RUN, **(config.get("parameters") or {})}
OUT = str(project.outputs() / RUN)

try:  # refused here, before anything runs
    PARAMETERS = parameters.shared([f"notebooks/{name}.ipynb" for name in NOTEBOOKS], GIVEN)
    if GIVEN.get("source") == "folder":  # 03 and others ask for contexts; leave them out without
        NOTEBOOKS = project.without_missing_contexts(NOTEBOOKS, GIVEN)
except (parameters.ParameterError, FileNotFoundError, ValueError) as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None


rule all:
    input:
        f"{OUT}/index.html",


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        code=sorted(map(str, Path("helpers").rglob("*.py"))),
        paper=sorted(map(str, Path("data/paper").glob("*.csv"))),
    output:
        notebook=OUT + "/notebooks/{name}.ipynb",
        findings=OUT + "/findings/{name}.json",
    log:
        notebook=OUT + "/logs/{name}.ipynb",  # stays, with its error, when the notebook fails
    params:
        yaml=lambda wildcards: yaml.safe_dump(PARAMETERS[wildcards.name]),
    threads: 1
    shell:
        "papermill --no-progress-bar --log-level WARNING -y {params.yaml:q}"
        " {input.notebook:q} {log.notebook:q}"
        " && cp {log.notebook:q} {output.notebook:q}"


rule page:
    input:
        OUT + "/notebooks/{name}.ipynb",
    output:
        OUT + "/pages/{name}.html",
    params:
        folder=OUT + "/pages",
    shell:
        "jupyter nbconvert --log-level WARN --to html --output-dir {params.folder:q} {input:q}"


rule index:
    input:
        pages=expand(OUT + "/pages/{name}.html", name=NOTEBOOKS),
        findings=expand(OUT + "/findings/{name}.json", name=NOTEBOOKS),
        template="helpers/index.html.jinja",
    output:
        f"{OUT}/index.html",
    params:
        folder=OUT,
    shell:
        "python -m helpers.pages {params.folder:q}"
