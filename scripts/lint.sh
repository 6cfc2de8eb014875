#!/bin/bash
# What every source must keep, without running anything: scripts/lint.sh [--all]. The house's layers, the format, scripts'
# faults; with --all clang-tidy's short list over every folder that is built, and the CUDA objects where nvcc is there.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 tests/house_test.py
git ls-files -z '*.cc' '*.h' '*.cu' | xargs -0 clang-format --dry-run -Werror
git ls-files -z '*.sh' '.ci/run' | xargs -0 shellcheck
[[ ${1:-} == --all ]] || exit 0

cmake --preset release >/dev/null
# Generated headers must be there before a source that includes them is read.
cmake --build --preset release --target rulemill_algebra >/dev/null
git ls-files -z '*.cc' ':!tests' ':!bench' |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy -p build/release --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null

if nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc); then
  for source in $(git ls-files '*.cu'); do
    "$nvcc" -std=c++20 -I. -arch=sm_90 -DRULEMILL_HAVE_CUDA -Xcompiler -Wall,-Wextra -c "$source" -o /dev/null
  done
else
  echo "lint.sh: no nvcc: the CUDA sources are not compiled" >&2
fi
