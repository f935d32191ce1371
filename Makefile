# What a newcomer needs; everything else is CMake (CONTRIBUTING.md).
#
#   make demo    build pippin and let it tell a story
#   make test    build everything, run all tests
#   make build   build everything
#   make package build .debs of the program and of the Python module in build/package
#   make dist    build a tarball of the program that runs on any Linux with glibc 2.31 or later, in build/dist
#   make wheel   build a wheel of the Python module in build/wheels
#   make test-aarch64   build the dot kernels for AArch64 and run their tests under QEMU
#   make test-cuda      run the tests that need one of NVIDIA's GPUs, and measure it
#   make clean   remove build/
#
# SETUP=no leaves the system's packages alone. BUILD=FOLDER builds there instead of in build/, for sources that cannot
# be written to.

BUILD ?= build
RELEASE := $(BUILD)/release
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
# packaging/needs.sh TARGET FOLDER MIB TOOL..., packaging/configure.sh TARGET FOLDER OPTION...
TARGET := "make $(firstword $(MAKECMDGOALS) demo)"
NEEDS := packaging/needs.sh $(TARGET)
CONFIGURE := packaging/configure.sh $(TARGET)
TOOLS := cmake ninja:ninja-build c++:g++ python3 pkg-config protoc:protobuf-compiler

.PHONY: demo test package dist wheel test-aarch64 test-cuda build clean setup configure
.NOTPARALLEL:

demo: configure
	@echo "building pippin"
	@cmake --build "$(RELEASE)" --parallel $(JOBS) --target pippin $(QUIET)
	"$(RELEASE)/pippin/cli/pippin" run -n 200 "Tell me a story about a fox called Mia."

test: build
	@echo "running the tests"
	@TMPDIR=$$(tests/scratch.sh) ctest --preset $(PRESET) --test-dir "$(RELEASE)" --parallel $(TEST_JOBS) \
	  --no-tests=error --progress </dev/null; status=$$?; \
	  python3 -B tests/skipped.py "$(RELEASE)/Testing/Temporary/LastTest.log"; exit $$status

# Without the tests, which are not installed. The packages appear when all of them are complete.
package: setup
	@$(NEEDS) "$(BUILD)/package" 1000 $(TOOLS) dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev strip:binutils gzip
	@$(CONFIGURE) "$(BUILD)/package" --preset $(PRESET) -DPIPPIN_TESTS=OFF -DPIPPIN_BENCHMARKS=OFF \
	  -DPIPPIN_CUDA_ARCHITECTURES=all \
	  -DPIPPIN_PYTHON_STATIC=OFF -DPIPPIN_PYTHON_DIR=lib/python3/dist-packages $(LAUNCHER)
	@echo "building what is installed"
	@cmake --build "$(BUILD)/package" --parallel $(JOBS) --target all package_docs $(QUIET)
	@cd "$(BUILD)/package" && cpack -G DEB -B new >package.log 2>&1 || { cat package.log >&2; exit 1; }
	@rm -f "$(BUILD)/package"/*.deb && mv "$(BUILD)/package/new"/*.deb "$(BUILD)/package" && rm -rf "$(BUILD)/package/new"
	@ls "$(BUILD)/package"/*.deb

dist:
ifneq ($(SETUP),no)
	@./setup.sh --dist
endif
	@packaging/dist/make.sh "$(BUILD)/dist" $(JOBS)

wheel: setup
	@$(NEEDS) "$(BUILD)" 500 $(TOOLS)
	@echo "building the module"
	@python3 -B packaging/python/pippin_build.py "$(BUILD)/wheels" >"$(BUILD)/wheel.log" || \
	  { cat "$(BUILD)/wheel.log" >&2; exit 1; }
	@tail -n 1 "$(BUILD)/wheel.log"
	@python3 -B packaging/python/check_wheel.py "$$(tail -n 1 "$(BUILD)/wheel.log")"

# Not part of `test`: QEMU takes minutes. 77 says that something it needs is not installed.
test-aarch64:
	@tests/aarch64/run.sh || test $$? -eq 77

# Needs a build with nvcc; takes up to four minutes. 77 says that there is no GPU.
test-cuda: configure
	@cmake --build "$(RELEASE)" --parallel $(JOBS) --target pippin cuda_test cuda_limits $(QUIET)
	@tests/cuda/run.sh "$(RELEASE)/pippin/cli/pippin" "$(RELEASE)/pippin/cuda/cuda_test" || test $$? -eq 77
	@benchmarks/cuda/run.sh "$(RELEASE)/pippin/cli/pippin" "$(RELEASE)/benchmarks/pippin-cuda-limits" || test $$? -eq 77

build: configure
	@echo "building everything in $(RELEASE)"
	@cmake --build "$(RELEASE)" --parallel $(JOBS) $(QUIET)

configure: setup
	@$(NEEDS) "$(RELEASE)" 500 $(TOOLS)
	@$(CONFIGURE) "$(RELEASE)" --preset $(PRESET) $(LAUNCHER)
	@sed -n 's/^-- Python: /python: /p' "$(RELEASE)/configure.log"

setup:
ifneq ($(SETUP),no)
	@./setup.sh
endif

clean:
	rm -rf "$(BUILD)"
