"""Instances of rewrite rules of onnxscript: models of random sizes, types, constants and attributes that a rule's matcher and check accept.

A pattern is built node by node: what the node needs besides earlier values is drawn until onnxruntime runs the node. A model that reaches
a new line of the rule's own code is kept, and changed further; numbers and words of that code are drawn more often than others."""

from __future__ import annotations

import collections
import contextlib
import copy
import re
import sys
import types
from dataclasses import dataclass
from typing import Any, Counter, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Set, Tuple
from unittest import mock

import numpy as np
import onnx
import onnxscript.rewriter
from onnx import numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from onnx_ir.passes import common as passes
from onnxscript import ir
from onnxscript.rewriter import _pattern_ir as patterns

from .onnxscript_models import TYPES, Array, Instance, Leaf, Node, brief, schema, values_of

SIZES = (2, 3, 4, 5, 7)
OPSETS = (23, 23, 20, 18, 13)
DRAWS = (10, 30, 100)  # of a node, for each value that is not known, and one more


def _values(given: Any) -> Iterator[Any]:
    """The numbers and words in a value or in the code of a function."""
    if isinstance(given, types.FunctionType):
        given = given.__code__
    if isinstance(given, (int, float, str)) and not isinstance(given, bool):
        yield given
    for each in given.co_consts if isinstance(given, types.CodeType) else given if isinstance(given, (tuple, list, set, frozenset)) else ():
        yield from _values(each)


def _members(rule: Any) -> List[Any]:
    """What the modules and classes of the rule's check and replacement define."""
    functions = [rule._replacement_pattern._function, rule._condition_function]
    modules = {sys.modules[each.__module__] for each in functions}
    modules |= {sys.modules[base.__module__] for each in functions for base in type(getattr(each, "__self__", None)).__mro__}
    owners = [owner for module in modules if module.__name__ not in ("builtins", "abc", "onnxscript.rewriter._rewrite_rule")
              for owner in (module, *(each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__))]
    members = [each for owner in owners for name, each in vars(owner).items() if not name.startswith("__")]
    return [each for each in members if not isinstance(each, types.FunctionType) or each.__module__ in {module.__name__ for module in modules}]


