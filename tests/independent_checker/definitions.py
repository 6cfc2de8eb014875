"""Reads the definition language (docs/definitions.md) into tuples.

Index expressions: ("number", n), ("name", s), ("pack", s), ("element", s, e), ("choice", parameter, value, e, e),
("product", item), ("offset", pack), (operation, e, e). Items of lists: ("single", e) or ("list", pack, change,
parameter, e). Scalars: ("number", Fraction), ("read", tensor, items), ("reduce", kind, bindings, comparisons, scalar),
("apply", function, scalars), ("case", comparisons, scalar, scalar), ("over", scalar, e), (operation, scalar, scalar).
A comparison is (e, relation, e), a binding (name, is a pack, item)."""

import pathlib
import re
from dataclasses import dataclass, field
from fractions import Fraction

from functions import BINARY, OPERATIONS, Function, exact_number, monotonicity
from law_values import counterexample
from laws import Law, Laws, operation
from polynomials import require_that
from tokens import Tokens

CHANGES = {"only": "keep", "without": "remove", "at": "scatter"}


@dataclass
class Operator:
    """inputs: (name, dimensions), a dimension is a number, a name, or (pack, spread parameter or None). parameters:
    name to (kind, default, values or pack). clauses: ("where", comparison, predicate), ("except", pack, pack, axis),
    ("let", name, is a pack, item) in order. tensors: (name, bindings, scalar)."""
    name: str
    inputs: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    clauses: list = field(default_factory=list)
    tensors: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    commutative: bool = False
    positive: bool = False
    composite: tuple = None

    @property
    def packs(self) -> set:
        return {dim[0] for _, dims in self.inputs for dim in dims if isinstance(dim, tuple)}

    @property
    def size_parameters(self) -> list:
        return [(name, kind) for name, (kind, *_) in self.parameters.items() if kind in ("size", "sizes")]


def without_mappings(text: str) -> str:
    """Removes comments and the ONNX mappings: lines from `onnx` to the closing brace."""
    return re.sub(r"^\s*onnx [^{\n]*(\{[^}]*\}.*)?", "", re.sub("#.*", "", text), flags=re.MULTILINE)


