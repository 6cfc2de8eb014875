"""ONNX operators as calls of PyTorch: those that rules write, one row each. Read by the backend of `torch.compile` only.

A row gets a node and its input tensors, None where an input is absent. What it cannot express raises Refused."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch.nn import functional as F

from .torch_checks import Refused

Tensor = torch.Tensor
Result = Union[Tensor, Sequence[Tensor]]


class OnnxNode:
    """An ONNX node: its operator, attributes, number of outputs, and the numbers of those inputs that are small constants."""

    def __init__(self, operator: str, attributes: Mapping[str, Any], outputs: int, constants: Sequence[Optional[List[Any]]]) -> None:
        self.operator, self.attributes, self.outputs, self._constants = operator, dict(attributes), outputs, constants

    def numbers(self, place: int) -> List[Any]:
        """The elements of an input that has to be a constant."""
        found = self._constants[place] if place < len(self._constants) else None
        if found is None:
            raise Refused(f"{self.operator}: input {place} is computed")
        return found

    def has(self, place: int) -> bool:
        return place < len(self._constants) and self._constants[place] is not None

    def axes(self, place: int, rank: int) -> List[int]:
        """Axes, which are an input or, in older operator sets, an attribute; none: all."""
        given = self.numbers(place) if self.has(place) else self.attributes.get("axes", [])
        return [int(axis) % rank for axis in given]

    def expect(self, **values: Any) -> None:
        """Raises Refused if an attribute is there with another value."""
        for name, value in values.items():
            if self.attributes.get(name, value) != value:
                raise Refused(f"{self.operator} with {name} {self.attributes[name]}")


def _variadic(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda node, *tensors: functools.reduce(function, tensors)


def _reduction(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def reduced(node: OnnxNode, x: Tensor, _: Any = None) -> Tensor:
        axes = node.axes(1, x.dim())
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            return x.clone()
        return function(x, axes or list(range(x.dim())), bool(node.attributes.get("keepdims", 1)))
    return reduced


def _window(node: OnnxNode, x: Tensor, kernel: Sequence[int]) -> Tuple[List[int], List[int], List[int], List[int]]:
    """Strides, dilations, and the padding in front and behind, of an operator with a window."""
    rank = len(kernel)
    strides, dilations = (list(node.attributes.get(name, [1] * rank)) for name in ("strides", "dilations"))
    pads, mode = list(node.attributes.get("pads", [0] * 2 * rank)), node.attributes.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", "VALID"):
        return strides, dilations, pads[:rank], pads[rank:]
    both = [max((-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size, 0)
            for size, stride, width, dilation in zip(x.shape[2:], strides, kernel, dilations)]
    smaller, larger = [each // 2 for each in both], [each - each // 2 for each in both]
    return (strides, dilations, smaller, larger) if mode == "SAME_UPPER" else (strides, dilations, larger, smaller)


def _padded(x: Tensor, front: Sequence[int], back: Sequence[int], value: float = 0.0) -> Tensor:
    """Torch lists the pads of the last axis first."""
    pads = [each for pair in zip(reversed(front), reversed(back)) for each in pair]
    return F.pad(x, pads, value=value) if any(pads) else x


def _convolution(node: OnnxNode, x: Tensor, kernel: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    strides, dilations, front, back = _window(node, x, kernel.shape[2:])
    if front != back:
        x, front = _padded(x, front, back), [0] * len(front)
    group = node.attributes.get("group", 1)
    return torch.convolution(x, kernel, bias, strides, front, dilations, False, [0] * len(front), group)


def _transposed_convolution(node: OnnxNode, x: Tensor, kernel: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    node.expect(auto_pad="NOTSET", output_shape=None)
    strides, dilations, front, back = _window(node, x, kernel.shape[2:])
    extra, group = list(node.attributes.get("output_padding", [0] * len(front))), node.attributes.get("group", 1)
    is_even = front == back
    y = torch.convolution(x, kernel, bias, strides, front if is_even else [0] * len(front), dilations, True, extra, group)
    for axis, (first, last) in enumerate(zip(front, back) if not is_even else ()):
        y = y.narrow(axis + 2, first, y.shape[axis + 2] - first - last)
    return y


def gradients(y: Tensor, x: Tensor, kernel: Tensor, settings: Sequence[Any], mask: Sequence[bool]) -> Any:
    """The gradients of a convolution of x; `settings`: stride, padding, dilation, and the number of groups."""
    stride, padding, dilation, groups = settings
    return torch.ops.aten.convolution_backward(y, x, kernel, None, stride, padding, dilation, False, [0] * len(stride), groups, mask)


def _same(node: OnnxNode, rows: int, columns: int, groups: int) -> Sequence[Any]:
    if rows % 2 == 0 or columns % 2 == 0:
        raise Refused(f"{node.operator} of an even kernel")
    return [node.attributes["stride"]] * 2, [rows // 2, columns // 2], [1, 1], groups


def _image_gradient(node: OnnxNode, y: Tensor, kernel: Tensor) -> Tensor:
    channels, rows, columns = (node.attributes[name] for name in ("channels", "rows", "columns"))
    x = y.new_empty(y.shape[0], channels, rows, columns)  # whose size is all that matters
    found: Tensor = gradients(y, x, kernel, _same(node, *kernel.shape[2:], channels // kernel.shape[1]), [True, False, False])[0]
    return found


def _kernel_gradient(node: OnnxNode, y: Tensor, x: Tensor) -> Tensor:
    channels, rows, columns = (node.attributes[name] for name in ("channels", "rows", "columns"))
    kernel = y.new_empty(y.shape[1], channels, rows, columns)
    found: Tensor = gradients(y, x, kernel, _same(node, rows, columns, x.shape[1] // channels), [False, True, False])[1]
    return found


def _window_gradient(node: OnnxNode, y: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
    settings = [*(node.attributes[name] for name in ("strides", "pads", "dilations")), x.shape[1] // kernel.shape[1]]
    found: Tensor = gradients(y, x, kernel, settings, [False, True, False])[1]
    return found


def _enlarged(node: OnnxNode, kernel: Tensor) -> Tensor:
    sizes = [node.attributes["rows"], node.attributes["columns"]]
    front = [(size - 1) // 2 - (own - 1) // 2 for size, own in zip(sizes, kernel.shape[2:])]
    return _padded(kernel, front, [size - own - first for size, own, first in zip(sizes, kernel.shape[2:], front)])


def _centre(node: OnnxNode, kernel: Tensor) -> Tensor:
    sizes = [node.attributes["rows"], node.attributes["columns"]]
    for axis, (size, own) in enumerate(zip(sizes, kernel.shape[2:]), 2):
        kernel = kernel.narrow(axis, (own - 1) // 2 - (size - 1) // 2, size)
    return kernel


def _pooled_mean(node: OnnxNode, x: Tensor) -> Tensor:
    kernel = list(node.attributes["kernel_shape"])
    strides, dilations, front, back = _window(node, x, kernel)
    node.expect(ceil_mode=0, dilations=[1] * len(kernel))
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(kernel) - 1]
    if not any(front + back):
        return pool(x, kernel, strides)
    mean = pool(_padded(x, front, back), kernel, strides)
    if node.attributes.get("count_include_pad", 0):
        return mean
    return mean / pool(_padded(torch.ones_like(x[:1, :1]), front, back), kernel, strides)


def _pooled_maximum(node: OnnxNode, x: Tensor) -> Tensor:
    kernel = list(node.attributes["kernel_shape"])
    strides, dilations, front, back = _window(node, x, kernel)
    node.expect(ceil_mode=0)
    if node.outputs > 1:
        raise Refused("MaxPool with indices")
    if front != back or any(2 * pad > width for pad, width in zip(front, kernel)):
        x, front = _padded(x, front, back, -math.inf), [0] * len(front)
    return (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(kernel) - 1](x, kernel, strides, front, dilations)


def _batch_norm(node: OnnxNode, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    node.expect(training_mode=0)
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, node.attributes.get("epsilon", 1e-5))


def _layer_norm(node: OnnxNode, x: Tensor, scale: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    shape = x.shape[node.attributes.get("axis", -1) % x.dim():]
    y = F.layer_norm(x, shape, eps=node.attributes.get("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def _rms_norm(node: OnnxNode, x: Tensor, scale: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[node.attributes.get("axis", -1) % x.dim():], eps=node.attributes.get("epsilon", 1e-5)) * scale


def _gather(node: OnnxNode, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.attributes.get("axis", 0) % x.dim()
    if node.has(1) and indices.dim() == 0:
        return x.select(axis, int(node.numbers(1)[0]))
    if node.has(1) and indices.numel() == 1:
        place = int(node.numbers(1)[0]) % x.shape[axis]
        return x.narrow(axis, place, 1).reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])
    wrapped = torch.where(indices < 0, indices + x.shape[axis], indices)
    return x.index_select(axis, wrapped.reshape(-1)).reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])


def _gather_elements(node: OnnxNode, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.attributes.get("axis", 0) % x.dim()
    return x.gather(axis, torch.where(indices < 0, indices + x.shape[axis], indices))


def _gemm(node: OnnxNode, a: Tensor, b: Tensor, c: Optional[Tensor] = None) -> Tensor:
    a, b = a.mT if node.attributes.get("transA", 0) else a, b.mT if node.attributes.get("transB", 0) else b
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    if c is not None:
        return torch.addmm(c, a, b, beta=beta, alpha=alpha)
    return a @ b if alpha == 1 else a @ b * alpha


def _pad(node: OnnxNode, x: Tensor, _: Any = None, value: Optional[Tensor] = None, __: Any = None) -> Tensor:
    node.expect(mode="constant")
    given, axes = [int(each) for each in node.numbers(1)], node.axes(3, x.dim()) or list(range(x.dim()))
    front, back = [0] * x.dim(), [0] * x.dim()
    for axis, first, last in zip(axes, given, given[len(axes):]):
        front[axis], back[axis] = first, last
    return _padded(x, front, back, 0.0 if value is None else node.numbers(2)[0])


def _reshape(node: OnnxNode, x: Tensor, _: Any = None) -> Tensor:
    given = [int(each) for each in node.numbers(1)]
    if not node.attributes.get("allowzero", 0):
        given = [x.shape[axis] if size == 0 else size for axis, size in enumerate(given)]
    return x.reshape(given)


def _resize(node: OnnxNode, x: Tensor, _: Any = None, __: Any = None, ___: Any = None) -> Tensor:
    """Nearest neighbours from the left, and linear and cubic interpolation of images whose pixels are squares."""
    node.expect(antialias=0, exclude_outside=0, keep_aspect_ratio_policy="stretch", axes=None)
    scales = node.numbers(2) if node.has(2) and node.numbers(2) else None
    sizes = [int(size * scale) for size, scale in zip(x.shape, scales)] if scales else [int(size) for size in node.numbers(3)]
    mode, place = (node.attributes.get(*each) for each in (("mode", "nearest"), ("coordinate_transformation_mode", "half_pixel")))
    whole = all(new % old == 0 for new, old in zip(sizes, x.shape))
    if x.dim() != 4 or sizes[:2] != list(x.shape[:2]) or scales and not whole:
        raise Refused(f"Resize of {list(x.shape)} to {sizes}")
    if mode == "nearest" and whole and (place, node.attributes.get("nearest_mode", "round_prefer_floor")) in (
            ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")):
        n, c, h, w = x.shape  # repeated, since torch computes the places in floating point
        return x[:, :, :, None, :, None].expand(n, c, h, sizes[2] // h, w, sizes[3] // w).reshape(sizes)
    if mode in ("linear", "cubic") and (place == "half_pixel" or place == "pytorch_half_pixel" and min(sizes[2:]) > 1):
        node.expect(**({"cubic_coeff_a": -0.75} if mode == "cubic" else {}))
        return F.interpolate(x, sizes[2:], mode={"linear": "bilinear", "cubic": "bicubic"}[mode], align_corners=False)
    raise Refused(f"Resize by {mode} and {place}")


def _power(node: OnnxNode, x: Tensor, exponent: Tensor) -> Tensor:
    return x ** node.numbers(1)[0] if node.has(1) and exponent.dim() == 0 else x ** exponent


def _quotient(node: OnnxNode, a: Tensor, b: Tensor) -> Tensor:
    return a / b if a.dtype.is_floating_point else torch.div(a, b, rounding_mode="trunc")


def _slice(node: OnnxNode, x: Tensor, *_: Any) -> Tensor:
    starts, ends = node.numbers(1), node.numbers(2)
    axes, steps = node.axes(3, x.dim()) or range(len(starts)), node.numbers(4) if node.has(4) else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step < 1:
            raise Refused("Slice backwards")
        x = x[(slice(None),) * axis + (slice(start, end, step),)]
    return x


def _split(node: OnnxNode, x: Tensor, _: Any = None) -> Sequence[Tensor]:
    axis = node.attributes.get("axis", 0)
    given = node.numbers(1) if node.has(1) else node.attributes.get("split")
    sizes = [int(size) for size in given] if given else -(-x.shape[axis] // node.outputs)
    return list(x.split(sizes, axis))  # type: ignore[no-untyped-call]


def _hard_sigmoid(node: OnnxNode, x: Tensor) -> Tensor:
    return torch.clamp(x * node.attributes.get("alpha", 0.2) + node.attributes.get("beta", 0.5), 0, 1)


def _flatten(node: OnnxNode, x: Tensor) -> Tensor:
    axis = node.attributes.get("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _expand(node: OnnxNode, x: Tensor, _: Any = None) -> Tensor:
    return x.expand(torch.broadcast_shapes(x.shape, [int(size) for size in node.numbers(1)]))  # type: ignore[no-untyped-call]


def _squeeze(node: OnnxNode, x: Tensor, _: Any = None) -> Tensor:
    return x.squeeze(tuple(node.axes(1, x.dim()) or range(x.dim())))


def _unsqueeze(node: OnnxNode, x: Tensor, _: Any = None) -> Tensor:
    rank = x.dim() + len(node.numbers(1) if node.has(1) else node.attributes["axes"])
    for axis in sorted(node.axes(1, rank)):
        x = x.unsqueeze(axis)
    return x


#: By ONNX operator, of the operator sets from 13 on.
OPERATORS: Dict[str, Callable[..., Result]] = {
    "Add": lambda node, a, b: a + b,
    "Abs": lambda node, x: torch.abs(x),
    "And": lambda node, a, b: a & b,
    "AveragePool": _pooled_mean,
    "BatchNormalization": _batch_norm,
    "CastLike": lambda node, x, like: x.to(like.dtype),
    "Clip": lambda node, x, low=None, high=None: torch.clamp(x, low, high),
    "Concat": lambda node, *tensors: torch.cat(tensors, node.attributes["axis"]),
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "Div": _quotient,
    "Equal": lambda node, a, b: a == b,
    "Erf": lambda node, x: torch.erf(x),
    "Exp": lambda node, x: torch.exp(x),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gelu": lambda node, x: F.gelu(x, approximate=node.attributes.get("approximate", "none")),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda node, x: x.mean(tuple(range(2, x.dim())), keepdim=True),
    "GlobalMaxPool": lambda node, x: x.amax(tuple(range(2, x.dim())), keepdim=True),
    "Greater": lambda node, a, b: a > b,
    "GreaterOrEqual": lambda node, a, b: a >= b,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda node, x: F.hardswish(x),
    "LayerNormalization": _layer_norm,
    "Less": lambda node, a, b: a < b,
    "LessOrEqual": lambda node, a, b: a <= b,
    "Log": lambda node, x: torch.log(x),
    "MatMul": lambda node, a, b: torch.matmul(a, b),
    "Max": _variadic(torch.maximum),
    "MaxPool": _pooled_maximum,
    "Min": _variadic(torch.minimum),
    "Mul": lambda node, a, b: a * b,
    "Neg": lambda node, x: -x,
    "Not": lambda node, x: ~x,
    "Or": lambda node, a, b: a | b,
    "Pad": _pad,
    "Pow": _power,
    "RMSNormalization": _rms_norm,
    "Reciprocal": lambda node, x: torch.reciprocal(x),
    "ReduceMax": _reduction(torch.amax),
    "ReduceMean": _reduction(torch.mean),
    "ReduceSum": _reduction(torch.sum),
    "Relu": lambda node, x: torch.relu(x),
    "Reshape": _reshape,
    "Resize": _resize,
    "Sigmoid": lambda node, x: torch.sigmoid(x),
    "Slice": _slice,
    "Softmax": lambda node, x: torch.softmax(x, node.attributes.get("axis", -1)),
    "Split": _split,
    "Sqrt": lambda node, x: torch.sqrt(x),
    "Squeeze": _squeeze,
    "Sub": lambda node, a, b: a - b,
    "Sum": _variadic(torch.add),
    "Tanh": lambda node, x: torch.tanh(x),
    "Transpose": lambda node, x: x.permute(node.attributes.get("perm", list(range(x.dim()))[::-1])),
    "Unsqueeze": _unsqueeze,
    "Where": lambda node, condition, a, b: torch.where(condition, a, b),
    "rulemill.torch.EnlargedKernel": _enlarged,
    "rulemill.torch.ImageGradient": _image_gradient,
    "rulemill.torch.KernelCentre": _centre,
    "rulemill.torch.KernelGradient": _kernel_gradient,
    "rulemill.torch.ScaledChannels": lambda node, x, scale: x * scale.reshape(-1, *[1] * (x.dim() - 2)),
    "rulemill.torch.ScaledFilters": lambda node, kernel, scale: kernel * scale.reshape(-1, *[1] * (kernel.dim() - 1)),
    "rulemill.torch.ShiftedChannels": lambda node, x, shift: x + shift.reshape(-1, *[1] * (x.dim() - 2)),
    "rulemill.torch.WindowGradient": _window_gradient,
}


def call(node: OnnxNode, tensors: Sequence[Optional[Tensor]]) -> Sequence[Tensor]:
    """The outputs of a node. Raises Refused if its operator has no row."""
    if node.operator not in OPERATORS:
        raise Refused(f"no call is known for {node.operator}")
    found = OPERATORS[node.operator](node, *tensors)
    return (found,) if isinstance(found, torch.Tensor) else found


__all__ = ["OPERATORS", "OnnxNode", "call"]
