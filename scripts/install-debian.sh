#!/bin/bash
# Installs the packages for building, running and testing rulemill on Debian 12: install-debian.sh [--build]
# --build leaves out what only tests, lint and releases need, and the packages of Python. Run as root; installed packages are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache pkg-config
  libopenmpi-dev openmpi-bin libhdf5-dev libz3-dev coinor-libcbc-dev libonnx-dev libprotobuf-dev protobuf-compiler
  catch2 libcli11-dev libspdlog-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libgoogle-perftools-dev
  cvc5 patchelf python3-venv ca-certificates
)
test_packages=(
  clang clang-format clang-tidy shellcheck
  hdf5-tools libonnx-testdata
  chromium-headless-shell fonts-dejavu-core
  munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins
)
case ${1:-} in
  '') packages+=("${test_packages[@]}") ;;
  --build) ;;
  *)
    echo "install-debian.sh: unknown option '$1', expected nothing or --build" >&2
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

[[ ${1:-} == --build ]] || scripts/install-python.sh
