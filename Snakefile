"""Execute the notebooks of a run with their parameters, and build its site. See GUIDE.md."""

import logging
import os
import sys
from pathlib import Path

import yaml

from helpers import store
from helpers import workflow as planning

FOLDER = Path("notebooks")

try:  # a wrong configuration is refused before anything runs
    RUN, PARAMETERS = planning.plan(config, FOLDER)
except ValueError as error:
    raise WorkflowError(f"The configuration is wrong, and nothing was run:\n{error}") from None
# a relative path, so that the names of the folders above do not matter
OUT = os.path.relpath(store.outputs() / RUN)
NOTEBOOKS = list(PARAMETERS)
CORES = workflow.resource_settings.cores or 1
# durations of a first run: the longest notebooks start first, so that cores end together
SECONDS = yaml.safe_load((store.root() / "data/seconds.yml").read_text())
# the rule itself says that a notebook failed, so Snakemake need not print the command line
logging.getLogger("snakemake.logging").addFilter(
    lambda record: "CalledProcessError" not in str(record.msg)
)

CODE = sorted(map(str, [*Path("helpers").rglob("*.py"), *Path("synthetic").rglob("*.py")]))


rule all:
    input:  # all notebooks, because `onerror` writes the index too
        expand(OUT + "/notebooks/{name}.ipynb", name=NOTEBOOKS),
        f"{OUT}/index.html",


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        code=CODE,
        paper=sorted(map(str, Path("data/paper").glob("*.csv"))),
    output:
        notebook=OUT + "/notebooks/{name}.ipynb",
    log:
        notebook=OUT + "/logs/{name}.ipynb",  # kept with its error if the notebook fails
    params:
        findings=OUT + "/findings/{name}.json",  # those of an earlier run are removed first
        yaml=lambda wildcards: yaml.safe_dump(PARAMETERS[wildcards.name]),
        inputs=lambda wildcards: planning.input_digest(PARAMETERS[wildcards.name]),
    threads: lambda wildcards: planning.threads(PARAMETERS[wildcards.name], CORES)
    priority: lambda wildcards: SECONDS.get(wildcards.name, 0)
    shell:
        "echo {wildcards.name:q}: started; rm -f {params.findings:q};"
        " stopped() {{ echo {wildcards.name:q}: stopped; exit 130; }}; trap stopped INT;"
        " TQDM_DISABLE=1 SUITE_THREADS={threads} {sys.executable:q} -m helpers.run_lesson --no-progress-bar --log-level ERROR"
        " --autosave-cell-every 1"  # the log shows what a long cell has printed so far
        " -y {params.yaml:q} {input.notebook:q} {log.notebook:q} 2>&1"
        # remove papermill's own frames from the traceback
        " | sed -e '/^Traceback (most recent/d' -e '/^  File /,/^    /d' -e '/^ *[~^][~^]*$/d' >&2"
        " || {{ echo {wildcards.name:q}: FAILED, and its cells, with the error, are in {log.notebook:q};"
        " test -f {params.findings:q}"
        " && echo {wildcards.name:q}: its findings had been judged and are kept; exit 1; }};"
        " cp {log.notebook:q} {output.notebook:q}.part"
        " && mv {output.notebook:q}.part {output.notebook:q}"
        " && echo {wildcards.name:q}: done in $SECONDS s"


rule site:
    input:
        notebooks=expand(OUT + "/notebooks/{name}.ipynb", name=NOTEBOOKS),
        settings=sorted(map(str, Path("site").rglob("*.*"))),
        start=list(map(str, FOLDER.glob("00_start_here.ipynb"))),
        teaching=os.path.relpath(store.root() / "TEACHING.md"),
        guide=["GUIDE.md", *sorted(map(str, Path("guide").glob("*.md")))],
    output:
        f"{OUT}/index.html",
    shell:
        "{sys.executable:q} -m helpers.site {OUT:q}"


onerror:  # the site shows the finished notebooks and names those that failed
    if any(Path(OUT).glob("*/*.ipynb")):
        shell("{sys.executable:q} -m helpers.site {OUT:q} || true")
    print("Finished notebooks are kept. Run the same command again to continue from there.")
