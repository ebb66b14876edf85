# 'make demo' and 'make test' install what is missing, build and run. The rest are shortcuts.
.PHONY: demo serve test tidy test-report test-serve wheel test-wheel validate mutations special-functions build bench reproduce hunt fuzz fuzz-commands asan tsan valgrind coverage docs format clean
JOBS ?= $(shell nproc)
CAUCUS = build/release/caucus

build:
	@scripts/install-deps.sh
	@[ -e build/release/CMakeCache.txt ] || cmake --preset release -DCAUCUS_TESTS=OFF -DCAUCUS_UNITY=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target caucus_cli

# The page to explore in: FOLDER names the project.
FOLDER ?= caucus-project
serve: build
	@cmake -S . -B build/release -DCAUCUS_SERVE=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target caucus_serve
	@$(CAUCUS) serve $(FOLDER)

demo: build
	@scripts/demo.sh $(CAUCUS)

test:
	@scripts/install-deps.sh test
	@scripts/install-deps.sh python
	@JOBS=$(JOBS) scripts/test.sh

# clang-tidy over the unity files that changed since they passed: .clang-tidy has the list. LAYERS="infer" narrows it. Part of 'make test'.
tidy:
	@scripts/install-deps.sh test
	@cmake --preset release -DCAUCUS_UNITY=ON >/dev/null
	@JOBS=$(JOBS) scripts/check-tidy.py build/release $(LAYERS)

# The report in a headless browser: no script errors, no network, names shown as text, nothing cut from 390 to 2560 px.
test-report:
	@scripts/install-deps.sh browser
	@cmake --preset release -DCAUCUS_TESTS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@cd build/release && ctest -C Browser -R report_in_browser --output-on-failure

# The page to explore in: attacks on the server, and a whole session in a headless browser.
test-serve:
	@scripts/install-deps.sh browser
	@cmake --preset release -DCAUCUS_TESTS=ON -DCAUCUS_SERVE=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target caucus_cli caucus_serve
	@cd build/release && ctest -R '^serve_' --output-on-failure

# Calibration of every sampler and interval by simulation, and the page that shows it. A run that was stopped goes on. COUNT data sets of each study;
# QUICK=1: a dozen of each, which fails where something is off beyond chance and writes nothing.
COUNT ?= 1000
validate: build
	@$(if $(QUICK),scripts/validate-quick.sh $(CAUCUS),nice -n 19 python3 scripts/validate.py run --caucus $(CAUCUS) --count $(COUNT) && \
	  python3 scripts/validate.py summary && python3 scripts/validate.py table > docs/validation.md)

# Errors planted one at a time in the sources of all families: a test must fail for each. docs/mutations.md says which did. A run that was stopped goes on.
# MUTATE="stage.cc sign" takes those whose source or description holds one of the words.
mutations:
	@scripts/install-deps.sh test
	@cmake --preset release -DCAUCUS_TESTS=ON -DCAUCUS_UNITY=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target $$(grep -o '[a-z_0-9]*_test' tests/mutations/table.txt | sort -u)
	@scripts/mutations.py build/release --out docs/mutations.md $(MUTATE)

# Errors of every special function against a hundred digits: docs/special-functions.md.
special-functions:
	@scripts/install-deps.sh test
	@cmake --preset release -DCAUCUS_TESTS=ON -DCAUCUS_UNITY=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target numbers_test
	@scripts/special-functions.sh build/release/numbers_test > docs/special-functions.md

# Ratios within one run; answers are checked first.
bench:
	@scripts/install-deps.sh test
	@scripts/bench.sh

# The papers' tables and figures: TARGETS="paper1-table1 paper3", QUICK=1 for small sizes, OUT for another folder. A run that was stopped goes on.
TARGETS ?= all
OUT ?= build/reproduction
reproduce:
	@scripts/install-deps.sh
	@cmake -S . -B build/experiments -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAUCUS_EXPERIMENTS=ON -DCAUCUS_TESTS=OFF -DCAUCUS_UNITY=ON >/dev/null
	@cmake --build build/experiments -j $(JOBS) --target caucus-experiments
	@echo "CPU time of each target at full size, as recorded:" && build/experiments/caucus-experiments list
	@build/experiments/caucus-experiments run $(TARGETS) $(if $(QUICK),--quick) --threads $(JOBS) --out $(OUT)

# Long searches: the best known log-likelihoods of experiments/results/best_known.csv. A run that was stopped goes on. HUNT="--files sushi --starts 1000" and
# the like narrow or lengthen it; CAUCUS_DATA names the data.
hunt: build
	@python3 experiments/search.py hunt $(HUNT)

# Ten minutes per parser unless FUZZ_SECONDS says otherwise. 'scripts/fuzz.sh keep' afterwards keeps what was learnt in tests/fuzz/corpus.
FUZZ_SECONDS ?= 600
fuzz:
	@scripts/install-deps.sh test
	@scripts/fuzz.sh $(FUZZ_SECONDS)

# Damaged models and checkpoints, and option lines by chance, through the program with sanitizers; ten minutes each.
fuzz-commands:
	@scripts/install-deps.sh test
	@cmake --preset asan -DCAUCUS_UNITY=ON >/dev/null
	@cmake --build --preset asan -j $(JOBS) --target caucus_cli
	@scripts/fuzz-commands.py build/asan/caucus $(FUZZ_SECONDS)

asan tsan:
	@scripts/install-deps.sh test
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j $(JOBS)

# A part of the command-line tests under valgrind, which sees reads of memory that was never written; minutes.
valgrind: build
	@scripts/valgrind.sh $(CAUCUS)

coverage:
	@scripts/install-deps.sh test
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@cd build/coverage && ctest -j $(JOBS) --output-on-failure
	@cd build/coverage && find . -name '*.gcda' -path '*caucus_*' | xargs gcov -r -s $(CURDIR)/src -n 2>/dev/null \
	  | grep -A1 "^File 'caucus" | grep -v '^--' || true

# A wheel for people without a compiler: build/wheels/*.whl holds the libraries it needs. The sdist is beside it.
wheel:
	@scripts/install-deps.sh python
	@scripts/wheel.sh build/wheels

# That wheel in an empty environment; and 'pip install .' in a fresh clone with build isolation, and of the sdist, which compile everything again.
test-wheel: wheel
	@scripts/test-wheel.sh .
	@scripts/test-install.sh

# The generated documentation and the Python estimators. Tests fail when they are stale.
docs:
	@scripts/install-deps.sh python
	@cmake --preset release -DCAUCUS_UNITY=ON -DCAUCUS_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python >/dev/null
	@cmake --build --preset release -j $(JOBS) --target caucus_cli caucus_python
	@$(CAUCUS) families --markdown > docs/options.md
	@PYTHONPATH=build/release/python build/venv/bin/python python/tools/generate.py .

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format-16 -i

clean:
	rm -rf build
