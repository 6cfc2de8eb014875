"""The helper by which `rulemill optimize` has two models judged by onnxruntime; models.py says how they speak.

Question: {"before", "after": paths, "seeds", "shapes": {input: dims}, and what optimize/acceptance.h says: "own_error",
"most_own_error", "few_elements", "tolerance"}. Both models run with all of onnxruntime's optimizations, the first one also
without any and, where that can be, in float64: the result may be as far from that as the model is, a few times.
"""

import os
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session, shape_of

import numpy as np

# Not so small at first that windows have nothing to look at: what is made of empty tensors is no value to compare.
OPEN_SIZES = [(3, 69, 66, 71, 68, 70), (3, 5, 2, 7, 4, 6), (2, 3, 4, 5), (1,), (8,), (16,), (32,), (64,), (224,)]
DRAWS = 6  # for each seed, before an output counts as not verified
OWN_ERROR = 3  # times what onnxruntime's own optimizations change in the original, where float64 cannot judge
EXACT_SECONDS = 3
ROUNDING = {np.float16: 2.0 ** -11, np.float32: 2.0 ** -24, np.float64: 2.0 ** -53}


def feeds_of(infos, given, sizes, number):
    names = {}
    size_of = lambda key, axis: sizes[names.setdefault(key, len(names)) % len(sizes)]
    return draw(infos, {info.name: shape_of(info, given, size_of) for info in infos}, number)


def shows_something(values, seen):
    """Most elements are finite, and differ from each other or, over the inputs so far (`seen`), have changed."""
    if values.size == 0 or np.isfinite(values).sum() * 2 < values.size:
        return False
    _, counts = np.unique(values, return_counts=True)
    if values.size > 1 and counts.max() * 2 <= values.size:
        return True
    first, changed = seen.setdefault(values.shape, (values, np.zeros(values.shape, bool)))
    changed |= values != first
    return changed.sum() * 2 >= values.size


class Output:
    """One output's errors over all inputs."""

    def __init__(self, name, question):
        self.name, self.question = name, question
        self.shown, self.seen = False, {}
        self.before = self.after = self.worst = 0.0
        self.told = ""

    def compare(self, exact, plain, own, new):
        """`exact` may be None. Raises ValueError where the result is too far off whatever comes later."""
        name = f"output {self.name}"
        if not isinstance(plain, np.ndarray) or not isinstance(new, np.ndarray):
            raise CannotRun(f"{name} is no tensor")
        if plain.shape != new.shape or plain.dtype != new.dtype:
            raise ValueError(f"{name}: {plain.dtype}{list(plain.shape)} became {new.dtype}{list(new.shape)}")
        if plain.dtype.kind != "f":
            if not any(np.array_equal(each, new) for each in (plain, own, exact) if each is not None):
                raise ValueError(f"{name}: elements that are not floating point changed")
            return
        rounding = ROUNDING[plain.dtype.type]
        plain, own, new = (values.astype(np.float64) for values in (plain, own, new))
        same_places = lambda a: all(np.array_equal(test(a), test(new)) for test in (np.isnan, np.isposinf, np.isneginf))
        if not same_places(plain) and not same_places(own):
            raise ValueError(f"{name}: NaN or infinity at other places")
        reference = plain if same_places(plain) else own
        difference, own_difference = distance(reference, new, reference), distance(plain, own, reference)
        self.worst = max(self.worst, difference)
        if exact is not None and rounding > ROUNDING[np.float64]:
            before = max(distance(exact, each, exact) for each in (plain, own))
            if before <= self.question["most_own_error"]:
                self.judge(before, distance(exact, new, exact), rounding, plain.size)
                return
        tolerance = self.question["tolerance"]
        if rounding > 2.0 ** -23:
            tolerance = max(tolerance, self.question["own_error"] * rounding)
        elif rounding < 2.0 ** -25:
            tolerance *= rounding / 2.0 ** -24
        if not difference <= max(tolerance, self.allowed(rounding) + self.before, OWN_ERROR * own_difference):
            raise ValueError(f"{name}: differs by {difference:.3g} of the largest value")

    def allowed(self, rounding):
        return self.question["own_error"] * (self.before + rounding) if self.before else 0.0

    def judge(self, before, after, rounding, size):
        self.before, self.after = max(self.before, before), max(self.after, after)
        if after > self.question["own_error"] * (before + rounding):
            told = f"output {self.name}: error {after:.2g} of the largest value, where the original's own is {before:.2g}"
            self.told = self.told or told
            if size >= self.question["few_elements"]:
                raise ValueError(told)
        if self.after <= self.question["own_error"] * (self.before + rounding):
            self.told = ""


