#!/bin/bash
# Checks the sources without running anything: scripts/lint.sh [--changed|--all].
#   layers, lengths, wording, format, shell scripts; clang-tidy (.clang-tidy) on no source, on those that differ from where the branch
#   left origin/main, or on main from ten commits ago (--changed), or on every one (--all); with either the CUDA sources are compiled,
#   too, where nvcc is found.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -gt 1 || ! ${1:-} =~ ^(--changed|--all)?$ ]]; then
  echo "lint.sh: unknown arguments '$*'; expected --changed, --all, or none" >&2
  exit 2
fi
python3 tests/source_rules_test.py
python3 tests/wording_test.py
git ls-files -z '*.cc' '*.h' '*.cu' | xargs -0 clang-format --dry-run -Werror
git ls-files -z '*.sh' '.ci/run' | xargs -0 shellcheck
case ${1:-} in
  --all) mapfile -t sources < <(git ls-files '*.cc') ;;
  --changed)
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    if [[ -z $base || $base == $(git rev-parse HEAD) ]]; then
      base=$(git rev-parse --verify --quiet HEAD~10 || git hash-object -t tree /dev/null)
    fi
    # A changed header is checked through the source of its unit.
    mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' |
      sed 's/\.h$/.cc/' | sort -u | xargs -r ls 2>/dev/null)
    ;;
  *) exit 0 ;;
esac

# clang-tidy needs the commands of a build without precompiled headers of another compiler, and the generated headers. It reads a folder as
# one source, as the build does: most of its time goes into the headers of libraries.
scripts/build.sh lint rule_set.pb.h model_proof.pb.h rulemill_build_header >/dev/null
begin=$SECONDS
if ((${#sources[@]} > 0)); then
  scripts/compiled_sources.py build/lint "${sources[@]}" |
    xargs -d '\n' -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet --extra-arg=-Wno-unknown-warning-option \
      2> >(grep -v 'warnings\? generated\.$' >&2)
fi
echo "clang-tidy: ${#sources[@]} sources in $((SECONDS - begin)) s, nothing found"

if PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
  objects=()
  for source in $(git ls-files '*.cu'); do
    objects+=("CMakeFiles/rulemill_${source%%/*}.dir/$source.o")
  done
  PATH=$PATH:/usr/local/cuda/bin scripts/build.sh cuda "${objects[@]}" >/dev/null
  echo "CUDA: ${#objects[@]} sources compiled"
else
  echo "lint.sh: no nvcc: the CUDA sources are not compiled" >&2
fi
