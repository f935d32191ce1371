#!/usr/bin/env bash
# Configures a build with CMake. Writes the output to FOLDER/configure.log; shows one line on failure.
#
#   packaging/configure.sh TARGET FOLDER OPTION...
#
# TARGET is the name in messages, FOLDER the build folder.
set -euo pipefail
target=$1 folder=$2
shift 2

mkdir -p "$folder"
log=$folder/configure.log
cmake -B "$folder" "$@" >"$log" 2>&1 </dev/null && exit 0

# The first error: the text after the colon, and the indented lines below.
error=$(awk '
  /^CMake Error/ && !inside { inside = 1; sub(/^CMake Error(:| (at|in) .*:$)/, ""); text = $0; next }
  inside && /^[^ ]/ { exit }
  inside { text = text " " $0 }
  END { gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text); print text }' "$log")
if [ -z "$error" ]; then
  cat "$log" >&2
  error="cmake failed"
fi
echo "$target: $error (all of it: $log)" >&2
exit 1
