"""Compares two models for `rulemill optimize`.

Query: {"before", "after": paths, "runtime": a name in runtimes.py, "inputs": count of random inputs, "shapes": {input: dims}, "given":
[{input: NumPy file}], and the accuracy policy of optimize/verify/accuracy_policy.h: "max_error_ratio", "max_original_error",
"small_tensor_elements", "tolerance", "only_where_defined"; and "as_real_functions": whether open dimensions are at least 1, and neither overflow nor a run that fails is a difference}. Both models run in the runtime with all its optimizations; the original also runs in onnxruntime
without any and, if possible, in float64. The error of the result against float64 may be a multiple of the original's. Given inputs are
compared first, then random ones: those of the shapes of given ones, as far as the model runs on them. If values differ and nodes choose
(TopK), the models are compared again, cut at these."""

import os
import sys
import time

sys.dont_write_bytecode = True

from boundaries import UNIT_ROUNDOFF, Boundary, where_defined
from constants import evaluate
from models import (DYNAMIC_SIZES, LARGE_BYTES, CannotRun, bytes_on_disk, feeds_of, given_feeds, mapped_session, one_line, serve, session,
                    try_run)
from runtimes import add_name, runtime_of, torch_session, why_unusable
from same_bits import compare_bits

import numpy as np

MAX_DRAWS_PER_INPUT = 6  # before an uninformative output counts as not verified
MAX_OPTIMIZATION_RATIO = 3  # times the effect of the runtime's optimizations on the original, if there is no reference
MAX_REFERENCE_SECONDS = 3


def is_informative(values, seen):
    """Returns true if most elements are finite, and differ from each other or have changed over the inputs so far (`seen`)."""
    if values.size == 0 or np.isfinite(values).sum() * 2 < values.size:
        return False
    _, counts = np.unique(values, return_counts=True)
    if values.size > 1 and counts.max() * 2 <= values.size:
        return True
    first, changed = seen.setdefault(values.shape, (values, np.zeros(values.shape, bool)))
    changed |= values != first
    return changed.sum() * 2 >= values.size


class Output:
    """The errors of one output over all inputs."""

    def __init__(self, name, query):
        self.name, self.query = name, query
        self.informative, self.seen = False, {}
        self.is_loose = False  # accepted only because the runtime's optimizations change the original as much
        self.before = self.after = self.difference = 0.0
        self.own_error = 0.0  # of the original, the largest on inputs on which that is too large for a comparison with the reference
        self.failure = ""

    def compare(self, reference, unoptimized, optimized, result):
        """Compares the result with the original, run without and with optimizations, and with the float64 reference, which may be
        None. Raises ValueError if the error is too large whatever further inputs show."""
        name = f"output {self.name}"
        if not isinstance(unoptimized, np.ndarray) or not isinstance(result, np.ndarray):
            raise CannotRun(f"{name} is no tensor")
        if unoptimized.shape != result.shape or unoptimized.dtype != result.dtype:
            raise ValueError(f"{name}: {unoptimized.dtype}{list(unoptimized.shape)} became {result.dtype}{list(result.shape)}")
        if unoptimized.dtype.kind != "f":
            if not any(np.array_equal(each, result) for each in (unoptimized, optimized, reference) if each is not None):
                raise ValueError(f"{name}: elements that are not floating point changed")
            return
        roundoff = UNIT_ROUNDOFF[unoptimized.dtype.type]
        unoptimized, optimized, result = (values.astype(np.float64) for values in (unoptimized, optimized, result))
        result = where_defined(self.query, unoptimized, result)
        same_nonfinite = lambda a: all(np.array_equal(test(a), test(result)) for test in (np.isnan, np.isposinf, np.isneginf))
        if not same_nonfinite(unoptimized) and not same_nonfinite(optimized):
            raise ValueError(f"{name}: NaN or infinity at other places")
        original = unoptimized if same_nonfinite(unoptimized) else optimized
        difference, own_difference = distance(original, result, original), distance(unoptimized, optimized, original)
        self.difference = max(self.difference, difference)
        if reference is not None and roundoff > UNIT_ROUNDOFF[np.float64]:
            before = max(distance(reference, each, reference) for each in (unoptimized, optimized))
            if before <= self.query["max_original_error"]:
                self.check_errors(before, distance(reference, result, reference), roundoff, unoptimized.size)
                return
            self.own_error = max(self.own_error, before)
        tolerance = self.query["tolerance"]
        if roundoff > 2.0 ** -23:
            tolerance = max(tolerance, self.query["max_error_ratio"] * roundoff)
        elif roundoff < 2.0 ** -25:
            tolerance *= roundoff / 2.0 ** -24
        if difference <= max(tolerance, self.allowed(roundoff) + self.before):
            return
        self.is_loose = True
        if not difference <= MAX_OPTIMIZATION_RATIO * own_difference:
            raise ValueError(f"{name}: differs by {difference:.3g} of the largest value")

    def allowed(self, roundoff):
        return self.query["max_error_ratio"] * (self.before + roundoff) if self.before else 0.0

    def check_errors(self, before, after, roundoff, size):
        self.before, self.after = max(self.before, before), max(self.after, after)
        if after > self.query["max_error_ratio"] * (before + roundoff):
            failure = f"output {self.name}: error {after:.2g} of the largest value, where the original's own is {before:.2g}"
            self.failure = self.failure or failure
            if size >= self.query["small_tensor_elements"]:
                raise ValueError(failure)
        if self.after <= self.query["max_error_ratio"] * (self.before + roundoff):
            self.failure = ""


