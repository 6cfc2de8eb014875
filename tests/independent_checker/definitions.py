"""Reads the definition language (docs/definitions.md) into tuples.

Index expressions: ("number", n), ("name", s), ("pack", s), ("element", s, e), ("choice", parameter, value, e, e),
("product", item), ("offset", pack), (operation, e, e). Items of lists: ("single", e) or ("list", pack, change,
parameter, e). Scalars: ("number", Fraction), ("read", tensor, items), ("reduce", kind, bindings, comparisons, scalar),
("apply", function, scalars), ("case", comparisons, scalar, scalar), ("over", scalar, e), (operation, scalar, scalar).
A comparison is (e, relation, e), a binding (name, is a pack, item)."""

import pathlib
from dataclasses import dataclass, field
from fractions import Fraction

from functions import ARITY, Function
from polynomials import CheckError
from tokens import Tokens

RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
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
    kept, depth, is_mapping = [], 0, False
    for line in text.splitlines():
        line = line.split("#")[0]
        is_mapping = depth > 0 or line.strip().startswith("onnx ")
        if is_mapping:
            depth += line.count("{") - line.count("}")
        else:
            kept.append(line)
    return "\n".join(kept)


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
        self.expect("if")
        parameter = self.name()
        self.expect("=")
        return parameter, self.next()

    def index_sum(self):
        return self.left_associative(("+", "-"), self.index_product)

    def index_product(self):
        return self.left_associative(("*", "/", "//", "%"), self.index_factor)

    def index_factor(self):
        if self.peek().isdigit():
            return "number", int(self.next())
        if self.accept("("):
            value = self.index()
            self.expect(")")
            return value
        if self.accept("-"):
            return "-", ("number", 0), self.index_factor()
        name = self.name()
        if name in ("min", "max") and self.accept("("):
            return (name, *self.list_until(")", self.index))
        if name == "product" and self.accept("("):
            item = self.item()
            self.expect(")")
            return "product", item
        if name == "offset" and self.accept("("):
            pack = self.name()
            self.expect("...")
            self.expect(")")
            return "offset", pack
        if self.accept("..."):
            return "pack", name
        if self.accept("["):
            position = self.index()
            self.expect("]")
            return "element", name, position
        return "name", name

    def comparison(self):
        left = self.index()
        relation = self.next()
        if relation not in RELATIONS:
            self.fail("a relation")
        right = self.index()
        return (right, {">": "<", ">=": "<="}[relation], left) if relation[0] == ">" else (left, relation, right)

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
        name, is_pack = self.name(), self.accept("...")
        self.expect("<")
        return name, is_pack, self.item()

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
            value = self.scalar()
            self.expect(")")
            return value
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
        self.arguments = self.list_until(")", self.name)
        self.expect("=")
        made = self.functions[name] = Function(name, len(self.arguments), self.formula())
        while self.accept("law"):
            text = ""
            while self.peek() not in ("", "law", "function", "operator", "include"):
                text += self.next()
            made.laws.add(law_name(name, self.arguments, text))

    def formula(self):
        return self.left_associative(("+", "-"), lambda: self.left_associative(("*", "/"), self.formula_factor))

    def formula_factor(self):
        if self.accept("-"):
            return "-", ("number", Fraction(0)), self.formula_factor()
        if self.accept("("):
            value = self.formula()
            self.expect(")")
            return value
        if self.peek()[:1].isdigit():
            return "number", Fraction(self.next())
        name = self.name()
        if name in self.arguments:
            return "argument", self.arguments.index(name)
        self.expect("(")
        parts = self.list_until(")", self.formula)
        if ARITY.get(name) != len(parts):
            raise CheckError(f"'{name}' is no function of {len(parts)} numbers")
        return (name, *parts)

    # Operators

    def operator(self):
        op = Operator(self.name())
        self.operators[op.name] = op
        self.expect("(")
        while self.peek() not in (")", ";"):
            op.inputs.append(self.input())
            if not self.accept(","):
                break
        if self.accept(";"):
            self.chain(",", lambda: self.parameter(op))
        self.expect(")")
        if self.accept("is"):
            op.composite = self.call()
        while self.peek() and self.peek() not in ("operator", "function", "include"):
            self.clause(op)

    def input(self):
        name = self.name()
        self.expect("[")
        dims = self.list_until("]", self.dimension)
        if self.accept("of"):
            self.name()
        return name, dims

    def dimension(self):
        if self.peek().isdigit():
            return int(self.next())
        name = self.name()
        if not self.accept("..."):
            return name
        return name, self.name() if self.accept("by") else None

    def parameter(self, op: Operator):
        name, is_pack, pack = self.name(), self.accept("..."), None
        if self.accept("["):
            pack = self.name()
            self.expect("...")
            self.expect("]")
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
        if is_pack != (op.parameters[name][0] == "sizes"):
            raise CheckError(f"'{name}' has the wrong kind")

    def call(self):
        name = self.name()
        if not self.accept("("):
            return "input", name
        arguments, parameters = [], {}
        while self.peek() not in (")", ";"):
            arguments.append(self.call())
            if not self.accept(","):
                break
        if self.accept(";"):
            for key, value in self.chain(",", lambda: (self.name(), self.expect("="), self.index())[::2]):
                parameters[key] = value
        self.expect(")")
        return "call", name, arguments, parameters

    def clause(self, op: Operator):
        word = self.next()
        if word == "commutative":
            op.commutative = True
        elif word == "where":
            op.clauses += self.chain(",", self.condition)
        elif word == "let":
            op.clauses += self.chain(",", self.let)
        else:
            is_intermediate = word == "tensor"
            name = self.name() if is_intermediate else word
            (op.tensors if is_intermediate else op.outputs).append(self.tensor(op, name))

    def condition(self):
        if self.peek(1) == "=" and self.peek(3) == "except":
            left, _, right, _, axis = (self.next() for _ in range(5))
            return "except", left, right, axis
        comparison = self.comparison()
        return "where", comparison, self.predicate() if self.peek() == "if" else None

    def let(self):
        name, is_pack = self.name(), self.accept("...")
        self.expect("=")
        return "let", name, is_pack, self.item()

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
    if text not in forms:
        raise CheckError(f"'{text}' is no form of a law")
    return forms[text]


class Library:
    """All operators and functions of a folder of definitions."""

    def __init__(self, folder: pathlib.Path):
        self.operators, self.functions = {}, {}
        self.read(pathlib.Path(folder))

    def read(self, folder: pathlib.Path):
        for path in sorted(folder.glob("*.op")):
            reader = DefinitionReader(path.read_text(encoding="utf-8"))
            for include in reader.includes:
                self.read(path.parent / include)
            self.operators |= reader.operators
            self.functions |= reader.functions

    def operator(self, name: str) -> Operator:
        if name not in self.operators:
            raise CheckError(f"unknown operator '{name}'")
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
