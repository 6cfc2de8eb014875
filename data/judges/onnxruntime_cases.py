"""The helper by which `rulemill operators check --onnx` has single nodes run by onnxruntime: frames of JSON over stdin and
stdout, each after its length (8 bytes, little endian). First it says who it is, then it answers questions until stdin ends.

Question: {"model": path, "inputs": [paths], "outputs": [paths]}: inputs are float32 values, row-major; so are the outputs
that it writes. Answer: {"shapes": [dims of each output]}, or {"error": why onnxruntime does not run the model}.
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


def run(question):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(question["model"], options, providers=["CPUExecutionProvider"])
    feeds = {}
    for info, path in zip(session.get_inputs(), question["inputs"]):
        feeds[info.name] = np.fromfile(path, np.float32).reshape(info.shape)
    shapes = []
    for values, path in zip(session.run(None, feeds), question["outputs"]):
        values.astype(np.float32).tofile(path)
        shapes.append(list(values.shape))
    return {"shapes": shapes}


def send(answer):
    text = json.dumps(answer).encode()
    answers.write(struct.pack("<Q", len(text)) + text)
    answers.flush()


def main():
    send({"name": f"onnxruntime {onnxruntime.__version__}"})
    while True:
        head = sys.stdin.buffer.read(8)
        if len(head) < 8:
            return
        question = json.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))
        try:
            send(run(question))
        except Exception as error:  # whatever it says of the model is the answer
            send({"error": " ".join(str(error).split())[:300]})


if __name__ == "__main__":
    main()
