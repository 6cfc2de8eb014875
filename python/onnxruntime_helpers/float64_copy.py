"""A copy of a model in float64: all types and constants of float types become double, so that onnxruntime computes the results
without the model's rounding errors. A node without a kernel for doubles is lowered to nodes that have one (LOWERED) or, failing
that, runs in float32 between casts; the copy's name lists these operators."""

import os
import re
import tempfile

import numpy as np
import onnxruntime
from models import CannotRun, bytes_on_disk, one_line

MAX_BYTES = 600 << 20  # of the model; its copy is twice as large
SMALL_TENSOR_BYTES = 1024  # which stay in the model
KERNEL_MISSING = re.compile(r"Could not find an implementation for (\w+)\(")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)  # accurate to double precision for erf
MIN_ROWS = 16  # of a matrix product that is worthwhile
PLAIN_FLOATS = {1, 10, 16}  # FLOAT, FLOAT16, BFLOAT16
DOUBLE = 11


def load_small_model(path):
    """Raises CannotRun if the model and its weights are too large for a copy."""
    import onnx

    if bytes_on_disk(path) > MAX_BYTES:
        raise CannotRun("the model is too large for a copy in float64")
    return onnx.load(path)


def domains_of(graph):
    """Yields the domains of the nodes of a graph and of its subgraphs; a model may import more."""
    for node in graph.node:
        yield node.domain
        for attribute in node.attribute:
            yield from domains_of(attribute.g)


