#!/usr/bin/env bash
# Checks, before a long build, that it can end: one line names the missing part.
#
#   packaging/needs.sh TARGET FOLDER MIB TOOL[:PACKAGE]...
#
# TARGET is the name in messages. FOLDER is made if it is absent, has to be writable and to have MIB free. Each TOOL has
# to be found; PACKAGE is Debian's name of the package that has it, if it is another one.
set -euo pipefail
target=$1 folder=$2 mib=$3
shift 3

fail() {
  echo "$target: $*" >&2
  exit 1
}

missing=()
packages=()
for tool in "$@"; do
  command -v "${tool%%:*}" >/dev/null && continue
  missing+=("${tool%%:*}")
  packages+=("${tool##*:}")
done
[ ${#missing[@]} -eq 0 ] || fail "${missing[*]} not found (Debian's packages: ${packages[*]})"

reason=$(mkdir -p "$folder" 2>&1) || fail "cannot make the folder $folder: ${reason##*: } (BUILD=FOLDER builds elsewhere)"
[ -w "$folder" ] || fail "cannot write to the folder $folder (BUILD=FOLDER builds elsewhere)"
free=$(($(df -Pk "$folder" | awk 'NR == 2 { print $4 }') / 1024))
[ "$free" -ge "$mib" ] || fail "$folder has $free MiB free, $mib are needed (BUILD=FOLDER builds elsewhere)"
