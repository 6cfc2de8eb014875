"""Inputs at which a result must not fail where the model works: small and empty tensors, and 16-bit numbers near overflow."""

import os
import time

from models import CannotRun, feeds_of, session, shapes_of, try_run

import numpy as np

# Sizes of all dynamic dimensions, or of one of them, at which a result must run if the model does.
SMALL_SIZES = (0, 1, 2, 3, 4)
COARSE_TOLERANCE = 1e-3  # at small sizes; rounding errors are compared at ordinary sizes
MAX_BOUNDARY_SECONDS = 5  # for small sizes, and again for scaled inputs
UNIT_ROUNDOFF = {np.float16: 2.0 ** -11, np.float32: 2.0 ** -24, np.float64: 2.0 ** -53}


def dynamic_dims(infos, given):
    """Returns the number of different dynamic dimensions."""
    keys = set()
    shapes_of(infos, given, lambda key, axis: keys.add(key) or 1)
    return len(keys)


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


def where_defined(query, before, after):
    """The result, and NaN where the model has it, if a rule that widens was applied: it says nothing there."""
    is_same = getattr(before, "shape", ()) == getattr(after, "shape", None) and before.dtype.kind == after.dtype.kind == "f"
    return np.where(np.isnan(before), before, after).astype(after.dtype) if query.get("only_where_defined") and is_same else after


def operators_of(graph):
    """Yields the operators of a graph and of its subgraphs."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from operators_of(attribute.g)


def ends_onnxruntime_if_empty(path):
    """Whether the model has recurrent layers, at whose empty batches onnxruntime aborts its process."""
    try:
        import onnx
    except ImportError:
        return False
    return not {"GRU", "LSTM", "RNN"}.isdisjoint(operators_of(onnx.load(path, load_external_data=False).graph))


def session_of_all_values(path):
    """Returns a session whose outputs are all values, so that onnxruntime rounds each to its type and does not keep it in float32."""
    import onnx
    from float64_copy import load_small_model

    model = load_small_model(path)
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return session(model.SerializeToString(), os.cpu_count() or 1, False)


class Boundary:
    """Runs the models on such inputs; `models` are the original without and with optimizations, and the result."""

    def __init__(self, query, models, outputs, sizes):
        self.query, self.models, self.outputs, self.sizes = query, models, outputs, sizes
        self.infos = models["unoptimized"].get_inputs()

    def check(self, compares_values):
        """Raises ValueError. Without values: only whether the result runs, and stays finite."""
        self.check_small_sizes(compares_values)
        if not self.query.get("as_real_functions") and any(info.type == "tensor(float16)" for info in [*self.infos, *self.models["unoptimized"].get_outputs()]):
            try:
                before, after = (session_of_all_values(self.query[name]) for name in ("before", "after"))
            except Exception:  # the definitions still compare the range
                return
            for signed in (False, True):
                self.check_range(before, after, signed)

    def feeds(self, sizes, only):
        return feeds_of(self.infos, self.query["shapes"], sizes, 0, only)

    def runs(self, sizes, only):
        return not isinstance(try_run(self.models["unoptimized"], self.feeds(sizes, only)), str)

    def check_small_sizes(self, compares_values):
        count, start = dynamic_dims(self.infos, self.query["shapes"]), time.monotonic()
        has_empty = count and not self.query.get("as_real_functions") and not ends_onnxruntime_if_empty(self.query["before"])
        small = [size for size in SMALL_SIZES if size > 0 or has_empty]
        cases = [((size,), None) for size in small] if count else []
        cases += [(self.sizes, (dim, size)) for dim in range(count) for size in small]
        for sizes, only in cases:
            if time.monotonic() - start > MAX_BOUNDARY_SECONDS:
                return
            feeds = self.feeds(sizes, only)
            shapes = " ".join(f"{name}{list(values.shape)}" for name, values in feeds.items())
            before, optimized = try_run(self.models["unoptimized"], feeds), try_run(self.models["optimized"], feeds)
            # onnxruntime concatenates an empty tensor with ones of any size: where the model needs equal sizes, it computes nothing.
            if only and only[1] == 0 and not all(self.runs(sizes, (only[0], size)) for size in (1, 2)):
                continue
            if isinstance(before, str) or isinstance(optimized, str):
                continue
            after = try_run(self.models["result"], feeds)
            if isinstance(after, str) and self.query.get("as_real_functions"):
                continue
            if isinstance(after, str):
                raise ValueError(f"it does not run the result for {shapes}: {after}")
            inputs = max((float(np.max(np.abs(each), initial=0)) for each in feeds.values() if each.dtype.kind == "f"), default=0.0)
            for output, *values in zip(self.outputs, before, optimized, after) if compares_values else ():
                if not any(agree(each, where_defined(self.query, values[0], values[-1]), inputs) for each in values[:-1]):
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
