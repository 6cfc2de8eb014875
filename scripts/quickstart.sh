#!/bin/bash
# From a fresh Debian 12 to an optimized model: installs, builds, discovers the rules of a small profile, and optimizes a model of
# data/models. Run as root, or with the packages of scripts/install-debian.sh installed.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $(id -u) -eq 0 && -f /etc/debian_version ]]; then
  scripts/install-debian.sh --build
  scripts/install-python.sh --no-tests &  # beside the build
fi
scripts/build.sh release rulemill
wait

rulemill=build/release/rulemill
out=${1:-build/quickstart}
mkdir -p "$out"
"$rulemill" discover --profile data/profiles/quickstart.toml --out "$out/rules" --fresh  # the folder may be from another build
"$rulemill" optimize data/models/acnet_block.onnx --rules "$out/rules" --out "$out/acnet_block.onnx" --report "$out/report.html"

# Compares both models in onnxruntime; exit code 77: not installed.
if [[ -x build/venv/bin/python3 ]]; then
  build/venv/bin/python3 tests/optimize/check_onnxruntime.py data/models/acnet_block.onnx "$out/acnet_block.onnx" || [[ $? -eq 77 ]]
fi
if [[ -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] && command -v xdg-open >/dev/null; then
  xdg-open "$out/report.html" &
fi
echo "report: $out/report.html"
default_rules=$("$rulemill" rules default)  # so that the first model of your own does not wait for them
echo "default rules: $default_rules"
