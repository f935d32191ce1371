#!/usr/bin/env bash
# Installs the .deb on a bare Debian 12 (a chroot made by debootstrap), and tests it: on the command line, in a chat and
# over HTTP; then the Python module's .deb if it is next to it. Prints the time from the start of the installation to
# the first answer. Needs root, debootstrap and a Debian mirror; status 77 means that something is missing.
#
#   tests/package/bare_debian.sh build/package/pippin_0.1.0_amd64.deb [MIRROR]
set -euo pipefail
package=$(realpath "$1")
skip() {
  echo "bare_debian: $1"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "needs debootstrap"
# The first of the system's mirrors that has "bookworm" itself.
mirror=${2:-$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | sed -n 's/ bookworm$//p' | head -n 1)}
[ -n "$mirror" ] || skip "knows no mirror of Debian"

root=$(mktemp -d "${TMPDIR:-/tmp}/pippin-debian.XXXXXX")
server=
end() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  umount "$root/proc" 2>/dev/null || true
  rm -rf "$root" "$root.log"
}
trap end EXIT
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 5 "$root.log"; exit 1; }
# The same mirror with the same apt settings.
cp -r /etc/apt/apt.conf.d "$root/etc/apt/"
[ ! -d /etc/apt/sources.list.d ] || rm -f "$root/etc/apt/sources.list"
cp /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null || true
cp -r /etc/apt/sources.list.d "$root/etc/apt/" 2>/dev/null || true
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mount -t proc proc "$root/proc"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
inside apt-get update -qq 2>/dev/null
cp "$package" "$root/pippin.deb"

start=$(date +%s.%N)
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /pippin.deb >"$root/install.log" 2>&1 || { cat "$root/install.log"; exit 1; }
answer=$(inside pippin run --no-stats -n 20 "Tell me a story about a fox.")
end=$(date +%s.%N)
[ ${#answer} -gt 20 ] || { echo "bare_debian: no answer: $answer"; exit 1; }
printf 'bare_debian: installed and answered after %.1f s\n' "$(echo "$end - $start" | bc 2>/dev/null || python3 -c "print($end - $start)")"

chat=$(echo "Tell me a story." | inside pippin chat --set num_predict=20)
[ ${#chat} -gt 20 ] || { echo "bare_debian: no chat: $chat"; exit 1; }

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
(exec chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/root pippin serve --port "$port" --quiet) &
server=$!
for _ in $(seq 100); do
  curl -sf "http://127.0.0.1:$port/health" >/dev/null && break
  sleep 0.1
done
curl -sf "http://127.0.0.1:$port/v1/chat/completions" -d '{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}' | grep -q '"content"'
curl -sf "http://127.0.0.1:$port/" | grep -q '<html'
kill "$server"
wait "$server" || { echo "bare_debian: the server ended with $?"; exit 1; }
server=
python=$(ls "$(dirname "$package")"/python3-pippin_*.deb 2>/dev/null || true)
if [ -n "$python" ]; then
  cp "$python" "$root/python3-pippin.deb"
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /python3-pippin.deb >"$root/install.log" 2>&1 || { cat "$root/install.log"; exit 1; }
  said=$(inside python3 -c 'import numpy; from pippin import lm; m, t = lm.load("demo"); print(lm.generate(m, t, "Once", max_tokens=8))')
  [ ${#said} -gt 8 ] || { echo "bare_debian: no text from Python: $said"; exit 1; }
  inside apt-get remove -y -qq python3-pippin >/dev/null 2>&1
  [ ! -e "$root/usr/lib/python3/dist-packages/pippin" ] || { echo "bare_debian: something of the Python module is left"; exit 1; }
fi
inside apt-get remove -y -qq pippin >/dev/null 2>&1
[ ! -e "$root/usr/bin/pippin" ] || { echo "bare_debian: something is left"; exit 1; }
echo "bare_debian: ok"
