"""Generates and evaluates random declarations of definitions, many of them almost true: laws of functions, commutative
operators, outputs of bool or int. Formulas are evaluated in fractions where these are exact, else in floats."""

import math
import random
from fractions import Fraction

BINARY = {"+", "-", "*", "/"}
LAWS = {"zero": "{f}(0) = 0", "idempotent": "{f}({f}(t)) = {f}(t)", "exponential": "{f}(s + t) = {f}(s) * {f}(t)",
        "scaling": "{f}(c * t) = c * {f}(t)", "reciprocal": "{f}(c * t) = {f}(t) / c",
        "monotone": "max({f}(s), {f}(t)) = {f}(max(s, t))", "commutative": "{f}(s, t) = {f}(t, s)",
        "scaling of two": "{f}(c * s, c * t) = c * {f}(s, t)", "odd": "{f}(-t) = -{f}(t)", "even": "{f}(-t) = {f}(t)"}
REAL = {"exp": math.exp, "log": math.log, "tanh": math.tanh, "erf": math.erf, "sin": math.sin, "cos": math.cos,
        "atan": math.atan, "sqrt": math.sqrt, "asin": math.asin}
FUNCTIONS = """function recip(t) = 1 / t
function root(t) = sqrt(t)
function larger(s, t) = max(s, t)
  law larger(s, t) = larger(t, s)
function less_than(s, t) = less(s, t)
function equal_to(s, t) = equal(s, t)
function gated(s, t) = gate(s, t)
function step(t) = floor(t)
"""
FORMULAS = {"recip": ("/", Fraction(1), "t"), "root": ("sqrt", "t"), "larger": ("max", "s", "t"),
            "less_than": ("less", "s", "t"), "equal_to": ("equal", "s", "t"), "gated": ("gate", "s", "t"),
            "step": ("floor", "t")}


class Undefined(Exception):
    """A partial function outside of its domain."""


class Undecided(Exception):
    """Rounding decides the result."""


def formula_text(tree):
    if isinstance(tree, str):
        return tree
    if isinstance(tree, Fraction):
        return str(tree) if tree >= 0 else f"(0 - {-tree})"
    if tree[0] in BINARY:
        return f"({formula_text(tree[1])} {tree[0]} {formula_text(tree[2])})"
    if tree[0] == "case":
        return f"({formula_text(tree[2])} if {tree[1]} else {formula_text(tree[3])})"
    return f"{tree[0]}({', '.join(formula_text(t) for t in tree[1:])})"


def is_close(a, b):
    return a == b or (not (isinstance(a, Fraction) and isinstance(b, Fraction)) and
                      abs(float(a) - float(b)) <= 1e-7 * max(1e-3, abs(float(a)), abs(float(b))))


def require_distinct(*numbers):
    """Raises Undecided if some of the numbers are floats and two of them are almost equal."""
    if all(isinstance(n, Fraction) for n in numbers):
        return
    if any(is_close(a, b) for i, a in enumerate(numbers) for b in numbers[:i]):
        raise Undecided()


def apply(op, *v):
    """Applies a function. Raises Undefined outside its domain, Undecided or OverflowError where floats fail."""
    zero = Fraction(0)
    if op in ("max", "min"):
        return max(v) if op == "max" else min(v)
    if op == "abs":
        return abs(v[0])
    if op in ("less", "equal"):
        require_distinct(*v)
        return Fraction(v[0] < v[1] if op == "less" else v[0] == v[1])
    if op == "gate":
        require_distinct(v[0], zero)
        return v[1] if v[0] != 0 else zero
    if op == "/":
        require_distinct(v[1], zero)
        if v[1] == 0:
            raise Undefined()
    if op in BINARY:
        a, b = v if all(isinstance(n, Fraction) for n in v) else map(float, v)
        result = a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
        if isinstance(result, float) and op in "+-" and abs(result) < 1e-6 * max(abs(a), abs(b)):
            raise Undecided()
        return result
    if op == "floor":
        if not isinstance(v[0], Fraction) and abs(v[0] - round(v[0])) < 1e-6:
            raise Undecided()
        return Fraction(math.floor(v[0]))
    return apply_real(op, v[0])


