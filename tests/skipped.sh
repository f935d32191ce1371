#!/bin/sh
# How many tests of a run of ctest were skipped: tests/skipped.sh build/release/Testing/Temporary/LastTest.log
# adds up the last lines of the test programs (pippin/base/testing_main.cpp).
set -eu
awk -F'[:,]' '/^skipped tests: [0-9]+, for want of shared data: [0-9]+$/ { skipped += $2; absent += $4 }
  END { printf "skipped tests: %d, for want of shared data: %d\n", skipped, absent }' "$1"
