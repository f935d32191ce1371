#!/usr/bin/env bash
# Installs the packages in package.json with npm into build/clients, unless they are there: the server's clients, koffi
# and NativeScript's form of Apple's declarations. With --agents also installs those of agents/package.json, Claude Code
# and Codex, of 400 MB each, into build/agents.
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

# install PACKAGES FOLDER [OPTION]...: creates FOLDER/complete if npm installed everything; always writes npm's log.
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
# Claude Code's own script installs the program for this system.
if [ "$with_agents" = yes ]; then install tests/serve/agents/package.json build/agents; fi
