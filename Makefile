# Everything a contributor or operator types. `make run` and `make test` need python3 and make only.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
MANAGE := $(PY) manage.py
DATA := $(or $(POLYPLANE_DATA_DIR),.data)
WORKERS ?= 2

.PHONY: help run test check format lint types contracts fuzz bench reset kubeconfig-merge install install-dev

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

run: install ## install, start PostgreSQL, migrate, serve; Ctrl-C stops
	@exec $(MANAGE) up --with-parent

install: $(VENV)/.runtime
install-dev: $(VENV)/.dev

$(PY):
	@echo "polyplane: creating $(VENV)" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try: make run PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); printf 'error: %s cannot make a virtual environment\n  fix: apt-get install python3-venv\n' $(PYTHON) >&2; exit 1; }

$(VENV)/.runtime: requirements.lock | $(PY)
	@echo "polyplane: installing requirements.lock" >&2
	@$(PY) -m pip install -qq --disable-pip-version-check -r requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock | $(PY)
	@echo "polyplane: installing requirements-dev.lock" >&2
	@$(PY) -m pip install -qq --disable-pip-version-check -r requirements-dev.lock
	@touch $@ $(VENV)/.runtime

test: install-dev ## all tests
	$(PY) -m pytest -n $(WORKERS)

check: format lint types contracts test ## format, lint, types, import contracts, tests

format: install-dev ## is every file formatted?
	$(VENV)/bin/ruff format --check .

lint: install-dev ## ruff's rules
	$(VENV)/bin/ruff check .

types: install-dev ## mypy, strict
	$(VENV)/bin/mypy

contracts: install-dev ## who may import whom
	$(VENV)/bin/lint-imports

fuzz: install-dev ## the property tests with new random examples, as often as you like; failures are kept and tried first
	HYPOTHESIS_PROFILE=search $(PY) -m pytest -m hypothesis -n $(WORKERS)

bench: install-dev ## benchmarks, each beside its yardstick; make bench ARGS="--quick --only get"
	@$(PY) -m tests.benchmarks $(ARGS)

reset: ## remove all state of this clone (database, keys, kubeconfig)
	@$(MANAGE) reset

kubeconfig-merge: ## add the contexts default and demo to ~/.kube/config
	@$(MANAGE) kubeconfig_merge
