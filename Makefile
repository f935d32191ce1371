# What a newcomer needs; everything else is CMake (CONTRIBUTING.md).
#
#   make demo    build pippin and let it tell a story
#   make test    build everything, run all tests
#   make build   build everything
#   make package build .debs of the program and of the Python module in build/package
#   make wheel   build a wheel of the Python module in build/wheels
#   make test-aarch64   build the dot kernels for AArch64 and run their tests under QEMU
#   make clean   remove build/
#
# SETUP=no leaves the system's packages alone.

# On a Mac with Homebrew's packages; both build in build/release.
PRESET := $(if $(filter Darwin,$(shell uname)),macos,release)
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Some tests wait for servers on purpose.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
# ccache has to be told that macros and times in precompiled headers are no reason to compile again.
CCACHE := env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache
LAUNCHER := $(if $(shell command -v ccache),"-DCMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE)")
# On a terminal ninja shows its progress in one line; in a log it would fill pages.
QUIET := $(shell test -t 2 || echo -- --quiet)

.PHONY: demo test package wheel test-aarch64 build clean setup configure
.NOTPARALLEL:

demo: configure
	@echo "building pippin"
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target pippin $(QUIET)
	build/release/pippin/cli/pippin run -n 200 "Tell me a story about a fox called Mia."

test: build
	@echo "running the tests"
	@TMPDIR=$$(tests/scratch.sh) ctest --preset $(PRESET) --parallel $(TEST_JOBS) --no-tests=error --progress </dev/null; status=$$?; \
	  python3 -B tests/skipped.py build/release/Testing/Temporary/LastTest.log; exit $$status

# Without the tests, which nobody installs.
package: setup
	@mkdir -p build/package
	@cmake --preset $(PRESET) -B build/package -DPIPPIN_TESTS=OFF -DPIPPIN_BENCHMARKS=OFF \
	  -DPIPPIN_PYTHON_STATIC=OFF -DPIPPIN_PYTHON_DIR=lib/python3/dist-packages \
	  $(LAUNCHER) >build/package/configure.log 2>&1 || \
	  { cat build/package/configure.log >&2; exit 1; }
	@echo "building what is installed"
	@cmake --build build/package --parallel $(JOBS) --target all package_docs $(QUIET)
	@cd build/package && cpack -G DEB >package.log 2>&1 || { cat package.log >&2; exit 1; }
	@ls build/package/*.deb

wheel: setup
	@mkdir -p build
	@echo "building the module"
	@python3 -B packaging/python/pippin_build.py build/wheels >build/wheel.log || { cat build/wheel.log >&2; exit 1; }
	@tail -n 1 build/wheel.log
	@python3 -B packaging/python/check_wheel.py "$$(tail -n 1 build/wheel.log)"

# Not part of `test`: QEMU takes minutes. 77 says that something it needs is not installed.
test-aarch64:
	@tests/aarch64/run.sh || test $$? -eq 77

build: configure
	@echo "building everything in build/release"
	@cmake --build --preset $(PRESET) --parallel $(JOBS) $(QUIET)

configure: setup
	@mkdir -p build/release
	@cmake --preset $(PRESET) $(LAUNCHER) >build/release/configure.log 2>&1 || \
	  { cat build/release/configure.log >&2; exit 1; }
	@sed -n 's/^-- Python: /python: /p' build/release/configure.log

setup:
ifneq ($(SETUP),no)
	@./setup.sh
endif

clean:
	rm -rf build
