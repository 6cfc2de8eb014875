#!/bin/bash
# Installs the packages for building, running and testing rulemill on Debian 12: install-debian.sh [--no-tests]
# --no-tests leaves out what only tests, lint and releases need. Run as root; installed packages are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache pkg-config
  libopenmpi-dev openmpi-bin libhdf5-dev libz3-dev coinor-libcbc-dev libonnx-dev libprotobuf-dev protobuf-compiler
  catch2 libcli11-dev libspdlog-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libgoogle-perftools-dev
  python3-venv ca-certificates
)
test_packages=(
  clang clang-format clang-tidy shellcheck
  cvc5 hdf5-tools libonnx-testdata patchelf
  chromium-headless-shell fonts-dejavu-core
  munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins
)
tests=true
case ${1:-} in
  '') packages+=("${test_packages[@]}") ;;
  --no-tests) tests=false ;;
  *)
    echo "install-debian.sh: unknown option '$1', expected nothing or --no-tests" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update --quiet --quiet
  apt-get install --quiet --quiet --yes --no-install-recommends "${missing[@]}"
fi

# onnxruntime times and compares models; without it optimize does not, and tests that need it are skipped with a message.
venv=build/venv
if ! "$venv/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy onnx onnxruntime ||
    echo "install-debian.sh: cannot install onnxruntime from PyPI; models cannot be timed, and tests that need it will be skipped" >&2
fi
$tests || exit 0
# For the tests of exported rules, by the programs that apply them.
if ! "$venv/bin/python" -c 'import onnxscript, egglog' 2>/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check onnxscript==0.7.2 egglog==13.2.0 ||
    echo "install-debian.sh: cannot install onnxscript and egglog; tests that need them will be skipped" >&2
fi
# MLIR's Python bindings with PDL and StableHLO: 84 MB.
if ! "$venv/bin/python" -c 'import iree.compiler' 2>/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check iree-base-compiler==3.13.0 ||
    echo "install-debian.sh: cannot install iree-base-compiler; tests that need it will be skipped" >&2
fi
