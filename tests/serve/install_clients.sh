#!/usr/bin/env bash
# Installs with npm, where they are not there yet, the packages that package.json names: the server's clients, koffi and Apple's
# declarations as NativeScript has them, into build/clients. With --agents also those of agents/package.json, Claude
# Code and Codex, which have 400 MB each, into build/agents.
#
#   tests/serve/install_clients.sh [--agents]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
with_agents=no
case "$*" in
  "") ;;
  --agents) with_agents=yes ;;
  *) echo "usage: tests/serve/install_clients.sh [--agents]" >&2; exit 2 ;;
esac
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  echo "install_clients: no npm here: the tests with clients will skip"
  exit 0
fi

# install PACKAGES FOLDER [OPTION]...: the file FOLDER/complete is there after npm could install all, its log in any case.
install() {
  local packages=$1 folder=$2
  shift 2
  if cmp -s "$packages" "$folder/package.json" && [ -e "$folder/complete" ]; then
    echo "install_clients: $folder is there"
    return
  fi
  mkdir -p "$folder"
  rm -f "$folder/complete"
  cp "$packages" "$folder/package.json"
  if npm install --prefix "$folder" --no-audit --no-fund --no-package-lock "$@" >"$folder/npm.log" 2>&1; then
    touch "$folder/complete"
  else
    tail -n 5 "$folder/npm.log" >&2
    echo "install_clients: npm could not install $packages: the tests with it will skip" >&2
  fi
}

install tests/serve/package.json build/clients --ignore-scripts
# Claude Code's own script puts the program of this system into its place.
if [ "$with_agents" = yes ]; then install tests/serve/agents/package.json build/agents; fi
