#!/bin/sh
# Prints the folder for tests' files: TMPDIR, else memory if there is enough, else /tmp. Tests write thousands of small
# packages, and on a slow disk they would mostly wait for it.
at_least() { # KILOBYTES NEEDED
  [ "${1:-0}" -ge "$2" ] 2>/dev/null
}
if [ -n "${TMPDIR:-}" ]; then
  echo "$TMPDIR"
elif [ -w /dev/shm ] && at_least "$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')" 6000000 &&
  at_least "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null)" 10000000; then
  echo /dev/shm
else
  echo /tmp
fi
