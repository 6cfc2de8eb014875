"""A model's terms as the definition of an operator (docs/definitions.md). The bodies of its nodes come from the program, with ranks and
parameters fixed; here those are put into each other that nothing is computed twice for, and printed. The program proves that the result
is what the model computes."""

from __future__ import annotations

import itertools
import pathlib
import re
import textwrap
from decimal import Decimal
from fractions import Fraction
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from .errors import Problem
from .rules import Data
from .sizes import Size, number, parse_size, size

#: Words of the language, and names that its reader takes for a call.
_WORDS = set("and at axes by commutative else function if in include insert int is let max min new of offset onnx only operator "
             "permutation product rank reals sizes spread sum tensor where with without".split())
_OUTPUTS = "first second third fourth fifth sixth".split()
_MAX_DIGITS, _MAX_COLUMNS = 15, 120
#: A body with more parts stays a tensor of its own, and one that is read several times if it has more than _MAX_REPEATED.
_MAX_PARTS, _MAX_REPEATED = 60, 4
Guard = Tuple[Tuple[Size, str, Size], ...]


class Body(NamedTuple):
    """A scalar expression (algebra/operators/expression.h)."""

    kind: str
    value: Fraction = Fraction(0)
    tensor: int = -1
    function: str = ""
    indices: Tuple[Size, ...] = ()
    bound: Tuple[Tuple[str, Size], ...] = ()
    guard: Guard = ()
    operands: Tuple["Body", ...] = ()

    def parts(self) -> Iterator["Body"]:
        yield self
        for operand in self.operands:
            yield from operand.parts()

    def reduces(self) -> bool:
        return any(part.kind in ("sum", "max") for part in self.parts())


class Tensor:
    """An input, without a body, or what a node computes: the element at `indices`."""

    def __init__(self, name: str, kind: str, shape: Sequence[Size], indices: Sequence[str] = (), body: Optional[Body] = None) -> None:
        self.name, self.kind, self.shape, self.indices, self.body = name, kind, list(shape), list(indices), body


