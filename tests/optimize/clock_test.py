#!/usr/bin/env python3
"""How often models are run in turns before one is taken: no longer than it takes to tell them apart, twice the seconds at most."""

import itertools
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "data" / "judges"))

try:
    import onnxruntime_clock as clock
except ImportError:
    clock = None

# What the machine does to the times of all in one round after another.
DISTURBANCE = [1.0, 1.03, 0.98, 1.01, 1.04, 0.97, 1.02, 0.99, 1.05, 0.96, 1.0]


class Machine:
    """Time that passes where models run, and nowhere else."""

    def __init__(self):
        self.now, self.order = 0.0, []

    def model(self, name, seconds):
        disturbance = itertools.cycle(DISTURBANCE)

        def run(_, __):
            self.order.append(name)
            self.now += seconds * next(disturbance)

        return mock.Mock(run=run)

    def rounds(self, *models, seconds=4.0):
        with mock.patch.object(clock.time, "perf_counter", lambda: self.now):
            return clock.run_rounds(list(models), {}, seconds, 7, lambda: self.now)


@unittest.skipIf(clock is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class Clock(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()

    def timed(self, *seconds):
        times = self.machine.rounds(*(self.machine.model(number, each) for number, each in enumerate(seconds)))
        return [len(each) for each in times]

    def test_no_model_runs_twice_in_a_row(self):
        self.timed(0.1, 0.1, 0.1)
        rounds = self.machine.order[6:]  # after those that say how long one takes
        self.assertTrue(all(one != other for one, other in itertools.pairwise(rounds)))

    def test_what_is_surely_faster_or_as_fast_is_timed_no_longer_than_asked_for(self):
        self.assertLessEqual(self.timed(0.1, 0.1, 0.05)[0], 8)
        self.assertAlmostEqual(self.timed(0.1, 0.1, 0.1)[0], 13, delta=2)
        self.assertLessEqual(self.timed(0.1, 0.1, 0.103)[0], 13)

    def test_a_small_gain_has_as_many_rounds_again(self):
        model, _, first, second = self.timed(0.1, 0.1, 0.0992, 0.0999)
        self.assertGreater(model, 20)
        self.assertEqual(first, model)
        self.assertLess(second, 14)

    def test_promising_is_what_seems_faster_where_nothing_surely_is(self):
        times = lambda *gains: [[1.0] * 12, [1.0] * 12, [1 / gain for gain in gains * 3]]
        everyone = [0, 1, 2]
        self.assertEqual(clock.promising(times(1.02, 0.99, 1.01, 1.03), everyone), 2)
        self.assertIsNone(clock.promising(times(1.02, 1.01, 1.02, 1.03), everyone), "surely faster")
        self.assertIsNone(clock.promising(times(1.02, 0.99, 1.003, 1.0), everyone), "as fast")
        self.assertIsNone(clock.promising(times(1.02, 0.99, 1.01, 1.03), [0, 1]), "no candidate is left")


if __name__ == "__main__":
    unittest.main(verbosity=2)
