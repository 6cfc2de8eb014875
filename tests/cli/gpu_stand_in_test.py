"""Commands that need a GPU, with a stand-in for it: what planned failures lead to, and bench/gpu.sh as on the day a GPU is there."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import onnx
from onnx import TensorProto, helper

from binary import BINARY, ROOT, QuickstartCase

STAND_IN = pathlib.Path(BINARY).resolve().parent / "rulemill_stand_in"
PROFILE = ROOT / "data" / "profiles" / "reference.toml"


def run(*words, faults="", **environment):
    settings = {**os.environ, "RULEMILL_GPU_STAND_IN": faults, **environment}
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=600, env=settings)


class SmallModelCase(QuickstartCase):
    """Two convolutions of one image whose sum the quick start's rules merge, then a sigmoid."""

    def setUp(self):
        super().setUp()
        weights = [helper.make_tensor(name, TensorProto.FLOAT, [2, 2, 3, 3], [0.1 * i - 1 for i in range(36)]) for name in "vw"]
        convolutions = [helper.make_node("Conv", ["x", name], [f"{name}x"], pads=[1, 1, 1, 1]) for name in "vw"]
        rest = [helper.make_node("Add", ["vx", "wx"], ["sum"]), helper.make_node("Sigmoid", ["sum"], ["y"])]
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 5, 5]) for name in "xy"]
        graph = helper.make_graph(convolutions + rest, "small", value[:1], value[1:], weights)
        self.models = self.folder / "models"
        self.models.mkdir()
        self.model = self.models / "small.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)


@unittest.skipUnless(STAND_IN.exists(), "SKIPPED: this build has no stand-in for a GPU")
class GpuStandIn(SmallModelCase):
    def optimize(self, *words, faults=""):
        command = [STAND_IN, "optimize", self.model, "--rules", self.rules, "--cost", "cuda", "--cost-table", self.folder / "costs.h5",
                   "--verifier", "definitions", "--out", self.folder / "out.onnx"]
        return run(*command, *words, faults=faults)

    def test_costs_of_nodes_are_measured(self):
        process = self.optimize("--no-benchmark")
        self.assert_works(process)
        self.assertRegex(process.stdout, r"costs measured: CUDA .*, a table of \d+ times, [1-9]\d* of them measured now\n")
        self.assertNotIn("gpu stand-in:", process.stderr)

    def test_a_refused_convolution_is_counted_and_the_others_are_measured(self):
        process = self.optimize("--no-benchmark", faults="cudnnFindConvolutionForwardAlgorithmEx")
        self.assert_works(process)
        self.assertRegex(process.stdout, r"measured now; [1-9]\d* nodes could not be timed and have costs of the device model")

    def test_a_refusal_of_everything_ends_with_3_and_writes_nothing(self):
        process = self.optimize("--no-benchmark", faults="cudaGraphInstantiate@3+")  # the first two time launches
        self.assert_fails(process, 3, "GPU: no node of the model could be timed (", "use --cost analytic")
        self.assertEqual(list(self.folder.iterdir()), [self.models])

    def test_a_lost_gpu_ends_the_command(self):
        process = self.optimize("--no-benchmark", faults="cudaGraphLaunch@200=700")
        self.assert_fails(process, 1, "an illegal memory access was encountered")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_in_exclusive_mode_the_gpu_is_released_for_the_benchmark(self):
        lock = self.folder / "exclusive"
        process = self.optimize("--benchmark-command", f"{STAND_IN} gpu time", "--benchmark-seconds", "2",
                                faults=f"exclusive={lock}")
        self.assert_works(process)
        self.assertRegex(process.stdout, r"candidate \S+ ms -> \S+ ms, ")

    def test_results_are_timed_on_the_gpu_unless_a_command_is_given(self):
        process = self.optimize("--benchmark-seconds", "1")
        self.assert_works(process)
        self.assertRegex(process.stdout, r"timed by GPU stand-in, \d+ multiprocessors, cold caches, x 1x2x5x5\n  candidate \S+ ms -> \S+ ms")

    def test_outputs_are_compared_with_the_definitions(self):
        report = self.folder / "time.json"
        self.assert_works(run(STAND_IN, "gpu", "time", self.model, "--compare", "--runs", "2", "--json", report))
        self.assertLess(json.loads(report.read_text(encoding="utf-8"))["difference"], 1e-5)

    def test_a_driver_that_is_too_old_is_named(self):
        faults = "cudaGetDeviceCount=35"
        self.assert_fails(run(STAND_IN, "gpu", "time", self.model, faults=faults), 3, "the driver supports CUDA ", "this build needs ")
        doctor = run(STAND_IN, "doctor", faults=faults)
        self.assertRegex(doctor.stdout, r"cuda +compiled in; CUDA driver version is insufficient .*, using the CPU\n")
        fingerprint = [STAND_IN, "fingerprint", "--profile", PROFILE, "--max-ops", "1", "--progress", "off", "--out"]
        process = run(*fingerprint, self.folder / "auto", faults=faults)
        self.assert_works(process)
        self.assertIn("no GPU can be used: CUDA driver version is insufficient", process.stderr)
        self.assert_fails(run(*fingerprint, self.folder / "gpu", "--device", "gpu", faults=faults), 3, "--device gpu", "insufficient")


class GpuScript(SmallModelCase):
    def bench(self, build, *words, faults=""):
        rules = str(self.rules / "rules.rmdb")
        return run("bash", ROOT / "bench" / "gpu.sh", build, *words, faults=faults, RULES=rules)

    def build_with(self, rulemill):
        """A folder of programs in which `rulemill` is this one."""
        (self.folder / "build").mkdir()
        (self.folder / "build" / "rulemill").symlink_to(pathlib.Path(rulemill).resolve())
        test = STAND_IN.parent / "test_gpu_stand_in"
        (self.folder / "build" / "test_optimize").symlink_to(test)
        return self.folder / "build"

    @unittest.skipIf(pathlib.Path("/dev/nvidia0").exists(), "SKIPPED: there is a GPU here")
    def test_without_a_gpu_it_says_so_and_fails(self):
        process = self.bench(self.build_with(BINARY))
        self.assertEqual(process.returncode, 1)
        self.assertIn("gpu.sh: no GPU: cuda", process.stderr)
        self.assertIn("nothing was run", process.stderr)

    @unittest.skipUnless(STAND_IN.exists(), "SKIPPED: this build has no stand-in for a GPU")
    def test_each_step_runs_by_itself_and_the_summary_names_failures(self):
        process = self.bench(self.build_with(STAND_IN), 1, self.models, faults="cudnnSoftmaxForward,cudaGraphLaunch@500=700")
        summary = process.stdout[process.stdout.index("== summary"):]
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertRegex(summary, r"plans of models against their definitions +\d+ s  FAILED: ")
        self.assertRegex(summary, r"outputs of models against their definitions +\d+ s  ok\n")
        self.assertRegex(summary, r"fingerprints of 1 operators against the CPU's bytes +\d+ s  ok\n")
        self.assertIn("gpu: identical to cpu", process.stdout)
        self.assertIn("cuda GPU stand-in", process.stdout)
        if not pathlib.Path("/usr/local/cuda/bin/compute-sanitizer").exists():
            self.assertRegex(summary, r"memory errors and races +\d+ s  skipped: no compute-sanitizer\n")
        self.assertRegex(summary, r"costs of nodes +\d+ s  ok\n")
        self.assertRegex(summary, r"times of models +\d+ s  ")
        self.assertRegex(summary, r"times of fingerprints of 1 operators +\d+ s  ok\n")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
