#!/usr/bin/env bash
# Fails if a build took more CPU time (user + system, of all compilers and linkers) than .ci/build_time allows.
#
# usage: .ci/build_time.sh SECONDS
#
# Machines differ by more than any regression, so the file has two numbers: the seconds of a build, and those that the
# same machine took to compile .ci/reference.cpp. The latter is measured again here, and the allowance scales with it.
# To update the file after a change that is worth its time, copy the last line that this prints.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
allowance=1.15

# On all cores at once, like the build. Takes the least CPU time of several runs: other load only adds to it.
compile='c++ -std=c++20 -O2 -c -o /dev/null reference.cpp; times'
reference=$(for _ in 1 2 3; do
  for _ in $(seq "$(nproc)"); do
    bash -c "$compile" | awk -F'[ms ]' 'END { print $1 * 60 + $2 + $4 * 60 + $5 }' &
  done
  wait
done | sort -n | head -n 1)
read -r build then <build_time
awk -v took="$1" -v now="$reference" -v build="$build" -v then="$then" -v allowance="$allowance" 'BEGIN {
  expected = build * now / then
  printf "build: %.0f s of CPU time, %.0f %% of the %.0f s expected on this machine (at most %.0f %%)\n",
    took, 100 * took / expected, expected, 100 * allowance
  printf "build and reference, for .ci/build_time: %.0f %.2f\n", took, now
  exit took > allowance * expected
}'
