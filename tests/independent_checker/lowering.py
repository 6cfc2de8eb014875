"""The meaning of operators: types, and elements as sums of products, by their definitions alone."""

from fractions import Fraction
from typing import Callable, NamedTuple

from definitions import Library, Operator
from functions import domain_arguments
from normal_form import Factor, Guard, Product, index_range, multiply, relation_guards, without_redundant
from polynomials import Arithmetic, CheckError, Poly, bound_index, in_order, is_nonnegative, require_that, variable

WHOLE, SINGLE, ABSENT = 0, 1, 2  # items of a spread
MAX_PRODUCTS = 4096


class Symbolic(NamedTuple):
    """The value of an integer parameter that is a size of the node: number = size − 1 + least."""
    least: int


class Tensor(NamedTuple):
    shape: tuple
    element: Callable  # (index, known guards) to a sum


class Frame:
    """One use of an operator: parameters, and the values of names: polynomials, or lists of them for packs."""

    def __init__(self, op: Operator, parameters: dict, arguments: list[Tensor]):
        self.op, self.parameters, self.arguments = op, parameters, arguments
        self.names, self.extents = {}, {}
        self.tensors = {name: (bindings, body) for name, bindings, body in op.tensors}
        self.inputs = {name: (dims, tensor) for (name, dims), tensor in zip(op.inputs, arguments)}

    def inner(self, bindings, dims, index) -> "Frame":
        """The frame with the indices of a tensor bound."""
        frame = Frame.__new__(Frame)
        frame.__dict__ = dict(self.__dict__, names=dict(self.names), extents=dict(self.extents))
        at = 0
        for (name, is_pack, _), extents in zip(bindings, dims):
            frame.bind(name, is_pack, list(index[at:at + len(extents)]), extents)
            at += len(extents)
        return frame

    def bind(self, name, is_pack, indices, extents):
        self.names[name] = indices if is_pack else indices[0]
        self.extents[name] = extents


