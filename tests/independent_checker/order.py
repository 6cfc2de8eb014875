"""The step `order`: a case analysis on the values that max, min, abs and comparisons compare.

Functions made of these and arithmetic are evaluated by their formulas; all other factors may have any value of their sign.
A form is a polynomial in these values: coefficients by sorted tuples of numbers. Without comparisons the sum is a continuous
function of them, so cases in which a form is 0 are limits of the others; with comparisons these are cases, too."""

from functions import ALL_SIGNS, add_signs, has_comparison, multiply_signs, sign
from normal_form import Factor, ONE, Product, canonical_product
from polynomials import CheckError

MAX_CASES, MAX_INEQUALITIES = 400, 200


class Undecided(Exception):
    """The sign of a form decides the value."""


def add(a: dict, b: dict, scale=1) -> dict:
    result = dict(a)
    for m, c in b.items():
        result[m] = result.get(m, 0) + scale * c
    return {m: c for m, c in result.items() if c}


def multiply(a: dict, b: dict) -> dict:
    result = {}
    for m, c in a.items():
        for n, d in b.items():
            result = add(result, {tuple(sorted(m + n)): c * d})
    return result


def lone_factors(form: dict) -> list:
    """Products of one factor that no other product of the form has."""
    return [m for m in form if len(m) == 1 and sum(m[0] in other for other in form) == 1]


class CaseAnalysis:
    def __init__(self, functions: dict, continuous: bool):
        self.functions, self.continuous, self.numbers, self.cases = functions, continuous, {}, 0
        self.positive, self.always = [], []  # forms above 0: in this case, in all cases
        self.zero = {}  # forms that are 0 in this case, by a product that no later one has

    def vanishes(self, terms) -> bool:
        self.cases += 1
        if self.cases > MAX_CASES:
            raise CheckError("too many cases")
        try:
            return not self.reduce(self.sum(terms))
        except Undecided as undecided:
            form, = undecided.args
        for s in (1, -1):
            self.positive.append(add({}, form, s))
            shown = self.is_contradictory() or self.vanishes(terms)
            self.positive.pop()
            if not shown:
                return False
        if self.continuous:
            return True
        chosen = min(lone_factors(form) or [m for m in form if m])
        self.zero[chosen] = form
        shown = self.is_contradictory() or self.vanishes(terms)
        del self.zero[chosen]
        return shown

    def reduce(self, form: dict) -> dict:
        """The form less multiples of those that are 0 in this case."""
        for m, zero in self.zero.items():
            while m in form:
                form = add(form, zero, -form[m] / zero[m])
            while m in lone_factors(zero) and (found := next((n for n in form if m[0] in n), None)) is not None:
                others = list(found)
                others.remove(m[0])
                form = add(form, multiply(zero, {tuple(others): ONE}), -form[found] / zero[m])
        return form

    def sum(self, terms) -> dict:
        total = {}
        for p in terms:
            value = {(): ONE}
            for factor in [p._replace(coefficient=ONE)] if p.guards or p.bound else p.factors:
                value = multiply(value, self.value(factor))
            total = add(total, value, p.coefficient)
        return total

    def value(self, x) -> dict:
        function = self.functions[x.symbol] if isinstance(x, Factor) and x.kind == "apply" else None
        if function and function.is_piecewise:
            return self.formula(function.formula, [self.sum(argument) for argument in x.arguments])
        key = canonical_product(x if isinstance(x, Product) else Product(factors=(x,)))
        if key not in self.numbers:
            form = {(len(self.numbers),): ONE}
            self.numbers[key] = form
            signs = self.signs(x) if isinstance(x, Factor) else ALL_SIGNS
            if not {-1, 1} <= signs and signs != {0} and (self.continuous or 0 not in signs):
                self.always.append(add({}, form, max(signs) or min(signs)))
        return self.numbers[key]

    def signs(self, factor: Factor) -> frozenset:
        """The signs that a value can have; undefined ones are 0."""
        if factor.kind != "apply":
            return frozenset((1,)) if factor.kind == "inverse" else ALL_SIGNS
        arguments = []
        for argument in factor.arguments:
            total = frozenset((0,))
            for p in argument:
                own = frozenset((sign(p.coefficient),))
                for inner in p.factors:
                    own = multiply_signs(own, self.signs(inner))
                total = add_signs(total, own | {0} if p.guards or p.bound else own)
            arguments.append(total)
        signs, defined = self.functions[factor.symbol].signs(arguments)
        return signs if defined else signs | {0}

    def formula(self, f: tuple, arguments: list) -> dict:
        if f[0] in ("argument", "number"):
            return arguments[f[1]] if f[0] == "argument" else add({}, {(): f[1]})
        parts = [self.formula(part, arguments) for part in f[1:]]
        a, b = parts[0], parts[-1]
        if f[0] in ("+", "-"):
            return add(a, b, 1 if f[0] == "+" else -1)
        if f[0] in ("*", "/"):
            return multiply(a, b if f[0] == "*" else {(): 1 / b[()]})
        if f[0] == "abs":
            return b if self.sign(b) > 0 else add({}, b, -1)
        if f[0] == "gate":
            return b if self.sign(a) else {}
        s = self.sign(add(a, b, -1))
        if f[0] in ("less", "equal"):
            return {(): ONE} if s == (-1 if f[0] == "less" else 0) else {}
        return a if (s > 0) == (f[0] == "max") else b

    def sign(self, form: dict) -> int:
        form = self.reduce(form)
        if not form or list(form) == [()]:
            return sign(form.get((), 0))
        for known in map(self.reduce, self.positive + self.always):
            m = next(iter(form))
            if m in known and not add(form, known, -form[m] / known[m]):
                return sign(form[m] / known[m])
        raise Undecided(form)

    def is_contradictory(self) -> bool:
        """Whether no values make all forms positive: Fourier-Motzkin elimination, with products as variables. The signs of
        products of values of known signs are known, and of squares, if 0 needs no case."""
        forms = [self.reduce(form) for form in self.positive + self.always]
        signs = {m[0]: sign(c) for form in forms if len(form) == 1 for m, c in form.items() if len(m) == 1}
        for m in {m for form in forms for m in form if len(m) > 1}:
            odd = [v for v in set(m) if m.count(v) % 2 or not self.continuous]
            if all(v in signs for v in odd):
                product = ONE
                for v in odd:
                    product *= signs[v] ** m.count(v)
                forms = forms + [{m: product}]
        while len(forms) <= MAX_INEQUALITIES:
            if any(not form or (list(form) == [()] and form[()] <= 0) for form in forms):
                return True
            chosen = next((m for form in forms for m in form if m), None)
            if chosen is None:
                return False
            above = [add({}, f, 1 / f[chosen]) for f in forms if f.get(chosen, 0) > 0]
            below = [add({}, f, -1 / f[chosen]) for f in forms if f.get(chosen, 0) < 0]
            forms = [f for f in forms if chosen not in f] + [add(a, b) for a in above for b in below]
        return False


def compares(terms, functions: dict) -> bool:
    return any(x.kind == "apply" and has_comparison(functions[x.symbol].formula)
               or any(compares(argument, functions) for argument in x.arguments) for p in terms for x in p.factors)


def cancels_in_every_order(terms, functions: dict) -> bool:
    return CaseAnalysis(functions, not compares(terms, functions)).vanishes(terms)
