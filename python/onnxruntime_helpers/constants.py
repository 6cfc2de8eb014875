"""Computes the outputs of a model without inputs, for `rulemill equal`.

Query: {"constants": path of the model, "archive": path of a NumPy archive to write}. onnxruntime runs it node by node, in the model's own
types. The archive has an array for each output: "value0", "value1", …"""

import numpy as np
from models import CannotRun, one_line, plain_session

MAX_BYTES = 64 << 20  # of all outputs


def evaluate(query):
    try:
        outputs = plain_session(query["constants"]).run(None, {})
    except Exception as error:
        raise CannotRun(one_line(error))
    if any(not isinstance(each, np.ndarray) or each.dtype.kind not in "biuf" for each in outputs):
        raise CannotRun("an output is no tensor of numbers")
    if sum(each.nbytes for each in outputs) > MAX_BYTES:
        raise CannotRun("the outputs are too large")
    np.savez(query["archive"], **{f"value{i}": each for i, each in enumerate(outputs)})
    return {"values": len(outputs)}
