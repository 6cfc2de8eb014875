"""An operator and its parameters from a StableHLO operation: a form of the table, read backwards."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Tuple, Union

from .pdl_types import Shape, Tensor, Typing
from .process import Operators
from .rules import Data
from .sizes import Size, number, parse_size, text_of
from .stablehlo import ABSENT, ONE, WHOLE, Form, Value
from .stablehlo_equations import Equations, is_neutral, numbers_of

_MAX_AXES = 6


class Unfit(Exception):
    """Why an operation is not of a form, if there is a reason."""


class Input(NamedTuple):
    """An input of the operator. `broadcast`: its dimensions in the result, if the operation broadcasts it."""

    tensor: Tensor
    broadcast: Optional[Tuple[int, ...]] = None


class Reading(NamedTuple):
    parameters: str = ""      # "axis=1, at=n"
    stated_count: int = 0     # of parameters that are not at their default
    condition_count: int = 0  # of the operator's conditions on sizes that the pattern does not state
    result: Tensor = Tensor()


def _fail(reason: str) -> NoReturn:
    raise Unfit(reason)


def _subsets(count: int) -> Iterator[List[int]]:
    """The non-empty subsets of 0 … count − 1, at most 6 of them."""
    for chosen in range(1, 1 << min(count, _MAX_AXES)):
        yield [i for i in range(count) if chosen >> i & 1]


class _Instance:
    """An operator instance over the sizes s0, s1, … (general data of algebra/exchange/rule_data.h)."""

    def __init__(self, data: Data) -> None:
        self.parameters: Dict[str, Any] = {each["name"]: each["value"] for each in data["parameters"]}
        self.names = {slot: name for name, slot in data["slots"].items()}
        self.slots = sorted(self.names, key=lambda slot: int(slot[1:]))
        self.size_parameters: List[str] = data["sizes"]
        self.inputs, self.outputs = ([[parse_size(each) for each in tensor["shape"]] for tensor in data[key]]
                                     for key in ("inputs", "outputs"))
        self.input_names = [each["name"] for each in data["inputs"]]
        self.input_kinds, self.output_kinds = ([each["kind"] for each in data[key]] for key in ("inputs", "outputs"))
        self.output_names = [each["name"] for each in data["outputs"]]
        self.conditions = [(parse_size(a), sign, parse_size(b)) for a, sign, b, _ in data["conditions"]]


class Instances:
    """The operator instances that the program describes, and what was read with them."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        self._known: Dict[str, Optional[_Instance]] = {}
        self.readings: Dict[Any, Union[Reading, str]] = {}  # of read_form, or why there is none

    def of(self, operator: str, parameters: Dict[str, Any], ranks: List[int]) -> Optional[_Instance]:
        key = f"{operator} {parameters} {ranks}"
        if key not in self._known:
            data = self.operators.instance(operator, parameters, ranks)
            self._known[key] = _Instance(data) if data else None
        return self._known[key]


def read_form(form: Form, inputs: List[Input], result: Tensor, attributes: Dict[str, str], typing: Typing,
              instances: Instances) -> Reading:
    """Finds the parameters under which a form is the operation with these attributes. The result's shape is needed if
    a form's sizes do not follow from its operands. Raises Unfit."""
    key = (form, *inputs, result, tuple(sorted(attributes.items())), tuple(typing.zeros), tuple(typing.facts))
    if key not in instances.readings:
        try:
            instances.readings[key] = _FormReader(form, inputs, result, attributes, typing, instances).read()
        except Unfit as unfit:
            instances.readings[key] = str(unfit)
    found = instances.readings[key]
    return found if isinstance(found, Reading) else _fail(found)


