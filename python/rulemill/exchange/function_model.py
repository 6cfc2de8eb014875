"""A function of an ONNX model as a model of its own, at the types of its first call."""

from __future__ import annotations

from typing import Any, Dict, Iterator

from .errors import Problem
from .rules import Data


def write(request: Data, _: Iterator[Data]) -> Data:
    """Writes the model to "out"."""
    try:
        import onnx
        from onnx import helper, inliner, shape_inference
    except ImportError as error:
        raise Problem("operators import --function", f"needs Python with onnx 1.16 or later; set RULEMILL_PYTHON ({error})") from None
    path, wanted = request["model"], request["function"]
    model = onnx.load(path, load_external_data=False)
    functions = {f"{each.domain}::{each.name}": each for each in model.functions}
    if wanted not in functions:
        raise Problem(path, f"has no function {wanted}; it has {', '.join(sorted(functions)) or 'none'}")
    function = functions[wanted]
    model = inliner.inline_selected_functions(model, [(function.domain, function.name)], exclude=True)
    model = shape_inference.infer_shapes(model, data_prop=True)
    graph = model.graph
    call = next((node for node in graph.node if (node.domain, node.op_type) == (function.domain, function.name)), None)
    if call is None:
        raise Problem(path, f"does not call {wanted} in its graph: the types of the function's inputs are not known")
    types: Dict[str, Any] = {each.name: each.type for each in [*graph.input, *graph.value_info]}
    stored = {each.name: each for each in graph.initializer}
    inputs, kept = [], []
    for formal, actual in zip(function.input, call.input):
        tensor = stored.get(actual)
        if tensor is not None and tensor.data_type == onnx.TensorProto.INT64:  # sizes and axes, which decide what is computed
            kept.append(onnx.TensorProto())
            kept[-1].CopyFrom(tensor)
            kept[-1].name = formal
        elif tensor is not None:
            inputs.append(helper.make_tensor_value_info(formal, tensor.data_type, list(tensor.dims)))
        elif actual in types:
            inputs.append(helper.make_value_info(formal, types[actual]))
        elif actual:
            raise Problem(path, f"the type of {actual}, an input of the first call of {wanted}, is not known")
    node = onnx.NodeProto()
    node.CopyFrom(call)
    node.input[:] = [formal if actual else "" for formal, actual in zip(function.input, call.input)]
    node.output[:] = [formal if actual else "" for formal, actual in zip(function.output, call.output)]
    outputs = [helper.make_value_info(name, types.get(actual) or next(each.type for each in graph.output if each.name == actual))
               for name, actual in zip(node.output, call.output) if name]
    made = helper.make_model(helper.make_graph([node], function.name, inputs, outputs, kept), functions=model.functions,
                             opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.save(made, request["out"])
    return {}
