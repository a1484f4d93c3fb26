# The interpreter of all commands, and its environment; the Makefile includes it.

BASE_PYTHON ?= python3

ifdef PYTHON
installed :=
else
PYTHON := .venv/bin/python
installed := .venv/.installed
endif

# `python` in the commands of dvc.yaml is the same interpreter.
export PATH := $(abspath $(dir $(shell command -v $(PYTHON) || echo $(PYTHON)))):$(PATH)

# No telemetry.
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export MLFLOW_DISABLE_TELEMETRY := true
export PREFECT_SERVER_ANALYTICS_ENABLED := false
