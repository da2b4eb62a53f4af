# The words a person types. Everything happens in .venv, which the first of them makes.
#
#   make run         every notebook on the embedded world -> outputs/demo/index.html
#   make run CONFIG=my.yml       the same with your parameters (GUIDE.md, "Your own images")
#   make test        every test: units, guards, and each notebook cell by cell
#   make seeds       LESSONS="03 09" (default: all) with SEEDS="0 1 2 3 4 5 6 7": which verdicts
#                    differ; they are recorded in data/seeds.csv, and those that are there are not run;
#                    SEEDS="0 9" sets a new seed beside the recorded ones
#   make pages       the site of the stored notebooks, nothing is run -> outputs/stored/index.html
#   make picture     README's findings and its picture, from the stored lessons
#   make sweep       every method in many worlds at five doses of planted bias -> outputs/sweep/
#   make audit TABLE=predictions.csv   your own predictions -> outputs/audit/predictions/page.html
#   make audit-table                   the same of a made-up table, with the truth at its end
#   make audit MODEL=resnet18 IMAGES=photos/ CONTEXTS=places/ [WEIGHTS=mine.pt START=before.pt]   your own network
#   make audit-model                   the same of a network of the drawn world
#   make audit LABELS=labels.json PREDICTIONS=found.json [ATTRIBUTES=boxes.csv]   your own detector
#   make audit-detector                the same of a detector of drawn streets
#   make lab         JupyterLab on copies of the notebooks, in outputs/lab/
#   make class NAME=seat07       JupyterLab on copies without the solutions, outputs/class/seat07/
#   make exercises NAME=seat07   these copies alone
#   make notebooks   run the stored notebooks anew, in place
#   make export      modules from the cells that lessons mark for it
#   make bench       speed, as ratios in one run; ONLY=focus for a part
#   make test-other-processor   the same bits on emulated processors
#   make lock        resolve requirements.lock anew from pyproject.toml
#
#   PYTHON=python3.12  which Python makes .venv      TORCH=cpu  a torch without CUDA (Linux)
#   PRESET=paper       the authors' data, full size   CORES=4    how many jobs side by side
#   EXECUTOR=slurm     run and sweep on a cluster, JOBS=15 at a time (cluster-generic: any other)

PYTHON ?= python3
PRESET ?= demo
CONFIG ?=
SEEDS ?= 0 1 2 3 4 5 6 7
LESSONS ?=
NAME ?= seat01
EXECUTOR ?=
JOBS ?= 15
TORCH ?=
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
SHELL := /bin/bash
BIN := .venv/bin
UV := $(BIN)/uv pip
READY := .venv/ready
WITHOUT_CUDA = --torch-backend cpu --no-verify-hashes -c requirements.lock '.[test,cluster,setup]'
OFFLINE = || { echo "the packages could not be loaded: this machine needs a network once, and 8 GB of disk; then the same command again"; exit 1; }
export PATH := $(CURDIR)/$(BIN):$(PATH)
quoted = '$(subst ','\'',$(1))'
# what is not asked of a run is what the notebooks say: the demo
FILES := $(if $(filter-out demo,$(PRESET)),sweeps/$(PRESET).yml,) $(if $(CONFIG),$(call quoted,$(CONFIG)),)
# a cluster's jobs find this folder under the same path; a job that was lost is submitted again
WHERE = $(if $(EXECUTOR),--executor $(EXECUTOR) --jobs $(JOBS) --retries 2,--cores $(CORES))
CONFIGS := $(if $(strip $(FILES)),--configfile $(FILES),)
# where the home folder cannot be written to, Jupyter and Snakemake need another
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export HOME := $(CURDIR)/outputs/home
$(shell mkdir -p $(call quoted,$(HOME)))
endif
# torch and the rest are compiled to bytecode once, not at every start
export PYTHONDONTWRITEBYTECODE :=
# what a map of a large image takes and frees is kept for the next one, not fetched from the system anew
run test test-fast sweep seeds: export GLIBC_TUNABLES := glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296

.DEFAULT_GOAL := help
help:  # what `make` alone prints
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile

.PHONY: help run pages picture sweep seeds test test-fast test-other-processor lab audit audit-model audit-table audit-detector exercises class notebooks bench export lock setup lint

