"""Two models, cut at the nodes that choose.

TopK, ArgMax or a comparison turns a rounding error into another choice, and the outputs behind it into other values. The nodes of this
kind that both models have, with the same attributes and names of results, are removed from both. Their results become inputs, with the
values that the original computes, and their inputs become outputs. So what leads to a choice and what follows it can be compared;
the choice itself is the same node."""

import os
import pathlib
import tempfile

import numpy as np
import onnx
from models import one_line, session
from onnx import helper, numpy_helper

CHOOSING = {"ArgMax", "ArgMin", "Cast", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual",
            "NonMaxSuppression", "NonZero", "QuantizeLinear", "Round", "Sign", "TopK", "Unique"}
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
INLINE_BYTES = 1 << 30  # a model above it keeps its tensors in a file of its own


def chooses(node):
    if node.domain or node.op_type not in CHOOSING:
        return False
    return node.op_type != "Cast" or all(each.i not in FLOATS for each in node.attribute if each.name == "to")


def known_values(model):
    """By name: inputs and constants, which need not be computed to be compared. An absent input is one, too."""
    tensors = {each.name: each for each in model.graph.initializer}
    tensors |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant" and node.attribute[0].HasField("t")}
    constants = {name: (each.data_type, list(each.dims), numpy_helper.to_array(each).tobytes()) for name, each in tensors.items()}
    return {**{name: name for name in ["", *(each.name for each in model.graph.input)]}, **constants}


def same_choice(before, after, known):
    """Apart from inputs that are computed."""
    key = lambda node: (node.op_type, list(node.output), len(node.input), sorted(each.SerializeToString() for each in node.attribute))
    both = [(known[0][a], known[1][b]) for a, b in zip(before.input, after.input) if a in known[0] and b in known[1]]
    return key(before) == key(after) and all(a == b for a, b in both)


def cut(model, nodes, compared, types):
    """Removes the nodes in place. `compared` are the values that become outputs, under names that do not depend on the model."""
    outputs = {name for node in nodes for name in node.output if name}
    kept = [node for node in model.graph.node if not outputs.intersection(node.output)]
    kept += [helper.make_node("Identity", [name], [f"input of choice {number}"]) for number, name in enumerate(compared)]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    model.graph.output.extend(onnx.ValueInfoProto(name=f"input of choice {number}") for number in range(len(compared)))
    model.graph.input.extend(helper.make_tensor_value_info(name, *types[name]) for name in sorted(outputs))


def element_type(info):
    name = info.type.removeprefix("tensor(").removesuffix(")")
    return helper.np_dtype_to_tensor_dtype(np.dtype({"float": "float32", "double": "float64"}.get(name, name)))


class Choices:
    """Raises ValueError if the models have no choices of computed numbers in common."""

    def __init__(self, before_path, after_path):
        before, after = onnx.load(before_path), onnx.load(after_path)
        counterparts = {node.output[0]: node for node in after.graph.node if chooses(node)}
        known = known_values(before), known_values(after)
        pairs = [(node, counterparts[node.output[0]]) for node in before.graph.node
                 if chooses(node) and node.output[0] in counterparts and same_choice(node, counterparts[node.output[0]], known)]
        computed = [[(a, b) for a, b in zip(node.input, other.input) if a not in known[0] or b not in known[1]] for node, other in pairs]
        self.folder = tempfile.TemporaryDirectory(prefix="rulemill-choices-", dir=pathlib.Path(after_path).parent)
        outputs = [each.name for each in before.graph.output]
        values = dict.fromkeys([name for node, _ in pairs for name in node.output if name] + [a for each in computed for a, _ in each])
        before.graph.output.extend(onnx.ValueInfoProto(name=name) for name in values if name not in outputs)
        self.source = session(self.save(before, "choices"), os.cpu_count() or 1, False)
        del before.graph.output[len(outputs):]
        infos = {each.name: each for each in self.source.get_outputs()}
        of_numbers = [any(element_type(infos[a]) in FLOATS for a, _ in each) for each in computed]
        pairs, computed = ([each for each, needed in zip(all_of, of_numbers) if needed] for all_of in (pairs, computed))
        if not pairs:
            raise ValueError("no node chooses by numbers that both models compute")
        self.operators = [node.op_type for node, _ in pairs]
        self.names = sorted({name for node, _ in pairs for name in node.output if name})
        types = {name: (element_type(infos[name]), [None] * len(infos[name].shape)) for name in self.names}
        compared = dict.fromkeys(pair for each in computed for pair in each)
        cut(before, [node for node, _ in pairs], [a for a, _ in compared], types)
        cut(after, [node for _, node in pairs], [b for _, b in compared], types)
        self.models = {"before": self.save(before, "before"), "after": self.save(after, "after")}

    def save(self, model, name):
        path = str(pathlib.Path(self.folder.name) / f"{name}.onnx")
        onnx.save(model, path, save_as_external_data=model.ByteSize() > INLINE_BYTES, location=f"{name}.data")
        return path

    def complete(self, feeds):
        """Adds the choices that the original makes on these inputs. Returns why it makes none."""
        try:
            return {**feeds, **dict(zip(self.names, self.source.run(self.names, feeds)))}
        except Exception as error:
            return one_line(error)
