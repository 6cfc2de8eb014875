"""Runs single operators of PyTorch for `rulemill operators check --torch`; queries and answers as of operator_cases.py.

The model is one node of the domain "aten", whose inputs and attributes are the arguments of the operator as rulemill.torch_program writes them.
The result is that of eager PyTorch."""

import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from models import np, one_line, plain_session, serve

try:
    import onnx
    import torch

    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented
    from rulemill import torch_program
except ImportError:
    sys.exit(3)  # rulemill says so where it matters

DOMAIN = torch_program.DOMAIN
KEPT = 3  # cases of an operator
CASES = {}
OTHER_TYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)
TOLERANCES = {torch.float64: 1e-6, torch.float16: 5e-2, torch.bfloat16: 1e-1}


def operator_of(name):
    packet, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops.aten, packet, None), overload, None)
    return found if isinstance(found, torch._ops.OpOverload) else None


def arguments(node, values):
    """The arguments of the node's operator, by the values of its inputs; those of memory have their defaults."""
    schema, given = operator_of(node.op_type)._schema.arguments, [values.get(name) for name in node.input]
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    found = {}
    for argument in schema:
        kind, is_list = torch_program.kind_of(argument)
        if torch_program.is_input(argument):
            taken, given = (given, []) if is_list and kind == "TensorType" else (given[:1], given[1:])
            if any(each is not None for each in taken):
                found[argument.name] = from_inputs(taken, kind, is_list)
            elif not argument.has_default_value():
                found[argument.name] = None
        elif argument.name in attributes:
            found[argument.name] = from_attribute(attributes.pop(argument.name), kind, is_list)
        elif not argument.has_default_value():  # without one, or of which a definition says that it has no effect
            is_optional = isinstance(argument.type, torch.OptionalType)
            found[argument.name] = None if is_optional else {"FloatType": 0.1, "BoolType": False, "IntType": 0}[kind]
    if given or attributes:
        raise ValueError(f"{node.op_type} has no argument {', '.join(attributes) or 'for an input'}")
    return found


def from_inputs(tensors, kind, is_list):
    if kind == "TensorType":
        return list(tensors) if is_list else tensors[0]
    if is_list:
        if tensors[0].dim() != 1:
            raise ValueError("a list has one dimension")
        return tensors[0].tolist()
    if tensors[0].dim() != 0:
        raise ValueError("a number has no dimensions")
    return tensors[0].item()


def from_attribute(value, kind, is_list):
    if kind == "StringType":
        return value.decode()
    if kind == "ScalarTypeType":
        return next(dtype for dtype, number in torch_program.ONNX_TYPES.items() if number == value)
    if kind == "BoolType":
        return [bool(each) for each in value] if is_list else bool(value)
    if is_list or not isinstance(value, (list, tuple)):
        return list(value) if is_list else value
    if len(value) != 1:
        raise ValueError("found a list, expected a number")
    return value[0]


def results(node, values):
    """The results of eager PyTorch that the node has."""
    found = operator_of(node.op_type)(**arguments(node, values))
    found = [found] if isinstance(found, torch.Tensor) else [each for each in found if each is not None]
    return found[:len(node.output)]


def run(query):
    model = onnx.load(query["model"])
    node = model.graph.node[0]
    values = {each.name: torch.from_numpy(onnx.numpy_helper.to_array(each).copy()) for each in model.graph.initializer}
    constants = set(values)
    for each, path in zip(model.graph.input, query["inputs"]):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        values[each.name] = torch.from_numpy(np.fromfile(path, np.float32).astype(dtype).reshape(shape))
    found = results(node, values)
    keep(Case(node, values, constants | numbers_of(node)))
    shapes = []
    for value, path in zip(found, query["outputs"]):
        value.detach().float().contiguous().numpy().tofile(path)
        shapes.append(list(value.shape))
    return {"shapes": shapes}


def numbers_of(node):
    """The inputs of the node that are numbers of the call."""
    known = [each for each in operator_of(node.op_type)._schema.arguments if torch_program.is_input(each)]
    return {name for name, argument in zip(node.input, known) if torch_program.kind_of(argument)[0] == "NumberType"}


@dataclasses.dataclass
class Case:
    """A node, the values of its inputs, and those of them that are constants of the node."""

    node: object
    values: dict
    constants: set
    expected: list = None

    def size(self):
        return sum(value.numel() for value in self.values.values())

    def of(self, dtype):
        """The same case with this type in place of float32."""
        has_tensors = any(value.dtype == torch.float32 for name, value in self.values.items() if name not in self.constants)
        values = {name: value.to(dtype) if has_tensors and value.dtype == torch.float32 else value for name, value in self.values.items()}
        return Case(self.node, values, self.constants)


def keep(case):
    """Keeps the smallest cases of an operator, by the types of its inputs and its attributes' names."""
    kinds = tuple(str(case.values[name].dtype) if name else "" for name in case.node.input)
    kept = CASES.setdefault((case.node.op_type, kinds), [])
    kept.append(case)
    kept.sort(key=Case.size)
    del kept[KEPT:]


