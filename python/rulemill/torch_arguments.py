"""Arguments of functions of PyTorch: tensors with their open sizes, and constants. Read by `rulemill.torch` only."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from .errors import UsageError

#: What may be among arguments and results besides tensors.
CONSTANTS = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.memory_format)


@dataclass(frozen=True)
class Size:
    """An open size and its range; `maximum` None: none."""

    name: str
    minimum: int = 1
    maximum: Optional[int] = None

    def nearest(self, size: int) -> int:
        """The size of the range that is nearest."""
        return max(size, self.minimum) if self.maximum is None else min(max(size, self.minimum), self.maximum)

    def __str__(self) -> str:
        return f"{self.name} >= {self.minimum}" if self.maximum is None else f"{self.minimum} <= {self.name} <= {self.maximum}"


def distinct_sizes(count: int) -> List[int]:
    """Different primes, so that sizes of different names are not mistaken for each other."""
    found: List[int] = []
    candidate = 5
    while len(found) < count:
        if all(candidate % divisor for divisor in range(2, candidate)):
            found.append(candidate)
        candidate += 2
    return found


class Arguments:
    """The arguments of both functions. Tensors are inputs, with open sizes by axis; everything else is a constant."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], sizes: Any) -> None:
        paths, self.spec = pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
        self.leaves = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for _, leaf in paths]
        labels = [_label(function, path) for path, _ in paths]
        for label, leaf in zip(labels, self.leaves):
            if not isinstance(leaf, (torch.Tensor, *CONSTANTS)):
                raise UsageError(f"{label}: expected a tensor, a number, a text or None, found {type(leaf).__name__}", 2)
            if isinstance(leaf, torch.Tensor) and leaf.is_complex():
                raise UsageError(f"{label}: expected real numbers, found {leaf.dtype}", 2)
        self.places = [place for place, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.labels = [labels[place] for place in self.places]
        if not self.places:
            raise UsageError("expected at least one tensor among the arguments", 2)
        self.axes: List[Dict[int, Size]] = [{} for _ in self.places]
        if sizes is not None:
            self._set_sizes((tuple(args), dict(kwargs)), sizes)

    @property
    def tensors(self) -> List[torch.Tensor]:
        return [self.leaves[place] for place in self.places]

    @property
    def sizes(self) -> Dict[str, Size]:
        return {size.name: size for axes in self.axes for size in axes.values()}

    def with_tensors(self, tensors: Sequence[Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
        """The arguments with other tensors."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return args, kwargs

    def shapes(self, sizes: Mapping[str, int]) -> List[List[int]]:
        """The shapes of the tensors at these sizes."""
        return [[sizes[axes[axis].name] if axis in axes else size for axis, size in enumerate(tensor.shape)]
                for tensor, axes in zip(self.tensors, self.axes)]

    def elements(self, sizes: Mapping[str, int]) -> int:
        return sum(math.prod(shape) for shape in self.shapes(sizes))

    def drawn(self, sizes: Mapping[str, int], seed: int = 0) -> List[torch.Tensor]:
        """Tensors of these sizes: numbers from a normal distribution; integers are 0, unless the shape is that of the argument."""
        generator = torch.Generator().manual_seed(seed)
        result = []
        for tensor, shape in zip(self.tensors, self.shapes(sizes)):
            if tensor.dtype.is_floating_point:
                result.append(torch.randn(shape, generator=generator).to(tensor))
            elif tensor.dtype == torch.bool:
                result.append(torch.randint(2, shape, generator=generator).to(tensor))
            else:
                result.append(tensor.clone() if list(tensor.shape) == shape else torch.zeros(shape).to(tensor))
        return result

    def _set_sizes(self, tree: Any, sizes: Any) -> None:
        by_path = dict(zip([pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(tree)[0]], range(len(self.leaves))))
        ranges: Dict[str, Size] = {}
        for path, given in _per_tensor(tree, sizes, "", ""):
            number = self.places.index(by_path[path])
            tensor, label = self.tensors[number], self.labels[number]
            pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
            for axis, dim in pairs:
                if dim is None or dim == tensor.shape[axis]:
                    continue
                size = _size(dim, label)
                if not isinstance(axis, int) or not 0 <= axis < tensor.dim():
                    raise UsageError(f"{label}: no axis {axis} of {tensor.dim()}", 2)
                if ranges.setdefault(size.name, size) != size:
                    raise UsageError(f"{label}: the size {size.name} has two ranges", 2)
                self.axes[number][axis] = size


def _per_tensor(tree: Any, sizes: Any, path: str, place: str) -> Iterator[Tuple[str, Any]]:
    """The sizes of each tensor, with its path, in two trees of one structure."""
    if sizes is None:
        return
    if isinstance(tree, torch.Tensor):
        if not isinstance(sizes, (Mapping, tuple, list)):
            raise UsageError(f"dynamic_shapes{place}: expected sizes by axis, found {type(sizes).__name__}", 2)
        yield path, sizes
    elif isinstance(tree, Mapping) and isinstance(sizes, Mapping) and set(sizes) <= set(tree):
        for key, each in sizes.items():
            yield from _per_tensor(tree[key], each, f"{path}[{key!r}]", f"{place}[{key!r}]")
    elif isinstance(tree, (tuple, list)) and isinstance(sizes, (tuple, list)) and len(tree) == len(sizes):
        for number, each in enumerate(sizes):
            yield from _per_tensor(tree[number], each, f"{path}[{number}]", f"{place}[{number}]")
    else:
        raise UsageError(f"dynamic_shapes{place}: expected the structure of the arguments", 2)


def _size(dim: Any, label: str) -> Size:
    if isinstance(dim, str) and dim.isidentifier():
        return Size(dim)
    name = getattr(dim, "__name__", "")
    if type(dim).__name__ != "Dim" or not name:  # also those that torch derives (2 * Dim) or names itself (Dim.AUTO)
        raise UsageError(f"{label}: expected a name or a torch.export.Dim with a name, found {dim}", 2)
    maximum = int(dim.max) if isinstance(dim.max, int) and dim.max < 2**62 else None
    return Size(name, max(1, int(dim.min)), maximum)


def _label(function: Callable[..., Any], path: Sequence[Any]) -> str:
    """An argument's name, as the function's own parameters have it: "x", "mask['causal']"."""
    (kind, first), rest = (key.idx if hasattr(key, "idx") else key.key for key in path[:2]), pytree.keystr(tuple(path[2:]))
    if kind == 1:
        return f"{first}{rest}"
    try:
        parameters = list(inspect.signature(getattr(function, "forward", function)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    is_named = first < len(parameters) and parameters[first].kind in positional
    return f"{parameters[first].name if is_named else f'args[{first}]'}{rest}"
