"""Rewrite rules for onnxscript's rewriter, written by `rulemill rules export --format onnxscript`.

    import onnx, MODULE
    model = onnx.load("model.onnx")
    faster = MODULE.rewrite_model(model)   # or MODULE.rule_set().apply_to_model(an onnx_ir model)

A rule applies where the shapes of its inputs are known up to open sizes (`batch`), all tensors of real numbers have one
float type, and its conditions hold. Sizes are taken to be at least 1. Where a rule would compute with an open size, it
does not apply.
"""

import itertools
import math

import numpy
import onnx_ir as ir
import onnxscript.rewriter
from onnxscript.rewriter import pattern

FLOATS = {ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE}
TYPES = {"bool": {ir.DataType.BOOL}, "int": {ir.DataType.INT32, ir.DataType.INT64}}
MIN_OPSET = 13
END = 0x7FFFFFFF


class Unknown(Exception):
    """An expression has an undetermined size, or computes with an open one."""


class Expression:
    """An integer over the sizes of a rule. `value` evaluates it; `line` reads it as a·unknown + b."""

    def __init__(self, operator, *operands):
        self.operator, self.operands = operator, operands

    def __add__(self, other):
        return Expression("+", self, other)

    def __sub__(self, other):
        return Expression("-", self, other)

    def __mul__(self, other):
        return Expression("*", self, other)

    def __rmul__(self, other):
        return Expression("*", other, self)

    def __radd__(self, other):
        return Expression("+", other, self)

    def __rsub__(self, other):
        return Expression("-", other, self)

    def __neg__(self):
        return Expression("*", -1, self)


class Size(Expression):
    def __init__(self, name):
        super().__init__("size")
        self.name = name


def sizes(names):
    found = [Size(name) for name in names.split()]
    return found[0] if len(found) == 1 else found


def div(a, b):
    return Expression("//", a, b)


def smaller(a, b):
    return Expression("min", a, b)


def larger(a, b):
    return Expression("max", a, b)


def names_in(expression):
    if isinstance(expression, int):
        return set()
    if isinstance(expression, Size):
        return {expression.name}
    return set().union(*(names_in(operand) for operand in expression.operands))


