"""Compares two models without code of rulemill: onnxruntime without its optimizations runs them, and onnx.reference evaluates them node
by node in float64, rounded to the types of the model.

A result's error may be MAX_ERROR_RATIO times the model's own, which is the largest deviation from float64 of runs that round to the
nearest number, of runs that round to either neighbour at random, and of onnxruntime. An element on which these runs disagree is not
compared: rounding decides it."""

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from model_builder import FLOATS, NUMPY
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

MAX_ERROR_RATIO = 8
MAX_OWN_ERROR = 0.02  # relative to the largest value; an element with a larger one is not compared
RANDOM_ROUNDINGS = 3
SHORT_FLOATS = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
ROUNDOFF = {TensorProto.FLOAT: 2.0 ** -24, TensorProto.FLOAT16: 2.0 ** -11, TensorProto.BFLOAT16: 2.0 ** -8, TensorProto.DOUBLE: 2.0 ** -53}
# Float64 has no more exact reference: its error is that of float32, scaled.
SCALED = {TensorProto.DOUBLE: TensorProto.FLOAT}

onnxruntime.set_default_logger_severity(4)


class Different(Exception):
    """The result is not what the model computes."""


def widen(tensor):
    if tensor.data_type in ROUNDOFF:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def in_float64(model):
    """Returns a copy whose floats are float64."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    widen_graph(copy.graph)
    return copy


def widen_graph(graph):
    for tensor in graph.initializer:
        widen(tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type in ROUNDOFF:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                widen(attribute.t)
            if attribute.HasField("g"):
                widen_graph(attribute.g)
            if attribute.name in ("to", "dtype") and attribute.i in ROUNDOFF:
                attribute.i = TensorProto.DOUBLE


def rounded(values, element):
    if element == TensorProto.DOUBLE:
        return values
    if element == TensorProto.BFLOAT16:
        return values.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    return values.astype(NUMPY[element]).astype(np.float64)


def exact(values, element):
    return values


def nearest(values, element):
    return rounded(values, SCALED.get(element, element))


class RandomRounding:
    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)

    def __call__(self, values, element):
        element = SCALED.get(element, element)
        return rounded(values * (1 + ROUNDOFF[element] * self.numbers.uniform(-1, 1, values.shape)), element)


class BatchNormalization(OpRun):
    """onnx.reference normalizes by the statistics of the input below opset 14."""

    def _run(self, x, scale, bias, mean, variance, epsilon=None, **_):
        column = lambda values: values.reshape(-1, *[1] * (x.ndim - 2))
        return (column(scale) * (x - column(mean)) / np.sqrt(column(variance) + epsilon) + column(bias),)


class Evaluator:
    """A model that onnx.reference evaluates node by node."""

    def __init__(self, model):
        inferred = onnx.shape_inference.infer_shapes(model)
        self.elements = {value.name: value.type.tensor_type.elem_type
                         for value in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]}
        self.session = ReferenceEvaluator(in_float64(model), new_ops=[BatchNormalization])
        self.outputs = [value.name for value in model.graph.output]

    def run(self, feeds, rounding):
        """Returns the outputs, whose floats are in float64."""
        values = {"": None, **self.session.rt_inits_, **feeds}
        with np.errstate(all="ignore"):
            for node in self.session.rt_nodes_:
                context = {"context": values} if node.need_context() else {}
                for name, result in zip(node.output, node.run(*(values[each] for each in node.input), **context)):
                    result = np.asarray(result)
                    values[name] = rounding(result.astype(np.float64), self.elements[name]) if result.dtype.kind == "f" else result
        return [values[name] for name in self.outputs]


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def attempt(action, *arguments):
    """Returns the result of an action, and the message of its exception."""
    try:
        return action(*arguments), ""
    except Exception as error:  # of any library
        return None, " ".join(str(error).split())[:300] or type(error).__name__


def has_type(model, *types):
    return any(value.type.tensor_type.elem_type in types for value in [*model.graph.input, *model.graph.output])


# Draws: sizes of dynamic dimensions in turns, and a generator of values.
DRAWS = (
    ((3, 5, 7), lambda numbers, dims: numbers.standard_normal(dims)),
    ((1,), lambda numbers, dims: numbers.choice([0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0], dims)),
    ((0,), lambda numbers, dims: numbers.standard_normal(dims)),
    ((17, 2, 8), lambda numbers, dims: 40 * numbers.uniform(0.2, 1, dims)),
    ((1, 4), lambda numbers, dims: numbers.standard_normal(dims) * 2.0 ** numbers.integers(-10, 10)),
    ((4, 1, 3), lambda numbers, dims: numbers.uniform(0.1, 1, dims) * numbers.choice([1, -1])),
)


def draw(model, number, seed):
    """Returns inputs as arrays of the model's types."""
    numbers = np.random.default_rng([seed, number])
    sizes, generate = DRAWS[number]
    names, feeds = {}, {}
    for value in model.graph.input:
        element = value.type.tensor_type.elem_type
        dims = [each.dim_value if each.HasField("dim_value") else sizes[names.setdefault(each.dim_param, len(names)) % len(sizes)]
                for each in value.type.tensor_type.shape.dim]
        values = generate(numbers, dims)
        if element in (TensorProto.INT64, TensorProto.BOOL):
            values = numbers.integers(0, 3 if element == TensorProto.INT64 else 2, dims)
        feeds[value.name] = np.asarray(values).astype(NUMPY[element])
    return feeds