class DefinitionReader(Tokens):
    def __init__(self, text: str):
        super().__init__(without_mappings(text))
        self.operators, self.functions, self.includes = {}, {}, []
        while self.peek():
            kind = self.next()
            if kind == "include":
                self.includes.append(self.next().strip('"'))
            elif kind == "function":
                self.function()
            elif kind == "operator":
                self.operator()
            else:
                self.fail("operator, function or include")

    # Index expressions

    def index(self):
        value = self.index_sum()
        if not (self.peek() == "if" and self.peek(2) == "=" and self.peek(4) == "else"):
            return value
        predicate = self.predicate()
        self.expect("else")
        return ("choice", *predicate, value, self.index())

    def predicate(self):
        return (self.expect("if"), self.name(), self.expect("="), self.next())[1::2]

    def index_sum(self):
        return self.left_associative(("+", "-"), self.index_product)

    def index_product(self):
        return self.left_associative(("*", "/", "//", "%"), self.index_factor)

    def index_factor(self):
        if self.peek().isdigit():
            return "number", int(self.next())
        if self.accept("("):
            return self.until(")", self.index)
        if self.accept("-"):
            return "-", ("number", 0), self.index_factor()
        name = self.name()
        if name in ("min", "max") and self.accept("("):
            return (name, *self.list_until(")", self.index))
        if name == "product" and self.accept("("):
            return "product", self.until(")", self.item)
        if name == "offset" and self.accept("("):
            return "offset", self.until(")", lambda: (self.name(), self.expect("..."))[0])
        if self.accept("..."):
            return "pack", name
        return ("element", name, self.until("]", self.index)) if self.accept("[") else ("name", name)

    def comparison(self):
        return self.relation(self.index)

    def item(self):
        is_list = self.peek(1) == "..." and self.peek(2) not in ("+", "-", "*", "/", "//", "%", "if")
        if not is_list:
            return "single", self.index()
        pack = self.name()
        self.expect("...")
        if self.accept("["):
            parameter = self.name()
            self.expect("]")
            return "list", pack, "gather", parameter, None
        if self.accept("of"):
            return "list", pack, "unravel", None, self.index()
        if self.peek() in CHANGES:
            return "list", pack, CHANGES[self.next()], self.name(), None
        if self.peek() in ("with", "insert"):
            change, parameter = self.next(), self.name()
            self.expect(":")
            return "list", pack, change, parameter, self.index()
        return "list", pack, "none", None, None

    def binding(self):
        return self.name(), self.accept("..."), (self.expect("<"), self.item())[1]

    # Scalar expressions

    def scalar(self):
        value = self.left_associative(("+", "-"), self.scalar_product)
        if not self.accept("if"):
            return value
        comparisons = self.chain("and", self.comparison)
        self.expect("else")
        return "case", comparisons, value, self.scalar()

    def scalar_product(self):
        value = self.scalar_factor()
        while self.peek() in ("*", "/"):
            value = ("*", value, self.scalar_factor()) if self.next() == "*" else ("over", value, self.index_factor())
        return value

    def scalar_factor(self):
        if self.peek()[:1].isdigit():
            return "number", Fraction(self.next())
        if self.accept("-"):
            return "-", ("number", Fraction(0)), self.scalar_factor()
        if self.accept("("):
            return self.until(")", self.scalar)
        name = self.name()
        if self.accept("["):
            return "read", name, self.list_until("]", self.item)
        self.expect("(")
        if name in ("sum", "max") and (self.peek(1) == "<" or (self.peek(1), self.peek(2)) == ("...", "<")):
            bindings = self.chain(",", self.binding)
            comparisons = self.chain("and", self.comparison) if name == "max" and self.accept("where") else []
            self.expect(")")
            return "reduce", name, bindings, comparisons, self.scalar_product()
        return "apply", name, self.list_until(")", self.scalar)

    # Functions

    def function(self):
        name = self.name()
        self.expect("(")
        self.arguments = arguments = self.list_until(")", self.name)
        self.expect("=")
        made = self.functions[name] = Function(name, len(self.arguments), self.formula())
        while self.accept("law"):
            text = ""
            if self.peek(1) == ":":
                made.declared.append(self.equation())
                continue
            while self.peek() not in ("", "law", "function", "operator", "include"):
                text += self.next()
            made.laws.add(law_name(name, arguments, text))

    def equation(self):
        """NAME ':' left '=' right ['when' a '>' 0 {',' b '>' 0}], as formulas in s, t, r and c."""
        self.arguments, begin = ["s", "t", "r", "c"], self.at
        name, _, left, _, right = self.name(), self.expect(":"), self.formula(), self.expect("="), self.formula()
        positive = []
        if self.accept("when"):
            positive = self.chain(",", lambda: (self.formula(), self.expect(">"), self.expect("0"))[0])
        return name, "".join(self.tokens[begin:self.at]), left, right, positive

    def formula(self):
        return self.left_associative(("+", "-"), lambda: self.left_associative(("*", "/"), self.formula_factor))

    def formula_factor(self):
        if self.accept("-"):
            return "-", ("number", Fraction(0)), self.formula_factor()
        if self.accept("("):
            return self.until(")", self.formula)
        if self.peek()[:1].isdigit():
            return "number", exact_number(self.next())
        name = self.name()
        if name in self.arguments:
            return "argument", self.arguments.index(name)
        self.expect("(")
        parts = self.list_until(")", self.formula)
        has_arity = name in OPERATIONS and len(parts) == (2 if name in BINARY else 1)
        require_that(has_arity, f"'{name}' is no function of {len(parts)} numbers")
        return (name, *parts)

    # Operators

    def operator(self):
        op = Operator(self.name())
        self.operators[op.name] = op
        self.expect("(")
        op.inputs, _ = self.argument_list(self.input, lambda: self.parameter(op))
        if self.accept("is"):
            op.composite = self.call()
        while self.peek() and self.peek() not in ("operator", "function", "include"):
            self.clause(op)

    def input(self):
        name, _, dims = self.name(), self.expect("["), self.list_until("]", self.dimension)
        if self.accept("of"):
            self.name()
        return name, dims

    def dimension(self):
        if self.peek().isdigit():
            return int(self.next())
        name = self.name()
        return (name, self.name() if self.accept("by") else None) if self.accept("...") else name

    def parameter(self, op: Operator):
        name, is_pack, pack = self.name(), self.accept("..."), None
        if self.accept("["):
            pack = self.until("]", lambda: (self.name(), self.expect("..."))[0])
        if self.accept("<"):
            self.expect("rank")
            op.parameters[name] = ("axis", None, None)
        elif self.accept("in"):
            self.expect("{")
            values = [int(v) if v.isdigit() else v for v in self.list_until("}", self.next)]
            op.parameters[name] = ("int" if isinstance(values[0], int) else "enum", values[0], values)
        else:
            self.expect(":")
            kind = self.name()
            if kind == "new":
                self.expect("axes")
                kind = "new axes"
            kind = "ints" if pack else kind
            op.parameters[name] = (kind, () if kind == "spread" else None, pack)
        if self.accept("="):
            kind, _, rest = op.parameters[name]
            default = self.next()
            op.parameters[name] = (kind, int(default) if default.isdigit() else default, rest)
        require_that(is_pack == (op.parameters[name][0] == "sizes"), f"'{name}' has the wrong kind")

    def call(self):
        name = self.name()
        if not self.accept("("):
            return "input", name
        arguments, parameters = self.argument_list(self.call, lambda: (self.name(), self.expect("="), self.index())[::2])
        return "call", name, arguments, dict(parameters)

    def clause(self, op: Operator):
        word = self.next()
        if word == "commutative":
            op.commutative = True
        elif word == "where":
            op.clauses += self.chain(",", self.condition)
        elif word == "let":
            op.clauses += self.chain(",", self.let)
        else:
            op.tensors.append(self.tensor(op, self.name())) if word == "tensor" else op.outputs.append(self.tensor(op, word))

    def condition(self):
        if self.peek(1) == "=" and self.peek(3) == "except":
            left, _, right, _, axis = (self.next() for _ in range(5))
            return "except", left, right, axis
        comparison = self.comparison()
        return "where", comparison, self.predicate() if self.peek() == "if" else None

    def let(self):
        return "let", self.name(), self.accept("..."), (self.expect("="), self.item())[1]

    def tensor(self, op: Operator, name: str):
        self.expect("[")
        bindings = self.list_until("]", self.binding)
        if self.accept("of"):
            op.positive |= self.name() == "positive"
        self.expect("=")
        return name, bindings, self.scalar()


