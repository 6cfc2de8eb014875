#!/bin/bash
# The unit tests and a short run of the fuzzers with AddressSanitizer and UBSan: scripts/test_debug.sh [SECONDS a parser]
set -euo pipefail
cd "$(dirname "$0")/.."

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
folders=(runtime algebra execute enumerate fingerprint dedup egraph check prove optimize)
scripts/build.sh debug fuzz "${folders[@]/#/test_}"
ctest --test-dir build/debug --output-on-failure --timeout 1800 --tests-regex "^($(
  IFS='|'
  echo "${folders[*]}"
))\$"
FUZZ=build/debug/fuzz python3 tests/fuzz/fuzz_test.py --runs 100000 --seconds "${1:-5}"
