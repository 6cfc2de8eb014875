"""Reads definitions (docs/definitions.md): operators, functions and their laws."""

import pathlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from functions import OPERATIONS, Function, subtrees
from laws import FORMS, EquationReader, Law, Laws, counterexample, operation
from polynomials import is_nonnegative, require_that


WHOLE, SINGLE, ABSENT = 0, 1, 2  # items of a spread


class Symbolic(NamedTuple):
    """The value of an integer parameter that is a size of the node, or a list of them: number = size − 1 + least."""
    least: int


def is_list(value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Symbolic)


class Parameter(NamedTuple):
    """`kind`: int, ints (one for each dimension of `pack`), enum, axis, axes, new axes, permutation, spread, size, sizes."""
    kind: str
    default: object
    values: list
    pack: str | None

    def allows(self, value, rank: int) -> bool:
        kind = self.kind
        if self.values:
            return value in self.values
        if isinstance(value, Symbolic):
            return kind in ("int", "ints")
        if kind in ("int", "axis"):
            return isinstance(value, int) and 0 <= value and (kind == "int" or value < rank)
        if not is_list(value) or not all(v >= 0 for v in value):
            return False
        return {"ints": True, "permutation": sorted(value) == list(range(rank)), "spread": set(value) <= {WHOLE, SINGLE, ABSENT},
                "axes": all(v < rank for v in value) and len(set(value)) == len(value) > 0,
                "new axes": len(set(value)) == len(value) > 0}[kind]


def packs_of(dims: list) -> dict:
    """The packs among the dimensions of an input, with their spread parameters."""
    return dict(dim for dim in dims if isinstance(dim, tuple))


@dataclass
class Operator:
    """inputs: (name, dimensions): a number, a name, or (pack, spread parameter or None). clauses: ("where", comparison, predicate),
    ("except", pack, pack, axis), ("let", name, is a pack, tree) in order. tensors and outputs: bindings and tree, by name."""
    name: str
    inputs: list = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    clauses: list = field(default_factory=list)
    tensors: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    commutative: bool = False
    positive: bool = False
    composite: tuple = None

    @property
    def packs(self) -> set:
        return {pack for _, dims in self.inputs for pack in packs_of(dims)}

    @cached_property
    def calls(self) -> set:
        """The names of functions, and parameters in place of them, that its own definition applies."""
        return {e[1] for e in subtrees([self.tensors, self.outputs]) if e[0] == "call"}

    def named(self, *kinds) -> list[str]:
        return [name for name, parameter in self.parameters.items() if parameter.kind in kinds]

    def pack_length(self, pack: str, ranks: list[int]) -> int:
        return next(rank - len(dims) + 1 for (_, dims), rank in zip(self.inputs, ranks) if pack in packs_of(dims))

    def complete(self, given: dict, ranks: list[int]) -> tuple:
        """(name, value) of all parameters but sizes, sorted, with defaults. `ranks`: of the arguments."""
        result, others = {}, given.keys() - self.parameters.keys()
        require_that(not others, f"{self.name} has no parameter {', '.join(others)}")
        for name, parameter in self.parameters.items():
            if parameter.kind in ("size", "sizes"):
                continue
            value = given.get(name, parameter.default)
            if parameter.kind == "ints" and isinstance(value, int):
                value = (value,) * self.pack_length(parameter.pack, ranks)
            require_that(parameter.allows(value, ranks[0] if ranks else 0), f"{self.name}: {name} = {value} is not allowed")
            result[name] = value
        return tuple(sorted(result.items()))

    def node_values(self, given: dict, ranks: list[int]) -> tuple[tuple, tuple]:
        """The parameters and the sizes of a node. `given`: words, polynomials, and lists of polynomials, by name."""
        parameters, sizes, symbolic = {name: given[name] for name in given.keys() - self.parameters.keys()}, [], []
        for name, parameter in self.parameters.items():
            value = given.get(name)
            values = value if isinstance(value, list) else [value]
            if parameter.kind in ("size", "sizes"):
                require_that(value is not None, f"{self.name} needs its size {name}")
                sizes += values
            elif value is None or isinstance(value, str):
                parameters |= {name: value} if value else {}
            elif all(v.constant is not None for v in values):
                parameters[name] = tuple(v.constant for v in values) if isinstance(value, list) else value.constant
            else:
                least = 1 if all(is_nonnegative(v - 1) for v in values) else 0
                parameters[name] = Symbolic(least)
                symbolic += [v + 1 - least for v in values]
        return self.complete(parameters, ranks), tuple(sizes + symbolic)


def without_mappings(text: str) -> str:
    """Removes comments and the mappings: lines from `onnx` or `aten` to the closing brace."""
    return re.sub(r"^\s*(onnx|aten) [^{\n]*(\{[^}]*\}.*)?", "", re.sub("#.*", "", text), flags=re.MULTILINE)