def law_name(f: str, arguments: list, text: str) -> str:
    t = arguments[-1]
    s = arguments[0] if len(arguments) == 2 else "t" if t == "s" else "s"
    forms = {f"{f}({s},{t})={f}({t},{s})": "commutative", f"{f}(c*{s},c*{t})=c*{f}({s},{t})": "homogeneous"}
    if len(arguments) == 1:
        forms = {f"{f}(0)=0": "zero", f"{f}({f}({t}))={f}({t})": "idempotent",
                 f"{f}({s}+{t})={f}({s})*{f}({t})": "exponential", f"{f}(c*{t})=c*{f}({t})": "homogeneous",
                 f"{f}(c*{t})={f}({t})/c": "reciprocal", f"max({f}({s}),{f}({t}))={f}(max({s},{t}))": "monotone",
                 f"{f}(-{t})=-{f}({t})": "odd", f"{f}(-{t})={f}({t})": "even"}
    require_that(text in forms, f"'{text}' is no form of a law")
    return forms[text]


class Library:
    """All operators and functions of a folder of definitions."""

    def __init__(self, folder: pathlib.Path):
        self.operators, self.functions = {}, {}
        self.read(pathlib.Path(folder))
        for function in self.functions.values():
            function.representative = next(name for name, f in self.functions.items()
                                           if (f.arity, f.formula) == (function.arity, function.formula))
        self.laws, self.tested = Laws(self.functions).found, set()

    def law(self, name: str) -> Law:
        require_that(name in self.laws, "there is no such law")
        if name not in self.tested:
            point = counterexample(self.laws[name], self.functions)
            require_that(point is None, f"the law {name} is false at {point}")
            self.tested.add(name)
        return self.laws[name]

    def operation(self, op: str) -> str | None:
        return operation(self.functions, op)

    def monotonicity(self, name: str) -> list[int]:
        """For each argument: 1 if the function does not decrease with it, -1 if it does not increase, 0 if this is not known."""
        f = self.functions[name]
        found = [{1} if "monotone" in f.laws else monotonicity(f.formula, i) for i in range(f.arity)]
        return [max(directions, default=0) for directions in found]

    def read(self, folder: pathlib.Path):
        for path in sorted(folder.glob("*.op")):
            reader = DefinitionReader(path.read_text(encoding="utf-8"))
            for include in reader.includes:
                self.read(path.parent / include)
            self.operators |= reader.operators
            self.functions |= reader.functions

    def operator(self, name: str) -> Operator:
        require_that(name in self.operators, f"unknown operator '{name}'")
        return self.operators[name]

    def is_total(self, name: str, parameters: dict) -> bool:
        """Whether the operator applies total functions only."""
        op, names = self.operator(name), set()

        def visit(e):
            if isinstance(e, tuple) and e[:1] == ("apply",):
                names.add(parameters.get(e[1], e[1]))
            elif isinstance(e, tuple) and e[:1] == ("call",):
                names.add(None)  # a composite: not decided here
            for part in e if isinstance(e, (tuple, list)) else ():
                visit(part)
        visit([op.tensors, op.outputs, op.composite])
        return all(n == "none" or n in self.functions and self.functions[n].is_total for n in names)

    @property
    def positive_operator(self) -> str:
        return next(name for name, op in self.operators.items() if op.positive)
