"""One-node models of every operator of operator_rows.py, in every version of its schema; and what they compute, by onnxruntime and by
onnx's reference implementation."""

import os
import pickle
import random
import resource
import struct
import warnings
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_schemas

from operator_rows import rows

FIRST_OPSET = 7  # of onnxruntime
NUMBERS = {"INT": (0, 1, 2, -1, 3, 2 ** 31), "FLOAT": (0.0, 1.0, 0.5, -1.0, 1e3)}  # of attributes that a row does not name
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64,
         "int32": np.int32, "int16": np.int16, "int8": np.int8, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
         "uint64": np.uint64, "bool": np.bool_}
ORDINARY = [each / 4 for each in range(-9, 10)] + [5.0, -7.0, 0.3, 0.7, 1.3]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 1e-40, 65504.0, 3e38, float("inf"), -float("inf"), float("nan"), 1e-8, 16777217.0, -0.3]
POOLS = {"ordinary": ORDINARY, "special": SPECIAL, "small": [each * 1e-4 for each in ORDINARY]}


class Schema:
    """One version of an operator: attributes (type, default) and formal inputs (name, option, type variable, element types)."""

    def __init__(self, given, until):
        self.name, self.domain, self.since, self.until = given.name, given.domain, given.since_version, until
        types = {each.type_param_str: each.allowed_type_strs for each in given.type_constraints}
        self.attributes = {name: (str(each.type).rpartition(".")[2], default_of(each)) for name, each in given.attributes.items()}
        self.inputs = [(each.name, str(each.option).rpartition(".")[2], each.typeStr,
                        [TYPES[t[7:-1]] for t in sorted(types.get(each.typeStr, [each.typeStr])) if t[7:-1] in TYPES]) for each in given.inputs]


def default_of(attribute):
    proto = AttributeProto()
    proto.ParseFromString(attribute._default_value)
    value = helper.get_attribute_value(proto) if proto.name else None
    return value.decode() if isinstance(value, bytes) else value


def schemas():
    """All versions of all operators that onnxruntime knows, ONNX's among them, by name with domain."""
    found, result = {}, {}
    for given in runtime_schemas.get_all_operator_schema():
        if given.domain in ("", "com.microsoft") and not given.deprecated:
            found.setdefault(f"{given.domain}.{given.name}".lstrip("."), {})[given.since_version] = given
    for name, versions in found.items():
        starts = sorted(versions)
        result[name] = [Schema(versions[since], until) for since, until in zip(starts, [*starts[1:], onnx.defs.onnx_opset_version() + 1])]
    return result


def kind_of(value, default):
    """The kind of a value of an attribute or of an input that is no tensor of the network."""
    if value is None:
        return "absent"
    if default is not None and np.array_equal(value, default):
        return "default"
    if isinstance(value, str):
        return "text"
    if isinstance(value, tuple):
        return "tensor"
    numbers = np.asarray(value)
    if numbers.size == 0:
        return "empty"
    if numbers.dtype.kind in "iu" and (np.abs(numbers.astype(np.float64)) >= 2.0 ** 31 - 1).any():
        return "largest"
    if numbers.dtype.kind != "b" and (numbers < 0).any():
        return "negative"
    return "zero" if not numbers.any() else "other"


