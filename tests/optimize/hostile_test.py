#!/usr/bin/env python3
"""Malformed and adversarial models (tests/optimize/hostile) are rejected with one line or handled correctly."""

import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from binary import BINARY, ROOT, Case, rulemill

HOSTILE = ROOT / "tests" / "optimize" / "hostile"
RULES = """
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
rule associate_sums(x:2, a:2, b:2)
  add(add(x, a), b) => add(x, add(a, b))
rule associate_scales(x:2, a:2, b:2)
  mul(mul(x, a), b) => mul(x, mul(a, b))
"""
REJECTED = {
    "contradiction": ["output y has shape [4, 4]", "declared with another"],
    "cycle": ["node 0 (Add 'one')", "input b is not defined before it, or nodes form a cycle"],
    "empty_graph": ["no outputs"],
    "ext_absolute": ["external data of w"],
    "ext_missing": ["external data of w", "nowhere.bin"],
    "ext_outside": ["external data of w", "in the model's folder"],
    "ext_short": ["external data of w", "expected 64 bytes at 0, found 60 bytes in the file"],
    "if_disagrees": ["node 0 (If 'choice'): its branches disagree: 2 and 1 outputs"],
    "if_types": ["node 0 (If 'choice'): its branches disagree: output 0 has two element types"],
    "invalid_operator": ["Frobnicate 'absent': ONNX has no operator Frobnicate"],
    "invalid_opset": ["opset 99: expected 1 to 28"],
    "invalid_product": ["MatMul 'product': Incompatible dimensions for matrix multiplication"],
    "invalid_sum": ["Add 'sum': Incompatible dimensions"],
    "crash_onnxs-5-rel-279": ["Conv: Attribute pads has incorrect size"],
    "missing_weight": ["node 0 (MatMul 'product')", "input v is not defined"],
    "twice": ["node 1 (Neg)", "output y is defined twice"],
    "crash_onnxs-5-rel-461": ["no outputs"],
    "declared_3GB": ["initializer w", "expected 3240000000 bytes", "found 64"],
    "dim_huge": ["initializer w", "too large"],
    "dim_neg": ["initializer w", "dimension -4"],
    "dim_wrap0": ["initializer w", "too large"],
    "ext_dot": ["external data of w", "not a regular file"],
    "ext_hugelen": ["external data of w", "999999999999 bytes"],
    "ext_junk": ["external data of w", "'0x'"],
    "ext_symlink": ["external data of w", "in the model's folder"],
    "function_recursive": ["function F calls itself"],
    "input_huge": ["input x", "too large"],
    "input_maxdim": ["input x", "too large"],
    "no_outputs": ["no outputs"],
    "raw_long": ["initializer w", "expected 64 bytes", "found 68"],
    "raw_none": ["initializer w", "expected 16 elements", "found 0"],
    "raw_short": ["initializer w", "expected 64 bytes", "found 60"],
}
UNCHANGED = ["conv_stride0", "crash_onnxs-1-rel-303", "least_integer"]
MEMORY_KB = 8_000_000