class _Model:
    """The tensors of a model: inputs and constants first, then those of its nodes, with bodies put into each other."""

    def __init__(self, rule: Data, constants: Mapping[str, str]) -> None:
        self._numbers = itertools.count()
        self.conditions: List[Tuple[Size, str, Size]] = [(parse_size(a), sign, parse_size(b)) for a, sign, b in rule["conditions"]]
        terms = rule["terms"]
        self.tensors = [Tensor(name, term["kind"], map(parse_size, term["shape"])) for name, term in zip(rule["variables"], terms)]
        #: Inputs in the order of the model, then constants.
        self.inputs = sorted(range(len(self.tensors)), key=lambda place: self.tensors[place].name in constants)
        places = {term: term for term in range(len(self.tensors))}
        for node in rule["nodes"]:
            self.conditions += [(parse_size(a), sign, parse_size(b)) for a, sign, b, is_shown in node["conditions"] if not is_shown]
            known = [places[term] for term in node["arguments"]]
            for each in node["tensors"]:
                known.append(len(self.tensors))
                is_output = len(known) > len(node["arguments"]) + len(node["tensors"]) - len(node["terms"])
                self._add(node["operator"] if is_output else each["name"], each, known)
            places.update(zip(node["terms"], known[len(known) - len(node["terms"]):]))
        self.outputs = [places[term] for term in rule["source"]["outputs"]]
        self.uses: Dict[int, int] = {}
        self._count_uses()
        for tensor in self.tensors:
            if tensor.body:
                extents = dict(zip(tensor.indices, tensor.shape))
                tensor.body = self._inlined(tensor.body, extents, set(tensor.indices))
        self._count_uses()

    def _fresh(self) -> str:
        return f"_{next(self._numbers)}"

    def _add(self, name: str, data: Data, known: Sequence[int]) -> None:
        shape = [parse_size(text) for text in data["shape"]]
        indices = [self._fresh() for _ in shape]
        names = {f"_{place}": size(index) for place, index in enumerate(indices)}
        self.tensors.append(Tensor(name, data["kind"], shape, indices, self._read(data["body"], names, known)))

    def _read(self, data: Data, names: Mapping[str, Size], known: Sequence[int]) -> Body:
        bound = []
        for index, extent in data.get("bound", []):
            bound.append((self._fresh(), parse_size(extent)))
            names = {**names, index: size(bound[-1][0])}
        guard = tuple((parse_size(a).substitute(names), str(sign), parse_size(b).substitute(names)) for a, sign, b in data.get("guard", []))
        indices = tuple(parse_size(text).substitute(names) for text in data["indices"])
        operands = tuple(self._read(each, names, known) for each in data.get("operands", []))
        return Body(data["kind"], Fraction(data.get("value", "0")), known[data["tensor"]] if data["kind"] == "read" else -1,
                    data.get("function", ""), indices, tuple(bound), guard, operands)

    def _count_uses(self) -> None:
        """How often each tensor is read by those that the outputs depend on."""
        self.uses = dict.fromkeys(self.outputs, 0)
        for place in reversed(range(len(self.tensors))):
            body = self.tensors[place].body
            for part in body.parts() if body and place in self.uses else ():
                if part.kind == "read":
                    self.uses[part.tensor] = self.uses.get(part.tensor, 0) + 1

    def _inlined(self, body: Body, extents: Mapping[str, Size], free: Set[str]) -> Body:
        """The body with those of the tensors that it reads; `free`: its tensor's indices, while it is in no sum or maximum."""
        if body.kind == "read":
            read = self.tensors[body.tensor]
            if read.body and body.tensor not in self.outputs and is_inside(body, read, extents) and self._is_inlined(body, read, free):
                return self._substituted(read.body, dict(zip(read.indices, body.indices)))
            return body
        if body.bound:
            extents, free = {**extents, **dict(body.bound)}, set()
        return body._replace(operands=tuple(self._inlined(operand, extents, free) for operand in body.operands))

    def _is_inlined(self, body: Body, read: Tensor, free: Set[str]) -> bool:
        assert read.body
        count, uses = sum(1 for _ in read.body.parts()), self.uses.get(body.tensor, 0)
        if read.body.reduces():  # else it is computed again for each other index
            return uses == 1 and count <= _MAX_PARTS // 2 and bool(free) and {index.name for index in body.indices} == free
        return count <= _MAX_PARTS if uses == 1 else count <= _MAX_REPEATED and all(part.kind != "apply" for part in read.body.parts())

    def _substituted(self, body: Body, names: Mapping[str, Size]) -> Body:
        bound = tuple((self._fresh(), extent.substitute(names)) for _, extent in body.bound)
        names = {**names, **{old: size(new) for (old, _), (new, _) in zip(body.bound, bound)}}
        return body._replace(bound=bound, indices=tuple(index.substitute(names) for index in body.indices),
                             guard=tuple((a.substitute(names), sign, b.substitute(names)) for a, sign, b in body.guard),
                             operands=tuple(self._substituted(operand, names) for operand in body.operands))


def is_inside(body: Body, read: Tensor, extents: Mapping[str, Size]) -> bool:
    """Whether a read is in the tensor for all values of its indices; elsewhere it is 0."""
    def holds(index: Size, extent: Size) -> bool:
        if index.constant is not None:
            return 0 <= index.constant < (1 if extent.constant is None else extent.constant)
        return index.name in extents and extents[index.name or ""] == extent
    return all(map(holds, body.indices, read.shape))


def exact_number(text: str) -> Optional[Fraction]:
    """The number, if the language can state it. Raises Problem for none."""
    if text == "nan":
        raise Problem("", "is infinite or undefined")
    return Fraction(text) if len(f"{Decimal(text.lstrip('-')):f}") <= _MAX_DIGITS + 1 else None


