#!/usr/bin/env python3
"""Measures single operators in onnxruntime for the cost model: `calibrate.py OUT.toml [--only NAME…]`.

Each operator runs alone, with one thread, on tensors of two sizes: one that the caches hold and one that they do not. The figure is
the least processor time of the thread, without that of a call, in nanoseconds per element (optimize/cost/calibration.h describes
the file). Takes about two minutes. Needs onnx and onnxruntime.
"""

import argparse
import platform
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SIZES = {"cached": (1, 64, 56, 56), "uncached": (1, 64, 256, 256)}
ROUNDS, SECONDS = 60, 0.6  # of one operator at one size: at most
OPSET = 20


def constant(values, dtype=np.float32):
    return np.asarray(values, dtype)


def operators(shape):
    """Returns by name: (ONNX operator, shapes or constants of its inputs, attributes, number of outputs)."""
    batch, channels, height, width = shape
    rows = (batch, height * width, channels)
    heads = (batch, channels // 8, height * 4, width * 2)
    scales = constant([1, 1, 2, 2])
    ones = constant(np.ones(channels))
    unary = ["Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg", "Abs", "HardSwish", "HardSigmoid", "Softplus", "Mish",
             "Reciprocal", "Floor", "Ceil", "Sin", "Cos", "LeakyRelu", "Elu"]
    found = {name: (name, [shape], {}, 1) for name in unary}
    found["Gelu"] = ("Gelu", [shape], {}, 1)
    found["gelu_tanh"] = ("Gelu", [shape], {"approximate": "tanh"}, 1)
    for name in ("Add", "Mul", "Div", "Max", "Min"):
        found[name] = (name, [shape, constant(3.5)], {}, 1)
        found[name + " further"] = (name, [shape, shape], {}, 1)
    found["power"] = ("Pow", [shape, constant(0.5)], {}, 1)
    found["Pow"] = ("Pow", [shape, constant(3)], {}, 1)
    found["Clip"] = ("Clip", [shape, constant(0), constant(6)], {}, 1)
    found["Softmax"] = ("Softmax", [heads], {"axis": -1}, 1)
    found["softmax_axis"] = ("Softmax", [shape], {"axis": 1}, 1)
    found["LayerNormalization"] = ("LayerNormalization", [rows, ones, ones], {"axis": -1}, 1)
    found["SkipLayerNormalization"] = ("SkipLayerNormalization", [rows, rows, ones, ones], {"domain": "com.microsoft"}, 1)
    found["BatchNormalization"] = ("BatchNormalization", [shape, ones, ones, ones, ones], {}, 1)
    found["InstanceNormalization"] = ("InstanceNormalization", [shape, ones, ones], {}, 1)
    found["mean_plane"] = ("ReduceMean", [shape, constant([2, 3], np.int64)], {"keepdims": 1}, 1)
    for name in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"):
        found[name] = (name, [rows, constant([-1], np.int64)], {"keepdims": 1}, 1)
    found["Transpose"] = ("Transpose", [heads], {"perm": [0, 2, 1, 3]}, 1)
    found["Concat"] = ("Concat", [(batch, channels // 2, height, width)] * 2, {"axis": 1}, 1)
    found["Split"] = ("Split", [shape], {"axis": 1, "num_outputs": 2}, 2)
    ends = [constant([value], np.int64) for value in (0, height // 2, 2)]
    found["Slice"] = ("Slice", [shape, *ends], {}, 1)
    found["Gather"] = ("Gather", [rows, constant(np.arange(height * width)[::-1], np.int64)], {"axis": 1}, 1)
    columns = np.broadcast_to(np.arange(channels)[::-1], rows)
    found["GatherElements"] = ("GatherElements", [rows, constant(columns, np.int64)], {"axis": 2}, 1)
    found["Expand"] = ("Expand", [(batch, channels, 1, 1), constant(shape, np.int64)], {}, 1)
    found["Tile"] = ("Tile", [(batch, channels, height // 2, width), constant([1, 1, 2, 1], np.int64)], {}, 1)
    found["Pad"] = ("Pad", [shape, constant([0, 0, 1, 1] * 2, np.int64)], {}, 1)
    found["DepthToSpace"] = ("DepthToSpace", [shape], {"blocksize": 2}, 1)
    found["SpaceToDepth"] = ("SpaceToDepth", [shape], {"blocksize": 2}, 1)
    small = (batch, channels, height // 2, width // 2)
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    found["Resize"] = ("Resize", [small, constant([]), scales], nearest, 1)
    found["resize_linear"] = ("Resize", [small, constant([]), scales], {"mode": "linear"}, 1)
    double_rows = constant([1, 1, 2, 1])
    found["cubic_rows"] = ("Resize", [(batch, channels, height // 2, width), constant([]), double_rows], {"mode": "cubic"}, 1)
    found["times_column"] = ("MatMul", [rows, (channels,)], {}, 1)
    found["CumSum"] = ("CumSum", [rows, constant(1, np.int64)], {}, 1)
    return found


# Names by the operator that was measured, instead of its own: operators of the definitions whose ONNX operator has several costs,
# and operators that a search must not exchange for a difference that holds for a single node only. Sub and Sum are as fast as
# Add, but onnxruntime fuses only additions into convolutions, and only Add into normalizations. A global pool is slower than a
# mean over planes by itself, but not in a network, where it reads the blocked layout of convolutions.
SAME = {"Add": ["Add", "Sub", "Sum"], "mean_plane": ["mean_plane", "GlobalAveragePool"],
        "resize_linear": ["resize_linear", "upsample_linear"], "cubic_rows": ["cubic_rows", "cubic_columns"]}
# Pools over windows are absent: alone they take several times as long as in the blocked layout of a network's convolutions.
# Operators that read as much as they write.
OUTPUT_ONLY = ["Expand", "Gather", "GatherElements", "Slice", "Split"]
# Operators that only change the shape; onnxruntime copies nothing.
FREE = ["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"]


def session(op_type, inputs, attributes, outputs):
    names, given, weights = [], [], []
    for number, value in enumerate(inputs):
        names.append(f"x{number}")
        if isinstance(value, tuple):
            given.append(helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, value))
        elif value.size == 0:
            names[-1] = ""
        else:
            weights.append(numpy_helper.from_array(value, names[-1]))
    results = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    model = helper.make_model(helper.make_graph([node], "one", given, infos, weights),
                              opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds = {info.name: generator.uniform(0.1, 1, info.shape).astype(np.float32) for info in runner.get_inputs()}
    return runner, feeds


def nanoseconds(runner, feeds):
    """Returns the least time of a run, because other processes only add to it."""
    times, end = [], time.monotonic() + SECONDS
    runner.run(None, feeds)
    while len(times) < ROUNDS and (len(times) < 5 or time.monotonic() < end):
        start = time.thread_time_ns()
        runner.run(None, feeds)
        times.append(time.thread_time_ns() - start)
    return min(times)


def elements(name, inputs, runner, feeds):
    written = sum(result.size for result in runner.run(None, feeds))
    return written if name in OUTPUT_ONLY else max([written, *(value.size for value in feeds.values())])


def node_nanoseconds():
    """Returns the time of a node in a model of 200 nodes on one element."""
    def of(count):
        nodes = [helper.make_node("Sin", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
        info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
        graph = helper.make_graph(nodes, "chain", [info("v0")], [info(f"v{count}")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return nanoseconds(runner, {"v0": np.ones(1, np.float32)})
    return (of(201) - of(1)) / 200, of(1)


def gflops():
    """Returns the rates of a product of 512 x 512 matrices and of a 3x3 convolution of 64 channels. The first one holds for 1x1
    convolutions, too, which a search must not exchange for a difference that holds for a single node only; it is the smaller one."""
    rates = []
    generator = np.random.default_rng(0)
    kernel = generator.standard_normal((64, 64, 3, 3)).astype(np.float32)
    weights = generator.standard_normal((512, 512)).astype(np.float32)
    for op_type, shape, weight, attributes, flops in (
            ("Conv", (1, 64, 56, 56), kernel, {"pads": [1] * 4}, 2 * 64 * 64 * 9 * 56 * 56),
            ("MatMul", (512, 512), weights, {}, 2 * 512**3)):
        rates.append(flops / nanoseconds(*session(op_type, [shape, weight], attributes, 1)))
    convolution, product = rates
    return min(rates), convolution


def scalar_gflops(product_rate):
    """Returns the rate of the operations of an attention that are not products: of each score a product with the scale, a difference
    and an exponential, which counts as eight operations, and a sum."""
    rows, width, heads = 1024, 384, 6
    names = ["q", "k", "v"]
    node = helper.make_node("MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=heads, scale=0.125)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, rows, width]) for name in (*names, "y")]
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "attention", infos[:3], infos[3:]), opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    spent = nanoseconds(runner, {name: generator.standard_normal((1, rows, width)).astype(np.float32) for name in names})
    products = 4 * rows * rows * width / product_rate
    return 11 * heads * rows * rows / max(spent - products, 0.05 * spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    node, call = node_nanoseconds()
    columns = {}
    for shape in SIZES.values():
        for name, (op_type, inputs, attributes, outputs) in operators(shape).items():
            if arguments.only and name.split()[0] not in arguments.only:
                continue
            runner, feeds = session(op_type, inputs, attributes, outputs)
            spent = max(nanoseconds(runner, feeds) - call, 0) / elements(name, inputs, runner, feeds)
            columns.setdefault(name, []).append(spent)
            print(f"{name:28} {shape[2]:4} {spent:8.3f} ns", flush=True)
    rate, window_rate = gflops()
    write(arguments.out, columns, node, rate, window_rate, scalar_gflops(rate))


def write(path, columns, node, rate, window_rate, scalar_rate):
    def rows(names):
        for name in sorted(names):
            first, second = (round(value, 3) for value in names[name])
            yield f"{name} = [{first}, {second}]\n"

    single = {same: values for name, values in columns.items() if " " not in name for same in SAME.get(name, [name])}
    further = {same: [max(both - one, 0) for both, one in zip(values, columns[name.split()[0]])]
               for name, values in columns.items() if " " in name for same in SAME.get(name.split()[0], [name.split()[0]])}
    single.update({name: [0, 0] for name in FREE})
    counts = [int(np.prod(shape)) for shape in SIZES.values()]
    with open(path, "w") as out:
        out.write("# Costs of operators in onnxruntime with one thread, measured one by one by bench/calibrate.py. Names are those of\n"
                  "# ONNX, or of the definitions where one ONNX operator has several costs.\n")
        for measured, names in sorted(SAME.items()):
            for name in names:
                if name != measured:
                    out.write(f"# {name} is not measured by itself: it has the rates of {measured}.\n")
        out.write("\n")
        out.write(f'runtime = "onnxruntime {onnxruntime.__version__}"\nprocessor = "{platform.machine()}"\n')
        out.write(f"node_nanoseconds = {round(node)}\nproduct_gflops = {round(rate)}\n")
        out.write(f"# Of products over windows of several channels, such as a 3x3 convolution.\nwindow_gflops = {round(window_rate)}\n")
        out.write("# Of the other operations inside of operators that are not listed, such as those of an attention.\n"
                  f"scalar_gflops = {round(scalar_rate)}\n\n")
        out.write(f"# The two numbers of an operator hold for tensors of so many elements.\nelements = {counts}\n")
        out.write("# They count the elements of the result; of other operators those of the largest input or result.\n")
        out.write(f"by_result = {OUTPUT_ONLY}\n\n".replace("'", '"'))
        out.write("[nanoseconds_per_element]\n")
        out.writelines(rows(single))
        out.write("\n# Added for each further input that is as large as the result.\n[nanoseconds_per_further_element]\n")
        out.writelines(rows(further))


if __name__ == "__main__":
    main()
