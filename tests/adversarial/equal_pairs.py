"""Pairs of small models. Those of `different_pairs` differ by one attribute, constant or edge, and onnxruntime computes something else on some
input; those of `equal_pairs` differ by one rewrite that keeps the meaning, and onnxruntime computes the same up to rounding."""

import itertools
import random

import numpy as np
import onnx
import onnx.inliner
from onnx import TensorProto, helper, numpy_helper

from equations import equations, models_of
from operator_cases import NUMBERS, all_cases, cases_of, is_close, isolated, make_model, run_in_onnxruntime, schemas
from operator_rows import rows

SAMPLES = 3
MARGIN = 1e-2  # relative to max(1, |element|): what counts as a difference
COMMUTATIVE = "Add Mul Max Min And Or Xor Equal Sum Mean".split()


class Pair:
    def __init__(self, operator, change, before, after):
        self.operator, self.change, self.before, self.after = operator, change, before, after


# Models and what they compute


def model_of(case, output=0):
    """The case as a model of one output, whose tensors of the network are inputs and others constants."""
    model = case.model(lambda i: case.is_data[i])
    del model.graph.output[1:]
    node = model.graph.node[0]
    node.output[:] = [f"spare{k}" if k != output else "o0" for k in range(len(node.output))]
    return model


def surrounded(models, rng):
    """The models with the same nodes before and after them."""
    before, after = rng.choice([None, None, None, "Neg", "Relu", "Sigmoid"]), rng.choice([None, None, None, "Neg", "Abs", "Sigmoid"])
    are_float = after and all(answer is True for answer in isolated(is_float, models))
    for model in models:
        graph = model.graph
        first = next((each.name for each in graph.input if each.type.tensor_type.elem_type == TensorProto.FLOAT), None)
        if before and first:
            rename_reads(graph.node, first, "before")
            graph.node.insert(0, helper.make_node(before, [first], ["before"]))
        if are_float:
            graph.node.append(helper.make_node(after, [graph.output[0].name], ["after"]))
            graph.output[0].name = "after"
    return models


def is_float(model):
    return onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def rename_reads(nodes, old, new):
    for node in nodes:
        node.input[:] = [new if name == old else name for name in node.input]


