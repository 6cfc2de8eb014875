"""Runs single nodes for `rulemill operators check --onnx`.

Query: {"model": path, "inputs": [paths], "outputs": [paths]}. All values are files of float32 numbers, row-major, whatever their types
in the model. Answer: {"shapes": [dims of each output]}, or {"error": why onnxruntime does not run the model}.

Query: {"schemas_of": operator, "domain"}. Answer: {"newest": the newest version of the domain, 0 if there is none, "schemas": [{"since",
"attributes", "max_inputs"}]}: the operator's versions, oldest first."""

from models import np, one_line, onnxruntime, serve

from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

TYPES = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}


def run(query):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(query["model"], options, providers=["CPUExecutionProvider"])
    feeds = {}
    for info, path in zip(session.get_inputs(), query["inputs"]):
        dtype = TYPES[info.type]
        feeds[info.name] = np.fromfile(path, np.float32).astype(dtype).reshape(info.shape)
    shapes = []
    for values, path in zip(session.run(None, feeds), query["outputs"]):
        values.astype(np.float32).tofile(path)
        shapes.append(list(values.shape))
    return {"shapes": shapes}


def schemas(op_type, domain):
    known = [schema for schema in get_all_operator_schema() if schema.domain == domain]
    versions = sorted((schema for schema in known if schema.name == op_type), key=lambda schema: schema.since_version)
    listed = [{"since": each.since_version, "attributes": sorted(each.attributes), "max_inputs": each.max_input} for each in versions]
    return {"newest": max((schema.since_version for schema in known), default=0), "schemas": listed}


def answer(query):
    try:
        return schemas(query["schemas_of"], query["domain"]) if "schemas_of" in query else run(query)
    except Exception as error:  # any error is an answer
        return {"error": one_line(error)}


if __name__ == "__main__":
    serve(answer)
