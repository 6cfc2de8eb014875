"""Graphs of Dynamo, rewritten by proved rules: as ONNX models (torch_export), optimized by the program, and written back as calls of ATen.
Read by the backend of `torch.compile` only."""

from __future__ import annotations

import collections
import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import onnx
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from . import program
from .errors import Error
from .torch_arguments import Arguments
from .torch_calls import Calls
from .torch_export import Exported, Flat, Refused, difference


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
        report, clean = _optimized(exported.path, folder, rules, seconds)
        fired = collections.Counter({each["rule"]: each["times"] for each in report["fired"]})
        if not report["changed"] or not fired:
            return Rewriting(None, (), f"no rule gains anything{': ' + report['warning'] if report['warning'] else ''}")
        stored = {f"function.w{place}": place for place in weights}
        calls = Calls(exported.program, clean, onnx.load(str(folder / "result.onnx")), stored,
                      {name: inputs[place] for name, place in stored.items()})
        traced = _traced(graph, inputs, weights, calls)
    rules_fired = ", ".join(f"{rule} ({times})" for rule, times in fired.most_common())
    return Rewriting(traced, calls.constants, f"rules fired: {rules_fired}")


def _optimized(path: pathlib.Path, folder: pathlib.Path, rules: Optional[Sequence[str]], seconds: float) -> Tuple[Dict[str, Any], Any]:
    """The report on the optimized model, result.onnx, and the cleaned model from which it was made."""
    clean, result = folder / "clean.onnx", folder / "result.onnx"
    program.run("optimize", path, "--only-clean", "--no-benchmark", "--out", clean, timeout=seconds)
    words = program.option_words({"rules": rules})
    report = program.run("optimize", clean, "--no-benchmark", "--out", result, *words, timeout=seconds)
    return report, onnx.load(str(clean))


def _traced(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int], calls: Calls) -> torch.fx.GraphModule:
    """The calls as a graph with the arguments of the old one and the constants, compared with it on the inputs."""
    count, live = len(inputs), set(weights)
    expected = _results(graph(*inputs))
    sharing = _sharing(expected, inputs)
    own: Set[int] = set()  # results that have memory of their own, where the calls would return another tensor

    def function(*tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        others = [tensor for place, tensor in enumerate(tensors[:count]) if place not in live]
        found = calls(others, {place: tensors[place] for place in live}, tensors[count:])
        return tuple(_with_strides(each.clone() if place in own else each, expected[place]) for place, each in enumerate(found))

    arguments = [tensor.detach() for tensor in (*inputs, *calls.constants)]
    found = _sharing(function(*arguments), arguments)
    own.update(place for place, first in enumerate(sharing) if first == place - len(sharing) != found[place])
    _compare(expected, function(*arguments), inputs, arguments)
    return make_fx(function, tracing_mode="fake")(*arguments)


def _results(found: Any) -> List[torch.Tensor]:
    return [found] if isinstance(found, torch.Tensor) else [each for each in found if isinstance(each, torch.Tensor)]


def _with_strides(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The same numbers with the strides of another tensor."""
    if tensor.stride() == like.stride() or tensor.shape != like.shape or 0 in like.stride():
        return tensor
    return tensor.new_empty_strided(like.shape, like.stride()).copy_(tensor)


def _compare(expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
             arguments: Sequence[torch.Tensor]) -> None:
    """Raises Refused unless the results are those of the graph: values within rounding, types, strides, and what shares memory."""
    for place, (before, after) in enumerate(zip(expected, found)):
        form = [(each.shape, each.dtype, each.stride(), each.storage_offset(), each.device) for each in (before, after)]
        if form[0] != form[1]:
            raise Refused(f"result {place} would have another form: {form[1]} in place of {form[0]}")
        if difference(before, after) > 1:
            raise Refused(f"result {place} differs by more than rounding")
    if _sharing(expected, inputs) != _sharing(found, arguments):
        raise Refused("results would share memory in another way")


def _sharing(results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> List[int]:
    """For each result, the first of the inputs, or, counted from the last one, of the results that has its memory."""
    memory = [each.untyped_storage().data_ptr() for each in (*inputs, *results)]
    first = [memory.index(each) for each in memory[len(inputs):]]
    return [place if place < len(inputs) else place - len(memory) for place in first]


__all__ = ["Rewriting", "rewrite"]