def apply_real(op, t):
    if op in ("log", "sqrt"):
        require_distinct(t, Fraction(0))
        if t < 0 or (op == "log" and t == 0):
            raise Undefined()
    if op == "asin":
        require_distinct(abs(t), Fraction(1))
        if abs(t) > 1:
            raise Undefined()
    if t == 0 and op not in ("exp", "cos"):
        return Fraction(0)
    if t == 0:
        return Fraction(1)
    result = REAL[op](t)
    if math.isinf(result) or (result == 0 and op == "exp"):
        raise OverflowError()
    return result


def evaluate(tree, names):
    """Evaluates a formula; `names` has the values of its leaves."""
    if isinstance(tree, str):
        return names[tree]
    if isinstance(tree, Fraction):
        return tree
    arguments = [evaluate(t, names) for t in tree[1:]]
    if tree[0] in FORMULAS:
        return evaluate(FORMULAS[tree[0]], dict(zip("st" if len(arguments) == 2 else "t", arguments)))
    return apply(tree[0], *arguments)


class Formulas:
    """Generates random formulas, among them such that satisfy a law, or did before they were mutated at first place."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        return Fraction(self.pick(-2, -1, 0, 1, 1, 2, 2, 3, 50), self.pick(1, 1, 2))

    def formula(self, names, depth):
        if depth == 0 or self.chance(0.15):
            return self.pick(*names) if self.chance(0.75) else self.number()
        op = self.pick("+", "-", "*", "/", "+", "*", "max", "min", "less", "equal", "gate", "abs", "exp", "log", "sqrt",
                       "tanh", "floor", "sin", "asin", "erf")
        operands = 1 if op in REAL or op in ("abs", "floor") else 2
        return (op,) + tuple(self.formula(names, depth - 1) for _ in range(operands))

    def homogeneous(self, names, depth, degree):
        """Generates a formula f with f(c t) = c^degree f(t) for c > 0."""
        if depth == 0:
            t = self.pick(*names)
            if degree == 0:
                return self.pick(("/", t, t), abs(self.number()))
            return t if degree == 1 else ("/", Fraction(1), t)
        kind = self.random.randrange(7)
        if kind < 2:
            return (self.pick("+", "-", "max", "min"), self.homogeneous(names, depth - 1, degree),
                    self.homogeneous(names, depth - 1, degree))
        if kind == 2:
            return ("*", self.homogeneous(names, depth - 1, degree), self.homogeneous(names, depth - 1, 0))
        if kind == 3:
            return ("/", self.homogeneous(names, depth - 1, degree), self.homogeneous(names, depth - 1, 0))
        if kind == 4:
            return ("gate", self.homogeneous(names, depth - 1, self.pick(0, 1)),
                    self.homogeneous(names, depth - 1, degree))
        if kind == 5 and degree == 0:
            return (self.pick("exp", "tanh", "floor", "sin", "log"), self.homogeneous(names, depth - 1, 0))
        part = self.homogeneous(names, depth - 1, degree)
        return ("sqrt", ("*", part, part)) if self.chance(0.5) else ("abs", part)

    def monotone(self, depth, sign=1):
        """Generates a formula that is nondecreasing in t, or nonincreasing if sign is -1."""
        if depth == 0:
            return "t" if sign == 1 else ("-", Fraction(0), "t")
        kind = self.random.randrange(6)
        if kind == 0:
            return (self.pick("+", "max", "min"), self.monotone(depth - 1, sign), self.monotone(depth - 1, sign))
        if kind == 1:
            return ("-", self.monotone(depth - 1, sign), self.monotone(depth - 1, -sign))
        if kind == 2:
            return ("*", self.number(), self.monotone(depth - 1, sign))
        if kind == 3:
            return ("/", self.pick(Fraction(1), ("exp", self.monotone(depth - 1, sign))),
                    self.pick(("exp", self.monotone(depth - 1, -sign)),
                              ("+", Fraction(1), ("exp", self.monotone(depth - 1, -sign)))))
        if kind == 4:
            return (self.pick("exp", "tanh", "erf"), self.monotone(depth - 1, sign))
        return (self.pick("sqrt", "log"),
                self.pick(self.monotone(depth - 1, sign), ("exp", self.monotone(depth - 1, sign))))

    def with_parity(self, depth, odd):
        """Generates an odd or even formula of t."""
        if depth == 0:
            return "t" if odd else self.pick(("abs", "t"), ("*", "t", "t"), self.number())
        kind = self.random.randrange(6)
        if kind == 0:
            return (self.pick("+", "-"), self.with_parity(depth - 1, odd), self.with_parity(depth - 1, odd))
        if kind < 3:
            first = self.chance(0.5)
            return (self.pick("*", "/"), self.with_parity(depth - 1, first), self.with_parity(depth - 1, first != odd))
        if kind == 3 and odd:
            return ("max", self.number(), ("min", self.number(), "t"))  # odd for few of these numbers
        if odd:
            return (self.pick("tanh", "erf", "sin", "asin", "atan"), self.with_parity(depth - 1, True))
        if kind == 3:
            return (self.pick("abs", "cos"), self.with_parity(depth - 1, True))
        if kind == 4:
            return (self.pick("exp", "sqrt", "log", "floor", "asin"), self.with_parity(depth - 1, False))
        return (self.pick("max", "min", "less", "gate"), self.with_parity(depth - 1, False),
                self.with_parity(depth - 1, False))

    def piecewise_linear(self, depth):
        if depth == 0:
            return "t" if self.chance(0.6) else self.number()
        if self.chance(0.3):
            return ("*", self.number(), self.piecewise_linear(depth - 1))
        return (self.pick("max", "min", "max", "min", "+", "-"), self.piecewise_linear(depth - 1),
                self.piecewise_linear(depth - 1))

    def swap_arguments(self, tree, first="s", second="t"):
        if isinstance(tree, str):
            return tree.replace(first, "#").replace(second, first).replace("#", second)
        if isinstance(tree, Fraction):
            return tree
        return tree[:1] + tuple(self.swap_arguments(t, first, second) for t in tree[1:])

    def reorder(self, tree):
        """Returns an equal formula with arguments of commutative functions in another order."""
        if not isinstance(tree, tuple):
            return tree
        tree = tree[:1] + tuple(self.reorder(t) for t in tree[1:])
        if tree[0] in ("+", "*", "max", "min", "equal") and self.chance(0.5):
            return (tree[0], tree[2], tree[1])
        return tree

    def mutate(self, tree, leaves):
        """Changes first place, or adds a term that cancels but is undefined somewhere."""
        if self.chance(0.3):
            if self.chance(0.5):
                part = (self.pick("log", "sqrt", "asin"), self.pick(*leaves))
            else:
                part = ("/", Fraction(1), self.pick(*leaves))
            return ("+", tree, ("-", part, part))
        if not isinstance(tree, tuple) or self.chance(0.2):
            return self.pick(*leaves, self.number())
        k = self.random.randrange(1, len(tree))
        return tree[:k] + (self.mutate(tree[k], leaves),) + tree[k + 1:]

    def symmetric(self, leaves, make, first, second):
        part = make()
        form = (self.pick("+", "*", "max", "min"), self.reorder(part),
                self.reorder(self.swap_arguments(part, first, second)))
        if self.chance(0.3):  # maxima of partial sums, associated differently
            p, q, r = (self.symmetric_operand(first, second) for _ in range(3))
            first_max, second_max = (self.pick(("max", p, ("+", q, r)), ("max", ("+", p, q), r)) for _ in range(2))
            form = ("+", form, ("*", self.pick(*leaves), ("-", first_max, second_max)))
        return form

    def symmetric_operand(self, first, second):
        base = self.pick(("+", first, second), ("*", first, second), ("max", first, second))
        return ("*", base, base) if self.chance(0.3) else base

    def law(self):
        """Returns a law with a formula that satisfies it by construction, a mutant of one, or an arbitrary formula."""
        law = self.pick(*LAWS)
        depth, names = self.pick(1, 2, 2, 3), ["s", "t"] if law in ("commutative", "scaling of two") else ["t"]
        if self.chance(0.1):
            return law, self.formula(names, depth)
        make = {"zero": lambda: self.formula(names, depth),
                "idempotent": lambda: self.piecewise_linear(depth),
                "exponential": lambda: ("exp", self.pick(("*", self.number(), "t"), ("/", "t", Fraction(3)),
                                                         self.piecewise_linear(1))),
                "scaling": lambda: self.homogeneous(names, depth, 1),
                "reciprocal": lambda: self.homogeneous(names, depth, -1),
                "scaling of two": lambda: self.homogeneous(names, depth, 1),
                "monotone": lambda: self.monotone(depth),
                "odd": lambda: self.with_parity(depth, True),
                "even": lambda: self.with_parity(depth, False),
                "commutative": lambda: self.symmetric(names, lambda: self.formula(names, depth), "s", "t")}[law]
        result = make()
        return law, self.mutate(result, names) if self.chance(0.4) else result

    def sample_points(self, tree):
        """Returns exact arguments, among them some near the formula's numbers."""
        around = {Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-3), Fraction(7), Fraction(1000),
                  Fraction(1, 1000), Fraction(-1, 1000)}
        for part in subtrees(tree):
            if isinstance(part, Fraction):
                around |= {part, -part, part / 2, 2 * part, part + 1, part - 1, part + Fraction(1, 97)}
        around |= {Fraction(self.random.randint(-400, 400), self.pick(1, 7, 10)) for _ in range(6)}
        return sorted(around)

    # Operators over a[n] and b[n], whose elements read at i, at n - 1 - i and at 0.
    def operator(self, leaves, depth):
        if depth == 0:
            return self.pick(*leaves) if self.chance(0.85) else abs(self.number())
        kind = self.random.randrange(10)
        if kind < 4:
            return (self.pick("+", "-", "*"), self.operator(leaves, depth - 1), self.operator(leaves, depth - 1))
        if kind == 4:
            return ("case", self.pick("i = 0", "2 * i < n"), self.operator(leaves, depth - 1),
                    self.operator(leaves, depth - 1))
        if kind == 5:
            return (self.pick("recip", "root", "step"), self.operator(leaves, depth - 1))
        return (self.pick("larger", "less_than", "equal_to", "gated"), self.operator(leaves, depth - 1),
                self.operator(leaves, depth - 1))


