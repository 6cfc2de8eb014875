#!/usr/bin/env python3
"""The number of rounds in which models are timed: enough for a decision, within twice the requested time."""

import itertools
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python" / "onnxruntime_helpers"))

try:
    import benchmark
except ImportError:
    benchmark = None

# Factors by which the machine disturbs the times of consecutive runs.
DISTURBANCE = [1.0, 1.03, 0.98, 1.01, 1.04, 0.97, 1.02, 0.99, 1.05, 0.96, 1.0]


class Machine:
    """A machine on which time passes only while models run."""

    def __init__(self):
        self.now, self.order = 0.0, []

    def model(self, name, seconds):
        disturbance = itertools.cycle(DISTURBANCE)

        def run(_, __):
            self.order.append(name)
            self.now += seconds * next(disturbance)

        return mock.Mock(run=run)

    def run_rounds(self, *models, seconds=4.0):
        with mock.patch.object(benchmark.time, "perf_counter", lambda: self.now):
            return benchmark.run_rounds(list(models), {}, seconds, 7, lambda: self.now)


@unittest.skipIf(benchmark is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class Rounds(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()

    def round_counts(self, *seconds):
        times = self.machine.run_rounds(*(self.machine.model(number, each) for number, each in enumerate(seconds)))
        return [len(each) for each in times]

    def test_no_model_runs_twice_in_a_row(self):
        self.round_counts(0.1, 0.1, 0.1)
        rounds = self.machine.order[6:]  # after the warm-up runs
        self.assertTrue(all(one != other for one, other in itertools.pairwise(rounds)))

    def test_clear_results_need_no_more_than_the_requested_time(self):
        self.assertLessEqual(self.round_counts(0.1, 0.1, 0.05)[0], 8)
        self.assertAlmostEqual(self.round_counts(0.1, 0.1, 0.1)[0], 13, delta=2)
        self.assertLessEqual(self.round_counts(0.1, 0.1, 0.103)[0], 13)

    def test_a_promising_candidate_gets_the_requested_time_again(self):
        model, _, first, second = self.round_counts(0.1, 0.1, 0.0992, 0.0999)
        self.assertGreater(model, 20)
        self.assertEqual(first, model)
        self.assertLess(second, 14)

    def test_a_candidate_is_promising_if_it_seems_faster_and_none_is_significantly_faster(self):
        times = lambda *gains: [[1.0] * 12, [1.0] * 12, [1 / gain for gain in gains * 3]]
        all_models = [0, 1, 2]
        self.assertEqual(benchmark.promising_candidate(times(1.02, 0.99, 1.01, 1.03), all_models), 2)
        self.assertIsNone(benchmark.promising_candidate(times(1.02, 1.01, 1.02, 1.03), all_models), "significantly faster")
        self.assertIsNone(benchmark.promising_candidate(times(1.02, 0.99, 1.003, 1.0), all_models), "as fast")
        self.assertIsNone(benchmark.promising_candidate(times(1.02, 0.99, 1.01, 1.03), [0, 1]), "no candidate is left")


if __name__ == "__main__":
    unittest.main(verbosity=2)
