"""Small models with the values of their inputs, and their evaluation in onnxruntime without optimizations."""

from __future__ import annotations

import copy
import functools
import re
import types
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

onnxruntime.set_default_logger_severity(4)
IR_VERSION = 10
TYPES = {f"tensor({name})": np.dtype(kind) for name, kind in
         {"float": "f4", "double": "f8", "float16": "f2", "int64": "i8", "int32": "i4", "uint8": "u1", "int8": "i1", "bool": "?"}.items()}
Array = Any
Feeds = Dict[str, Array]


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> List[Array]:
    """The outputs of a model in onnxruntime without optimizations."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    read = {each.name for each in session.get_inputs()}
    return list(session.run(None, {name: value for name, value in feeds.items() if name in read}))


def brief(problem: BaseException) -> str:
    """The message without onnxruntime's numbers and places."""
    text = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : |\S*\.(cc|h):\d+ |Non-zero status code returned while |Status Message: ", "", str(problem))
    return " ".join(text.split())[:160]


@dataclass
class Leaf:
    """A value that the pattern does not compute: an input of the model, or a constant."""

    value: Array
    constant: bool
    stated: bool = False  # by the pattern


@dataclass
class Node:
    kind: str
    domain: str
    inputs: List[str]
    outputs: List[str]
    attributes: Dict[str, Any] = field(default_factory=dict)

    def proto(self) -> onnx.NodeProto:
        return helper.make_node(self.kind, self.inputs, self.outputs, domain=self.domain, **self.attributes)


@dataclass
class Instance:
    """A model with values of its inputs."""

    opset: int
    nodes: List[Node] = field(default_factory=list)
    leaves: Dict[str, Leaf] = field(default_factory=dict)
    outputs: List[str] = field(default_factory=list)
    annotated: bool = True  # with the shapes of inner values
    known: Feeds = field(default_factory=dict)  # all values

    def feeds(self) -> Feeds:
        return {name: leaf.value for name, leaf in self.leaves.items() if not leaf.constant}

    def model(self, names: Mapping[int, str] = types.MappingProxyType({})) -> onnx.ModelProto:
        """The model, in which the given sizes of inputs have names."""
        info = lambda name, shape: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.known[name].dtype), shape)
        opened = lambda value: [names.get(size, size) for size in value.shape]
        inputs = [info(name, opened(leaf.value)) for name, leaf in self.leaves.items() if not leaf.constant]
        constants = [numpy_helper.from_array(leaf.value, name) for name, leaf in self.leaves.items() if leaf.constant]
        outputs = [info(name, None if names else self.known[name].shape) for name in self.outputs]
        graph = helper.make_graph([node.proto() for node in self.nodes], "instance", inputs, outputs, constants)
        if self.annotated and not names:
            inner = [name for node in self.nodes for name in node.outputs if name not in self.outputs]
            graph.value_info.extend(info(name, self.known[name].shape) for name in inner)
        model = _model(graph, self.nodes, self.opset)
        return onnx.shape_inference.infer_shapes(model, data_prop=True) if names else model

    def evaluate(self) -> None:
        """Computes all values; raises what onnxruntime does."""
        leaves = {name: leaf.value for name, leaf in self.leaves.items()}
        self.known = {**leaves, **values_of(self.nodes, leaves, self.opset)}

    def at(self, feeds: Mapping[str, Array]) -> "Instance":
        """The same model with other inputs."""
        other = copy.deepcopy(self)
        for name, value in feeds.items():
            other.leaves[name].value = value
        other.evaluate()
        return other

    def size(self) -> int:
        return sum(int(leaf.value.size) for leaf in self.leaves.values()) + sum(len(node.attributes) for node in self.nodes)

    def kinds(self) -> Tuple[str, ...]:
        return tuple(sorted({str(leaf.value.dtype) for leaf in self.leaves.values()}))

    def ranks(self) -> Tuple[Any, ...]:
        return tuple((name, leaf.value.ndim, leaf.constant) for name, leaf in sorted(self.leaves.items()))


def values_of(nodes: Sequence[Node], known: Mapping[str, Array], opset: int) -> Feeds:
    """The values that the nodes compute of known ones."""
    outputs = [name for node in nodes for name in node.outputs]
    read = {name for node in nodes for name in node.inputs if name} - set(outputs)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(known[name].dtype), known[name].shape) for name in read]
    graph = helper.make_graph([node.proto() for node in nodes], "nodes", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])
    return dict(zip(outputs, run(_model(graph, nodes, opset), {name: known[name] for name in read})))


def _model(graph: onnx.GraphProto, nodes: Sequence[Node], opset: int) -> onnx.ModelProto:
    domains = {"": opset, **{node.domain: 1 for node in nodes if node.domain}}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in domains.items()], ir_version=IR_VERSION)


@functools.lru_cache(None)
def _schemas() -> Dict[Tuple[str, str], List[Any]]:
    found: Dict[Tuple[str, str], List[Any]] = {}
    for each in runtime.get_all_operator_schema():
        found.setdefault((each.domain, each.name), []).append(each)
    return found


def schema(kind: str, domain: str, opset: int) -> Any:
    version = opset if domain == "" else 1
    fitting = [each for each in _schemas().get((domain, kind), []) if each.since_version <= version]
    return max(fitting, key=lambda each: each.since_version) if fitting else None