class Hostile(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(os.path.realpath(os.path.join("/tmp", f"rulemill-hostile-{os.getpid()}")))
        cls.shared.mkdir()
        (cls.shared / "rules.txt").write_text(RULES, encoding="utf-8")
        process = rulemill("rules", "import", cls.shared / "rules.txt", "--out", cls.shared / "rules", "--progress", "off")
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared, ignore_errors=True)

    def optimize(self, model, *more):
        """Runs in a folder with the external data that models name, under a memory limit."""
        shutil.copy(model, self.folder)
        (self.folder / "ok.bin").write_bytes(bytes(64))
        (self.folder / "outside").mkdir(exist_ok=True)
        place = self.folder / "models"
        place.mkdir(exist_ok=True)
        shutil.copy(model, place)
        (place / "ok.bin").write_bytes(bytes(64))
        (place / "short.bin").write_bytes(bytes(60))
        if not (place / "link.bin").is_symlink():
            (place / "link.bin").symlink_to(self.folder / "ok.bin")
        command = [BINARY, "optimize", place / model.name, "--rules", self.shared / "rules", "--out", self.folder / "out.onnx",
                   "--verifier", "definitions", "--no-benchmark", *more]
        limited = f"ulimit -v {MEMORY_KB}; exec " + " ".join(f"'{part}'" for part in command)
        return subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=300, check=False)

    def test_malformed_models_are_rejected_with_file_and_place_and_nothing_is_written(self):
        for name, parts in REJECTED.items():
            with self.subTest(name):
                self.assert_fails(self.optimize(HOSTILE / f"{name}.onnx"), 3, f"{name}.onnx: ", *parts)
                self.assertFalse((self.folder / "out.onnx").exists())
                if name.startswith("invalid_"):
                    self.assert_fails(rulemill("optimize", HOSTILE / f"{name}.onnx", "--only-clean"), 3, *parts)

    def test_truncated_models_are_rejected_in_one_line_and_not_changed(self):
        whole = (ROOT / "data" / "models" / "lora_layer.onnx").read_bytes()
        for kept in [0, 1, 2, 3, 7, 20, 100, 1000, len(whole) // 3, len(whole) // 2, len(whole) - 100, len(whole) - 1]:
            with self.subTest(bytes=kept):
                model = self.folder / "cut.onnx"
                model.write_bytes(whole[:kept])
                process = rulemill("optimize", model, "--rules", self.shared / "rules", "--out", self.folder / "out.onnx",
                                   "--verifier", "definitions", "--no-benchmark")
                self.assert_fails(process, 3, "cut.onnx: ")
                self.assertEqual(model.read_bytes(), whole[:kept])
                self.assertFalse((self.folder / "out.onnx").exists())

    def clean(self, model):
        """Returns the bytes of the model after the clean-up alone."""
        out = self.folder / "clean.onnx"
        self.assert_works(rulemill("optimize", model, "--only-clean", "--out", out))
        return out.read_bytes()

    def test_nodes_on_which_the_onnx_library_crashes_are_only_cleaned(self):
        for name in UNCHANGED:
            with self.subTest(name):
                process = self.optimize(HOSTILE / f"{name}.onnx")
                self.assert_works(process)
                self.assertEqual((self.folder / "out.onnx").read_bytes(), self.clean(HOSTILE / f"{name}.onnx"))

    def test_a_rejected_result_gives_a_warning_and_the_clean_model(self):
        for name, part in {"cancel_big": "computes something else", "overflow_real": "finite weights"}.items():
            with self.subTest(name):
                process = self.optimize(HOSTILE / f"{name}.onnx", "--min-gain", "0", "--alpha", "2")
                self.assert_works(process)
                self.assertIn("warning: ", process.stderr)
                self.assertIn(part, process.stderr)
                self.assertEqual((self.folder / "out.onnx").read_bytes(), self.clean(HOSTILE / f"{name}.onnx"))

    def test_infinite_weights_missing_inputs_and_expanding_constants_are_handled(self):
        for name in ("w_inf", "no_inputs", "expand_bomb"):
            with self.subTest(name):
                process = self.optimize(HOSTILE / f"{name}.onnx")
                self.assert_works(process)
                grown = 20 * (HOSTILE / f"{name}.onnx").stat().st_size + (1 << 23)
                self.assertLess((self.folder / "out.onnx").stat().st_size, grown)

    def test_a_pipe_is_rejected_without_waiting(self):
        pipe = self.folder / "pipe.onnx"
        os.mkfifo(pipe)
        process = rulemill("optimize", pipe, "--rules", self.shared / "rules", timeout=60)
        self.assert_fails(process, 3, "pipe.onnx", "not a regular file")

    def test_a_signal_stops_a_long_search(self):
        model = ROOT / "data" / "models" / "acnet_block.onnx"
        command = [BINARY, "optimize", model, "--rules", self.shared / "rules", "--search", "backtrack", "--alpha", "10",
                   "--budget", "1000000000"]
        rules = self.folder / "more.txt"
        # Graphs grow at every relu until they cost ten times as much, which takes practically forever.
        rules.write_text("rule grow(x:4)\n  relu(x) => relu(relu(x))\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", rules, "--out", self.folder / "more", "--progress", "off"))
        command[4] = self.folder / "more"
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            self.wait_until_busy(process)
            process.send_signal(signal.SIGTERM)
            error = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 4, error)
        self.assertIn("stopped by signal", error)
        self.assertIn("starts over", error)

    def test_invalid_numbers_are_rejected(self):
        model = ROOT / "data" / "models" / "lora_layer.onnx"
        for option, value in [("--alpha", "nan"), ("--tolerance", "nan"), ("--time-limit", "nan"), ("--min-gain", "nan"),
                              ("--time-limit", "inf"), ("--alpha", "1.5x"), ("--tolerance", "-0.1"), ("--budget", "1" * 23),
                              ("--verify-inputs", "0")]:
            with self.subTest(option + " " + value):
                process = rulemill("optimize", model, "--rules", self.shared / "rules", f"{option}={value}")
                self.assert_fails(process, 2, option, "is not a")
        process = rulemill("discover", "--profile", ROOT / "data/profiles/quickstart.toml", "--out", self.folder / "x",
                           "--seed", "1" * 23)
        self.assert_fails(process, 2, "--seed", "is not a whole number")


if __name__ == "__main__":
    unittest.main(verbosity=2)