class DefinitionReader(EquationReader):
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

    def function(self):
        name, _, arguments = self.name(), self.expect("("), self.list_until(")", self.name)
        self.expect("=")
        made = self.functions[name] = Function(name, len(arguments), formula(self.expression(), arguments))
        forms = dict(zip(arguments, "st" if len(arguments) == 2 else "t")) | {name: "f"}
        while self.accept("law"):
            begin, declared = self.at, self.peek(1) == ":" and self.until(":", self.name)
            equation, tokens = self.equation(), self.tokens[begin:self.at]
            if declared:
                made.declared.append((declared, "".join(tokens), equation))
            else:
                text = "".join(forms.get(token, "s" if token == "t" else token) for token in tokens)
                require_that(text in FORMS, f"'{''.join(tokens)}' is no form of a law")
                made.laws.add(text)

    def operator(self):
        op = Operator(self.name())
        self.operators[op.name] = op
        self.expect("(")
        op.inputs = self.items(self.input)
        if self.accept(";"):
            self.chain(",", lambda: self.parameter(op))
        self.expect(")")
        if self.accept("is"):
            op.composite = self.expression()
        while self.peek() not in ("", "operator", "function", "include"):
            self.clause(op)

    def input(self):
        name, _, dims = self.name(), self.expect("["), self.list_until("]", self.dimension)
        if self.accept("of"):
            self.name()
        return name, dims

    def dimension(self):
        if self.peek().isdigit():
            return self.number()
        name = self.name()
        return (name, self.name() if self.accept("by") else None) if self.accept("...") else name

    def word(self):
        return self.number() if self.peek().isdigit() else self.next()

    def parameter(self, op: Operator):
        name, is_pack, pack, values = self.name(), self.accept("..."), None, []
        if self.accept("["):
            pack = self.until("]", lambda: (self.name(), self.expect("..."))[0])
        if self.accept("<"):
            self.expect("rank")
            kind = "axis"
        elif self.accept("in"):
            self.expect("{")
            values = self.list_until("}", self.word)
            kind = "int" if isinstance(values[0], int) else "enum"
        else:
            self.expect(":")
            kind = self.name()
            kind = "new " + self.name() if kind == "new" else "ints" if pack else kind
        default = values[0] if values else () if kind == "spread" else None
        op.parameters[name] = Parameter(kind, self.word() if self.accept("=") else default, values, pack)
        require_that(is_pack == (kind == "sizes"), f"'{name}' has the wrong kind")

    def clause(self, op: Operator):
        word = self.next()
        if word == "commutative":
            op.commutative = True
        elif word == "where":
            op.clauses += self.chain(",", self.condition)
        elif word == "let":
            op.clauses += self.chain(",", lambda: ("let", self.name(), self.accept("..."), (self.expect("="), self.expression())[1]))
        else:
            self.tensor(op, *((op.tensors, self.name()) if word == "tensor" else (op.outputs, word)))

    def condition(self):
        left, relation, right = self.comparison()
        if self.accept("except"):
            return "except", left[1], right[1], self.name()
        return "where", (left, relation, right), self.comparison() if self.accept("if") else None

    def tensor(self, op: Operator, tensors: dict, name: str):
        self.expect("[")
        bindings = self.list_until("]", self.binding)
        if self.accept("of"):
            op.positive |= self.name() == "positive"
        self.expect("=")
        tensors[name] = bindings, self.expression()


def formula(e: tuple, arguments: list[str]) -> tuple:
    """The formula that a tree is, in the arguments of a function."""
    if e[0] == "number":
        return e
    if e[0] == "name":
        require_that(e[1] in arguments, f"'{e[1]}' is no argument")
        return "argument", arguments.index(e[1])
    op, parts = (e[1], e[2]) if e[0] == "call" else (e[0], e[1:])
    require_that(op in OPERATIONS and len(parts) == OPERATIONS[op].arity, f"'{op}' is no function of {len(parts)} numbers")
    return op, *(formula(part, arguments) for part in parts)


class Library:
    """All operators and functions of a folder of definitions."""

    def __init__(self, folder: pathlib.Path):
        self.operators, self.functions = {}, {}
        self.read(pathlib.Path(folder))
        first = {}
        for f in self.functions.values():
            f.representative = first.setdefault((f.arity, f.formula), f.name)
        self.laws, self.tested = Laws(self.functions).found, set()
        self.positive_operator = next((name for name, op in self.operators.items() if op.positive), None)

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

    def law(self, name: str) -> Law:
        require_that(name in self.laws, "there is no such law")
        if name not in self.tested:
            point = counterexample(self.laws[name], self.functions)
            require_that(point is None, f"the law {name} is false at {point}")
            self.tested.add(name)
        return self.laws[name]

    def operation(self, op: str) -> str | None:
        return operation(self.functions, op)

    def is_total(self, name: str, parameters: dict) -> bool:
        """Whether the operator applies total functions only. Of a composite, this is not decided here."""
        op = self.operator(name)
        names = {parameters.get(name, name) for name in op.calls}
        return not op.composite and all(self.functions[n].is_total for n in names & self.functions.keys())
