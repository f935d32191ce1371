#!/usr/bin/env bash
# `make test-cuda`: the tests that need one of NVIDIA's GPUs.
#
#   tests/cuda/run.sh [PIPPIN [CUDA_TEST]]
#
# PIPPIN      the program (default: build/release/pippin/cli/pippin)
# CUDA_TEST   the test program (default: build/release/pippin/cuda/cuda_test); without it that part is left out
# Both may be copies on a machine without a build. Needs no network; takes about a minute. The exit status is 77 if no
# GPU can be used.
#
# PIPPIN_CUDA_TEST_DEVICE=0   the GPU
# SANITIZER=compute-sanitizer   where that is installed, it watches tiny models (memcheck, racecheck)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pippin=${1:-$root/build/release/pippin/cli/pippin}
cuda_test=${2:-$root/build/release/pippin/cuda/cuda_test}
sanitizer=${SANITIZER:-compute-sanitizer}
export PIPPIN_CUDA_TEST_DEVICE=${PIPPIN_CUDA_TEST_DEVICE:-0}
backend=cuda:$PIPPIN_CUDA_TEST_DEVICE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIPPIN_CACHE=$work/cache
failed=0

[ -x "$pippin" ] || { echo "$pippin: no such program" >&2; exit 1; }
devices=$("$pippin" devices)
echo "$devices"
if ! grep -q "^$backend " <<<"$devices" || grep -q '^cuda  .*cannot be used' <<<"$devices"; then
  echo "no GPU found that can be used: nothing was tested"
  exit 77
fi

# check NAME COMMAND...: prints a line, and the end of the output if COMMAND failed.
check() {
  local name=$1 begin=$SECONDS
  shift
  if timeout -k 5 120 "$@" >"$work/log" 2>&1; then
    echo "ok      $name ($((SECONDS - begin)) s)"
  else
    echo "FAILED  $name: status $?"
    tail -n 20 "$work/log" | sed 's/^/        /'
    failed=1
  fi
}

# on_gpu COMMAND...: runs `pippin COMMAND... --backend`, and fails if the CPU took over.
on_gpu() {
  "$pippin" "$@" --backend "$backend" 2>"$work/warnings" || { cat "$work/warnings"; return 1; }
  ! grep 'runs on the CPU' "$work/warnings"
}

# same_text OPTION...: the GPU writes the CPU's text.
same_text() {
  local here there
  here=$("$pippin" run --temp 0 -n 100 --no-stats --no-cache "$@")
  there=$(on_gpu run --temp 0 -n 100 --no-stats --no-cache "$@") || { echo "$there"; return 1; }
  [ "$here" = "$there" ] || { printf 'cpu:  %s\n%s: %s\n' "$here" "$backend" "$there"; return 1; }
}

# close PACKAGE PRECISION: the logits are the CPU's, up to rounding.
close() {
  local limits=(--max-kl 1e-7 --min-top1 99.9 --same-greedy)
  [ "$2" = exact ] || limits=(--max-kl 1e-2)
  on_gpu verify "$1" --against "$1" --ids "$ids" --precision "$2" --no-cache "${limits[@]}"
}

# together PACKAGE: all sizes of prompts and numbers of sequences run.
together() {
  on_gpu bench "$1" -p 64,300 -n 16 -d 0,100 --parallel 1,2,7 -r 1 --no-cache
}

if [ -x "$cuda_test" ]; then
  check "cuda_test" "$cuda_test" --gtest_brief=1
else
  echo "left out: cuda_test ($cuda_test)"
fi

demo=$root/pippin/demo/model
prompt="Tell me a story about a fox called Mia."
ids=$(seq -s, 3 7 400)
forms=("fp16:" "int4:--quantize int4" "int8:--quantize int8" "palette:--palettize 4")
for form in "${forms[@]}"; do
  name=${form%%:*}
  # shellcheck disable=SC2086
  "$pippin" convert "$demo" -o "$work/$name.mlpackage" ${form#*:} >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
check "text of the demo model, exact" same_text --precision exact "$prompt"
for form in "${forms[@]}"; do
  name=${form%%:*}
  for precision in exact fast; do
    check "verify against the CPU: $name, $precision" close "$work/$name.mlpackage" $precision
  done
done
check "prompts, depths and sequences together" together "$work/int4.mlpackage"

if command -v "$sanitizer" >/dev/null; then
  for tool in memcheck racecheck; do
    for name in fp16 int4; do
      check "compute-sanitizer $tool: $name" "$sanitizer" --tool $tool --error-exitcode 9 \
        "$pippin" run "$work/$name.mlpackage" --backend "$backend" --temp 0 -n 6 --no-stats --no-cache "$prompt"
    done
  done
else
  echo "left out: memcheck and racecheck (no $sanitizer)"
fi
echo "$SECONDS s"
exit $failed
