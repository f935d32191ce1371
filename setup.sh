#!/usr/bin/env bash
# Installs what Pippin is built from, with apt (Debian 12 and later, Ubuntu 24.04 and later) or Homebrew. Packages
# that are there already are left alone; with none missing it needs neither root nor a network.
#
#   ./setup.sh           to build and test
#   ./setup.sh --lint    also clang, its sanitizers, formatter, linter and standard library, at the version that CI uses,
#                        what checks the interfaces of C and Python (abigail's tools, mypy), GNUstep, for the tests of
#                        the Core ML device, HAProxy, for the test of replicas, and Open MPI, for models over several
#                        machines
#   ./setup.sh --browser also what the page is tested with
#   ./setup.sh --dist    also what `make dist` needs: Debian 12's compiler, and the keys of its archive
set -euo pipefail

packages=(
  build-essential cmake ninja-build git ca-certificates curl pkg-config python3
  protobuf-compiler libprotobuf-dev
  nlohmann-json3-dev libcli11-dev libfmt-dev
  libpcre2-dev libutf8proc-dev libzip-dev zlib1g-dev libpng-dev libjpeg-dev libyaml-cpp-dev libcurl4-openssl-dev libssl-dev libboost-dev
  libsndfile1-dev libsamplerate0-dev libmpg123-dev
  libwebp-dev libgif-dev libheif-dev
  node-markdown-it
  python3-dev python3-numpy python3-venv pybind11-dev
  libgtest-dev libgmock-dev libbenchmark-dev libonig-dev libboost-context-dev
)
for argument in "$@"; do
  case "$argument" in
    --lint) packages+=(clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 libc++-dev libc++abi-dev abigail-tools mypy
      libgnustep-base-dev libblocksruntime-dev haproxy openmpi-bin libopenmpi-dev) ;;
    --browser) packages+=(chromium fonts-inter) ;;
    --dist) packages+=(gcc-12 g++-12 dpkg-dev xz-utils debian-archive-keyring) ;;
    *)
      echo "setup.sh: unknown argument $argument (there are --lint, --browser and --dist)" >&2
      exit 2
      ;;
  esac
done

if [ "$(uname)" = Darwin ] && command -v brew >/dev/null; then
  # Those that are there already need no network. libcurl is the system's; the page's markdown-it is in no formula.
  brew_packages=(cmake ninja pkgconf python3 numpy pybind11 protobuf nlohmann-json cli11 fmt pcre2 utf8proc libzip libpng
    jpeg-turbo yaml-cpp openssl@3 boost libsndfile libsamplerate mpg123 webp giflib libheif googletest google-benchmark
    oniguruma)
  absent=()
  for package in "${brew_packages[@]}"; do
    brew list --formula "$package" >/dev/null 2>&1 || absent+=("$package")
  done
  if [ ${#absent[@]} -eq 0 ]; then
    echo "setup: everything is installed"
  else
    brew install "${absent[@]}"
  fi
  exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt here; install these yourself, then build with SETUP=no: ${packages[*]}" >&2
  exit 1
fi

# dpkg-query fails where one is unknown; what counts is its list.
installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: everything is installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: neither root nor sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"; }
# A repository of some third party may be down: what matters is whether the packages can be had.
apt update >"$log" 2>&1 </dev/null || true
if ! apt install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "setup.sh: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
