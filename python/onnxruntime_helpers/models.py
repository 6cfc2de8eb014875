"""Shared by the helpers of this folder: the protocol, onnxruntime sessions, random inputs and those that the user gives.

Messages are JSON texts on stdin and stdout, each after its length (8 bytes, little endian). A helper first sends its name, then
answers queries until stdin ends."""

import json
import os
import struct
import sys

# Libraries that print to stdout must not disturb the protocol.
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

try:
    import numpy as np
    import onnxruntime
except ImportError:
    sys.exit(3)  # rulemill says so where it matters

onnxruntime.set_default_logger_severity(4)

# Ranges of random inputs, used in turns, because a model may compute only NaN or zeros on some of them.
RANGES = [(-1.0, 1.0), (0.25, 2.0), (-8.0, 8.0), (0.0, 1.0), (-2.0, -0.25), (-100.0, 100.0), (8.0, 16.0), (-16.0, -8.0), (-1000.0, 1000.0)]
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


# Sizes of dynamic dimensions. The first are large enough for windows: results of empty tensors cannot be compared.
DYNAMIC_SIZES = [(3, 69, 66, 71, 68, 70), (3, 5, 2, 7, 4, 6), (2, 3, 4, 5), (1,), (8,), (16,), (32,), (64,), (224,)]


LARGE_BYTES = 1 << 30  # of a model of which few copies fit in memory


class CannotRun(Exception):
    pass


def one_line(error):
    return " ".join(str(error).split())[:300]


def session(path, threads, optimized=True, providers=("CPUExecutionProvider",), packs_weights=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads and denormals would distort times.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    if not packs_weights:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=list(providers))


def plain_session(path):
    """A session that computes node by node, as the model states, in one order."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Only constant weights are packed, which rounds differently, and folding makes constants.
    options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def mapped_session(path, threads, optimized=True):
    """A session for comparisons of large models: it packs no copies of weights, so that those in a file of their own take no memory."""
    return session(path, threads, optimized, packs_weights=False)


def bytes_on_disk(path):
    """Returns the size of a model and of its files of weights, of which there may be any number."""
    size, folder = os.path.getsize(path), os.path.dirname(path)
    try:
        import onnx
    except ImportError:
        return size
    if size > LARGE_BYTES:  # weights inside
        return size
    tensors = onnx.load(path, load_external_data=False).graph.initializer
    files = {os.path.join(folder, entry.value) for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return size + sum(os.path.getsize(file) for file in files)


def shapes_of(infos, given, size_of):
    """Returns the shape of each input. Names of a given shape's dimensions hold for all inputs; `size_of(name or (input, axis), axis)`
    returns the size of any other dynamic dimension."""
    known = {d: size for info in infos for d, size in zip(info.shape, given.get(info.name, [])) if isinstance(d, str)}

    def size(info, axis, d):
        if isinstance(d, int) and d > 0:
            return d
        return known[d] if d in known else size_of(d if isinstance(d, str) else (info.name, axis), axis)

    return {info.name: given.get(info.name) or [size(info, axis, d) for axis, d in enumerate(info.shape)] for info in infos}


def draw(infos, shapes, number):
    """Returns random values for inputs of these shapes; `number` selects their range and is the seed."""
    generator = np.random.default_rng(number)
    lower, upper = RANGES[number % len(RANGES)]
    feeds = {}
    for info in infos:
        shape = shapes[info.name]
        if np.prod([float(d) for d in shape] or [1.0]) > 2**28:
            raise CannotRun(f"input {info.name} is too large")
        if info.type in FLOATS:
            feeds[info.name] = generator.uniform(lower, upper, shape).astype(FLOATS[info.type])
        elif info.type in INTEGERS:
            feeds[info.name] = generator.integers(0, 2 + 10 * (number % 2), shape).astype(INTEGERS[info.type])
        elif info.type == "tensor(bool)":
            feeds[info.name] = generator.integers(0, 2, shape).astype(bool)
        else:
            raise CannotRun(f"input {info.name} is {info.type}, which is not supported")
    return feeds


def feeds_of(infos, given, sizes, number, only=None):
    """Draws inputs with these sizes of dynamic dimensions; `only` is the number of a dimension and its size."""
    names = {}

    def size_of(key, axis):
        dim = names.setdefault(key, len(names))
        return only[1] if only and only[0] == dim else sizes[dim % len(sizes)]

    return draw(infos, shapes_of(infos, given, size_of), number)


def given_feeds(query):
    """Returns the inputs that the user gives: a NumPy file for each input of each set."""
    return [{name: np.load(path, allow_pickle=False) for name, path in files.items()} for files in query.get("given", [])]


def try_run(model, feeds):
    """Returns the outputs, or an error message."""
    try:
        return model.run(None, feeds)
    except Exception as error:
        return one_line(error)


def send(value):
    text = json.dumps(value).encode()
    answers.write(struct.pack("<Q", len(text)) + text)
    answers.flush()


def serve(answer, name=f"onnxruntime {onnxruntime.__version__}"):
    send({"name": name})
    while len(head := sys.stdin.buffer.read(8)) == 8:
        send(answer(json.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))))
