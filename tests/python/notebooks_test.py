#!/usr/bin/env python3
"""The notebooks of docs/notebooks run, and print what they show; `notebooks_test.py --write` writes what they print into them.

A cell prints what its statements print, then the value of its last expression. The output of a cell with the tag "varies" (times) is not
compared."""

import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

from binary import BINARY, ROOT
from package_case import numpy, onnx

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run_cell(source, names):
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)  # pylint: disable=exec-used
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None  # pylint: disable=eval-used
    return text.getvalue() + (f"{value!r}\n" if value is not None else "")


def run_notebook(path):
    """Yields each code cell with what it prints, in a folder with the data beside it."""
    own, names = os.getcwd(), {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "data").symlink_to(ROOT / "data")
        pathlib.Path(folder, "docs", "notebooks").mkdir(parents=True)
        os.chdir(pathlib.Path(folder, "docs", "notebooks"))
        try:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    yield cell, run_cell("".join(cell["source"]), names)
        finally:
            os.chdir(own)


@unittest.skipIf(numpy is None or onnx is None, "SKIPPED: numpy or onnx is not installed (scripts/install-debian.sh)")
class Notebooks(unittest.TestCase):
    def test_each_cell_prints_what_its_notebook_shows(self):
        self.assertEqual(len(NOTEBOOKS), 3)
        for path in NOTEBOOKS:
            for cell, printed in run_notebook(path):
                shown = "".join(line for output in cell["outputs"] for line in output["text"])
                with self.subTest(f"{path.name}: {cell['source'][0]}"):
                    if "varies" in cell["metadata"].get("tags", []):
                        self.assertEqual(bool(printed), bool(shown))
                    else:
                        self.assertEqual(printed, shown)


def write():
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        printed = [text for _, text in run_notebook(path)]
        for number, (cell, text) in enumerate(zip([cell for cell in notebook["cells"] if cell["cell_type"] == "code"], printed), 1):
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(True)}] if text else []
            cell["execution_count"] = number
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        os.environ["RULEMILL"] = str(BINARY)
        write()
    else:
        unittest.main(verbosity=2)
