"""The meaning of operators: types, and elements as sums of products, by their definitions alone."""

from fractions import Fraction
from math import prod
from typing import Callable, NamedTuple

from definitions import ABSENT, SINGLE, WHOLE, Library, Operator, Symbolic, is_list, packs_of
from functions import domain_arguments, subtrees
from polynomials import Arithmetic, Poly, bound_index, in_order, is_nonnegative, output_index, require_that, variable
from sums import Factor, Guard, Product, as_sum, index_ranges, multiply, negated, number, relation_guards, without_redundant
from syntax import elementwise, integer

MAX_PRODUCTS = 4096


class Tensor(NamedTuple):
    shape: tuple
    element: Callable  # (index, known guards) to a sum


def read_tensor(name: str, shape: tuple) -> Tensor:
    return Tensor(shape, lambda index, known: as_sum(Factor("read", name, tuple(index))))


def element_of(tensor: Tensor) -> tuple:
    """Element [@0, @1, …]."""
    index = tuple(output_index(d) for d in range(len(tensor.shape)))
    return tensor.element(index, index_ranges(index, tensor.shape))


class Lowering:
    """What the uses of operators in a rule share."""

    def __init__(self, library: Library, arithmetic: Arithmetic):
        self.library, self.arithmetic = library, arithmetic
        self.facts = frozenset()
        self.next_bound = 0
        self.depth = 0              # of the nodes that are being evaluated
        self.enclosing = []         # the bound indices in scope
        self.conditions = None      # a list, where definedness conditions are collected

    def apply(self, name: str, parameters, arguments: list[Tensor], sizes, obligations: list[Guard], is_node=True) -> list[Tensor]:
        """The outputs of an operator. Appends the guards under which it is well-typed."""
        use = Use(self, self.library.operator(name), dict(parameters), arguments, list(sizes), obligations)
        return [tensor._replace(element=self.at_depth(tensor.element, is_node)) for tensor in use.outputs()]

    def at_depth(self, element, is_node):
        def evaluate(index, known):
            self.depth += is_node
            result = element(index, known)
            self.depth -= is_node
            return result
        return evaluate

    def fresh(self, count: int) -> list[int]:
        self.next_bound += count
        return [bound_index(self.next_bound - count + k) for k in range(count)]