def line(expression, known, unknown=None):
    """(a, b) with expression = a·unknown + b; a = 0 without an unknown size. Open sizes are not computed with."""
    if isinstance(expression, int):
        return 0, expression
    if isinstance(expression, Size):
        if expression.name == unknown:
            return 1, 0
        if not isinstance(known.get(expression.name), int):
            raise Unknown(expression.name)
        return 0, known[expression.name]
    (a, b), (c, d) = (line(operand, known, unknown) for operand in expression.operands)
    if expression.operator == "+":
        return a + c, b + d
    if expression.operator == "-":
        return a - c, b - d
    if expression.operator == "*" and (a == 0 or c == 0):
        return a * d + b * c, b * d
    if a or c or (expression.operator == "//" and d == 0):
        raise Unknown(unknown)
    return 0, {"//": lambda: b // d, "min": lambda: min(b, d), "max": lambda: max(b, d)}[expression.operator]()


def evaluate(expression, known):
    """The value: a number or, for a size by itself, an open one."""
    if isinstance(expression, Size) and expression.name in known:
        return known[expression.name]
    return line(expression, known)[1]


def solve(equations, known):
    """Determines sizes from pairs (expression, value). False if an equation does not hold, or is not shown to hold."""
    waiting = list(equations)
    while waiting:
        left = []
        for expression, value in waiting:
            missing = names_in(expression) - set(known)
            try:
                if isinstance(expression, Size) and missing:
                    known[expression.name] = value
                elif not missing:
                    if evaluate(expression, known) != value:
                        return False
                elif len(missing) == 1 and isinstance(value, int):
                    a, b = line(expression, known, *missing)
                    if a == 0 or (value - b) % a:
                        return False
                    known[missing.pop()] = (value - b) // a
                else:
                    left.append((expression, value))
            except Unknown:
                return False
        if len(left) == len(waiting):
            return False
        waiting = left
    return all(size >= 1 for size in known.values() if isinstance(size, int))


class Open:
    """A dimension without a number. Two are equal if they have one name; without a name, none equals another."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Open) and self.name is not None and self.name == other.name

    __hash__ = None


def dimensions(value):
    if value is None or value.shape is None:
        return None
    return [dim if isinstance(dim, int) else Open(dim.value) for dim in value.shape]


class Value:
    """The value that an attribute or a constant input must have."""

    def __init__(self, expected, default=None, optional=False, wrap=None, clamp=None, reshape=False):
        self.expected, self.default, self.optional = expected, default, optional
        self.wrap, self.clamp, self.reshape = wrap, clamp, reshape

    def equations(self, found, known, first):
        """The equations of sizes that `found` implies; None if it differs."""
        if isinstance(self.expected, str) or isinstance(found, str):
            return [] if found == self.expected else None
        if isinstance(self.expected, list) != isinstance(found, list):
            return None
        expected, found = (each if isinstance(each, list) else [each] for each in (self.expected, found))
        if len(expected) != len(found) or not all(isinstance(number, (int, float)) for number in found):
            return None
        if isinstance(self.expected, float):
            return [] if math.isclose(found[0], self.expected, rel_tol=1e-6) else None
        if any(not math.isfinite(number) or number != int(number) for number in found):
            return None
        found = [self.resolve(int(number), known) for number in found]
        if self.reshape:
            found = self.resolve_reshape(found, first)
        return None if found is None else list(zip(expected, found))

    def resolve(self, number, known):
        """Negative numbers count from the end."""
        if self.wrap is None and self.clamp is None:
            return number
        if self.clamp is not None and number >= END:
            return evaluate(self.clamp, known)
        if number < 0:
            number += line(self.wrap if self.wrap is not None else self.clamp, known)[1]
        if self.clamp is None:
            return number
        end = evaluate(self.clamp, known)
        return min(max(number, 0), end) if isinstance(end, int) else max(number, 0)

    def resolve_reshape(self, found, first):
        """0 is the input's dimension, -1 what remains; unknown if an open dimension is not copied."""
        found = [first[d] if dim == 0 and d < len(first) else dim for d, dim in enumerate(found)]
        rest = [d for d, dim in enumerate(found) if dim == -1]
        if not rest:
            return found
        source, known = list(first), [dim for dim in found if dim != -1]
        for dim in list(known):
            if dim in source:
                source.remove(dim)
                known.remove(dim)
        if len(rest) > 1 or any(isinstance(dim, Open) for dim in known):
            return None
        if len(source) == 1 and not known:
            found[rest[0]] = source[0]
        elif all(isinstance(dim, int) for dim in source) and math.prod(known) > 0:
            found[rest[0]] = math.prod(source) // math.prod(known)
        else:
            return None
        return found


ANY = Value(None, optional=True)


class Form:
    """The attributes and constant inputs of a node, for models of opset `since` to `until` - 1."""

    def __init__(self, attributes=(), inputs=(), since=1, until=1 << 20):
        self.attributes, self.inputs, self.since, self.until = dict(attributes), dict(inputs), since, until

    def equations(self, node, known, opset):
        if not self.since <= opset < self.until or not set(node.attributes) <= set(self.attributes):
            return None
        first = dimensions(node.inputs[0]) if node.inputs else []
        result = []
        for name, value in self.attributes.items():
            if value is ANY:
                continue
            found = node.attributes.get(name)
            if found is None:
                expected = value.expected if isinstance(value.expected, list) else [value.expected]
                if value.optional:
                    continue
                if value.default is None:
                    return None
                if isinstance(value.expected, (str, float)):
                    equations = [] if value.expected == value.default else None
                else:
                    equations = [(each, value.resolve(value.default, known)) for each in expected]
            else:
                found = list(found.value) if isinstance(found.value, (list, tuple)) else found.value
                equations = value.equations(found, known, first)
            if equations is None:
                return None
            result += equations
        for number, value in self.inputs.items():
            constant = ir.convenience.get_const_tensor(node.inputs[number])
            equations = None if constant is None or constant.size > 1024 else value.equations(
                constant.numpy().tolist(), known, first)
            if equations is None:
                return None
            result += equations
        return result


class Rule(pattern.RewriteRuleClassBase):
    """A rule source => target. `variables` are the types of its variables: one or several alternatives."""

    variables, types, nodes, conditions, outputs, since, until = [], {}, {}, [], 1, MIN_OPSET, 1 << 20

    def check(self, context, **values):
        result = onnxscript.rewriter.MatchResult()
        opset = context.model.graph.opset_imports.get("", 0)
        if not self.since <= opset < self.until:
            return result.fail(f"opset {opset}")
        for name in self.nodes:  # each output is a value of its own, so that a rule does not split what is one
            if values[name].producer() in [values[other].producer() for other in self.nodes if other != name]:
                return result.fail("two nodes of the rule are one in the model")
        if self.outputs > 1 and self.has_cycle(context, values):
            return result.fail("an input depends on an output")
        if not self.has_types(values):
            return result.fail("types")
        for shapes in self.variables:
            for forms in itertools.product(*self.nodes.values()):
                try:
                    known = self.match(shapes, forms, values, opset)
                except Unknown:
                    known = None
                if known is not None:
                    self.known = known
                    return result
        return result.fail("sizes, attributes or conditions")

    def has_cycle(self, context, values):
        """Whether the value of a variable is computed from an output of the match."""
        matched, seen = set(context.nodes), set()
        waiting = [values[name].producer() for name in self.variables[0]]
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            if node in matched:
                return True
            seen.add(node)
            waiting += [each.producer() for each in node.inputs if each is not None]
            for attribute in node.attributes.values():
                graphs = {ir.AttributeType.GRAPH: [attribute.value], ir.AttributeType.GRAPHS: attribute.value}
                for graph in graphs.get(attribute.type, []):
                    waiting += [each.producer() for inner in graph.all_nodes() for each in inner.inputs if each is not None]
        return False

    def has_types(self, values):
        types = {name: values[name].dtype for name in self.variables[0]}
        real = {type for name, type in types.items() if name not in self.types}
        return len(real) <= 1 and real <= FLOATS and all(types[name] in TYPES[self.types[name]] for name in self.types)

    def match(self, shapes, forms, values, opset):
        """The sizes at which the values and nodes fit; None if they do not."""
        known, equations = {}, []
        for name, shape in shapes.items():
            found = dimensions(values[name])
            if found is None or len(found) != len(shape):
                return None
            equations += zip(shape, found)
        numbers = [pair for pair in equations if not isinstance(pair[0], Expression) or isinstance(pair[0], Size)]
        if not solve(numbers, known):
            return None
        for (name, alternatives), form in zip(self.nodes.items(), forms):
            found = form.equations(values[name].producer(), known, opset)
            if found is None:
                return None
            equations += found
        if not solve(equations, known):
            return None
        for relation, left, right in self.conditions:
            a, b = evaluate(left, known), evaluate(right, known)
            if isinstance(a, Open) or isinstance(b, Open):
                if relation not in ("=", "<=") or a != b:
                    return None
            elif not {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b}[relation]:
                return None
        return known

    def rewrite(self, op, **values):
        self.op, self.values = op, values
        try:
            return self.target(op, *[values[name] for name in self.variables[0]])
        except Unknown:
            return None

    def number(self, expression):
        return line(expression, self.known)[1]

    def numbers(self, *expressions):
        return [self.number(each) for each in expressions]

    def integer_input(self, expression):
        return self.op.Constant(value_int=self.number(expression))

    def integers_input(self, *expressions):
        return self.op.Constant(value_ints=self.numbers(*expressions))

    def floats_input(self, *expressions):
        return self.op.Constant(value_floats=[float(each) for each in self.numbers(*expressions)])

    def real_input(self, number):
        """A number of the model's float type."""
        type = next(self.values[name].dtype for name in self.variables[0] if name not in self.types)
        return self.op.Constant(value=ir.tensor(numpy.array(number, type.numpy()), dtype=type))

    def shape_input(self, shape, first):
        """A shape for Reshape: 0 copies an open dimension of its input, one more is inferred."""
        result = []
        for d, each in enumerate(shape):
            try:
                result.append(self.number(each))
            except Unknown:
                is_copy = d < len(first) and evaluate(each, self.known) == evaluate(first[d], self.known)
                result.append(0 if is_copy else -1)
        if result.count(-1) > 1:
            raise Unknown("shape")
        return self.op.Constant(value_ints=result)


def rule_set():
    return pattern.RewriteRuleSet([rule.rule(name=rule.__name__) for rule in RULES], commute=True)


def rewrite_model(model, rounds=20):
    """Returns the rewritten ONNX model, after at most `rounds` passes of all rules. Shapes are inferred between them."""
    rules = rule_set()
    for _ in range(rounds):
        graph = ir.serde.deserialize_model(onnxscript.rewriter.onnx.shape_inference.infer_shapes(model))
        if rules.apply_to_model(graph) == 0:
            break
        graph.graph.sort()
        ir.passes.common.RemoveUnusedNodesPass()(graph)
        model = ir.serde.serialize_model(graph)
    return model
