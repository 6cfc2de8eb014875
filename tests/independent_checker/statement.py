"""The statement of a rule: its types, assumptions and obligations, the difference of its sides, and where they are
defined."""

from functools import cached_property

from definitions import Library
from lowering import Lowering, Tensor, element_of, read_tensor
from obligations import follows
from polynomials import ATOMS, Arithmetic, atoms_in, output_index, require_that, size, variable
from rules import Node, Rule, Variable, nodes_of
from sums import Guard, Product, index_ranges, negated, relation_guards, without_redundant


class Terms:
    """The tensors of terms over variables of given shapes."""

    def __init__(self, lowering: Lowering, shapes: dict[Variable, tuple]):
        self.lowering, self.outputs, self.obligations = lowering, {}, []
        self.variables = {v: read_tensor(v.name, shape) for v, shape in shapes.items()}

    def tensor(self, term) -> Tensor:
        if isinstance(term, Variable):
            require_that(term in self.variables, f"{term.name} is not a variable of the rule")
            return self.variables[term]
        outputs = self.node(term.node)
        require_that(term.number < len(outputs), f"{term.node.operator} has no output {term.number}")
        return outputs[term.number]

    def node(self, node: Node) -> list[Tensor]:
        if node not in self.outputs:
            arguments = [self.tensor(argument) for argument in node.arguments]
            self.outputs[node] = self.lowering.apply(node.operator, node.parameters, arguments, node.sizes, self.obligations)
        return self.outputs[node]


def rank_reader(library: Library):
    """The ranks of terms, for readers of rules. They do not depend on sizes, which are unknown: with numbers, a dimension that
    is divided by could be 0."""
    terms = Terms(Lowering(library, Arithmetic()), {})

    def rank(term) -> int:
        if isinstance(term, Variable):
            terms.variables.setdefault(term, Tensor(tuple(size(f"{term.name}?{d}") for d in range(term.rank)), None))
            return term.rank
        if term.node not in terms.outputs:
            for argument in term.node.arguments:
                rank(argument)
        return len(terms.tensor(term).shape)
    return rank


class Statement:
    """`facts`: the condition of the rule, and that its source is well-typed. `stated`: the condition alone, from which the
    equations between dimensions among these must follow (`source_types`). `target_types`: the target is well-typed, of the
    source's shapes."""

    def __init__(self, rule: Rule, library: Library):
        self.rule, self.library, self.arithmetic = rule, library, Arithmetic()
        self.lowering = Lowering(library, self.arithmetic)
        self.terms = Terms(self.lowering, dict(zip(rule.variables, rule.shapes)))
        stated = [Guard(False, d - 1) for shape in rule.shapes for d in shape]
        stated += [g for condition in rule.conditions for g in relation_guards(*condition)]
        source, target = self.types(rule.source), self.types(rule.target)
        for a, b in zip(rule.source, rule.target):
            a, b = self.terms.tensor(a).shape, self.terms.tensor(b).shape
            require_that(len(a) == len(b), "the sides have different ranks")
            target += [Guard(True, x - y) for x, y in zip(a, b)]
        self.stated = distinct(stated, ())
        source = distinct(source, self.stated)
        self.source_types = [g for g in source if g.equality and all(ATOMS[a].kind == "size" for a in atoms_in(g.poly))]
        self.facts = tuple(self.stated + source)
        require_that(all(g.poly.constant is None for g in self.facts), "no sizes satisfy the rule")
        self.target_types = distinct(target, self.facts)
        self.lowering.facts = frozenset(self.facts)

    def types(self, side: list) -> list[Guard]:
        """The guards under which the nodes of a side that are not typed yet are well-typed."""
        self.terms.obligations = []
        for node in nodes_of(side):
            self.terms.node(node)
        return self.terms.obligations

    @cached_property
    def differences(self) -> list[tuple]:
        """For each output, element [@0, @1, …] of the source minus that of the target."""
        tensors = [map(self.terms.tensor, sides) for sides in zip(self.rule.source, self.rule.target)]
        return [element_of(source) + negated(element_of(target)) for source, target in tensors]

    def index_ranges(self, output: int) -> tuple:
        shape = self.terms.tensor(self.rule.source[output]).shape
        return index_ranges(map(output_index, range(len(shape))), shape)

    @cached_property
    def definedness_conditions(self) -> tuple[tuple[list, int], ...]:
        """For each side, the uses of partial functions, each with the indices and guards where it is used: those of the
        side's own nodes first, and their number, then those of nodes in both sides."""
        if all(self.library.is_total(node.operator, dict(node.parameters)) for node in self.terms.outputs):
            return ([], 0), ([], 0)
        result, _ = [], self.differences  # whose indices are numbered first
        for side, other in ((self.rule.source, self.rule.target), (self.rule.target, self.rule.source)):
            nodes, others = nodes_of(side), nodes_of(other)
            own, shared = ([c for node in nodes if (node in others) == is_shared for c in self.conditions_of(node)]
                           for is_shared in (False, True))
            result.append((own + shared, len(own)))
        return tuple(result)

    @property
    def conditions_in_values(self) -> list | None:
        """Those that hold in the values: the source's, if the rule widens, since it says nothing elsewhere."""
        return self.definedness_conditions[0][0] if self.rule.widens else None

    def conditions_of(self, node: Node) -> list[Product]:
        lowering = self.lowering
        lowering.conditions = []
        for tensor in self.terms.node(node):
            lowering.enclosing = lowering.fresh(len(tensor.shape))
            index = tuple(map(variable, lowering.enclosing))
            tensor.element(index, index_ranges(index, tensor.shape))
            lowering.enclosing = []
        found, lowering.conditions = lowering.conditions, None
        return [c._replace(guards=without_redundant(g for g in c.guards if g not in lowering.facts)) for c in found]


def distinct(guards, known) -> list[Guard]:
    """The guards that are not trivial, nor known."""
    return list(dict.fromkeys(g for g in guards if g not in known and not follows(g, ())))
