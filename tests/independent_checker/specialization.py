"""General rules at fixed ranks and parameters (docs/rank_polymorphism.md): the theorem on dimension packs, whose
condition is compared on normal forms, and numbers in place of symbolic parameters."""

from collections import Counter
from itertools import count

from lowering import Lowering, Symbolic, Tensor
from normal_form import Factor, Product, canonical_product, index_range, map_guards, map_polys
from polynomials import ATOMS, Arithmetic, CheckError, Poly, atom, atoms_in, output_index, variable
from rules import Node, Output, Rule, Variable, nodes_of
from statement import Statement, Terms, trivially_true

MAX_RANK = 5


def specialize(rule: Rule, name: str, library) -> Rule:
    """The specialization `d=2,stride=1` of a general rule."""
    numbers, packs = {}, rule.packs
    for part in name.split(","):
        size, _, value = part.partition("=")
        if not value.isdigit():
            raise CheckError(f"there is no specialization '{name}'")
        if atom("size", size) in packs:
            rule = PackExpansion(rule, atom("size", size), int(value), library).run()
        else:
            numbers[atom("size", size)] = Poly.of(int(value))
    rule = Rule(rule.variables, rule.shapes, rule.source, rule.target, rule.conditions, [])
    return with_numbers(rule, numbers, library) if numbers else rule


def rebuild(terms, nodes: dict, variables: dict) -> list:
    return [variables[t] if isinstance(t, Variable) else Output(nodes[t.node], t.number) for t in terms]


def with_numbers(rule: Rule, numbers: dict, library) -> Rule:
    arithmetic, nodes, seen = Arithmetic(), {}, set()
    same = {v: v for v in rule.variables}

    def changed(poly):
        return arithmetic.substitute(poly, numbers)
    for node in nodes_of(rule.source + rule.target):
        parameters, sizes = dict(node.parameters), list(node.sizes)
        terms = Terms(Lowering(library, arithmetic), {v: (Poly.of(1),) * v.rank for v in rule.variables})
        lengths = symbolic_lengths(node, terms)
        at = len(sizes) - sum(lengths.values())
        for name, length in lengths.items():
            seen.update(value.single_atom for value in sizes[at:at + length])
            values = [changed(value).constant for value in sizes[at:at + length]]
            at += length
            if None in values:
                continue
            least = parameters[name].least
            if min(values, default=1) < 1:
                raise CheckError("a symbolic parameter is too small")
            integers = tuple(value - 1 + least for value in values)
            parameters[name] = integers if library.operator(node.operator).parameters[name][0] == "ints" else integers[0]
            del sizes[at - length:at]
            at -= length
        nodes[node] = Node(node.operator, tuple(sorted(parameters.items())),
                           tuple(rebuild(node.arguments, nodes, same)), tuple(map(changed, sizes)))
    if not set(numbers) <= seen:
        raise CheckError("only symbolic parameters are replaced by numbers")
    shapes = [tuple(map(changed, shape)) for shape in rule.shapes]
    conditions = [(changed(a), relation, changed(b)) for a, relation, b in rule.conditions]
    conditions = [c for c in conditions if c[1] != "=" or c[0] != c[2]]
    return Rule(rule.variables, shapes, rebuild(rule.source, nodes, same), rebuild(rule.target, nodes, same), conditions, [])


def symbolic_lengths(node: Node, terms: Terms) -> dict:
    op = terms.lowering.library.operator(node.operator)
    symbolic = [name for name in op.parameters if isinstance(dict(node.parameters).get(name), Symbolic)]
    if not any(op.parameters[name][0] == "ints" for name in symbolic):
        return dict.fromkeys(symbolic, 1)
    raise CheckError("lists of symbolic parameters are not supported")


