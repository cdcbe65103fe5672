# Each target does its own set-up in .venv; needs only git, make and Python 3.11 or later.
# Another interpreter: make setup PYTHON=/path/to/python

PYTHON ?= python3.13 python3.12 python3.11 python3
JOBS ?= 2
VENV := .venv
READY := $(VENV)/.ready
RUN := $(VENV)/bin/python -m
PIP := $(RUN) pip install --no-input --disable-pip-version-check --no-deps -qq

# Tests and benchmarks start many short processes: let these cache their bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test lint bench lock clean

help:
	@echo "make demo    build the example project (flights) and show its status"
	@echo "make test    ruff, mypy, pytest and the doctests"
	@echo "make lint    ruff and mypy only"
	@echo "make bench   the scripts in tests/bench"
	@echo "make setup   only install into $(VENV)"
	@echo "make lock    pin the newest versions in requirements.lock (needs uv)"
	@echo "make clean   remove what these targets made, and $(VENV)"

setup: $(READY)

demo: $(READY)
	$(VENV)/bin/partwise seed
	@$(VENV)/bin/partwise show --inline "select distinct dest from {{ ref('flights') }} order by 1" --limit 0 --output csv \
	    | tail -n +2 | $(VENV)/bin/partwise partitions add destinations -
	$(VENV)/bin/partwise run
	$(VENV)/bin/partwise status

test: lint
	$(RUN) pytest -n $(JOBS)

lint: $(READY)
	$(RUN) ruff check --quiet
	$(RUN) mypy --strict framework/partwise

bench: $(READY)
	@set -e; for script in tests/bench/[a-z]*.py; do echo "== $$script"; $(VENV)/bin/python "$$script"; done

lock:
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-annotate \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) target build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis framework/*.egg-info
	find framework tests -name __pycache__ -type d -prune -exec rm -rf {} +

# An existing environment is brought up to date; one that does not work is replaced.
# Candidates are run, not looked up: a version manager's shim can be on PATH for a Python it does not have.
$(READY): requirements.lock pyproject.toml
	@set -e; \
	if ! $(RUN) pip --version >/dev/null 2>&1; then \
	    for python in $(PYTHON) none; do \
	        if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	    done; \
	    if [ "$$python" = none ]; then \
	        echo "error: no Python 3.11 or later among: $(PYTHON)" >&2; \
	        echo "hint: install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; \
	        exit 1; \
	    fi; \
	    echo "setting up $(VENV) with `$$python --version`" >&2; \
	    "$$python" -m venv --clear $(VENV); \
	fi
	@$(PIP) -r requirements.lock
	@$(PIP) --no-build-isolation -e .
	@touch $@
