#!/usr/bin/env bash
# Checks, before a long build, that its requirements are met; names a missing one in one line.
#
#   packaging/needs.sh TARGET FOLDER MIB TOOL[:PACKAGE]...
#
# TARGET is the name in messages. FOLDER is created if it does not exist, and must be writable with MIB free. Each TOOL
# must be in PATH; PACKAGE is the Debian package with the tool, if its name differs.
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
