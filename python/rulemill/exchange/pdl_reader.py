"""Rules from MLIR patterns in the PDL dialect on StableHLO, by the table that exported patterns are written with. Types
are those that the text states, or that rulemill.fits does: each of its alternatives is a rule. A pattern without types
is read at each assignment of ranks from 0 to 4 that fits. A rule states no more than its pattern."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from .errors import Problem
from .mlir_text import MlirText
from .pdl_patterns import Pattern, read_patterns
from .pdl_types import Shape, Tensor, Typing, read_constant, stated_typings, with_ranks
from .process import Operators
from .rules import Data, call_text, rule_name
from .sizes import text_of
from .stablehlo import COMMUTATIVE, Form, Table
from .stablehlo_equations import numbers_of
from .stablehlo_reader import Input, Instances, Reading, Unfit, read_form

_DIALECT, _BROADCAST, _SCALAR = "stablehlo.", "stablehlo.broadcast_in_dim", "scalar "


class _Value(NamedTuple):
    text: str
    tensor: Tensor
    output: str = ""  # of a call: ".first"


#: Of several forms of an operation, the least is read: without further conditions, without broadcasts of their own,
#: with few parameters, and with the second operand broadcast rather than the first.
_Preference = Tuple[int, int, int, bool]


def _shape_text(shape: Shape) -> str:
    return f"[{', '.join(map(text_of, shape))}]"


class _Rule:
    """One typing of a pattern as a rule."""

    def __init__(self, pattern: Pattern, typing: Typing, table: Table, instances: Instances) -> None:
        self.pattern, self.typing, self.table, self.instances = pattern, typing, table, instances
        self.values: Dict[int, _Value] = {}
        self.variables: List[str] = []  # with their shapes
        self.names: Set[str] = set()
        self.lets: Dict[str, str] = {}  # the names of calls
        self.reason = ""                # why the last form does not fit

    def text(self, name: str) -> str:
        source = self.value_of(self.pattern.root).text
        # The root is replaced, so its value is none of the target's.
        target = self.value_of(self.pattern.replacement).text
        lets = "".join(f"  let {let} = {call}\n" for call, let in self.lets.items())
        conditions = f"  when {', '.join(self.typing.conditions)}\n" if self.typing.conditions else ""
        return f"rule {name}({', '.join(self.variables)})\n{lets}  {source} => {target}\n{conditions}"

    def known(self, number: int) -> Tensor:
        return self.typing.types[self.pattern.nodes[number].type]

    def set_known(self, number: int, tensor: Tensor) -> None:
        self.typing.types[self.pattern.nodes[number].type] = tensor

    def value_of(self, number: int) -> _Value:
        if number not in self.values:
            is_operation = bool(self.pattern.nodes[number].operation)
            self.values[number] = self.operation(number) if is_operation else self.variable(number)
        return self.values[number]

    def variable(self, number: int) -> _Value:
        """Exported patterns have %v_x for the variable x."""
        tensor, written = self.known(number), self.pattern.nodes[number].name
        name = rule_name(written[2:] if self.typing.is_specified and written.startswith("v_") else written)
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.variables.append(name + _shape_text(tensor.shape or ()) + (" of bool" if tensor.kind == "bool" else ""))
        return _Value(name, tensor)

    def operation(self, number: int) -> _Value:
        node = self.pattern.nodes[number]
        if not node.operation.startswith(_DIALECT):
            node.fail(f"expected an operation of StableHLO, found '{node.operation}'")
        operation = node.operation[len(_DIALECT):]
        swaps = (False, True) if operation in COMMUTATIVE and len(node.operands) == 2 else (False,)
        peelings = (True, False) if any(map(self.is_broadcast, node.operands)) else (False,)
        best: Optional[Tuple[_Value, _Preference]] = None
        self.reason = "it is in no form of data/exports/stablehlo.toml"
        for form in self.table.forms_of_operation(operation):
            if form.operator not in self.instances.operators.signatures:
                continue
            for is_swapped in swaps:
                for peels in peelings:
                    found = self.operation_as(number, form, peels, is_swapped)
                    if found and (not best or found[1] < best[1]):
                        best = found
        value = best[0] if best else node.fail(f"{node.operation}: {self.reason}")
        known = self.known(number)
        if known.shape is None:
            known = known._replace(shape=value.tensor.shape)
        elif not known.is_exact:
            self.equate(value.tensor.shape or (), known.shape, number)
        self.set_known(number, known)
        let = self.lets.setdefault(value.text, f"_{len(self.lets) + 1}")
        return _Value(let + value.output, known._replace(kind=value.tensor.kind))

    def equate(self, a: Shape, b: Shape, number: int) -> None:
        """Values of one type have one shape."""
        if len(a) != len(b):
            self.pattern.nodes[number].fail(f"values of one type have ranks {len(a)} and {len(b)}")
        self.typing.conditions += [f"{text_of(x)} = {text_of(y)}" for x, y in zip(a, b) if x != y]

    def operation_as(self, number: int, form: Form, peels: bool,
                     is_swapped: bool) -> Optional[Tuple[_Value, _Preference]]:
        """The operation as this form. If it `peels`, operands that the form broadcasts are taken before that."""
        try:
            if form.operation == "constant":
                reading = self.constant_as(number, form)
                return self.finish(form, [], reading), (0, 0, 0, False)
            found = self.inputs_of(number, form, peels, is_swapped)
            if found is None:
                return None
            arguments, inputs, broadcasts = found
            attributes = self.attributes_of(number, form)
            reading = read_form(form, inputs, self.result_of(number), attributes, self.typing, self.instances)
        except Unfit as unfit:
            self.reason = str(unfit) or self.reason
            return None
        is_first = len(inputs) == 2 and inputs[0].broadcast is not None and inputs[1].broadcast is None
        preference = (reading.condition_count, broadcasts, reading.stated_count, is_first)
        return self.finish(form, arguments, reading), preference

    @staticmethod
    def finish(form: Form, arguments: List[str], reading: Reading) -> _Value:
        return _Value(call_text(form.operator, arguments, reading.parameters), reading.result,
                      form.output and "." + form.output)

    def inputs_of(self, number: int, form: Form, peels: bool,
                  is_swapped: bool) -> Optional[Tuple[List[str], List[Input], int]]:
        """The operator's arguments as text and as tensors, and the number of operands that keep a broadcast. None if
        the operands are not those of the form, or if nothing could be peeled, which is the same as without."""
        operands = self.pattern.nodes[number].operands[::-1 if is_swapped else 1]
        names: List[str] = self.instances.operators.signatures[form.operator]["inputs"]
        uses = form.inputs or names
        if len(uses) != len(operands):
            return None
        found: Dict[str, Tuple[str, Input]] = {}
        peeled = broadcasts = 0
        for use, operand in zip(uses, operands):
            broadcasts += self.is_broadcast(operand)
            if use not in names:
                if not self.is_constant(operand, use, number):
                    return None
                continue
            dimensions = None
            if peels and use in form.broadcast and self.is_broadcast(operand):
                dimensions = numbers_of(self.pattern.nodes[operand].attributes.get("broadcast_dimensions") or "")
                if dimensions is None:
                    return None
                operand = self.pattern.nodes[operand].operands[0]
                peeled += 1
            value = self.value_of(operand)
            if use in found and found[use][0] != value.text:
                return None
            found[use] = (value.text, Input(value.tensor, dimensions))
        if (peels and peeled == 0) or len(found) < len(names):
            return None
        return [found[name][0] for name in names], [found[name][1] for name in names], broadcasts - peeled

    def result_of(self, number: int) -> Tensor:
        """The type of a node; that of a broadcast, if the node has none and its operands are broadcast to it."""
        tensor = self.known(number)
        for operand in self.pattern.nodes[number].operands:
            known = self.known(operand)
            if tensor.shape is None and self.is_broadcast(operand) and known.shape is not None:
                tensor = tensor._replace(shape=known.shape, is_exact=known.is_exact)
        return tensor

    def is_broadcast(self, number: int) -> bool:
        node = self.pattern.nodes[number]
        return node.operation == _BROADCAST and len(node.operands) == 1

    def is_constant(self, operand: int, use: str, user: int) -> bool:
        """Whether a node is the constant of a form: "1.0", or "scalar 6.0" without dimensions."""
        found = self.constant_of(operand)
        if found is None or found[0] != float(use.split(" ")[-1]):
            return False
        result = self.result_of(user).shape
        return found[1].shape == () if use.startswith(_SCALAR) else result is None or result == found[1].shape

    def constant_of(self, number: int) -> Optional[Tuple[float, Tensor]]:
        node = self.pattern.nodes[number]
        if node.operation != "stablehlo.constant" or node.operands:
            return None
        text = self.typing.attributes[number].get("value", node.attributes.get("value") or "")
        try:
            found = read_constant(text, self.pattern)
        except Problem as problem:
            node.fail(problem.message)
        if found:
            if self.known(number).shape is None:
                self.set_known(number, found[1])
            if self.known(number).shape != found[1].shape:
                node.fail("the constant's type is not that of its value")
        return found

    def constant_as(self, number: int, form: Form) -> Reading:
        found = self.constant_of(number)
        if found is None:
            raise Unfit("expected one number as its value")
        if found[0] != float(form.inputs[0]):
            raise Unfit("it is none of the numbers that are operators")
        return read_form(form, [], self.known(number), {}, self.typing, self.instances)

    def attributes_of(self, number: int, form: Form) -> Dict[str, str]:
        node = self.pattern.nodes[number]
        given = dict(self.typing.attributes[number])
        for name, text in sorted(node.attributes.items()):
            if name not in given and text is None:
                raise Unfit(f"its attribute {name} may have any value")
            given.setdefault(name, text or "")
        for name in form.optional:
            if name not in given and not self.typing.is_specified and node.is_match:
                raise Unfit(f"it matches any {name}")
        return given


def _readings(pattern: Pattern, name: str, table: Table, instances: Instances) -> List[str]:
    """The rules of a pattern. Ranks that do not fit are left out if others do."""
    readings = []
    problem: Optional[Problem] = None
    for stated in stated_typings(pattern):
        typings = with_ranks(pattern, stated)
        for typing in typings:
            try:
                readings.append(_Rule(pattern, typing, table, instances).text(name))
            except Problem as error:
                if len(typings) == 1:
                    raise
                problem = problem or error
    if problem and not readings:
        raise problem
    return readings


def _read(pattern: Pattern, table: Table, instances: Instances) -> Data:
    name = rule_name(pattern.name)
    result: Data = {"name": name, "place": pattern.place, "problem": pattern.problem}
    if pattern.problem:
        return result
    try:
        return {**result, "readings": _readings(pattern, name, table, instances), "sizes": list(pattern.sizes)}
    except Problem as problem:
        return {**result, "place": problem.place or pattern.place, "problem": problem.message}
    except RecursionError:
        return {**result, "problem": "expected a pattern with fewer operations in a row"}


def read(request: Data, operators: Operators) -> Data:
    table, instances = Table(request["data"], operators.signatures), Instances(operators)
    patterns = read_patterns(MlirText(request["text"], request["origin"]))
    return {"statements": [_read(pattern, table, instances) for pattern in patterns]}
