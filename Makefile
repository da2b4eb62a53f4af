# The commands of this suite. They run in .venv, which the first command creates.
#
#   make run         every lesson -> outputs/demo/index.html; CONFIG=my.yml with your parameters
#   make test        every test, and each notebook cell by cell
#   make sweep CONFIG=my.yml     a lesson with every combination of some parameters -> outputs/sweep/
#   make seeds       lessons with eight seeds -> data/seeds.csv (LESSONS="03 09" SEEDS="0 1 2")
#   make audit-table DATA=loans.csv Y_PRED=decision GROUPS=sex,race             your own predictions
#   make audit-detector LABELS=labels.json DETECTIONS=found.json                your own detector
#   make audit-model NETWORK=resnet18 IMAGES=photos/ CONTEXTS=backgrounds/      your own network
#                    -> outputs/audit/; without variables, each audits a sample
#   make lab         JupyterLab on copies of the notebooks, in outputs/lab/
#   make class       the notebooks without solutions -> outputs/class/release/
#   make grade LESSON=03   what students handed in -> outputs/class/scores-03.csv
#   make pdf LESSON=03     a stored lesson as a handout -> outputs/pdf/03.pdf (needs Chromium)
#   make slides LESSON=02  slides of a stored lesson -> outputs/slides/02.slides.html
#   make bench       processor seconds compared with other libraries
#   make lock        resolve requirements.lock again from pyproject.toml
#
#   PYTHON=python3.12  which Python makes .venv      TORCH=cpu  a torch without CUDA (Linux)
#   PRESET=paper       the authors' data, full size   CORES=4    how many jobs run at once
#   EXECUTOR=slurm     run and sweep on a cluster, JOBS=15 at a time (guide/sweeps.md)

PYTHON ?= python3
PRESET ?= demo
CONFIG ?=
SEEDS ?=
LESSONS ?=
CLASS ?= outputs/class
EXECUTOR ?=
JOBS ?= 15
TORCH ?=
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
SHELL := /bin/bash
BIN := .venv/bin
UV := $(BIN)/uv pip
READY := .venv/ready
WITHOUT_CUDA = --torch-backend cpu --no-verify-hashes -c requirements.lock '.[test,cluster,gps,setup]'
OFFLINE = || { echo "The packages could not be loaded. The first command needs a network and 8 GB of disk. Then run it again."; exit 1; }
export PATH := $(CURDIR)/$(BIN):$(PATH)
quoted = '$(subst ','\'',$(1))'
# without a preset or a configuration, the parameters are those of the notebooks
FILES := $(if $(filter-out demo,$(PRESET)),sweeps/$(PRESET).yml,) $(if $(CONFIG),$(call quoted,$(CONFIG)),)
# options of Snakemake; options of a cluster go into a profile ($SNAKEMAKE_PROFILE)
WHERE = $(if $(EXECUTOR),--executor $(EXECUTOR) --jobs $(JOBS) --retries 2,--cores $(CORES))
CONFIGS := $(if $(strip $(FILES)),--configfile $(FILES),)
# if the home folder is not writable, Jupyter and Snakemake need another
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export HOME := $(CURDIR)/outputs/home
$(shell mkdir -p $(call quoted,$(HOME)))
endif
# torch and the rest are compiled to bytecode once, not at every start
export PYTHONDONTWRITEBYTECODE :=
# keep freed memory for the next large array, which is faster than to ask the system again
run test sweep seeds audit-table audit-detector audit-model: export GLIBC_TUNABLES := glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296

.DEFAULT_GOAL := help
help:  # printed by `make` without a target
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile

.PHONY: help setup run test sweep seeds audit-table audit-detector audit-model lab class grade pdf slides bench lock

