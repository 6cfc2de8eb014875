"""Generates random pairs of operators with a rule that states their equality. The second is derived from the first by
equivalence-preserving rewrites, and in many cases mutated at one place."""

import random

from parser import Operator, Rule, Tensor
from printer import CONDITION, INDEX, SCALAR, operator_text, replace_at, rule_text, subexpressions, substitute

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

    def fresh_name(self):
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
        n = name(self.pick(*self.input_sizes))
        return self.pick(("+", a, c), ("-", a, c), ("*", c, a), ("//", a, c), ("%", a, c), ("-", ("-", n, num(1)), i),
                         ("//", ("+", a, c), n), ("%", ("+", a, c), n), ("+", ("*", a, n), i), ("//", a, n),
                         ("+", a, i), ("-", a, i), call("min", a, n), call("max", ("-", a, c), num(0)),
                         ("//", ("+", ("*", num(2), i), num(1)), ("*", num(2), n)), ("+", ("*", c, a), i), ("-", a, n),
                         ("%", ("*", c, a), n), ("//", ("+", ("*", a, n), i), ("*", c, n)))

    def condition(self, scope, depth=1):
        a = self.index(scope, depth)
        b = self.pick(num(self.number()), name(self.pick(*self.sizes)), name(self.pick(*scope)),
                      self.index(scope, depth))
        if self.chance(0.2):
            a, b = name(self.pick(*self.sizes)), num(self.pick(1, 2, 3, 5, 50))
        if self.chance(0.15):
            return ("=", ("%", a, num(self.pick(2, 3))), num(self.pick(0, 1)))
        return (self.pick("<", "<", "<=", "=", ">", ">=", "!="), a, b)

    def bound(self, scope):
        if self.chance(0.12):
            i = name(self.pick(*scope))
            return self.pick(("+", i, num(1)), ("-", self.size(), i), call("min", ("+", i, num(1)), self.size()))
        return self.pick(name(self.pick(*self.sizes)), name(self.pick(*self.sizes)), num(self.number() % 6 + 1),
                         self.size())

    def read(self, scope):
        tensor, dims = self.pick(*self.inputs)
        return ("read", tensor, [("one", self.index(scope)) for _ in dims])

    def scalar(self, scope, depth):
        if depth == 0 or self.chance(0.1):
            return self.read(scope)
        kind = self.random.random()
        if kind < 0.2:
            p = self.fresh_name()
            return ("sum", [("index", p, self.bound(scope))], [], self.scalar(scope + [p], depth - 1))
        if kind < 0.27:
            p, q = self.fresh_name(), self.fresh_name()
            return ("sum", [("index", p, self.bound(scope)), ("index", q, self.bound(scope))], [],
                    self.scalar(scope + [p, q], depth - 1))
        if kind < 0.33:
            p = self.fresh_name()
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

    def operator(self, op_name, inputs, depth):
        """Generates an operator over inputs (name, sizes)."""
        self.inputs = inputs
        self.input_sizes = sorted({size for _, dims in inputs for size in dims})  # allowed as divisors
        self.sizes = list(self.input_sizes)
        op = Operator(op_name, inputs=[(t, [("name", d) for d in dims]) for t, dims in inputs])
        if self.chance(0.15):
            n = name(self.pick(*self.sizes))
            condition = self.pick(("=", ("%", n, num(2)), num(0)), ("<=", n, num(60)), (">", n, num(self.number())),
                                  ("<=", name(self.sizes[0]), name(self.sizes[-1])))
            op.where.append((condition, []))
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

    # Rewrites that preserve the value. Each returns the new subexpression, or None if it does not apply.
    def equivalent_index(self, value):
        a, c = value, num(self.pick(2, 3, 5))
        n = name(self.pick(*self.sizes))
        choices = [("//", ("*", a, c), c), ("//", ("+", ("*", a, c), num(c[1] - 1)), c), ("-", ("+", a, n), n),
                   ("//", ("*", a, n), n), ("+", ("*", ("//", a, c), c), ("%", a, c)), call("max", a, ("-", a, n))]
        if value[0] == "//":
            a, b = value[1:]
            finer = ("//", ("+", ("*", a, c), num(self.random.randrange(c[1]))), ("*", b, c))
            choices += [("-", ("//", ("+", a, b), b), num(1)), ("//", ("*", a, n), ("*", n, b)), finer, finer,
                        ("//", ("-", a, ("%", a, b)), b)] * 2
            if a[0] == "//":
                choices += [("//", a[1], ("*", a[2], b))] * 4
        if value[0] == "%":
            a, b = value[1:]
            choices += [("-", a, ("*", b, ("//", a, b))), ("%", ("+", a, b), b), ("%", ("%", a, ("*", b, c)), b)] * 3
        if value[0] == "call":
            a, b = value[2]
            other = "max" if value[1] == "min" else "min"
            choices += [("-", ("+", a, b), call(other, a, b)), call(value[1], b, a)] * 3
        return self.random.choice(choices)

    def equivalent_condition(self, value):
        relation, a, b = value
        choices = [(relation, ("+", a, num(3)), ("+", b, num(3))), (relation, ("*", a, num(2)), ("*", b, num(2)))]
        if relation == "<":
            choices += [("<=", ("+", a, num(1)), b), (">", b, a)]
        if relation == "<=":
            choices += [("<", a, ("+", b, num(1))), (">=", b, a)]
        if relation in ("=", "!="):
            choices.append((relation, b, a))
        return self.random.choice(choices)

    def equivalent_scalar(self, value):
        kind = value[0]
        choices = []
        if kind == "read":
            dims = dict(self.inputs).get(value[1])
            if dims:
                inside = [c for d, (_, e) in zip(dims, value[2]) for c in (("<=", num(0), e), ("<", e, name(d)))]
                choices += [guarded(value, inside), guarded(value, [self.random.choice(inside)])]
        if kind == "if":
            _, conditions, a, b = value
            if len(conditions) == 1:
                relation, left, right = conditions[0]
                opposite = [(NEGATED[relation], left, right)]
                choices += [("if", opposite, b, a), ("+", guarded(a, conditions), guarded(b, opposite))]
            else:
                choices += [("if", conditions[:1], ("if", conditions[1:], a, b), b)]
        if kind in ("+", "*"):
            choices += [(kind, value[2], value[1])]
        if kind == "*" and value[1][0] in ("+", "-"):
            choices += [(value[1][0], ("*", value[1][1], value[2]), ("*", value[1][2], value[2]))]
        if kind == "-":
            choices += [("+", value[1], ("neg", value[2]))]
        if kind in ("sum", "max") and all(b[0] == "index" for b in value[1]):
            choices += self.equivalent_reductions(value)
        if kind == "apply" and value[1] == "relu":
            choices += [("apply", "relu", [value])]
        return self.random.choice(choices) if choices else None

    def equivalent_reductions(self, value):
        kind, binders, where, body = value
        k = self.random.randrange(len(binders))
        _, p, bound = binders[k]
        others = binders[:k] + binders[k + 1:]
        c, q = num(self.pick(1, 2, 3)), self.fresh_name()

        def reindexed(limit, index, extra):
            """The reduction over q < limit, with the index expression for p and further conditions."""
            new_binders = [b if b[1] != p else ("index", q, limit) for b in binders]
            new_body = substitute(body, {p: index})
            if kind == "max":
                return ("max", new_binders, substitute(where, {p: index}) + extra, new_body)
            return ("sum", new_binders, [], guarded(new_body, extra) if extra else new_body)

        if any(p in repr(b[2]) for b in others):  # a bound depends on p
            return [value]
        choices = [reindexed(bound, ("-", ("-", bound, num(1)), name(q)), []),
                   reindexed(("+", bound, c), name(q), [("<", name(q), bound)]),
                   reindexed(("+", bound, c), ("-", name(q), c), [("<=", c, name(q))]),
                   reindexed(("*", bound, c), ("//", name(q), c), [("=", ("%", name(q), c), num(0))])]
        if len(binders) > 1:
            choices.append((kind, binders[::-1], where, body))
        if kind == "sum":
            first, second = self.fresh_name(), self.fresh_name()
            head = ("sum", others + [("index", first, call("min", bound, c))], [], substitute(body, {p: name(first)}))
            tail = ("sum", others + [("index", second, call("max", ("-", bound, c), num(0)))], [],
                    substitute(body, {p: ("+", name(second), c)}))
            choices.append(("+", head, tail))
            tile = ("+", ("*", name(first), c), name(second))
            tiles = ("//", ("+", bound, num(c[1] - 1)), c)
            choices.append(("sum", others + [("index", first, tiles), ("index", second, c)], [],
                            guarded(substitute(body, {p: tile}), [("<", tile, bound)])))
            if body[0] in ("+", "-"):
                choices.append((body[0], ("sum", binders, [], body[1]), ("sum", binders, [], body[2])))
        return choices

    def rewrite(self, value):
        """Applies one rewrite at a random subexpression."""
        for _ in range(8):
            path, sort, part = self.random.choice(list(subexpressions(value, SCALAR)))
            rewrite = {SCALAR: self.equivalent_scalar, INDEX: self.equivalent_index,
                       CONDITION: self.equivalent_condition}[sort]
            rewritten = rewrite(part)
            if rewritten is not None:
                return replace_at(value, path, rewritten)
        return value

    def mutate(self, value):
        """Makes one small change, which most likely changes the value."""
        candidates = [(path, sort, part) for path, sort, part in subexpressions(value, SCALAR)
                      if sort != SCALAR or part[0] in ("-", "if", "sum", "apply", "neg", "read")]
        path, sort, part = self.random.choice(candidates)
        if sort == CONDITION:
            relation, a, b = part
            changed = self.pick((self.pick("<", "<=", ">", ">=", "=", "!="), a, b), (relation, a, ("+", b, num(1))),
                                (relation, a, ("-", b, num(1))), (relation, b, a))
        elif sort == INDEX:
            changed = self.mutate_index(part)
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
        return replace_at(value, path, changed)

    def mutate_index(self, part):
        choices = [("+", part, num(1)), ("-", part, num(1)), num(self.pick(0, 0, 1)), name("i")]
        if part[0] == "num":
            choices = [num(part[1] + 1), num(abs(part[1] - 1)), num(part[1] * 2)]
        if part[0] == "name":
            choices.append(name(self.pick(*self.sizes, "i")))
        if part[0] in ("+", "-", "*", "//", "%"):
            choices += [(self.pick("+", "-", "*", "//", "%"), part[1], part[2]), part[1],
                        (part[0], part[1], ("+", part[2], num(1)))]
        if part[0] == "call":
            choices += [call("max" if part[1] == "min" else "min", *part[2]), part[2][0], part[2][1]]
        return self.random.choice(choices)

    def inline(self, outer, inner):
        """Returns one operator that computes outer(inner(...), the other inputs of `outer`)."""
        output, inner_output = outer.outputs[0], inner.outputs[0]
        first, dims = outer.inputs[0]
        op = Operator("g", inputs=inner.inputs + outer.inputs[1:], where=list(inner.where), lets=list(inner.lets))
        for (_, dim), (_, _, size) in zip(dims, inner_output.items):
            op.lets.append((dim, size))
        op.where += outer.where
        op.lets += [(key, value) for key, value in outer.lets]
        value = output.value
        while True:
            found = [(p, v) for p, s, v in subexpressions(value, SCALAR) if v[0] == "read" and v[1] == first]
            if not found:
                break
            path, read = found[0]
            positions = [e for _, e in read[2]]
            names = {index: e for (_, index, _), e in zip(inner_output.items, positions)}
            body = self.rename_binders(substitute(inner_output.value, names))
            inside = [c for e, (_, _, bound) in zip(positions, inner_output.items)
                      for c in (("<=", num(0), e), ("<", e, bound))]
            value = replace_at(value, path, guarded(body, inside))
        op.outputs.append(Tensor("y", output.items, value))
        return op

    def rename_binders(self, value):
        """Returns the expression with fresh names for its bound indices."""
        bound = {b[1] for _, _, v in subexpressions(value, SCALAR) if v[0] in ("sum", "max") for b in v[1]}
        names = {p: self.fresh_name() for p in sorted(bound)}

        def walk(v):
            if isinstance(v, list):
                return [walk(e) for e in v]
            if not isinstance(v, tuple):
                return v
            if v[0] == "index":
                return ("index", names.get(v[1], v[1]), walk(v[2]))
            return tuple(walk(e) if isinstance(e, (tuple, list)) else e for e in v)
        return substitute(walk(value), {p: name(q) for p, q in names.items()})


