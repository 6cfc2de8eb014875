"""Derived rules: instances of proved rules whose equations imply the rule by congruence."""

from certificates import Certificate
from kernel import Kernel
from lowering import Lowering
from sums import Guard, Product, canonical_sum, map_polys, relation_guards
from polynomials import ATOMS, Arithmetic, Poly, atom, atoms_in, is_nonnegative, output_index, require_that, variable
from rules import Node, Output, Rule, RuleReader, Variable
from statement import Terms

MAX_DEGREE = 16


def refined(rule: Rule, arithmetic: Arithmetic) -> Rule:
    """Positive integers satisfy equations between products of sizes if and only if they are products of positive integers, one
    for each minimal solution of the same equations between sums: each prime's exponents are a sum of minimal solutions."""
    equations = list(filter(None, map(product_equation, rule.conditions)))
    while equations:
        names = sorted({name for equation in equations for name in equation})
        used, images = {ATOMS[a].name for a in rule.sizes()}, {name: Poly.of(1) for name in names}
        solutions = minimal_solutions([[equation.get(name, 0) for name in names] for equation in equations])
        for number, solution in enumerate(sorted(solutions, reverse=True), 1):
            parts = [name for name, exponent in zip(names, solution) if exponent]
            factor = "_".join(parts) if len(parts) == 2 else "f" if number == 1 else f"f{number}"
            while factor in used:
                factor += "_"
            used.add(factor)
            for name, exponent in zip(names, solution):
                for _ in range(exponent):
                    images[name] *= variable(atom("size", factor))
        images = {atom("size", name): image for name, image in images.items()}
        result = rule.changed(lambda poly, images=images: arithmetic.substitute(poly, images))
        if all(len(m) <= MAX_DEGREE for poly in result.polys() for m in poly.terms):
            return result
        equations.pop()
    return rule


def product_equation(condition):
    """Each size's exponent on the left minus that on the right; None if it is no equation between products of two or more
    sizes each, without common ones."""
    left, relation, right = condition
    exponents = {}
    for poly, sign in ((left, 1), (right, -1)):
        (m, c), = poly.terms.items() if len(poly.terms) == 1 else [((), 0)]
        if relation != "=" or c != 1 or any(ATOMS[a].kind != "size" for a in m):
            return None
        for a in m:
            exponents[ATOMS[a].name] = exponents.get(ATOMS[a].name, 0) + sign
    exponents = {name: exponent for name, exponent in exponents.items() if exponent}
    fits = all(sum(max(0, sign * e) for e in exponents.values()) >= 2 for sign in (1, -1))
    return exponents if fits else None


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
        """`nodes`: all nodes with their numbers of outputs."""
        numbers, changed = {}, True
        while changed:
            changed, signatures = False, {}
            for node, outputs in nodes.items():
                arguments = [numbers.setdefault(self.find(a), len(numbers)) for a in node.arguments]
                key = node._replace(arguments=tuple(sorted(arguments) if self.commutes(node) else arguments))
                other = signatures.setdefault(key, node)
                for k in range(outputs):
                    changed |= self.merge(Output(node, k), Output(other, k))