class _Text:
    """The text of a definition. `inputs`: tensors in the order of the inputs; `constants`: numbers by the tensors in whose place they
    stand."""

    def __init__(self, model: _Model, inputs: Sequence[int], constants: Mapping[int, Fraction]) -> None:
        self.model, self._constants = model, constants
        tensors = model.tensors
        self.inputs = [place for place in inputs if place not in constants]
        functions = {part.function for tensor in tensors if tensor.body for part in tensor.body.parts()}
        self._taken: Set[str] = _WORDS | functions
        self._names: Dict[object, str] = {}
        for place in self.inputs:
            self._names[place] = self._name(tensors[place].name)
        self._sizes: Dict[str, str] = {}
        self._dims = [[self._dim(extent) for extent in tensors[place].shape] for place in self.inputs]
        self._kept = [place for place, tensor in enumerate(tensors) if tensor.body and place in model.uses and (
            model.uses[place] > 0 or place not in model.outputs)]
        for place in self._kept:
            self._names[place] = self._name("t" if tensors[place].name in functions else tensors[place].name)
        several = len(model.outputs) > 1
        own = next(name for name in itertools.chain("yz", ["result"], [f"result{count}" for count in range(9)]) if name not in self._taken)
        self.outputs = [self._name(_OUTPUTS[place] if several and place < len(_OUTPUTS) else own) for place in range(len(model.outputs))]
        self._indices: Dict[str, str] = {}

    def _name(self, wanted: str) -> str:
        name = re.sub(r"\W", "_", wanted, flags=re.A)
        name = name if name[:1].isalpha() else "x" + name
        for candidate in itertools.chain([name], (f"{name}{count}" for count in itertools.count(2))):
            if candidate not in self._taken:
                self._taken.add(candidate)
                return candidate
        return name

    def _dim(self, extent: Size) -> Tuple[str, Optional[Size]]:
        """A dimension of an input, and what it is equal to if that is no name and no number."""
        if extent.constant is not None:
            return str(extent.constant), None
        if extent.name:
            return self._size_name(extent.name), None
        return self._name("d"), extent

    def _size_name(self, name: str) -> str:
        if name not in self._sizes:
            self._sizes[name] = self._name(name)
        return self._sizes[name]

    def operator(self, name: str) -> str:
        inputs = []
        for place, dims in zip(self.inputs, self._dims):
            kind = self.model.tensors[place].kind
            of = "" if kind == "real" else f" of {kind}"
            inputs.append(f"{self._names[place]}[{', '.join(dim for dim, _ in dims)}]{of}")
        lines = [f"operator {name}({', '.join(inputs)})"]
        conditions = [f"{dim} = {self.size(extent)}" for dims in self._dims for dim, extent in dims if extent]
        conditions += [f"{self.size(a)} {sign} {self.size(b)}" for a, sign, b in self.model.conditions]
        if conditions:
            lines.append(f"  where {', '.join(dict.fromkeys(conditions))}")
        for place in self._kept:
            lines.append("  tensor " + self._line(place, self._names[place]))
        for place, output in zip(self.model.outputs, self.outputs):
            lines.append("  " + self._line(place, output, place in self._kept or self.model.tensors[place].body is None))
        return "\n".join(textwrap.fill(line, _MAX_COLUMNS, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
                         for line in lines) + "\n"

    def _line(self, place: int, name: str, is_copy: bool = False) -> str:
        tensor = self.model.tensors[place]
        indices = tensor.indices if tensor.body else [f"_copy{axis}" for axis in range(len(tensor.shape))]
        body = Body("read", tensor=place, indices=tuple(map(size, indices))) if is_copy else tensor.body
        assert body
        self._indices = {}
        bound = ", ".join(f"{self._index(index)} < {self.size(extent)}" for index, extent in zip(indices, tensor.shape))
        of = "" if tensor.kind in ("real", "positive") else f" of {tensor.kind}"
        return f"{name}[{bound}]{of} = {self.scalar(body, 0)}"

    def _index(self, name: str, letters: str = "ijkluv") -> str:
        if name not in self._indices:
            names = itertools.chain(letters, (f"{letters[0]}{count}" for count in itertools.count(1)))
            used = self._taken | set(self._indices.values())
            self._indices[name] = next(each for each in names if each not in used)
        return self._indices[name]

    def size(self, value: Size, is_factor: bool = False) -> str:
        """An index expression; `is_factor`: in parentheses unless it is a name or a number."""
        text = ""
        for sign in (1, -1):
            for monomial, coefficient in reversed(value.terms):
                if coefficient * sign < 0:
                    continue
                factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
                for atom in monomial:
                    if isinstance(atom, str):
                        factors.append(self._index(atom) if atom in self._indices else self._known_size(atom))
                    elif atom.function == "div":
                        factors.append(f"({self.size(atom.left, True)} // {self.size(atom.right, True)})")
                    else:
                        factors.append(f"{atom.function}({self.size(atom.left)}, {self.size(atom.right)})")
                text += (" - " if sign < 0 else " + ") if text else "-" if sign < 0 else ""
                text += " * ".join(factors)
        text = text or "0"
        if re.fullmatch(r"\([^()]*\)", text) and not is_factor:
            return text[1:-1]
        return f"({text})" if is_factor and not re.fullmatch(r"\w+|\(.*\)", text) else text

    def _known_size(self, name: str) -> str:
        if name not in self._sizes:
            raise Problem("", f"the size {name} is the dimension of no input; state its inputs' dimensions by one name each")
        return self._sizes[name]

    def scalar(self, body: Body, level: int) -> str:
        """A value: at level 0 any, at 1 an operand of a sum, at 2 one that is subtracted, at 3 a factor."""
        body = self._resolved(body)
        if body.kind == "read":
            return f"{self._names[body.tensor]}[{', '.join(self.size(index) for index in body.indices)}]"
        if body.kind == "apply":
            return f"{body.function}({', '.join(self.scalar(operand, 0) for operand in body.operands)})"
        text, own = getattr(self, "_" + body.kind)(body)
        return f"({text})" if own < level else text

    def _resolved(self, body: Body) -> Body:
        is_number = body.kind == "read" and body.tensor in self._constants
        return Body("number", self._constants[body.tensor]) if is_number else body

    def _flat(self, kind: str, body: Body) -> List[Body]:
        """The operands of nested sums or products."""
        if body.kind != kind:
            return [self._resolved(body)]
        return [part for operand in body.operands for part in self._flat(kind, operand)]

    def _number(self, body: Body) -> Tuple[str, int]:
        sign, value = "-" if body.value < 0 else "", abs(body.value)
        if value.denominator == 1:
            return f"{sign}{value.numerator}", 3
        digits = next((count for count in range(1, _MAX_DIGITS) if (value * 10**count).denominator == 1), 0)
        if not digits:
            return f"{sign}{value.numerator} / {value.denominator}", 2
        text = str((value * 10**digits).numerator).rjust(digits + 1, "0")
        return f"{sign}{text[:-digits]}.{text[-digits:]}", 3

    def _inverse(self, body: Body) -> Tuple[str, int]:
        return f"1 / {self.size(body.indices[0], True)}", 2

    def _add(self, body: Body) -> Tuple[str, int]:
        text = ""
        for operand in [each for each in self._flat("add", body) if each.kind != "number" or each.value != 0]:
            sign, rest = self._signed(operand)
            text += f" {sign} {self.scalar(rest, 2 if sign == '-' else 1)}" if text else (
                f"-{self.scalar(rest, 2)}" if sign == "-" else self.scalar(rest, 1))
        return text or "0", 1

    def _signed(self, body: Body) -> Tuple[str, Body]:
        """The sign of a summand, and the rest."""
        factors = self._flat("mul", body)
        numbers = [place for place, factor in enumerate(factors) if factor.kind == "number" and factor.value < 0]
        if not numbers:
            return "+", body
        value = -factors[numbers[0]].value
        rest = [factor for place, factor in enumerate(factors) if place != numbers[0]]
        if value != 1 or not rest:
            rest.insert(numbers[0], Body("number", value))
        return "-", rest[0] if len(rest) == 1 else Body("mul", operands=tuple(rest))

    def _mul(self, body: Body) -> Tuple[str, int]:
        factors = self._flat("mul", body)
        kept = [factor for factor in factors if not (factor.kind == "number" and factor.value == 1)]
        text = ""
        for place, factor in enumerate(kept):
            if factor.kind == "inverse":
                text = f"{text or '1'} / {self.size(factor.indices[0], True)}"
            else:
                text += (" * " if text else "") + self.scalar(factor, 3 if len(kept) > 1 else 2)
        return text or "1", 2

    def _sum(self, body: Body) -> Tuple[str, int]:
        bound = ", ".join(f"{self._index(index, 'pqrsot')} < {self.size(extent)}" for index, extent in body.bound)
        guard = f" where {self._guard(body.guard)}" if body.guard else ""
        return f"{body.kind}({bound}{guard}) {self.scalar(body.operands[0], 2)}", 2

    _max = _sum

    def _case(self, body: Body) -> Tuple[str, int]:
        first, second = self.scalar(body.operands[0], 1), self.scalar(body.operands[1], 0)
        return f"{first} if {self._guard(body.guard)} else {second}", 0

    def _guard(self, guard: Guard) -> str:
        return " and ".join(f"{self.size(a)} {sign} {self.size(b)}" for a, sign, b in guard)


def _constants(model: _Model, numbers: Mapping[str, str]) -> Dict[int, Fraction]:
    """The constants that are numbers in the text: all their elements are equal, and no read is outside of them."""
    found: Dict[int, Fraction] = {}
    for place, tensor in enumerate(model.tensors):
        if tensor.body is None and numbers.get(tensor.name):
            try:
                value = exact_number(numbers[tensor.name])
            except Problem as problem:
                raise Problem("", f"the constant {tensor.name} {problem.message}") from None
            if value is not None:
                found[place] = value

    def drop_outside(body: Body, extents: Mapping[str, Size]) -> None:
        extents = {**extents, **dict(body.bound)}
        if body.kind == "read" and not is_inside(body, model.tensors[body.tensor], extents):
            found.pop(body.tensor, None)
        for operand in body.operands:
            drop_outside(operand, extents)

    for tensor in model.tensors:
        if tensor.body:
            drop_outside(tensor.body, dict(zip(tensor.indices, tensor.shape)))
    return found


def _free_name(wanted: str, operators: Mapping[str, object]) -> str:
    return next(name for name in (wanted + "_" * count for count in itertools.count()) if name not in operators)


def write(request: Data, _: Iterator[Data]) -> Data:
    """{"text": the definition, "name", "inputs": its inputs, "general": the same with constants as inputs, "general_name"}."""
    name = re.sub(r"\W", "_", request["name"], flags=re.A)
    name = name if name[:1].isalpha() else "operator_" + name
    try:
        model = _Model(request["rule"], request["constants"])
        constants = _constants(model, request["constants"])
        text = _Text(model, model.inputs, constants)
        general_name = _free_name(name + "_of_constants", request["operators"])
        general = _Text(model, range(len(request["rule"]["variables"])), {}).operator(general_name)
        definition = text.operator(name)
    except Problem as problem:
        raise Problem(request["model"], problem.message) from None
    of = f"function {request['function']} of " if request["function"] else ""
    lines = [f"# What {of}{pathlib.PurePath(request['model']).name} computes."]
    kept = [model.tensors[place].name for place in text.inputs if model.tensors[place].name in request["constants"]]
    if kept:
        lines.append(f"# Constants of the model that are inputs here: {', '.join(kept)}.")
    return {"text": "\n".join([*lines, definition]), "name": name, "inputs": [model.tensors[place].name for place in text.inputs],
            "general": general, "general_name": general_name}
