"""Graphs of Dynamo, rewritten by proved rules: as ONNX models (torch_export), optimized by the program, and written back as calls of ATen.
Read by the backend of `torch.compile` only."""

from __future__ import annotations

import collections
import os
import pathlib
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import onnx
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from . import program, tensors
from .errors import Error
from .torch_arguments import Arguments
from .torch_calls import Calls
from .torch_export import Exported, Flat, Refused, difference


#: Of a search of a graph of training, as a part of its cost, and how many follow each other.
_MIN_GAIN, _MAX_SEARCHES = 0.01, 3
#: A gradient that is zero but for rounding may differ by this many times as much as another rounding of the inputs changes it.
_MAX_NOISE = 100.0
#: Factors and summands of channels that are computed, and gradients of factors, in training. In all searches these would take the place of others.
_RULES = """rule values_of_column(b[c])
  channel_values(unsqueeze(b; axes=[1, 2])) => b
rule product_with_plane(x[n, c, h, w], b[c])
  mul_plane(x, unsqueeze(b; axes=[0, 2, 3])) => mul_channel(x, b)
rule sum_with_plane(x[n, c, h, w], b[c])
  add_plane(x, unsqueeze(b; axes=[0, 2, 3])) => add_channel(x, b)
rule difference_with_plane(x[n, c, h, w], b[c])
  add_plane(x, neg(unsqueeze(b; axes=[0, 2, 3]))) => add_channel(x, neg(b))
rule gradient_of_factor(x[n, c, h, w], y[n, c, h, w], b[c])
  reduce_sum(mul(y, add_channel(x, b)); axes=[0, 2, 3]) => add(reduce_sum(mul(y, x); axes=[0, 2, 3]), mul(b, reduce_sum(y; axes=[0, 2, 3])))
"""


@dataclass(frozen=True)
class Rewriting:
    """`graph`: the new graph, None if rules gain nothing; it has the arguments of the old one, then `constants`. `line`: what was done."""

    graph: Optional[torch.fx.GraphModule]
    constants: Sequence[torch.Tensor]
    line: str


class _WithWeights(torch.nn.Module):
    """A graph as a function of its other arguments: those that are weights are buffers, `w0`, `w1`, … by number of the argument."""

    def __init__(self, graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int]) -> None:
        super().__init__()
        self.graph, self._count, self._weights = graph, len(inputs), set(weights)
        for place in weights:
            self.register_buffer(f"w{place}", inputs[place].detach())

    def forward(self, *tensors: torch.Tensor) -> Any:
        rest = iter(tensors)
        return self.graph(*[getattr(self, f"w{place}") if place in self._weights else next(rest) for place in range(self._count)])


def rewrite(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int], rules: Optional[Sequence[str]],
            seconds: float) -> Rewriting:
    """Rewrites a graph for weights with these values. Raises Error or Refused if it cannot."""
    others = [tensor for place, tensor in enumerate(inputs) if place not in set(weights)]
    if not others:
        raise Refused("it has no inputs but weights")
    with tempfile.TemporaryDirectory(prefix="rulemill-") as name, torch.no_grad():
        folder = pathlib.Path(name)
        arguments = Arguments(graph, others, {}, None)
        exported = Exported("graph", Flat(_WithWeights(graph, inputs, weights), arguments), folder, arguments, {})
        return rewrite_model(exported.path, exported.program, graph, inputs, weights, rules, seconds, None)


def rewrite_model(path: pathlib.Path, exported: Any, graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int],
                  rules: Optional[Sequence[str]], seconds: float, results: Optional[int]) -> Rewriting:
    """Rewrites the model of a graph, which is exported as this program. Of the first `results`, or all, memory matters, too."""
    fired, clean, warning = _optimized(path, path.parent, rules, seconds, None if results is None else inputs)
    if not fired:
        return Rewriting(None, (), f"no rule gains anything{': ' + warning if warning else ''}")
    stored = {f"function.w{place}": place for place in weights}
    calls = Calls(exported, clean, onnx.load(str(path.parent / "result.onnx")), stored, {name: inputs[place] for name, place in stored.items()})
    traced = _traced(graph, inputs, weights, calls, results)
    rules_fired = ", ".join(f"{rule} ({times})" for rule, times in sorted(fired.items(), key=lambda each: -each[1]))
    return Rewriting(traced, calls.constants, f"rules fired: {rules_fired}")


