# Every target sets up what it needs inside the clone. Nothing outside it is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-wheel check lint types docs bench fidelity clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@echo "installing (about a minute, once) …"
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[graphs,mcp,pytest]' --group dev
	@touch $@

demo: $(READY) ## a scripted agent fixes a failing test in a simulated machine
	@$(BIN)/agentworld demo

test: $(READY) ## all tests
	$(BIN)/pytest $(PYTEST_ARGS)

test-wheel: $(READY) ## the wheel, installed alone, outside the clone
	$(BIN)/python tests/packaging/wheel_leg.py

check: lint types test docs ## everything a change must pass

lint: $(READY) ## ruff, rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## pyright, strict
	$(BIN)/pyright

docs: $(READY) ## snippets run, generated pages current, links whole
	$(BIN)/pytest -q tests/docs

bench: $(READY) ## the figures of the README, each beside its alternative
	$(BIN)/python -m bench

fidelity: $(READY) ## compare the machine with the recorded real one
	$(BIN)/python -m tests.fidelity.compare --adapter world

clean: ## remove what the other targets made
	rm -rf $(VENV) .venv-wheel dist .pytest_cache .ruff_cache .hypothesis