def distance(a, b, scale_of):
    finite = np.isfinite(a) & np.isfinite(b)
    scale = max(float(np.max(np.abs(scale_of[np.isfinite(scale_of)]), initial=0.0)), 1e-300)
    return float(np.max(np.abs(a - b)[finite], initial=0.0)) / scale


class Reference:
    """The model in float64, for one input at least and for more while time remains."""

    def __init__(self, path, threads, folder, runtime):
        self.session, self.name, self.reason, self.seconds = None, "", "", 0.0
        try:
            if runtime is torch_session:
                self.session, self.name = runtime(path, threads, is_double=True), "PyTorch in float64"
                return
            from float64_copy import Copy

            copy = Copy(path)
            self.session = copy.session(threads, folder)
            self.name = copy.name()
        except CannotRun as error:
            self.reason = str(error)
        except MemoryError:
            self.reason = "out of memory"
        except Exception as error:
            self.reason = f"no float64 copy can be made: {one_line(error)}"

    def run(self, feeds, count):
        if self.session is None or self.seconds > MAX_REFERENCE_SECONDS:
            return [None] * count
        start = time.monotonic()
        float64_feeds = {name: values.astype(np.float64) if values.dtype.kind == "f" else values for name, values in feeds.items()}
        result = try_run(self.session, float64_feeds)
        self.seconds += time.monotonic() - start
        if isinstance(result, str):
            self.session, self.name, self.reason = None, "", f"the float64 copy does not run: {result}"
            return [None] * count
        return result


def with_zeros(feeds, seed):
    """Inputs at some of whose elements a model may be undefined."""
    generator = np.random.default_rng(seed)
    return {name: np.where(generator.random(values.shape) < 1 / 3, np.zeros_like(values), values) if values.dtype.kind == "f" else values
            for name, values in feeds.items()}


class Different(Exception):
    """The result computes something else than the model."""


class ValuesDiffer(Different):
    """It computes other values, on ordinary inputs."""


class NotLoaded(Exception):
    """onnxruntime loads the model, but not the result."""


