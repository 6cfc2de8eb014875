"""Measures single nodes for `rulemill optimize --cost onnxruntime`.

Query: {"op_type", "domain", "attributes", "inputs": [{"leaf": number} or {"value"}], "outputs": count, "activations": operators applied to the
first output, "leaves": [{"shape", "constant"}], "opset", "threads"}. Answer: {"seconds"}, without the time of a call, or {"failure"}."""

import statistics
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    sys.exit(3)  # rulemill says so where it matters

MIN_SECONDS, MAX_SECONDS = 6e-3, 0.5  # of measuring one node
BATCHES = 7
MIN_NODE_SECONDS = 3e-7

call_seconds_by_threads = {}  # of a model with one trivial node


def tensor_value(value):
    return np.array(value, np.int64 if isinstance(value, (list, int)) else np.float32)


def model_of(query):
    inputs, weights, names = [], [], []
    generator = np.random.default_rng(0)
    for number, leaf in enumerate(query["leaves"]):
        name = f"leaf{number}"
        if leaf["constant"]:
            weights.append(numpy_helper.from_array(generator.uniform(0.1, 1, leaf["shape"]).astype(np.float32), name))
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, leaf["shape"]))
    for number, source in enumerate(query["inputs"]):
        if "leaf" in source:
            names.append(f"leaf{source['leaf']}")
        else:
            names.append(f"value{number}")
            weights.append(numpy_helper.from_array(tensor_value(source["value"]), names[-1]))
    results = [f"y{number}" for number in range(query["outputs"])]
    nodes = [helper.make_node(query["op_type"], names, results, domain=query["domain"], **query["attributes"])]
    for number, activation in enumerate(query.get("activations", [])):
        nodes.append(helper.make_node(activation, [results[0]], [f"activation{number}"]))
        results[0] = f"activation{number}"
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph(nodes, "node", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", query["opset"])]
    if query["domain"]:
        opsets.append(helper.make_opsetid(query["domain"], 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def seconds_of(model, threads):
    runner = session(model.SerializeToString(), threads)
    feeds = draw(runner.get_inputs(), {info.name: info.shape for info in runner.get_inputs()}, 1)
    runner.run(None, feeds)
    start = time.perf_counter()
    runner.run(None, feeds)
    once = max(time.perf_counter() - start, 1e-7)
    repeats = max(1, round(MIN_SECONDS / once / BATCHES))
    batches = []
    begin = time.perf_counter()
    while len(batches) < BATCHES and (len(batches) < 3 or time.perf_counter() - begin < MAX_SECONDS):
        start = time.perf_counter()
        for _ in range(repeats):
            runner.run(None, feeds)
        batches.append((time.perf_counter() - start) / repeats)
    return statistics.median(batches)


def call_seconds(threads):
    if threads not in call_seconds_by_threads:
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
        graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "nothing", [value("x")], [value("y")])
        call_seconds_by_threads[threads] = seconds_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), threads)
    return call_seconds_by_threads[threads]


def answer(query):
    try:
        call = call_seconds(query["threads"])
        return {"seconds": max(seconds_of(model_of(query), query["threads"]) - call, MIN_NODE_SECONDS)}
    except CannotRun as error:
        return {"failure": str(error)}
    except MemoryError:
        return {"failure": "out of memory"}
    except Exception as error:
        return {"failure": one_line(error)}


if __name__ == "__main__":
    serve(answer)
