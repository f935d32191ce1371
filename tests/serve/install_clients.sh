#!/usr/bin/env bash
# Installs what package.json names, the server's clients, koffi and Apple's declarations as NativeScript has them, into build/clients, with npm, where they are not there yet.
#
#   tests/serve/install_clients.sh [--agents]
#
# --agents: Claude Code as well, which has 400 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  echo "install_clients: no npm here: the tests with clients will skip"
  exit 0
fi
folder=build/clients
agents=()
if [ "${1:-}" = --agents ]; then agents=(@anthropic-ai/claude-code@2.1.332); fi
install_agents() {
  # Its own script puts the program of this system into its place.
  [ ${#agents[@]} -eq 0 ] || npm install --prefix "$folder" --no-audit --no-fund --no-save --no-package-lock "${agents[@]}"
}
if cmp -s tests/serve/package.json "$folder/package.json" && [ -d "$folder/node_modules/openai" ]; then
  echo "install_clients: they are there"
  install_agents
  exit 0
fi
mkdir -p "$folder"
cp tests/serve/package.json "$folder/"
if ! npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts --no-package-lock >"$folder/npm.log" 2>&1; then
  tail -n 5 "$folder/npm.log" >&2
  rm -f "$folder/package.json"
  echo "install_clients: npm could not install them: the tests with clients will skip" >&2
fi
install_agents