class Generator:
    """Draws instances of one rule, which may have several patterns that differ in the order of operands."""

    def __init__(self, rules: Sequence[Any], seed: int) -> None:
        self.rules = rules
        self.random = np.random.default_rng(seed)
        self.problems: Counter[Tuple[int, str]] = collections.Counter()  # by how far it came
        self.trials = 0  # models begun or changed, draws of a node, applications: about a millisecond each
        members = _members(rules[0])
        self.files = {each.__code__.co_filename for each in members if isinstance(each, types.FunctionType)}
        words = {each for member in members for each in _values(member)}
        self.numbers = sorted({each for each in words if isinstance(each, (int, float)) and abs(each) <= 32}, key=float)
        self.whole = [int(each) for each in self.numbers if isinstance(each, int)]
        self.words = sorted(each for each in words if isinstance(each, str) and re.fullmatch(r"\w{1,12}", each))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def why(self) -> str:
        """What was in the way of most of the models that came furthest."""
        furthest = [(count, text) for (nodes, text), count in self.problems.items() if nodes == max(self.problems)[0]]
        return max(furthest)[1] if furthest else "no model was drawn in these trials"

    def build(self) -> Optional[Instance]:
        """A model of the pattern, or None if a node of it was not run at any draw."""
        self.trials += 1
        self.graph = Instance(self.pick(OPSETS), annotated=self.chance(0.85))
        self.constants = self.pick([0.1, 0.5, 1.0])  # how many of the values are constants
        self.named: Dict[Any, str] = {}
        self.attributes: Dict[str, Any] = {}
        rule = self.pick(self.rules)
        try:
            self.graph.outputs = list(dict.fromkeys(self.value(each) for each in rule._target_pattern.outputs))
        except _NotDrawn as error:
            self.problems[len(self.graph.nodes), str(error)] += 1
            return None
        return self.graph

    def value(self, pattern: Any) -> str:
        """The name of the value that the pattern matches; "" for none."""
        if pattern is None:
            return ""
        key = pattern.name if isinstance(pattern, patterns.Var) else pattern
        if key in self.named:
            return self.named[key]
        if isinstance(pattern, patterns.NodeOutputPattern):
            self.node(pattern.producer())
            return self.named[pattern]
        if isinstance(pattern, patterns.OpIdDispatchOr):
            name = self.value(self.pick([each for _, each in pattern._op_to_pattern.values()]))
        elif isinstance(pattern, patterns.BacktrackingOr):
            name = self.value(self.pick(pattern._values))
        else:
            name = "" if pattern.can_match_none and self.chance(0.4) else f"{pattern.name or 'v'}{len(self.named)}"
            if isinstance(pattern, patterns.Constant):
                self.graph.leaves[name] = Leaf(pattern.value, constant=True, stated=True)
        self.named[key] = name
        return name

    def node(self, pattern: Any) -> None:
        inputs = [self.value(each) for each in pattern.inputs]
        kind, domain = str(pattern.op).rstrip("*"), str(pattern.domain).rstrip("*")
        declared = schema(kind, domain, self.graph.opset)
        if declared is None:
            raise _NotDrawn(f"onnxruntime has no operator {domain + '.' if domain else ''}{kind} in opset {self.graph.opset}")
        if pattern.allow_other_inputs:
            more = int(self.random.integers(declared.max_input - len(inputs) + 1)) if declared.max_input < 20 else int(self.random.integers(3))
            more = max(more, declared.min_input - len(inputs))
            inputs += [f"more{len(self.named)}_{number}" for number in range(more)]
        outputs = [f"{each.name or kind}_{len(self.named)}_{number}" for number, each in enumerate(pattern.outputs)]
        error = ""
        for _ in range(self.pick(DRAWS) * (1 + sum(name not in self.graph.known for name in inputs))):
            self.trials += 1
            new: Dict[str, Leaf] = {}
            shared: Dict[str, Any] = {}
            try:
                self.draw_leaves(declared, inputs, new)
                node = Node(kind, domain, inputs, outputs, self.draw_attributes(pattern, declared, inputs, new, shared))
                if pattern.allow_other_inputs and self.chance(0.2):
                    optional = [n for n in range(len(pattern.inputs), len(inputs) - 1) if declared.inputs[min(n, len(declared.inputs) - 1)].option
                                == runtime.schemadef.OpSchema.FormalParameterOption.Optional]
                    node.inputs = ["" if number in optional else name for number, name in enumerate(inputs)]
                known = {**self.graph.known, **{name: leaf.value for name, leaf in new.items()}}
                known.update(values_of([node], known, self.graph.opset))
            except _NotDrawn:
                raise
            except Exception as problem:  # onnxruntime's classes of errors have no common base
                error = brief(problem)
                continue
            self.graph.nodes.append(node)
            self.graph.leaves.update({name: leaf for name, leaf in new.items() if name in node.inputs})
            self.graph.known = known
            self.attributes.update(shared)
            self.named.update(zip(pattern.outputs, outputs))
            return
        raise _NotDrawn(f"{kind}: {error}")

    def draw_leaves(self, declared: Any, inputs: Sequence[str], new: Dict[str, Leaf]) -> None:
        """Draws what of the inputs is not known, and adds it to `new`."""
        bound: Dict[str, Any] = {}
        formal = [declared.inputs[min(number, len(declared.inputs) - 1)] for number in range(len(inputs))]
        for name, each in zip(inputs, formal):
            if name in self.graph.known:
                bound[each.typeStr] = self.graph.known[name].dtype
        near = [self.graph.known[name] for name in inputs if name in self.graph.known]
        for name, each in zip(inputs, formal):
            if not name or name in self.graph.known or name in new:
                continue
            kinds = [TYPES[text] for text in sorted(each.types) if text in TYPES]
            if not kinds:
                raise _NotDrawn(f"no type of {sorted(each.types)} is drawn")
            kind = bound.setdefault(each.typeStr, np.dtype("f4") if np.dtype("f4") in kinds and self.chance(0.7) else self.pick(kinds))
            stated = self.graph.leaves.get(name)
            if stated is not None:
                new[name] = Leaf(np.array(stated.value, kind), constant=True, stated=True)
            elif all(kind.kind == "i" for kind in kinds):
                new[name] = Leaf(self.integers(kind, near), self.chance(0.85))
            else:
                constant = self.chance(self.constants if self.graph.known or new else 0.2)
                new[name] = Leaf(self.elements(kind, self.shape(near), constant), constant)
            near.append(new[name].value)

    def draw_attributes(self, pattern: Any, declared: Any, inputs: Sequence[str], new: Mapping[str, Leaf], shared: Dict[str, Any]) -> Dict[str, Any]:
        drawn = {}
        near = [new[name].value if name in new else self.graph.known[name] for name in inputs if name]
        for name, each in pattern.attributes.items():
            if isinstance(each, patterns.AttrConstantPattern):
                drawn[name] = each._value
            elif each.name in self.attributes:
                drawn[name] = self.attributes[each.name]
            elif not (each.can_match_none and self.chance(0.4)) and name in declared.attributes:
                drawn[name] = self.attribute(declared.attributes[name], near)
            if each.name is not None and name in drawn:
                shared[each.name] = drawn[name]
        for name, each in declared.attributes.items():
            if name not in pattern.attributes and (each.required or pattern.allow_other_attributes and self.chance(0.2)):
                drawn[name] = self.attribute(each, near)
        return {name: value for name, value in drawn.items() if value is not None}

    def attribute(self, declared: Any, near: Sequence[Array]) -> Any:
        kind = str(declared.type).rpartition(".")[2].partition(":")[0]
        if kind == "INT":
            return int(self.pick([0, 1, 1, 2, -1 if "egative" in declared.description else 0, int(self.random.integers(17)), *self.whole]))
        if kind == "INTS":
            return self.integers(np.dtype("i8"), near).reshape(-1).tolist()
        if kind == "FLOAT":
            return float(self.pick([0.0, 0.5, 1.0, 2.0, 1e-5, *self.numbers]))
        if kind == "STRING":
            return self.pick([*re.findall(r"\b[A-Z_]{4,}\b", declared.description), *re.findall(r"[\"'`](\w+)[\"'`]", declared.description), *self.words])
        if kind == "TENSOR":
            return numpy_helper.from_array(self.elements(self.pick(list(TYPES.values())), (1,), True))
        return None

    def shape(self, near: Sequence[Array]) -> Tuple[int, ...]:
        """A shape that may fit those of other operands."""
        if near and self.chance(0.4):
            return tuple(max(size, 1) for size in (near[-1] if self.chance(0.6) else self.pick(near)).shape)
        rank = self.pick(near).ndim if near and self.chance(0.5) else int(self.random.integers(5))
        sizes = [size for value in near for size in value.shape if size] or list(SIZES)
        return tuple(int(self.pick(sizes) if self.chance(0.6) else self.pick([1, 1, *SIZES])) for _ in range(rank))

    def elements(self, kind: Any, shape: Sequence[int], constant: bool) -> Array:
        values = self.random.standard_normal(shape) * (2 if kind.kind == "f" else 4)
        if constant and self.chance(0.5):
            values = np.full(shape, float(self.pick([0, 1, *self.numbers])))
        elif constant and self.chance(0.3):
            values = np.abs(values)
        return np.array(values > 0 if kind.kind == "b" else np.abs(values) if kind.kind == "u" else values).astype(kind)

    def integers(self, kind: Any, near: Sequence[Array]) -> Array:
        return self.whole_numbers(near).astype(kind)

    def whole_numbers(self, near: Sequence[Array]) -> Array:
        """Integers that may be a shape, axes, bounds or indices of other operands."""
        known = [*near, *self.graph.known.values()]
        shapes = [list(value.shape) for value in (near if near and self.chance(0.7) else known)] or [[2, 3]]
        shape = list(self.pick(shapes))
        form = int(self.random.integers(8))
        if form == 0:
            return np.array(shape, "i8")
        if form == 1:  # merged, and maybe split again
            cut = sorted(self.random.integers(0, len(shape) + 1, 2))
            merged = [int(np.prod(shape[cut[0]:cut[1]]))] * int(cut[0] < cut[1])
            return np.array([*shape[:cut[0]], *merged, *([1] * self.chance(0.2)), *shape[cut[1]:]], "i8")
        if form == 2:
            return np.array(self.random.permutation(len(shape)), "i8")
        if form == 3 and shape:
            shape[int(self.random.integers(len(shape)))] = self.pick([-1, 0, 1])
            return np.array(shape, "i8")
        if form == 4 and shape:
            return np.arange(self.pick(shape)).reshape([(-1,), (-1, 1)][self.chance(0.5)])
        sizes = [size for each in shapes for size in each]
        few = [0, 0, 1, 1, 2, -1, *sizes, *(size // 2 for size in sizes), *self.whole, np.iinfo("i8").max]
        if form == 5:
            return np.array(self.pick(few), "i8")
        length = self.pick([1, 1, 1, 2, 3, max(len(shape), 1), max(2 * len(shape), 1), max(len(shape) - 2, 1), max(2 * len(shape) - 4, 1)])
        return np.array([self.pick(few)] * length if self.chance(0.4) else [self.pick(few) for _ in range(length)], "i8")

    def other_integers(self, value: Array, near: Sequence[Array]) -> Array:
        """Integers of which maybe all but one are as they were, or all are equal."""
        new = self.integers(value.dtype, near)
        if not value.size or not new.size or self.chance(0.4):
            return new
        value, number = np.array(value), new.reshape(-1)[int(self.random.integers(new.size))]
        if self.chance(0.4):
            return np.full_like(value, self.pick([0, number]))
        value.reshape(-1)[int(self.random.integers(value.size))] = number
        return value

    def changed(self, given: Instance) -> Optional[Instance]:
        """A copy with other constants or attributes, if it can be evaluated."""
        self.trials += 1
        self.graph = graph = copy.deepcopy(given)
        is_known = True  # as far as the search needs it
        for _ in range(self.pick([1, 1, 1, 2, 3])):
            free = [leaf for leaf in graph.leaves.values() if not leaf.stated]
            node = self.pick(graph.nodes)
            if free and self.chance(0.8):
                leaf = self.pick(free)
                near = [value for value in graph.known.values() if value is not leaf.value]
                if self.chance(0.2):
                    leaf.constant = not leaf.constant
                elif self.chance(0.5) and leaf.value.dtype.kind == "f":
                    leaf.value, leaf.constant = np.full_like(leaf.value, self.pick([0, 1, *self.numbers])), True
                elif self.chance(0.3) and leaf.value.dtype.kind == "f":
                    leaf.value = self.elements(leaf.value.dtype, leaf.value.shape, leaf.constant)
                else:
                    is_known = False
                    is_whole = leaf.value.dtype.kind == "i" and self.chance(0.8)
                    leaf.constant = leaf.constant or is_whole and self.chance(0.8)
                    leaf.value = self.other_integers(leaf.value, near) if is_whole else self.elements(leaf.value.dtype, self.shape(near), leaf.constant)
            else:
                is_known = False
                declared = schema(node.kind, node.domain, graph.opset)
                name = self.pick(sorted(node.attributes)) if node.attributes and self.chance(0.9) else ""
                if declared and name in declared.attributes:
                    value = self.attribute(declared.attributes[name], [graph.known[each] for each in node.inputs if each])
                    node.attributes[name] = node.attributes[name] if value is None else value
                else:
                    graph.opset = self.pick(OPSETS)
        with contextlib.suppress(Exception):
            if not is_known:
                graph.evaluate()
            return graph
        return None

    def smaller(self, given: Instance) -> Optional[Instance]:
        """A copy with a size reduced or an attribute left out."""
        graph = copy.deepcopy(given)
        sizes = sorted({size for leaf in graph.leaves.values() for size in leaf.value.shape if size > 1})
        nodes = [node for node in graph.nodes if node.attributes]
        if sizes and self.chance(0.6):
            size = self.pick(sizes)
            for leaf in graph.leaves.values():
                leaf.value = leaf.value[tuple(slice(size - 1 if each == size else None) for each in leaf.value.shape)]
        elif nodes:
            node = self.pick(nodes)
            del node.attributes[self.pick(sorted(node.attributes))]
        with contextlib.suppress(Exception):
            graph.evaluate()
            return graph
        return None

    def apply(self, model: onnx.ModelProto) -> "Applied":
        """What the rules do with the model."""
        self.trials += 1
        lines: Set[Tuple[str, int]] = set()
        reasons: List[str] = []

        def trace(frame: types.FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename not in self.files:
                return None
            if event == "line":
                lines.add((frame.f_code.co_filename, frame.f_lineno))
            return trace

        fail = onnxscript.rewriter.MatchResult.fail
        rewritten = ir.serde.deserialize_model(model)
        rules = onnxscript.rewriter.RewriteRuleSet(list(self.rules))

        def noted(result: Any, reason: str = "", *rest: Any) -> Any:
            if sys._getframe(1).f_code.co_filename in self.files:
                reasons.append(str(reason))
            return fail(result, reason, *rest)

        error = after = None
        try:
            with mock.patch.object(onnxscript.rewriter.MatchResult, "fail", noted):
                sys.settrace(trace)
                fired = rules.apply_to_model(rewritten) > 0
                sys.settrace(None)
            if fired:
                for each in (passes.RemoveUnusedNodesPass(), passes.RemoveUnusedFunctionsPass(), passes.RemoveUnusedOpsetsPass()):
                    each(rewritten)
                after = ir.serde.serialize_model(rewritten)
        except Exception as problem:
            error = f"{type(problem).__name__}: {brief(problem.__cause__ or problem)}"
        finally:
            sys.settrace(None)
        if after is None:
            self.problems[len(model.graph.node), f"refused: {reasons[-1] if reasons else 'by the check'}"] += 1
        return Applied(after, error, frozenset(lines))


@dataclass
class Applied:
    after: Optional[onnx.ModelProto]
    error: Optional[str]
    lines: FrozenSet[Tuple[str, int]]


class _NotDrawn(Exception):
    """A node that was not run at any draw."""
