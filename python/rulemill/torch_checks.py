"""What keeps a function of PyTorch from being an ONNX model: side effects, sizes that torch fixes, and numbers that ONNX rounds."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping

import torch
from torch.utils import _pytree as pytree

from .errors import InputError
from .torch_arguments import Arguments, Size


class Refused(Exception):
    """A function cannot be exported for these sizes; other ranges may do."""


def check_effects(name: str, program: Any, arguments: Arguments) -> None:
    """Raises an error if the function changes something in place, or is random."""
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    changed += getattr(signature, "parameters_to_mutate", {}).values()
    if changed:
        inputs = dict(zip(signature.user_inputs, arguments.labels))
        what = inputs.get(changed[0], changed[0].replace("function.", "", 1))
        raise InputError(f"{name}: it changes {what} in place; expected a function without side effects (of a module: call .eval())", 3)
    for node in program.graph.nodes:
        if node.op == "call_function" and _is_random(node):
            raise InputError(f"{name}: it draws random numbers ({node.target}); expected a function of its arguments "
                             "(of a module: call .eval())", 3)


def _is_random(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    given = {argument.name: node.kwargs.get(argument.name, node.args[number] if number < len(node.args) else argument.default_value)
             for number, argument in enumerate(schema.arguments)}
    train = given.get("train", given.get("training", True)) is not False
    dropout = given.get("dropout_p", given.get("dropout"))
    if isinstance(dropout, (int, float)):  # of attention and of recurrent layers
        return dropout > 0 and train
    return train and torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _placeholders(program: Any) -> List[Any]:
    """The fake tensors of the arguments."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    return [values[name] for name in program.graph_signature.user_inputs]


def names_of_sizes(name: str, program: Any, arguments: Arguments) -> Dict[str, str]:
    """The names of the sizes by torch's symbols. Raises Refused if two sizes, or a size and a number, are one to torch."""
    found: Dict[str, str] = {}
    for tensor, axes, label in zip(_placeholders(program), arguments.axes, arguments.labels):
        for axis, dim in enumerate(tensor.shape):
            symbol, expected = str(dim) if isinstance(dim, torch.SymInt) else "", axes[axis].name if axis in axes else ""
            if bool(symbol) != bool(expected) or symbol and found.setdefault(symbol, expected) != expected:
                raise Refused(f"{name}: torch fixes the size of axis {axis} of {label}, {expected or 'a number'}, to {dim}")
    if len(set(found.values())) != len(found):
        raise Refused(f"{name}: torch has several sizes for one name: {found}")
    return found


def check_guards(name: str, program: Any, names: Mapping[str, str], sizes: Mapping[str, Size]) -> None:
    """Raises Refused if the traced program holds only under a condition on the sizes."""
    from torch.utils._sympy.numbers import int_oo
    from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy
    environments: List[Any] = [dim.node.shape_env for tensor in _placeholders(program) for dim in tensor.shape if isinstance(dim, torch.SymInt)]
    for environment in environments[:1]:
        for guard in environment.guards:
            condition = environment.simplify(guard.expr)
            symbols = {symbol: names.get(str(symbol)) for symbol in condition.free_symbols}
            text = str(condition)
            for symbol, size in symbols.items():
                text = re.sub(rf"\b{symbol}\b", size or str(symbol), text)
            holds = False
            if all(symbols.values()):
                ranges = {symbol: ValueRanges(sizes[size].minimum, int_oo if sizes[size].maximum is None else sizes[size].maximum)
                          for symbol, size in symbols.items() if size}
                found = bound_sympy(condition, ranges)
                holds = bool(found.is_singleton() and found.lower)
            if not holds:
                raise Refused(f"{name}: as it was traced it holds only where {text}")


def check_inputs(name: str, proto: Any, arguments: Arguments, names: Mapping[str, str]) -> None:
    """The model's inputs must be those of the function, with all open sizes."""
    found = [[dim.dim_param or dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in proto.graph.input]
    symbols = {size: symbol for symbol, size in names.items()}
    expected = [[symbols[axes[axis].name] if axis in axes else size for axis, size in enumerate(tensor.shape)]
                for tensor, axes in zip(arguments.tensors, arguments.axes)]
    if found != expected:
        raise InputError(f"{name}: torch's exporter wrote inputs of shapes {found}; expected {expected}", 3)


def check_numbers(calls: Iterable[Any]) -> None:
    """Raises an error if two numbers beside float64 are one number of 32 bits, in which attributes of ONNX are."""
    numbers: Dict[float, float] = {}
    for node in calls:
        for number in _numbers(node):
            other = numbers.setdefault(float(torch.tensor(number, dtype=torch.float32)), number)
            if other != number and number == number:
                raise InputError(f"{node.target}: {other!r} and {number!r} are the same in 32 bits, in which ONNX has such numbers; "
                                 "expected equal ones, or elements of float32", 3)


def _numbers(node: Any) -> List[float]:
    """The numbers of 64 bits among the arguments of a call, also those that it leaves to their defaults."""
    value = node.meta.get("val")
    results = value if isinstance(value, (tuple, list)) else [value]
    if not any(isinstance(each, torch.Tensor) and each.dtype == torch.float64 for each in results):
        return []
    given = [argument.default_value for argument in getattr(getattr(node.target, "_schema", None), "arguments", [])]
    return [each for each in pytree.tree_leaves([given, node.args, node.kwargs]) if isinstance(each, float)]
