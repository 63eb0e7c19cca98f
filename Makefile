# Plain `make` prints the targets. Every target sets up what it needs; the logic is in lib/katayori_tools.
SHELL := /bin/sh
BIN := .venv/bin
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
export PYTHONPATH :=
# Else each of the many processes of a run would compile every library anew, half of what its start takes.
unexport PYTHONDONTWRITEBYTECODE

# Of a home that cannot be written, as in a container with --user, others make an error or a warning; what they
# would put there lies in this folder. The program finds a place for its own cache (paths.cache_dir).
ifneq ($(shell [ -w "$$HOME" ] && echo yes),yes)
export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export MPLCONFIGDIR ?= $(CURDIR)/.cache/matplotlib
export IPYTHONDIR ?= $(CURDIR)/.cache/ipython
export JUPYTER_CONFIG_DIR ?= $(CURDIR)/.cache/jupyter/config
export JUPYTER_DATA_DIR ?= $(CURDIR)/.cache/jupyter/data
endif

# A mistyped variable (PAPER=) must not be ignored in silence.
VARIABLES := PYTHON PAPERS PROFILE MODELS PROMPTS LIMIT ENGINE BASE_URL LABEL FRESH BUDGET MAX_TOKENS A B RUNS LOG RESULT SAVE KATAYORI_LANG ARGS
GIVEN := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v))
ifneq ($(filter-out $(VARIABLES) MAKE% -%,$(GIVEN)),)
$(error unknown variable $(filter-out $(VARIABLES) MAKE% -%,$(GIVEN)); valid: $(VARIABLES))
endif
ifneq ($(filter-out en ja,$(value KATAYORI_LANG)),)
$(error unknown language KATAYORI_LANG=$(value KATAYORI_LANG); valid: en ja)
endif

# What a variable holds is data: make expands nothing in it, and the shell of a recipe reads it from the
# environment ("$$LOG"), so that quotes, $ and line ends reach the program as they are.
$(foreach v,$(VARIABLES),$(if $(filter-out undefined,$(origin $v)),$(eval override $v := $$(value $v))$(eval export $v)))
option = $${$1:+--$2="$$$1"}

# An existing .venv serves as its own Python unless another is asked for.
export BOOT := $(or $(PYTHON),$(firstword $(wildcard $(BIN)/python) python3))
OPTIONS = $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(call option,MODELS,models) \
  $(call option,PROMPTS,prompts) $(call option,LIMIT,limit)
