"""Rules, and their reader (algebra/terms/rule_text.h)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from definitions import Library
from polynomials import ATOMS, Arithmetic, Poly, atom, atoms_in, require_that
from syntax import PolyReader


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
    widens: bool = False  # source -> target: it holds where the source is defined, and is no equation

    def nodes(self) -> list[Node]:
        return nodes_of(self.source + self.target)

    def polys(self) -> list[Poly]:
        polys = [d for shape in self.shapes for d in shape] + [p for a, _, b in self.conditions for p in (a, b)]
        return polys + [s for node in self.nodes() for s in node.sizes]

    def sizes(self) -> set[int]:
        return {a for poly in self.polys() for a in atoms_in(poly) if ATOMS[a].kind == "size"}

    def changed(self, poly, node=None, variables=None, shapes=None, packs=None) -> "Rule":
        """The rule with its sizes changed by `poly`, and its nodes by `node`, after their arguments; with other variables."""
        node = node or (lambda old, arguments: old._replace(arguments=arguments, sizes=tuple(map(poly, old.sizes))))
        variables, nodes = variables or {v: v for v in self.variables}, {}

        def term(t):
            return variables[t] if isinstance(t, Variable) else Output(nodes[t.node], t.number)
        for old in self.nodes():
            nodes[old] = node(old, tuple(map(term, old.arguments)))
        conditions = [(poly(a), relation, poly(b)) for a, relation, b in self.conditions]
        return Rule(list(variables.values()), shapes or [tuple(map(poly, shape)) for shape in self.shapes],
                    list(map(term, self.source)), list(map(term, self.target)),
                    [c for c in conditions if c[1] != "=" or c[0] != c[2]], self.packs if packs is None else packs, self.widens)


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


class RuleReader(PolyReader):
    """`ranks` gives the rank of a term."""

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
            name, value = self.named("=", self.expression)
            self.names[name] = self.node_or_term(value)
        rule.source = self.chain(",", self.term)
        rule.widens = self.accept("->")
        if not rule.widens and not self.accept("="):
            self.expect("=>")
        rule.target = self.chain(",", self.term)
        conditions = self.chain(",", self.comparison) if self.accept("when") else []
        rule.conditions = [(self.value(a), relation, self.value(b)) for a, relation, b in conditions]
        self.end()
        require_that(len(rule.source) == len(rule.target), "the sides have different numbers of outputs")
        return rule

    def variable(self):
        """name '[' dimensions ']' ['of' 'positive']"""
        name, _, dims = self.name(), self.expect("["), self.list_until("]", self.expression)
        packs = [atom("size", dim[1]) for dim in dims if dim[0] == "pack"]
        self.rule.packs += [pack for pack in dict.fromkeys(packs) if pack not in self.rule.packs]
        require_that(name not in self.names, f"two variables are called {name}")
        variable = self.names[name] = Variable(name, len(dims))
        self.rule.variables.append(variable)
        self.rule.shapes.append(tuple(self.value(("name", dim[1]) if dim[0] == "pack" else dim) for dim in dims))
        if self.accept("of"):
            self.expect("positive")
            self.names[name] = Output(Node(self.library.positive_operator, (), (variable,), ()), 0)

    def term(self):
        return self.term_of(self.expression())

    def term_of(self, e: tuple):
        value = self.node_or_term(e[1] if e[0] == "output" else e)
        if not isinstance(value, Node):
            require_that(e[0] != "output", "only a node has outputs")
            return value
        names = list(self.library.operator(value.operator).outputs) or [""]
        require_that(len(names) == 1 or e[0] == "output" and e[2] in names, "expected an output")
        return Output(value, names.index(e[2]) if e[0] == "output" else 0)

    def node_or_term(self, e: tuple):
        if e[0] == "name":
            require_that(e[1] in self.names, f"{e[1]} is not a variable of the rule")
            return self.names[e[1]]
        require_that(e[0] == "call", "expected a term")
        op, arguments = self.library.operator(e[1]), tuple(map(self.term_of, e[2]))
        given = {}
        for name, value in e[3].items():
            is_word = name in op.named("enum") and value[0] == "name"
            given[name] = value[1] if is_word else list(map(self.value, value[1])) if value[0] == "list" else self.value(value)
        parameters, sizes = op.node_values(given, list(map(self.ranks, arguments)))
        return Node(op.name, parameters, arguments, sizes)
