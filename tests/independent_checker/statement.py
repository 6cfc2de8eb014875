"""The statement of a rule: its types, assumptions and obligations, the difference of its sides, and where they are
defined."""

from functools import cached_property

from definitions import Library
from lowering import Lowering, Tensor
from normal_form import Factor, Guard, Product, as_sum, index_range, negated, relation_guards, without_redundant
from obligations import follows
from polynomials import ATOMS, Arithmetic, atoms_in, bound_index, output_index, require_that, size, variable
from rules import Node, Output, Rule, Variable, nodes_of


class Terms:
    """The tensors of terms over variables of given shapes."""

    def __init__(self, lowering: Lowering, shapes: dict[Variable, tuple]):
        self.lowering, self.outputs, self.variables, self.obligations = lowering, {}, {}, []
        for v, shape in shapes.items():
            self.variables[v] = Tensor(shape, lambda i, known, v=v: as_sum(Factor("read", v.name, tuple(i))))

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
            self.outputs[node] = self.lowering.apply(node.operator, dict(node.parameters), arguments, list(node.sizes),
                                                     self.obligations)
        return self.outputs[node]


def rank_reader(library: Library):
    """The ranks of outputs, for readers of rules. They do not depend on sizes, which are unknown: with numbers, a dimension that
    is divided by could be 0."""
    terms = Terms(Lowering(library, Arithmetic()), {})

    def rank(term: Output) -> int:
        def declare(t):
            if isinstance(t, Variable):
                terms.variables.setdefault(t, Tensor(tuple(size(f"{t.name}?{d}") for d in range(t.rank)), None))
            else:
                for argument in t.node.arguments:
                    declare(argument)
        declare(term)
        return len(terms.tensor(term).shape)
    return rank


class Statement:
    """`facts`: the condition of the rule, and that its source is well-typed. `stated`: the condition alone, from which the
    equations between dimensions among these must follow (`source_types`). `target_types`: the target is well-typed, of the
    source's shapes."""

    def __init__(self, rule: Rule, library: Library, arithmetic: Arithmetic):
        self.rule, self.library, self.arithmetic = rule, library, arithmetic
        self.lowering = Lowering(library, arithmetic)
        self.terms = Terms(self.lowering, dict(zip(rule.variables, rule.shapes)))
        self.stated = [Guard(False, d - 1) for shape in rule.shapes for d in shape]
        for left, relation, right in rule.conditions:
            self.stated += relation_guards(left, relation, right)
        for node in nodes_of(rule.source):
            self.terms.node(node)
        source, self.terms.obligations = self.terms.obligations, []
        for node in nodes_of(rule.target):
            self.terms.node(node)
        target = self.terms.obligations
        for a, b in zip(rule.source, rule.target):
            a, b = self.terms.tensor(a).shape, self.terms.tensor(b).shape
            require_that(len(a) == len(b), "the sides have different ranks")
            target = target + [Guard(True, x - y) for x, y in zip(a, b)]
        self.stated = self.distinct(self.stated)
        source = [g for g in self.distinct(source) if g not in self.stated]
        self.source_types = [g for g in source if g.equality and all(ATOMS[a].kind == "size" for a in atoms_in(g.poly))]
        self.facts = self.stated + source
        require_that(all(g.poly.constant is None for g in self.facts), "no sizes satisfy the rule")
        self.target_types = [g for g in self.distinct(target) if g not in self.facts]
        self.lowering.facts = frozenset(self.facts)

    @staticmethod
    def distinct(guards) -> list[Guard]:
        return list(dict.fromkeys(g for g in guards if not follows(g, ())))

    def index_ranges(self, output: int) -> tuple:
        shape = self.terms.tensor(self.rule.source[output]).shape
        return tuple(g for d, extent in enumerate(shape) for g in index_range(output_index(d), extent))

    @cached_property
    def differences(self) -> list[tuple]:
        """For each output, element [@0, @1, …] of the source minus that of the target."""
        result = []
        for o, (source, target) in enumerate(zip(self.rule.source, self.rule.target)):
            index = tuple(output_index(d) for d in range(len(self.terms.tensor(source).shape)))
            known = self.index_ranges(o)
            element = tuple(self.terms.tensor(source).element(index, known))
            result.append(element + negated(tuple(self.terms.tensor(target).element(index, known))))
        return result

    @cached_property
    def definedness_conditions(self) -> tuple[tuple[list, int], ...]:
        """For each side, the uses of partial functions, each with the indices and guards where it is used: those of the
        side's own nodes first, and their number, then those of nodes in both sides."""
        if all(self.library.is_total(node.operator, dict(node.parameters)) for node in self.terms.outputs):
            return ([], 0), ([], 0)
        result, _ = [], self.differences  # whose indices are numbered first
        for side, other in ((self.rule.source, self.rule.target), (self.rule.target, self.rule.source)):
            others = nodes_of(other)
            own = [c for node in nodes_of(side) if node not in others for c in self.conditions_of(node)]
            shared = [c for node in nodes_of(side) if node in others for c in self.conditions_of(node)]
            result.append((own + shared, len(own)))
        return tuple(result)

    def conditions_of(self, node: Node) -> list[Product]:
        lowering = self.lowering
        lowering.conditions = []
        for tensor in self.terms.node(node):
            lowering.enclosing = [bound_index(lowering.next_bound + d) for d in range(len(tensor.shape))]
            lowering.next_bound += len(tensor.shape)
            index = tuple(variable(i) for i in lowering.enclosing)
            tensor.element(index, tuple(g for i, extent in zip(index, tensor.shape) for g in index_range(i, extent)))
            lowering.enclosing = []
        found, lowering.conditions = lowering.conditions, None
        return [c._replace(guards=without_redundant(g for g in c.guards if g not in lowering.facts)) for c in found]
