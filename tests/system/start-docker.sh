#!/bin/sh
# Start a Docker engine when none answers, and wait until it does. Needs root; harmless to repeat.
# usage: start-docker.sh [LOG]
set -eu

log=${1:-${TMPDIR:-/tmp}/dockerd.log}
answers() { docker info >/dev/null 2>&1; }

answers && exit 0
command -v dockerd >/dev/null || { echo "start-docker: dockerd is not installed (Debian: docker.io)" >&2; exit 1; }
# A pid file that outlived its engine would make the new one refuse to start.
if ! pgrep -x dockerd >/dev/null; then
  rm -f /var/run/docker.pid
  setsid nohup dockerd >"$log" 2>&1 </dev/null &
fi
tries=60
until answers; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { tail -20 "$log" >&2; echo "start-docker: no answer after 60 s, see $log" >&2; exit 1; }
  sleep 1
done