class Copy:
    def __init__(self, path):
        try:
            import onnx
            import onnx.inliner
        except ImportError:
            raise CannotRun("its Python has no onnx")
        self.onnx, self.count = onnx, 0
        self.model = load_small_model(path)
        if any(domain not in ("", "ai.onnx") for domain in domains_of(self.model.graph)) and not self.model.functions:
            raise CannotRun("it has operators that are not ONNX's own")
        self.opset = next((each.version for each in self.model.opset_import if each.domain in ("", "ai.onnx")), 0)
        if self.opset < 13:
            raise CannotRun(f"opset {self.opset} is below 13")
        names = [("", name) for name in INLINED]
        if any(node.op_type in INLINED for node in self.model.graph.node):
            self.model = onnx.inliner.inline_selected_functions(self.model, names, inline_schema_functions=True)
        self.ranks = self.ranks_of(self.model)
        self.in_float32 = set()
        self.convert(self.model.graph)

    def ranks_of(self, model):
        try:
            graph = self.onnx.shape_inference.infer_shapes(model).graph
        except Exception:  # shapes are optional
            graph = model.graph
        values = [*graph.value_info, *graph.input, *graph.output]
        ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in values if value.type.tensor_type.HasField("shape")}
        self.dims = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
        return ranks | {name: len(dims) for name, dims in self.dims.items()}

    # Types and constants

    def convert(self, graph):
        for tensor in graph.initializer:
            self.widen(tensor)
        for value in [*graph.input, *graph.output]:
            if value.type.tensor_type.elem_type in PLAIN_FLOATS:
                value.type.tensor_type.elem_type = DOUBLE
        del graph.value_info[:]
        nodes = []
        for node in graph.node:
            self.convert_node(node)
            nodes += LOWERED.get(node.op_type, lambda _, same: [same])(self, node)
        del graph.node[:]
        graph.node.extend(nodes)

    def widen(self, tensor):
        if tensor.data_type not in PLAIN_FLOATS:
            return
        values = self.onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(self.onnx.numpy_helper.from_array(values, tensor.name))

    def convert_node(self, node):
        if node.op_type.startswith("Random") or node.op_type in ("Dropout", "Bernoulli") and len(node.input) > 2:
            raise CannotRun(f"{node.op_type} gives other values in float64")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                self.convert(attribute.g)
            if attribute.HasField("t"):
                self.widen(attribute.t)
            if attribute.name in ("to", "dtype", "stash_type") and attribute.i in PLAIN_FLOATS:
                attribute.i = DOUBLE if attribute.name != "stash_type" else 1
        values = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Constant" and ("value_float" in values or "value_floats" in values):
            given = values["value_float"].f if "value_float" in values else list(values["value_floats"].floats)
            self.set_value(node, np.array(given, np.float64))
        if node.op_type == "ConstantOfShape" and not values:
            self.set_value(node, np.zeros(1))

    def set_value(self, node, values):
        del node.attribute[:]
        node.attribute.append(self.onnx.helper.make_attribute("value", self.onnx.numpy_helper.from_array(values)))

    # Nodes

    def fresh(self):
        self.count += 1
        return f"float64_copy_{self.count}"

    def node(self, made, op_type, inputs, output=None, **attributes):
        output = output or self.fresh()
        made.append(self.onnx.helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def constant(self, made, values):
        made.append(self.onnx.helper.make_node("Constant", [], [self.fresh()]))
        self.set_value(made[-1], np.asarray(values))
        return made[-1].output[0]

    def integers(self, made, values):
        return self.constant(made, np.array(values, np.int64))

    def between_casts(self, graph, names):
        """Replaces nodes of these operators by float32 nodes between casts."""
        nodes = []
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    self.between_casts(attribute.g, names)
            if node.op_type not in names:
                nodes.append(node)
                continue
            # Only the first input of other operators is certainly a float tensor.
            wide = [name for name in node.input[:1] if name]
            if node.op_type in ALL_FLOAT_INPUTS:
                wide = [name for name in node.input if name]
            short = {name: self.node(nodes, "Cast", [name], to=1) for name in wide}
            outputs = list(node.output)
            for place, name in enumerate(node.input):
                node.input[place] = short.get(name, name)
            node.output[0] = self.fresh()
            nodes.append(node)
            self.node(nodes, "Cast", [node.output[0]], outputs[0], to=DOUBLE)
        del graph.node[:]
        graph.node.extend(nodes)

    def session(self, threads, folder):
        """The weights go to a file in the folder, which onnxruntime maps into memory, and which is deleted at once."""
        with tempfile.TemporaryDirectory(prefix="rulemill-float64-", dir=folder) as own_folder:
            path = os.path.join(own_folder, "copy.onnx")
            self.onnx.save(self.model, path, save_as_external_data=True, location="copy.data", size_threshold=SMALL_TENSOR_BYTES)
            self.model = self.onnx.load(path, load_external_data=False)  # frees the memory of all weights
            return self.open(path, threads)

    def open(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False  # it would keep its maximum size
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        for _ in range(12):
            try:
                return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            except Exception as error:
                missing = KERNEL_MISSING.search(str(error))
                if not missing or missing[1] in self.in_float32:
                    raise CannotRun(f"it does not load the float64 copy: {one_line(error)}")
                self.in_float32.add(missing[1])
                self.between_casts(self.model.graph, {missing[1]})
                self.onnx.save(self.model, path)  # the weights are in their file
        raise CannotRun("too many operators have no kernel for doubles")

    def name(self):
        exceptions = f", {', '.join(sorted(self.in_float32))} in float32" if self.in_float32 else ""
        return f"a float64 copy in onnxruntime {onnxruntime.__version__}{exceptions}"


def lower_conv(copy, node):
    """Lowers a convolution to a product with the windows as rows of a matrix: y[n, g·m, p] = Σ w[g, m, k·c] x[n, g, k·c, p]."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    weight = copy.dims.get(node.input[1])
    if not weight or "auto_pad" in attributes and attributes["auto_pad"].s not in (b"NOTSET", b"VALID"):
        return [node]
    kernel, groups = weight[2:], attributes["group"].i if "group" in attributes else 1
    axes = range(2, len(weight))
    ints = lambda name, default: list(attributes[name].ints) if name in attributes and attributes[name].ints else default
    strides, dilations, pads = ints("strides", [1] * len(kernel)), ints("dilations", [1] * len(kernel)), ints("pads", [0] * 2 * len(kernel))
    made, x = [], node.input[0]
    if any(pads):
        half = len(kernel)
        x = copy.node(made, "Pad", [x, copy.integers(made, [0, 0, *pads[:half], 0, 0, *pads[half:]])])
    windows = []
    for place in np.ndindex(*kernel):
        starts = [at * dilation for at, dilation in zip(place, dilations)]
        ends = [-(size - 1 - at) * dilation or np.iinfo(np.int64).max for at, size, dilation in zip(place, kernel, dilations)]
        windows.append(x if all(size == 1 for size in kernel) and set(strides) == {1} else copy.node(
            made, "Slice", [x, *(copy.integers(made, each) for each in (starts, ends, list(axes), strides))]))
    shape = copy.node(made, "Shape", [windows[0]])
    outer = copy.node(made, "Slice", [shape, *(copy.integers(made, [each]) for each in (2, np.iinfo(np.int64).max))])
    flat = [copy.node(made, "Reshape", [each, copy.integers(made, [0, groups, weight[1], -1])]) for each in windows]
    last = copy.node(made, "Reshape", [copy.node(made, "Transpose", [node.input[1]], perm=[0, *axes, 1]),
                                       copy.integers(made, [weight[0], len(flat), weight[1]])])
    windows_per_product = max(1, MIN_ROWS // weight[1])  # windows per product: more need more memory, fewer more time
    product = None
    for first in range(0, len(flat), windows_per_product):
        some = flat[first:first + windows_per_product]
        rows = copy.node(made, "Concat", some, axis=2) if len(some) > 1 else some[0]
        part = copy.node(made, "Slice", [last, *(copy.integers(made, [each]) for each in (first, first + windows_per_product, 1))])
        matrix = copy.node(made, "Reshape", [part, copy.integers(made, [groups, weight[0] // groups, -1])])
        term = copy.node(made, "MatMul", [matrix, rows])
        product = copy.node(made, "Add", [product, term]) if product else term
    sizes = copy.node(made, "Concat", [copy.integers(made, [0, weight[0]]), outer], axis=0)
    has_bias = len(node.input) > 2 and node.input[2]
    result = copy.node(made, "Reshape", [product, sizes], None if has_bias else node.output[0])
    if has_bias:
        bias = copy.node(made, "Reshape", [node.input[2], copy.integers(made, [weight[0]] + [1] * len(kernel))])
        copy.node(made, "Add", [result, bias], node.output[0])
    return made


def lower_global_average(copy, node):
    rank = copy.ranks.get(node.input[0], 0)
    if rank < 3:
        return [node]
    made = []
    flat = copy.node(made, "Reshape", [node.input[0], copy.integers(made, [0, 0, -1])])
    if copy.opset < 18:
        mean = copy.node(made, "ReduceMean", [flat], axes=[2])
    else:
        mean = copy.node(made, "ReduceMean", [flat, copy.integers(made, [2])])
    copy.node(made, "Reshape", [mean, copy.integers(made, [0, 0] + [1] * (rank - 2))], node.output[0])
    return made


def lower_erf(copy, node):
    """erf(x) = 2/√π ∫ exp(-t²) dt from 0 to x, by Gauss-Legendre quadrature; beyond 6 it is 1 in double precision."""
    made = []
    x = copy.node(made, "Clip", [node.input[0], copy.constant(made, np.float64(-6)), copy.constant(made, np.float64(6))])
    points = copy.node(made, "Mul", [copy.node(made, "Unsqueeze", [x, copy.integers(made, [-1])]), copy.constant(made, (NODES + 1) / 2)])
    heights = copy.node(made, "Exp", [copy.node(made, "Neg", [copy.node(made, "Mul", [points, points])])])
    integral = copy.node(made, "MatMul", [heights, copy.constant(made, WEIGHTS / np.sqrt(np.pi))])
    copy.node(made, "Mul", [x, integral], node.output[0])
    return made


def lower_hard_sigmoid(copy, node):
    attributes = {attribute.name: attribute.f for attribute in node.attribute}
    made = []
    steep = copy.node(made, "Mul", [node.input[0], copy.constant(made, np.float64(attributes.get("alpha", np.float32(0.2))))])
    line = copy.node(made, "Add", [steep, copy.constant(made, np.float64(attributes.get("beta", 0.5)))])
    copy.node(made, "Clip", [line, *(copy.constant(made, np.float64(limit)) for limit in (0, 1))], node.output[0])
    return made


def float32_scales(copy, node):
    """Casts the region and scales of Resize to float32, which it requires for all data types."""
    made = []
    for place in (1, 2):
        if place < len(node.input) and node.input[place]:
            node.input[place] = copy.node(made, "Cast", [node.input[place]], to=1)
    return made + [node]


LOWERED = {"Conv": lower_conv, "GlobalAveragePool": lower_global_average, "Erf": lower_erf, "HardSigmoid": lower_hard_sigmoid,
           "Resize": float32_scales}
# Replaced by their function bodies in the standard, because onnxruntime has kernels for float32 only.
INLINED = {"Gelu", "HardSwish", "Elu", "Selu", "Celu", "LeakyRelu", "PRelu", "Softplus", "Softsign", "Mish",
           "ThresholdedRelu", "MeanVarianceNormalization"}
ALL_FLOAT_INPUTS = {"Conv", "ConvTranspose", "InstanceNormalization", "PRelu", "Mean"}
