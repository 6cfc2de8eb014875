"""General rules at fixed ranks and parameters (docs/rank_polymorphism.md): the theorem on dimension packs, whose
condition is compared on normal forms, and numbers in place of symbolic parameters."""

from itertools import count
from math import prod

from definitions import Library, Symbolic, is_list, packs_of
from lowering import Lowering, Tensor, Use, element_of, read_tensor, reciprocals
from obligations import follows
from polynomials import ATOMS, Arithmetic, CheckError, Poly, atom, output_index, require_that, variable
from rules import Node, Rule, Variable
from statement import Statement
from sums import Factor, Product, canonical, index_ranges, map_polys

MAX_RANK = 5


def specialize(rule: Rule, name: str, library: Library, ranks) -> Rule:
    """The specialization `d=2,stride=1` of a general rule."""
    numbers = {}
    for part in name.split(","):
        size, _, value = part.partition("=")
        require_that(value.isdigit(), f"there is no specialization '{name}'")
        if atom("size", size) in rule.packs:
            rule = PackExpansion(rule, atom("size", size), int(value), library).run()
        else:
            numbers[atom("size", size)] = Poly.of(int(value))
    return with_numbers(rule, numbers, library, ranks)


def with_numbers(rule: Rule, numbers: dict, library: Library, ranks) -> Rule:
    """Numbers in place of sizes that are symbolic parameters, which are the last sizes of a node."""
    arithmetic, seen = Arithmetic(), set()

    def poly(old: Poly) -> Poly:
        return arithmetic.substitute(old, numbers)

    def node(old: Node, arguments: tuple) -> Node:
        op, parameters = library.operator(old.operator), dict(old.parameters)
        sizes, symbolic = tuple(map(poly, old.sizes)), ()
        for name in [name for name in op.parameters if isinstance(parameters.get(name), Symbolic)][::-1]:
            pack = op.parameters[name].pack
            begin = len(sizes) - (op.pack_length(pack, list(map(ranks, arguments))) if pack else 1)
            sizes, own = sizes[:begin], sizes[begin:]
            values = [size.constant for size in own]
            if None in values:
                symbolic = own + symbolic
                continue
            require_that(all(value >= 1 for value in values), "a symbolic parameter is too small")
            values = tuple(value - 1 + parameters[name].least for value in values)
            parameters[name] = values if pack else values[0]
        seen.update(size.single_atom for size in old.sizes[len(sizes):])
        return Node(old.operator, tuple(sorted(parameters.items())), arguments, sizes + symbolic)
    result = rule.changed(poly, node, packs=[])
    require_that(numbers.keys() <= seen, "only symbolic parameters are replaced by numbers")
    return result


