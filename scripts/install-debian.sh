#!/bin/bash
# Installs what rulemill is built and tested with on Debian 12. Run as root; what is there already is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ clang clang-format clang-tidy cmake ninja-build ccache pkg-config
  libopenmpi-dev openmpi-bin libhdf5-dev hdf5-tools libz3-dev coinor-libcbc-dev
  libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler
  catch2 libcli11-dev libspdlog-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libgoogle-perftools-dev
  cvc5 shellcheck python3-venv ca-certificates
  munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins
)

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

# Python is for tests and model export alone: without it their tests are skipped, and say so.
venv=build/venv
if ! "$venv/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy onnx onnxruntime ||
    echo "install-debian.sh: onnxruntime is not to be had from PyPI; the tests that compare with it will be skipped" >&2
fi
