"""General rules at fixed ranks and parameters (docs/rank_polymorphism.md): the theorem on dimension packs, whose
condition is compared on normal forms, and numbers in place of symbolic parameters."""

from itertools import count

from lowering import Lowering, Tensor, Use, reciprocals
from sums import Factor, Product, canonical, index_ranges, map_polys
from obligations import follows
from parameters import Symbolic
from polynomials import ATOMS, Arithmetic, CheckError, Poly, atom, atoms_in, output_index, require_that, variable
from rules import Node, Rule, Variable
from statement import Statement, Terms

MAX_RANK = 5


def specialize(rule: Rule, name: str, library) -> Rule:
    """The specialization `d=2,stride=1` of a general rule."""
    numbers, packs = {}, rule.packs
    for part in name.split(","):
        size, _, value = part.partition("=")
        require_that(value.isdigit(), f"there is no specialization '{name}'")
        if atom("size", size) in packs:
            rule = PackExpansion(rule, atom("size", size), int(value), library).run()
        else:
            numbers[atom("size", size)] = Poly.of(int(value))
    return with_numbers(rule, numbers, library)


def with_numbers(rule: Rule, numbers: dict, library) -> Rule:
    """Numbers in place of sizes that are symbolic parameters, which are the last sizes of a node."""
    arithmetic, seen = Arithmetic(), set()

    def poly(old):
        return arithmetic.substitute(old, numbers)

    def node(old: Node, arguments: tuple) -> Node:
        parameters, sizes, kinds = dict(old.parameters), list(old.sizes), library.operator(old.operator).parameters
        symbolic = [name for name in kinds if isinstance(parameters.get(name), Symbolic)]
        require_that(all(kinds[name].kind != "ints" for name in symbolic), "lists of symbolic parameters are not supported")
        for k, name in list(enumerate(symbolic, len(sizes) - len(symbolic)))[::-1]:
            seen.add(sizes[k].single_atom)
            value = poly(sizes[k]).constant
            if value is not None:
                require_that(value >= 1, "a symbolic parameter is too small")
                parameters[name] = value - 1 + parameters[name].least
                del sizes[k]
        return Node(old.operator, tuple(sorted(parameters.items())), arguments, tuple(map(poly, sizes)))
    result = rule.changed(poly, node, packs=[])
    require_that(set(numbers) <= seen, "only symbolic parameters are replaced by numbers")
    return result


