"""The helper by which `rulemill operators check --onnx` has single nodes run by onnxruntime: frames of JSON over stdin and
stdout, each after its length (8 bytes, little endian). First it says who it is, then it answers questions until stdin ends.

Question: {"model": path, "inputs": [paths], "outputs": [paths]}: inputs are written as float32 values, row-major, whatever
the model has them as; so are the outputs. Answer: {"shapes": [dims of each output]}, or {"error": why onnxruntime does not run the model}.
"""

from models import np, one_line, onnxruntime, serve

KINDS = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}


def run(question):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(question["model"], options, providers=["CPUExecutionProvider"])
    feeds = {}
    for info, path in zip(session.get_inputs(), question["inputs"]):
        kind = KINDS[info.type]
        feeds[info.name] = np.fromfile(path, np.float32).astype(kind).reshape(info.shape)
    shapes = []
    for values, path in zip(session.run(None, feeds), question["outputs"]):
        values.astype(np.float32).tofile(path)
        shapes.append(list(values.shape))
    return {"shapes": shapes}


def answer(question):
    try:
        return run(question)
    except Exception as error:  # whatever it says of the model is the answer
        return {"error": one_line(error)}


if __name__ == "__main__":
    serve(answer)
