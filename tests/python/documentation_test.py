#!/usr/bin/env python3
"""The examples of docs/python.md print what the page says."""

import doctest
import os
import pathlib
import tempfile
import unittest

from binary import ROOT
from package_case import numpy, onnx


@unittest.skipIf(numpy is None or onnx is None, "SKIPPED: numpy or onnx is not installed (scripts/install-debian.sh)")
class Documentation(unittest.TestCase):
    def test_the_examples_print_what_the_page_says(self):
        own = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("data", "docs"):
                pathlib.Path(folder, name).symlink_to(ROOT / name)
            os.chdir(folder)
            try:
                failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False,
                                                 optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            finally:
                os.chdir(own)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 20)


if __name__ == "__main__":
    unittest.main()
