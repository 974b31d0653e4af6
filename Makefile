PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test simulate chaos check bench up lock clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## make .venv with all that demo and tests need

# pip only fetches uv; uv installs the locked versions, checked by their hashes.
$(READY): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	uv=$$(grep -o '^uv==[0-9.]*' requirements.lock); $(BIN)/uv --version 2>/dev/null | grep -qF "uv $${uv#uv==}" || \
	  $(PYTHON) -m pip --quiet --python $(BIN)/python install --disable-pip-version-check "$$uv"
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

demo: $(READY) ## one conversation, end to end, on a fleet of its own
	$(BIN)/skillfleet submit --follow --model scripted:skills/csv-insights/demo.yaml \
	  "Which species of iris has the longest petals, and by how much?"

LONG := tests/system tests/conformance tests/chaos
NOBODY := tests/system/test_as_nobody.py
test: $(READY) ## every test, side by side; as an ordinary user one by one, for they count against its processes
	$(BIN)/python -m pytest -n 3 --dist loadfile $(filter-out $(LONG) %__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
	$(BIN)/python -m pytest -n 3 --dist loadfile tests/system --ignore $(NOBODY)
	$(BIN)/python -m pytest -n 3 tests/conformance
	$(BIN)/python -m pytest -n 2 tests/chaos
	$(BIN)/python -m pytest $(NOBODY)

SEEDS ?= 20000
simulate: $(READY) ## the engine where everything goes wrong, 20 000 seeds (or SEEDS=2000)
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

chaos: $(READY) ## 500 conversations while everything is killed, beside plain Celery
	$(BIN)/python -m tests.chaos

check: $(READY) ## lint, format, types, import direction, architecture budget
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/architecture

bench: $(READY) ## side by side with the naive Celery way, in one run
	$(BIN)/python -m bench

up: $(READY) ## redis, an orchestrator, workers and Flower in the foreground
	$(BIN)/skillfleet up

lock: ## resolve the dependencies anew (names, versions and hashes only)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --upgrade --group dev pyproject.toml -o requirements.lock

clean: ## remove .venv and the caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
