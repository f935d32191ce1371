#!/bin/sh
# Builds kernels and their tests for AArch64 with a cross compiler and runs them under QEMU, on
# processors with and without the instructions that determine the choice of kernels.
#
#   tests/aarch64/run.sh [FAMILY ...]     folders of pippin/kernels; default: dot e4m7 quantized_dot quantize
#
# Needs g++-12-aarch64-linux-gnu (or CXX), qemu-user, libfmt-dev and googletest's sources
# (/usr/src/googletest). If one of them is missing, it says so and exits with 77: skipped.
# Objects are kept in the folder PIPPIN_AARCH64_BUILD (default build/aarch64).
set -eu
cd "$(dirname "$0")/../.."
out=${PIPPIN_AARCH64_BUILD:-build/aarch64}
cxx=${CXX:-aarch64-linux-gnu-g++-12}
googletest=/usr/src/googletest/googletest
jobs=${JOBS:-$(nproc)}
families=${*:-dot e4m7 quantized_dot quantize}

skip() {
  echo "skipped: $1" >&2
  exit 77
}
command -v "$cxx" >/dev/null || skip "no cross compiler $cxx (apt-get install g++-12-aarch64-linux-gnu)"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "no qemu-aarch64 (apt-get install qemu-user)"
[ -d "$googletest" ] || skip "no sources in $googletest (apt-get install googletest)"
[ -d /usr/include/fmt ] || skip "no headers in /usr/include/fmt (apt-get install libfmt-dev)"

mkdir -p "$out/include"
ln -sfn /usr/include/fmt "$out/include/fmt"

# One line for each object: source, flags. The flags of instruction sets follow isa.cmake.
list() {
  echo "$googletest/src/gtest-all.cc -O1 -I$googletest"
  echo "$googletest/src/gtest_main.cc -O1"
  for file in call_context cpu_features error log numbers/float_convert platform/cgroup_linux platform/cpu_limit_linux \
    platform/cpus_linux threads/cancel threads/fork threads/thread threads/thread_pool; do
    echo "pippin/base/$file.cpp -O2"
  done
  for family in $families; do
    for file in "pippin/kernels/$family"/*.cpp; do
      case $file in
        */x86_* | *_benchmark.cpp) ;;
        *_test.cpp) echo "$file -O1" ;;
        */arm_neoni8mm*) echo "$file -O3 -fno-exceptions -march=armv8.2-a+dotprod+i8mm" ;;
        */arm_neondot*) echo "$file -O3 -fno-exceptions -march=armv8.2-a+dotprod" ;;
        */arm_*) echo "$file -O3 -fno-exceptions" ;;
        *) echo "$file -O2" ;;
      esac
    done
  done
}

# Compiles objects that are older than the newest header.
newest=$(find pippin/base pippin/kernels -name '*.h' -o -name '*.inc' | xargs ls -t | head -n 1)
compile() {
  source=$1
  shift
  object=$out/$(echo "$source" | tr / _).o
  if [ -e "$object" ] && [ "$object" -nt "$source" ] && [ "$object" -nt "$newest" ]; then return; fi
  "$cxx" -std=c++20 -Wall -Wextra -DFMT_HEADER_ONLY -I. -I"$out/include" \
    -isystem /usr/src/googletest/googletest/include "$@" -c "$source" -o "$object"
}
running=0
list >"$out/sources"
while read -r source flags; do
  # shellcheck disable=SC2086
  (compile "$source" $flags || touch "$out/failed") &
  running=$((running + 1))
  if [ "$running" -ge "$jobs" ]; then wait; running=0; fi
done <"$out/sources"
wait
if [ -e "$out/failed" ]; then rm "$out/failed"; exit 1; fi
objects=$(while read -r source flags; do echo "$out/$(echo "$source" | tr / _).o"; done <"$out/sources")
# shellcheck disable=SC2086
"$cxx" -static $objects -o "$out/kernels_test" -lpthread

# cortex-a72: no dot product; cortex-a76: dot product; max: i8mm as well. Each kernel that the
# processor can run is compared with the scalar reference. The tests list the tables of quantized_dot/ that
# it can run, best first: the first must be the one for its instructions.
for pair in cortex-a72:quantized_dot_neon cortex-a76:quantized_dot_neondot max:quantized_dot_neoni8mm; do
  cpu=${pair%:*}
  best=${pair#*:}
  echo "== $cpu"
  case " $families " in
    *" quantized_dot "*)
      found=$("$qemu" -cpu "$cpu" "$out/kernels_test" --gtest_list_tests \
        --gtest_filter='*/QuantizeRows.*' | grep -o 'quantized_dot_[a-z0-9]*' | head -n 1)
      echo "quantized_dot: $found"
      [ "$found" = "$best" ] || { echo "expected $best" >&2; exit 1; }
      ;;
  esac
  "$qemu" -cpu "$cpu" "$out/kernels_test" --gtest_brief=1
done
