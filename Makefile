# `make recipe` runs all stages and prints the result table; `make test` runs linters, type checks and quick tests.
#
# Both create and fill the virtual environment .venv when needed. Options:
#   make recipe BASE_PYTHON=python3.12     the interpreter that creates .venv
#   make recipe JOBS=4                     stages side by side, which share the cores (else 2, or what GPUs have room for)
#   make recipe TORCH_INDEX=<address>      an extra package index, for torch without CUDA (pytorch.org names it)
#   make test PYTHON=/some/bin/python      an interpreter with all packages; nothing is installed

include adaptbert/template/environment.mk

.PHONY: help install recipe test lint test-slow test-browser test-other-processor site

help:
	@echo 'make recipe        run all stages with the values of params.yaml; print the table, write the report'
	@echo 'make test          linters, type checks and quick tests'
	@echo 'make test-slow     tests that train for minutes'
	@echo 'make test-browser  tests that open pages in Chromium'
	@echo 'make test-other-processor  quick tests without the vector units of this processor'
	@echo 'make site          the guide in English and Chinese, with search: site/index.html'

install: $(installed)

.venv/.installed: pyproject.toml constraints.txt
	@test -x .venv/bin/python || $(BASE_PYTHON) -m venv .venv
	@echo 'Installing into .venv (a few minutes the first time) ...'
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check \
	    $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[dev]'
	@touch $@

recipe: $(installed)
	@$(PYTHON) -m examples.docstrings
	@$(PYTHON) -m flows.recipe $(if $(JOBS),--jobs $(JOBS))
	@$(PYTHON) -m adaptbert.report.text_table metrics/comparison.json
	@echo 'Report: reports/index.html'

lint: $(installed)
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

# Three processes, because many tests wait; a test file runs in one of them, so that its fixtures are set up once.
test: lint
	@$(PYTHON) -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-slow: $(installed)
	@$(PYTHON) -m pytest -m 'slow and not gpu and not browser and not nightly'

test-other-processor: $(installed)
	@$(PYTHON) -m tests.other_processor

test-browser: $(installed)
	@$(PYTHON) -m pytest -m browser

# One in English, and in its folder zh one in Chinese; -W: a warning is an error.
SITE ?= site

site: $(installed)
	@$(PYTHON) -m sphinx -qW --keep-going -c docs . $(SITE)
	@$(PYTHON) -m sphinx -qW --keep-going -c docs -t chinese . $(SITE)/zh
	@echo 'Site: $(SITE)/index.html'