setup: $(READY)
ifeq ($(TORCH),cpu)
	@! ls -d .venv/lib/*/site-packages/nvidia >/dev/null 2>&1 || { \
	  echo "the torch in .venv is one with CUDA: rm -rf .venv, then make setup TORCH=cpu"; exit 1; }
endif

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else \
	  "Python 3.11, 3.12 or 3.13 is needed and %s is %d.%d: try make PYTHON=python3.12" % (sys.executable, *v))'
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
	  echo "$(PYTHON) cannot make a virtual environment: apt-get install python3-venv"; exit 1; }
	@echo "installing the locked requirements into .venv ($(if $(filter cpu,$(TORCH)),without CUDA,about 6 GB with CUDA); minutes, once)"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock $(OFFLINE)
	@$(UV) install --quiet --python .venv $(if $(filter cpu,$(TORCH)),$(WITHOUT_CUDA),--require-hashes -r requirements.lock) $(OFFLINE)
	@$(UV) install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

# Every file a job writes appears whole or not at all, so a run that was killed needs no unlocking.
run: $(READY)
	@python -m snakemake $(WHERE) --nolock --rerun-incomplete --keep-going --quiet rules host reason $(CONFIGS)

pages: $(READY)
	@rm -rf outputs/stored && mkdir -p outputs/stored/notebooks && cp notebooks/*.ipynb outputs/stored/notebooks/
	@python -m helpers.site outputs/stored

picture: $(READY)
	@python tests/front.py

sweep: $(READY)
	@python -m snakemake --snakefile sweeps/context_bias.smk $(WHERE) --nolock --rerun-incomplete --keep-going \
	  --quiet rules host reason $(CONFIGS)

seeds: $(READY)
	@python -m sweeps.seeds --cores $(CORES) --seeds $(SEEDS) $(if $(strip $(LESSONS)),--lessons $(LESSONS),)

# tests and runs share one store of trained networks, named by all that decides them
STORE := mkdir -p outputs/models outputs/test && { test -L outputs/test/models \
  || { rm -rf outputs/test/models && ln -s ../models outputs/test/models; }; }

test: $(READY) lint
	@$(STORE)
	@SUITE_OUTPUTS=$(call quoted,$(CURDIR)/outputs/test) python -m pytest -n $(CORES) --dist loadscope --no-loadscope-reorder --nbval notebooks tests

# What the suite computes has the same bits on emulated processors (qemu-user; four minutes each).
test-other-processor: $(READY)
	@python tests/kernels.py EPYC-Rome Haswell

test-fast: $(READY)
	@$(STORE)
	@SUITE_OUTPUTS=$(call quoted,$(CURDIR)/outputs/test) python -m pytest -n $(CORES) --dist loadscope -m "not slow and not real" tests

export: $(READY)
	@python -m helpers.suite.export

lint: $(READY)
	@python -m ruff check --quiet . && python -m ruff format --check --quiet .

# ASK="..." says what the arguments do not: --sensitive race,sex --positive yes of tables, --groups time,weather
# --frames images/ of detectors; visual-bias audit --sample table --help, and model, and detector, list all
option = $(if $(strip $(2)),--$(1) $(call quoted,$(2)))
audit: $(READY)
	@visual-bias audit $(call option,table,$(TABLE)) $(call option,model,$(MODEL)) $(call option,images,$(IMAGES)) \
	  $(call option,contexts,$(CONTEXTS)) $(call option,weights,$(WEIGHTS)) $(call option,groups,$(GROUPS)) \
	  $(call option,start,$(START)) $(call option,trained,$(TRAINED)) $(call option,classes,$(CLASSES)) $(call option,labels,$(LABELS)) $(call option,predictions,$(PREDICTIONS)) $(call option,attributes,$(ATTRIBUTES)) $(ASK)

audit-model audit-detector audit-table: audit-%: $(READY)
	@visual-bias audit --sample $* $(ASK)

# copies: opening, saving and exercising never change the stored notebooks
lab: $(READY)
	@TQDM_DISABLE=1 python -m helpers.suite.notebooks copy outputs/lab --solved
	@python -m jupyterlab $(ROOT) outputs/lab/00_start_here.ipynb

# a class needs no CUDA, wherever it is installed first
exercises class: TORCH := cpu
# in a container one is root
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

exercises: $(READY)
	@TQDM_DISABLE=1 python -m helpers.suite.notebooks copy $(call quoted,outputs/class/$(NAME))

class: exercises
	@python -m jupyterlab $(ROOT) $(call quoted,outputs/class/$(NAME)/00_start_here.ipynb)

# these show what the other lessons are stored with, so they come last
notebooks: LAST := $(patsubst %,notebooks/%.ipynb,06_focus_rating 08_icon2 01_datasets 00_start_here)
notebooks: $(READY)
	@python -m helpers.suite.notebooks execute $(filter-out $(LAST),$(wildcard notebooks/*.ipynb)) $(LAST)

bench: $(READY)
	@TQDM_DISABLE=1 python tests/benchmarks/bench.py $(ONLY)

lock: $(READY)
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --extra test --extra cluster --extra setup --upgrade --quiet pyproject.toml -o requirements.lock
	@$(MAKE) --no-print-directory environment.yml

environment.yml: requirements.lock
	@{ sed '/^  - pip:/q' $@; sed -n 's/^\([a-z0-9].*==.*[^ ]\) *\\$$/      - "\1"/p' $<; echo '      - -e .'; } > $@.new && mv $@.new $@
