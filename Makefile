# The two commands of the README, and shortcuts.
.PHONY: demo test build bench fuzz docs clean
JOBS ?= $(shell nproc)

build:
	@scripts/install-deps.sh
	@cmake --preset release -DCAUCUS_TESTS=OFF >/dev/null
	@cmake --build --preset release -j $(JOBS)

test:
	@scripts/install-deps.sh test
	@scripts/test.sh

clean:
	rm -rf build
