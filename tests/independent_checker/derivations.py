"""Derived rules: instances of proved rules whose equations imply the rule by congruence."""

from collections import Counter
from math import prod

from certificates import Certificate
from kernel import Kernel
from lowering import Lowering, element_of, read_tensor
from polynomials import ATOMS, Arithmetic, Poly, atom, atoms_in, is_nonnegative, require_that, variable
from rules import Node, Output, Rule, RuleReader
from statement import Terms
from sums import Guard, Product, canonical_sum, map_polys, relation_guards

MAX_DEGREE = 16


def refined(rule: Rule, arithmetic: Arithmetic) -> Rule:
    """Positive integers satisfy equations between products of sizes if and only if they are products of positive integers, one
    for each minimal solution of the same equations between sums: each prime's exponents are a sum of minimal solutions."""
    equations = list(filter(None, map(product_equation, rule.conditions)))
    while equations:
        names, used, factors = sorted(set().union(*equations)), {ATOMS[a].name for a in rule.sizes()}, []
        solutions = sorted(minimal_solutions([[equation[name] for name in names] for equation in equations]), reverse=True)
        for solution in solutions:
            parts = [name for name, exponent in zip(names, solution) if exponent]
            factor = "_".join(parts) if len(parts) == 2 else f"f{len(factors) + 1}" if factors else "f"
            while factor in used:
                factor += "_"
            used.add(factor)
            factors.append(variable(atom("size", factor)))
        images = {atom("size", name): prod((f for f, solution in zip(factors, solutions) for _ in range(solution[k])), start=Poly.of(1))
                  for k, name in enumerate(names)}
        result = rule.changed(lambda poly, images=images: arithmetic.substitute(poly, images))
        if all(len(m) <= MAX_DEGREE for poly in result.polys() for m in poly.terms):
            return result
        equations.pop()
    return rule


def product_equation(condition: tuple) -> Counter | None:
    """Each size's exponent on the left minus that on the right; None if it is no equation between products of two or more
    sizes each, without common ones."""
    left, relation, right = condition
    if relation != "=" or [list(side.terms.values()) for side in (left, right)] != [[1], [1]]:
        return None
    (a,), (b,) = left.terms, right.terms
    exponents = Counter(a)
    exponents.subtract(b)
    if any(ATOMS[x].kind != "size" for x in exponents) or (+exponents).total() < 2 or (-exponents).total() < 2:
        return None
    return Counter({ATOMS[x].name: exponent for x, exponent in exponents.items() if exponent})


def minimal_solutions(equations) -> list[tuple]:
    """Equation by equation: a minimal solution of one more is a sum of solutions of those before, which can be added so that
    each has the sign, in the new equation, that is opposite to that of the sum before it."""
    def below(x, y):
        return all(a <= b for a, b in zip(x, y))
    solutions = [tuple(int(i == j) for j in range(len(equations[0]))) for i in range(len(equations[0]))]
    for equation in equations:
        value = lambda x, equation=equation: sum(a * b for a, b in zip(x, equation))
        terms = [x for x in solutions if value(x)]
        sums, seen, solutions = set(terms), set(), [x for x in solutions if not value(x)]
        while sums:
            longer = {tuple(map(sum, zip(x, y))) for x in sums for y in terms if value(x) * value(y) < 0} - seen
            seen |= longer
            solutions += [x for x in longer if not value(x)]
            sums = {x for x in longer if not any(below(y, x) for y in solutions)}
        solutions = [x for x in solutions if not any(y != x and below(y, x) for y in solutions)]
    return solutions


class Classes:
    """Equal terms: a union-find that is closed under congruence, and under the commutativity of operators."""

    def __init__(self, commutes):
        self.parent, self.commutes = {}, commutes

    def find(self, term):
        while self.parent.setdefault(term, term) != term:
            term = self.parent[term]
        return term

    def merge(self, a, b) -> bool:
        a, b = self.find(a), self.find(b)
        self.parent[a] = b
        return a != b

    def close(self, nodes: dict):
        """`nodes`: all nodes with their outputs."""
        numbers, changed = {}, True
        while changed:
            changed, signatures = False, {}
            for node, outputs in nodes.items():
                arguments = [numbers.setdefault(self.find(a), len(numbers)) for a in node.arguments]
                key = node._replace(arguments=tuple(sorted(arguments) if self.commutes(node) else arguments))
                other = signatures.setdefault(key, node)
                for k in range(len(outputs)):
                    changed |= self.merge(Output(node, k), Output(other, k))


