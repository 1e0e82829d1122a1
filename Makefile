# One target per job; CI calls the same ones.
PYTHON ?= python3
ARGS ?= demo
export PYTHON
# Without bytecode, every start of cortext would compile its source again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# More workers than cores: many tests wait for servers and terminals.
PYTEST := $(BIN)/python -m pytest -n 4 --dist worksteal
ADAPTERS := $(patsubst requirements/adapters/%.in,%,$(wildcard requirements/adapters/*.in))
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test test-long test-all adapters faults setup check bench bench-peers bench-growth docs lock shell clean programs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: .venv/run.stamp ## install and run cortext: make run ARGS="list" (default: demo)
	@$(BIN)/cortext $(ARGS)

test: .venv/test.stamp .venv/wheels.stamp programs ## install what the tests need and run them
	$(PYTEST) -m "not slow and not faults and not long" $(T)

test-long: .venv/test.stamp .venv/wheels.stamp programs ## the tests that take longer; CI runs them too
	$(PYTEST) -m "long and not slow and not faults" $(T)

test-all: .venv/test.stamp .venv/wheels.stamp programs ## the slow tests too
	$(PYTEST) -m "not faults" --timeout 600 $(T)

adapters: .venv/check.stamp $(ADAPTERS:%=.venv-adapters/%.stamp) programs ## test every adapter beside its framework
	@scripts/adapters $(ADAPTERS)

faults: .venv/test.stamp programs ## faults in every command, a soak, fuzzing, power cuts: half an hour
	$(PYTEST) -m "faults or hypothesis" --hypothesis-profile explore --timeout 1800 $(T)

setup: .venv/run.stamp .venv/test.stamp .venv/check.stamp ## only make .venv, with everything

check: setup ## lint, types, layers, spelling, docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/python scripts/typed.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/zensical build --strict > /dev/null
	$(BIN)/python scripts/texts.py --check
	$(BIN)/python scripts/docs.py --check

bench: .venv-bench/run.stamp ## time ourselves against the raw floors
	PYTHONPATH=. scripts/with-home .venv-bench/bin/python -m bench $(BENCH)

bench-peers: .venv-bench/run.stamp .venv-peers/peers.stamp .venv-adapters/claude-agent-sdk.stamp ## our stores beside those of others
	PYTHONPATH=. scripts/with-home .venv-bench/bin/python -m bench.compare --peers .venv-peers/bin/python $(BENCH)

bench-growth: .venv-bench/run.stamp ## what each operation takes as sessions grow: 16 minutes
	PYTHONPATH=. scripts/with-home .venv-bench/bin/python -m bench.growth $(BENCH)

docs: .venv/run.stamp .venv/check.stamp ## rerun the examples in the docs, write their output, build the site in build/site
	$(BIN)/python scripts/texts.py
	$(BIN)/python scripts/docs.py
	$(BIN)/zensical build --strict

lock: ## pin the requirements anew: make lock LOCK=--upgrade for newer versions
	scripts/lock $(LOCK)

shell: .venv/run.stamp ## a shell with cortext and an empty HOME, to try things by hand
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/with-home $${SHELL:-bash} || true

clean: ## remove what was installed and cached
	rm -rf .venv .venv-adapters .venv-bench .venv-peers .hypothesis .pytest_cache .ruff_cache build dist
	find src tests bench scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

programs:
	@scripts/programs

.venv/run.stamp: requirements/run.lock pyproject.toml
	@scripts/venv .venv requirements/run.lock && touch $@

.venv/%.stamp: requirements/%.lock | .venv/run.stamp
	@scripts/venv .venv $< && touch $@

# For the test that installs cortext without a network.
.venv/wheels.stamp: requirements/run.lock | .venv/run.stamp
	@scripts/wheels .venv/wheels $< && touch $@

# Only what we need to run: other packages there would change what an import costs.
.venv-bench/run.stamp: requirements/run.lock pyproject.toml
	@scripts/venv .venv-bench requirements/run.lock && touch $@

# Without ours: where both pin a shared library, the peers have theirs. The bench finds us in src.
.venv-peers/peers.stamp: requirements/peers.lock
	@scripts/venv .venv-peers requirements/peers.lock && touch $@

# One for each framework: what they need must never meet.
.venv-adapters/%.stamp: requirements/adapters/%.lock pyproject.toml
	@scripts/venv .venv-adapters/$* $< && touch $@
