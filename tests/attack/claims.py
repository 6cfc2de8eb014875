"""Random claims of definitions, true or almost: laws of functions, operators that commute, outputs that are truths or
integers. What they claim is evaluated here, by a formula's text alone: in fractions as far as they go, in floats beyond."""

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
function most(s, t) = max(s, t)
  law most(s, t) = most(t, s)
function below(s, t) = less(s, t)
function as_much(s, t) = equal(s, t)
function either(s, t) = gate(s, t)
function step(t) = floor(t)
"""
MEANING = {"recip": ("/", Fraction(1), "t"), "root": ("sqrt", "t"), "most": ("max", "s", "t"), "below": ("less", "s", "t"),
           "as_much": ("equal", "s", "t"), "either": ("gate", "s", "t"), "step": ("floor", "t")}


class Undefined(Exception):
    """A partial function outside of its domain."""


class Unclear(Exception):
    """Floats do not tell."""


def text(tree):
    if isinstance(tree, str):
        return tree
    if isinstance(tree, Fraction):
        return str(tree) if tree >= 0 else f"(0 - {-tree})"
    if tree[0] in BINARY:
        return f"({text(tree[1])} {tree[0]} {text(tree[2])})"
    if tree[0] == "sum":
        return f"(sum(p < n) {text(tree[1])})"
    if tree[0] == "case":
        return f"({text(tree[2])} if {tree[1]} else {text(tree[3])})"
    return f"{tree[0]}({', '.join(text(t) for t in tree[1:])})"


def is_close(a, b):
    return a == b or (not (isinstance(a, Fraction) and isinstance(b, Fraction)) and
                      abs(float(a) - float(b)) <= 1e-7 * max(1e-3, abs(float(a)), abs(float(b))))


def clear(*numbers):
    """Whether steps may be taken by these numbers: exact, or floats that are far from each other."""
    if all(isinstance(n, Fraction) for n in numbers):
        return
    if any(is_close(a, b) for i, a in enumerate(numbers) for b in numbers[:i]):
        raise Unclear()


def apply(op, *v):
    """One step of a formula. Raises Undefined outside of its domain, Unclear where rounding or overflow decides."""
    zero = Fraction(0)
    if op in ("max", "min"):
        return max(v) if op == "max" else min(v)
    if op == "abs":
        return abs(v[0])
    if op in ("less", "equal"):
        clear(*v)
        return Fraction(v[0] < v[1] if op == "less" else v[0] == v[1])
    if op == "gate":
        clear(v[0], zero)
        return v[1] if v[0] != 0 else zero
    if op == "/":
        clear(v[1], zero)
        if v[1] == 0:
            raise Undefined()
    if op in BINARY:
        a, b = v if all(isinstance(n, Fraction) for n in v) else map(float, v)
        made = a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
        if isinstance(made, float) and op in "+-" and abs(made) < 1e-6 * max(abs(a), abs(b)):
            raise Unclear()
        return made
    if op == "floor":
        if not isinstance(v[0], Fraction) and abs(v[0] - round(v[0])) < 1e-6:
            raise Unclear()
        return Fraction(math.floor(v[0]))
    return real(op, v[0])


def real(op, t):
    if op in ("log", "sqrt"):
        clear(t, Fraction(0))
        if t < 0 or (op == "log" and t == 0):
            raise Undefined()
    if op == "asin":
        clear(abs(t), Fraction(1))
        if abs(t) > 1:
            raise Undefined()
    if t == 0 and op not in ("exp", "cos"):
        return Fraction(0)
    if t == 0:
        return Fraction(1)
    made = REAL[op](t)
    if math.isinf(made) or (made == 0 and op == "exp"):
        raise OverflowError()
    return made


def value(tree, names):
    """Of a formula over its arguments, or over what it reads."""
    if isinstance(tree, str):
        return names[tree]
    if isinstance(tree, Fraction):
        return tree
    arguments = [value(t, names) for t in tree[1:]]
    if tree[0] in MEANING:
        return value(MEANING[tree[0]], dict(zip("st" if len(arguments) == 2 else "t", arguments)))
    return apply(tree[0], *arguments)


class Formulas:
    """Random formulas, and such as obey a law or did before one place of them was changed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        return Fraction(self.pick(-2, -1, 0, 1, 1, 2, 2, 3, 50), self.pick(1, 1, 2))

    def any(self, names, depth):
        if depth == 0 or self.chance(0.15):
            return self.pick(*names) if self.chance(0.75) else self.number()
        op = self.pick("+", "-", "*", "/", "+", "*", "max", "min", "less", "equal", "gate", "abs", "exp", "log", "sqrt",
                       "tanh", "floor", "sin", "asin", "erf")
        operands = 1 if op in REAL or op in ("abs", "floor") else 2
        return (op,) + tuple(self.any(names, depth - 1) for _ in range(operands))

    def of_degree(self, names, depth, degree):
        """c^degree times as large where the arguments are c times as large."""
        if depth == 0:
            t = self.pick(*names)
            return t if degree == 1 else ("/", Fraction(1), t) if degree == -1 else self.pick(("/", t, t), abs(self.number()))
        kind = self.random.randrange(7)
        if kind < 2:
            return (self.pick("+", "-", "max", "min"), self.of_degree(names, depth - 1, degree),
                    self.of_degree(names, depth - 1, degree))
        if kind == 2:
            return ("*", self.of_degree(names, depth - 1, degree), self.of_degree(names, depth - 1, 0))
        if kind == 3:
            return ("/", self.of_degree(names, depth - 1, degree), self.of_degree(names, depth - 1, 0))
        if kind == 4:
            return ("gate", self.of_degree(names, depth - 1, self.pick(0, 1)), self.of_degree(names, depth - 1, degree))
        if kind == 5 and degree == 0:
            return (self.pick("exp", "tanh", "floor", "sin", "log"), self.of_degree(names, depth - 1, 0))
        part = self.of_degree(names, depth - 1, degree)
        return ("sqrt", ("*", part, part)) if self.chance(0.5) else ("abs", part)

    def rising(self, depth, sign=1):
        """Rises with t, or falls."""
        if depth == 0:
            return "t" if sign == 1 else ("-", Fraction(0), "t")
        kind = self.random.randrange(6)
        if kind == 0:
            return (self.pick("+", "max", "min"), self.rising(depth - 1, sign), self.rising(depth - 1, sign))
        if kind == 1:
            return ("-", self.rising(depth - 1, sign), self.rising(depth - 1, -sign))
        if kind == 2:
            return ("*", self.number(), self.rising(depth - 1, sign))
        if kind == 3:
            return ("/", self.pick(Fraction(1), ("exp", self.rising(depth - 1, sign))),
                    self.pick(("exp", self.rising(depth - 1, -sign)), ("+", Fraction(1), ("exp", self.rising(depth - 1, -sign)))))
        if kind == 4:
            return (self.pick("exp", "tanh", "erf"), self.rising(depth - 1, sign))
        return (self.pick("sqrt", "log"), self.pick(self.rising(depth - 1, sign), ("exp", self.rising(depth - 1, sign))))

    def of_parity(self, depth, odd):
        """Turned with t, or not changed by that."""
        if depth == 0:
            return "t" if odd else self.pick(("abs", "t"), ("*", "t", "t"), self.number())
        kind = self.random.randrange(6)
        if kind == 0:
            return (self.pick("+", "-"), self.of_parity(depth - 1, odd), self.of_parity(depth - 1, odd))
        if kind < 3:
            first = self.chance(0.5)
            return (self.pick("*", "/"), self.of_parity(depth - 1, first), self.of_parity(depth - 1, first != odd))
        if kind == 3 and odd:
            return ("max", self.number(), ("min", self.number(), "t"))  # one in a few
        if odd:
            return (self.pick("tanh", "erf", "sin", "asin", "atan"), self.of_parity(depth - 1, True))
        if kind == 3:
            return (self.pick("abs", "cos"), self.of_parity(depth - 1, True))
        if kind == 4:
            return (self.pick("exp", "sqrt", "log", "floor", "asin"), self.of_parity(depth - 1, False))
        return (self.pick("max", "min", "less", "gate"), self.of_parity(depth - 1, False), self.of_parity(depth - 1, False))

    def bent(self, depth):
        if depth == 0:
            return "t" if self.chance(0.6) else self.number()
        if self.chance(0.3):
            return ("*", self.number(), self.bent(depth - 1))
        return (self.pick("max", "min", "max", "min", "+", "-"), self.bent(depth - 1), self.bent(depth - 1))

    def exchanged(self, tree, one="s", other="t"):
        if isinstance(tree, str):
            return tree.replace(one, "#").replace(other, one).replace("#", other)
        return tree if isinstance(tree, Fraction) else tree[:1] + tuple(self.exchanged(t, one, other) for t in tree[1:])

    def mixed(self, tree):
        """Arguments of what commutes in another order; sums cut elsewhere."""
        if not isinstance(tree, tuple):
            return tree
        tree = tree[:1] + tuple(self.mixed(t) for t in tree[1:])
        if tree[0] in ("+", "*", "max", "min", "equal") and self.chance(0.5):
            return (tree[0], tree[2], tree[1])
        return tree

    def changed(self, tree, leaves):
        """Something else at one place; or a term that cancels, but asks for more."""
        if self.chance(0.3):
            part = (self.pick("log", "sqrt", "asin"), self.pick(*leaves)) if self.chance(0.5) else ("/", Fraction(1), self.pick(*leaves))
            return ("+", tree, ("-", part, part))
        if not isinstance(tree, tuple) or self.chance(0.2):
            return self.pick(*leaves, self.number())
        k = self.random.randrange(1, len(tree))
        return tree[:k] + (self.changed(tree[k], leaves),) + tree[k + 1:]

    def symmetric(self, leaves, make, one, other):
        part = make()
        form = (self.pick("+", "*", "max", "min"), self.mixed(part), self.mixed(self.exchanged(part, one, other)))
        if self.chance(0.3):  # sums cut elsewhere, of parts that commute
            p, q, r = (self.symmetric_part(one, other) for _ in range(3))
            one_cut, other_cut = (self.pick(("max", p, ("+", q, r)), ("max", ("+", p, q), r)) for _ in range(2))
            form = ("+", form, ("*", self.pick(*leaves), ("-", one_cut, other_cut)))
        return form

    def symmetric_part(self, one, other):
        base = self.pick(("+", one, other), ("*", one, other), ("max", one, other))
        return ("*", base, base) if self.chance(0.3) else base

    def law(self):
        """(law, formula): true by how it was made, or changed, or anything."""
        law = self.pick(*LAWS)
        depth, names = self.pick(1, 2, 2, 3), ["s", "t"] if law in ("commutative", "scaling of two") else ["t"]
        if self.chance(0.1):
            return law, self.any(names, depth)
        made = {"zero": lambda: self.any(names, depth),
                "idempotent": lambda: self.bent(depth),
                "exponential": lambda: ("exp", self.pick(("*", self.number(), "t"), ("/", "t", Fraction(3)), self.bent(1))),
                "scaling": lambda: self.of_degree(names, depth, 1), "reciprocal": lambda: self.of_degree(names, depth, -1),
                "scaling of two": lambda: self.of_degree(names, depth, 1), "monotone": lambda: self.rising(depth),
                "odd": lambda: self.of_parity(depth, True), "even": lambda: self.of_parity(depth, False),
                "commutative": lambda: self.symmetric(names, lambda: self.any(names, depth), "s", "t")}[law]()
        return law, self.changed(made, names) if self.chance(0.4) else made

    def points(self, tree):
        """Exact arguments, with those around the formula's numbers."""
        around = {Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-3), Fraction(7), Fraction(1000),
                  Fraction(1, 1000), Fraction(-1, 1000)}
        for part in parts(tree):
            if isinstance(part, Fraction):
                around |= {part, -part, part / 2, 2 * part, part + 1, part - 1, part + Fraction(1, 97)}
        around |= {Fraction(self.random.randint(-400, 400), self.pick(1, 7, 10)) for _ in range(6)}
        return sorted(around)

    # Operators over a[n] and b[n]; an element reads at i, at the other end, at 0, or sums.
    def operator(self, leaves, depth, summed=True):
        if depth == 0:
            return self.pick(*leaves) if self.chance(0.85) else abs(self.number())
        kind = self.random.randrange(10)
        if kind < 4:
            return (self.pick("+", "-", "*"), self.operator(leaves, depth - 1), self.operator(leaves, depth - 1))
        if kind == 4:
            return ("case", self.pick("i = 0", "2 * i < n"), self.operator(leaves, depth - 1), self.operator(leaves, depth - 1))
        if kind == 5:
            return (self.pick("recip", "root", "step"), self.operator(leaves, depth - 1))
        return (self.pick("most", "below", "as_much", "either"), self.operator(leaves, depth - 1), self.operator(leaves, depth - 1))


