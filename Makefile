# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e
# search code, two lines of it at once
COMPILE := xargs -P 2 -L 1 $(BIN)/python -m dynaroute.search

.PHONY: demo serve test docs fuzz chaos lint bench release audit clean

# What a target needs is installed when it is first asked for, and again when what is declared changes: second runs
# start at once.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Dynaroute needs Python 3.11 or newer." if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) .
	printf '%s\n' 'search teams' 'limits large 2opt local' | $(COMPILE)
	touch $@

.venv/with-serve: .venv/installed
	$(INSTALL) '.[serve]'
	touch $@

.venv/with-test: .venv/installed
	$(INSTALL) '.[test]'
	printf '%s\n' 'rules' '"rules with shipments and reloads"' | $(COMPILE)
	touch $@

.venv/with-bench: .venv/installed
	$(INSTALL) '.[batch,bench,serve]'
	touch $@

.venv/with-docs: .venv/installed
	$(INSTALL) '.[docs]'
	touch $@

.venv/with-release: .venv/installed
	$(INSTALL) '.[release]'
	touch $@

# The page's tests drive a real browser; where it cannot be installed they are skipped and say so.
.venv/browser: .venv/with-test
	command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } > /dev/null 2>&1 || echo "No chromium here: the page's tests will be skipped."
	touch $@

demo: .venv/installed
	$(BIN)/dynaroute demo --out demo
	$(BIN)/dynaroute check demo/instance.vrp demo/instance.sol

serve: .venv/with-serve
	$(BIN)/dynaroute serve

lint: .venv/with-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tests start many processes, which start faster from compiled modules: these are kept even where the environment says
# otherwise.
test: lint .venv/browser
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --no-loadscope-reorder --durations=10

# The site, under docs/_build/html: examples of the guides and notebooks are run, warnings and dead links are errors, and
# nothing is asked of the network. NOTEBOOKS=off builds pages alone, in seconds.
docs: .venv/with-docs
	test "$(NOTEBOOKS)" = off || OMP_NUM_THREADS=1 $(BIN)/python tools/examples.py
	NOTEBOOKS=$(NOTEBOOKS) OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/links.py docs/_build/html
	@echo "The site is docs/_build/html/index.html"

fuzz: .venv/with-test
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m hypothesis --hypothesis-profile thorough

# Kills actors, drivers and nodes of running batches, twenty of each: see tools/chaos.py.
chaos: .venv/with-test
	OMP_NUM_THREADS=1 $(BIN)/python tools/chaos.py

# Every benchmark in a quick form: that they run, and roughly where they stand. The figures of docs/results.md are
# those of the full forms.
bench: .venv/with-bench
	@for program in benchmarks/*.py; do echo "== $$program"; $(BIN)/python $$program --quick || exit 1; done

# What must hold before a version is given away: see tools/release.py.
release: .venv/with-release
	$(BIN)/python tools/release.py

# Licences, and what is known against the pinned packages. It says so where it could check nothing: see tools/audit.py.
audit: .venv/with-release
	$(BIN)/python tools/audit.py

clean:
	rm -rf .venv demo dist build docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks tools docs -name __pycache__ -prune -exec rm -rf {} +
