#!/usr/bin/env bash
# `make dist`: a tarball of the program that runs on any system with glibc 2.31 or newer, with all other libraries
# linked in. docs/decisions/0031-releases-are-linked-with-an-old-libc.md gives the reasons.
#
#   packaging/dist/make.sh FOLDER [JOBS]     writes FOLDER/pippin-VERSION-linux-MACHINE.tar.xz and prints its path
#
# FOLDER keeps the sysroot and the objects: a second run needs no network. DIST_MIRROR is a mirror of Debian's packages
# (default: http://deb.debian.org).
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$source/packaging/dist
jobs=${2:-$(nproc)}

fail() {
  echo "make dist: $*" >&2
  exit 1
}

# 300 MiB of sysroot, another 300 MiB while it is built, 300 MiB of objects.
"$source/packaging/needs.sh" "make dist" "$1" 1000 gcc-12 g++-12 cmake ninja:ninja-build python3 pkg-config \
  protoc:protobuf-compiler apt-get:apt dpkg-deb:dpkg dpkg-source:dpkg-dev ar:binutils strip:binutils xz:xz-utils tar gzip
folder=$(cd "$1" && pwd)
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
  fail "Debian's keys not found (its package debian-archive-keyring)"
# protobuf's compiler must have the same version as its library, which is Debian 12's.
protoc=$(protoc --version)
[[ $protoc == "libprotoc 3.21."* ]] || fail "needs protoc 3.21, as Debian 12 has it (here is $protoc)"

"$here/sysroot.sh" "$folder/sysroot" ${DIST_MIRROR:+"$DIST_MIRROR"}

launcher=()
! command -v ccache >/dev/null ||
  launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache")
build=$folder/build
"$source/packaging/configure.sh" "make dist" "$build" --preset release -S "$source" \
  --toolchain "$folder/sysroot/toolchain.cmake" -DPIPPIN_TESTS=OFF -DPIPPIN_BENCHMARKS=OFF -DPIPPIN_PYTHON=OFF \
  -DPIPPIN_CUDA_ARCHITECTURES=all \
  ${launcher[@]+"${launcher[@]}"}
echo "building pippin"
quiet=(-- --quiet)
! [ -t 2 ] || quiet=()
cmake --build "$build" --parallel "$jobs" --target pippin package_docs ${quiet[@]+"${quiet[@]}"} ||
  fail "cannot build in $build"

machine=$(uname -m)
program=$build/pippin/cli/pippin
read -r _ version commit _ < <("$program" --version)
name=pippin-$version-linux-$machine
root=$folder/root/$name
rm -rf "$folder/root"
docs=$build/packaging

install -D "$program" "$root/bin/pippin"
strip "$root/bin/pippin"
install -D -m 644 -t "$root" "$source/LICENSE" "$source/CHANGELOG.md"
sed "s/@version@/$version/; s/@machine@/$machine/; s/@commit@/${commit//[()]/}/" "$here/README.md" >"$root/README.md"
install -D -m 644 -t "$root/share/man/man1" "$docs"/man1/*.1.gz
install -D -m 644 -t "$root/share/bash-completion/completions" "$docs/bash/pippin"
install -D -m 644 -t "$root/share/zsh/site-functions" "$docs/zsh/_pippin"
install -D -m 644 -t "$root/share/fish/vendor_completions.d" "$docs/fish/pippin.fish"
mkdir -p "$root/share/doc/pippin"
{
  sed 's|On Debian systems the text is in .*|The text is in the file LICENSE.|; s|usr/bin/pippin|bin/pippin|' \
    "$source/packaging/copyright"
  printf '\n%s\n' "Within bin/pippin are parts of these packages of Debian (version, machine):"
  sed 's/^/  /' "$folder/sysroot/versions"
  printf '\n%s\n%s\n' "What Debian says of their licences follows. Boost's (BSL-1.0) asks for no text with programs." \
    "The text of Apache-2.0 is in the file LICENSE."
  for text in "$folder/sysroot/licences"/*; do
    [[ $text == *boost* ]] || { printf '\n==== %s\n\n' "${text##*/}"; cat "$text"; }
  done
} >"$root/share/doc/pippin/copyright"

# Reproducible: the same bytes for the same commit.
date=$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)
tar -C "$folder/root" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$date}" \
  --mode=u+rwX,go+rX,go-w -c "$name" | xz -9e -T1 >"$folder/$name.part" || fail "cannot write $folder/$name.part"
mv "$folder/$name.part" "$folder/$name.tar.xz"
rm -rf "$folder/root"
ls "$folder/$name.tar.xz"
