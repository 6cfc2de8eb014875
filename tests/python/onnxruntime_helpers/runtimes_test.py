#!/usr/bin/env python3
"""Providers of onnxruntime for a GPU: a session that does not use the provider is refused, and the clock is not the thread's."""

import pathlib
import subprocess
import sys
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python" / "onnxruntime_helpers"))

try:
    import models
    import runtimes
except (ImportError, SystemExit):
    runtimes = None

CUDA, TENSORRT, CPU = "CUDAExecutionProvider", "TensorrtExecutionProvider", "CPUExecutionProvider"


@unittest.skipIf(runtimes is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class Providers(unittest.TestCase):
    def load(self, runtime, available, used):
        """Loads a model in an onnxruntime that has the providers `available`, of which a session uses `used`."""
        with (mock.patch.object(runtimes.onnxruntime, "get_available_providers", lambda: available),
              mock.patch.object(models.onnxruntime, "InferenceSession") as created):
            created.return_value.get_providers.return_value = used
            runtimes.runtime_of({"runtime": runtime})("model.onnx", 1)
            return created.call_args.kwargs["providers"]

    def test_nodes_without_a_kernel_run_in_the_next_provider(self):
        self.assertEqual(self.load("cuda", [CUDA, CPU], [CUDA, CPU]), [CUDA, CPU])
        self.assertEqual(self.load("tensorrt", [TENSORRT, CUDA, CPU], [TENSORRT, CUDA, CPU]), [TENSORRT, CUDA, CPU])
        self.assertEqual(self.load("onnxruntime", [CPU], [CPU]), [CPU])

    def test_a_session_that_silently_runs_on_the_cpu_is_refused(self):
        with self.assertRaisesRegex(models.CannotRun, "^onnxruntime cannot use CUDAExecutionProvider on this machine$"):
            self.load("cuda", [CUDA, CPU], [CPU])
        with self.assertRaisesRegex(models.CannotRun, f"^onnxruntime .* has no {TENSORRT}, only {CUDA}, {CPU}$"):
            self.load("tensorrt", [CUDA, CPU], [CUDA, CPU])

    def test_usable(self):
        with mock.patch.object(runtimes.onnxruntime, "get_available_providers", lambda: [CUDA, CPU]):
            self.assertRegex(runtimes.why_unusable({"runtime": "tensorrt"}), f"has no {TENSORRT}")
        with mock.patch.dict(runtimes.PROVIDERS, {"cuda": [CPU]}):  # a session of the smallest model is made
            self.assertEqual(runtimes.why_unusable({"runtime": "cuda"}), "")

    def test_onnxruntime_on_the_cpu_needs_no_onnx(self):
        blocked = mock.patch.dict(sys.modules, {"onnx": None})
        blocked.start()
        self.addCleanup(blocked.stop)
        program = "import sys; sys.modules['onnx'] = None; sys.path.insert(0, sys.argv[1]); import benchmark, verify"
        subprocess.run([sys.executable, "-B", "-c", program, ROOT / "python" / "onnxruntime_helpers"], check=True, stdin=subprocess.DEVNULL)
        with mock.patch.object(runtimes, "check_provider"):
            self.assertEqual(runtimes.why_unusable({"runtime": "cuda"}), "its Python has no onnx, which --provider needs")

    def test_a_thread_that_waits_for_a_gpu_is_timed_by_the_clock(self):
        clocks = [runtimes.clock_of({"runtime": runtime, "threads": threads})
                  for runtime, threads in (("onnxruntime", 1), ("onnxruntime", 2), ("openvino", 1), ("cuda", 1))]
        self.assertEqual(clocks, [time.thread_time, time.perf_counter, time.thread_time, time.perf_counter])

    def test_the_name_of_the_runtime_has_the_provider(self):
        self.assertRegex(runtimes.add_name({}, {"runtime": "cuda"})["runtime"], f"^onnxruntime [0-9.]+ with {CUDA}$")
        self.assertEqual(runtimes.add_name({}, {"runtime": "onnxruntime"}), {})


if __name__ == "__main__":
    unittest.main()
