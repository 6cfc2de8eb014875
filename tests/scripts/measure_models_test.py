#!/usr/bin/env python3
"""bench/models/measure.py, with a stand-in for rulemill: rows with reasons, runs that continue, kept results, the table."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401
except ImportError:
    onnx = None

MODELS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "models"

STAND_IN = """#!{python}
import json, pathlib, sys
if sys.argv[1] == "check":
    sys.exit()
if sys.argv[1] == "info":
    pathlib.Path(sys.argv[4]).write_text(json.dumps(dict(all=dict(nodes=4, flops=8), covered=dict(nodes=3, flops=8))))
    sys.exit()
model, _, out, _, report = map(pathlib.Path, sys.argv[2:7])
with open({calls!r}, "a") as calls:
    calls.write(model.stem + "\\n")
if model.stem == "refused":
    sys.exit(model.name + ": refused by the stand-in")
out.write_bytes(model.read_bytes())
more = dict()
if "--proof" in sys.argv:
    inputs = pathlib.Path(sys.argv[sys.argv.index("--inputs") + 1])
    more = dict(onnx_nodes=dict(before=1, after=1), cost_seconds=dict(before=2, after=2, cheapest_found=1), clean_up=dict(comparison={{}}),
                proof=dict(bytes=inputs.exists() * 9, gap="", seconds=1))
report.write_text(json.dumps(dict(more, changed=False, peak_bytes=1000000, search=dict(seconds=0, exhausted=False), warning="",
                                  fired=[], verification=dict(verifiers=[], onnxruntime_skipped_reason=""))))
