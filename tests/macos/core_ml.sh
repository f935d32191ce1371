#!/bin/sh
# On a Mac: the demo model, converted in every family, through Core ML on every compute unit.
#
#   tests/macos/core_ml.sh PIPPIN
#
# Prints each text next to that of Pippin's own engine, and Core ML's plan (macOS 14.4). The status is 1 if a run fails
# or begins with other words: with fp16, later words may differ.
set -eu
pippin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$(dirname "$0")/../../pippin/demo/model
prompt="Once upon a time"
failed=0

first_words() {
  tr -s '[:space:]' ' ' <"$1" | cut -d' ' -f1-6
}

for family in stateful anemll windowed; do
  package=$work/$family
  [ "$family" = stateful ] && package=$package.mlpackage
  "$pippin" convert "$model" --family "$family" -o "$package"
  status=0
  "$pippin" doctor "$package" >"$work/doctor.txt" || status=$?
  echo "== $family: doctor ends with $status"
  "$pippin" run "$package" -n 40 "$prompt" >"$work/cpu.txt" 2>/dev/null
  echo "engine: $(cat "$work/cpu.txt")"
  for units in cpuOnly cpuAndGPU cpuAndNeuralEngine all; do
    if ! "$pippin" run "$package" --backend coreml --compute-units "$units" -n 40 "$prompt" \
      >"$work/coreml.txt" 2>"$work/errors.txt"; then
      echo "$units: FAILED"
      cat "$work/errors.txt"
      failed=1
      continue
    fi
    echo "$units: $(cat "$work/coreml.txt")"
    cat "$work/errors.txt"
    if [ "$(first_words "$work/cpu.txt")" != "$(first_words "$work/coreml.txt")" ]; then
      echo "$units: OTHER WORDS"
      failed=1
    fi
  done
  for part in "$package" "$package"/*.mlpackage; do
    [ -f "$part/Manifest.json" ] || continue
    echo "plan of $(basename "$part")"
    "$pippin" inspect "$part" --compute-plan --backend coreml 2>&1 | grep '^function\|^pippin' || true
  done
done
exit $failed
