#!/bin/bash
# Installs, builds and runs every test: scripts/test.sh [PRESET]. What cannot run here is listed as skipped, with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

if [[ $(id -u) -eq 0 && -f /etc/debian_version ]]; then
  scripts/install-debian.sh
fi
scripts/build.sh "$preset"
failed=0
ctest --test-dir "build/$preset" --output-on-failure || failed=$?
grep -ohE 'SKIPPED: .*' "build/$preset/Testing/Temporary/LastTest.log" | sed "s/['\")]*$//" | sort | uniq -c || true
exit "$failed"
