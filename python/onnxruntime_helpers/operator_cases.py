"""Runs single nodes for `rulemill operators check --onnx`.

Query: {"model": path, "inputs": [paths], "outputs": [paths]}. All values are files of float32 numbers, row-major, whatever their types
in the model. Answer: {"shapes": [dims of each output]}, or {"error": why onnxruntime does not run the model}. Where the onnx package is
installed, required attributes that the node lacks are 0 (of a Split, its outputs), and operators of old opsets run in its reference implementation.

Query: {"schemas_of": operator, "domain"}. Answer: {"newest": the newest version of the domain, 0 if there is none, "schemas": [{"since",
"attributes", "max_inputs"}]}: the operator's versions, oldest first."""

from models import np, one_line, onnxruntime, serve

try:
    import onnx
    from onnx.reference import ReferenceEvaluator
except ImportError:
    onnx = None
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented, get_all_operator_schema

TYPES = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}


def load(path):
    """Returns inputs, with names, types and shapes, and a function of feeds."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = completed(path)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString() if model else path, options, providers=["CPUExecutionProvider"])
        return [(each.name, TYPES[each.type], each.shape) for each in session.get_inputs()], lambda feeds: session.run(None, feeds)
    except NotImplemented:
        if model is None:
            raise
        inputs = [(each.name, each.type.tensor_type) for each in model.graph.input]
        types = [(name, onnx.helper.tensor_dtype_to_np_dtype(each.elem_type), [d.dim_value for d in each.shape.dim]) for name, each in inputs]
        return types, lambda feeds: ReferenceEvaluator(model).run(None, feeds)


def completed(path):
    """Returns the model with all attributes that its schema requires; None without the onnx package."""
    if onnx is None:
        return None
    model = onnx.load(path)
    node, opset = model.graph.node[0], next(each.version for each in model.opset_import if not each.domain)
    given = {each.name for each in node.attribute}
    if not node.domain and onnx.defs.has(node.op_type, opset):
        required = onnx.defs.get_schema(node.op_type, opset).attributes.values()
        node.attribute.extend(onnx.helper.make_attribute(each.name, 0) for each in required if each.required and each.name not in given)
        if node.op_type == "Split" and len(node.input) == 1 and opset >= 18:
            node.attribute.append(onnx.helper.make_attribute("num_outputs", len(node.output)))
    return model


def run(query):
    inputs, compute = load(query["model"])
    feeds = {name: np.fromfile(path, np.float32).astype(dtype).reshape(shape) for (name, dtype, shape), path in zip(inputs, query["inputs"])}
    shapes = []
    for values, path in zip(compute(feeds), query["outputs"]):
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
