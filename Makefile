# A thin front for the CMake presets (CMakePresets.json). The build itself is described in
# CMakeLists.txt; `cmake -S . -B build && cmake --build build` works without this file.

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
HOURS ?= 1
OPTIONS ?=
PREFIX ?= /usr/local
BUILD = cmake --build build/$(1) --parallel $(JOBS)
# --no-tests=error: a tree in which no test was found is a failure, not a success.
TEST = ctest --test-dir build/$(1) --parallel $(JOBS) --no-tests=error --output-on-failure

# On top of the plain release preset, which must also build where a newer compiler warns of more.
# Device code for sm_90 alone: for sm_80 the text is the same but for three lines (src/cuda/device/gpu.h).
STRICT = -DBULKHASH_WERROR=ON -DBULKHASH_PROGRAM=ON -DBULKHASH_TESTS=ON -DBULKHASH_CUDA_ARCHITECTURES=90-real

# What is installed has the device code of the default, whatever was tested in the same folder. Tests are
# built by `make test`.
FULL = -U BULKHASH_CUDA_ARCHITECTURES -DBULKHASH_TESTS=OFF

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup build install run compare-kmers compare-jobs results test test-huge test-long sanitize-gpu format clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install what is missing to build and test (Debian, apt-get).
	@scripts/setup.sh

build: ## Build the library and the programs into build/release.
	@scripts/setup.sh build
	cmake --preset release $(FULL)
	$(call BUILD,release)

install: ## Build, and install into PREFIX=DIR (/usr/local).
	@scripts/setup.sh build
	cmake --preset release $(FULL)
	$(call BUILD,release)
	cmake --install build/release --prefix "$(PREFIX)"

run: ## Count the 31-mers of a real genome: E. coli, from Debian's archive.
	@scripts/setup.sh build
	cmake --preset release
	$(call BUILD,release) --target bulkhash_program
	@scripts/run-ecoli.sh build/release/bin/bulkhash build

compare-kmers: ## Time that count against jellyfish and KMC (installs them).
	@scripts/setup.sh build peers
	cmake --preset release
	$(call BUILD,release) --target bulkhash_program
	@scripts/fetch-ecoli.sh build
	@scripts/compare-kmers.sh build/release/bin/bulkhash build/NC_008253.fna.gz

# pip asks no network when all of these versions are there.
compare-jobs: ## Time whole jobs against DuckDB, Polars, pandas, NumPy, jellyfish (installs them).
	@scripts/setup.sh build jobs
	cmake --preset release
	$(call BUILD,release) --target bulkhash_program --target example_join --target example_group_by --target example_graph
	@scripts/fetch-ecoli.sh build
	@test -x build/jobs-venv/bin/python || python3 -m venv build/jobs-venv
	@build/jobs-venv/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/compare-jobs.txt
	@build/jobs-venv/bin/python scripts/compare-jobs.py $(OPTIONS) build/release

# -U: looks for a C++ compiler again, which may have come with the peers.
results: ## Measure everything anew: docs/results, tables in README.md (installs peers).
	@scripts/setup.sh build test peers
	cmake --preset release -U CMAKE_CXX_COMPILER -DBULKHASH_COMPARED=ON
	$(call BUILD,release) --target bulkhash_program --target bulkhash_bench --target bulkhash_bench_lines
	@scripts/results.sh build/release

test: ## Build with and without sanitizers and run every test.
	@scripts/setup.sh
	cmake --preset asan
	cmake --preset tsan
	cmake --preset release $(STRICT)
	$(call BUILD,asan)
	$(call BUILD,tsan)
	$(call BUILD,release)
	$(call TEST,asan)
	$(call TEST,tsan)
	$(call TEST,release)

test-huge: ## Run the tests of very large tables and batches (minutes, much address space).
	@scripts/setup.sh
	cmake --preset release $(STRICT)
	$(call BUILD,release)
	ctest --test-dir build/release -C huge -L huge --no-tests=error --output-on-failure

# What docs/testing.md says is left out of `make test`, once; then the seeds.
test-long: ## Run what `make test` leaves out, then go on with fresh seeds for HOURS=0.5 (1).
	@scripts/setup.sh
	cmake --preset asan
	cmake --preset tsan
	cmake --preset release $(STRICT)
	$(call BUILD,asan)
	$(call BUILD,tsan)
	$(call BUILD,release)
	$(call TEST,asan) -C rest -L '^rest$$'
	$(call TEST,tsan) -C rest -L '^rest$$'
	$(call TEST,release) -C rest -L '^rest$$'
	@JOBS=$(JOBS) scripts/test-long.sh build/release $(HOURS)

sanitize-gpu: ## Run compute-sanitizer over small tables (where there is a GPU).
	@scripts/setup.sh
	cmake --preset release $(STRICT)
	$(call BUILD,release) --target bulkhash_cuda --target differential-random_ops --target unit-regions
	@scripts/sanitize-gpu.sh build/release

format: ## Lay out the sources as .clang-format says.
	@scripts/setup.sh
	@scripts/format.sh

clean: ## Remove everything that was built or downloaded.
	rm -rf build