def feeds_of(model, seed):
    numbers, result = np.random.default_rng(seed), {}
    for info in model.graph.input:
        dims = [each.dim_value if each.HasField("dim_value") else 2 + seed for each in info.type.tensor_type.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        if np.issubdtype(kind, np.integer) or kind == np.bool_:
            result[info.name] = numbers.integers(0, 2 if kind == np.bool_ else 4, dims).astype(kind)
        else:
            result[info.name] = numbers.uniform(-2 if seed else 0.1, 2, dims).astype(kind)
    return result


def compute(pair):
    """Outputs of both models on a few inputs; an error if the first is random."""
    first = [run_in_onnxruntime(pair.before, feeds_of(pair.before, 0)) for _ in range(2)]
    if not is_close(*first):
        raise ValueError("random results")
    return [[run_in_onnxruntime(model, feeds_of(pair.before, seed)) for seed in range(SAMPLES)] for model in (pair.before, pair.after)]


def differ(first, second):
    """Whether types, dimensions or finite elements of a sample differ beyond rounding."""
    for (a,), (b,) in zip(first, second):
        if a.dtype != b.dtype or a.shape != b.shape:
            return True
        x, y = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(x) & np.isfinite(y)
        if (np.abs(x[finite] - y[finite]) > MARGIN * np.maximum(1, np.abs(y[finite]))).any():
            return True
    return False


def agree(first, second):
    return all(is_close(a, b) and all(np.isfinite(each.astype(np.float64)).any() for each in a) for a, b in zip(first, second))


def checked(pairs, is_wanted):
    """Yields the pairs that both run and on whose outputs the condition holds."""
    pairs = list(pairs)
    for pair, outputs in zip(pairs, isolated(compute, pairs)):
        if isinstance(outputs, Exception) or not is_wanted(*outputs):
            continue
        types = [outputs_of_model[0][0].dtype for outputs_of_model in outputs]
        if types[0] == types[1]:
            for model in (pair.before, pair.after):
                model.graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(types[0])
            yield pair


def ordinary_cases(rng, name, known, table):
    """Cases of an operator in random order, of types for which `equal` speaks of numbers."""
    found = []
    for schema in known[name]:
        if schema.until > 11:
            found += list(cases_of(schema, table[name], seed=rng.random(), budget=20))
    rng.shuffle(found)
    kinds = (np.float32, np.int64, np.bool_)
    return [each.changed(scale="ordinary") for each in found if each.element in kinds and each.opset >= 11 and all(d is None or 0 not in d for d in each.data if isinstance(d, tuple))]


# Pairs that differ


def change_value(case, rng, row):
    """Changes an attribute or a constant."""
    name = rng.choice(sorted(case.choice)) if case.choice else None
    if name is None:
        return None
    kind = case.schema.attributes.get(name, ("",))[0]
    values = row.get(name) or [None, *NUMBERS.get(kind, ())]
    after = case.changed(choice=case.choice | {name: rng.choice(values)})
    return model_of(case), model_of(after), f"{'attribute' if kind else 'constant'} {name}"


def change_edge(case, rng, row):
    """Swaps two operands, reads another input, or gives another output."""
    del row
    choice, places = rng.randrange(3), [i for i,
                                        is_data in enumerate(case.is_data) if is_data and i < len(case.inputs) and case.inputs[i] is not None]
    before, after = model_of(case), model_of(case)
    node = after.graph.node[0]
    if choice == 0 and len(places) > 1:
        i, j = rng.sample(places, 2)
        if case.inputs[i].shape != case.inputs[j].shape:
            return None
        node.input[i], node.input[j] = node.input[j], node.input[i]
        return before, after, "operands swapped"
    if choice == 1 and places:
        i = rng.choice(places)
        for model in (before, after):
            info = onnx.ValueInfoProto()
            info.CopyFrom(next(each for each in model.graph.input if each.name == f"i{i}"))
            info.name = "other"
            model.graph.input.append(info)
        node.input[i] = "other"
        return before, after, "another input"
    if choice == 2 and case.outputs > 1:
        return before, model_of(case, output=1), "another output"
    return None


def change_element(case, rng, row):
    """The tensors of the network but the first are constants, and an element of one is another one."""
    del row
    places = [i for i in range(1, len(case.inputs)) if case.is_data[i] and case.inputs[i] is not None and case.inputs[i].size]
    if not places or case.element != np.float32:
        return None
    i, models = rng.choice(places), []
    for added in (0, rng.choice([0.25, -1.0, 0.05])):
        model = case.model(lambda k: case.is_data[k] and k == 0)
        del model.graph.output[1:]
        tensor = next(each for each in model.graph.initializer if each.name == f"i{i}")
        values = numpy_helper.to_array(tensor).copy()
        values.flat[len(case.key) % values.size] += added
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        models.append(model)
    return *models, "an element of a constant"


def different_pairs(seed, count):
    """Yields pairs, of all operators in turns."""
    rng, known, table = random.Random(seed), schemas(), rows()
    cases = {name: itertools.cycle(each) for name in table if (each := ordinary_cases(rng, name, known, table))}
    while count > 0:
        drawn = []
        for name, source in cases.items():
            for _ in range(4):
                change = rng.choice([change_value, change_value, change_value, change_edge, change_element])
                made = change(next(source), rng, table[name])
                if made:
                    before, after = surrounded(made[:2], rng)
                    drawn.append(Pair(name, made[2], before, after))
        rng.shuffle(drawn)
        for pair in itertools.islice(checked(drawn, differ), count):
            yield pair
            count -= 1


# Pairs that are equal


def spell_default(case, rng):
    """An absent attribute gets the schema's default."""
    absent = [name for name, (_, default) in case.schema.attributes.items() if default is not None and name not in case.attributes]
    if not absent:
        return None
    name = rng.choice(absent)
    return model_of(case), model_of(case.changed(choice=case.choice | {name: case.schema.attributes[name][1]})), f"default of {name} spelled out"


def turn_axis(case, rng):
    """Counts axes from the other end."""
    name = next((each for each in ("axis", "axes") if case.choice.get(each) is not None), None)
    if name is None or not case.data or not isinstance(case.data[0], tuple):
        return None
    value = case.choice[name]
    rank = len(case.data[0]) + (np.size(value) if case.schema.name == "Unsqueeze" else case.schema.name == "OneHot")
    axes = [each - rank if each >= 0 else each + rank for each in np.ravel(value).tolist()]
    turned = axes if isinstance(value, list) else np.array(axes).reshape(value.shape) if isinstance(value, np.ndarray) else axes[0]
    return model_of(case), model_of(case.changed(choice=case.choice | {name: turned})), f"{name} from the other end"


def other_opset(case, rng):
    """The node in another version of the operator, where attributes may have become inputs."""
    versions = [each for each in schemas_of(case) if each.since != case.schema.since and each.until > 11]
    if not versions or case.schema.domain:
        return None
    schema = rng.choice(versions)
    opset = max(schema.since, 11)
    return model_of(case), model_of(case.changed(schema=schema, opset=opset)), f"opset {opset} instead of {case.opset}"


def swap_operands(case, rng):
    del rng
    if case.schema.name not in COMMUTATIVE or len(case.inputs) != 2:
        return None
    after = model_of(case)
    after.graph.node[0].input[:] = reversed(after.graph.node[0].input)
    return model_of(case), after, "operands swapped"


def insert_identity(case, rng):
    """Two nodes that cancel each other, or one that changes nothing, at an input."""
    places = [i for i, is_data in enumerate(case.is_data) if is_data and i < len(case.inputs) and case.inputs[i] is not None]
    if not places:
        return None
    i = rng.choice(places)
    rank, before, after = case.inputs[i].ndim, model_of(case), model_of(case)
    graph, order = after.graph, rng.sample(range(rank), rank)
    weights = {"axes": np.array([0]), "one": np.array(1, case.inputs[i].dtype), "shape": np.array(case.inputs[i].shape), "flat": np.array([-1]),
               "zeros": np.zeros(2 * rank, np.int64), "ones": np.ones(rank, np.int64)}
    choices = [[("Identity", [], {})], [("Reshape", ["flat"], {}), ("Reshape", ["shape"], {})], [("Expand", ["shape"], {})], [("Tile", ["ones"],
        {})],
               [("Cast", [], {"to": helper.np_dtype_to_tensor_dtype(case.inputs[i].dtype)})]]
    if case.inputs[i].dtype != np.bool_:
        choices += [[("Mul", ["one"], {})], [("Div", ["one"], {})], [("Pad", ["zeros"], {})], [("Neg", [], {})] * 2]
    if rank > 1:
        choices.append([("Transpose", [], {"perm": order}), ("Transpose", [], {"perm": [order.index(k) for k in range(rank)]})])
    if case.opset >= 13:
        choices.append([("Unsqueeze", ["axes"], {}), ("Squeeze", ["axes"], {})])
    name, made = f"i{i}", []
    for k, (op_type, others, attributes) in enumerate(rng.choice(choices)):
        made.append(helper.make_node(op_type, [name, *others], [f"same{k}"], **attributes))
        name = f"same{k}"
        graph.initializer.extend(numpy_helper.from_array(weights[each], each) for each in others if each not in {w.name for w in graph.initializer})
    rename_reads(graph.node, f"i{i}", name)
    for node in reversed(made):
        graph.node.insert(0, node)
    return before, after, f"{made[0].op_type} that changes nothing"


def compute_constant(case, rng):
    """A constant is computed from others."""
    before, after = model_of(case), model_of(case)
    stored = [each for each in after.graph.initializer if each.data_type in (TensorProto.INT64, TensorProto.FLOAT)]
    if not stored:
        return None
    tensor = rng.choice(stored)
    values, name = numpy_helper.to_array(tensor), tensor.name
    parts = {"Constant": ([], {"value": numpy_helper.from_array(values, "value")}), "Add": ([values - values.dtype.type(1), values.dtype.type(1)],
                                                                                            {}),
             "Identity": ([values], {}), "Mul": ([values, values.dtype.type(1)], {}),
             "Reshape": ([values.reshape(-1), np.array(values.shape, np.int64)], {})}
    if values.ndim and values.shape[0] > 1:
        parts["Concat"] = ([values[:1], values[1:]], {"axis": 0})
        parts["Gather"] = ([values[::-1].copy(), np.arange(len(values))[::-1].copy()], {"axis": 0})
    if values.dtype == np.int64 and (np.abs(values) < 2 ** 31).all():
        parts["Cast"] = ([values.astype(np.int32)], {"to": TensorProto.INT64})
    op_type, (operands, attributes) = rng.choice(sorted(parts.items(), key=lambda each: each[0]))
    after.graph.initializer.remove(tensor)
    names = [f"part{k}" for k in range(len(operands))]
    after.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), part) for part, each in zip(names, operands))
    after.graph.node.insert(0, helper.make_node(op_type, names, [name], **attributes))
    return before, after, f"constant by {op_type}"


