"""The step `order`: a case analysis on the values that max, min, abs and comparisons compare.

Functions made of these, arithmetic, floor and quotients are evaluated by their formulas; all other factors may have any value
of their sign. A form is a polynomial in these values: coefficients by sorted tuples of numbers. max, min and abs have two
cases, comparisons and divisors three, one of them where a form is 0. floor(t) and 1/t are values of their own:
floor(t) <= t < floor(t) + 1, and 1/t * t = 1 for positive t."""

from math import prod

from functions import ALL_SIGNS, RECIPROCAL, add_signs, multiply_signs, operations, sign
from normal_form import Factor, ONE, Product, canonical_product
from polynomials import ATOMS, CheckError, Poly, variable

MAX_CASES, MAX_INEQUALITIES = 800, 200


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
    """Inequalities are forms, and whether these are above 0 or at least 0. `quotients` are those of this case: the value 1/t
    and the form 1/t * t - 1, by one of its products. `integers` are values that are whole numbers."""

    def __init__(self, functions: dict, names: set, given: tuple):
        self.functions, self.given, self.numbers, self.cases = functions, given, {}, 0
        used = [functions[name] for name in names]
        self.has_quotients = any(f.is_by_cases and not f.is_piecewise and operations(f.formula) & {"/", "floor"} for f in used)
        self.positive, self.always = [], []  # inequalities in this case, in all cases
        self.zero, self.quotients = {}, {}  # forms that are 0 in this case, by a product that no later one has
        self.integers, self.reciprocals, self.atoms = set(), set(), {}

    def vanishes(self, terms) -> bool:
        self.cases += 1
        if self.cases > MAX_CASES:
            raise CheckError("too many cases")
        outer = list(self.positive), dict(self.quotients)
        try:
            return self.vanishes_in_case(terms)
        finally:
            self.positive, self.quotients = outer

    def vanishes_in_case(self, terms) -> bool:
        try:
            rest = self.reduce(self.sum(terms))
            return all(self.contradicts((add({}, rest, s), True)) for s in (1, -1)) if rest else True
        except Undecided as undecided:
            form, zero_matters = undecided.args
        for s in (1, -1):
            self.positive.append((add({}, form, s), zero_matters or s < 0))
            shown = self.is_contradictory() or self.vanishes(terms)
            self.positive.pop()
            if not shown:
                return False
        if not zero_matters:
            return True
        chosen = min(lone_factors(form) or [m for m in form if m], key=lambda m: (m[0] not in self.reciprocals, m))
        self.zero[chosen] = form
        shown = self.is_contradictory() or self.vanishes(terms)
        del self.zero[chosen]
        return shown

    def reduce(self, form: dict) -> dict:
        """The form less multiples of those that are 0 in this case. Each list may bring back products of the other."""
        for _ in range(3 if self.quotients else 1):
            for m, zero in self.zero.items():
                while m in form:
                    form = add(form, zero, -form[m] / zero[m])
                while m in lone_factors(zero) and any(m[0] in n for n in form):
                    form = self.without(form, m, zero)
            for m, (_, zero) in self.quotients.items():
                while any(all(n.count(v) >= m.count(v) for v in m) for n in form):
                    form = self.without(form, m, zero)
        return form

    @staticmethod
    def without(form: dict, m: tuple, zero: dict) -> dict:
        """The form without one product that contains product m of a form that is 0."""
        found = next(n for n in form if all(n.count(v) >= m.count(v) for v in m))
        others = list(found)
        for v in m:
            others.remove(v)
        return add(form, multiply(zero, {tuple(others): ONE}), -form[found] / zero[m])

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
        if function and (function.is_by_cases or (self.has_quotients and function.formula == RECIPROCAL)):
            arguments = [self.sum(argument) for argument in x.arguments]
            try:
                return self.formula(function.formula, arguments)
            except ZeroDivisionError:  # the function is undefined
                return {}
            except NotImplementedError:  # another power
                pass
        if self.has_quotients and isinstance(x, Factor) and x.kind == "integer":
            return self.integer(x.index[0])
        key = canonical_product(x if isinstance(x, Product) else Product(factors=(x,)))
        is_new = key not in self.numbers
        form = self.named(key)
        if is_new:
            signs = self.signs(x) if isinstance(x, Factor) else ALL_SIGNS
            if not {-1, 1} <= signs and signs != {0}:
                self.always.append((add({}, form, max(signs) or min(signs)), 0 not in signs))
        return form

    def named(self, key) -> dict:
        return {(self.numbers.setdefault(key, len(self.numbers)),): ONE}

    def integer(self, poly: Poly) -> dict:
        """The polynomial in its atoms, which are whole numbers; sizes are at least 1."""
        total = {}
        for m, c in poly.terms.items():
            product = {(): ONE * c}
            for a in m:
                if a not in self.atoms:
                    self.atoms[a] = self.named(canonical_product(Product(factors=(Factor("integer", index=(variable(a),)),))))
                    self.integers.update(*self.atoms[a])
                    if ATOMS[a].kind == "size":
                        self.always.append((add(self.atoms[a], {(): ONE}, -1), False))
                product = multiply(product, self.atoms[a])
            total = add(total, product)
        return total

    def floor(self, form: dict) -> dict:
        whole = {m: ONE * (c.numerator // c.denominator) for m, c in self.reduce(form).items() if self.integers.issuperset(m)}
        whole = {m: c for m, c in whole.items() if c}
        rest = add(self.reduce(form), whole, -1)
        if rest.keys() <= {()} or (self.contradicts((add({}, rest, -1), True)) and
                                   self.contradicts((add(rest, {(): ONE}, -1), False))):
            return whole
        value = self.named(("floor", frozenset(rest.items())))
        self.integers.update(*value)
        bounds = [(add(rest, value, -1), False), (add(add(value, {(): ONE}), rest, -1), True)]
        self.positive += [bound for bound in bounds if bound not in self.positive]
        return add(whole, value)

    def contradicts(self, inequality) -> bool:
        self.positive.append(inequality)
        result = self.is_contradictory()
        self.positive.pop()
        return result

    def reciprocal(self, form: dict) -> dict:
        """1/t for a form t that is not 0."""
        s = self.sign(form)
        if not s:
            raise ZeroDivisionError
        form = add({}, self.reduce(form), s)
        if list(form) == [()]:
            return {(): s / form[()]}
        value = self.named(("1/", frozenset(form.items())))
        self.reciprocals.update(*value)
        equation = add(multiply(value, form), {(): ONE}, -1)
        leading = max((m for m in equation if m), key=lambda m: (len(m), m))
        if leading not in self.quotients:
            self.positive.append((value, True))
            self.quotients[leading] = value, equation
        return add({}, value, s)

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
            return multiply(a, b if f[0] == "*" else self.reciprocal(b))
        if f[0] == "floor":
            return self.floor(b)
        if f[0] == "power":
            return self.power(a, self.reduce(b))
        if f[0] == "abs":
            return b if self.sign(b, False) > 0 else add({}, b, -1)
        if f[0] == "gate":
            return b if self.sign(a) else {}
        s = self.sign(add(a, b, -1), f[0] not in ("max", "min"))
        if f[0] in ("less", "equal"):
            return {(): ONE} if s == (-1 if f[0] == "less" else 0) else {}
        return a if (s > 0) == (f[0] == "max") else b

    @staticmethod
    def power(base: dict, exponent: dict) -> dict:
        number = exponent.get((), 0)
        if exponent.keys() - {()} or number != int(number) or not 0 <= number <= 8:
            raise NotImplementedError
        result = {(): ONE}
        for _ in range(int(number)):
            result = multiply(result, base)
        return result

    def sign(self, form: dict, zero_matters=True) -> int:
        """The sign in this case; 0 may count as either sign if it does not matter."""
        form = self.reduce(form)
        if not form or list(form) == [()]:
            return sign(form.get((), 0))
        for known in [self.reduce(known) for known, strict in self.positive + self.always if strict or not zero_matters]:
            m = next(iter(form))
            if m in known and not add(form, known, -form[m] / known[m]):
                return sign(form[m] / known[m])
        raise Undecided(form, zero_matters)

    def is_contradictory(self) -> bool:
        """Whether no values make all forms positive: Fourier-Motzkin elimination, with products as variables. The signs of
        products of values of known signs are known, and of squares."""
        forms = [(self.reduce(form), strict) for form, strict in self.positive + self.always + self.given_forms()]
        linear = [(form, strict) for form, strict in forms if any(form) and all(len(m) < 2 for m in form)]
        single = [(*form.items(), strict) for form, strict in forms if len(form) == 1]
        signs = {m[0]: (sign(c), strict) for wanted in (False, True) for (m, c), strict in single
                 if len(m) == 1 and strict == wanted}
        for m in {m for form, _ in forms for m in form if len(m) > 1}:
            of = [(v, m.count(v) % 2) + signs.get(v, (0, False)) for v in set(m)]
            if all(s or not odd for _, odd, s, _ in of):
                product = prod(s for _, odd, s, _ in of if odd)
                forms = forms + [({m: ONE * product}, all(strict for *_, strict in of))]
        for value, _ in self.quotients.values():
            forms = forms + [(self.reduce(multiply(form, value)), strict) for form, strict in linear]
        while len(forms) <= MAX_INEQUALITIES:
            if any(not any(f) and (f.get((), 0) < 0 or (strict and f.get((), 0) == 0)) for f, strict in forms):
                return True
            chosen = next((m for form, _ in forms for m in form if m), None)
            if chosen is None:
                return False
            above = [(add({}, f, 1 / f[chosen]), strict) for f, strict in forms if f.get(chosen, 0) > 0]
            below = [(add({}, f, -1 / f[chosen]), strict) for f, strict in forms if f.get(chosen, 0) < 0]
            forms = [(f, strict) for f, strict in forms if chosen not in f] + \
                [(add(a, b), strict or other) for a, strict in above for b, other in below]
        return False

    def given_forms(self) -> list:
        """The guards on integers of the sum."""
        forms = []
        for guard in self.given:
            if all(a in self.atoms for m in guard.poly.terms for a in m):
                form = self.integer(guard.poly)
                forms += [(form, False)] + ([(add({}, form, -1), False)] if guard.equality else [])
        return forms


def names_of_functions(terms) -> set:
    names = set()
    for x in (x for p in terms for x in p.factors):
        names |= {x.symbol} if x.kind == "apply" else set()
        names = names.union(*map(names_of_functions, x.arguments))
    return names


def cancels_in_every_order(terms, functions: dict, given: tuple) -> bool:
    return CaseAnalysis(functions, names_of_functions(terms), given).vanishes(terms)