class Case:
    """A node with its inputs. `choice` are the values that it has by the row; `text` says what it is."""

    def __init__(self, schema, opset, element, data, choice, outputs, scale, seed):
        self.given = {"schema": schema, "opset": opset, "element": element, "data": data, "choice": choice, "outputs": outputs,
                      "scale": scale, "seed": seed}
        self.schema, self.opset, self.element, self.data, self.choice, self.outputs = schema, opset, element, data, choice, outputs
        self.attributes, self.inputs, self.is_data = {}, [], []
        numbers = random.Random(seed)
        for name, value in choice.items():
            if name in schema.attributes and value is not None and not isinstance(value, tuple):
                self.attributes[name] = attribute_value(value, schema.attributes[name][0])
        variadic = [each for each in schema.inputs if each[1] == "Variadic"]
        formal = schema.inputs if not variadic else [*schema.inputs[:-1], *variadic * (len(data) - len(schema.inputs) + 1)]
        for i, (name, _, variable, types) in enumerate(formal):
            value = data[i] if i < len(data) else choice.get(name)
            is_same = variable == schema.inputs[0][2]
            is_like_first = isinstance(value, tuple) and value == data[0]
            drawn = scale if scale != "small" or is_like_first else "ordinary"  # weights would hide what is added to small numbers
            self.inputs.append(input_value(value, element if is_same or element in types else (types or [element])[0], drawn, numbers, variable))
            self.is_data.append(isinstance(value, tuple))
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()

    def changed(self, **changes):
        return Case(**self.given | changes)

    @property
    def key(self):
        return (self.schema.domain + "." if self.schema.domain else "") + self.schema.name

    def kinds(self):
        """Pairs of the name of an attribute or input, and the kind of its value."""
        for name, value in self.choice.items():
            yield name, kind_of(value, self.schema.attributes.get(name, (None, None))[1])

    def node(self, prefix="", inputs=None):
        names = inputs or [f"{prefix}i{i}" if value is not None else "" for i, value in enumerate(self.inputs)]
        node = helper.make_node(self.schema.name, names, [f"{prefix}o{i}" for i in range(self.outputs)], domain=self.schema.domain)
        for name, value in self.attributes.items():
            kind = self.schema.attributes[name][0]
            attribute = AttributeProto(name=name, type=AttributeProto.AttributeType.Value(kind))
            if kind == "TENSOR":
                attribute.t.CopyFrom(numpy_helper.from_array(value, name))
            elif kind in ("INTS", "FLOATS"):
                getattr(attribute, kind.lower()).extend(value)
            else:
                setattr(attribute, {"INT": "i", "FLOAT": "f", "STRING": "s"}[kind], value)
            node.attribute.append(attribute)
        return node

    def tensors(self, prefix=""):
        return [numpy_helper.from_array(value, f"{prefix}i{i}") for i, value in enumerate(self.inputs) if value is not None]

    def model(self, is_input=lambda i: False):
        """The node as a model. Inputs for which `is_input` holds are inputs of the model, others initializers."""
        inputs = [helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in self.tensors() if is_input(int(each.name[1:]))]
        weights = [each for each in self.tensors() if not is_input(int(each.name[1:]))]
        return make_model([self.node()], inputs, [f"o{i}" for i in range(self.outputs)], weights, self.opset)

    def __str__(self):
        shown = [None if each is None else f"{each.dtype}{list(each.shape)}" + (str(each.tolist()) if each.size < 9 else "") for each in self.inputs]
        return f"{self.key} opset {self.opset} {self.attributes} {shown} -> {self.outputs}"


def attribute_value(value, kind):
    if kind == "TENSOR":
        return np.asarray(value)
    if kind == "STRING":
        return str(value).encode()
    numbers = np.ravel(value).tolist()
    if kind in ("INTS", "FLOATS"):
        return [int(each) if kind == "INTS" else float(each) for each in numbers]
    return float(numbers[0]) if kind == "FLOAT" else int(numbers[0] if numbers else 0)


def input_value(value, element, scale, numbers, variable):
    if value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(value, tuple):
        count, pool = int(np.prod(value)), POOLS[scale]
        if element == np.bool_:
            return np.array([numbers.random() < 0.5 for _ in range(count)], np.bool_).reshape(value)
        if np.issubdtype(element, np.integer):
            limits = np.iinfo(element)
            pool = [0, 1, 2, 3, 5, 7, 100] + ([] if limits.min == 0 else [-1, -2, -5]) + ([limits.max, limits.min] if scale == "special" else [])
        with np.errstate(all="ignore"):
            return np.array([numbers.choice(pool) for _ in range(count)]).astype(element).reshape(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and variable == "T":
        with np.errstate(all="ignore"):
            return np.array(min(value, 127) if element in (np.int8, np.uint8) else value).astype(element)
    return np.array(value, np.float32 if isinstance(value, float) else np.int64)


def make_model(nodes, inputs, outputs, weights, opset, extra_opsets=()):
    values = [helper.make_empty_tensor_value_info(name) if isinstance(name, str) else name for name in outputs]
    graph = helper.make_graph(nodes, "cases", inputs, values, weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), *(helper.make_opsetid(each, 1) for each in extra_opsets)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=min(13, max(4, helper.find_min_ir_version_for([opsets[0]]))))


def element_types(schema):
    types = schema.inputs[0][3] if schema.inputs else [np.float32]
    preferred = [t for t in (np.float32, np.int64, np.bool_, np.float64, np.int32, np.float16, np.uint8) if t in types]
    return preferred + [t for t in types if t not in preferred]


