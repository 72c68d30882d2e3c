# Everything a contributor or operator types. `make run` and `make test` need python3 and make only.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
MANAGE := $(PY) manage.py
DATA := $(or $(POLYPLANE_DATA_DIR),.data)
WORKERS ?= 3

.PHONY: help run demo test check format lint types contracts deadcode fuzz robust bench lock reset \
	kubeconfig-merge install install-dev

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | \
		awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

run: install ## install, start PostgreSQL, migrate, serve; Ctrl-C stops
	@exec $(MANAGE) up --with-parent

install: $(VENV)/.runtime $(VENV)/bin/kubectl-polyplane ## into .venv: what runs
install-dev: $(VENV)/.dev $(VENV)/bin/kubectl-polyplane ## that, and what tests need

$(PY):
	@command -v "$(PYTHON)" >/dev/null || { \
		printf 'error: there is no %s\n' "$(PYTHON)" >&2; \
		printf '  fix: install Python 3.11 or newer, or: make run PYTHON=/path/to/python3\n' >&2; \
		exit 1; }
	@echo "polyplane: creating $(VENV)" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Python 3.11 or newer is needed; try: make run PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); \
		printf 'error: %s cannot make a virtual environment\n' $(PYTHON) >&2; \
		printf '  fix: apt-get install python3-venv\n' >&2; exit 1; }

$(VENV)/.runtime: requirements.lock | $(PY)
	@echo "polyplane: installing requirements.lock" >&2
	@$(PY) tools/install.py requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock | $(PY)
	@echo "polyplane: installing requirements-dev.lock" >&2
	@$(PY) tools/install.py requirements-dev.lock
	@touch $@ $(VENV)/.runtime

# What pip makes of pyproject.toml's [project.scripts], for a clone, which is not installed itself.
define PLUGIN
#!/bin/sh
exec "$(CURDIR)/$(PY)" -P -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from controlplane.kubectl.command import main
main()' "$(CURDIR)" "$$@"
endef
export PLUGIN

$(VENV)/bin/kubectl-polyplane: | $(PY)
	@printenv PLUGIN > $@
	@chmod +x $@

demo: install ## fill the running server with a world: every view of the console shows something
	$(PY) -m tools.demo

# a file stays with one process as far as may be, for the servers that it has started
test: install-dev ## all tests
	$(PY) -m pytest -n $(WORKERS) --dist worksteal

check: format lint types contracts deadcode test ## all of these: before a commit

format: install-dev ## is every file formatted?
	$(VENV)/bin/ruff format --check .

lint: install-dev ## ruff's rules
	$(VENV)/bin/ruff check .

types: install-dev ## mypy, strict
	$(VENV)/bin/mypy

contracts: install-dev ## who may import whom
	$(VENV)/bin/lint-imports

deadcode: install-dev ## names that nothing uses (exceptions with reasons: pyproject.toml)
	$(VENV)/bin/vulture

fuzz: install-dev ## the property tests with new random examples; failures are kept and tried first
	HYPOTHESIS_PROFILE=search $(PY) -m pytest -m hypothesis -n $(WORKERS)

robust: install-dev ## the long guards (hours; make robust KINDS=Pod,Service: minutes)
	POLYPLANE_ROBUST=$(or $(KINDS),all) $(PY) -m pytest -n $(WORKERS) tests/robustness

bench: install-dev ## benchmarks, each beside its yardstick; make bench ARGS="--quick --only get"
	@$(PY) -m tests.benchmarks $(ARGS)

UV_VERSION := 0.13.9
COMPILE = $(VENV)/lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-annotate --default-index https://pypi.org/simple --custom-compile-command "make lock" \
	$(ARGS) pyproject.toml

$(VENV)/lock/bin/uv: | $(PY)
	@$(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install -qq --disable-pip-version-check uv==$(UV_VERSION)

lock: $(VENV)/lock/bin/uv ## pin what is asked for, with hashes; versions stay unless ARGS=--upgrade
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra dev -o requirements-dev.lock
	@$(MAKE) --no-print-directory install-dev
	$(PY) -m tools.supplychain

reset: ## remove all state of this clone (database, keys, kubeconfig); asks first, unless YES=1
	@if [ -e "$(DATA)" ]; then \
		$(MAKE) --no-print-directory install && $(MANAGE) reset $(if $(YES),--yes); \
	else echo "polyplane: $(DATA) is not there; nothing to remove" >&2; fi

kubeconfig-merge: install ## add the contexts default and demo to ~/.kube/config
	@$(MANAGE) kubeconfig_merge
