#!/bin/bash
# Installs the release VERSION of REPOSITORY whose tarball has that SHA256, unless PROGRAM is given. RECIPE is the
# recipe.
set -euo pipefail

if [ -z "$PROGRAM" ]; then
  if [ -z "$VERSION" ] || [ -z "$SHA256" ]; then
    echo "::error::give version and sha256 of a release, or program"
    exit 2
  fi
  name="pippin-$VERSION-linux-$(uname -m)"
  folder="${RUNNER_TEMP:?}/pippin"
  mkdir -p "$folder"
  curl -fsSL --retry 5 -o "$folder/$name.tar.xz" \
    "${GITHUB_SERVER_URL:?}/$REPOSITORY/releases/download/v$VERSION/$name.tar.xz"
  echo "$SHA256  $folder/$name.tar.xz" | sha256sum --check --quiet
  tar -C "$folder" -xf "$folder/$name.tar.xz"
  PROGRAM="$folder/$name/bin/pippin"
fi
"$PROGRAM" --version
# The folder of the recipe's results, to cache it.
output="$(sed -n 's/^output: *//p' "$RECIPE" | head -n 1)"
[ -n "$output" ] || output="$(basename "${RECIPE%.*}")-release"
{
  echo "program=$PROGRAM"
  echo "output=$(dirname "$RECIPE")/$output"
} >>"$GITHUB_OUTPUT"
