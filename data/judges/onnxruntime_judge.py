"""The helper by which `rulemill optimize` has two models judged by onnxruntime: frames of JSON over stdin and stdout, each
after its length (8 bytes, little endian). First it says who it is, then it answers questions until stdin ends.

Question: {"before", "after": paths, "seeds", "tolerance", "shapes": {input: dims}}. Both models run with all of
onnxruntime's optimizations, and the first one also without any: what its own optimizations change is allowed to ours.
"""

import json
import os
import struct
import sys

# What else prints must not get between frames.
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

onnxruntime.set_default_logger_severity(4)

RANGES = [(-1.0, 1.0), (0.25, 2.0), (-8.0, 8.0), (0.0, 1.0), (-2.0, -0.25)]
OPEN_SIZES = [(3, 5, 2, 7, 4, 6), (2, 3, 4, 5), (1,), (8,), (16,), (32,), (64,), (224,)]
DRAWS = 6  # for each seed, before an output counts as not verified
OWN_ERROR = 3  # times what onnxruntime's own optimizations change in the original
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


class CannotJudge(Exception):
    pass


def one_line(error):
    return " ".join(str(error).split())[:300]


def session(path, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = os.cpu_count() or 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def shape_of(info, given, sizes, names):
    if info.name in given:
        return given[info.name]
    shape = []
    for d in info.shape:
        if isinstance(d, int) and d > 0:
            shape.append(d)
        else:
            number = names.setdefault(d if isinstance(d, str) else (info.name, len(shape)), len(names))
            shape.append(sizes[number % len(sizes)])
    return shape


def draw(infos, given, sizes, number):
    generator = np.random.default_rng(number)
    least, most = RANGES[number % len(RANGES)]
    names, feeds = {}, {}
    for info in infos:
        shape = shape_of(info, given, sizes, names)
        if np.prod([float(d) for d in shape] or [1.0]) > 2**28:
            raise CannotJudge(f"input {info.name} is too large")
        if info.type in FLOATS:
            feeds[info.name] = generator.uniform(least, most, shape).astype(FLOATS[info.type])
        elif info.type in INTEGERS:
            feeds[info.name] = generator.integers(0, 2 + 10 * (number % 2), shape).astype(INTEGERS[info.type])
        elif info.type == "tensor(bool)":
            feeds[info.name] = generator.integers(0, 2, shape).astype(bool)
        else:
            raise CannotJudge(f"input {info.name} is {info.type}, which cannot be drawn")
    return feeds


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
        raise CannotJudge(f"output {name} is no tensor")
    if plain.shape != new.shape or plain.dtype != new.dtype:
        raise ValueError(f"output {name}: {plain.dtype}{list(plain.shape)} became {new.dtype}{list(new.shape)}")
    if plain.dtype.kind != "f":
        if not (np.array_equal(plain, new) or np.array_equal(own, new)):
            raise ValueError(f"output {name}: elements that are not floating point changed")
        return 0.0
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
        plain, own = session(question["before"], False), session(question["before"], True)
    except Exception as error:
        raise CannotJudge(f"it does not load the model: {one_line(error)}")
    try:
        new = session(question["after"], True)
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
        feeds = draw(plain.get_inputs(), question["shapes"], sizes[0], number)
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
        raise CannotJudge(f"it does not run the model: {failure}")
    if len(shown) < len(names):
        missing = next(name for name in names if name not in shown)
        raise CannotJudge(f"output {missing} is mostly NaN, infinite or one value, whatever the input")
    return result


def send(value):
    text = json.dumps(value).encode()
    answers.write(struct.pack("<Q", len(text)) + text)
    answers.flush()


def main():
    send({"name": f"onnxruntime {onnxruntime.__version__}"})
    while len(head := sys.stdin.buffer.read(8)) == 8:
        question = json.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))
        try:
            send(judge(question))
        except CannotJudge as error:
            send({"verdict": "not verified", "reason": str(error)})
        except MemoryError:
            send({"verdict": "not verified", "reason": "out of memory"})


if __name__ == "__main__":
    main()
