# make demo   the main job on a fresh machine: environment, SpecVI-Mini, scores, a page to open
# make demo-full   all baselines and a tiny agent trained on SpecVI-Mini and scored, with what they lose in other surveys
# make test   every test; make test-inspect those of inspect_ai, in an environment of its own
# make lint   ruff and mypy

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSPECT := .venv-inspect

.PHONY: demo demo-full test test-fast test-inspect lint clean

demo: $(VENV)/.core
	$(BIN)/specvi demo

# Each step goes on where it was stopped: runs resume, finished ones are kept. SPLIT=mini-small SETTING=test shows that
# it works, in minutes; the numbers of that mean nothing.
SPLIT ?= mini
SETTING ?= small
FULL := demo-full
LEARNERS := lightgbm logistic
NETWORKS := carbonnet-style gaianet-style specformer spectrum-net
TAUGHT := cv mg
FEW_STEPS := $(if $(filter test,$(SETTING)),--set epochs=1 --set dev=null)
FEW_QUESTIONS := $(if $(filter test,$(SETTING)),--set questions.limit=4)

demo-full: $(VENV)/.train
	$(BIN)/specvi run --vetter rules --split $(SPLIT) --track all --out $(FULL)/runs/rules
	for name in $(LEARNERS); do $(BIN)/specvi run --vetter $$name --train $(SPLIT) --split $(SPLIT) --track all --out $(FULL)/runs/$$name || exit 1; done
	for name in $(NETWORKS); do $(BIN)/specvi run --vetter $$name --train $(SPLIT) --option setting=$(SETTING) --split $(SPLIT) --track all --out $(FULL)/runs/$$name || exit 1; done
	$(BIN)/specvi run --vetter ensemble:$(FULL)/runs/lightgbm/model,$(FULL)/runs/carbonnet-style/model,$(FULL)/runs/spectrum-net/model --split $(SPLIT) --track all --out $(FULL)/runs/ensemble
	for task in $(TAUGHT); do $(BIN)/specvi trajectories draft --teacher brief --option prompt=official --split $(SPLIT) --task $$task --out $(FULL)/lessons-$$task || exit 1; done
	cd $(FULL) && ../$(BIN)/specvi train sft sft_mini $(FEW_STEPS) --out sft
	cd $(FULL) && ../$(BIN)/specvi train grpo grpo_mini --set questions.split=$(SPLIT) $(FEW_STEPS) $(FEW_QUESTIONS) --out grpo
	$(BIN)/specvi run --vetter transformers:$(FULL)/grpo/model --option prompt=official --option max_tokens=200 --split $(SPLIT) --track all --out $(FULL)/runs/tiny-agent
	$(BIN)/specvi leaderboard build $(FULL)/runs/* --out $(FULL)/site
	$(BIN)/specvi bench drops $(FULL)/runs/*

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal

test-fast: $(VENV)/.dev
	$(BIN)/pytest -m "not slow"

# What inspect_ai needs (aiobotocore and others) does not go with the tested versions, so it comes by itself, and finds
# the suite and everything else in the usual environment. Its warnings are its own.
test-inspect: $(INSPECT)/.ready
	$(INSPECT)/bin/python -m pytest -q -p no:cacheprovider -o filterwarnings=ignore tests/agents/test_agents_inspect.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two stamps: .core for the demo, .dev with the test tools on top. Both fall when the declared or the
# tested versions change, and then the environment is made anew.
$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"specvi needs Python 3.11 or newer; {sys.executable} is {v[0]}.{v[1]}. Name a newer one: make PYTHON=python3.12")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.core: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.train: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[torch,train]"
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(VENV)/.core $(VENV)/.train $@

$(INSPECT)/.ready: $(VENV)/.dev
	rm -rf $(INSPECT)
	$(PYTHON) -m venv $(INSPECT)
	$(INSPECT)/bin/python -m pip install --quiet --disable-pip-version-check "inspect-ai==0.3.285"
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(" + repr(sysconfig.get_path("purelib")) + ")")' \
	  > $$($(INSPECT)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/zz-suite.pth
	touch $@

clean:
	rm -rf $(VENV) $(INSPECT) build dist *.egg-info
