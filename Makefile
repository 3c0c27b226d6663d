# critests: validates and benchmarks runtimes of the Kubernetes Container Runtime Interface.
# Each recipe is a line or two; the scripts are in tools/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.SILENT:
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV ?= .venv
RESULTS ?= results
ARGS ?=
TOX := .tox/.make

.PHONY: help
help: ## print this text
	echo "critests: does a CRI runtime conform to the API, and how fast is it?"
	echo
	sed -nE 's/^([a-z-]+): .*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-15s %s\n", $$1, $$2}'
	echo
	echo "First time here: \`make demo\` as root on Debian 12 or Ubuntu 24.04. It installs missing packages and tests a private containerd."
	echo "To test your own runtime:  $(VENV)/bin/critests doctor   and then   $(VENV)/bin/critests run"
	echo "More:  make demo ARGS='--select SBX -n 2'    make test ENVS=unit ARGS='-k labels'    make demo VENV=.venv-demo RESULTS=/tmp/results"

.PHONY: demo
demo: ## the most important tests on a private containerd, in a minute, on a fresh machine; ARGS="-n 2" runs all, RESULTS names the folder
	tools/require-root.sh "make demo" "starts a private containerd, with its own network"
	tools/install-packages.sh python runtime
	tools/python-env.sh $(VENV) requirements/run.lock --project
	critests=$(VENV)/bin/critests # an environment of the user does not have it
	[ -x $$critests ] || critests="$(VENV)/bin/python -m critests.cli"
	$$critests run --node containerd --results "$(RESULTS)" $(or $(ARGS),--profile smoke -n 2) || { code=$$?; echo "critests run ended with $$code"; exit $$code; }

.PHONY: test
test: ## all checks before a merge, in a quarter of an hour; ENVS=unit,types selects some of the jobs
	tools/run-tests.sh "$(or $(ENVS),env_list)" $(ARGS)

.PHONY: test-all
test-all: ## the jobs of make test and the longer ones, as CI does every night: over an hour
	tools/run-tests.sh all $(ARGS)

.PHONY: wheel
wheel: ## build a wheel of this checkout, in dist
	tools/install-packages.sh python
	tools/python-env.sh $(VENV) requirements/run.lock --project
	$(VENV)/bin/python -m hatchling build --target wheel

.PHONY: dist
dist: ## build the files of a release in dist: twice, compared and checked
	tools/install-packages.sh python
	tools/python-env.sh .tox/.release requirements/release.lock
	tools/build-release.sh .tox/.release/bin/python dist

.PHONY: release
release: dist ## make dist, then tag this commit with its version and push the tag: CI publishes it
	tools/release.sh

.PHONY: runtimes
runtimes: ## download containerd 1.7 and 2.1, in addition to the installed one: make runtimes DIR=/opt/containerds
	tools/get-runtimes.sh "$(or $(DIR),.runtimes)"

.PHONY: allure
allure: ## render runs with Allure 3 (needs Node): make allure RUNS=results/containerd/2.1.9/1795173190 DIR=allure
	CRITESTS="$(VENV)/bin/python -m critests.cli" tools/render-allure.sh "$(or $(DIR),allure)" $(or $(RUNS),$(error name the runs: make allure RUNS=FOLDER))

.PHONY: lint
lint: ## ruff, spelling, types and import directions; needs no runtime and no root
	tools/run-tests.sh lint,types,imports

.PHONY: docs
docs: ## write docs/catalogue.md, and the quotes in the other pages
	$(VENV)/bin/python tools/generate_catalogue_doc.py
	$(VENV)/bin/python tools/generate_doc_quotes.py

.PHONY: lock
lock: ## regenerate requirements/*.lock from pyproject.toml; UPGRADE=1 takes newer versions
	tools/install-packages.sh python
	tools/python-env.sh $(TOX) requirements/tox.lock
	eval "$$($(TOX)/bin/python tools/uv_settings.py)"
	tools/lock.sh $(TOX)/bin/uv $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## remove the files that make and tox built here, but not results and .venv
	rm -rf .tox dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage *.egg-info
	find critests tests tools -name __pycache__ -prune -exec rm -rf {} +
	echo "Not removed: $(VENV), $(RESULTS), .runtimes. To remove what an interrupted run left on the machine: critests clean"