class Verification:
    def __init__(self, query, choices=None):
        """`choices`: at which the models are cut."""
        self.query, self.choices, threads = query, choices, os.cpu_count() or 1
        query = query if choices is None else {**query, **choices.models}
        # The first, because making a copy takes more memory than keeping it.
        self.reference = Reference(query["before"], threads, os.path.dirname(query["after"]), runtime_of(query))
        is_large = bytes_on_disk(query["before"]) > LARGE_BYTES
        unoptimized_session = torch_session if runtime_of(query) is torch_session else mapped_session if is_large else session
        load = mapped_session if is_large and runtime_of(query) is session else runtime_of(query)
        try:
            self.unoptimized, self.optimized = unoptimized_session(query["before"], threads, False), load(query["before"], threads)
        except Exception as error:
            raise CannotRun(f"it does not load the model: {one_line(error)}")
        try:
            self.result = load(query["after"], threads)
        except Exception as error:
            raise NotLoaded(one_line(error))
        self.infos = [info for info in self.unoptimized.get_inputs() if choices is None or info.name not in choices.names]
        self.outputs = [Output(info.name, query) for info in self.unoptimized.get_outputs()]
        self.given = given_feeds(query)
        self.sizes = list(DYNAMIC_SIZES)
        self.tensors = self.elements = self.inputs = 0

    def compare(self, feeds, place):
        """Returns why the model does not run on the inputs; an empty text if it does."""
        if self.choices is not None:
            feeds = self.choices.complete(feeds)
            if isinstance(feeds, str):
                return feeds
        before = try_run(self.unoptimized, feeds)
        if isinstance(before, str):
            return before
        after = try_run(self.result, feeds)
        if isinstance(after, str):
            if self.query.get("as_real_functions"):  # no value differs
                return after
            raise Different(f"it does not run the result: {after}")
        optimized = try_run(self.optimized, feeds)
        columns = zip(self.outputs, self.reference.run(feeds, len(self.outputs)), before, before if isinstance(optimized, str) else optimized, after)
        for output, *values in columns:
            try:
                output.compare(*values)
            except ValueError as error:
                raise ValuesDiffer(f"{error}, {place}")
            self.tensors += 1
            self.elements += values[1].size
            output.informative |= values[1].dtype.kind != "f" or not self.infos or is_informative(values[1], output.seen)
        return ""

    def compare_given(self):
        for number, feeds in enumerate(self.given):
            failure = self.compare(feeds, f"given input {number}")
            if failure:
                raise CannotRun(f"it does not run the model on given input {number}: {failure}")

    def shapes(self, number):
        """Returns the shapes of random inputs as far as they are set."""
        if not self.given:
            return self.query["shapes"]
        return {name: list(values.shape) for name, values in self.given[number % len(self.given)].items()}

    def compare_random(self):
        failure = ""
        while self.inputs < self.query["inputs"] * MAX_DRAWS_PER_INPUT and self.sizes:
            if self.inputs >= self.query["inputs"] and all(output.informative for output in self.outputs):
                break
            failure = self.compare(feeds_of(self.infos, self.shapes(self.inputs), self.sizes[0], self.inputs), f"input {self.inputs}")
            if failure:  # the model does not accept these sizes
                self.sizes.pop(0)
            else:
                self.inputs += 1
        if self.inputs == 0:
            raise CannotRun(f"it does not run the model: {failure}")
        for number in (0, 1, 4) if self.query.get("only_where_defined") else ():  # numbers of any sign, positive and negative ones
            feeds = feeds_of(self.infos, self.shapes(number), self.sizes[0], number)
            self.compare(with_zeros(feeds, number), f"input {number} with zeros")

    def compare_boundaries(self, compares_values=True):
        models = {"unoptimized": self.unoptimized, "optimized": self.optimized, "result": self.result}
        try:
            Boundary(self.query, models, self.outputs, self.sizes[0] if self.sizes else DYNAMIC_SIZES[0]).check(compares_values)
        except ValueError as error:
            raise Different(str(error))

    def run(self):
        self.compare_given()
        try:
            self.compare_random()
            if self.choices is None:
                self.compare_boundaries()
        except CannotRun:
            if not self.given:
                raise
        for output in self.outputs:
            if output.failure:
                raise ValuesDiffer(output.failure)
            if not output.informative:
                raise CannotRun(f"output {output.name} is mostly NaN, infinite or one value, whatever the input")

    def answer(self):
        largest = lambda of: max((getattr(output, of) for output in self.outputs), default=0.0)
        reference, reason = self.reference.name, self.reference.reason
        if reference and largest("own_error") > 0 and largest("before") > 0:
            reference += f"; on other inputs the model's own error is up to {largest('own_error'):.2g}"
        elif reference and largest("own_error") > 0:
            reference, reason = "", (f"the model's own error is {largest('own_error'):.2g} of the largest value; where the runtime's "
                                     f"optimizations change the model's values, up to {MAX_OPTIMIZATION_RATIO} times as much is accepted")
        return {"verdict": "equal", "reason": "", "max_relative_difference": largest("difference"), "tensors": self.tensors,
                "elements": self.elements, "inputs": self.inputs, "given_inputs": len(self.given), "reference": reference,
                "no_reference_reason": reason, "choices": self.choices.operators if self.choices else [],
                "error_before": largest("before"), "error_after": largest("after")}


def verify_at_choices(verification):
    """Compares the models cut at the nodes that choose. Returns None if that is not possible."""
    try:
        from choices import Choices

        cut = Verification(verification.query, Choices(verification.query["before"], verification.query["after"]))
        cut.run()
    except Different:
        raise
    except Exception:
        return None
    return cut.answer()


def verify(query):
    try:
        verification = Verification(query)
        try:
            verification.run()
            is_loose = any(output.is_loose for output in verification.outputs)
            return (verify_at_choices(verification) if is_loose else None) or verification.answer()
        except ValuesDiffer as difference:
            answer = verify_at_choices(verification)
            if answer is None:
                raise difference
            verification.compare_boundaries(compares_values=False)
            return answer
    except Different as error:
        return {"verdict": "different", "reason": str(error)}
    except NotLoaded as error:
        return {"verdict": "not loaded", "reason": str(error)}


def safe_verify(query):
    try:
        if "constants" in query:
            return evaluate(query)
        if "usable" in query:
            return {"reason": why_unusable(query)}
        return compare_bits(query) if query.get("same_bits") else add_name(verify(query), query)
    except CannotRun as error:
        return add_name({"verdict": "not verified", "reason": str(error)}, query)
    except MemoryError:
        return add_name({"verdict": "not verified", "reason": "out of memory"}, query)


if __name__ == "__main__":
    serve(safe_verify)