class _FormReader:
    """Reads one form."""

    def __init__(self, form: Form, inputs: List[Input], result: Tensor, attributes: Dict[str, str], typing: Typing,
                 instances: Instances) -> None:
        self.form, self.inputs, self.result, self.attributes = form, inputs, result, attributes
        self.typing, self.instances = typing, instances
        self.signature = instances.operators.signatures[form.operator]
        self.shapes: List[Shape] = [each.tensor.shape or () for each in inputs]
        self.ranks = [len(shape) for shape in self.shapes]
        self.parameters: Dict[str, Any] = {}
        self.choices: Dict[str, List[Any]] = {}  # of finite domains
        self.numbers: List[str] = []             # unknown ones
        self.lists: List[str] = []               # of unknown numbers

    def read(self) -> Reading:
        """Raises Unfit."""
        self.require_known_attributes()
        if self.signature["has_explicit_rank"]:
            if self.result.shape is None:
                _fail("it has to state the type of its result")
            self.ranks = [*self.ranks, len(self.result.shape)]
        for parameter in self.signature["parameters"]:
            self.add_parameter(parameter["name"], parameter["kind"], parameter.get("values", []))
        unfit = Unfit()
        for values in itertools.product(*self.choices.values()):
            self.parameters.update(zip(self.choices, values))
            try:
                return self.read_instance()
            except Unfit as error:
                unfit = error
        raise unfit

    def require_known_attributes(self) -> None:
        for name in self.form.attributes:
            if name not in self.attributes:
                _fail(f"it does not state {name}")
        for name, text in sorted(self.attributes.items()):
            if name not in self.form.attributes and name not in self.form.optional and not is_neutral(name, text):
                _fail(f"its attribute {name} has another value")

    def add_parameter(self, name: str, kind: str, values: List[Any]) -> None:
        """Sets a parameter that the form or a broadcast states; collects the values of another one."""
        rank = len(self.shapes[0]) if self.shapes else 0
        if name in self.form.when:
            if kind != "spread":  # a spread is "whole", its default
                self.parameters[name] = self.form.when[name]
        elif kind == "spread":
            self.set_spread(name)
        elif kind in ("axes", "new_axes"):
            self.choices[name] = list(_subsets(rank if kind == "axes" else len(self.result.shape or [])))
        elif kind in ("permutation", "ints"):
            self.parameters[name] = list(range(rank)) if kind == "permutation" else 1
            self.lists.append(name)
        elif kind == "axis" or (kind == "int" and values):
            self.choices[name] = list(range(rank)) if kind == "axis" else values
        elif kind == "int":
            self.parameters[name] = 1
            self.numbers.append(name)

    def set_spread(self, name: str) -> None:
        """How an input is broadcast, from its dimensions in the result."""
        use, result = f"kept({name})", self.result.shape
        dimensions, shape = None, self.shapes[0]
        for i, input_name in enumerate(self.signature["inputs"]):
            if self.form.broadcast.get(input_name) == use:
                dimensions, shape = self.inputs[i].broadcast, self.shapes[i]
        for attribute, text in self.form.attributes.items():
            if "{" + use + "}" in text:
                dimensions = numbers_of(self.attributes[attribute])
                if dimensions is None:
                    _fail(f"its {attribute} do not fit")
        if dimensions is None:
            return
        if result is None:
            _fail("it has to state the type of its result")
        if len(dimensions) != len(shape) or not all(at < len(result) for at in dimensions):
            _fail("its broadcast has another rank")
        if list(dimensions) != sorted(set(dimensions)):
            _fail("its broadcast changes the order")
        spread = [ABSENT] * len(result)
        for at, dimension in zip(dimensions, shape):
            spread[at] = WHOLE if self.typing.are_equal(dimension, result[at]) else ONE
            if spread[at] == ONE and dimension != number(1):
                _fail("its broadcast does not fit")
        if any(each != WHOLE for each in spread):
            self.parameters[name] = [each.constant for each in spread]

    def instance(self) -> Optional[_Instance]:
        return self.instances.of(self.form.operator, self.parameters, self.ranks)

    def read_instance(self) -> Reading:
        instance = self.instance() or _fail("operands of these ranks do not fit")
        equations = Equations()
        slots = self.slots_of(instance, equations)
        names = self.names_of(instance, slots, equations)
        self.equate_broadcasts(names, equations)
        if not self.equate_attributes(names, equations) or not equations.solve():
            _fail("its attributes do not fit")
        self.set_numbers(names, equations)
        return self.finish(slots, equations)

    def slots_of(self, instance: _Instance, equations: Equations) -> Dict[str, Size]:
        """The sizes of an instance: those of its inputs, and unknown numbers. Dimensions that the text states are not
        narrowed."""
        slots: Dict[str, Size] = {}
        for given, shape, dims in zip(self.inputs, self.shapes, instance.inputs):
            for size, dim in zip(shape, dims):
                slot = dim.name
                if slot is not None and slot not in slots:
                    slots[slot] = size
                elif not (size == dim if slot is None else
                          not given.tensor.is_exact or self.typing.are_equal(slots[slot], size)):
                    _fail("the dimensions of its operands do not fit")
        return {slot: slots[slot] if slot in slots else equations.unknown() for slot in instance.slots}

    def names_of(self, instance: _Instance, slots: Dict[str, Size], equations: Equations) -> Dict[str, Value]:
        names: Dict[str, Value] = {instance.names[slot]: size for slot, size in slots.items()}
        for name, value in instance.parameters.items():
            if isinstance(value, list):
                names[name] = [equations.unknown() if name in self.lists else number(each) for each in value]
            elif isinstance(value, int):
                names[name] = equations.unknown() if name in self.numbers else number(value)
        names.update(zip(instance.input_names, map(list, self.shapes)))
        return names if self.result.shape is None else {**names, "result": list(self.result.shape)}

    def equate_broadcasts(self, names: Dict[str, Value], equations: Equations) -> None:
        result = self.result.shape
        for given, name in zip(self.inputs, self.signature["inputs"]):
            expression = self.form.broadcast.get(name)
            if expression is None:
                continue
            is_spread = expression.startswith("kept(") and given.broadcast is None
            expected = [] if is_spread or result is None else self.form.evaluate(expression, names)
            if given.broadcast is None:
                has_rank = result is not None and len(given.tensor.shape or ()) == len(result)
                is_fit = has_rank and len(expected) == len(result or ()) or is_spread and (has_rank or result is None)
            else:
                is_fit = result is not None and len(expected) == len(given.broadcast)
            if not is_fit:
                _fail("its broadcasts do not fit")
            for a, b in zip(expected, given.broadcast or ()):
                equations.equate(a, number(b))

    def equate_attributes(self, names: Dict[str, Value], equations: Equations) -> bool:
        for name, text in self.form.attributes.items():
            if "result" in text and self.result.shape is None:
                return False
            if not equations.equate_texts(self.form.fill(text, names), self.attributes[name]):
                return False
        return all(equations.equate_texts(self.form.fill(text, names), self.attributes[name] if name in self.attributes
                                          else self.form.fill(absent, names))
                   for name, (text, absent) in self.form.optional.items())

    def set_numbers(self, names: Dict[str, Value], equations: Equations) -> None:
        for name in [*self.numbers, *self.lists]:
            sizes = names[name]
            values = [equations.value(each) for each in (sizes if isinstance(sizes, list) else [sizes])]
            constants = [each.constant if each is not None else None for each in values]
            if None in constants:
                _fail("its attributes do not determine its parameters")
            self.parameters[name] = constants if name in self.lists else constants[0]

    def finish(self, slots: Dict[str, Size], equations: Equations) -> Reading:
        """The result and the sizes that follow from it."""
        instance = self.instance() or _fail("its parameters do not fit")
        output = instance.output_names.index(self.form.output) if self.form.output else 0
        dims, kind, stated = instance.outputs[output], instance.output_kinds[output], self.result.shape
        shape = [dim.substitute(slots) for dim in dims]
        if stated is not None and len(stated) != len(dims):
            _fail("its result has another rank")
        if self.result.kind not in (None, kind):
            _fail("its result has other elements")
        if any(given.tensor.kind not in (None, expected) for given, expected in zip(self.inputs, instance.input_kinds)):
            _fail("its operands have other elements")
        for dim, found, expected_size in zip(dims, shape, stated or []):
            is_needed = self.result.is_exact or dim.names().intersection(instance.size_parameters)
            if is_needed and not self.typing.are_equal(found, expected_size):
                equations.equate(found, expected_size)
        if not equations.solve():
            _fail("its result has another shape")
        values = tuple(equations.value(each) or _fail("the sizes of its result do not follow") for each in shape)
        defaults = {each["name"]: each.get("default") for each in self.signature["parameters"]}
        parameters = [f"{name}={str(value).replace(' ', '')}" for name, value in instance.parameters.items()
                      if defaults[name] != value]
        conditions = self.count_open_conditions(instance, slots, equations)
        parameters += self.sizes_of(instance, slots, equations)
        return Reading(", ".join(parameters), len(parameters), conditions, Tensor(values, kind))

    def sizes_of(self, instance: _Instance, slots: Dict[str, Size], equations: Equations) -> List[str]:
        """The size parameters, a list of them last."""
        sizes = []
        for slot in instance.size_parameters:
            value = equations.value(slots[slot])
            if value is None:
                _fail("its sizes do not follow")
            if value.constant is not None and value.constant < 1:
                _fail("its attributes do not fit")
            sizes.append(text_of(value))
        result = []
        for at, name in enumerate(self.signature["sizes"]):
            is_list = name.endswith("...")
            result.append(f"{name[:-3]}=[{', '.join(sizes[at:])}]" if is_list else f"{name}={sizes[at]}")
        return result

    def count_open_conditions(self, instance: _Instance, slots: Dict[str, Size], equations: Equations) -> int:
        sizes = {slot: size.substitute(equations.solved) for slot, size in slots.items()}
        count = 0
        for left, sign, right in instance.conditions:
            a, b = left.substitute(sizes), right.substitute(sizes)
            count += not (self.typing.are_equal(a, b) if sign == "=" else
                          sign != "!=" and self.typing.is_nonnegative(b - a - number(int(sign == "<"))))
        return count