class Derivation:
    def __init__(self, kernel: Kernel, certificate: Certificate, premises, ranks):
        self.kernel, self.lemmas, self.statement = kernel, certificate.lemmas, kernel.statement
        self.arithmetic, self.library = kernel.arithmetic, kernel.library
        self.premises, self.ranks, self.commuting = premises, ranks, {}
        self.solution = self.solve_equations()
        facts, positive = self.statement.facts, tuple(Guard(False, value - 1) for value in self.solution.values())
        self.given = tuple(dict.fromkeys(facts + map_polys(facts, self.solved) + positive))
        self.goal = self.statement.rule.changed(self.solved)
        self.terms = Terms(Lowering(self.library, self.arithmetic), dict(zip(self.goal.variables, self.goal.shapes)))
        for node in self.goal.nodes():
            self.terms.node(node)  # well-typed by assumption, or by an obligation of the statement
        equations = [pair for use in certificate.uses for pair in self.instance(use)]
        self.require("both sides have one shape", self.statement.target_types)
        self.require("a divisor is positive", [Guard(False, divisor - 1) for divisor in self.arithmetic.divisors])
        classes = Classes(self.commutes)
        for a, b in equations:
            classes.merge(a, b)
        classes.close(self.terms.outputs)
        for a, b in zip(self.goal.source, self.goal.target):
            require_that(classes.find(a) == classes.find(b), "the rule instances do not imply the rule")

    def solve_equations(self) -> dict[int, Poly]:
        """Equations of the goal that give a size as a polynomial of the others."""
        solution = {}
        for fact in [fact for fact in self.statement.facts if fact.equality]:
            zero = self.arithmetic.substitute(fact.poly, solution)
            for a in sorted((a for a in atoms_in(zero) if ATOMS[a].kind == "size"), key=lambda a: ATOMS[a].name):
                c = zero.terms.get((a,), 0)
                rest = zero - c * variable(a)
                if abs(c) == 1 and a not in atoms_in(rest):
                    image = {a: -c * rest}
                    solution = {b: self.arithmetic.substitute(value, image) for b, value in solution.items()} | image
                    break
        return solution

    def solved(self, poly: Poly) -> Poly:
        return self.arithmetic.substitute(poly, self.solution)

    def require(self, what: str, goals: list[Guard]):
        self.kernel.require_guards(what, self.given, map_polys(tuple(goals), self.solved), self.lemmas)

    def instance(self, use: str):
        """The equations of the rule instance `rule: x := term, …; m := size, …`."""
        name, _, rest = use.partition(":")
        rule, reader = self.premises(name), RuleReader(rest, self.library, self.arithmetic, self.ranks)
        reader.names = {v.name: v for v in self.goal.variables}
        terms = dict(reader.items(lambda: reader.named(":=", reader.term)))
        values = reader.chain(",", lambda: reader.named(":=", reader.poly)) if reader.accept(";") else []
        reader.end()
        sizes = {atom("size", name): self.solved(value) for name, value in values}
        require_that(rule.sizes() <= sizes.keys(), "a size of the rule has no value")
        require_that(all(v.name in terms for v in rule.variables), "a variable of the rule has no value")
        self.require("a size is positive", [Guard(False, value - 1) for value in sizes.values()])
        self.terms.obligations = conditions = []
        terms = Rule(self.goal.variables, source=[terms[v.name] for v in rule.variables]).changed(self.solved).source
        instance = rule.changed(lambda poly: self.solved(self.arithmetic.substitute(poly, sizes)),
                                variables=dict(zip(rule.variables, terms)))
        for term, shape in zip(terms, instance.shapes):
            found = self.terms.tensor(term).shape
            require_that(len(found) == len(shape), "a term of wrong rank")
            conditions += [Guard(True, a - b) for a, b in zip(found, shape)]
        for left, relation, right in instance.conditions:
            conditions += relation_guards(left, relation, right)
            require_that(relation != "!=" or is_nonnegative(right - left - 1) or is_nonnegative(left - right - 1),
                         "two sizes are not shown to differ")
        for t in instance.source:
            self.terms.tensor(t)
        self.require("an instance is well-typed and its condition holds", conditions)
        self.terms.obligations = []  # of the target: shown by the rule's own proof
        for t in instance.target:
            self.terms.tensor(t)
        return zip(instance.source, instance.target)

    def commutes(self, node: Node) -> bool:
        """Whether the operator is declared commutative, and its definition is the same with exchanged inputs."""
        shapes = [self.terms.tensor(a).shape for a in node.arguments]
        if not self.library.operator(node.operator).commutative or shapes[0] != shapes[1]:
            return False
        key = node.operator, node.parameters, shapes[0]
        if key not in self.commuting:
            inputs, forms = [read_tensor(f"x{k}", shape) for k, shape in enumerate(shapes)], []
            for order in (inputs, inputs[::-1]):
                lowering = Lowering(self.library, self.arithmetic)
                result, = lowering.apply(node.operator, node.parameters, order, node.sizes, [])
                forms.append(canonical_sum(map(self.ordered, element_of(result))))
            self.commuting[key] = forms[0] == forms[1]
        return self.commuting[key]

    def ordered(self, x):
        """The product or factor with the arguments of commutative functions in one order."""
        if isinstance(x, Product):
            return x._replace(factors=tuple(map(self.ordered, x.factors)))
        arguments = [tuple(map(self.ordered, a)) for a in x.arguments]
        if x.kind == "apply" and "f(s,t)=f(t,s)" in self.library.functions[x.symbol].laws:
            arguments.sort(key=lambda a: hash(canonical_sum(a)))
        return x._replace(arguments=tuple(arguments))