def other_types():
    """Whether rulemill reads the kept cases with other types of elements as PyTorch computes them, or does not read them. Returns the
    operators that differ, each with its smallest case, and how many cases were compared."""
    cases = []
    for case in (each.of(dtype) for kept in CASES.values() for each in kept for dtype in OTHER_TYPES):
        try:
            case.expected = results(case.node, case.values)
        except Exception:  # PyTorch has no such call
            continue
        cases.append(case)
    differing, compared = {}, 0
    for case, problem in compare(cases):
        compared += problem == ""
        if problem and case.size() < differing.get(case.node.op_type, (case.size() + 1,))[0]:
            shapes = " ".join(f"{str(value.dtype)[6:]}{list(value.shape)}" for name, value in case.values.items() if name not in case.constants)
            differing[case.node.op_type] = (case.size(), f"{case.node.op_type} on {shapes}: {problem}")
    return {"differing": [{"op_type": name, "difference": text} for name, (_, text) in differing.items()], "compared": compared}


def compare(cases):
    """Each case, and how it differs from what is expected: empty if not, None if rulemill or onnxruntime does not read it."""
    try:
        model = written(cases)
    except torch_program.NotRead:
        if len(cases) < 2:
            return [(case, None) for case in cases]
        middle = len(cases) // 2
        return compare(cases[:middle]) + compare(cases[middle:])
    makers = {name: number for number, node in enumerate(model.graph.node) for name in node.output}
    weights = {each.name: each for each in model.graph.initializer}
    return [(case, compare_one(case, number, model, makers, weights)) for number, case in enumerate(cases)]


def written(cases):
    """All cases in one model, as rulemill writes it."""
    graph = onnx.GraphProto(name="cases")
    for number, case in enumerate(cases):
        for name, value in case.values.items():
            proto = torch_program.to_tensor_proto(value, f"{number}.{name}")
            if name in case.constants:
                graph.initializer.append(proto)
            else:
                graph.input.append(onnx.helper.make_tensor_value_info(proto.name, proto.data_type, list(value.shape)))
        node = graph.node.add()
        node.CopyFrom(case.node)
        node.name = f"{number}.node"
        node.input[:] = [f"{number}.{name}" if name else "" for name in node.input]
        node.output[:] = [f"{number}.{name}" for name in node.output]
        graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, node.output))
    return torch_program.written(torch_program.to_model(graph), sys.argv[1])[0]


def compare_one(case, number, model, makers, weights):
    part = onnx.GraphProto(name="case")
    pending, nodes, names = [f"{number}.{name}" for name in case.node.output], set(), set()
    while pending:
        name = pending.pop()
        if name in names or not name:
            continue
        names.add(name)
        if name in weights:
            part.initializer.append(weights[name])
        elif name in makers:
            nodes.add(makers[name])
            pending += model.graph.node[makers[name]].input
    part.node.extend(model.graph.node[each] for each in sorted(nodes))
    if any(node.domain in (DOMAIN, torch_program.OWN_DOMAIN) for node in part.node):
        return None
    part.input.extend(each for each in model.graph.input if each.name in names)
    part.output.extend(onnx.helper.make_empty_tensor_value_info(f"{number}.{name}") for name in case.node.output)
    whole = onnx.ModelProto(graph=part, opset_import=model.opset_import, ir_version=model.ir_version)
    try:
        session = plain_session(whole.SerializeToString())
        found = session.run(None, {each.name: case.values[each.name.partition(".")[2]].numpy() for each in part.input})
    except (NotImplemented, TypeError):  # onnxruntime or NumPy lacks the type
        return None
    except Exception as error:
        return one_line(error)
    for mine, theirs in zip(map(torch.as_tensor, found), case.expected):
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            return f"found {mine.dtype} {list(mine.shape)}, expected {theirs.dtype} {list(theirs.shape)}"
        tolerance = TOLERANCES.get(theirs.dtype, 0)
        if not torch.allclose(mine.double(), theirs.double(), tolerance, tolerance, equal_nan=True):
            return f"found {mine.flatten()[:4].tolist()}, expected {theirs.flatten()[:4].tolist()}"
    return ""


def schemas(name):
    """The operator as a schema of ONNX: the names of its attributes, and the number of its inputs."""
    operator = operator_of(name)
    known = [each for each in operator._schema.arguments] if operator else []
    is_variadic = any(torch_program.is_input(each) and torch_program.kind_of(each) == ("TensorType", True) for each in known)
    listed = [{"since": 1, "attributes": [each.name for each in known if not torch_program.is_input(each)],
               "max_inputs": 1 << 20 if is_variadic else sum(map(torch_program.is_input, known))}]
    return {"newest": 1, "schemas": listed if operator else []}


def answer(query):
    try:
        if "schemas_of" not in query:
            return run(query) if "model" in query else other_types()
        return schemas(query["schemas_of"]) if query["domain"] == DOMAIN else {"newest": 23, "schemas": []}
    except Exception as error:  # any error is an answer
        return {"error": one_line(error)}


if __name__ == "__main__":
    serve(answer, f"PyTorch {torch.__version__}")