class PackExpansion:
    """Replaces the size `pack` of a rule by `rank` sizes. Each node's operator must only pass it through: an index over it
    occurs only by itself where a tensor has the dimension, and the size only as a number."""

    def __init__(self, rule: Rule, pack: int, rank: int, library):
        self.rule, self.pack, self.rank, self.library = rule, pack, rank, library
        self.arithmetic = Arithmetic()
        self.old = Statement(rule, library, self.arithmetic).terms
        if rank > MAX_RANK:
            raise CheckError("the rank is too high")
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
        rule, nodes = self.rule, {}
        shapes = [self.expand(shape) for shape in rule.shapes]
        variables = {v: Variable(v.name, len(shape)) for v, shape in zip(rule.variables, shapes)}
        for node in nodes_of(rule.source + rule.target):
            arguments = tuple(rebuild(node.arguments, nodes, variables))
            sizes = self.expand(node.sizes)
            for scatters in (False, True):
                try:
                    new = Node(node.operator, tuple(sorted(self.parameters(node, scatters).items())), arguments, sizes)
                    self.check_lifting(node, new)
                    break
                except CheckError:
                    if scatters:
                        raise
            nodes[node] = new
        return Rule(list(variables.values()), shapes, rebuild(rule.source, nodes, variables),
                    rebuild(rule.target, nodes, variables),
                    [(self.merged(a), relation, self.merged(b)) for a, relation, b in rule.conditions],
                    [pack for pack in rule.packs if pack != self.pack])

    def counts(self, dims) -> list[int]:
        return [self.rank if self.is_pack(d) else 1 for d in dims]

    def parameters(self, node: Node, scatters: bool) -> dict:
        """Axes, orders and lists at the new rank."""
        op, values = self.library.operator(node.operator), dict(node.parameters)
        arguments = [self.old.tensor(a) for a in node.arguments]
        first = self.counts(arguments[0].shape) if arguments else []
        result = self.counts(self.old.node(node)[0].shape)
        names = self.old.lowering.frame(node.operator, values, arguments, node.sizes, []).names

        def positions(axes, counts):
            return tuple(sum(counts[:axis]) + k for axis in axes for k in range(counts[axis]))

        def inverse(order):
            return tuple(order.index(k) for k in range(len(order)))
        for name, value in values.items():
            kind, _, pack = op.parameters[name]
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
            tensors = lowering.apply(node.operator, dict(node.parameters), [terms.tensor(x) for x in arguments], node.sizes,
                                     terms.obligations)
            forms.append(([self.element(t) for t in tensors], [t.shape for t in tensors],
                          {g for g in terms.obligations if not trivially_true(g)}, shapes))
        (elements, dims, obligations, shapes), (new_elements, new_dims, new_obligations, _) = forms
        if [self.expand(shape) for shape in dims] != new_dims:
            raise CheckError("an output has other dimensions than the pack's")
        merged = {g for g in map_guards(tuple(obligations), self.merged) if not trivially_true(g)}
        if merged != new_obligations:
            raise CheckError("the operator has other conditions at another rank")
        for shape, a, b in zip(dims, elements, new_elements):
            indices, at = {}, 0
            for d, dim in enumerate(shape):
                width = self.rank if self.is_pack(dim) else 1
                indices[output_index(d).single_atom] = ([output_index(at + k) for k in range(width)], self.is_pack(dim))
                at += width
            by_name = {x.name: s for x, s in shapes.items()}
            lifted = tuple(self.lift(p, indices, by_name) for p in a)
            if list(map(self.normalized, lifted)) != list(map(self.normalized, b)):
                raise CheckError("an operator does more than pass the pack through")

    @staticmethod
    def element(tensor: Tensor) -> tuple:
        index = tuple(output_index(d) for d in range(len(tensor.shape)))
        return tuple(tensor.element(index, tuple(g for i, d in zip(index, tensor.shape) for g in index_range(i, d))))

    def lift(self, x, indices: dict, shapes: dict):
        """A product or factor with its indices over the pack replaced by several."""
        indices, bound, guards = dict(indices), [], list(x.guards)
        for b in x.bound:
            ends = index_range(variable(b), variable(self.pack))
            if not set(ends) <= set(guards):
                bound.append(b)
                continue
            new = [atom("bound", next(self.fresh)) for _ in self.sizes]
            indices[b], bound = ([variable(i) for i in new], True), bound + new
            guards = [g for g in guards if g not in ends]
            guards += [g for i, s in zip(new, self.sizes) for g in index_range(variable(i), s)]
        guards = map_guards(tuple(guards), lambda poly: self.number(poly, indices))
        if isinstance(x, Product):
            return Product(x.coefficient, guards, tuple(bound), tuple(self.lift(f, indices, shapes) for f in x.factors))
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

    def normalized(self, p: Product):
        """Bound indices are numbered in order, and products of sizes in reciprocals are separated."""
        numbers = count(2 * 10 ** 6)

        def number(x):
            images = {b: variable(atom("bound", next(numbers))) for b in x.bound}
            x = map_polys(x, lambda poly: self.arithmetic.substitute(poly, images))
            x = x._replace(bound=tuple(images[b].single_atom for b in x.bound))
            if isinstance(x, Product):
                return x._replace(factors=tuple(number(f) for f in x.factors))
            return x._replace(arguments=tuple(tuple(number(q) for q in a) for a in x.arguments))

        def separate(x):
            if isinstance(x, Factor):
                return x._replace(arguments=tuple(tuple(separate(q) for q in a) for a in x.arguments))
            factors = []
            for f in x.factors:
                parts = [variable(a) for a in f.index[0].content()[1]] if f.kind == "inverse" else []
                rest = f.index[0].divided_by(1, f.index[0].content()[1]) if f.kind == "inverse" else None
                parts += [rest] if rest is not None and rest != 1 else []
                factors += [f._replace(index=(part,)) for part in parts] if f.kind == "inverse" else [separate(f)]
            return x._replace(factors=tuple(factors))
        p = canonical_product(number(separate(p)))
        return p._replace(factors=frozenset(Counter(p.factors).items()))