class Lowering:
    def __init__(self, library: Library, arithmetic: Arithmetic):
        self.library, self.arithmetic = library, arithmetic
        self.facts = frozenset()
        self.next_bound = 0
        self.depth = 0              # of the nodes that are being evaluated
        self.enclosing = []         # the bound indices in scope
        self.conditions = None      # a list, where definedness conditions are collected

    # Types

    def apply(self, name: str, parameters: dict, arguments: list[Tensor], sizes: list[Poly], obligations: list[Guard],
              is_node=True) -> list[Tensor]:
        """The outputs of an operator. Appends the guards under which it is well-typed."""
        frame = self.frame(name, parameters, arguments, sizes, obligations)
        op = frame.op
        if op.composite:
            inner = self.call(frame, op.composite, obligations)
            return [inner._replace(element=self.at_depth(inner.element, is_node))]
        return [self.output(frame, tensor, obligations, is_node) for tensor in op.outputs]

    def frame(self, name, parameters, arguments, sizes, obligations) -> Frame:
        op = self.library.operator(name)
        require_that(len(arguments) == len(op.inputs), f"{name} has {len(arguments)} arguments")
        frame = Frame(op, parameters, arguments)
        self.bind_inputs(frame, obligations)
        self.bind_sizes(frame, list(sizes), obligations)
        frame.names.setdefault("rank", Poly.of(len(arguments[0].shape) if arguments else 0))
        for clause in op.clauses:
            self.clause(frame, clause, obligations)
        return frame

    def bind_inputs(self, frame: Frame, obligations: list[Guard]):
        for name, dims in frame.op.inputs:
            shape = list(frame.inputs[name][1].shape)
            packed = [d for d in dims if isinstance(d, tuple)]
            present = len(shape) - len(dims) + len(packed)
            if present < 0 or len(packed) > 1 or (not packed and present):
                raise CheckError(f"{frame.op.name}: '{name}' has a wrong rank")
            for dim in dims:
                if isinstance(dim, int):
                    obligations.append(Guard(True, shape.pop(0) - dim))
                elif isinstance(dim, str):
                    frame.names[dim] = self.sized(frame.names.get(dim), shape.pop(0), obligations)
                else:
                    part, shape = shape[:present], shape[present:]
                    self.bind_pack(frame, dim, part, obligations)
        for pack in frame.op.packs - {name for name, _ in frame.op.size_parameters}:
            require_that(None not in frame.names[pack], f"{frame.op.name}: every input broadcasts a dimension")

    @staticmethod
    def sized(known: Poly | None, value: Poly, obligations: list[Guard]) -> Poly:
        """The size, if it is known, which then is the value; else the value."""
        obligations.append(Guard(False, value - 1) if known is None else Guard(True, value - known))
        return value if known is None else known

    def bind_pack(self, frame: Frame, dim, part: list, obligations):
        pack, spread_name = dim
        spread = frame.parameters.get(spread_name) or (WHOLE,) * len(part)
        require_that(len(spread) - spread.count(ABSENT) == len(part), f"{frame.op.name}: the spread does not fit")
        known = frame.names.setdefault(pack, [None] * len(spread))
        require_that(len(known) == len(spread), f"{frame.op.name}: '{pack}' has two lengths")
        for k, kind in enumerate(spread):
            if kind == WHOLE:
                known[k] = self.sized(known[k], part.pop(0), obligations)
            elif kind == SINGLE:
                obligations.append(Guard(True, part.pop(0) - 1))

    def bind_sizes(self, frame: Frame, sizes: list[Poly], obligations):
        op, names = frame.op, frame.names
        fixed = sum(kind == "size" for _, kind in op.size_parameters)
        symbolic = [p for p in op.parameters if isinstance(frame.parameters.get(p), Symbolic)]
        lengths = {p: len(names[op.parameters[p][2]]) if op.parameters[p][0] == "ints" else 1 for p in symbolic}
        of_pack = len(sizes) - fixed - sum(lengths.values())
        for name, kind in op.size_parameters:
            if kind == "size":
                names[name] = self.sized(names.get(name), sizes.pop(0), obligations)
                continue
            known = names.setdefault(name, [None] * of_pack)
            for k in [k for k, size in enumerate(known) if size is None]:  # dimensions of an input that is not broadcast are known
                known[k] = self.sized(None, sizes.pop(0), obligations)
        for name in symbolic:
            require_that(name not in names, f"{op.name} has a wrong number of sizes")
            least = frame.parameters[name].least
            numbers = [self.sized(None, sizes.pop(0), obligations) - 1 + least for _ in range(lengths[name])]
            names[name] = numbers if op.parameters[name][0] == "ints" else numbers[0]
        require_that(not sizes, f"{op.name} has a wrong number of sizes")
        for name, value in frame.parameters.items():
            kind = op.parameters[name][0]
            if kind == "ints" and not isinstance(value, Symbolic):
                names[name] = [Poly.of(v) for v in value]
            elif isinstance(value, int):
                names[name] = Poly.of(value)

    def clause(self, frame: Frame, clause, obligations):
        if clause[0] == "let":
            _, name, is_pack, item = clause
            values = self.items(item, frame)
            frame.names[name] = values if is_pack else values[0]
        elif clause[0] == "except":
            _, left, right, axis = clause
            a, b = frame.names[left], frame.names[right]
            require_that(len(a) == len(b), f"{frame.op.name}: the packs differ in length")
            for k in range(len(a)):
                if k != frame.parameters[axis]:
                    obligations.append(Guard(True, b[k] - a[k]))
                    b[k] = a[k]
        elif clause[2] is None or str(frame.parameters[clause[2][0]]) == clause[2][1]:
            for left, relation, right in self.comparison(clause[1], frame):
                require_that(relation != "!=", f"{frame.op.name} has a condition with !=")
                obligations.extend(relation_guards(left, relation, right))

    def output(self, frame: Frame, tensor, obligations, is_node) -> Tensor:
        _, bindings, body = tensor
        dims = [self.items(item, frame) for _, _, item in bindings]
        shape = tuple(d for part in dims for d in part)
        obligations.extend(Guard(False, d - 1) for d in shape)

        def element(index, known):
            return self.expression(body, frame.inner(bindings, dims, index), known)
        return Tensor(shape, self.at_depth(element, is_node))

    def at_depth(self, element, is_node):
        def evaluate(index, known):
            self.depth += is_node
            result = element(index, known)
            self.depth -= is_node
            return result
        return evaluate

    def call(self, frame: Frame, call, obligations) -> Tensor:
        """One operator of a composite."""
        if call[0] == "input":
            return frame.inputs[call[1]][1]
        _, name, arguments, given = call
        tensors = [self.call(frame, argument, obligations) for argument in arguments]
        inner, parameters, sizes = self.library.operator(name), {}, []
        for key, value in given.items():
            kind = inner.parameters[key][0]
            if kind in ("size", "sizes"):
                continue
            if value[0] == "name" and value[1] in frame.parameters:
                parameters[key] = frame.parameters[value[1]]
            else:
                parameters[key] = value[1] if kind == "enum" else self.index(value, frame).constant
        for key, kind in inner.size_parameters:
            sizes.append(self.index(given[key], frame))
        parameters = complete_parameters(inner, parameters, [len(t.shape) for t in tensors])
        for key, value in parameters.items():
            if isinstance(value, Symbolic):
                numbers = frame.names[given[key][1]]
                sizes += [n + 1 - value.least for n in (numbers if isinstance(numbers, list) else [numbers])]
        return self.apply(name, parameters, tensors, sizes, obligations, is_node=False)[0]

    # Index expressions

    def index(self, e, frame: Frame, k=None) -> Poly:
        if e[0] == "number":
            return Poly.of(e[1])
        if e[0] in ("name", "pack", "element"):
            value = frame.names.get(e[1])
            if e[0] != "name":
                at = k if e[0] == "pack" else self.index(e[2], frame, k).constant
                value = value[at] if isinstance(value, list) and at is not None and 0 <= at < len(value) else None
            require_that(isinstance(value, Poly), f"{frame.op.name}: '{e[1]}' has no value here")
            return value
        if e[0] == "choice":
            _, parameter, wanted, a, b = e
            if isinstance(frame.parameters[parameter], Symbolic):
                raise CheckError(f"{frame.op.name}: the definition depends on the symbolic parameter '{parameter}'")
            return self.index(a if str(frame.parameters[parameter]) == wanted else b, frame, k)
        result = Poly.of(0)
        if e[0] == "product":
            result = Poly.of(1)
            for factor in self.items(e[1], frame):
                result = result * factor
            return result
        if e[0] == "offset":
            for value, extent in zip(frame.names[e[1]], frame.extents[e[1]]):
                result = result * extent + value
            return result
        a, b = self.index(e[1], frame, k), self.index(e[2], frame, k)
        arithmetic = self.arithmetic
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: arithmetic.quotient(a, b),
                "//": lambda: arithmetic.quotient(a, b), "%": lambda: arithmetic.modulo(a, b),
                "min": lambda: arithmetic.minimum(a, b), "max": lambda: arithmetic.maximum(a, b)}[e[0]]()

    def greatest_extents(self, item, frame: Frame) -> list[Poly] | None:
        """The greatest values of extents that depend on indices; None if they do not."""
        if item[0] != "single" or not self.has_index(item[1], frame):
            return None
        return self.over_packs(self.packs_in(item[1]), frame, lambda k: self.bounds(item[1], frame, k)[1])

    def has_index(self, e, frame: Frame) -> bool:
        if e[0] in ("name", "pack", "element"):
            return e[1] in frame.extents
        return any(self.has_index(part, frame) for part in e[1:] if isinstance(part, tuple))

    def bounds(self, e, frame: Frame, k) -> tuple[Poly, Poly]:
        """The least and the greatest value of an expression, of which each operation but + and - does not decrease with its first
        operand, and has a positive second one."""
        if not self.has_index(e, frame):
            return (self.index(e, frame, k),) * 2
        if e[0] in ("name", "pack", "element"):
            at = 0 if e[0] == "name" else k if e[0] == "pack" else self.index(e[2], frame, k).constant
            return Poly.of(0), frame.extents[e[1]][at] - 1
        if e[0] == "*" and self.has_index(e[2], frame):
            e = ("*", e[2], e[1])
        (low, high), (least, most) = (self.bounds(part, frame, k) for part in e[1:3])
        divide = self.arithmetic.quotient
        operations = {"+": lambda: (low + least, high + most), "-": lambda: (low - most, high - least),
                      "*": lambda: (low * least, high * least), "/": lambda: (divide(low, least), divide(high, least)),
                      "%": lambda: (Poly.of(0), most - 1),
                      "min": lambda: (self.arithmetic.minimum(low, least), self.arithmetic.minimum(high, most)),
                      "max": lambda: (self.arithmetic.maximum(low, least), self.arithmetic.maximum(high, most))}
        require_that(e[0] in operations and (e[0] not in ("*", "/") or least == most) and (e[0] != "*" or is_nonnegative(least)),
                     f"{frame.op.name}: an extent without a bound")
        return operations[e[0]]()

    @staticmethod
    def packs_in(e) -> list[str]:
        if e[0] == "pack":
            return [e[1]]
        parts = e[3:] if e[0] == "choice" else e[1:] if e[0] not in ("product", "number", "name", "offset") else ()
        return [p for part in parts if isinstance(part, tuple) for p in Lowering.packs_in(part)]

    def over_packs(self, packs, frame, evaluate, count=None) -> list:
        """One value, or one for each element of the packs, which have equal lengths."""
        lengths = {len(frame.names[p]) for p in packs} | ({count} if count is not None else set())
        require_that(len(lengths) <= 1, f"{frame.op.name}: packs of different lengths")
        return [evaluate(k) for k in range(*lengths)] if lengths else [evaluate(None)]

    def comparison(self, comparison, frame: Frame) -> list[tuple]:
        left, relation, right = comparison
        packs = self.packs_in(left) + self.packs_in(right)
        return self.over_packs(packs, frame, lambda k: (self.index(left, frame, k), relation, self.index(right, frame, k)))

    def items(self, item, frame: Frame) -> list[Poly]:
        if item[0] == "single":
            return self.over_packs(self.packs_in(item[1]), frame, lambda k: self.index(item[1], frame, k))
        _, pack, change, parameter, value = item
        elements = list(frame.names[pack])
        if change == "none":
            return elements
        if change == "unravel":
            return self.unravel(self.index(value, frame), elements)
        if change in ("gather", "scatter"):
            order = frame.parameters[parameter]
            require_that(sorted(order) == list(range(len(elements))), f"{frame.op.name}: the order does not fit")
            return [elements[i if change == "gather" else order.index(k)] for k, i in enumerate(order)]
        axes = frame.parameters[parameter]
        axes = [axes] if isinstance(axes, int) else sorted(axes)
        if any(axis >= len(elements) + (len(axes) if change == "insert" else 0) for axis in axes):
            raise CheckError(f"{frame.op.name}: an axis is outside of '{pack}'")
        if change in ("keep", "remove"):
            return [x for k, x in enumerate(elements) if (k in axes) == (change == "keep")]
        values = self.over_packs(self.packs_in(value), frame, lambda k: self.index(value, frame, k), len(axes))
        for axis, new in zip(axes, values):
            elements[axis:axis + (change == "with")] = [new]
        return elements

    def unravel(self, position: Poly, dims: list[Poly]) -> list[Poly]:
        """The indices of the element at a row-major position."""
        result, stride = [], Poly.of(1)
        for k in reversed(range(len(dims))):
            value = self.arithmetic.quotient(position, stride)
            result.insert(0, self.arithmetic.modulo(value, dims[k]) if k else value)
            stride = stride * dims[k]
        return result

    # Scalar expressions

    def with_guards(self, terms: list[Product], guards, known) -> list[Product]:
        """[guards] · Σ terms. Guards that are known to hold are left out."""
        def outer(p):
            kept = (g for g in (*guards, *p.guards) if g not in known and g not in self.facts)
            return p._replace(guards=without_redundant(kept))
        return [outer(p) for p in terms]

    def expression(self, e, frame: Frame, known: tuple) -> list[Product]:
        if e[0] == "number":
            return [Product(e[1])] if e[1] else []
        if e[0] == "read":
            return self.read(e, frame, known)
        if e[0] == "over":
            return self.multiply(self.expression(e[1], frame, known), self.inverse(self.index(e[2], frame)))
        if e[0] == "reduce":
            return self.reduction(e, frame, known)
        if e[0] == "apply":
            return self.application(e, frame, known)
        if e[0] == "case":
            return self.cases(e, frame, known)
        a, b = self.expression(e[1], frame, known), self.expression(e[2], frame, known)
        if e[0] == "*":
            return self.multiply(a, b)
        return a + (b if e[0] == "+" else [p.times(-1) for p in b])

    def multiply(self, a, b) -> list[Product]:
        require_that(len(a) * len(b) <= MAX_PRODUCTS, "too many products")
        return [p._replace(guards=without_redundant(p.guards)) for p in multiply(a, b)]

    def inverse(self, value: Poly) -> list[Product]:
        """1 / value. It and its factors are at least 1, which a proof must show."""
        number, factors = reciprocals(value)
        self.arithmetic.divisors.update([value, *(factor.index[0] for factor in factors)])
        return [Product(Fraction(1, number), factors=factors)]

    def read(self, e, frame: Frame, known) -> list[Product]:
        """The element at these indices, and 0 outside of the tensor."""
        _, name, items = e
        index = [i for item in items for i in self.items(item, frame)]
        if name in frame.inputs:
            dims, tensor = frame.inputs[name]
            index = self.whole_indices(index, dims, frame)
            shape, element = tensor
        else:
            bindings, body = frame.tensors[name]
            dims = [self.items(item, frame) for _, _, item in bindings]
            shape = [d for part in dims for d in part]

            def element(at, given):
                return self.expression(body, frame.inner(bindings, dims, at), given)
        require_that(len(index) == len(shape), f"{frame.op.name}: '{name}' is read with {len(index)} indices")
        inside = tuple(g for i, d in zip(index, shape) for g in index_range(i, d))
        return self.with_guards(element(tuple(index), known + inside), inside, known)

    @staticmethod
    def whole_indices(index, dims, frame: Frame) -> list[Poly]:
        """The indices into an input that is broadcast."""
        start = next((k for k, dim in enumerate(dims) if isinstance(dim, tuple)), 0)
        spread = frame.parameters.get(dims[start][1]) if dims and isinstance(dims[start], tuple) else None
        kinds = {start + k: kind for k, kind in enumerate(spread or ())}
        return [Poly.of(0) if kinds.get(d) == SINGLE else i for d, i in enumerate(index) if kinds.get(d) != ABSENT]

    def reduction(self, e, frame: Frame, known) -> list[Product]:
        _, kind, bindings, comparisons, body = e
        inner, bound, guards, variable_ends = frame.inner([], [], ()), [], [], []
        for name, is_pack, item in bindings:
            extents = self.items(item, inner)
            greatest = self.greatest_extents(item, inner) or extents
            indices = [bound_index(self.next_bound + k) for k in range(len(extents))]
            self.next_bound += len(extents)
            bound += indices
            for index, extent, most in zip(map(variable, indices), extents, greatest):
                guards += index_range(index, most)
                variable_ends += [Guard(False, extent - index - 1)] if greatest is not extents else []
            inner.bind(name, is_pack, list(map(variable, indices)), greatest)
        for comparison in comparisons:
            guards += [g for c in self.comparison(comparison, inner) for g in relation_guards(*c)]
        guards += variable_ends
        if not bound and not guards:
            return self.expression(body, inner, known)
        self.enclosing += bound
        terms = self.expression(body, inner, known + tuple(guards))
        del self.enclosing[len(self.enclosing) - len(bound):]
        if kind == "max":
            return [Product(factors=(Factor("max", "", (), (tuple(terms),), tuple(bound), tuple(guards)),))]
        return [p._replace(bound=tuple(bound) + p.bound) for p in self.with_guards(terms, guards, known)]

    def application(self, e, frame: Frame, known) -> list[Product]:
        name = frame.parameters.get(e[1], e[1])
        if name == "none":
            return self.expression(e[2][0], frame, known)
        function = self.library.functions.get(name)
        require_that(function and function.arity == len(e[2]), f"'{name}' is no function of {len(e[2])} numbers")
        factor = Factor("apply", function.representative, (), tuple(tuple(self.expression(a, frame, known)) for a in e[2]))
        if self.conditions is not None and self.depth == 1 and not function.is_total:
            arguments = tuple(a if i in domain_arguments(function.formula) else () for i, a in enumerate(factor.arguments))
            self.conditions.append(Product(guards=without_redundant(known), bound=tuple(self.enclosing),
                                           factors=(factor._replace(kind="defined", arguments=arguments),)))
        return [Product(factors=(factor,))]

    def cases(self, e, frame: Frame, known) -> list[Product]:
        """Inside, all comparisons hold. Outside, the first ones hold and the next one does not."""
        inside, outside = [()], []
        for comparison in e[1]:
            for left, relation, right in self.comparison(comparison, frame):
                yes = relation_guards(left, "=" if relation == "!=" else relation, right)[0]
                here, there = [(yes,)], [(no,) for no in yes.complement()]
                if relation == "!=":
                    here, there = there, here
                outside += [region + no for region in inside for no in there]
                inside = [region + guards for region in inside for guards in here]
        return [p for body, regions in ((e[2], inside), (e[3], outside)) for region in regions
                for p in self.with_guards(self.expression(body, frame, known + region), region, known)]


