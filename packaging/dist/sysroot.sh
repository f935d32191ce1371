#!/usr/bin/env bash
# Builds the sysroot for compiling and linking releases: the C library of Debian 11, the oldest supported system, and
# static versions of all other libraries.
#
#   packaging/dist/sysroot.sh FOLDER [MIRROR]      MIRROR has debian/ and debian-security/ (default: http://deb.debian.org)
#
# Downloads packages from Debian (library archives, and sources of four libraries without a suitable archive). Needs
# neither root nor packages on this machine, except the compiler. A complete FOLDER is not changed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mirror=${2:-http://deb.debian.org}

# The C library: its headers and shared libraries.
libc=(libc6 libc6-dev linux-libc-dev)
# All other libraries: headers and archives.
libraries=(zlib1g-dev libbz2-dev liblzma-dev libpng-dev libjpeg62-turbo-dev libpcre2-dev libutf8proc-dev libyaml-cpp-dev
  libprotobuf-dev libssl-dev libboost1.74-dev nlohmann-json3-dev libcli11-dev)
# Libraries that the program loads when it needs them: only their headers.
loaded=(libsndfile1-dev libmpg123-dev libwebp-dev libgif-dev libheif-dev)
# Two packages with the licences of other packages, and the licence of GCC's own libraries.
licences=(libbz2-1.0 libprotobuf32 gcc-12-base)
# Debian has no archives of fmt, libzip and libsamplerate, and its archive of libcurl needs thirty further libraries.
sources=(fmtlib libzip libsamplerate curl)

fail() {
  echo "make dist: $*" >&2
  exit 1
}

# Hash of the scripts; if it differs, the folder is built again.
stamp=$(cat "$here"/{sysroot.sh,toolchain.cmake,older_libc.cpp} | sha256sum | cut -d ' ' -f 1)
[ "$(cat "$folder/complete" 2>/dev/null)" != "$stamp" ] || exit 0

mkdir -p "$folder.part" || fail "cannot write to $(dirname "$folder")"
work=$(cd "$folder.part" && pwd)
rm -rf "${work:?}"/*
root=$work/root
triplet=$(gcc-12 -print-multiarch)
mkdir -p "$root" "$work/debs" "$work/sources"

# run WHAT COMMAND...: writes the command's output to a file; shows one line on failure.
run() {
  local what=$1 status=0 line
  shift
  "$@" >"$work/log" 2>&1 </dev/null || status=$?
  [ "$status" -ne 0 ] || return 0
  line=$(grep -iE '^E:|error|no space|cannot' "$work/log" | head -n 1 | sed 's/^E: //' || true)
  [ "$status" -ne 124 ] || line="no end after 20 minutes"
  [ "$(df -Pk "$work" | awk 'NR == 2 { print $4 }')" -gt 10000 ] || line="the disk of $work is full"
  fail "cannot $what: ${line:-status $status} (all of it: $work/log)"
}

# from_debian SUITE COMMAND...: runs apt-get with that suite's packages and separate lists.
declare -A sources_of=([bullseye]="" [bookworm]=deb-src)
from_debian() {
  local suite=$1 lists=$work/apt-$1 kind part
  shift
  if [ ! -e "$lists/sources.list" ]; then
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    touch "$lists/status"
    for kind in deb ${sources_of[$suite]}; do
      for part in "debian $suite" "debian $suite-updates" "debian-security $suite-security"; do
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror/$part main"
      done
    done >"$lists/sources.new"
    mv "$lists/sources.new" "$lists/sources.list"
  fi
  # On a full disk, apt waits forever.
  timeout 1200 apt-get -qq -o "Dir::State=$lists" -o "Dir::State::Lists=$lists/lists" -o "Dir::State::status=$lists/status" \
    -o "Dir::Cache=$lists/cache" -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=- \
    -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any -o Acquire::Retries=2 "$@"
}

echo "downloading Debian's packages"
cd "$work/debs"
for suite in bullseye bookworm; do
  run "reach $mirror for $suite" from_debian "$suite" update
done
run "download Debian 11's C library" from_debian bullseye download "${libc[@]}"
run "download Debian 12's libraries" from_debian bookworm download "${libraries[@]}" "${loaded[@]}"
mkdir "$work/licences"
cd "$work/licences"
run "download licences" from_debian bookworm download "${licences[@]}"
cd "$work/sources"
run "download the sources of ${sources[*]}" from_debian bookworm source "${sources[@]}"

for package in "$work"/debs/*.deb; do
  run "unpack $(basename "$package")" dpkg-deb -x "$package" "$root"
done
# Absolute links would point to this machine's files. Then remove the shared libraries other than the C library's.
while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  [[ $target != /* ]] || ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$root$target")" "$link"
done < <(find "$root" -type l -print0)
find "$root" -xtype l -delete

sed "s/@triplet@/$triplet/" "$here/toolchain.cmake" >"$root/toolchain.cmake"

# build NAME OPTION...: builds the newest folder of sources/NAME-* and installs it into the root.
build() {
  local name=$1 source
  shift
  source=$(find "$work/sources" -maxdepth 1 -type d -name "$name-*")
  echo "building ${source##*/}"
  run "configure $name" cmake -G Ninja -S "$source" -B "$work/build/$name" --toolchain "$root/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR="lib/$triplet" "$@"
  run "build $name" cmake --build "$work/build/$name"
  run "install $name" env DESTDIR="$root" cmake --install "$work/build/$name"
}
build fmtlib -DFMT_DOC=OFF -DFMT_TEST=OFF
build libzip -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
  -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
build libsamplerate -DLIBSAMPLERATE_EXAMPLES=OFF -DBUILD_TESTING=OFF
# HTTP and HTTPS over IPv4, IPv6 and Unix sockets, with proxies: the subset that pippin/hub uses.
build curl -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF \
  -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DENABLE_MANUAL=OFF -DENABLE_THREADED_RESOLVER=ON \
  -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=/etc/ssl/certs

# Adds three functions that GCC 12's libraries need and glibc 2.31 lacks to libc_nonshared.a, where glibc keeps
# functions that are linked into every program. Done last, because configuring a library would take them for glibc's.
run "compile older_libc.cpp" g++-12 --sysroot="$root" -O2 -fPIC -fno-exceptions -fno-stack-protector -Wall -Wextra -Werror \
  -c "$here/older_libc.cpp" -o "$work/older_libc.o"
run "add to libc_nonshared.a" ar rs "$root/usr/lib/$triplet/libc_nonshared.a" "$work/older_libc.o"

# The licences of the linked libraries, one file each.
mkdir "$root/licences"
for package in "$work"/licences/*.deb; do
  run "unpack $(basename "$package")" dpkg-deb -x "$package" "$work/licences"
done
for package in libc6 "${libraries[@]}" "${licences[@]}"; do
  for text in "$root/usr/share/doc/$package/copyright" "$work/licences/usr/share/doc/$package/copyright"; do
    [ ! -e "$text" ] || cp "$text" "$root/licences/$package"
  done
done
for name in "${sources[@]}"; do
  cp "$work/sources/$name"-*/debian/copyright "$root/licences/$name"
done
# The downloaded packages: name, version and architecture.
(cd "$work/debs" && printf '%s\n' *.deb; cd "$work/sources" && printf '%s\n' *.dsc) | sed 's/%3a/:/; s/_/ /g; s/[.]d[a-z]*$//' \
  >"$root/versions"

echo "$stamp" >"$root/complete"
rm -rf "$folder"
mv "$root" "$folder"
rm -rf "$work"
