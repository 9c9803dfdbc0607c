# SPDX-License-Identifier: GPL-3.0-or-later
# Every check of this repository is a target here; CI, the pre-commit hooks and the GitHub workflow call these same targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The virtual environment of all tools. `make VENV=/some/where lint` uses another one.
VENV ?= .venv
# The Python that makes it: 3.11 or newer.
PYTHON ?= python3

export PATH := $(abspath $(VENV))/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.ansible/collections
export VIRTUAL_ENV := $(abspath $(VENV))
# Only this repository's collections path counts, whatever ansible.cfg the user has at home.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PYTHONDONTWRITEBYTECODE := 1

STEPS := python tests/tools/steps.py

scenarios := $(patsubst molecule/%/molecule.yml,%,$(wildcard molecule/*/molecule.yml))
CLUSTER_SCENARIOS ?= $(filter cluster,$(scenarios))
# Longer scenarios, only in test-all: cluster-debian12 and the like.
LONG_SCENARIOS ?= $(filter cluster-%,$(scenarios))
ROLE_SCENARIOS ?= $(filter-out $(CLUSTER_SCENARIOS) $(LONG_SCENARIOS),$(scenarios))

# A step, and after the colon the steps without which it makes no sense.
QUICK_STEPS := lint unit docs-check changelog-check build-check sanity
# Needs root and Debian's packages, but no container engine.
ORACLE_STEPS := test-oracle
CONTAINER_STEPS := engine role:engine cluster:engine

.PHONY: help
help: ## Show the targets
	@printf 'Targets (VENV=%s):\n' '$(VENV)'
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' \
	  | awk -F '\t' '{ printf "  %-16s %s\n", $$1, $$2 }'

.PHONY: demo
demo: venv link ## Build a virtual cluster on this machine, run a GPU job in it and show the result
	demo/run

.PHONY: demo-down
demo-down: venv link ## Remove the virtual cluster
	demo/down

.PHONY: test
test: venv link ## Everything that CI runs, with a table of times at the end
	@$(STEPS) --make $(QUICK_STEPS) $(ORACLE_STEPS) $(CONTAINER_STEPS)

.PHONY: test-all
test-all: venv link ## The same and the longer scenarios
	@$(STEPS) --make $(QUICK_STEPS) $(ORACLE_STEPS) $(CONTAINER_STEPS) long:engine

.PHONY: check
check: venv link ## Everything that needs no container engine
	@$(STEPS) --make $(QUICK_STEPS)

.PHONY: venv
venv: ## Make the virtual environment with all tools (once; again when the requirements change)
	@tests/tools/venv '$(VENV)' '$(PYTHON)'

.PHONY: link
link: ## Make this checkout visible to Ansible as the collection steelrack.gpu_cluster
	@mkdir -p .ansible/collections/ansible_collections/steelrack
	@if [ -d .ansible/collections/ansible_collections/steelrack/gpu_cluster ] && [ ! -L .ansible/collections/ansible_collections/steelrack/gpu_cluster ]; then \
	  echo 'An installed copy lies where this checkout belongs; remove it: rm -r .ansible/collections' >&2; exit 1; fi
	@ln -sfn ../../../.. .ansible/collections/ansible_collections/steelrack/gpu_cluster

.PHONY: lint
lint: venv link ## YAML, Ansible, Python and shell linters, and types
	@$(STEPS) --make lint-yaml lint-ansible lint-python lint-types lint-shell

.PHONY: lint-yaml
lint-yaml: venv
	yamllint --strict .

.PHONY: lint-ansible
lint-ansible: venv link
	ansible-lint --offline --strict

.PHONY: lint-python
lint-python: venv
	ruff check .
	ruff format --check .

.PHONY: lint-types
lint-types: venv link
	mypy
	mypy tests/tools

.PHONY: lint-shell
lint-shell:
	@tests/tools/lint-shell

.PHONY: unit
unit: venv link ## Unit tests
	pytest --numprocesses=auto

.PHONY: test-oracle
test-oracle: venv link ## Machines before the real Slurm 22.05, 24.11 and 26.05 (needs root on Debian)
	pytest tests/oracle

.PHONY: docs
docs: venv link ## Write the generated pages docs/problems.md and docs/variables.md
	python tests/tools/problems_page.py > docs/problems.md.new && mv docs/problems.md.new docs/problems.md
	python tests/tools/variables_page.py > docs/variables.md.new && mv docs/variables.md.new docs/variables.md

.PHONY: docs-check
docs-check: venv link ## Check the documentation of plugins and roles
	antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=self --skip-rstcheck .

.PHONY: changelog-check
changelog-check: venv ## Check the changelog fragments
	antsibull-changelog lint

.PHONY: build
build: venv ## Build the collection's artefact into build/
	ansible-galaxy collection build --force --output-path build .

.PHONY: build-check
build-check: build ## Install the artefact in an empty folder and use it from a site's own repository, offline
	python tests/tools/build_check.py build

.PHONY: sanity
sanity: venv ## ansible-test sanity
	python tests/tools/sanity.py

.PHONY: engine
engine: ## Install and start a docker engine if this machine has none
	demo/engine

.PHONY: role
role: venv link engine ## Molecule scenarios of single roles (ROLE_SCENARIOS="munge mariadb" for some)
	@$(STEPS) --molecule $(ROLE_SCENARIOS)

.PHONY: cluster
cluster: venv link engine ## Molecule scenario of the whole cluster
	@$(STEPS) --molecule $(CLUSTER_SCENARIOS)

.PHONY: long
long: venv link engine
	@$(STEPS) --molecule $(LONG_SCENARIOS)

.PHONY: bench
bench: venv link engine ## Compare site.yml with a hand-written script; time the derivation of 10 to 10,000 nodes
	tests/bench/run

.PHONY: clean
clean: ## Remove what the targets above made in this checkout (the virtual environment stays)
	rm -rf build .ansible .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache/oracle