class Derivation:
    def __init__(self, kernel: Kernel, certificate: Certificate, premises, ranks):
        self.kernel, self.statement, self.certificate = kernel, kernel.statement, certificate
        self.arithmetic, self.library = kernel.arithmetic, kernel.statement.library
        self.premises, self.ranks = premises, ranks
        self.solution = self.solve_equations()
        facts = self.statement.facts
        self.given = tuple(dict.fromkeys([*facts, *map_polys(tuple(facts), self.solved),
                                          *(Guard(False, value - 1) for value in self.solution.values())]))
        rule = self.statement.rule.changed(self.solved)
        self.goal = rule
        self.terms = Terms(Lowering(self.library, self.arithmetic), dict(zip(rule.variables, rule.shapes)))
        for node in rule.nodes():
            self.terms.node(node)  # well-typed by assumption, or by an obligation of the statement
        self.commuting = {}

    def solve_equations(self) -> dict[int, Poly]:
        """Equations of the goal that give a size as a polynomial of the others."""
        solution = {}
        for fact in self.statement.facts:
            if not fact.equality:
                continue
            zero = self.arithmetic.substitute(fact.poly, solution)
            for a in sorted(atoms_in(zero), key=lambda a: (ATOMS[a].kind != "size", str(ATOMS[a].name))):
                c = zero.terms.get((a,), 0)
                rest = zero - c * variable(a)
                if abs(c) == 1 and ATOMS[a].kind == "size" and a not in atoms_in(rest):
                    image = {a: -c * rest}
                    solution = {b: self.arithmetic.substitute(value, image) for b, value in solution.items()} | image
                    break
        return solution

    def solved(self, poly: Poly) -> Poly:
        return self.arithmetic.substitute(poly, self.solution)

    def require(self, what: str, goals: list[Guard]):
        self.kernel.require_guards(what, self.given, map_polys(tuple(goals), self.solved), self.certificate.lemmas)

    def check(self):
        equations = [pair for use in self.certificate.uses for pair in self.instance(use)]
        self.require("both sides have one shape", self.statement.target_types)
        self.require("a divisor is positive", [Guard(False, divisor - 1) for divisor in self.arithmetic.divisors])
        classes = Classes(self.commutes)
        for a, b in equations:
            classes.merge(a, b)
        classes.close({node: len(outputs) for node, outputs in self.terms.outputs.items()})
        for a, b in zip(self.goal.source, self.goal.target):
            require_that(classes.find(a) == classes.find(b), "the rule instances do not imply the rule")

    def instance(self, use: str):
        """The equations of the rule instance `rule: x := term, …; m := size, …`."""
        name, _, rest = use.partition(":")
        rule = self.premises(name)
        tokens = RuleReader(rest, self.library, self.arithmetic, self.ranks)
        tokens.names = {v.name: v for v in self.goal.variables}
        terms, sizes = {}, {}
        while tokens.peek() not in ("", ";"):
            variable_name = tokens.name()
            tokens.expect(":=")
            terms[variable_name] = tokens.term()
            tokens.accept(",")
        while tokens.accept(";") or tokens.accept(","):
            size_name = tokens.name()
            tokens.expect(":=")
            sizes[atom("size", size_name)] = self.solved(tokens.poly())
        tokens.end()
        require_that(rule.sizes() <= set(sizes), "a size of the rule has no value")
        self.require("a size is positive", [Guard(False, value - 1) for value in sizes.values()])
        self.terms.obligations = conditions = []
        require_that(all(v.name in terms for v in rule.variables), "a variable of the rule has no value")
        values = Rule(self.goal.variables, source=[terms[v.name] for v in rule.variables]).changed(self.solved).source
        for value, shape in zip(values, rule.shapes):
            require_that(len(self.terms.tensor(value).shape) == len(shape), "a term of wrong rank")
        instance = rule.changed(lambda poly: self.solved(self.arithmetic.substitute(poly, sizes)),
                                variables=dict(zip(rule.variables, values)))
        for value, shape in zip(values, instance.shapes):
            conditions += [Guard(True, a - b) for a, b in zip(self.terms.tensor(value).shape, shape)]
        for left, relation, right in instance.conditions:
            conditions += relation_guards(left, relation, right)
            difference = right - left
            require_that(relation != "!=" or is_nonnegative(difference - 1) or is_nonnegative(-difference - 1),
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
        op, shapes = self.library.operator(node.operator), [self.terms.tensor(a).shape for a in node.arguments]
        if not op.commutative or shapes[0] != shapes[1]:
            return False
        key = node.operator, node.parameters, shapes[0]
        if key not in self.commuting:
            forms = []
            for order in ((0, 1), (1, 0)):
                terms = Terms(Lowering(self.library, self.arithmetic), {Variable(f"x{k}", 0): shapes[k] for k in range(2)})
                inputs = [list(terms.variables.values())[k] for k in order]
                result = terms.lowering.apply(node.operator, node.parameters, inputs, node.sizes, [])[0]
                element = result.element(tuple(output_index(d) for d in range(len(result.shape))), ())
                forms.append(canonical_sum(map(self.ordered, element)))
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
