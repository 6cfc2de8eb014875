#!/usr/bin/env python3
"""The models of data/found.cases: each is valid, onnx.reference computes the right outputs (onnxruntime without
optimizations, where onnx.reference is wrong), and the program of the case is still wrong in
the same way, if it is installed in that version."""

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

try:
    import numpy as np
    import onnx
    import onnx.parser
    import onnx.reference
    from onnx import helper

    import compiler_defects
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


class Case:
    """A part of data/found.cases."""

    def __init__(self, text):
        title, *lines = text.strip().split("\n")
        self.name, _, where = title.partition(": ")
        self.program, _, self.version = where.rpartition(" ")
        fields = {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in lines if line.startswith(("inputs: ", "right: ", "gives: "))}
        body = "\n".join(line for line in lines if line.partition(": ")[0] not in fields)
        self.model = onnx.parser.parse_model(body if body.startswith("<") else '<ir_version: 8, opset_import: ["" : 18]> g ' + body)
        shaped = lambda values, info: np.array(values, helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)).reshape(
            [each.dim_value if each.HasField("dim_value") else -1 for each in info.type.tensor_type.shape.dim])
        self.feeds = {info.name: shaped(values, info) for info, values in zip(self.model.graph.input, fields["inputs"])}
        self.right = [shaped(values, info) for info, values in zip(self.model.graph.output, fields["right"])]
        self.gives = fields["gives"]

    def faults(self):
        """Yields what of the case is not so: of the model, and of the program if it has the version of the case."""
        onnx.checker.check_model(self.model, full_check=True)
        is_reference = self.program == "onnx.reference"
        evaluate = lambda feeds: onnx.reference.ReferenceEvaluator(self.model).run(None, feeds)
        expected = (compiler_defects.run_onnxruntime(self.model) if is_reference else evaluate)(self.feeds)
        if not same(expected, self.right):
            yield f"expected {[each.tolist() for each in expected]}"
        distribution = re.split("[ .]", self.program)[0]
        if importlib.util.find_spec(distribution) is None or importlib.metadata.version(distribution) != self.version:
            return
        try:
            found = (evaluate if is_reference else compiler_defects.prepare(self.program, self.model))(self.feeds)
            is_so = [str(list(each.shape)) for each in found] == [self.gives] or [each.tolist() for each in found] == self.gives
        except Exception as error:
            while error.__cause__:
                error = error.__cause__
            found, is_so = str(error), isinstance(self.gives, str) and self.gives in " ".join(str(error).split())
        if not is_so:
            yield f"{self.program} {self.version} gives {found}"


def same(outputs, others):
    return all(a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b) for a, b in zip(outputs, others, strict=True))


class Found(unittest.TestCase):
    def test_each_model_is_valid_and_its_program_is_wrong_about_it(self):
        for text in (ROOT / "data" / "found.cases").read_text(encoding="utf-8").split("\n= ")[1:]:
            case = Case(text)
            with self.subTest(f"{case.program}, {case.name}"), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(list(case.faults()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
