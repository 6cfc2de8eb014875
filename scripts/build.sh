#!/bin/bash
# Configures and builds one preset into build/PRESET: scripts/build.sh [PRESET] [target...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true

# A compilation takes up to 1.5 GB: as many jobs as cores and memory allow.
cores=$(nproc)
by_memory=$(awk '/MemAvailable/ {print int($2 / 1500000) + 1}' /proc/meminfo)
jobs=$((cores < by_memory ? cores : by_memory))

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
