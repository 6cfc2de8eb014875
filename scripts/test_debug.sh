#!/bin/bash
# Runs the unit tests and, briefly, the fuzzers with AddressSanitizer and UBSan: scripts/test_debug.sh [--full]
# [SECONDS per parser] [FOLDER...]. Default folders: all but prove, which takes longer at -O0 than all others; --full adds it.
set -euo pipefail
cd "$(dirname "$0")/.."

full=
if [[ ${1:-} == --full ]]; then
  full=yes
  shift
fi
seconds=${1:-5}
if [[ ! $seconds =~ ^[0-9]+$ ]]; then
  echo "test_debug.sh: SECONDS is '$seconds'; expected a whole number" >&2
  exit 2
fi
folders=("${@:2}")
# The longest first, since as many run side by side as there are cores.
((${#folders[@]} > 0)) || folders=(${full:+prove} optimize check algebra egraph dedup fingerprint enumerate execute runtime)
scripts/build.sh debug fuzz "${folders[@]/#/test_}"

export RULEMILL_RANDOM_STEPS=2000  # a tenth of those of a release build, and of its random sums
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Stacks of allocations take a sixth of the time; a report has them with ASAN_OPTIONS=malloc_context_size=30.
export ASAN_OPTIONS=malloc_context_size=1:${ASAN_OPTIONS:-}
# run FOLDER CASES: prints the end of the output, or all of it if a case fails.
run() {
  local begin=$SECONDS output
  if ! output=$(build/debug/test_"$1" "$2" 2>&1); then
    printf '%s\n' "$output"
    return 1
  fi
  echo "test_$1 '$2' with sanitizers, $((SECONDS - begin)) s: $(tail -n 2 <<<"$output" | tr -d '\n')"
}
export -f run
# Thousands of patterns take too long at -O0. A filter that only leaves cases out runs hidden ones, too: those of [onnx].
printf '%s\0~exported patterns*\0' "${folders[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c 'run "$@"' run
# An input of 200 KB takes 0.7 s in a release build, and tens of seconds in this one.
FUZZ=build/debug/fuzz python3 tests/fuzz/fuzz_test.py --runs 100000 --seconds "$seconds" --timeout 60 --jobs "$(nproc)"
