# Every verb of the project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help run test test-lake lake bench-lake soak-pipeline check format bench bench-quick soak soak-long soak-transactions soak-streams soak-patterns soak-freshness fuzz mutate clean lock

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_STAMP := $(VENV)/.installed-to-run
UV := $(shell command -v uv 2>/dev/null)

# Where it is set, each test process compiles all that it imports again.
export PYTHONDONTWRITEBYTECODE :=

help: ## List the verbs
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv where it is, else venv and pip: both take the same pinned versions.
ifdef UV
  MAKE_VENV := uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
  INSTALL := uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt
else
  MAKE_VENV := $(PYTHON) -m venv $(VENV)
  INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
endif

$(STAMP): pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) -e '.[dev]'
	@touch $(RUN_STAMP) $@

# A broker starts without Spark, which is most of what the tests need.
$(RUN_STAMP): pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) -e '.[client,registry,security,testing]'
	@touch $@

run: $(RUN_STAMP) ## Start a broker on 127.0.0.1:9092 over ./data
	@$(BIN)/headrace serve --data ./data

test: $(STAMP) ## Run every test (real clients over real sockets included)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/unit tests/bench tests/contract tests/simulation tests/wire tests/fuzz
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/process --ignore-glob='*hostile*'
	$(BIN)/python -m pytest -q tests/process/test_hostile_*.py
	$(BIN)/python -m pytest -q -n 4 --dist worksteal tests/interop tests/patterns
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" tests/pipeline

test-lake: $(STAMP) ## All tests of the data pipeline, the long ones too (Spark's Kafka connector, a cluster, kills)
	$(BIN)/python -m pytest -q tests/pipeline

check: $(STAMP) ## Format, lint, types, layers, unit and simulation tests: under a minute
	$(BIN)/ruff format --check src tests tools bench soak
	$(BIN)/ruff check src tests tools bench soak
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" tests/unit tests/bench tests/contract tests/simulation

format: $(STAMP) ## Rewrite the sources in the project's format
	$(BIN)/ruff format src tests tools bench soak
	$(BIN)/ruff check --fix src tests tools bench soak

bench: $(STAMP) ## Measure beside Apache Kafka in one run (70 minutes); results in bench/results
	$(BIN)/python -m bench

bench-quick: $(STAMP) ## The same for development: fewer works and rounds, under 3 minutes
	$(BIN)/python -m bench --quick

bench-lake: $(STAMP) ## Topic to Parquet: our engine beside Spark's Kafka connector; results in bench/results
	$(BIN)/python -m bench.lake

lake: $(STAMP) ## The example: three producers, three tables, a report with plots (examples/lake/out)
	$(MAKE) -C examples/lake

soak: $(STAMP) ## 1,000 times kill -9 under load; every record and commit is checked (40 minutes)
	$(BIN)/python -m soak kill --cycles 1000

soak-long: $(STAMP) ## 45 minutes of steady load: rate, latency, memory, descriptors over time
	$(BIN)/python -m soak long --minutes 45

soak-transactions: $(STAMP) ## Read, process, write through 50 kill -9: each record once (15 minutes)
	$(BIN)/python -m soak transactions --records 100000 --kills 50 --client all

soak-streams: $(STAMP) ## Kafka Streams counts words exactly once through 5 kill -9
	$(BIN)/python -m soak streams --kills 5

soak-patterns: $(STAMP) ## Outbox and saga on PostgreSQL through 100 kill -9
	$(BIN)/python -m soak patterns --kills 100 --database postgresql

soak-pipeline: $(STAMP) ## Topics to tables and topics through kill -9 of driver, worker and broker
	$(BIN)/python -m soak pipeline --kills 20 --victim all --job all

soak-freshness: $(STAMP) ## How old a table is behind 50,000 records/s, and what that costs the producers
	$(BIN)/python -m soak freshness --minutes 15

fuzz: $(STAMP) ## 30 minutes of arbitrary and damaged input
	$(BIN)/python -m tests.fuzz --minutes 30

mutate: $(STAMP) ## Break each guarantee on purpose; the tests must notice (docs/proof.md)
	$(BIN)/python -m tools.mutate --document docs/proof.md

lock: $(STAMP) ## Write the installed versions into constraints.txt
	$(BIN)/python tools/lock.py > constraints.txt.new && mv constraints.txt.new constraints.txt

clean: ## Remove everything that make made (not ./data)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
