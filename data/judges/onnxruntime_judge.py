"""The helper by which `rulemill optimize` has two models judged by onnxruntime; models.py says how they speak.

Question: {"before", "after": paths, "seeds", "tolerance", "shapes": {input: dims}}. Both models run with all of
onnxruntime's optimizations, and the first one also without any: what its own optimizations change is allowed to ours.
"""

import os
import sys

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session, shape_of

import numpy as np

OPEN_SIZES = [(3, 5, 2, 7, 4, 6), (2, 3, 4, 5), (1,), (8,), (16,), (32,), (64,), (224,)]
DRAWS = 6  # for each seed, before an output counts as not verified
ROUNDINGS = 4  # that a result of float16 may be off by, each half a unit in the last of its eleven binary digits
OWN_ERROR = 3  # times what onnxruntime's own optimizations change in the original


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


def compare(name, plain, own, new, tolerance):
    """The difference relative to the largest value; raises ValueError where it is too large."""
    if not isinstance(plain, np.ndarray) or not isinstance(new, np.ndarray):
        raise CannotRun(f"output {name} is no tensor")
    if plain.shape != new.shape or plain.dtype != new.dtype:
        raise ValueError(f"output {name}: {plain.dtype}{list(plain.shape)} became {new.dtype}{list(new.shape)}")
    if plain.dtype.kind != "f":
        if not (np.array_equal(plain, new) or np.array_equal(own, new)):
            raise ValueError(f"output {name}: elements that are not floating point changed")
        return 0.0
    if plain.dtype == np.float16:
        tolerance = max(tolerance, ROUNDINGS * 2.0 ** -11)
    plain, own, new = (values.astype(np.float64) for values in (plain, own, new))
    same_places = lambda a: all(np.array_equal(test(a), test(new)) for test in (np.isnan, np.isposinf, np.isneginf))
    if not same_places(plain) and not same_places(own):
        raise ValueError(f"output {name}: NaN or infinity at other places")
    reference = plain if same_places(plain) else own
    finite = np.isfinite(reference)
    scale = max(float(np.max(np.abs(reference[finite]), initial=0.0)), 1e-30)
    off = float(np.max(np.abs(reference - new)[finite], initial=0.0)) / scale
    both = finite & np.isfinite(own) & np.isfinite(plain)
    own_error = float(np.max(np.abs(plain - own)[both], initial=0.0)) / scale
    if not off <= max(tolerance, OWN_ERROR * own_error):
        raise ValueError(f"output {name}: differs by {off:.3g} of the largest value")
    return off


def runs(model, feeds):
    try:
        return model.run(None, feeds)
    except Exception as error:
        return one_line(error)


def judge(question):
    result = {"verdict": "equal", "worst": 0.0, "tensors": 0, "elements": 0, "inputs": 0, "reason": ""}
    try:
        threads = os.cpu_count() or 1
        plain, own = session(question["before"], threads, False), session(question["before"], threads)
    except Exception as error:
        raise CannotRun(f"it does not load the model: {one_line(error)}")
    try:
        new = session(question["after"], threads)
    except Exception as error:
        return {**result, "verdict": "different", "reason": f"it does not load the result: {one_line(error)}"}
    names = [info.name for info in plain.get_outputs()]
    shown, failure = set(), ""
    seen = {name: {} for name in names}
    changes = bool(plain.get_inputs())
    sizes = list(OPEN_SIZES)
    number = 0
    while number < question["seeds"] * DRAWS and sizes:
        if number >= question["seeds"] and len(shown) == len(names):
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
        for name, *values in zip(names, before, before if isinstance(also, str) else also, after):
            try:
                result["worst"] = max(result["worst"], compare(name, *values, question["tolerance"]))
            except ValueError as error:
                return {**result, "verdict": "different", "reason": f"{error}, input {number}"}
            result["tensors"] += 1
            result["elements"] += values[0].size
            if values[0].dtype.kind != "f" or not changes or shows_something(values[0], seen[name]):
                shown.add(name)
        number += 1
        result["inputs"] = number
    if number == 0:
        raise CannotRun(f"it does not run the model: {failure}")
    if len(shown) < len(names):
        missing = next(name for name in names if name not in shown)
        raise CannotRun(f"output {missing} is mostly NaN, infinite or one value, whatever the input")
    return result


def safe_judge(question):
    try:
        return judge(question)
    except CannotRun as error:
        return {"verdict": "not verified", "reason": str(error)}
    except MemoryError:
        return {"verdict": "not verified", "reason": "out of memory"}


if __name__ == "__main__":
    serve(safe_judge)