"""


def product(path, size, weights=None):
    weights = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32) if weights is None else weights
    weights = onnx.numpy_helper.from_array(weights, "w")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [size, size]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


@unittest.skipIf(onnx is None, "onnx and onnxruntime are not installed")
class MeasureModels(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "models").mkdir()
        self.calls, self.out = self.folder / "calls", self.folder / "out.json"
        stand_in = self.folder / "rulemill"
        stand_in.write_text(STAND_IN.format(python=sys.executable, calls=str(self.calls)))
        stand_in.chmod(0o755)
        for name in ("first", "refused", "last"):
            product(self.folder / "models" / f"{name}.onnx", 64)

    def measure(self, *options, status=0, **environment):
        command = [sys.executable, MODELS / "measure.py", self.folder / "models", self.out, "--keep", self.folder / "kept",
                   "--seconds", "0.1", *options]
        process = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                                 env={**os.environ, "RULEMILL": str(self.folder / "rulemill"), **environment})
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process.stdout if status == 0 else process.stderr

    def rows(self):
        return {row["model"]: row for row in json.loads(self.out.read_text())["results"]}

    def called(self):
        return self.calls.read_text().split()

    def test_models_of_packages_are_measured_with_their_proofs(self):
        with zipfile.ZipFile(self.folder / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
            wheel.write(self.folder / "models" / "first.onnx", "tiny_model/data/net.onnx")
            wheel.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
            wheel.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
        name, listed = "tiny-model==1.0:tiny_model/data/net.onnx", self.folder / "list.txt"
        listed.write_text(f"{name}  none  inference  x:64x64\nabsent==1.0:no.onnx  none  inference  x:1\n")
        self.measure("--list", listed, "--alone", "--proofs", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder), PIP_CONFIG_FILE=os.devnull)
        row, absent = self.rows()[name], self.rows()["absent==1.0:no.onnx"]
        self.assertEqual([row["proof"]["bytes"], row["proof"]["refused"], row["covered"], row["found_gain"]], [9, "", [0.75, 1.0], 2.0])
        self.assertIn("absent", absent["failure"])
        printed = subprocess.run([sys.executable, MODELS / "table.py", self.out, "--trained"], capture_output=True, text=True, check=True).stdout
        self.assertIn("| tiny-model==1.0: data/net.onnx | none | 1 → 1 | 75 | 1.00, 2.00 |", printed)
        self.assertIn("1 of 1 results are proved, 0 of those by rules.", printed)

    def test_a_result_that_computes_something_else_is_named_and_not_counted(self):
        self.measure("--alone")
        row = self.rows()["first"]
        for peer, ratio, difference in (("onnxslim", 2.0, 0.5), ("onnxsim", 1.5, 1e-7)):
            row["forms"][peer] = {**row["forms"]["rulemill"], "ratio": ratio, "difference": difference}
        self.out.write_text(json.dumps({"results": [row]}))
        printed = subprocess.run([sys.executable, MODELS / "table.py", self.out], capture_output=True, text=True, check=True).stdout
        self.assertIn("|  |  | wrong | 1.50 |", printed)
        self.assertNotIn("- onnxslim:", printed)
        self.assertIn("- onnxsim: 1 models, geometric mean 1.500; 1 at 1.03 or more, 0 below 0.99; 0 without a result, 0 wrong", printed)

    def test_a_failure_is_a_row_with_its_reason_and_the_other_models_are_measured(self):
        printed = self.measure("--alone")
        rows = self.rows()
        self.assertIn("refused by the stand-in", rows["refused"]["failure"])
        self.assertIn("| refused | not measured: refused.onnx", printed)
        for name in ("first", "last"):
            forms = rows[name]["forms"]
            self.assertEqual(set(forms), {"model", "rulemill"})
            self.assertEqual(forms["model"]["ratio"], 1)
            self.assertEqual(forms["rulemill"]["difference"], 0)
            self.assertEqual(forms["model"]["multiply_adds"], 64**3)
            self.assertEqual(forms["model"]["products"], 1)

    def test_a_repeated_command_continues_with_the_models_that_have_no_row(self):
        self.measure("--alone", "first", "refused")
        before = self.rows()
        self.measure("--alone")
        after = self.rows()
        self.assertEqual(self.called(), ["first", "refused", "last"])
        self.assertEqual({name: after[name] for name in before}, before)
        self.measure("--alone", "--retry")
        self.assertEqual(self.called(), ["first", "refused", "last", "refused"])

    def test_a_full_disk_ends_the_run_before_the_next_model(self):
        self.assertIn("GB are free; make space", self.measure("--alone", "first", "--free", "1e9", status=1))
        self.assertFalse(self.calls.exists())
        self.measure("--alone", "first")
        self.assertEqual(self.called(), ["first"])

    def test_two_threads_are_added_to_the_rows_and_use_the_kept_results(self):
        self.measure("--alone", "first")
        once = self.rows()["first"]
        self.measure("--alone", "--threads", "2")
        self.assertEqual(self.called(), ["first"])
        rows = self.rows()
        self.assertEqual(set(rows), {"first"})
        two = rows["first"].pop("threads_2")
        self.assertEqual(rows["first"], once)
        self.assertEqual(set(two["forms"]), {"model", "rulemill"})
        self.assertGreaterEqual(two["rounds"], 12)

    def test_other_optimizers_without_a_result_have_a_reason_and_leave_no_files(self):
        missing = self.folder / "missing"  # hides the installed ones
        for name in ("onnxslim", "onnxsim", "onnxscript", "onnxoptimizer"):
            (missing / name).mkdir(parents=True)
            (missing / name / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
        self.measure("first", PYTHONPATH=str(missing))
        failures = self.rows()["first"]["failures"]
        self.assertEqual(failures["onnxsim"], "ImportError: no onnxsim here")
        self.assertEqual(len(failures), 4)
        self.assertEqual({path.name for path in (self.folder / "kept" / "first").iterdir()}, {"rulemill.onnx", "rulemill.json",
                                                                                              "facts.json"})

    def test_weights_whose_elements_are_all_equal_are_named(self):
        product(self.folder / "models" / "first.onnx", 64, np.zeros((64, 64), np.float32))
        printed = self.measure("--alone", "first", "last")
        self.assertEqual({name: row["equal_parameters"] for name, row in self.rows().items()}, {"first": ["w"], "last": []})
        self.assertIn("which a trained model does not have: first\n", printed)

    def test_a_list_names_models_and_their_kinds_and_a_bad_line_is_refused_with_its_place(self):
        listed = self.folder / "list.txt"
        listed.write_text("# products\nlast  matrices  inference\nfirst  matrices  training\n")
        self.measure("--alone", "--list", listed)
        rows = self.rows()
        self.assertEqual(list(rows), ["last", "first"])
        self.assertEqual((rows["first"]["kind"], rows["first"]["form"]), ("matrices", "training"))
        listed.write_text("last  matrices\n")
        self.assertIn("list.txt:1: expected NAME, KIND", self.measure("--alone", "--list", listed, status=1))

    def test_the_table_has_means_of_first_measurements_and_names_what_is_slower(self):
        def row(name, form, ratio, again=None, two=None):
            forms = {key: {"ratio": value, "quartiles": [value, value], "milliseconds": 1}
                     for key, value in (("model", 1), ("rulemill", ratio))}
            return {"model": name, "kind": "k", "form": form, "changed": True, "seconds": 1, "peak_bytes": 1, "fired": {}, "rules": {},
                    "forms": forms, "failures": {}, "repeated": {"forms": {"rulemill": {"ratio": again}}} if again else None,
                    **({"threads_2": {"forms": {**forms, "rulemill": {"ratio": two, "quartiles": [two, two]}}}} if two else {})}

        results = [row("a", "inference", 1.21), row("b", "inference", 1.0, two=1.5), row("c", "training", 0.98, 1.01),
                   row("d", "training", 0.97, 0.96)]
        self.out.write_text(json.dumps({"results": results}))
        printed = subprocess.run([sys.executable, MODELS / "table.py", self.out], capture_output=True, text=True, check=True).stdout
        for expected in ("| b | 1.0 | 1.00 (1.00–1.00), cleaned | 1.50 (1.50–1.50) |",
                         "1 thread: 4 models, geometric mean 1.036; 1 at 1.03 or more, 2 below 0.99",
                         "2 threads: 1 models, geometric mean 1.500; 1 at 1.03 or more, 0 below 0.99",
                         "- form inference: 2 models, geometric mean 1.100;", "- form training: 2 models, geometric mean 0.975;",
                         "first and second measurement: c (cleaned) 0.980 and 1.010, d (cleaned) 0.970 and 0.960", "in both: 1\n"):
            self.assertIn(expected, printed)
        printed = subprocess.run([sys.executable, MODELS / "table.py", self.out, "--faster"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split(" | ")[0] for line in printed.splitlines() if line.startswith("|")], ["| model", "|---|---|---|---|---|---|", "| a", "| b"])
        printed = subprocess.run([sys.executable, MODELS / "table.py", self.out, "--gains"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed.splitlines()[2:], ["| k | 2 | 1 | 1.10 | 1.00–1.21 | a 1.21 |", "| as they are trained | 2 | 0 | 0.97 | 0.97–0.98 | none |"])

    def test_pages_have_the_tables_of_the_stored_results(self):
        stored = max((MODELS.parent / "results").glob("models-table-*.json"))
        for name, options in (("bench/results/models-table.md", []), ("docs/results.md", ["--faster"]), ("README.md", ["--gains"])):
            page, copy = MODELS.parents[1] / name, self.folder / "page.md"
            copy.write_text(page.read_text())
            subprocess.run([sys.executable, MODELS / "table.py", stored, *options, "--into", copy], check=True)
            self.assertEqual(copy.read_text(), page.read_text(), f"table.py {stored.name} --into {name}")
        stored = max((MODELS.parent / "results").glob("engines-*.json"))
        printed = subprocess.run([sys.executable, MODELS / "engines.py", "--table", stored], capture_output=True, text=True, check=True).stdout
        self.assertIn(printed, (MODELS.parents[1] / "docs" / "comparison.md").read_text(), f"engines.py --table {stored.name}")


if __name__ == "__main__":
    unittest.main()