def subtrees(tree):
    yield tree
    if isinstance(tree, tuple):
        for part in tree[1:]:
            yield from subtrees(part)


def holds(law, tree, point):
    """Returns whether the law holds at the point: s, t, and a factor c > 0. A partial function counts as 0 where it is
    undefined. Both sides of a scaling, parity or commutativity law must be undefined at the same points."""
    s, t, c = point

    def f(*arguments):
        return evaluate(tree, dict(zip("st" if len(arguments) == 2 else "t", arguments)))

    def f_or_zero(*arguments):
        try:
            return f(*arguments)
        except Undefined:
            return Fraction(0)

    def equal(first, second, factor=Fraction(1)):
        values = []
        for arguments in (first, second):
            try:
                values.append(f(*arguments))
            except Undefined:
                values.append(None)
        if None in values:
            return values == [None, None]
        return is_close(values[0], apply("*", factor, values[1]))
    if law == "zero":
        return is_close(f_or_zero(Fraction(0)), Fraction(0))
    if law == "idempotent":
        return is_close(f_or_zero(f_or_zero(t)), f_or_zero(t))
    if law == "exponential":
        return is_close(f_or_zero(s + t), apply("*", f_or_zero(s), f_or_zero(t)))
    if law == "monotone":
        low, high = f_or_zero(min(s, t)), f_or_zero(max(s, t))
        return low <= high or is_close(low, high)
    if law == "commutative":
        return equal((s, t), (t, s))
    if law == "scaling of two":
        return equal((c * s, c * t), (s, t), c)
    if law in ("odd", "even"):
        return equal((-t,), (t,), Fraction(-1 if law == "odd" else 1))
    return equal((c * t,), (t,), c if law == "scaling" else 1 / c)