class Oracle:
    """The expected outputs of a model, and comparisons with them. `counts` are of what was compared."""

    def __init__(self, model, counts):
        self.model, self.counts = model, counts
        self.elements = [value.type.tensor_type.elem_type for value in model.graph.output]
        self.runtime = None if has_type(model, TensorProto.BFLOAT16) else attempt(session, model)[0]
        self.evaluator = Evaluator(model)

    def compare(self, result, seed):
        """Raises Different."""
        runtime, why = attempt(session, result) if self.runtime else (None, "")
        if why:
            raise Different(f"onnxruntime does not load the result: {why}")
        evaluator = Evaluator(result)
        for number in range(len(DRAWS)):
            feeds = draw(self.model, number, seed)
            try:
                self.compare_draw(runtime, evaluator, feeds, seed)
            except Different as error:
                shapes = " ".join(f"{name}{list(values.shape)}" for name, values in feeds.items())
                raise Different(f"draw {number}, {shapes}: {error}") from error

    def compare_draw(self, runtime, evaluator, feeds, seed):
        before, why = attempt(self.runtime.run, None, feeds) if self.runtime else (None, "")
        if why:
            self.counts["inputs that the model refuses"] += 1
            return
        wide = {name: values.astype(np.float64) if values.dtype not in (np.int64, np.bool_) else values for name, values in feeds.items()}
        roundings = [nearest, *(RandomRounding([seed, each]) for each in range(RANDOM_ROUNDINGS))]
        # onnx.reference fails on some inputs, such as a pool over NaN only, and in some roundings only.
        (reference, *runs), reasons = zip(*(attempt(self.evaluator.run, wide, each) for each in (exact, *roundings)))
        why = "".join(reasons)
        after = None
        if self.runtime:
            after, failure = attempt(runtime.run, None, feeds)
            if failure:
                raise Different(f"onnxruntime runs the model but not the result: {failure}")
            for old, new in zip(before, after):
                if old.shape != new.shape or old.dtype != new.dtype:
                    raise Different(f"{old.dtype}{list(old.shape)} became {new.dtype}{list(new.shape)}")
        if why:
            self.counts["inputs without a reference"] += 1
            return
        if after is None or has_type(self.model, *SHORT_FLOATS):
            after, failure = attempt(evaluator.run, wide, rounded)
            if failure:
                raise Different(f"onnx.reference evaluates the model but not the result: {failure}")
        for i, element in enumerate(self.elements):
            own = [run[i] for run in runs] + ([before[i]] if before else [])
            self.compare_output(element, reference[i], own, after[i], is_run=before is not None)

    def compare_output(self, element, reference, own, after, is_run):
        self.counts["outputs"] += 1
        if reference.shape != after.shape:
            raise Different(f"shape {list(reference.shape)} became {list(after.shape)}")
        if reference.size == 0:
            return
        if element not in FLOATS.values():
            stable = np.logical_and.reduce([each == reference for each in own])
            self.counts["elements"] += int(stable.sum())
            if not np.array_equal(after[stable], reference[stable]):
                raise Different("elements that are not floats differ")
            return
        after = after.astype(np.float64)
        own = np.array([each.astype(np.float64) for each in own])
        with np.errstate(all="ignore"):
            finite = np.isfinite(reference) & np.isfinite(own).all(axis=0)
            scale = np.abs(reference[finite]).max(initial=0.0) or 1.0
            deviation = np.abs(own - reference).max(axis=0) / scale
            stable = finite & (deviation <= MAX_OWN_ERROR)
            error = np.abs(after - reference) / scale
        self.counts["elements"] += int(stable.sum())
        self.counts["elements that rounding decides"] += int((~stable).sum())
        if not np.isfinite(after[stable]).all():
            raise Different(f"{(~np.isfinite(after[stable])).sum()} of {stable.sum()} finite elements became infinite or NaN")
        if not (np.isfinite(reference) | ~np.isfinite(after)).all() and np.isnan(own).all(axis=0)[np.isfinite(after)].any():
            self.counts["outputs with numbers instead of NaN"] += 1
        # Numbers below the smallest normal ones have an absolute error.
        rounding = ROUNDOFF[element] + (2.0 ** -24 / scale if element == TensorProto.FLOAT16 else 0)
        # Runs in the type itself count in full, those in float32 by the ratio of the roundings.
        own_error = deviation[stable].max(initial=0.0)
        if element in SCALED:
            simulated = own_error if not is_run else (np.abs(own[:-1] - reference) / scale)[:, stable].max(initial=0.0)
            actual = (np.abs(own[-1] - reference) / scale)[stable].max(initial=0.0) if is_run else 0.0
            own_error = max(simulated * ROUNDOFF[element] / ROUNDOFF[SCALED[element]], actual)
        largest = error[stable].max(initial=0.0)
        if largest > MAX_ERROR_RATIO * (own_error + rounding):
            raise Different(f"error {largest:.3g} of the largest value, where the model's own is {own_error:.3g}")
