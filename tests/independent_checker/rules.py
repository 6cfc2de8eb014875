"""Rules: as text, and as records of a database (algebra/rules/rule_set.proto)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from definitions import Library
from lowering import Symbolic, complete_parameters
from polynomials import ATOMS, Arithmetic, is_nonnegative, require_that
from tokens import Tokens, parse_poly


class Variable(NamedTuple):
    name: str
    rank: int


class Node(NamedTuple):
    operator: str
    parameters: tuple  # (name, value), sorted
    arguments: tuple   # terms
    sizes: tuple


class Output(NamedTuple):
    node: Node
    number: int


@dataclass
class Rule:
    """Terms are variables or outputs of nodes. A condition is (poly, relation, poly)."""
    variables: list = field(default_factory=list)
    shapes: list = field(default_factory=list)
    source: list = field(default_factory=list)
    target: list = field(default_factory=list)
    conditions: list = field(default_factory=list)
    packs: list = field(default_factory=list)  # atoms


def nodes_of(terms) -> list[Node]:
    """All nodes, arguments before users."""
    found = {}

    def visit(term):
        if isinstance(term, Output) and term.node not in found:
            for argument in term.node.arguments:
                visit(argument)
            found[term.node] = None
    for term in terms:
        visit(term)
    return list(found)


def changed(rule: Rule, poly, node=None, variables=None, shapes=None, packs=None) -> Rule:
    """The rule with its sizes changed by `poly`, and its nodes, whose arguments are changed before, by `node`; with other variables."""
    node = node or (lambda old, arguments: old._replace(arguments=arguments, sizes=tuple(map(poly, old.sizes))))
    variables, nodes = variables or {v: v for v in rule.variables}, {}

    def term(t):
        return variables[t] if isinstance(t, Variable) else Output(nodes[t.node], t.number)
    for old in nodes_of(rule.source + rule.target):
        nodes[old] = node(old, tuple(map(term, old.arguments)))
    conditions = [(poly(a), relation, poly(b)) for a, relation, b in rule.conditions]
    return Rule(list(variables.values()), shapes or [tuple(map(poly, shape)) for shape in rule.shapes], list(map(term, rule.source)),
                list(map(term, rule.target)), [c for c in conditions if c[1] != "=" or c[0] != c[2]],
                rule.packs if packs is None else packs)


def rank_of(term, ranks) -> int:
    return term.rank if isinstance(term, Variable) else ranks(term)


class RuleReader(Tokens):
    """Reads rules in text form (algebra/terms/rule_text.h). `ranks` gives the rank of an output of a node."""

    def __init__(self, text: str, library: Library, arithmetic: Arithmetic, ranks):
        super().__init__(text, arithmetic)
        self.library, self.ranks, self.names, self.rule = library, ranks, {}, Rule()

    def read(self) -> Rule:
        rule = self.rule
        self.expect("rule")
        self.name()
        self.expect("(")
        self.list_until(")", self.variable)
        while self.accept("let"):
            name = self.name()
            self.expect("=")
            self.names[name] = self.application()
        rule.source = self.chain(",", self.term)
        if not self.accept("="):
            self.expect("=>")
        rule.target = self.chain(",", self.term)
        if self.accept("when"):
            rule.conditions = self.chain(",", lambda: self.relation(self.poly))
        self.end()
        require_that(len(rule.source) == len(rule.target), "the sides have different numbers of outputs")
        return rule

    def variable(self):
        name, shape = self.name(), []
        self.expect("[")
        while self.peek() != "]":
            shape.append(self.poly())
            if self.accept("..."):
                if shape[-1].single_atom is None:
                    self.fail("a dimension pack")
                if shape[-1].single_atom not in self.rule.packs:
                    self.rule.packs.append(shape[-1].single_atom)
            if not self.accept(","):
                break
        self.expect("]")
        require_that(name not in self.names, f"two variables are called {name}")
        variable = self.names[name] = Variable(name, len(shape))
        self.rule.variables.append(variable)
        self.rule.shapes.append(tuple(shape))
        if self.accept("of"):
            self.expect("positive")
            self.names[name] = Output(Node(self.library.positive_operator, (), (variable,), ()), 0)

    def term(self):
        value = self.application()
        if not isinstance(value, Node):
            return value
        outputs = self.library.operator(value.operator).outputs
        if not self.accept("."):
            if len(outputs) > 1:
                self.fail("an output")
            return Output(value, 0)
        names = [output[0] for output in outputs]
        name = self.name()
        if name not in names:
            self.fail("an output")
        return Output(value, names.index(name))

    def application(self):
        name = self.name()
        if not self.accept("("):
            require_that(name in self.names, f"{name} is not a variable of the rule")
            return self.names[name]
        arguments, given = self.argument_list(self.term, self.parameter)
        return make_node(self.library.operator(name), arguments, dict(given), self.ranks)

    def parameter(self):
        name = self.name()
        self.expect("=")
        if self.accept("["):
            return name, self.list_until("]", self.poly)
        return name, self.poly()


def make_node(op, arguments, given: dict, ranks) -> Node:
    """The node of an operator at parameters and sizes by name; numbers and sizes are polynomials."""
    parameters, sizes, symbolic = {}, [], []
    for name, (kind, _, _) in op.parameters.items():
        if name not in given:
            require_that(kind not in ("size", "sizes"), f"{op.name} needs its size {name}")
            continue
        value = given.pop(name)
        values = value if isinstance(value, list) else [value]
        if kind in ("size", "sizes"):
            sizes += values
        elif kind == "enum":
            require_that(not isinstance(value, list) and value.single_atom is not None, f"{op.name}: {name} is a word")
            parameters[name] = ATOMS[value.single_atom].name
        elif all(v.constant is not None for v in values):
            parameters[name] = tuple(v.constant for v in value) if isinstance(value, list) else value.constant
        else:
            least = 1 if all(is_nonnegative(v - 1) for v in values) else 0
            parameters[name] = Symbolic(least)
            symbolic += [v + 1 - least for v in values]
    require_that(not given, f"{op.name} has no parameter {', '.join(given)}")
    complete = complete_parameters(op, parameters, [rank_of(a, ranks) for a in arguments])
    return Node(op.name, tuple(sorted(complete.items())), tuple(arguments), tuple(sizes + symbolic))


# Records

def fields(data: bytes) -> dict[int, list]:
    """A protobuf message: the values of each field, numbers or bytes."""
    result, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        result.setdefault(tag >> 3, []).append(value)
    return result


def number(message: dict, key: int) -> int:
    return message.get(key, [0])[-1]


def text(message: dict, key: int) -> str:
    return message.get(key, [b""])[-1].decode()


@dataclass
class Record:
    id: str
    rule: Rule
    kind: int  # 1: by definitions, 2: by derivation
    certificate: str


def read_record(data: bytes, library: Library, arithmetic: Arithmetic, ranks) -> Record:
    message = fields(data)
    rule, nodes = Rule(), []

    def poly(bytes_):
        return parse_poly(bytes_.decode(), arithmetic)

    def term(data):
        of = fields(data)
        return Output(nodes[number(of, 2)], number(of, 3)) if 2 in of else rule.variables[number(of, 1)]

    def value(of):
        if 4 in of:
            packed = fields(of[4][-1]).get(1, [b""])[-1]
            return tuple(packed)
        number_ = number(of, 2)
        return text(of, 3) if 3 in of else Symbolic(number(of, 5)) if 5 in of else (number_ >> 1) ^ -(number_ & 1)
    for variable in map(fields, message.get(3, [])):
        shape = tuple(map(poly, variable.get(2, [])))
        rule.variables.append(Variable(text(variable, 1), len(shape)))
        rule.shapes.append(shape)
    for node in map(fields, message.get(4, [])):
        op = library.operator(text(node, 1))
        given = {text(of, 1): value(of) for of in map(fields, node.get(2, []))}
        arguments = tuple(map(term, node.get(3, [])))
        complete = complete_parameters(op, given, [rank_of(a, ranks) for a in arguments])
        nodes.append(Node(op.name, tuple(sorted(complete.items())), arguments, tuple(map(poly, node.get(4, [])))))
    rule.source = list(map(term, message.get(5, [])))
    rule.target = list(map(term, message.get(6, [])))
    for of in map(fields, message.get(7, [])):
        rule.conditions.append((poly(of.get(1, [b""])[-1]), ("=", "!=", "<", "<=")[number(of, 2)], poly(of.get(3, [b""])[-1])))
    rule.packs = [poly(pack).single_atom for pack in message.get(12, [])]
    certificate = fields(message.get(9, [b""])[-1])
    return Record(text(message, 1), rule, number(certificate, 1), text(certificate, 2))
