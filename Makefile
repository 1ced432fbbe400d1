# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo serve test fuzz lint bench clean

# Re-made only when what is declared changes, so that second runs start at once.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Dynaroute needs Python 3.11 or newer." if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	$(BIN)/python -m dynaroute.improve
	touch $@

# The page's tests drive a real browser; where it cannot be installed they are skipped and say so.
.venv/browser: .venv/installed
	command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } > /dev/null 2>&1 || echo "No chromium here: the page's tests will be skipped."
	touch $@

demo: .venv/installed
	mkdir -p demo
	$(BIN)/dynaroute generate --size 100 --count 1 --seed 7 --out demo/instance.vrp
	$(BIN)/dynaroute solve demo/instance.vrp --out demo/instance.sol --plot demo/instance.png
	$(BIN)/dynaroute check demo/instance.vrp demo/instance.sol
	@echo "The picture is demo/instance.png"

serve: .venv/installed
	$(BIN)/dynaroute serve

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint .venv/browser
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --durations=10

fuzz: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m hypothesis --hypothesis-profile thorough

bench: .venv/installed
	$(BIN)/python benchmarks/construct.py

clean:
	rm -rf .venv demo dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
