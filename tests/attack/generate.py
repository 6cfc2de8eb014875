"""Random pairs of operators that are equal, or were before one of them was changed at one place, and rules that say that
they are. The second is made of the first by steps that keep its meaning, so that much is there for a prover to follow."""

import random

from parser import Operator, Rule, Tensor
from writing import CONDITION, INDEX, SCALAR, operator_text, parts, renamed, replaced, rule_text

FUNCTIONS = """function relu(t) = max(t, 0)
  law relu(0) = 0
  law relu(relu(t)) = relu(t)
function h(t) = exp(t)
function recip(t) = 1 / t
"""
SPLIT = """operator split(x[d...]; axis < rank, at: size)
  where at < d[axis]
  first[i... < d... with axis: at] = x[i...]
  second[i... < d... with axis: d[axis] - at] = x[i... with axis: i[axis] + at]
"""
NEGATED = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "=": "!=", "!=": "="}


def num(value):
    return ("num", value) if value >= 0 else ("neg", ("num", -value))


def name(text):
    return ("name", text)


def call(function, *operands):
    return ("call", function, list(operands))


def guarded(value, conditions):
    return ("if", conditions, value, num(0))


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.fresh = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def new(self):
        self.fresh += 1
        return f"p{self.fresh}"

    def number(self):
        return self.pick(1, 1, 2, 2, 2, 3, 4, 5, 50) if self.chance(0.9) else self.random.randint(1, 9)

    # Index expressions over the indices in scope and the sizes.
    def size(self):
        n, c = name(self.pick(*self.sizes)), num(self.number())
        return self.pick(n, n, n, c, ("+", n, c), ("*", c, n), ("//", ("+", n, c), c), call("min", n, c),
                         call("max", n, c), ("*", n, name(self.pick(*self.sizes))))

    def index(self, scope, depth=2):
        i = name(self.pick(*scope))
        if depth == 0 or self.chance(0.35):
            return i if self.chance(0.9) else num(self.number() - 1)
        a, c = self.index(scope, depth - 1), num(self.number())
        n = name(self.pick(*self.measured))
        return self.pick(("+", a, c), ("-", a, c), ("*", c, a), ("//", a, c), ("%", a, c), ("-", ("-", n, num(1)), i),
                         ("//", ("+", a, c), n), ("%", ("+", a, c), n), ("+", ("*", a, n), i), ("//", a, n),
                         ("+", a, i), ("-", a, i), call("min", a, n), call("max", ("-", a, c), num(0)),
                         ("//", ("+", ("*", num(2), i), num(1)), ("*", num(2), n)), ("+", ("*", c, a), i), ("-", a, n),
                         ("%", ("*", c, a), n), ("//", ("+", ("*", a, n), i), ("*", c, n)))

    def condition(self, scope, depth=1):
        a = self.index(scope, depth)
        b = self.pick(num(self.number()), name(self.pick(*self.sizes)), name(self.pick(*scope)), self.index(scope, depth))
        if self.chance(0.2):
            a, b = name(self.pick(*self.sizes)), num(self.pick(1, 2, 3, 5, 50))
        if self.chance(0.15):
            return ("=", ("%", a, num(self.pick(2, 3))), num(self.pick(0, 1)))
        return (self.pick("<", "<", "<=", "=", ">", ">=", "!="), a, b)

    def bound(self, scope):
        if self.chance(0.12):
            i = name(self.pick(*scope))
            return self.pick(("+", i, num(1)), ("-", self.size(), i), call("min", ("+", i, num(1)), self.size()))
        return self.pick(name(self.pick(*self.sizes)), name(self.pick(*self.sizes)), num(self.number() % 6 + 1), self.size())

    def read(self, scope):
        tensor, dims = self.pick(*self.inputs)
        return ("read", tensor, [("one", self.index(scope)) for _ in dims])

    def scalar(self, scope, depth):
        if depth == 0 or self.chance(0.1):
            return self.read(scope)
        kind = self.random.random()
        if kind < 0.2:
            p = self.new()
            return ("sum", [("index", p, self.bound(scope))], [], self.scalar(scope + [p], depth - 1))
        if kind < 0.27:
            p, q = self.new(), self.new()
            return ("sum", [("index", p, self.bound(scope)), ("index", q, self.bound(scope))], [],
                    self.scalar(scope + [p, q], depth - 1))
        if kind < 0.33:
            p = self.new()
            where = [self.condition(scope + [p])] if self.chance(0.5) else []
            return ("max", [("index", p, self.bound(scope))], where, self.scalar(scope + [p], depth - 1))
        if kind < 0.5:
            return ("if", [self.condition(scope) for _ in range(self.pick(1, 1, 2))], self.scalar(scope, depth - 1),
                    self.pick(num(0), self.scalar(scope, depth - 1)))
        if kind < 0.65:
            return (self.pick("+", "-"), self.scalar(scope, depth - 1), self.scalar(scope, depth - 1))
        if kind < 0.75:
            return ("*", self.scalar(scope, depth - 1), self.read(scope))
        if kind < 0.83:
            return ("apply", self.pick("relu", "relu", "h", "recip"), [self.scalar(scope, depth - 1)])
        if kind < 0.88:
            return ("/", self.scalar(scope, depth - 1), self.size())
        return self.read(scope)

    def operator(self, called, inputs, depth):
        """An operator over inputs (name, sizes)."""
        self.inputs = inputs
        self.measured = sorted({size for _, dims in inputs for size in dims})  # what may divide
        self.sizes = list(self.measured)
        op = Operator(called, inputs=[(t, [("name", d) for d in dims]) for t, dims in inputs])
        if self.chance(0.15):
            n = name(self.pick(*self.sizes))
            op.where.append((self.pick(("=", ("%", n, num(2)), num(0)), ("<=", n, num(60)), (">", n, num(self.number())),
                                       ("<=", name(self.sizes[0]), name(self.sizes[-1]))), []))
        if self.chance(0.2):
            n = name(self.pick(*self.sizes))
            op.lets.append(("e", self.pick(call("min", ("+", ("//", n, num(3)), num(1)), num(4)),
                                           ("//", ("+", n, num(1)), num(2)), ("+", n, num(2)))))
            self.sizes.append("e")
        scope, items = [], []
        for i in ("i", "j")[:self.pick(1, 1, 2)]:
            items.append(("index", i, self.size()))
            scope.append(i)
        op.outputs.append(Tensor("y", items, self.scalar(scope, depth)))
        return op

    # Steps that keep the meaning; each returns the new part, or nothing where it does not apply.
    def same_index(self, value):
        a, c = value, num(self.pick(2, 3, 5))
        n = name(self.pick(*self.sizes))
        ways = [("//", ("*", a, c), c), ("//", ("+", ("*", a, c), num(c[1] - 1)), c), ("-", ("+", a, n), n),
                ("//", ("*", a, n), n), ("+", ("*", ("//", a, c), c), ("%", a, c)), call("max", a, ("-", a, n))]
        if value[0] == "//":
            a, b = value[1:]
            finer = ("//", ("+", ("*", a, c), num(self.random.randrange(c[1]))), ("*", b, c))
            ways += [("-", ("//", ("+", a, b), b), num(1)), ("//", ("*", a, n), ("*", n, b)), finer, finer,
                     ("//", ("-", a, ("%", a, b)), b)] * 2
            if a[0] == "//":
                ways += [("//", a[1], ("*", a[2], b))] * 4
        if value[0] == "%":
            a, b = value[1:]
            ways += [("-", a, ("*", b, ("//", a, b))), ("%", ("+", a, b), b), ("%", ("%", a, ("*", b, c)), b)] * 3
        if value[0] == "call":
            a, b = value[2]
            other = "max" if value[1] == "min" else "min"
            ways += [("-", ("+", a, b), call(other, a, b)), call(value[1], b, a)] * 3
        return self.random.choice(ways)

    def same_condition(self, value):
        relation, a, b = value
        ways = [(relation, ("+", a, num(3)), ("+", b, num(3))), (relation, ("*", a, num(2)), ("*", b, num(2)))]
        if relation == "<":
            ways += [("<=", ("+", a, num(1)), b), (">", b, a)]
        if relation == "<=":
            ways += [("<", a, ("+", b, num(1))), (">=", b, a)]
        if relation in ("=", "!="):
            ways.append((relation, b, a))
        return self.random.choice(ways)

    def same_scalar(self, value):
        kind = value[0]
        ways = []
        if kind == "read":
            dims = dict(self.inputs).get(value[1])
            if dims:
                inside = [c for d, (_, e) in zip(dims, value[2]) for c in (("<=", num(0), e), ("<", e, name(d)))]
                ways += [guarded(value, inside), guarded(value, [self.random.choice(inside)])]
        if kind == "if":
            _, conditions, a, b = value
            if len(conditions) == 1:
                relation, left, right = conditions[0]
                opposite = [(NEGATED[relation], left, right)]
                ways += [("if", opposite, b, a), ("+", guarded(a, conditions), guarded(b, opposite))]
            else:
                ways += [("if", conditions[:1], ("if", conditions[1:], a, b), b)]
        if kind in ("+", "*"):
            ways += [(kind, value[2], value[1])]
        if kind == "*" and value[1][0] in ("+", "-"):
            ways += [(value[1][0], ("*", value[1][1], value[2]), ("*", value[1][2], value[2]))]
        if kind == "-":
            ways += [("+", value[1], ("neg", value[2]))]
        if kind in ("sum", "max") and all(b[0] == "index" for b in value[1]):
            ways += self.same_reduction(value)
        if kind == "apply" and value[1] == "relu":
            ways += [("apply", "relu", [value])]
        return self.random.choice(ways) if ways else None

    def same_reduction(self, value):
        kind, binders, where, body = value
        k = self.random.randrange(len(binders))
        _, p, bound = binders[k]
        others = binders[:k] + binders[k + 1:]
        c, q = num(self.pick(1, 2, 3)), self.new()

        def with_index(name_of, limit, index, extra):
            made = [b if b[1] != p else ("index", name_of, limit) for b in binders]
            inner = renamed(body, {p: index})
            kept = renamed(where, {p: index})
            if kind == "max":
                return ("max", made, kept + extra, inner)
            return ("sum", made, [], guarded(inner, extra) if extra else inner)
        dependent = any(p in repr(b[2]) for b in others)
        if dependent:
            return [value]
        ways = [with_index(q, bound, ("-", ("-", bound, num(1)), name(q)), []),
                with_index(q, ("+", bound, c), name(q), [("<", name(q), bound)]),
                with_index(q, ("+", bound, c), ("-", name(q), c), [("<=", c, name(q))]),
                with_index(q, ("*", bound, c), ("//", name(q), c), [("=", ("%", name(q), c), num(0))])]
        if len(binders) > 1:
            ways.append((kind, binders[::-1], where, body))
        if kind == "sum":
            first, second = self.new(), self.new()
            ways.append(("+", ("sum", others + [("index", first, call("min", bound, c))], [], renamed(body, {p: name(first)})),
                         ("sum", others + [("index", second, call("max", ("-", bound, c), num(0)))], [],
                          renamed(body, {p: ("+", name(second), c)}))))
            tile = ("+", ("*", name(first), c), name(second))
            ways.append(("sum", others + [("index", first, ("//", ("+", bound, num(c[1] - 1)), c)), ("index", second, c)], [],
                         guarded(renamed(body, {p: tile}), [("<", tile, bound)])))
            if body[0] in ("+", "-"):
                ways.append((body[0], ("sum", binders, [], body[1]), ("sum", binders, [], body[2])))
        return ways

    def same(self, value):
        """One step somewhere in the expression."""
        for _ in range(8):
            path, sort, part = self.random.choice(list(parts(value, SCALAR)))
            step = {SCALAR: self.same_scalar, INDEX: self.same_index, CONDITION: self.same_condition}[sort]
            changed = step(part)
            if changed is not None:
                return replaced(value, path, changed)
        return value

    def mutated(self, value):
        """One small change somewhere, after which the meaning is most likely another."""
        choices = [(path, sort, part) for path, sort, part in parts(value, SCALAR)
                   if sort != SCALAR or part[0] in ("-", "if", "sum", "apply", "neg", "read")]
        path, sort, part = self.random.choice(choices)
        if sort == CONDITION:
            relation, a, b = part
            changed = self.pick((self.pick("<", "<=", ">", ">=", "=", "!="), a, b), (relation, a, ("+", b, num(1))),
                                (relation, a, ("-", b, num(1))), (relation, b, a))
        elif sort == INDEX:
            changed = self.changed_index(part)
        elif part[0] == "-":
            changed = self.pick(("-", part[2], part[1]), ("+", part[1], part[2]))
        elif part[0] == "if":
            changed = self.pick(("if", part[1], part[3], part[2]), ("if", part[1][:1], part[2], part[3]), part[2])
        elif part[0] == "sum":
            changed = ("max",) + part[1:]
        elif part[0] == "apply":
            changed = part[2][0]
        elif part[0] == "neg":
            changed = part[1]
        else:
            changed = (part[0], part[1], part[2][::-1])
        return replaced(value, path, changed)

    def changed_index(self, part):
        ways = [("+", part, num(1)), ("-", part, num(1)), num(self.pick(0, 0, 1)), name("i")]
        if part[0] == "num":
            ways = [num(part[1] + 1), num(abs(part[1] - 1)), num(part[1] * 2)]
        if part[0] == "name":
            ways.append(name(self.pick(*self.sizes, "i")))
        if part[0] in ("+", "-", "*", "//", "%"):
            ways += [(self.pick("+", "-", "*", "//", "%"), part[1], part[2]), part[1],
                     (part[0], part[1], ("+", part[2], num(1)))]
        if part[0] == "call":
            ways += [call("max" if part[1] == "min" else "min", *part[2]), part[2][0], part[2][1]]
        return self.random.choice(ways)

    def inlined(self, outer, inner):
        """One operator that computes outer(inner(...), the inputs of `outer` but its first)."""
        of, made = outer.outputs[0], inner.outputs[0]
        first, dims = outer.inputs[0]
        op = Operator("g", inputs=inner.inputs + outer.inputs[1:], where=list(inner.where), lets=list(inner.lets))
        for (_, dim), (_, _, size) in zip(dims, made.items):
            op.lets.append((dim, size))
        op.where += outer.where
        op.lets += [(key, value) for key, value in outer.lets]
        value = of.value
        while True:
            found = [(p, v) for p, s, v in parts(value, SCALAR) if v[0] == "read" and v[1] == first]
            if not found:
                break
            path, read = found[0]
            at = [e for _, e in read[2]]
            names = {index: e for (_, index, _), e in zip(made.items, at)}
            body = self.apart(renamed(made.value, names))
            inside = [c for e, (_, _, bound) in zip(at, made.items) for c in (("<=", num(0), e), ("<", e, bound))]
            value = replaced(value, path, guarded(body, inside))
        op.outputs.append(Tensor("y", of.items, value))
        return op

    def apart(self, value):
        """The expression with new names for its bound indices."""
        bound = {b[1] for _, _, v in parts(value, SCALAR) if v[0] in ("sum", "max") for b in v[1]}
        names = {p: self.new() for p in sorted(bound)}

        def walk(v):
            if isinstance(v, list):
                return [walk(e) for e in v]
            if not isinstance(v, tuple):
                return v
            if v[0] == "index":
                return ("index", names.get(v[1], v[1]), walk(v[2]))
            return tuple(walk(e) if isinstance(e, (tuple, list)) else e for e in v)
        return renamed(walk(value), {p: name(q) for p, q in names.items()})