def spell_optional(case, rng):
    """What an absent input or attribute stands for is given."""
    made = {name: value for name, value in implied_values(case).items() if case.choice.get(name) is None}
    if not made:
        return None
    name = rng.choice(sorted(made))
    return model_of(case), model_of(case.changed(choice=case.choice | {name: made[name]})), f"{name} given"


def implied_values(case):
    """Values that an operator takes for an absent input or attribute."""
    op_type, first = case.schema.name, case.inputs[0] if case.inputs else None
    if first is None:
        return {}
    rank, spatial = first.ndim, max(first.ndim - 2, 0)
    if op_type == "Slice" and case.choice.get("starts"):
        count = len(case.choice["starts"])
        return {"axes": list(range(count)), "steps": [1] * count} if case.choice.get("axes") is not None else {"axes": list(range(count))}
    if op_type.startswith("Reduce"):
        return {} if case.choice.get("noop_with_empty_axes") else {"axes": list(range(rank))}
    if op_type == "Squeeze":
        return {"axes": [i for i, d in enumerate(first.shape) if d == 1]}
    if op_type == "Transpose":
        return {"perm": list(range(rank))[::-1]}
    if op_type == "Split" and case.choice.get("num_outputs") is None:
        return {"split": [first.shape[case.choice.get("axis") or 0] // case.outputs] * case.outputs}
    if op_type in ("Conv", "ConvTranspose", "FusedConv") and len(case.inputs) > 1:
        return {"kernel_shape": list(case.inputs[1].shape[2:]), "strides": [1] * spatial, "dilations": [1] * spatial, "pads": [0] * 2 * spatial}
    if op_type in ("MaxPool", "AveragePool", "LpPool"):
        return {"strides": [1] * spatial, "pads": [0] * 2 * spatial}
    if op_type == "Shape":
        return {"start": 0, "end": rank}
    if op_type == "ConstantOfShape":
        return {"value": np.zeros(1, np.float32)}
    return {}


def write_as_function(case, rng):
    """The node is the body of the function that the standard gives."""
    del rng
    schema = case.schema
    if schema.domain or not onnx.defs.has(schema.name):
        return None
    known = onnx.defs.get_schema(schema.name, schema.since)
    before, after = model_of(case), model_of(case)
    node = after.graph.node[0]
    if known.has_function:
        function = known.function_body
    elif known.has_context_dependent_function:
        types = [helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(each.dtype),
                                               each.shape).SerializeToString() if each is not None else b"" for each in case.inputs]
        function = onnx.FunctionProto()
        function.ParseFromString(known.get_context_dependent_function(node.SerializeToString(), types))
    else:
        return None
    if isinstance(function, bytes):
        function = onnx.FunctionProto.FromString(function)
    for name, (_, default) in schema.attributes.items():
        if default is not None and name not in case.attributes:
            node.attribute.append(helper.make_attribute(name, default))
    local = onnx.FunctionProto()
    local.CopyFrom(function)
    local.domain = node.domain = "standard"
    for opset in local.opset_import:
        if opset.domain == "":
            opset.version = case.opset
    if not any(opset.domain == "" for opset in local.opset_import):
        local.opset_import.append(helper.make_opsetid("", case.opset))
    after.functions.append(local)
    after.opset_import.append(helper.make_opsetid("standard", 1))
    after = onnx.inliner.inline_local_functions(after)
    after.opset_import.remove(next(each for each in after.opset_import if each.domain == "standard"))
    return before, after, "the standard's function"


KNOWN = schemas()
REWRITES = (spell_default, spell_default, turn_axis, other_opset, swap_operands, insert_identity, compute_constant, spell_optional,
            write_as_function)


def schemas_of(case):
    return KNOWN[case.key]


def rewritten_cases(rng):
    """Yields pairs of all operators in turns, one of each rewrite."""
    table = rows()
    cases = {name: itertools.cycle(each) for name in table if (each := ordinary_cases(rng, name, KNOWN, table))}
    for rewrite in itertools.cycle(REWRITES):
        for name, source in rng.sample(sorted(cases.items()), len(cases)):
            made = rewrite(next(source), rng)
            if made:
                before, after = surrounded(made[:2], rng)
                yield Pair(name, f"{rewrite.__name__}: {made[2]}", before, after)


def written_equations(rng):
    """Yields the equations in turns, with some of their variables as constants."""
    for turn in itertools.count():
        for row, variables, before, after in equations():
            opset = max(rng.choice([13, 17, 18, 21, 23, 24][turn % 2:]), newest_operator(row))
            models = models_of(variables, before, after, opset)
            weights = [name for name in list(variables)[1:] if rng.random() < 0.5]
            for model in models:
                store_inputs(model, weights)
            yield Pair("equation", row, *(surrounded(models, rng) if turn else models))


def newest_operator(row):
    """The first opset that has all operators of an equation."""
    return max([1, *(versions[0].since for name, versions in KNOWN.items() if f"{name}(" in row and "." not in name)])


def store_inputs(model, names):
    """Makes inputs constants."""
    for k, name in enumerate(names):
        info = next((each for each in model.graph.input if each.name == name), None)
        if info is None:
            continue
        dims = [each.dim_value for each in info.type.tensor_type.shape.dim]
        values = np.random.default_rng(k).uniform(0.2, 1.5, dims).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
        model.graph.input.remove(info)


def equal_pairs(seed, count):
    """Yields pairs, as many rewritten nodes as equations."""
    rng = random.Random(seed)
    sources = [rewritten_cases(rng), written_equations(rng)]
    while count > 0:
        drawn = [next(source) for source in sources for _ in range(100)]
        rng.shuffle(drawn)
        for pair in itertools.islice(checked(drawn, agree), count):
            yield pair
            count -= 1