class PackExpansion:
    """Replaces the dimension `pack` of a rule by `rank` dimensions, whose product it is. An index over it is the row-major position
    of a tuple of indices. Each node's operator must be the same function at both ranks, of tensors that agree by this bijection."""

    def __init__(self, rule: Rule, pack: int, rank: int, library: Library):
        require_that(rank <= MAX_RANK, "the rank is too high")
        self.rule, self.pack, self.rank, self.library = rule, pack, rank, library
        self.arithmetic, self.fresh = Arithmetic(), count(10 ** 6)
        self.old = Statement(rule, library).terms
        used, self.sizes = {ATOMS[a].name for a in rule.sizes()}, [] if rank != 1 else [variable(pack)]
        for k in range(1, rank + 1 if rank != 1 else 1):
            name = f"{ATOMS[pack].name}_{k}"
            while name in used:
                name += "_"
            self.sizes.append(variable(atom("size", name)))
        self.extent = {pack: prod(self.sizes, start=Poly.of(1))}

    def run(self) -> Rule:
        shapes = [self.expand(shape) for shape in self.rule.shapes]
        variables = {v: Variable(v.name, len(shape)) for v, shape in zip(self.rule.variables, shapes)}
        packs = [pack for pack in self.rule.packs if pack != self.pack]
        return self.rule.changed(self.merged, self.node, variables, shapes, packs)

    def merged(self, poly: Poly) -> Poly:
        return self.arithmetic.substitute(poly, self.extent)

    def position(self, indices: list[Poly]) -> Poly:
        """Row-major, of a tuple of indices over the pack."""
        result = Poly.of(0)
        for index, extent in zip(indices, self.sizes):
            result = result * extent + index
        return result

    def counts(self, dims) -> list[int]:
        return [self.rank if d.single_atom == self.pack else 1 for d in dims]

    def expand(self, dims) -> tuple:
        return tuple(e for d in dims for e in (self.sizes if d.single_atom == self.pack else [self.merged(d)]))

    def merge_indices(self, dims, indices: list) -> tuple:
        """The indices over the dimensions before they are expanded."""
        result, indices = [], list(indices)
        for d, n in zip(dims, self.counts(dims)):
            result.append(self.position(indices[:n]) if d.single_atom == self.pack else indices[0])
            del indices[:n]
        return tuple(result)

    def node(self, old: Node, arguments: tuple) -> Node:
        for scatters in (False, True):
            new = Node(old.operator, tuple(sorted(self.parameters(old, scatters).items())), arguments, self.expand(old.sizes))
            try:
                self.check_lifting(old, new)
                return new
            except CheckError:
                if scatters:
                    raise

    def parameters(self, node: Node, scatters: bool) -> dict:
        """Axes, orders and lists at the new rank."""
        op, values = self.library.operator(node.operator), dict(node.parameters)
        arguments = [self.old.tensor(a) for a in node.arguments]
        first = self.counts(arguments[0].shape) if arguments else []
        result = self.counts(self.old.node(node)[0].shape)
        names = Use(self.old.lowering, op, values, arguments, list(node.sizes), []).names

        def positions(axes, counts):
            return tuple(sum(counts[:axis]) + k for axis in axes for k in range(counts[axis]))

        def inverse(order):
            return tuple(order.index(k) for k in range(len(order)))
        for name, value in values.items():
            kind, pack = op.parameters[name].kind, op.parameters[name].pack
            if kind == "axis":
                values[name] = sum(first[:value])
            elif kind in ("axes", "new axes"):
                values[name] = positions(value, first if kind == "axes" else result)
            elif kind == "permutation":
                values[name] = inverse(positions(inverse(value), first)) if scatters else positions(value, first)
            elif kind in ("spread", "ints") and is_list(value):
                packs = [pack] if pack else [p for _, dims in op.inputs for p, spread in packs_of(dims).items() if spread == name]
                values[name] = tuple(v for v, n in zip(value, self.counts(names[packs[0]])) for _ in range(n))
        return values

    def check_lifting(self, old: Node, new: Node):
        """Compares the operator at both ranks: on variables, and on tensors with the same elements."""
        inputs = [read_tensor(f"x{k}", shape) for k, shape in enumerate(self.old.tensor(a).shape for a in old.arguments)]
        expanded = [Tensor(self.expand(x.shape), lambda index, known, x=x: x.element(self.merge_indices(x.shape, index), known))
                    for x in inputs]
        (before, conditions), (after, new_conditions) = self.apply(old, inputs), self.apply(new, expanded)
        require_that({g for g in map_polys(conditions, self.merged) if not follows(g, ())} == set(new_conditions),
                     "the operator has other conditions at another rank")
        for a, b in zip(before, after):
            require_that(self.expand(a.shape) == b.shape, "an output has other dimensions than the pack's")
            merged = self.merge_indices(a.shape, [output_index(d) for d in range(len(b.shape))])
            images = {output_index(d).single_atom: index for d, index in enumerate(merged)}
            lifted = [self.lift(p, images) for p in element_of(a)]
            require_that(list(map(canonical, lifted)) == list(map(canonical, element_of(b))),
                         "an operator does more than pass the pack through")

    def apply(self, node: Node, arguments) -> tuple[list[Tensor], tuple]:
        conditions = []
        outputs = Lowering(self.library, self.arithmetic).apply(node.operator, node.parameters, arguments, node.sizes, conditions)
        return outputs, tuple(g for g in conditions if not follows(g, ()))

    def lift(self, x, images: dict):
        """A product or factor at positions: each bound index over the pack becomes as many as there are sizes."""
        images, bound, guards, ranges = dict(images), [], list(x.guards), ()
        for b in x.bound:
            ends, new = index_ranges([variable(b)], [variable(self.pack)]), [b]
            if set(ends) <= set(guards):
                new = [atom("bound", next(self.fresh)) for _ in self.sizes]
                images[b] = self.position(list(map(variable, new)))
                guards = [g for g in guards if g not in ends]
                ranges += index_ranges(map(variable, new), self.sizes)
            bound += new
        guards, index = map_polys((tuple(guards), getattr(x, "index", ())), lambda p: self.arithmetic.substitute(p, images | self.extent))
        if isinstance(x, Factor):
            arguments = tuple(tuple(self.lift(p, images) for p in argument) for argument in x.arguments)
            return Factor(x.kind, x.symbol, index, arguments, tuple(bound), guards + ranges)
        coefficient, factors = x.coefficient, ()
        for f in (self.lift(f, images) for f in x.factors):
            number, parts = reciprocals(f.index[0]) if f.kind == "inverse" else (1, (f,))
            coefficient, factors = coefficient / number, factors + parts
        return Product(coefficient, guards + ranges, tuple(bound), factors)
