#!/usr/bin/env python3
"""Models run in turns, in fresh sessions when a test needs them, on given or random inputs."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python" / "onnxruntime_helpers"))

try:
    import benchmark
    import numpy as np
except ImportError:
    benchmark = None


class Machine:
    """A machine on which time passes only while models are loaded and run."""

    def __init__(self, seconds):
        self.now, self.seconds, self.loaded, self.ran = 0.0, seconds, [], []

    def load(self, path, threads):
        if path not in self.seconds:
            raise OSError(f"no file {path}")
        self.now += 0.5
        self.loaded.append(path)
        dim = mock.Mock(type="tensor(float)", shape=["n", 3])
        dim.name = "x"
        return mock.Mock(run=lambda _, feeds: self.run(path, feeds), get_inputs=lambda: [dim])

    def run(self, path, feeds):
        self.ran.append((path, feeds["x"].shape))
        self.now += self.seconds[path]


@unittest.skipIf(benchmark is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class Rounds(unittest.TestCase):
    def open(self, given=(), **seconds):
        self.machine = Machine({"model": 0.1, "faster": 0.05, **seconds})
        clock = mock.patch.object(benchmark.time, "thread_time", lambda: self.machine.now)
        clock.start()
        self.addCleanup(clock.stop)
        opened = benchmark.Benchmark({"model": "model", "threads": 1, "shapes": {}, "given": list(given)}, self.machine.load)
        self.machine.ran.clear()
        self.machine.loaded.clear()
        return opened

    def test_models_run_in_turns_in_the_given_order(self):
        opened = self.open()
        self.assertEqual(opened.add_candidate("faster"), "")
        self.machine.ran.clear()
        self.machine.loaded.clear()
        times = opened.time_round([1, 0], 3, False)
        self.assertEqual([path for path, _ in self.machine.ran], ["faster", "model"] * 6, "three turns for each of two shapes")
        self.assertEqual(self.machine.loaded, [])
        np.testing.assert_allclose(times["milliseconds"], [[50, 50], [100, 100]])
        self.assertAlmostEqual(times["seconds"], 6 * 0.15)

    def test_fresh_sessions_are_loaded_in_the_order_and_run_once_before_they_are_measured(self):
        opened = self.open()
        opened.add_candidate("faster")
        self.machine.loaded.clear()
        times = opened.time_round([1, 0], 1, True)
        self.assertEqual(self.machine.loaded, ["faster", "model"])
        self.assertAlmostEqual(times["seconds"], 2 * 0.5 + 2 * 2 * 0.15)

    def test_sessions_of_large_models_are_loaded_for_each_round(self):
        opened = self.open()
        opened.keeps_sessions = False
        opened.add_candidate("faster")
        self.machine.loaded.clear()
        np.testing.assert_allclose(opened.time_round([1, 0], 1, False)["milliseconds"], [[50, 50], [100, 100]])
        self.assertEqual(self.machine.loaded, ["faster"])

    def test_inputs_of_one_shape_are_listed_once(self):
        feeds = {"tokens": np.ones((1, 1)), **{f"past.{layer}": np.ones((1, 2)) for layer in range(6)}, "mask": np.ones((3,))}
        self.assertEqual(benchmark.shapes_text(feeds), "tokens 1x1, past.0 and 5 others 1x2, mask 3")

    def test_a_fast_model_is_run_several_times_per_measurement(self):
        opened = self.open(model=1e-4)
        opened.time_round([0], 1, False)
        self.assertEqual(len(self.machine.ran), 2 * 20)

    def test_the_opening_has_the_seconds_of_loading_and_of_a_run(self):
        opening = self.open().opening()
        self.assertAlmostEqual(opening["load_seconds"], 0.7)
        self.assertAlmostEqual(opening["run_seconds"], 0.2)
        self.assertEqual(opening["inputs"], ["x 1x3", "x 2x3"])

    def test_given_inputs_are_used_instead_of_random_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(pathlib.Path(folder) / f"{rows}.npy") for rows in (5, 7, 9)]
            for rows, path in zip((5, 7, 9), paths):
                np.save(path, np.ones((rows, 3), np.float32))
            opened = self.open([{"x": path} for path in paths])
        self.assertEqual(opened.opening()["inputs"], ["x 5x3", "x 7x3", "x 9x3"])
        self.assertEqual(len(opened.time_round([0], 1, True)["milliseconds"][0]), 3)

    def test_a_candidate_that_does_not_load_has_a_reason_and_the_others_keep_their_numbers(self):
        opened = self.open()
        self.assertEqual(opened.add_candidate("absent"), "it does not load: no file absent")
        self.assertEqual(opened.add_candidate("faster"), "")
        np.testing.assert_allclose(opened.time_round([2], 1, False)["milliseconds"], [[50, 50]])

    def test_a_failure_in_a_round_ends_the_timing(self):
        server = benchmark.Server()
        server.benchmark = self.open()
        answer = server.safe_answer({"round": [3], "turns": 1, "fresh": True})
        self.assertIn("it does not run a model", answer["failure"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
