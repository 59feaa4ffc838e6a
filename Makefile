# One command is enough on a fresh machine with Python >= 3.11, make and git: each target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
TRIMTAB := $(BIN)/trimtab
SCALE ?= 1
OCP ?= 5.32
N ?= 1000
SEED ?= 1

help: ## Explain the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/product: requirements/study.lock pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "make: Python 3.11 or newer is needed and was not found on PATH; install it, or: make PYTHON=/path/to/python3"; exit 1; }
	@[ -x $(BIN)/python ] || { echo "setting up .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv || { echo "make: the venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }; }
	@echo "installing what trimtab needs (requirements/study.lock)"
	@scripts/install requirements/study.lock
	@scripts/install .
	@touch $@

.venv/dev: .venv/product requirements/dev.lock
	@echo "installing what the checks and tests need (requirements/dev.lock)"
	@scripts/install requirements/dev.lock
	@touch $@

setup: .venv/dev ## Make .venv with trimtab and everything the checks and tests need

demo: .venv/product ## All algorithms on three scenarios in a minute: a table here, a report to open
	@$(TRIMTAB) study demo

engines: .venv/product ## Compile the Kubernetes programs that are missing from the cache (about 9 minutes once)
	@$(TRIMTAB) engines build

up: engines ## Start a lab: a real control plane with fake nodes (SCALE=10 for fast time)
	@$(TRIMTAB) lab up --scale $(SCALE)

down: .venv/product ## Stop the lab; its data stay
	@$(TRIMTAB) lab down

dev-setup: engines ## A lab that plays OpenShift for the advisor, but for its operator (OCP=5.32)
	@$(TRIMTAB) lab up --name advisor --with advisor --no-operator --ocp $(OCP) --scale 10

run: .venv/product ## The advisor's operator in this terminal, on the lab of dev-setup
	@$(TRIMTAB) run advisor --open-metrics --kubeconfig "$$($(TRIMTAB) lab kubeconfig --name advisor)"

quick: .venv/dev ## Checks, unit tests, contract tests of what changed: two minutes, while you work
	@scripts/check --quick
	@scripts/test --changed

kubevirt: engines ## Compile KubeVirt's programs as well (about 5 minutes once)
	@$(TRIMTAB) engines build kubevirt

test: .venv/dev kubevirt ## Checks and tests, about 20 minutes; builds the engines first if they are missing
	@scripts/test

test-full: .venv/dev kubevirt ## Everything, up to 85 minutes
	@scripts/test --full

unit: .venv/dev ## Only the unit tests, about 20 seconds
	@scripts/test --unit

check: .venv/dev ## Lint, format, types, layers, Go and shell, generated files
	@scripts/check

bench: .venv/dev engines ## Benchmarks: ratios of both sides in one run, or CPU time
	@scripts/bench

conformance: .venv/dev engines ## The real descheduler beside our function (N=1000 cycles, SEED=1)
	@scripts/conformance --cycles $(N) --seed $(SEED)

verify: .venv/dev ## Are the generated files what their generators say?
	@scripts/generate --check

generate: .venv/dev ## Write the generated files anew
	@scripts/generate

fmt: .venv/dev ## Format the code
	@$(BIN)/ruff check --quiet --fix-only src tests conformance scripts && $(BIN)/ruff format --quiet src tests conformance scripts
	@"$$("$$($(TRIMTAB) engines go)" env GOROOT)/bin/gofmt" -w engines

docs: .venv/dev ## The documents as a site with search: site/index.html, opened without a server; links are checked
	@scripts/docs

dist: .venv/dev ## Wheel and sdist in dist/, each proved by installing it and running the demo elsewhere
	@scripts/dist

image: ## The image of all services, with podman, buildah or docker (BASE=IMAGE for a mirror's Python)
	@scripts/image $(if $(BASE),--base $(BASE))

lock: .venv/dev ## Write requirements/*.lock from pyproject.toml
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/lock

clean: ## Remove .venv and caches of the tools (labs and engines stay)
	@rm -rf .venv .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache

.PHONY: help setup demo engines kubevirt up down dev-setup run quick test test-full unit check bench conformance verify generate fmt docs dist image lock clean
