"""Compares two models for `rulemill optimize`.

Query: {"before", "after": paths, "runtime": a name in runtimes.py, "inputs": count of random inputs, "shapes": {input: dims}, "given":
[{input: NumPy file}], and the accuracy policy of optimize/verify/accuracy_policy.h: "max_error_ratio", "max_original_error",
"small_tensor_elements", "tolerance"}. Both models run in the runtime with all its optimizations; the original also runs in onnxruntime
without any and, if possible, in float64. The error of the
result against float64 may be a multiple of the original's. Given inputs are compared first, then random ones: those of the shapes of
given ones, as far as the model runs on them. If values differ and nodes choose (TopK), the models are compared again, cut at these."""

import os
import sys
import time

sys.dont_write_bytecode = True

from constants import evaluate
from models import DYNAMIC_SIZES, CannotRun, feeds_of, given_feeds, one_line, serve, session, shape_of
from runtimes import add_name, runtime_of, why_unusable
from same_bits import compare_bits

import numpy as np

# Sizes of all dynamic dimensions, or of one of them, at which a result must run if the model does.
SMALL_SIZES = (0, 1, 2, 3, 4)
COARSE_TOLERANCE = 1e-3  # at small sizes; rounding errors are compared at ordinary sizes
MAX_BOUNDARY_SECONDS = 5  # for small sizes, and again for scaled inputs
MAX_DRAWS_PER_INPUT = 6  # before an uninformative output counts as not verified
MAX_OPTIMIZATION_RATIO = 3  # times the effect of onnxruntime's optimizations on the original, if there is no reference
MAX_REFERENCE_SECONDS = 3
UNIT_ROUNDOFF = {np.float16: 2.0 ** -11, np.float32: 2.0 ** -24, np.float64: 2.0 ** -53}


def dynamic_dims(infos, given):
    """Returns the number of different dynamic dimensions."""
    keys = set()
    for info in infos:
        shape_of(info, given, lambda key, axis: keys.add(key) or 1)
    return len(keys)


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
        self.is_loose = False  # accepted only because onnxruntime's own optimizations change the original as much
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


def is_finite(values):
    return all(np.isfinite(each).all() for each in values if isinstance(each, np.ndarray) and each.dtype.kind == "f")


def agree(a, b, inputs):
    """Compares coarsely and relative to the inputs, too, because few elements may cancel to rounding errors."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    a, b, roundoff = a.astype(np.float64), b.astype(np.float64), UNIT_ROUNDOFF[a.dtype.type]
    if not all(np.array_equal(test(a), test(b)) for test in (np.isnan, np.isposinf, np.isneginf)):
        return False
    finite = np.isfinite(a)
    scale = max(inputs, float(np.max(np.abs(a[finite]), initial=0)))
    return bool(np.all(np.abs(a - b)[finite] <= max(COARSE_TOLERANCE, 32 * roundoff) * scale))


def session_of_all_values(path):
    """Returns a session whose outputs are all values, so that onnxruntime rounds each to its type and does not keep it in float32."""
    import onnx
    from float64_copy import MAX_BYTES

    model = onnx.load(path)
    if model.ByteSize() > MAX_BYTES:
        raise CannotRun("the model is too large")
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return session(model.SerializeToString(), os.cpu_count() or 1, False)


class Boundary:
    """Inputs at which the result must not fail where the model works: small and empty tensors, and 16-bit numbers near overflow."""

    def __init__(self, query, models, outputs, sizes):
        self.query, self.models, self.outputs, self.sizes = query, models, outputs, sizes
        self.infos = models["unoptimized"].get_inputs()

    def check(self, compares_values):
        """Raises ValueError. Without values: only whether the result runs, and stays finite."""
        self.check_small_sizes(compares_values)
        if any(info.type == "tensor(float16)" for info in [*self.infos, *self.models["unoptimized"].get_outputs()]):
            try:
                before, after = (session_of_all_values(self.query[name]) for name in ("before", "after"))
            except Exception:  # the definitions still compare the range
                return
            for signed in (False, True):
                self.check_range(before, after, signed)

    def check_small_sizes(self, compares_values):
        count, start = dynamic_dims(self.infos, self.query["shapes"]), time.monotonic()
        cases = [((size,), None) for size in SMALL_SIZES] if count else []
        cases += [(self.sizes, (dim, size)) for dim in range(count) for size in SMALL_SIZES]
        for sizes, only in cases:
            if time.monotonic() - start > MAX_BOUNDARY_SECONDS:
                return
            feeds = feeds_of(self.infos, self.query["shapes"], sizes, 0, only)
            shapes = " ".join(f"{name}{list(values.shape)}" for name, values in feeds.items())
            before, optimized = try_run(self.models["unoptimized"], feeds), try_run(self.models["optimized"], feeds)
            if isinstance(before, str) or isinstance(optimized, str):
                continue
            after = try_run(self.models["result"], feeds)
            if isinstance(after, str):
                raise ValueError(f"it does not run the result for {shapes}: {after}")
            inputs = max((float(np.max(np.abs(each), initial=0)) for each in feeds.values() if each.dtype.kind == "f"), default=0.0)
            for output, *values in zip(self.outputs, before, optimized, after) if compares_values else ():
                if not any(agree(each, values[-1], inputs) for each in values[:-1]):
                    raise ValueError(f"output {output.name} has another shape or other values for {shapes}")

    def check_range(self, before_model, after_model, signed):
        """Scales an input by powers of 2 to the largest at which all values of the model are finite."""
        generator, start = np.random.default_rng(0), time.monotonic()
        feeds = feeds_of(self.infos, self.query["shapes"], self.sizes, 0)
        base = {name: generator.uniform(-1 if signed else 0.5, 1, values.shape) if values.dtype.kind == "f" else values
                for name, values in feeds.items()}
        scaled = lambda exponent: {name: (values * 2.0 ** exponent).astype(feeds[name].dtype) if values.dtype.kind == "f" else values
                                   for name, values in base.items()}
        lowest, low, high = -15, -15, 16 - 2.0 ** -10
        while high - low > 0.1 and time.monotonic() - start < MAX_BOUNDARY_SECONDS:
            middle = (low + high) / 2
            before = try_run(before_model, scaled(middle))
            if isinstance(before, str):
                return
            low, high = (middle, high) if is_finite(before) else (low, middle)
        if low > lowest:
            after = try_run(after_model, scaled(low))
            if isinstance(after, str) or not is_finite(after):
                raise ValueError(f"the result overflows for inputs up to {2.0 ** low:.3g}, where the model is finite")


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
        load = runtime_of(query)
        try:
            self.unoptimized, self.optimized = session(query["before"], threads, False), load(query["before"], threads)
        except Exception as error:
            raise CannotRun(f"it does not load the model: {one_line(error)}")
        try:
            self.result = load(query["after"], threads)
        except Exception as error:
            raise NotLoaded(one_line(error))
        self.infos = [info for info in self.unoptimized.get_inputs() if choices is None or info.name not in choices.names]
        self.outputs = [Output(info.name, query) for info in self.unoptimized.get_outputs()]
        self.reference = Reference(query["before"], threads)
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
        if reference and largest("own_error") > 0 and largest("before") == 0:
            reference, reason = "", (f"the model's own error is {largest('own_error'):.2g} of the largest value; where onnxruntime's "
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
