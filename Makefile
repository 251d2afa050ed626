# Two commands do everything: `make demo` and `make test`. Both make .venv themselves.

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
OUT ?= out

.PHONY: help demo docs test approve soak explore mutation mutants checksums dist matrix format clean

help:  ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

demo: PAGE = $(abspath $(OUT))/paper/report.html
demo: .venv/installed  ## Figure 1, Table 1, and six runs of the paper trained for real, as a page: out/paper/report.html
	$(BIN)/bygones figure 1 --out $(OUT)
	$(BIN)/bygones table 1 --out $(OUT)
	$(BIN)/bygones decay --half-life 7
	$(BIN)/bygones reproduce --size quick --welfare nash --horizon 100 10000 --gamma 0 0.99 1 --out $(OUT)/paper
	@echo; echo "The page: file://$(PAGE)"
	@if [ -z "$$CI" ] && { [ "$$(uname)" = Darwin ] || [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; }; then $(BIN)/python -m webbrowser "file://$(PAGE)"; fi

docs: .venv/installed-docs  ## The site, which opens without a network: out/site/index.html
	$(BIN)/python -m docs.site.build $(OUT)/site

test: .venv/installed-dev  ## Format, lint, types, import contract, tests; COVERAGE=1 measures coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 -m "not soak" $(if $(COVERAGE),--cov --cov-report=term --cov-fail-under=95)

soak: .venv/installed-soak  ## The long tests, and the environments on the oldest Gymnasium they support
	$(BIN)/pytest -n 2 --dist loadfile -m soak
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv/gymnasium-oldest gymnasium==1.3.0
	PYTHONPATH=.venv/gymnasium-oldest $(BIN)/pytest -n 2 -m "not soak" tests/envs

approve: .venv/installed-dev  ## The output of every command, compared with recordings; ACCEPT=1 replaces them, ONLY="goods docs" tries some
	PYTHONPATH=tests $(BIN)/python -m approval --jobs 2 $(if $(ACCEPT),--accept) $(ONLY)

explore: SEED ?= $(shell $(PYTHON) -c 'import secrets; print(secrets.randbits(32))')
explore: .venv/installed-dev  ## Every property with ten times the examples and a fresh seed; SEED= and TEST= replay a failure
	BYGONES_HYPOTHESIS=explore $(BIN)/pytest -n 2 -m hypothesis --hypothesis-seed=$(SEED) $(if $(TEST),'$(TEST)')

mutation: .venv/installed-dev  ## Mutation testing of the mathematical core
	BYGONES_HYPOTHESIS=mutation $(BIN)/mutmut run --max-children 2
	$(BIN)/mutmut results

mutants: N ?= 300
mutants: SEED ?= 1
mutants: .venv/installed-dev  ## N small random changes beyond the core, each tried against the tests of its module
	PYTHONPATH=tests $(BIN)/python -m support.mutants --number $(N) --seed $(SEED)

checksums:  ## Note the checksums of new files under evidence/, and refuse files that have changed
	$(PYTHON) -m benchmarks.checksums

dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: .venv/installed-dev  ## Wheel and sdist in dist/, built twice and compared byte by byte
	rm -rf dist .venv/dist
	$(BIN)/python -m build --no-isolation --quiet --outdir dist .
	$(BIN)/python -m build --no-isolation --quiet --outdir .venv/dist .
	for file in dist/*; do cmp "$$file" ".venv/dist/$${file##*/}" || exit 1; done
	@cd dist && sha256sum * 2>/dev/null || shasum -a 256 *

matrix:  ## Install and try bygones on every Python from 3.11 to 3.14 that is installed, or that uv can fetch; EXTRAS=all
	PYTHONPATH=tests $(PYTHON) -m support.matrix $(EXTRAS)

format: .venv/installed-dev  ## Format and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## Remove everything that make created
	rm -rf .venv dist out .coverage mutants

.venv/made:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"bygones needs Python 3.11 or later, this is {sys.version}"'
	$(PYTHON) -m venv .venv || { echo "Python cannot make a virtual environment; on Debian: apt-get install python3-venv"; rm -rf .venv; exit 1; }
	touch $@

.venv/installed: .venv/made pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable '.[learn,report]'
	touch $@

.venv/installed-dev: .venv/made pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable '.[dev]'
	touch $@ .venv/installed

.venv/installed-docs: .venv/made pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable '.[docs]'
	touch $@ .venv/installed

.venv/installed-soak: .venv/installed-dev
	$(PIP_INSTALL) --editable '.[soak]'
	touch $@