def variable_shapes(generator, inputs):
    """Returns the shapes of the rule's variables. Each size is a name, a sum, a multiple, a difference or a number."""
    dims = {}
    for size in sorted({size for _, sizes in inputs for size in sizes}):
        kind, n = generator.random.random(), name(size)
        dims[size] = (n if kind < 0.5 else ("+", n, name("q")) if kind < 0.6
                      else ("*", num(generator.pick(2, 3, 60)), n) if kind < 0.72
                      else ("-", n, name("q")) if kind < 0.92 else num(generator.pick(1, 2, 3, 7)))
    return {tensor: [dims[size] for size in sizes] for tensor, sizes in inputs}


def generate_case(seed):
    """Returns the definitions and the rule of a seed, as texts."""
    generator = Generator(seed)
    inputs = generator.pick([("x", ["n"])], [("x", ["n"]), ("z", ["m"])], [("x", ["n", "m"])],
                            [("x", ["n"]), ("z", ["n"])], [("x", ["n", "m"]), ("z", ["m"])])
    given = variable_shapes(generator, inputs)
    arguments = [("variable", tensor) for tensor, _ in inputs]
    if generator.chance(0.3):  # f(e(x), z) => g(x, z)
        inner = generator.operator("e", inputs[:1], generator.pick(0, 1, 1))
        rank = len(inner.outputs[0].items)
        free = [(t, [d + "0" for d in dims]) for t, dims in inputs[1:]]
        outer = generator.operator("f", [("t", ["k", "l"][:rank])] + free, generator.pick(1, 2))
        outer.lets = [("e0", value) for _, value in outer.lets]
        outer = rename_let(outer)
        first, second = inner, generator.inline(outer, inner)
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
    value = generator.rename_binders(output.value)
    for _ in range(generator.pick(0, 1, 1, 2, 3, 4)):
        value = generator.rewrite(value)
    if generator.chance(0.45):
        value = generator.mutate(value)
    second.outputs = [Tensor("y", output.items, value)]
    if generator.chance(0.15):
        whole = [("one", name(i)) for _, i, _ in output.items]
        second.tensors = [Tensor("t1", output.items, value)]
        second.outputs = [Tensor("y", output.items, ("read", "t1", whole))]
    target = ("node", "g", arguments, {}, None)
    rule = Rule("r", [(t, given[t], len(given[t])) for t, _ in inputs], [source], [target], [])
    if generator.chance(0.3):
        rule = with_split_variable(rule, generator)
    text = FUNCTIONS + SPLIT + "".join(operator_text(op) for op in definitions)
    return text, rule_text(rule)


def rename_let(op):
    names = {"e": name("e0")}
    op.where = substitute(op.where, names)
    op.outputs = [Tensor(t.name, [(k, i, substitute(b, names)) for k, i, b in t.items], substitute(t.value, names))
                  for t in op.outputs]
    return op


def with_split_variable(rule, generator):
    """Returns the rule with an output of `split` for its first variable: a size is then a difference or position."""
    tensor, dims, rank = rule.variables[0]
    part = ("node", "split", [("variable", tensor)], {"axis": num(0), "at": name("at")},
            generator.pick("first", "second"))

    def with_part(term):
        if term == ("variable", tensor):
            return part
        return term[:2] + ([with_part(a) for a in term[2]],) + term[3:] if term[0] == "node" else term
    variables = [(tensor, [name("w")] + dims[1:], rank)] + rule.variables[1:]
    return Rule(rule.name, variables, [with_part(t) for t in rule.source], [with_part(t) for t in rule.target], [])
