# Everything sets itself up in .venv: a machine needs Python 3.10 or later and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup repro test test-slow test-gpu test-released test-browser lint bench pictures screenshot clean

# The main job: what the YAML list names, less what is waived, on the embedded engine. It needs one plugin only.
repro: $(READY)
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest -p pytest_timeout -q repro_cases --test-list test_lists/test-db/l0_cpu.yml --context l0_cpu \
		--match stage=pre_merge,backend=generic --waives-file test_lists/waives.txt

setup: $(READY)

test: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow and not gpu and not slurm and not released and not browser"

test-slow: $(READY)
	$(BIN)/python -m pytest -q -m "slow and not gpu and not slurm"

test-gpu: $(READY)
	$(BIN)/python -m pytest -q -m gpu

test-released: $(READY)
	$(BIN)/python -m pytest -q -m "released and not gpu"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

# The pictures of the docs; a test compares the SVG ones with what is drawn now.
PICTURES ?= docs/pictures
pictures: $(READY)
	mkdir -p $(PICTURES)
	$(BIN)/harness repro 6535874 --fault capacity-from-bucket --worker dflash --first bucket --json $(PICTURES)/run.json > /dev/null; test $$? -eq 1
	$(BIN)/harness report $(PICTURES)/run.json --svg $(PICTURES)
	rm $(PICTURES)/run.json

# It needs Chromium, and fonts differ from machine to machine: nothing compares it.
screenshot: $(READY)
	$(BIN)/harness repro 6535874 --fault capacity-from-bucket --html $(PICTURES)/page.html > /dev/null; test $$? -eq 1
	$(BIN)/python tests/pictures/screenshot.py $(PICTURES)/page.html $(PICTURES)/6535874-page.png
	rm $(PICTURES)/page.html

test-browser: $(READY)
	$(BIN)/python -m pytest -q -m browser

clean:
	rm -rf .venv

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[run,equality,dev]'
	$(BIN)/python -m pip install --quiet --no-deps dflash==0.1.0
	touch $@