def distance(a, b, scale_of):
    finite = np.isfinite(a) & np.isfinite(b)
    scale = max(float(np.max(np.abs(scale_of[np.isfinite(scale_of)]), initial=0.0)), 1e-300)
    return float(np.max(np.abs(a - b)[finite], initial=0.0)) / scale


class Exact:
    """The model in float64, for as many inputs as it has seconds for, one at least."""

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
        if self.session is None or self.seconds > EXACT_SECONDS:
            return [None] * count
        start = time.monotonic()
        wide = {name: values.astype(np.float64) if values.dtype.kind == "f" else values for name, values in feeds.items()}
        result = runs(self.session, wide)
        self.seconds += time.monotonic() - start
        if isinstance(result, str):
            self.session, self.name, self.reason = None, "", f"the float64 copy does not run: {result}"
            return [None] * count
        return result


def runs(model, feeds):
    try:
        return model.run(None, feeds)
    except Exception as error:
        return one_line(error)


def judge(question):
    result = {"verdict": "equal", "worst": 0.0, "tensors": 0, "elements": 0, "inputs": 0, "reason": "", "exact": "",
              "not_exact": "", "error_before": 0.0, "error_after": 0.0}
    try:
        threads = os.cpu_count() or 1
        plain, own = session(question["before"], threads, False), session(question["before"], threads)
    except Exception as error:
        raise CannotRun(f"it does not load the model: {one_line(error)}")
    try:
        new = session(question["after"], threads)
    except Exception as error:
        return {**result, "verdict": "different", "reason": f"it does not load the result: {one_line(error)}"}
    outputs = [Output(info.name, question) for info in plain.get_outputs()]
    exact = Exact(question["before"], threads)
    failure, changes = "", bool(plain.get_inputs())
    sizes = list(OPEN_SIZES)
    while result["inputs"] < question["seeds"] * DRAWS and sizes:
        number = result["inputs"]
        if number >= question["seeds"] and all(output.shown for output in outputs):
            break
        feeds = feeds_of(plain.get_inputs(), question["shapes"], sizes[0], number)
        before = runs(plain, feeds)
        if isinstance(before, str):  # sizes that the model does not take
            failure = before
            sizes.pop(0)
            continue
        after = runs(new, feeds)
        if isinstance(after, str):
            return {**result, "verdict": "different", "reason": f"it does not run the result: {after}"}
        also = runs(own, feeds)
        columns = zip(outputs, exact.run(feeds, len(outputs)), before, before if isinstance(also, str) else also, after)
        for output, *values in columns:
            try:
                output.compare(*values)
            except ValueError as error:
                return {**result, "verdict": "different", "reason": f"{error}, input {number}"}
            result["tensors"] += 1
            result["elements"] += values[1].size
            output.shown |= values[1].dtype.kind != "f" or not changes or shows_something(values[1], output.seen)
        result["inputs"] += 1
    if result["inputs"] == 0:
        raise CannotRun(f"it does not run the model: {failure}")
    for output in outputs:
        if output.told:
            return {**result, "verdict": "different", "reason": output.told}
        if not output.shown:
            raise CannotRun(f"output {output.name} is mostly NaN, infinite or one value, whatever the input")
    largest = lambda of: max((getattr(output, of) for output in outputs), default=0.0)
    return {**result, "worst": largest("worst"), "error_before": largest("before"), "error_after": largest("after"),
            "exact": exact.name, "not_exact": exact.reason}


def safe_judge(question):
    try:
        return judge(question)
    except CannotRun as error:
        return {"verdict": "not verified", "reason": str(error)}
    except MemoryError:
        return {"verdict": "not verified", "reason": "out of memory"}


if __name__ == "__main__":
    serve(safe_judge)
