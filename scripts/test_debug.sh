#!/bin/bash
# Runs the unit tests and, briefly, the fuzzers with AddressSanitizer and UBSan: scripts/test_debug.sh [SECONDS per parser]
# [FOLDER...]. Default folders: all but prove, which takes longer at -O0 than all others.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-5}
folders=("${@:2}")
((${#folders[@]} > 0)) || folders=(runtime algebra execute enumerate fingerprint dedup egraph check optimize)
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
scripts/build.sh debug fuzz "${folders[@]/#/test_}"
for folder in "${folders[@]}"; do
  # Proving everything with Z3 only takes too long at -O0.
  build/debug/test_"$folder" '~verdicts are the same with Z3 alone'
done
[[ " ${folders[*]} " != *" optimize "* ]] || build/debug/test_optimize '[onnx]' >/dev/null
# An input of 200 KB takes 0.7 s in a release build, and tens of seconds in this one.
FUZZ=build/debug/fuzz python3 tests/fuzz/fuzz_test.py --runs 100000 --seconds "$seconds" --timeout 60
