#!/bin/bash
# The unit tests and a short run of the fuzzers with AddressSanitizer and UBSan: scripts/test_debug.sh [SECONDS a parser]
set -euo pipefail
cd "$(dirname "$0")/.."

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
folders=(runtime algebra execute enumerate fingerprint dedup egraph check prove optimize)
scripts/build.sh debug fuzz "${folders[@]/#/test_}"
for folder in "${folders[@]}"; do
  # Every proof by Z3 alone takes too long at -O0.
  build/debug/test_"$folder" '~verdicts are the same with Z3 alone'
done
FUZZ=build/debug/fuzz python3 tests/fuzz/fuzz_test.py --runs 100000 --seconds "${1:-5}"
