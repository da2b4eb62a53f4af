"""Which notebook runs with which parameters, and what that makes. See README, "Sweeps"."""

from pathlib import Path

import yaml

from helpers import parameters, preflight, project

PRESET = config.get("preset", "demo")
RUN = str(config.get("run", PRESET))
NOTEBOOKS = config.get("notebooks") or sorted(p.stem for p in Path("notebooks").glob("0[1-9]_*.ipynb"))
if isinstance(NOTEBOOKS, str):
    NOTEBOOKS = NOTEBOOKS.split(",")
GIVEN = {"preset": PRESET, "output": RUN, **(config.get("parameters") or {})}
OUT = str(project.outputs() / RUN)

try:  # refused here, before anything runs
    preflight.known_keys(config, ["preset", "run", "notebooks", "parameters"])
    # a parameter that another notebook has may stay in the file when only some notebooks run
    EVERY = sorted({*NOTEBOOKS, *(p.stem for p in Path("notebooks").glob("0[1-9]_*.ipynb"))})
    PARAMETERS = parameters.shared([f"notebooks/{name}.ipynb" for name in EVERY], GIVEN)
    preflight.check_inputs(GIVEN)
    if GIVEN.get("source") == "folder":
        NOTEBOOKS = preflight.fitting(NOTEBOOKS, GIVEN)
except (parameters.ParameterError, OSError, ValueError) as error:
    raise WorkflowError(f"refused before anything ran:\n{error}") from None


rule all:
    input:
        f"{OUT}/index.html",


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        code=sorted(map(str, Path("helpers").rglob("*.py"))),
        paper=sorted(map(str, Path("data/paper").glob("*.csv"))),
        others=lambda wildcards: [
            f"{OUT}/findings/{name}.json"
            for name in NOTEBOOKS
            if preflight.reads_findings(wildcards.name) and not preflight.reads_findings(name)
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
        " papermill --no-progress-bar --log-level WARNING -y {params.yaml:q}"
        " {input.notebook:q} {log.notebook:q} 2> >(grep -v '^.IPKernelApp' >&2)"
        " || {{ echo '{wildcards.name}: FAILED; its cells, with the error, are in {log.notebook}'; exit 1; }};"
        " cp {log.notebook:q} {output.notebook:q}.part"
        " && mv {output.notebook:q}.part {output.notebook:q}"
        " && echo \"{wildcards.name}: done in $SECONDS s\""


rule page:
    input:
        notebook=OUT + "/notebooks/{name}.ipynb",
        template="helpers/templates/page/index.html.j2",
    output:
        OUT + "/pages/{name}.html",
    params:
        folder=OUT + "/pages",
    shell:
        "jupyter nbconvert --log-level WARN --to html --template page"
        " --TemplateExporter.extra_template_basedirs=helpers/templates"
        " --output-dir {params.folder:q} {input.notebook:q}"


rule index:
    input:
        pages=expand(OUT + "/pages/{name}.html", name=NOTEBOOKS),
        findings=expand(OUT + "/findings/{name}.json", name=NOTEBOOKS),
        template="helpers/templates/index.html.jinja",
    output:
        f"{OUT}/index.html",
    params:
        folder=OUT,
    shell:
        "python -m helpers.pages {params.folder:q}"


onerror:
    if list(Path(OUT).glob("notebooks/*.ipynb")):  # what there is can be read
        shell("python -m helpers.pages {OUT:q}")
