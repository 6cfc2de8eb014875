#!/bin/bash
# Makes build/venv, the environment in which Python runs here: install-python.sh [--no-tests]
# --no-tests leaves out what only tests need. Packages that PyPI does not deliver are named, and missing ones cost what needs them.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  '' | --no-tests) ;;
  *)
    echo "install-python.sh: unknown option '$1', expected nothing or --no-tests" >&2
    exit 2
    ;;
esac

# onnxruntime times and compares models; without it optimize does not, and tests that need it are skipped with a message.
venv=build/venv
if ! "$venv/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy onnx onnxruntime ||
    echo "install-python.sh: cannot install onnxruntime from PyPI; models cannot be timed, and tests that need it will be skipped" >&2
fi
[[ ${1:-} != --no-tests ]] || exit 0
# For the tests of exported rules, by the programs that apply them.
if ! "$venv/bin/python" -c 'import onnxscript, egglog' 2>/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check onnxscript==0.7.2 egglog==13.2.0 ||
    echo "install-python.sh: cannot install onnxscript and egglog; tests that need them will be skipped" >&2
fi
# The other runtime that times and compares models.
if ! "$venv/bin/python" -c 'import openvino' 2>/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 ||
    echo "install-python.sh: cannot install openvino; tests that need it will be skipped" >&2
fi
# MLIR's Python bindings with PDL and StableHLO: 84 MB.
if ! "$venv/bin/python" -c 'import iree.compiler' 2>/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check iree-base-compiler==3.13.0 ||
    echo "install-python.sh: cannot install iree-base-compiler; tests that need it will be skipped" >&2
fi
