"""Compares two models for `rulemill optimize`.

Query: {"before", "after": paths, "inputs": count, "shapes": {input: dims}, and the accuracy policy of optimize/verify/accuracy_policy.h:
"max_error_ratio", "max_original_error", "small_tensor_elements", "tolerance"}. Both models run with all optimizations of onnxruntime; the
original also runs without them and, if possible, in float64. The error of the result against float64 may be a multiple of the
original's."""

import os
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session, shape_of

import numpy as np

# Sizes of dynamic dimensions. The first are large enough for windows: results of empty tensors cannot be compared.
DYNAMIC_SIZES = [(3, 69, 66, 71, 68, 70), (3, 5, 2, 7, 4, 6), (2, 3, 4, 5), (1,), (8,), (16,), (32,), (64,), (224,)]
MAX_DRAWS_PER_INPUT = 6  # before an uninformative output counts as not verified
MAX_OPTIMIZATION_RATIO = 3  # times the effect of onnxruntime's optimizations on the original, if there is no reference
MAX_REFERENCE_SECONDS = 3
UNIT_ROUNDOFF = {np.float16: 2.0 ** -11, np.float32: 2.0 ** -24, np.float64: 2.0 ** -53}


def feeds_of(infos, given, sizes, number):
    names = {}
    size_of = lambda key, axis: sizes[names.setdefault(key, len(names)) % len(sizes)]
    return draw(infos, {info.name: shape_of(info, given, size_of) for info in infos}, number)


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
        self.before = self.after = self.difference = 0.0
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
        tolerance = self.query["tolerance"]
        if roundoff > 2.0 ** -23:
            tolerance = max(tolerance, self.query["max_error_ratio"] * roundoff)
        elif roundoff < 2.0 ** -25:
            tolerance *= roundoff / 2.0 ** -24
        if not difference <= max(tolerance, self.allowed(roundoff) + self.before, MAX_OPTIMIZATION_RATIO * own_difference):
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

    def __init__(self, path, threads):
        self.session, self.name, self.reason, self.seconds = None, "", "", 0.0
        try:
            from float64_copy import Copy

            copy = Copy(path)
            self.session = copy.session(threads)
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


def try_run(model, feeds):
    """Returns the outputs, or an error message."""
    try:
        return model.run(None, feeds)
    except Exception as error:
        return one_line(error)


def verify(query):
    result = {"verdict": "equal", "max_relative_difference": 0.0, "tensors": 0, "elements": 0, "inputs": 0, "reason": "", "reference": "",
              "no_reference_reason": "", "error_before": 0.0, "error_after": 0.0}
    try:
        threads = os.cpu_count() or 1
        unoptimized, optimized = session(query["before"], threads, False), session(query["before"], threads)
    except Exception as error:
        raise CannotRun(f"it does not load the model: {one_line(error)}")
    try:
        result_model = session(query["after"], threads)
    except Exception as error:
        return {**result, "verdict": "different", "reason": f"it does not load the result: {one_line(error)}"}
    outputs = [Output(info.name, query) for info in unoptimized.get_outputs()]
    reference_model = Reference(query["before"], threads)
    failure, has_inputs = "", bool(unoptimized.get_inputs())
    sizes = list(DYNAMIC_SIZES)
    while result["inputs"] < query["inputs"] * MAX_DRAWS_PER_INPUT and sizes:
        number = result["inputs"]
        if number >= query["inputs"] and all(output.informative for output in outputs):
            break
        feeds = feeds_of(unoptimized.get_inputs(), query["shapes"], sizes[0], number)
        before = try_run(unoptimized, feeds)
        if isinstance(before, str):  # the model does not accept these sizes
            failure = before
            sizes.pop(0)
            continue
        after = try_run(result_model, feeds)
        if isinstance(after, str):
            return {**result, "verdict": "different", "reason": f"it does not run the result: {after}"}
        optimized_values = try_run(optimized, feeds)
        columns = zip(outputs, reference_model.run(feeds, len(outputs)), before, before if isinstance(optimized_values, str) else optimized_values, after)
        for output, *values in columns:
            try:
                output.compare(*values)
            except ValueError as error:
                return {**result, "verdict": "different", "reason": f"{error}, input {number}"}
            result["tensors"] += 1
            result["elements"] += values[1].size
            output.informative |= values[1].dtype.kind != "f" or not has_inputs or is_informative(values[1], output.seen)
        result["inputs"] += 1
    if result["inputs"] == 0:
        raise CannotRun(f"it does not run the model: {failure}")
    for output in outputs:
        if output.failure:
            return {**result, "verdict": "different", "reason": output.failure}
        if not output.informative:
            raise CannotRun(f"output {output.name} is mostly NaN, infinite or one value, whatever the input")
    largest = lambda of: max((getattr(output, of) for output in outputs), default=0.0)
    return {**result, "max_relative_difference": largest("difference"), "error_before": largest("before"), "error_after": largest("after"),
            "reference": reference_model.name, "no_reference_reason": reference_model.reason}


def safe_verify(query):
    try:
        return verify(query)
    except CannotRun as error:
        return {"verdict": "not verified", "reason": str(error)}
    except MemoryError:
        return {"verdict": "not verified", "reason": "out of memory"}


if __name__ == "__main__":
    serve(safe_verify)