setup: $(READY)
ifeq ($(TORCH),cpu)
	@! ls -d .venv/lib/*/site-packages/nvidia >/dev/null 2>&1 || { \
	  echo "The torch in .venv has CUDA. Run rm -rf .venv, and then make setup TORCH=cpu."; exit 1; }
endif

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else \
	  "Python 3.11, 3.12 or 3.13 is needed, but %s is %d.%d. Try make PYTHON=python3.12." % (sys.executable, *v))'
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
	  echo "$(PYTHON) cannot create a virtual environment. Run apt-get install python3-venv."; exit 1; }
	@echo "installing the locked requirements into .venv ($(if $(filter cpu,$(TORCH)),without CUDA,about 6 GB with CUDA); minutes, once)"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock $(OFFLINE)
	@$(UV) install --quiet --python .venv $(if $(filter cpu,$(TORCH)),$(WITHOUT_CUDA),--require-hashes -r requirements.lock) $(OFFLINE)
	@$(UV) install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

# A job renames a file when it is complete, so a run that was killed needs no unlocking.
SNAKEMAKE = $(WHERE) --nolock --rerun-incomplete --keep-going --quiet rules host reason
run: $(READY)
	@python -m snakemake $(SNAKEMAKE) $(CONFIGS)

sweep: $(READY)
	@python -m snakemake --snakefile sweeps/Snakefile $(SNAKEMAKE) $(CONFIGS)

seeds: $(READY)
	@python -m sweeps.seeds $(if $(strip $(SEEDS)),--seeds $(SEEDS)) $(if $(strip $(LESSONS)),--lessons $(LESSONS)) $(SNAKEMAKE)

# tests and runs share the trained networks in outputs/models
test: $(READY)
	@python -m ruff check --quiet . && python -m ruff format --check --quiet .
	@mkdir -p outputs/models outputs/test
	@test -L outputs/test/models || { rm -rf outputs/test/models && ln -s ../models outputs/test/models; }
	@SUITE_OUTPUTS=$(call quoted,$(CURDIR)/outputs/test) python -m pytest -n $(CORES) --dist loadscope --no-loadscope-reorder --nbval notebooks tests

# papermill runs the lesson of an audit; DATA=... sets its parameter `data`, and so on
LESSON_table := 13_audit_your_table
LESSON_detector := 12_audit_your_detector
LESSON_model := 11_audit_your_model
TEXTS_table := DATA Y_PRED Y_TRUE SCORE GROUPS STRATA POSITIVE REFERENCE SECOND
TEXTS_detector := LABELS DETECTIONS ATTRIBUTES GROUPS CLASSES SIZES CLUSTER SECOND
TEXTS_model := NETWORK IMAGES CONTEXTS WEIGHTS CLASSES TRAINED BEFORE DEVICE
NUMBERS_table := THRESHOLD LIMIT DRAWS SEED
NUMBERS_detector := THRESHOLD DRAWS RESAMPLES SEED
NUMBERS_model := SEED
# variables of the command line that the audit does not have, such as a misspelled one;
# an audit is one job, so CORES is accepted and changes nothing
known = $(TEXTS_$*) $(NUMBERS_$*) OUTPUT
unknown = $(filter-out $(known) PYTHON TORCH CORES,$(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name))))
given = $(foreach name,$(2),$(if $(filter command,$(origin $(name))),$(1) $(shell echo $(name) | tr A-Z a-z) $(call quoted,$($(name)))))
audit-table audit-detector audit-model: OUTPUT ?= audit/$(@:audit-%=%)
audit-table audit-detector audit-model: audit-%: $(READY)
	@$(if $(strip $(unknown)),echo "Unknown: $(strip $(unknown)). The variables are $(known)."; exit 1)
	@mkdir -p outputs/$(OUTPUT) && rm -f outputs/$(OUTPUT)/page.html
	@python -m helpers.run_lesson -r output $(OUTPUT) \
	  $(call given,-r,$(TEXTS_$*)) $(call given,-p,$(NUMBERS_$*)) notebooks/$(LESSON_$*).ipynb outputs/$(OUTPUT)/notebook.ipynb \
  && echo "The report is outputs/$(OUTPUT)/page.html"

# JupyterLab opens copies, so that your changes leave the stored notebooks unchanged
lab: $(READY)
	@mkdir -p outputs/lab
	@for notebook in notebooks/*.ipynb; do \
	  copy=outputs/lab/$$(basename $$notebook); test -e $$copy || cp $$notebook $$copy; done
	@python -m jupyterlab $(ROOT) outputs/lab/00_start_here.ipynb

# JupyterLab refuses root, who is the user in a container, without this option
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# nbgrader has its own environment; the lessons that it grades run in the suite's
NBGRADER := .venv-nbgrader
COURSE := $(call quoted,$(CLASS))
nbgrader = cd $(COURSE) && PYTHONWARNINGS=ignore PATH="$(CURDIR)/$(NBGRADER)/bin:$$PATH" nbgrader

$(NBGRADER)/ready: requirements-nbgrader.lock | $(READY)
	@$(PYTHON) -m venv --clear $(NBGRADER)
	@$(UV) install --quiet --python $(NBGRADER) --require-hashes -r requirements-nbgrader.lock $(OFFLINE)
	@python -m ipykernel install --prefix $(NBGRADER)
	@touch $@

class: $(NBGRADER)/ready
	@mkdir -p $(COURSE) && cp tools/nbgrader_config.py $(COURSE)
	@for notebook in notebooks/0[1-9]*.ipynb notebooks/1*.ipynb; do \
	  name=$$(basename $$notebook); lesson=$(COURSE)/source/$${name%%_*}; \
	  mkdir -p $$lesson && cp $$notebook $$lesson; done
	@$(nbgrader) generate_assignment "*" --force --log-level WARN
	@echo "The notebooks without solutions are in $(CLASS)/release."

grade: $(NBGRADER)/ready
	@test -d $(COURSE)/release/$(or $(LESSON),?) || { \
	  echo "Name one lesson of $(CLASS)/release, such as make grade LESSON=03."; exit 1; }
	@for notebook in $(COURSE)/submissions/*/$(LESSON)_*.ipynb; do \
	  student=$$(basename "$$(dirname "$$notebook")"); \
	  folder=$(COURSE)/submitted/"$$student"/$(LESSON); \
	  mkdir -p "$$folder" && cp "$$notebook" "$$folder"; done
	-@$(nbgrader) autograde $(LESSON) --create --force --log-level WARN
	@$(nbgrader) export --to scores-$(LESSON).csv --assignment "['$(LESSON)']" --log-level WARN
	@echo "The scores are in $(CLASS)/scores-$(LESSON).csv."

