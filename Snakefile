"""Which notebook runs with which parameters, and what that makes. See GUIDE.md, "Sweeps"."""

import logging
import os
import sys
from pathlib import Path

import yaml

from helpers import store
from helpers import workflow as planning

FOLDER = Path("notebooks")

try:  # refused here, before anything runs
    RUN, PARAMETERS = planning.plan(config, FOLDER)
except ValueError as error:
    raise WorkflowError(f"The configuration was refused, nothing ran:\n{error}") from None
OUT = os.path.relpath(store.outputs() / RUN)  # whatever the folders above are called
NOTEBOOKS = list(PARAMETERS)
# for your own images and networks; where there are fewer notebooks than cores, each gets several
THREADS = max(1, (workflow.resource_settings.cores or 1) // len(NOTEBOOKS))
# of a first run; the longest begin first, so that no core is left waiting for one at the end
SECONDS = yaml.safe_load((store.root() / "data/seconds.yml").read_text())
# that a notebook failed, and where its error is, says the rule; not its whole command line
logging.getLogger("snakemake.logging").addFilter(
    lambda record: "CalledProcessError" not in str(record.msg)
)


rule all:
    input:  # each of them, not the index alone: `onerror` writes it, too
        expand(OUT + "/notebooks/{name}.ipynb", name=NOTEBOOKS),
        f"{OUT}/index.html",


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        code=sorted(str(path) for package in ("helpers", "synthetic") for path in Path(package).rglob("*.py")),
        paper=sorted(map(str, Path("data/paper").glob("*.csv"))),
    output:
        notebook=OUT + "/notebooks/{name}.ipynb",
    log:
        notebook=OUT + "/logs/{name}.ipynb",  # stays, with its error, when the notebook fails
    params:
        findings=OUT + "/findings/{name}.json",  # those of an earlier run go first
        yaml=lambda wildcards: yaml.safe_dump(PARAMETERS[wildcards.name]),
        inputs=lambda wildcards: planning.input_digest(PARAMETERS[wildcards.name]),
    threads: THREADS
    priority: lambda wildcards: SECONDS.get(wildcards.name, 0)
    shell:
        "echo {wildcards.name:q}: started; rm -f {params.findings:q};"
        " stopped() {{ echo {wildcards.name:q}: stopped; exit 130; }}; trap stopped INT;"
        " TQDM_DISABLE=1 SUITE_THREADS={threads} {sys.executable:q} -m helpers.run_lesson --no-progress-bar --log-level ERROR"
        " -y {params.yaml:q} {input.notebook:q} {log.notebook:q} 2>&1"
        # what the cell said, without papermill's own frames
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
    output:
        f"{OUT}/index.html",
    shell:
        "{sys.executable:q} -m helpers.site {OUT:q}"


onerror:  # what there is can be read, and what failed is named
    if any(Path(OUT).glob("*/*.ipynb")):
        shell("{sys.executable:q} -m helpers.site {OUT:q} || true")
    print("What is done is kept: the same command goes on from there.")
