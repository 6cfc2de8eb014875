"""The helper by which `rulemill optimize --cost onnxruntime` has single nodes measured; models.py says how they speak.

Question: {"op_type", "attributes", "inputs": [{"leaf": number} or {"value"}], "outputs": how many, "then": operators of one
input that follow, "leaves": [{"shape", "constant"}], "opset", "threads"}. Answer: {"seconds"}, what calling the runtime
takes left out, or {"failure"}.
"""

import statistics
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

LEAST_SECONDS, MOST_SECONDS = 6e-3, 0.5  # of running one node
BATCHES = 7
SMALLEST = 3e-7  # what a node costs at least

calls = {}  # by threads: seconds of a model that does nothing


def tensor_value(value):
    return np.array(value, np.int64 if isinstance(value, (list, int)) else np.float32)


def model_of(question):
    inputs, weights, names = [], [], []
    generator = np.random.default_rng(0)
    for number, leaf in enumerate(question["leaves"]):
        name = f"leaf{number}"
        if leaf["constant"]:
            weights.append(numpy_helper.from_array(generator.uniform(0.1, 1, leaf["shape"]).astype(np.float32), name))
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, leaf["shape"]))
    for number, source in enumerate(question["inputs"]):
        if "leaf" in source:
            names.append(f"leaf{source['leaf']}")
        else:
            names.append(f"value{number}")
            weights.append(numpy_helper.from_array(tensor_value(source["value"]), names[-1]))
    results = [f"y{number}" for number in range(question["outputs"])]
    nodes = [helper.make_node(question["op_type"], names, results, **question["attributes"])]
    for number, following in enumerate(question.get("then", [])):
        nodes.append(helper.make_node(following, [results[0]], [f"then{number}"]))
        results[0] = f"then{number}"
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph(nodes, "node", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", question["opset"])], ir_version=8)


def seconds_of(model, threads):
    runner = session(model.SerializeToString(), threads)
    feeds = draw(runner.get_inputs(), {info.name: info.shape for info in runner.get_inputs()}, 1)
    runner.run(None, feeds)
    start = time.perf_counter()
    runner.run(None, feeds)
    once = max(time.perf_counter() - start, 1e-7)
    repeats = max(1, round(LEAST_SECONDS / once / BATCHES))
    batches = []
    begin = time.perf_counter()
    while len(batches) < BATCHES and (len(batches) < 3 or time.perf_counter() - begin < MOST_SECONDS):
        start = time.perf_counter()
        for _ in range(repeats):
            runner.run(None, feeds)
        batches.append((time.perf_counter() - start) / repeats)
    return statistics.median(batches)


def call_seconds(threads):
    if threads not in calls:
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
        graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "nothing", [value("x")], [value("y")])
        calls[threads] = seconds_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), threads)
    return calls[threads]


def answer(question):
    try:
        call = call_seconds(question["threads"])
        return {"seconds": max(seconds_of(model_of(question), question["threads"]) - call, SMALLEST)}
    except CannotRun as error:
        return {"failure": str(error)}
    except MemoryError:
        return {"failure": "out of memory"}
    except Exception as error:
        return {"failure": one_line(error)}


if __name__ == "__main__":
    serve(answer)