class Use:
    """One use of an operator. `names`: polynomials, or lists of them for packs. `extents`: of indices."""

    def __init__(self, lowering: Lowering, op: Operator, parameters: dict, arguments: list[Tensor], sizes: list, obligations: list):
        require_that(len(arguments) == len(op.inputs), f"{op.name} has {len(arguments)} arguments")
        self.lowering, self.arithmetic, self.library = lowering, lowering.arithmetic, lowering.library
        self.op, self.parameters, self.obligations = op, parameters, obligations
        self.names, self.extents, self.spreads = {}, {}, {}
        self.inputs = {name: tensor for (name, _), tensor in zip(op.inputs, arguments)}
        for name, dims in op.inputs:
            self.bind_input(dims, list(self.inputs[name].shape), name)
        for pack in op.packs.difference(op.named("size", "sizes")):
            require_that(None not in self.names[pack], f"{op.name}: every input broadcasts a dimension")
        self.bind_parameters(sizes)
        self.names.setdefault("rank", Poly.of(len(arguments[0].shape) if arguments else 0))
        for clause in op.clauses:
            self.clause(*clause)

    # Types

    def bind_input(self, dims: list, shape: list, name: str):
        packs = packs_of(dims)
        length = len(shape) - len(dims) + len(packs)
        require_that(length >= 0 and len(packs) <= 1 and (packs or not length), f"{self.op.name}: '{name}' has a wrong rank")
        self.spreads[name] = []
        for dim in dims:
            if isinstance(dim, tuple):
                part, shape = shape[:length], shape[length:]
                self.spreads[name] += self.bind_pack(*dim, part)
                continue
            self.spreads[name].append(WHOLE)
            if isinstance(dim, int):
                self.obligations.append(Guard(True, shape.pop(0) - dim))
            else:
                self.names[dim] = self.sized(self.names.get(dim), shape.pop(0))

    def bind_pack(self, pack: str, spread_name: str | None, part: list):
        spread = self.parameters.get(spread_name) or (WHOLE,) * len(part)
        require_that(len(spread) - spread.count(ABSENT) == len(part), f"{self.op.name}: the spread does not fit")
        known = self.names.setdefault(pack, [None] * len(spread))
        require_that(len(known) == len(spread), f"{self.op.name}: '{pack}' has two lengths")
        for k, kind in enumerate(spread):
            if kind == WHOLE:
                known[k] = self.sized(known[k], part.pop(0))
            elif kind == SINGLE:
                self.obligations.append(Guard(True, part.pop(0) - 1))
        return spread

    def sized(self, known: Poly | None, value: Poly) -> Poly:
        """The size, if it is known, which then is the value; else the value."""
        self.obligations.append(Guard(False, value - 1) if known is None else Guard(True, value - known))
        return value if known is None else known

    def bind_parameters(self, sizes: list):
        op, names = self.op, self.names
        symbolic = [name for name in op.parameters if isinstance(self.parameters.get(name), Symbolic)]
        lengths = {name: len(names[op.parameters[name].pack]) if op.parameters[name].pack else 1 for name in symbolic}
        of_pack = len(sizes) - len(op.named("size")) - sum(lengths.values())
        fits = f"{op.name} has a wrong number of sizes"
        for name in op.named("size", "sizes"):
            is_pack = op.parameters[name].kind == "sizes"
            known = names.get(name, [None] * of_pack if is_pack else None)
            values = [size or self.sized(None, sizes.pop(0)) for size in known] if is_pack else self.sized(known, sizes.pop(0))
            names[name] = values
        for name in symbolic:
            require_that(name not in names, fits)
            numbers = [self.sized(None, sizes.pop(0)) - 1 + self.parameters[name].least for _ in range(lengths[name])]
            names[name] = numbers if op.parameters[name].pack else numbers[0]
        require_that(not sizes, fits)
        for name, value in self.parameters.items():
            if is_list(value) and op.parameters[name].kind == "ints":
                names[name] = list(map(Poly.of, value))
            elif isinstance(value, int):
                names[name] = Poly.of(value)

    def clause(self, kind: str, *parts):
        if kind == "let":
            name, is_pack, e = parts
            self.names[name] = self.items(e) if is_pack else self.integer(e)
        elif kind == "except":
            left, right, axis = parts
            a, b = self.names[left], self.names[right]
            require_that(len(a) == len(b), f"{self.op.name}: the packs differ in length")
            for k, dim in enumerate(a):
                if k != self.parameters[axis]:
                    self.obligations.append(Guard(True, b[k] - dim))
                    b[k] = dim
        elif parts[1] is None or self.chooses(parts[1]):
            for left, relation, right in self.comparisons(parts[0]):
                require_that(relation != "!=", f"{self.op.name} has a condition with !=")
                self.obligations.extend(relation_guards(left, relation, right))

    def outputs(self) -> list[Tensor]:
        if self.op.composite:
            return [self.part(self.op.composite)]
        made = [self.computed(*tensor) for tensor in self.op.outputs.values()]
        self.obligations.extend(Guard(False, d - 1) for tensor in made for d in tensor.shape)
        return made

    def computed(self, bindings: list, body: tuple) -> Tensor:
        """An output, or an intermediate tensor."""
        dims = [self.items(e) for _, _, e in bindings]

        def element(index, known):
            use, at = self.inner(), 0
            for (name, is_pack, _), extents in zip(bindings, dims):
                use.bind(name, is_pack, list(index[at:at + len(extents)]), extents)
                at += len(extents)
            return use.scalar(body, known)
        return Tensor(tuple(d for part in dims for d in part), element)

    def inner(self) -> "Use":
        """The same use, where more names can be bound."""
        use = Use.__new__(Use)
        use.__dict__ = dict(self.__dict__, names=dict(self.names), extents=dict(self.extents))
        return use

    def bind(self, name: str, is_pack: bool, indices: list, extents: list):
        self.names[name], self.extents[name] = (indices, extents) if is_pack else (indices[0], extents[0])

    def part(self, e: tuple) -> Tensor:
        """A part of a composite: an input, or an operator applied to parts."""
        if e[0] == "name":
            return self.inputs[e[1]]
        _, name, arguments, given = e
        op, tensors = self.library.operator(name), [self.part(argument) for argument in arguments]
        words = {key for key in given if op.parameters[key].kind == "enum"}
        values = {key: self.parameters.get(value[1], value[1]) if key in words else self.integer(value, True)
                  for key, value in given.items()}
        parameters, sizes = op.node_values(values, [len(t.shape) for t in tensors])
        return self.lowering.apply(name, parameters, tensors, sizes, self.obligations, is_node=False)[0]

    # Integers

    def integer(self, e: tuple, may_be_list=False):
        value = integer(e, self.arithmetic, self.leaf)
        require_that(may_be_list or isinstance(value, Poly), f"{self.op.name}: a pack where a number is expected")
        return value

    def items(self, e: tuple) -> list[Poly]:
        """The elements of a pack, or one number."""
        value = self.integer(e, True)
        return value if isinstance(value, list) else [value]

    def leaf(self, e: tuple):
        if e[0] == "if":
            return self.integer(e[2] if self.chooses(*e[1]) else e[3], True)
        if e[0] == "list":
            return list(map(self.integer, e[1]))
        if e[0] == "call" and e[1] == "product":
            return prod(self.items(e[2][0]), start=Poly.of(1))
        if e[0] == "call" and e[1] == "offset":
            result = Poly.of(0)
            for value, extent in zip(self.names[e[2][0][1]], self.extents[e[2][0][1]]):
                result = result * extent + value
            return result
        require_that(e[0] in ("name", "pack", "read") and e[1] in self.names, f"{self.op.name}: '{e[1]}' has no value here")
        value = self.names[e[1]]
        if e[0] == "pack":
            return self.changed_pack(list(value), *e[2:])
        return value if e[0] == "name" else at_constant(value, self.integer(*e[2]).constant)

    def chooses(self, comparison: tuple) -> bool:
        """A choice by parameter: `pad = same`, or `stride = 1`."""
        (_, parameter), relation, (_, wanted) = comparison
        value = self.parameters[parameter]
        require_that(relation == "=" and not isinstance(value, Symbolic), f"{self.op.name}: a choice by '{parameter}'")
        return value == wanted

    def changed_pack(self, elements: list, change: str | None, parameter: str | None, value: tuple | None) -> list[Poly]:
        if change is None:
            return elements
        if change == "of":
            return self.unravel(self.integer(value), elements)
        axes = self.parameters[parameter]
        if change in ("gather", "at"):
            require_that(sorted(axes) == list(range(len(elements))), f"{self.op.name}: the order does not fit")
            return [elements[i if change == "gather" else axes.index(k)] for k, i in enumerate(axes)]
        axes = [axes] if isinstance(axes, int) else sorted(axes)
        require_that(all(axis < len(elements) + (len(axes) if change == "insert" else 0) for axis in axes),
                     f"{self.op.name}: an axis is outside of the pack")
        if change in ("only", "without"):
            return [x for k, x in enumerate(elements) if (k in axes) == (change == "only")]
        for axis, new in elementwise(lambda axis, new: (axis, new), axes, self.integer(value, True)):
            elements[axis:axis + (change == "with")] = [new]
        return elements

    def unravel(self, position: Poly, dims: list[Poly]) -> list[Poly]:
        """The indices of the element at a row-major position."""
        result, stride = [], Poly.of(1)
        for k in reversed(range(len(dims))):
            value = self.arithmetic.quotient(position, stride)
            result.insert(0, self.arithmetic.operate("%", value, dims[k]) if k else value)
            stride = stride * dims[k]
        return result

    def comparisons(self, comparison: tuple) -> list[tuple]:
        left, relation, right = comparison
        found = elementwise(lambda a, b: (a, relation, b), self.integer(left, True), self.integer(right, True))
        return found if isinstance(found, list) else [found]

    def has_index(self, e: tuple) -> bool:
        return any(part[0] in ("name", "pack", "read") and part[1] in self.extents for part in subtrees(e))

    def bounds(self, e: tuple) -> tuple:
        """The least and the greatest value of an expression, of which each operation but + and - does not decrease with its first
        operand, and has a positive second one."""
        if not self.has_index(e):
            return (self.integer(e, True),) * 2
        if e[0] in ("name", "pack", "read"):
            most = self.extents[e[1]] if e[0] != "read" else at_constant(self.extents[e[1]], self.integer(*e[2]).constant)
            return elementwise(lambda extent: Poly.of(0), most), elementwise(lambda extent: extent - 1, most)
        op, parts = (e[1], e[2]) if e[0] == "call" else (e[0], e[1:])
        if op == "*" and self.has_index(parts[1]):
            parts = parts[::-1]
        (low, high), (least, most) = map(self.bounds, parts)
        require_that(op in ("+", "-", "*", "/", "%", "min", "max") and (op not in ("*", "/") or least == most)
                     and (op != "*" or all(map(is_nonnegative, least if isinstance(least, list) else [least]))),
                     f"{self.op.name}: an extent without a bound")
        if op == "%":
            return elementwise(lambda p: Poly.of(0), most), elementwise(lambda p: p - 1, most)
        if op == "-":
            least, most = most, least

        def operate(a, b):
            return elementwise(lambda x, y: self.arithmetic.operate(op, x, y), a, b)
        return operate(low, least), operate(high, most)

    # Scalars

    def scalar(self, e: tuple, known: tuple) -> tuple:
        """The value of a tree as a sum; `known` are the guards that hold."""
        if e[0] == "number":
            return number(e[1])
        if e[0] in ("read", "reduce", "call", "if"):
            return {"read": self.read, "reduce": self.reduction, "call": self.application, "if": self.cases}[e[0]](known, *e[1:])
        require_that(e[0] in ("+", "-", "*", "/"), f"{self.op.name}: expected a real number")
        a = self.scalar(e[1], known)
        b = self.inverse(self.integer(e[2])) if e[0] == "/" else self.scalar(e[2], known)
        if e[0] in ("+", "-"):
            return a + (b if e[0] == "+" else negated(b))
        require_that(len(a) * len(b) <= MAX_PRODUCTS, "too many products")
        return tuple(p._replace(guards=without_redundant(p.guards)) for p in multiply(a, b))

    def inverse(self, value: Poly) -> tuple:
        """1 / value. It and its factors are at least 1, which a proof must show."""
        content, factors = reciprocals(value)
        self.arithmetic.divisors.update([value, *(factor.index[0] for factor in factors)])
        return (Product(Fraction(1, content), factors=factors),)

    def with_guards(self, terms: tuple, guards: tuple, known: tuple) -> tuple:
        """[guards] · Σ terms. Guards that are known to hold are left out."""
        def outer(p):
            kept = (g for g in (*guards, *p.guards) if g not in known and g not in self.lowering.facts)
            return p._replace(guards=without_redundant(kept))
        return tuple(map(outer, terms))

    def read(self, known: tuple, name: str, items: list) -> tuple:
        """The element at these indices, and 0 outside of the tensor."""
        index = [i for e in items for i in self.items(e)]
        if name in self.inputs:
            tensor, spread = self.inputs[name], self.spreads[name]
            require_that(len(index) == len(spread), f"{self.op.name}: '{name}' is read with {len(index)} indices")
            index = [Poly.of(0) if kind == SINGLE else i for i, kind in zip(index, spread) if kind != ABSENT]
        else:
            tensor = self.computed(*self.op.tensors[name])
        require_that(len(index) == len(tensor.shape), f"{self.op.name}: '{name}' is read with {len(index)} indices")
        inside = index_ranges(index, tensor.shape)
        return self.with_guards(tensor.element(tuple(index), known + inside), inside, known)

    def reduction(self, known: tuple, kind: str, bindings: list, comparisons: list, body: tuple) -> tuple:
        inner, bound, guards, variable_ends = self.inner(), [], [], []
        for name, is_pack, e in bindings:
            extents = greatest = inner.items(e)
            if e[0] != "pack" and inner.has_index(e):
                most = inner.bounds(e)[1]
                greatest = most if isinstance(most, list) else [most]
            indices = self.lowering.fresh(len(extents))
            bound += indices
            indices = list(map(variable, indices))
            guards += index_ranges(indices, greatest)
            if greatest is not extents:
                variable_ends += [Guard(False, extent - index - 1) for index, extent in zip(indices, extents)]
            inner.bind(name, is_pack, indices, greatest)
        guards += [g for e in comparisons for c in inner.comparisons(e) for g in relation_guards(*c)] + variable_ends
        if not bound and not guards:
            return inner.scalar(body, known)
        self.lowering.enclosing += bound
        terms = inner.scalar(body, known + tuple(guards))
        del self.lowering.enclosing[len(self.lowering.enclosing) - len(bound):]
        if kind == "max":
            return as_sum(Factor("max", arguments=(terms,), bound=tuple(bound), guards=tuple(guards)))
        return tuple(p._replace(bound=tuple(bound) + p.bound) for p in self.with_guards(terms, tuple(guards), known))

    def application(self, known: tuple, name: str, arguments: list, _) -> tuple:
        name = self.parameters.get(name, name)
        if name == "none":
            return self.scalar(arguments[0], known)
        function, lowering = self.library.functions.get(name), self.lowering
        require_that(function and function.arity == len(arguments), f"'{name}' is no function of {len(arguments)} numbers")
        factor = Factor("apply", function.representative, arguments=tuple(self.scalar(a, known) for a in arguments))
        if lowering.conditions is not None and lowering.depth == 1 and not function.is_total:
            of_domain = tuple(a if i in domain_arguments(function.formula) else () for i, a in enumerate(factor.arguments))
            lowering.conditions.append(Product(guards=without_redundant(known), bound=tuple(lowering.enclosing),
                                               factors=(factor._replace(kind="defined", arguments=of_domain),)))
        return as_sum(factor)

    def cases(self, known: tuple, comparisons: list, then: tuple, otherwise: tuple) -> tuple:
        """Inside, all comparisons hold. Outside, the first ones hold and the next one does not."""
        inside, outside = [()], []
        for left, relation, right in (c for e in comparisons for c in self.comparisons(e)):
            yes = relation_guards(left, "=" if relation == "!=" else relation, right)[0]
            here, there = [(yes,)], [(no,) for no in yes.complement()]
            if relation == "!=":
                here, there = there, here
            outside += [region + no for region in inside for no in there]
            inside = [region + guards for region in inside for guards in here]
        return tuple(p for body, regions in ((then, inside), (otherwise, outside)) for region in regions
                     for p in self.with_guards(self.scalar(body, known + region), region, known))


def at_constant(values, position: int | None):
    require_that(isinstance(values, list) and position is not None and 0 <= position < len(values), "there is no such dimension")
    return values[position]


def reciprocals(value: Poly) -> tuple[int, tuple]:
    """c, and the factors 1/s · 1/t of 1 / (c · s · t)."""
    content, monomial = value.content()
    require_that(content, "a division by 0")
    parts = [variable(a) for a in in_order(monomial)] + [value.divided_by(content, monomial)]
    return content, tuple(Factor("inverse", index=(part,)) for part in parts if part != 1)
