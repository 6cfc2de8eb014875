"""The parameters of operators: their domains, and symbolic ones."""

from typing import NamedTuple

from definitions import Operator, Parameter, packs_of
from polynomials import is_nonnegative, require_that

WHOLE, SINGLE, ABSENT = 0, 1, 2  # items of a spread


class Symbolic(NamedTuple):
    """The value of an integer parameter that is a size of the node, or a list of them: number = size − 1 + least."""
    least: int


def is_list(value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Symbolic)


def is_allowed(parameter: Parameter, value, rank: int) -> bool:
    kind = parameter.kind
    if parameter.values:
        return value in parameter.values
    if isinstance(value, Symbolic):
        return kind in ("int", "ints")
    if kind in ("int", "axis"):
        return isinstance(value, int) and 0 <= value and (kind == "int" or value < rank)
    if not is_list(value) or not all(v >= 0 for v in value):
        return False
    return {"ints": True, "permutation": sorted(value) == list(range(rank)), "spread": set(value) <= {WHOLE, SINGLE, ABSENT},
            "axes": all(v < rank for v in value) and len(set(value)) == len(value) > 0,
            "new axes": len(set(value)) == len(value) > 0}[kind]


def pack_length(op: Operator, pack: str, ranks: list[int]) -> int:
    return next(rank - len(dims) + 1 for (_, dims), rank in zip(op.inputs, ranks) if pack in packs_of(dims))


def complete_parameters(op: Operator, given: dict, ranks: list[int]) -> tuple:
    """(name, value) of all parameters but sizes, sorted, with defaults. `ranks`: of the arguments."""
    result = {}
    for name, parameter in op.parameters.items():
        if parameter.kind in ("size", "sizes"):
            continue
        value = given.get(name, parameter.default)
        if parameter.kind == "ints" and isinstance(value, int):
            value = (value,) * pack_length(op, parameter.pack, ranks)
        require_that(is_allowed(parameter, value, ranks[0] if ranks else 0), f"{op.name}: {name} = {value} is not allowed")
        result[name] = value
    require_that(given.keys() <= result.keys(), f"{op.name} has no parameter {', '.join(given.keys() - result.keys())}")
    return tuple(sorted(result.items()))


def node_values(op: Operator, given: dict, ranks: list[int]) -> tuple[tuple, tuple]:
    """The parameters and the sizes of a node. `given`: words, polynomials, and lists of polynomials, by name."""
    parameters, sizes, symbolic = {}, [], []
    for name, parameter in op.parameters.items():
        value = given.get(name)
        values = value if isinstance(value, list) else [value]
        if parameter.kind in ("size", "sizes"):
            require_that(value is not None, f"{op.name} needs its size {name}")
            sizes += values
        elif value is None or isinstance(value, str):
            parameters |= {name: value} if value else {}
        elif all(v.constant is not None for v in values):
            parameters[name] = tuple(v.constant for v in values) if isinstance(value, list) else value.constant
        else:
            least = 1 if all(is_nonnegative(v - 1) for v in values) else 0
            parameters[name] = Symbolic(least)
            symbolic += [v + 1 - least for v in values]
    require_that(given.keys() <= op.parameters.keys(), f"{op.name} has no parameter {', '.join(given.keys() - op.parameters.keys())}")
    return complete_parameters(op, parameters, ranks), tuple(sizes + symbolic)
