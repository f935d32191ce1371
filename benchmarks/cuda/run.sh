#!/usr/bin/env bash
# Speed of `pippin bench --backend cuda` on models with random weights, next to the limits of the GPU, as a table.
#
#   benchmarks/cuda/run.sh [PIPPIN [LIMITS]]
#
# PIPPIN   the program (default: build/release/pippin/cli/pippin)
# LIMITS   pippin-cuda-limits (default: build/release/benchmarks/pippin-cuda-limits; without it no limits are printed)
# Both may be copies on a machine without a build. Needs no network. The exit status is 77 if no GPU can be used.
#
# SECONDS_LIMIT=150   parts that would begin later are left out, and named
# SHAPES="1.3b-int4 1.3b-fp16 7b-int4 7b-fp16"
# LLAMA_BENCH=FILE    llama.cpp's llama-bench, which then measures
# LLAMA_GGUF="FILE ..." these files, and so does PIPPIN
# OUT=FOLDER          keeps the reports as JSON
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pippin=${1:-$root/build/release/pippin/cli/pippin}
limits=${2:-$root/build/release/benchmarks/pippin-cuda-limits}
limit=${SECONDS_LIMIT:-150}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$work/out}
mkdir -p "$out"
# Random weights are written here; main memory is faster than a disk.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 20000000 ] 2>/dev/null; then
  export TMPDIR=/dev/shm
fi

[ -x "$pippin" ] || { echo "$pippin: no such program" >&2; exit 1; }
devices=$("$pippin" devices)
echo "$devices"
if ! grep -q '^cuda:' <<<"$devices" || grep -q '^cuda  .*cannot be used' <<<"$devices"; then
  echo "no GPU found that can be used: nothing was measured"
  exit 77
fi

# part SECONDS NAME COMMAND...: runs COMMAND with its output in $out/NAME.json, if there is time left.
part() {
  local left=$((limit - SECONDS)) seconds=$1 name=$2
  shift 2
  if [ "$left" -lt 10 ]; then
    echo "$name: left out, no time left" >&2
    return 1
  fi
  [ "$left" -ge "$seconds" ] || seconds=$left
  if ! timeout -k 5 "$seconds" "$@" >"$out/$name.part" 2>"$out/$name.log"; then
    echo "$name: failed or took more than $seconds s: $(tail -n 1 "$out/$name.log")" >&2
    return 1
  fi
  mv "$out/$name.part" "$out/$name.json"
  if grep -q '"device": "cpu"' "$out/$name.json"; then
    echo "$name: ran on the CPU: $(tail -n 1 "$out/$name.log")" >&2
    return 1
  fi
}

# numbers FILE: "test tokens/s bytes-per-token" for each result of `pippin bench --json`.
numbers() {
  awk -F'[:,]' '
    { gsub(/[" ]/, "", $1); gsub(/[" ]/, "", $2) }
    $1 == "weight_bytes_per_token" { bytes = $2 }
    $1 == "test" { test = $2 }
    $1 == "median_tokens_per_second" { print test, $2, bytes }' "$1"
}

read=0
if [ -x "$limits" ] && part 30 limits "$limits"; then
  cat "$out/limits.json"
  read=$(sed 's/.*"read_bytes_per_second": \([^,}]*\).*/\1/' "$out/limits.json")
fi

row() { printf '| %-24s | %-18s | %10s | %10s | %9s |\n' "$@"; }
rule='| ------------------------ | ------------------ | ---------: | ---------: | --------: |'
echo
row "model" "test" "tokens/s" "llama.cpp" "of limit"
echo "$rule"

# rows NAME LABEL [LLAMA.json]: the rows of a model. A limit is said of the decoding of one sequence, where each token
# reads all weights once.
rows() {
  local test speed bytes share llama
  while read -r test speed bytes; do
    share=""
    if [[ $test == tg* && $test != *x* ]] && [ "$read" != 0 ]; then
      share=$(awk -v s="$speed" -v b="$bytes" -v r="$read" 'BEGIN { printf "%.0f %%", 100 * s * b / r }')
    fi
    llama=""
    if [ -n "${3:-}" ]; then
      llama=$(awk -v test="$test" '
        BEGIN { RS = "}" }
        function number(key) { return match($0, "\"" key "\": *[0-9.]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
        { depth = number("n_depth"); suffix = depth ? "@d" depth : ""
          name = number("n_prompt") ? "pp" number("n_prompt") suffix : "tg" number("n_gen") suffix
          if (name == test) printf "%.1f", number("avg_ts") }' "$3")
    fi
    row "$2" "$test" "$(printf %.1f "$speed")" "$llama" "$share"
  done < <(numbers "$out/$1.json")
}

for shape in ${SHAPES:-1.3b-int4 7b-int4 1.3b-fp16 7b-fp16}; do
  form=(--quantize int4)
  [[ $shape != *fp16 ]] || form=()
  # Weights that use all bits of fp16: those of bf16 would be stored in fewer.
  config=$work/llama-${shape%%-*}.json
  sed 's/bfloat16/float16/' "$root/benchmarks/peers/shapes/llama-${shape%%-*}.json" >"$config"
  if part 100 "$shape" "$pippin" bench "$config" --random-weights ${form[@]+"${form[@]}"} --backend cuda --context 4096 \
    -p 512 -n 128 -d 0,2048 -r 3 --no-cache --json; then
    rows "$shape" "$shape"
  fi
  if [ "$shape" = 1.3b-int4 ] &&
    part 60 "$shape-8" "$pippin" bench "$config" --random-weights "${form[@]}" --backend cuda --context 4096 -p 0 -n 64 \
      --parallel 8 -r 3 --no-cache --json; then
    rows "$shape-8" "$shape"
  fi
done

for file in ${LLAMA_GGUF:-}; do
  name=$(basename "$file" .gguf)
  llama=""
  if [ -n "${LLAMA_BENCH:-}" ] && part 60 "$name-llama" "$LLAMA_BENCH" -m "$file" -ngl 999 -p 512 -n 128 -r 3 -o json; then
    llama=$out/$name-llama.json
  fi
  if part 60 "$name" "$pippin" bench "$file" --backend cuda -p 512 -n 128 -r 3 --no-cache --json; then
    rows "$name" "$name" "$llama"
  fi
done
echo "$SECONDS s"