def reciprocals(value: Poly) -> tuple[int, tuple]:
    """c, and the factors 1/s · 1/t of 1 / (c · s · t)."""
    number, monomial = value.content()
    require_that(number, "a division by 0")
    parts = [variable(a) for a in in_order(monomial)] + [value.divided_by(number, monomial)]
    return number, tuple(Factor("inverse", index=(part,)) for part in parts if part != 1)


def complete_parameters(op: Operator, given: dict, ranks: list[int]) -> dict:
    """The values of all parameters, with defaults; raises CheckError for values outside of their domain."""
    result = {}
    for name, (kind, default, rest) in op.parameters.items():
        if kind in ("size", "sizes"):
            continue
        value = given.get(name, default)
        if kind == "ints" and isinstance(value, int):
            at = next(i for i, (_, dims) in enumerate(op.inputs) if any(isinstance(d, tuple) and d[0] == rest for d in dims))
            value = (value,) * (ranks[at] - len(op.inputs[at][1]) + 1)
        value = tuple(value) if isinstance(value, list) else value
        rank = ranks[0] if ranks else 0
        is_list = isinstance(value, tuple) and not isinstance(value, Symbolic)
        allowed = {
            "enum": lambda: value in rest,
            "int": lambda: isinstance(value, Symbolic) and not rest or isinstance(value, int) and value >= 0 and
            (not rest or value in rest),
            "ints": lambda: isinstance(value, Symbolic) or is_list and all(v >= 0 for v in value),
            "axis": lambda: isinstance(value, int) and 0 <= value < rank,
            "permutation": lambda: is_list and sorted(value) == list(range(rank)),
            "spread": lambda: is_list and all(v in (WHOLE, SINGLE, ABSENT) for v in value),
            "axes": lambda: is_list and len(set(value)) == len(value) > 0 and all(0 <= v < rank for v in value),
            "new axes": lambda: is_list and len(set(value)) == len(value) > 0 and all(v >= 0 for v in value)}[kind]
        require_that(allowed(), f"{op.name}: {name} = {value} is not allowed")
        result[name] = value
    require_that(set(given) <= set(result), f"{op.name} has no parameter {', '.join(set(given) - set(result))}")
    return result