class PackExpansion:
    """Replaces the size `pack` of a rule by `rank` sizes. Each node's operator must only pass it through: an index over it
    occurs only by itself where a tensor has the dimension, and the size only as a number."""

    def __init__(self, rule: Rule, pack: int, rank: int, library):
        self.rule, self.pack, self.rank, self.library = rule, pack, rank, library
        self.arithmetic = Arithmetic()
        self.old = Statement(rule, library).terms
        require_that(rank <= MAX_RANK, "the rank is too high")
        used = {a for node in self.old.outputs.values() for t in node for d in t.shape for a in atoms_in(d)}
        used |= {a for shape in rule.shapes for d in shape for a in atoms_in(d)}
        self.sizes = [] if rank != 1 else [variable(pack)]
        for k in range(1, rank + 1 if rank != 1 else 1):
            name = f"{ATOMS[pack].name}_{k}"
            while atom("size", name) in used:
                name += "_"
            self.sizes.append(variable(atom("size", name)))
        self.product = Poly.of(1)
        for s in self.sizes:
            self.product = self.product * s
        self.fresh = count(10 ** 6)

    def is_pack(self, dim: Poly) -> bool:
        return dim.single_atom == self.pack

    def merged(self, poly: Poly) -> Poly:
        return self.arithmetic.substitute(poly, {self.pack: self.product})

    def expand(self, dims) -> tuple:
        return tuple(e for d in dims for e in (self.sizes if self.is_pack(d) else [self.merged(d)]))

    def run(self) -> Rule:
        shapes = [self.expand(shape) for shape in self.rule.shapes]
        variables = {v: Variable(v.name, len(shape)) for v, shape in zip(self.rule.variables, shapes)}
        packs = [pack for pack in self.rule.packs if pack != self.pack]
        return self.rule.changed(self.merged, self.node, variables, shapes, packs)

    def node(self, old: Node, arguments: tuple) -> Node:
        for scatters in (False, True):
            new = Node(old.operator, tuple(sorted(self.parameters(old, scatters).items())), arguments, self.expand(old.sizes))
            try:
                self.check_lifting(old, new)
                return new
            except CheckError:
                if scatters:
                    raise

    def counts(self, dims) -> list[int]:
        return [self.rank if self.is_pack(d) else 1 for d in dims]

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
            elif kind in ("spread", "ints") and not isinstance(value, Symbolic):
                if kind == "spread":
                    pack = next(d[0] for _, dims in op.inputs for d in dims if isinstance(d, tuple) and d[1] == name)
                values[name] = tuple(v for v, n in zip(value, self.counts(names[pack])) for _ in range(n))
        return values

    def check_lifting(self, old: Node, new: Node):
        """Compares the operator at both ranks on variables as arguments."""
        forms = []
        for node, expand in ((old, tuple), (new, self.expand)):
            arguments = [Variable(f"x{k}", 0) for k in range(len(node.arguments))]
            shapes = {x: expand(self.old.tensor(a).shape) for x, a in zip(arguments, old.arguments)}
            lowering = Lowering(self.library, self.arithmetic)
            terms = Terms(lowering, shapes)
            tensors = lowering.apply(node.operator, node.parameters, [terms.tensor(x) for x in arguments], node.sizes,
                                     terms.obligations)
            forms.append(([self.element(t) for t in tensors], [t.shape for t in tensors],
                          {g for g in terms.obligations if not follows(g, ())}, shapes))
        (elements, dims, obligations, shapes), (new_elements, new_dims, new_obligations, _) = forms
        require_that([self.expand(shape) for shape in dims] == new_dims, "an output has other dimensions than the pack's")
        merged = {g for g in map_polys(tuple(obligations), self.merged) if not follows(g, ())}
        require_that(merged == new_obligations, "the operator has other conditions at another rank")
        for shape, a, b in zip(dims, elements, new_elements):
            indices, at = {}, 0
            for d, dim in enumerate(shape):
                width = self.rank if self.is_pack(dim) else 1
                indices[output_index(d).single_atom] = ([output_index(at + k) for k in range(width)], self.is_pack(dim))
                at += width
            by_name = {x.name: s for x, s in shapes.items()}
            lifted = tuple(self.lift(p, indices, by_name) for p in a)
            if list(map(canonical, lifted)) != list(map(canonical, b)):
                raise CheckError("an operator does more than pass the pack through")

    @staticmethod
    def element(tensor: Tensor) -> tuple:
        index = tuple(output_index(d) for d in range(len(tensor.shape)))
        return tuple(tensor.element(index, index_ranges(index, tensor.shape)))

    def lift(self, x, indices: dict, shapes: dict):
        """A product or factor with its indices over the pack replaced by several."""
        indices, bound, guards = dict(indices), [], list(x.guards)
        for b in x.bound:
            ends = index_ranges([variable(b)], [variable(self.pack)])
            if not set(ends) <= set(guards):
                bound.append(b)
                continue
            new = [atom("bound", next(self.fresh)) for _ in self.sizes]
            indices[b], bound = ([variable(i) for i in new], True), bound + new
            guards = [g for g in guards if g not in ends]
            guards += index_ranges(map(variable, new), self.sizes)
        guards = map_polys(tuple(guards), lambda poly: self.number(poly, indices))
        if isinstance(x, Product):
            coefficient, factors = x.coefficient, ()
            for f in (self.lift(f, indices, shapes) for f in x.factors):
                number, parts = reciprocals(f.index[0]) if f.kind == "inverse" else (1, (f,))
                coefficient, factors = coefficient / number, factors + parts
            return Product(coefficient, guards, tuple(bound), factors)
        index = []
        for d, poly in enumerate(x.index):
            over_pack = x.kind == "read" and self.is_pack(shapes[x.symbol][d])
            if over_pack and not indices.get(poly.single_atom, ((), False))[1]:
                raise CheckError("an index over the pack is computed")
            index += indices[poly.single_atom][0] if over_pack else [self.number(poly, indices)]
        arguments = tuple(tuple(self.lift(p, indices, shapes) for p in a) for a in x.arguments)
        return Factor(x.kind, x.symbol, tuple(index), arguments, tuple(bound), guards)

    def number(self, poly: Poly, indices: dict) -> Poly:
        if any(is_pack for a, (_, is_pack) in indices.items() if a in atoms_in(poly)):
            raise CheckError("an index over the pack is used as a number")
        return self.arithmetic.substitute(poly, {self.pack: self.product, **{a: to[0] for a, (to, is_pack) in indices.items()
                                                                             if not is_pack}})
