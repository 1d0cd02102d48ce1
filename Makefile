# Every target sets up what it needs in .venv; nothing but Python >= 3.10 (with venv), git and make is assumed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PACKS  ?= $(or $(SUPERPROTO_DATA),../shared/data)

.PHONY: help demo test test-extras hostile lowest lint docs docs-serve bench leaderboard clean
.DEFAULT_GOAL := help

help:            ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@ $(VENV)/.base

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,lint]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@ $(VENV)/.base

# torch==2.13.0 first where it is to be had: a plain range may take a build with several GB of GPU libraries.
$(VENV)/.extras: $(VENV)/.test
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0 array-api-compat || echo "no CPU torch here: its tests will skip"
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,tune,frames,scale,images,pictures]'
	$(BIN)/pip install --quiet --disable-pip-version-check playwright || echo "no playwright here: the tests in a browser will skip"
	@touch $@

demo: $(VENV)/.base      ## recognize digits that were never shown; leaves a report to open
	$(BIN)/superproto demo

test: $(VENV)/.test      ## the test suite, without optional packages
	$(BIN)/python -m pytest $(ARGS)

test-extras: $(VENV)/.extras ## the tests of the optional packages
	$(BIN)/python -m pytest -m extra $(ARGS)

hostile: $(VENV)/.extras ## the long form of the tests with damaged and forged files (about half an hour)
	SUPERPROTO_HOSTILE=50 $(BIN)/python -m pytest tests/hostile -o timeout=3600 $(ARGS)

# Python 3.11 is the oldest that has wheels of all of them.
lowest: $(BIN)/python    ## the hostile tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)/lowest
	$(VENV)/lowest/bin/pip install --quiet --disable-pip-version-check -r tests/hostile/lowest.txt
	PYTHONPATH=$(CURDIR)/src $(VENV)/lowest/bin/python -m pytest tests/hostile tests/pictures/test_hostile_pictures.py $(ARGS)

lint: $(VENV)/.lint      ## formatting, types, layers, spelling, sentence length, generated numbers
	$(BIN)/ruff check src tests docs/hooks
	$(BIN)/ruff format --check src tests docs/hooks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs src
	$(BIN)/python docs/hooks/readability.py
	$(BIN)/superproto research docs --check

# NO_MKDOCS_2_WARNING: no advertisement of another program in the output.
docs: $(VENV)/.docs      ## the documentation site, into site/; a broken link or anchor is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.docs ## show the site at http://127.0.0.1:8000 and follow changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: $(VENV)/.extras   ## timings, as ratios measured in one run
	$(BIN)/superproto research speed --data $(PACKS) -o benchmarks/speed.jsonl --plot benchmarks/growth.svg

leaderboard: $(VENV)/.extras ## run what the leaderboard lacks, and write its tables (hours; resumes)
	$(BIN)/superproto research leaderboard --run --data $(PACKS) --records benchmarks/leaderboard.jsonl -o leaderboard.html
	$(BIN)/superproto research docs --output .

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
