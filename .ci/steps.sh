# Shared by .ci/run and .ci/whole; sourced in the root of the project.
exec </dev/null
export CI=true
# With shared data, a test that does not find its data fails.
shared=${PIPPIN_SHARED:-$PWD/../shared}
have_shared=0
[ ! -d "$shared" ] || have_shared=1
export PIPPIN_REQUIRE_SHARED=${PIPPIN_REQUIRE_SHARED:-$have_shared}
TMPDIR=$(tests/scratch.sh)
export TMPDIR
jobs=$(nproc)
# Kernels that instantiate AVX2's templates with other vectors.
rare_kernels='/x86_(avxvnni|vnni256|avx512[a-z0-9]*)[.]cpp$'
launcher=()
command -v ccache >/dev/null &&
  launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache")

step() {
  echo
  echo "== $* (after $((SECONDS / 60)) min $((SECONDS % 60)) s)"
}

# cpu_seconds: sets cpu to the user and system time of all processes that this shell has waited for. It does not print
# it, because the subshell of $(cpu_seconds) has waited for none.
cpu_seconds() {
  times >"$TMPDIR/times.$$"
  cpu=$(awk -F'[ms ]' 'END { printf "%.0f\n", $1 * 60 + $2 + $4 * 60 + $5 }' "$TMPDIR/times.$$")
  rm -f "$TMPDIR/times.$$"
}

# first_python: puts a bare interpreter, without NumPy and separate headers, first in PATH, as on machines with a
# version manager. The build must find the one that setup.sh equips.
first_python() {
  bare=$(mktemp -d)
  trap 'rm -rf "$bare"' EXIT
  /usr/bin/python3 -m venv --without-pip "$bare/python"
  PATH=$bare/python/bin:$PATH
}

# configure PRESET FOLDER OPTION...
configure() {
  mkdir -p "$2"
  cmake --preset "$1" -B "$2" "${@:3}" >"$2/configure.log" 2>&1 || { cat "$2/configure.log"; exit 1; }
}

# build PRESET TARGET... with precompiled headers: the lint reads every file without.
build() {
  configure "$1" "build/$1" -DPIPPIN_PRECOMPILED_HEADERS=ON ${launcher[@]+"${launcher[@]}"}
  cmake --build "build/$1" --parallel "$jobs" --target "${@:2}" -- --quiet
}

# run_tests PRESET OPTION...
run_tests() {
  ctest --preset "$1" --parallel "$jobs" --no-tests=error "${@:2}"
}

# programs PRESET NAME...: builds these test programs, and runs their tests.
programs() {
  build "$@"
  local names="${*:2}"
  run_tests "$1" -R "^(${names// /|})$"
}
