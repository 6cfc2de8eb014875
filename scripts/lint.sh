#!/bin/bash
# What every source must keep, without running anything: scripts/lint.sh [--all]. The house's layers, the format, scripts'
# faults; with --all clang-tidy's short list over every source and header, and the CUDA objects where nvcc is there.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 tests/house_test.py
git ls-files -z '*.cc' '*.h' '*.cu' | xargs -0 clang-format --dry-run -Werror
git ls-files -z '*.sh' '.ci/run' | xargs -0 shellcheck
[[ ${1:-} == --all ]] || exit 0

# clang-tidy reads the release preset's commands, and the headers that it generates.
scripts/build.sh release rule_set.pb.h taso_rules.pb.h >/dev/null
begin=$SECONDS
git ls-files -z '*.cc' |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy -p build/release --quiet --extra-arg=-Wno-unknown-warning-option \
    2> >(grep -v 'warnings\? generated\.$' >&2)
echo "clang-tidy: $(git ls-files '*.cc' | wc -l) sources in $((SECONDS - begin)) s, nothing found"

if PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
  objects=()
  for source in $(git ls-files '*.cu'); do
    objects+=("CMakeFiles/rulemill_${source%%/*}.dir/$source.o")
  done
  PATH=$PATH:/usr/local/cuda/bin scripts/build.sh cuda "${objects[@]}" >/dev/null
  echo "CUDA: ${#objects[@]} object compiled"
else
  echo "lint.sh: no nvcc: the CUDA sources are not compiled" >&2
fi