SERVER = $(call option,BASE_URL,base-url) $(call option,LABEL,label)
FRESHLY = $(if $(filter-out 0,$(FRESH)),--fresh)
ASKING = $(OPTIONS) $(call option,ENGINE,engine) $(SERVER) $(FRESHLY)
KATAYORI = @$(BIN)/python -m katayori
# Scripts of a folder, those that ARGS names or all, one after another; nothing runs if a name is wrong.
scripts = $(basename $(notdir $(filter-out $1/_%,$(sort $(wildcard $1/*.py)))))
define RUN
@set -f; \
for one in $$ARGS; do case ' $(call scripts,$1) ' in *" $$one "*) ;; *) \
  printf 'katayori: no script %s in $1; there are: $(call scripts,$1)\n' "$$one" | { $(TOLD); } >&2; exit 2;; esac; done; \
failed=0; for one in $${ARGS:-$(call scripts,$1)}; do \
  echo "== $$one"; $(BIN)/python "$1/$$one.py" || failed=1; done; exit $$failed
endef
# Options in words, split as a shell splits them; the program does it (cli), so that nothing in them is run.
WORDS = $(call option,ARGS,args)

# Lines of make itself, in the reader's language.
TOLD = if [ "$$KATAYORI_LANG" = ja ] && [ -x $(BIN)/python ]; then $(BIN)/python -c \
  'import signal, sys; from katayori.language import print_in_language as p; p(); signal.signal(signal.SIGPIPE, signal.SIG_DFL); \
  [print(s, end="") for s in sys.stdin]'; else cat; fi

help:  ## print this list
	@{ sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-20s%s\n", $$1, $$2 }'; \
	  echo 'variables: PAPERS= PROFILE= MODELS= PROMPTS=<folder> LIMIT= ENGINE= BASE_URL= LABEL= FRESH=1 BUDGET= MAX_TOKENS= A= B= RUNS= LOG= RESULT= SAVE= PYTHON= KATAYORI_LANG=ja ARGS='; } | $(TOLD)

setup:  ## make .venv from the hash lock (Python >= 3.11 and a package registry)
	@"$$BOOT" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  printf 'katayori: %s is missing or older than Python 3.11; name one: make setup PYTHON=python3.12\n' "$$BOOT" >&2; exit 2; }
	@PYTHONPATH=lib "$$BOOT" -m katayori_tools.environment setup

reproduce: setup  ## run the notebooks into outputs/<profile>/ (PAPERS= PROFILE= MODELS= PROMPTS= LIMIT=)
	$(KATAYORI) reproduce $(OPTIONS) $(SERVER) $(WORDS)

# One worker more than cores, since some tests wait for browsers and kernels; a module or a notebook
# stays whole, the longest come first (conftest.py).
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = @OMP_NUM_THREADS=1 PYTHONHASHSEED=0 $(BIN)/python -m pytest -c lib/pyproject.toml --rootdir .
PARALLEL = -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
# Rules and their exceptions stand in lib/pyproject.toml.
LINTED = --config lib/pyproject.toml lib notebooks data/simulated
TYPES = $(BIN)/python -m mypy --config-file lib/pyproject.toml --no-error-summary lib/katayori lib/katayori_tools data/simulated
NBVAL = --nbval --nbval-current-env --nbval-cell-timeout 1200 \
  --nbval-sanitize-with lib/tests/nbval_sanitize.cfg lib/tests $(NOTEBOOKS)

gates: setup  ## layout, lint and types of library, tools, tests and notebooks
	@$(BIN)/ruff format --quiet --check $(LINTED)
	@$(BIN)/ruff check --quiet --output-format concise $(LINTED)
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then $(TYPES); \
	  else echo 'gates: types are checked under Python 3.11 only, where numpy is the one they are written for' >&2; fi

# In two processes: each imports everything once more.
check: gates  ## gates and what finds a break in a minute
	$(PYTEST) -q -n 2 --dist loadfile -m 'quick and not slow' lib/tests

test: reproduce gates  ## gates, all tests but the slowest, each notebook against its outputs (PAPERS=01: one paper's)
	$(PYTEST) $(PARALLEL) -m 'not slow_all' $(call option,PAPERS,papers) $(NBVAL)

test-all: reproduce gates  ## as test, with what is too slow for every run (before an issue is closed)
	$(PYTEST) $(PARALLEL) $(NBVAL)

# The plugin asks the network for news of its makers.
ANNOUNCEMENTS = @jupyterlab/apputils-extension:announcements
lab: setup  ## open JupyterLab on copies of the notebooks in outputs/work
	$(KATAYORI) copies
	@grep -qs $(ANNOUNCEMENTS) .venv/etc/jupyter/labconfig/page_config.json || \
	  $(BIN)/python -m jupyterlab.labextensions disable --level=sys_prefix $(ANNOUNCEMENTS)
	@set -f; lang="$${KATAYORI_LANG#en}"; \
	  $(BIN)/python -m jupyterlab --ServerApp.root_dir=. --LabApp.default_url="/lab/tree/outputs/$${lang:+$$lang/}work" $$ARGS

data: setup  ## fetch every data set that can be downloaded and list the state of all
	$(KATAYORI) data $(WORDS)

record: setup  ## ask models the study prompts, keep the answers in data/recorded; goes on where it ended
	$(KATAYORI) record $(call option,PAPERS,papers) $(call option,MODELS,models) $(call option,LIMIT,limit) \
	  $(call option,ENGINE,engine) $(call option,BASE_URL,base-url) $(WORDS)

live: setup  ## ask a model of yours now and run the notebooks on its answers (MODELS= BASE_URL= LABEL= LIMIT=)
	$(KATAYORI) live $(ASKING) $(call option,BUDGET,budget) $(call option,MAX_TOKENS,max-tokens) $(WORDS)

estimate: setup  ## requests, tokens, time and cost of a run, asking nothing; after a pilot, how many to ask (ARGS="--pilot recorded")
	$(KATAYORI) estimate $(ASKING) $(call option,MAX_TOKENS,max-tokens) $(WORDS)

batch: setup  ## requests as files for batch services and clusters (MODELS= ARGS="export FOLDER", then ARGS="import FOLDER")
	$(KATAYORI) batch $(ASKING) $(WORDS)

convert: setup  ## logs of inspect_ai or lm-evaluation-harness as answers (PAPERS= MODELS= ARGS="LOG ANSWERS.jsonl")
	$(KATAYORI) convert $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(call option,MODELS,models) \
	  $(call option,PROMPTS,prompts) $(WORDS)

.PHONY: harness
harness: setup  ## our benchmarks as tasks of inspect_ai and lm-eval (PAPERS= PROMPTS= LIMIT=)
	$(KATAYORI) harness $(call option,PAPERS,papers) $(call option,PROMPTS,prompts) $(call option,LIMIT,limit) $(WORDS)

analyse: setup  ## somebody else's log with our denominators and tests (LOG=my.eval ARGS="--kind bbq --dialects")
	$(KATAYORI) analyse "$$LOG" $(WORDS)

compare: setup  ## two runs or two models, headlines first (A= B=), or the headlines of any number as one table (RUNS="a b c")
	$(KATAYORI) compare $(if $(RUNS),--runs="$$RUNS","$$A" "$$B") $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(WORDS)

.PHONY: trace
trace: setup  ## the raw answers behind a row of results.json, by number or words (RESULT= PAPERS= PROFILE= MODELS= LIMIT= SAVE=)
	$(KATAYORI) trace "$$RESULT" $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(call option,MODELS,models) \
	  $(call option,LIMIT,limit) $(SERVER) $(call option,SAVE,save) $(WORDS)

.PHONY: expect
expect: reproduce  ## write data/expected anew from the default run and show what changed (PAPERS=)
	$(KATAYORI) expect $(call option,PAPERS,papers) $(WORDS)

site: setup  ## a run as pages to read, without a server or a network (PROFILE= MODELS= RUNS="others beside it")
	@PYTHONPATH=lib $(BIN)/python -m katayori_tools.environment setup-site
	$(KATAYORI) site $(call option,PROFILE,profile) $(call option,MODELS,models) $(call option,RUNS,runs) $(WORDS)

.PHONY: export
export: setup  ## a run as Every Eval Ever, RO-Crate, Croissant, CodeMeta (PAPERS= PROFILE= MODELS=)
	$(KATAYORI) export $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(call option,MODELS,models) $(WORDS)

doctor: setup  ## what works on this machine, and the remedy for what does not
	$(KATAYORI) doctor $(WORDS)

bench: setup  ## run the benchmarks, one after another
	$(call RUN,lib/benchmarks)

nb: setup  ## execute the committed notebooks in place on their default parameters
	$(KATAYORI) nb $(call option,PAPERS,papers) $(WORDS)

.PHONY: review
review: setup  ## a form for readers of the Japanese items in outputs/review (PAPERS=; ARGS="--read FILE..."; ARGS=--messages: of the Japanese texts)
	$(KATAYORI) review $(call option,PAPERS,papers) $(WORDS)

.PHONY: slides
slides: setup  ## a talk of each notebook in outputs/slides, one HTML file each (PAPERS= PROFILE= MODELS=)
	$(KATAYORI) slides $(call option,PAPERS,papers) $(call option,PROFILE,profile) $(call option,MODELS,models) $(WORDS)

simulate: setup  ## run the scripts of data/simulated, half an hour on an idle core (ARGS="power verdicts": some)
	$(call RUN,data/simulated)

lock: setup  ## resolve the dependencies anew into lib/requirements.lock and environment.yml
	@PYTHONPATH=lib $(BIN)/python -m katayori_tools.environment lock

clean:  ## remove run folders and tool caches (recordings, downloads and .venv stay)
	@find outputs -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} +
	@rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis lib/.pytest_cache lib/.ruff_cache lib/.hypothesis

.PHONY: help setup reproduce gates check test test-all lab data record live estimate batch convert analyse compare site doctor bench nb simulate lock clean
.DEFAULT_GOAL := help