def shapes(generator, inputs):
    """What the rule's variables measure: each size a name, a sum, a multiple, a difference, or a number."""
    dims = {}
    for size in sorted({size for _, sizes in inputs for size in sizes}):
        kind, n = generator.random.random(), name(size)
        dims[size] = (n if kind < 0.5 else ("+", n, name("q")) if kind < 0.6 else ("*", num(generator.pick(2, 3, 60)), n)
                      if kind < 0.72 else ("-", n, name("q")) if kind < 0.92 else num(generator.pick(1, 2, 3, 7)))
    return {tensor: [dims[size] for size in sizes] for tensor, sizes in inputs}


def case(seed):
    """(definitions, rules) of one seed."""
    generator = Generator(seed)
    inputs = generator.pick([("x", ["n"])], [("x", ["n"]), ("z", ["m"])], [("x", ["n", "m"])], [("x", ["n"]), ("z", ["n"])],
                            [("x", ["n", "m"]), ("z", ["m"])])
    given = shapes(generator, inputs)
    arguments = [("variable", tensor) for tensor, _ in inputs]
    if generator.chance(0.3):  # f(e(x), z) => g(x, z)
        inner = generator.operator("e", inputs[:1], generator.pick(0, 1, 1))
        rank = len(inner.outputs[0].items)
        free = [(t, [d + "0" for d in dims]) for t, dims in inputs[1:]]
        outer = generator.operator("f", [("t", ["k", "l"][:rank])] + free, generator.pick(1, 2))
        outer.lets = [("e0", value) for _, value in outer.lets]
        outer = rename_let(outer)
        first, second = inner, generator.inlined(outer, inner)
        generator.sizes = [d for _, dims in second.inputs for _, d in dims]
        generator.inputs = [(t, [d for _, d in dims]) for t, dims in second.inputs]
        definitions = [first, outer, second]
        source = ("node", "f", [("node", "e", arguments[:1], {}, None)] + arguments[1:], {}, None)
    else:
        first = generator.operator("f", inputs, generator.pick(0, 0, 1, 2, 2, 3))
        second = Operator("g", first.inputs, where=first.where, lets=first.lets, outputs=list(first.outputs))
        definitions = [first, second]
        source = ("node", "f", arguments, {}, None)
    output = second.outputs[0]
    value = generator.apart(output.value)
    for _ in range(generator.pick(0, 1, 1, 2, 3, 4)):
        value = generator.same(value)
    if generator.chance(0.45):
        value = generator.mutated(value)
    second.outputs = [Tensor("y", output.items, value)]
    if generator.chance(0.15):
        whole = [("one", name(i)) for _, i, _ in output.items]
        second.tensors, second.outputs = [Tensor("t1", output.items, value)], [Tensor("y", output.items, ("read", "t1", whole))]
    target = ("node", "g", arguments, {}, None)
    rule = Rule("r", [(t, given[t], len(given[t])) for t, _ in inputs], [source], [target], [])
    if generator.chance(0.3):
        rule = behind_split(rule, generator)
    text = FUNCTIONS + SPLIT + "".join(operator_text(op) for op in definitions)
    return text, rule_text(rule)


def rename_let(op):
    names = {"e": name("e0")}
    op.where = renamed(op.where, names)
    op.outputs = [Tensor(t.name, [(k, i, renamed(b, names)) for k, i, b in t.items], renamed(t.value, names))
                  for t in op.outputs]
    return op


def behind_split(rule, generator):
    """The rule with its first variable one part of another: its first size is then a difference, or a position."""
    tensor, dims, rank = rule.variables[0]
    part = ("node", "split", [("variable", tensor)], {"axis": num(0), "at": name("at")}, generator.pick("first", "second"))

    def with_part(term):
        if term == ("variable", tensor):
            return part
        return term[:2] + ([with_part(a) for a in term[2]],) + term[3:] if term[0] == "node" else term
    variables = [(tensor, [name("w")] + dims[1:], rank)] + rule.variables[1:]
    return Rule(rule.name, variables, [with_part(t) for t in rule.source], [with_part(t) for t in rule.target], [])