def cases_of(schema, row, seed=0, budget=200):
    """Draws cases: each value of each name, in ordinary nodes of several shapes; then random combinations; special numbers and all
    element types."""
    rng = random.Random(zlib.crc32(f"{schema.domain}.{schema.name} {schema.since} {seed}".encode()))
    data, outputs = row.get("data") or [()], row.get("outputs", [1])
    known = {each[0] for each in schema.inputs[len(data[0]):]} | set(schema.attributes)
    values = {name: candidates for name, candidates in row.items() if name in known and name not in ("data", "outputs")}
    for name, (kind, default) in schema.attributes.items():
        if name not in values:
            values[name] = [None, default] if kind not in NUMBERS else [None, *([default] if default is not None else []), *NUMBERS[kind]]
    base = {name: candidates[0] for name, candidates in values.items()}
    types, opsets = element_types(schema), sorted({max(schema.since, min(FIRST_OPSET, schema.until - 1)), schema.until - 1})
    if schema.domain:
        opsets = [13, 17, 21]

    def case(each, choice, element=None, scale="ordinary", count=None):
        return Case(schema, rng.choice(opsets), element or types[0], each, choice, count or outputs[0], scale, rng.random())

    for each in data:
        for opset in opsets:
            yield Case(schema, opset, types[0], each, dict(base), outputs[0], "ordinary", rng.random())
    for name, candidates in values.items():
        for value in candidates:
            for each in [data[0], rng.choice(data)]:
                yield case(each, base | {name: value})
    for count in outputs:
        yield case(data[0], dict(base), count=count)
    for element in types:
        for scale in POOLS:
            for each in [data[0], *rng.sample(data, min(2, len(data)))]:
                yield case(each, dict(base), element, scale)
    for _ in range(budget):
        choice = {name: rng.choice(candidates) if rng.random() < 0.6 else candidates[0] for name, candidates in values.items()}
        yield case(rng.choice(data), choice, types[0] if rng.random() < 0.6 else rng.choice(types), rng.choice(["ordinary", "ordinary", "special",
            "small"]), rng.choice(outputs))


def all_cases(seed=0, budget=200, names=None):
    """Yields the cases of all operators, the newest version first."""
    known, table = schemas(), rows()
    for name in names or table:
        for schema in reversed(known[name]):
            yield from cases_of(schema, table[name], seed, budget)


# What a case computes


def run_in_onnxruntime(model, feeds=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds or {})


def run_in_reference(model, feeds=None):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds or {})]


# Operators of which onnx.reference computes something else than the standard's text says.
NOT_ASKED = {
    "BatchNormalization": "in versions before 14 it reads the momentum",
    "GlobalMaxPool": "it takes images for rows",
    "LRN": "it normalizes the first channel only",
    "LpNormalization": "its 1-norm is the sum, not the sum of absolute values",
    "Shape": "it does not clamp an end before the first dimension",
    "Sum": "it adds a single tensor to 0, which -0 does not survive",
    "Unsqueeze": "it inserts axes one by one, in the order in which they are given",
}
RUNTIMES = {"onnxruntime": run_in_onnxruntime, "onnx.reference": run_in_reference}


def isolated(action, items, memory=4 << 30):
    """Yields action(item) of each item, computed in a child process; an exception, or "crashed", in its place."""
    items, at = list(items), 0
    while at < len(items):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                with os.fdopen(write, "wb") as out:
                    for item in items[at:]:
                        try:
                            answer = pickle.dumps(action(item))
                        except BaseException as error:  # noqa: B036, the runtimes raise all kinds
                            answer = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"[:300]))
                        out.write(struct.pack("<Q", len(answer)) + answer)
                        out.flush()
            finally:
                os._exit(0)  # also where the parent reads no more: folders are the parent's to remove
        os.close(write)
        with os.fdopen(read, "rb") as answers:
            while len(header := answers.read(8)) == 8:
                answer = answers.read(struct.unpack("<Q", header)[0])
                yield pickle.loads(answer)
                at += 1
        os.waitpid(child, 0)
        if at < len(items):
            yield RuntimeError("crashed")
            at += 1


def outputs_of(case):
    """What each runtime computes: a list of arrays, or an exception."""
    model, result = case.model(), {}
    for name, run in RUNTIMES.items():
        if name == "onnx.reference" and (case.schema.domain or case.schema.name in NOT_ASKED):
            continue
        try:
            result[name] = run(model)
        except Exception as error:  # noqa: BLE001, the runtimes raise all kinds
            result[name] = RuntimeError(f"{type(error).__name__}: {error}"[:300])
    return result


def is_same(first, second):
    """Whether two lists of arrays have the same types, dimensions and bits; the bits of NaN do not matter."""
    if len(first) != len(second):
        return False
    for a, b in zip(first, second):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.tobytes() != b.tobytes():
            if a.dtype.kind not in "fV":
                return False
            x, y = (each.astype(np.float64) for each in (a, b))
            if not ((np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))).all():
                return False
    return True


def is_close(first, second, tolerance=1e-4):
    """The same up to rounding."""
    if len(first) != len(second):
        return False
    for a, b in zip(first, second):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind in "fV":
            x, y = a.astype(np.float64), b.astype(np.float64)
            with np.errstate(all="ignore"):
                if not ((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * np.maximum(1, np.abs(y)))).all():
                    return False
        elif not np.array_equal(a, b):
            return False
    return True
