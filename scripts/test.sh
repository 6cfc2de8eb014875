#!/bin/bash
# Installs, builds and runs all tests: scripts/test.sh [PRESET]. Tests that cannot run here are listed as skipped, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

if [[ $(id -u) -eq 0 && -f /etc/debian_version ]]; then
  scripts/install-debian.sh
fi
scripts/build.sh "$preset"
failed=0
ctest --test-dir "build/$preset" --output-on-failure --parallel $(($(nproc) + 2)) || failed=$?  # some wait rather than compute
grep -ohE 'SKIPPED: .*' "build/$preset/Testing/Temporary/LastTest.log" | sed "s/['\")]*$//" | sort | uniq -c || true
exit "$failed"