def parts(tree):
    yield tree
    if isinstance(tree, tuple):
        for part in tree[1:]:
            yield from parts(part)


def holds(law, tree, point):
    """Whether the law holds at the point: s, t, and a factor c above 0. A partial function counts as 0 where it is
    undefined; what scales or commutes is undefined at the same points."""
    s, t, c = point

    def f(*arguments):
        return value(tree, dict(zip("st" if len(arguments) == 2 else "t", arguments)))

    def total(*arguments):
        try:
            return f(*arguments)
        except Undefined:
            return Fraction(0)

    def same(one, other, factor=Fraction(1)):
        values = []
        for arguments in (one, other):
            try:
                values.append(f(*arguments))
            except Undefined:
                values.append(None)
        if None in values:
            return values == [None, None]
        return is_close(values[0], apply("*", factor, values[1]))
    if law == "zero":
        return is_close(total(Fraction(0)), Fraction(0))
    if law == "idempotent":
        return is_close(total(total(t)), total(t))
    if law == "exponential":
        return is_close(total(s + t), apply("*", total(s), total(t)))
    if law == "monotone":
        low, high = total(min(s, t)), total(max(s, t))
        return low <= high or is_close(low, high)
    if law == "commutative":
        return same((s, t), (t, s))
    if law == "scaling of two":
        return same((c * s, c * t), (s, t), c)
    if law in ("odd", "even"):
        return same((-t,), (t,), Fraction(-1 if law == "odd" else 1))
    return same((c * t,), (t,), c if law == "scaling" else 1 / c)