def _optimized(path: pathlib.Path, folder: pathlib.Path, rules: Optional[Sequence[str]], seconds: float,
               inputs: Optional[Sequence[torch.Tensor]]) -> Tuple[Dict[str, int], Any, str]:
    """How often each rule fired in making the optimized model, result.onnx; the cleaned model from which it was made; and a warning. With
    `inputs`, models are searched again as long as they gain, and compared on these."""
    clean, result = folder / "clean.onnx", folder / "result.onnx"
    end = time.monotonic() + seconds
    program.run("optimize", path, "--only-clean", "--no-benchmark", "--out", clean, timeout=seconds)
    if inputs is not None and rules is None:
        (folder / "training.rules").write_text(_RULES, encoding="utf-8")
        program.run("rules", "import", folder / "training.rules", "--out", folder / "training.rmdb")
        rules = [program.run("rules", "default")["database"], str(folder / "training.rmdb")]
    words = program.option_words({"rules": rules})
    if inputs is not None:
        tensors.write_npz(folder / "inputs.npz", {f"arg.{place}": tensor.numpy() for place, tensor in enumerate(inputs)})
        words += ["--inputs", str(folder / "inputs.npz"), "--verify-inputs", "1", "--runtime", "torch", "--min-gain", str(_MIN_GAIN)]
    fired: Dict[str, int] = collections.Counter()
    source, warning = clean, ""
    for _ in range(1 if inputs is None else _MAX_SEARCHES):
        try:
            report = program.run("optimize", source, "--no-benchmark", "--out", result, *words, timeout=max(end - time.monotonic(), 0.001))
        except Error:
            if fired:  # what was found so far is as good
                break
            raise
        warning = warning or report["warning"]
        if not report["changed"] or not report["fired"]:
            break
        for each in report["fired"]:
            fired[each["rule"]] += each["times"]
        source = folder / "searched.onnx"
        os.replace(result, source)
    if fired:
        os.replace(source, result)
    return fired, onnx.load(str(clean)), warning


def _traced(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int], calls: Calls,
            results: Optional[int]) -> torch.fx.GraphModule:
    """The calls as a graph with the arguments of the old one and the constants, compared with it on the inputs."""
    count, live = len(inputs), set(weights)
    expected = _results(graph(*inputs))
    sharing = _sharing(expected[:results], inputs)
    own: Set[int] = set()  # results that have memory of their own, where the calls would return another tensor

    def function(*tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        others = [tensor for place, tensor in enumerate(tensors[:count]) if place not in live]
        found = calls(others, {place: tensors[place] for place in live}, tensors[count:])
        return tuple(_with_strides(each.clone() if place in own else each, expected[place]) for place, each in enumerate(found))

    arguments = [tensor.detach() for tensor in (*inputs, *calls.constants)]
    found = _sharing(function(*arguments)[:results], arguments)
    own.update(place for place, first in enumerate(sharing) if first == place - len(sharing) != found[place])
    noise = [0.0] * len(expected) if results is None else _noise(graph, inputs, expected)
    _compare(expected, function(*arguments), inputs, arguments, results, noise)
    table = torch._inductor.decomposition.select_decomp_table() if results is not None else {}  # as far as Inductor has compiled none yet
    return make_fx(function, tracing_mode="fake", decomposition_table=table)(*arguments)


def _noise(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> List[float]:
    """How far results change where inputs are rounded another way: by all of their size for gradients that are zero but for rounding."""
    changed = [each * (1 + torch.finfo(each.dtype).eps * torch.randn_like(each)) if each.is_floating_point() else each for each in inputs]
    return [float((after - before).abs().max()) if before.is_floating_point() else 0.0 for before, after in zip(expected, _results(graph(*changed)))]


def _within(noise: float, before: torch.Tensor, after: torch.Tensor) -> bool:
    return before.is_floating_point() and noise > 0 and bool((before - after).abs().max() <= _MAX_NOISE * noise)


def _results(found: Any) -> List[torch.Tensor]:
    return [found] if isinstance(found, torch.Tensor) else [each for each in found if isinstance(each, torch.Tensor)]


def _with_strides(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The same numbers with the strides of another tensor."""
    if tensor.stride() == like.stride() or tensor.shape != like.shape or 0 in like.stride():
        return tensor
    order = sorted(range(like.dim()), key=lambda axis: (like.stride(axis), like.shape[axis]), reverse=True)
    found = tensor.permute(order).contiguous().permute([order.index(axis) for axis in range(like.dim())])
    if any(mine != theirs for mine, theirs, size in zip(found.stride(), like.stride(), like.shape) if size > 1):
        return tensor.new_empty_strided(like.shape, like.stride()).copy_(tensor)
    return found if found.stride() == like.stride() else found.as_strided(like.shape, like.stride())


def _compare(expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
             arguments: Sequence[torch.Tensor], results: Optional[int], noise: Sequence[float]) -> None:
    """Raises Refused unless the results are those of the graph: values within rounding, types, strides, and what shares memory."""
    for place, (before, after) in enumerate(zip(expected, found)):
        form = [(each.shape, each.dtype, each.stride(), each.storage_offset(), each.device) for each in (before, after)]
        if form[0] != form[1]:
            raise Refused(f"result {place} would have another form: {form[1]} in place of {form[0]}")
        if difference(before, after) > 1 and not _within(noise[place], before, after):
            raise Refused(f"result {place} differs by more than rounding")
    if _sharing(expected[:results], inputs) != _sharing(found[:results], arguments):
        raise Refused("results would share memory in another way")


def _sharing(results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> List[int]:
    """For each result, the first of the inputs, or, counted from the last one, of the results that has its memory."""
    memory = [each.untyped_storage().data_ptr() for each in (*inputs, *results)]
    first = [memory.index(each) for each in memory[len(inputs):]]
    return [place if place < len(inputs) else place - len(memory) for place in first]


__all__ = ["Rewriting", "rewrite", "rewrite_model"]
