#!/bin/bash
# Makes what a release consists of, in dist/: the wheel, the source archive, the packed folder, and their SHA-256 digests:
#   scripts/release.sh [BUILD]       BUILD: the folder of a finished build; default: build/release, which is brought up to date
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
[[ $# -gt 0 ]] || scripts/build.sh release rulemill

mkdir -p dist
rm -f dist/rulemill-* dist/SHA256SUMS
call() { # EXPRESSION
  PYTHONPATH=python RULEMILL_BUILD=$build python3 -c "import wheel_backend; print(wheel_backend.$1)"
}
call 'build_wheel("dist")'
call 'build_sdist("dist")'
scripts/pack.sh "dist/rulemill-$(call 'version()')-linux_$(uname -m).tar.gz" "$build/"
cd dist
sha256sum rulemill-* | tee SHA256SUMS