# the page of a stored lesson, printed without the bars of the site
pdf: $(READY)
	@test -n "$(LESSON)" || { echo "Name a lesson, for example make pdf LESSON=03."; exit 1; }
	@command -v chromium >/dev/null || { echo "make pdf needs Chromium. Run apt-get install chromium."; exit 1; }
	@python -m helpers.site >/dev/null && mkdir -p outputs/pdf
	@for page in outputs/stored/pages/$(LESSON)_*.html; do chromium --headless --no-sandbox --no-pdf-header-footer \
	  --print-to-pdf=outputs/pdf/$(LESSON).pdf "file://$(CURDIR)/$$page" 2>/dev/null || { \
	  echo "Chromium could not print the page $$page."; exit 1; }; done
	@echo "The handout is outputs/pdf/$(LESSON).pdf"

# cells whose slide type is "skip" are left out; the slides load reveal.js from the internet
slides: $(READY)
	@test -n "$(LESSON)" || { echo "Name a lesson, for example make slides LESSON=02."; exit 1; }
	@python -m nbconvert --to slides --no-input --log-level WARN \
	  --SlidesExporter.{reveal_number=c/t,reveal_scroll=True,reveal_width=1200,reveal_height=900} \
	  --output-dir outputs/slides --output $(LESSON) notebooks/$(LESSON)_*.ipynb
	@echo "The slides are outputs/slides/$(LESSON).slides.html"

bench: $(READY)
	@TQDM_DISABLE=1 python tests/benchmarks/bench.py

# later versions of jsonschema parse a grammar of web addresses, 2.5 s, wherever nbformat is loaded
lock: $(READY)
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --extra test --extra cluster --extra gps --extra setup --upgrade --quiet -c <(echo 'jsonschema<4.25') pyproject.toml -o requirements.lock
	@echo nbgrader | UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) compile --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --upgrade --quiet - -o requirements-nbgrader.lock
	@$(MAKE) --no-print-directory environment.yml

environment.yml: requirements.lock
	@{ sed '/^  - pip:/q' $@; sed -n 's/^\([a-z0-9].*==.*[^ ]\) *\\$$/      - "\1"/p' $<; echo '      - -e .'; } > $@.new && mv $@.new $@
