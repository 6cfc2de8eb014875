"""The Python package of the source tree, run with the built binary."""

import os
import sys

from binary import BINARY, ROOT

os.environ["RULEMILL"] = str(BINARY)
sys.path.insert(0, str(ROOT / "python"))

import rulemill  # noqa: E402 pylint: disable=wrong-import-position

try:
    import numpy
except ImportError:
    numpy = None
try:
    import onnx
except ImportError:
    onnx = None

__all__ = ["numpy", "onnx", "rulemill"]
