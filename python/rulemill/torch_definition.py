"""The definition of an operator from a function of PyTorch, by way of its model (torch_export) and `rulemill operators import`. Read by
`rulemill.torch` only."""

from __future__ import annotations

import pathlib
import re
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional

import onnx
import torch

from . import program, torch_export
from .errors import Error, InputError, UsageError
from .program import PathLike
from .torch_arguments import Arguments, Size


def definition(function: Callable[..., Any], arguments: Arguments, name: Optional[str], definitions: Optional[PathLike]) -> str:
    """The text of the definition. Raises InputError for what no definition says, with the operation and its line."""
    name = name or _name_of(function)
    with tempfile.TemporaryDirectory(prefix="rulemill-") as scratch:
        folder = pathlib.Path(scratch)
        (exported, ), sizes = torch_export.export_all({name: function}, arguments, folder, definitions=definitions)
        report = _imported(exported, folder / f"{name}.onnx", arguments.labels, {"name": name, "definitions": definitions})
    missing = [label for label in arguments.labels if _identifier(label) not in report["inputs"]]
    if missing:
        raise InputError(f"{name}: its result does not depend on {', '.join(missing)}; leave it out", 3)
    text: str = report["text"]
    lines = [f"# What the function {name} of PyTorch computes.", *text.split("\n")[1:]]
    return "\n".join(_with_ranges(lines, sizes))


def _imported(exported: torch_export.Exported, model: pathlib.Path, labels: List[str], options: Mapping[str, object]) -> Dict[str, Any]:
    """The report of `operators import` on the first form of the model of which each node has a definition."""
    problem: Optional[Error] = None
    for _ in torch_export.forms([exported]):
        try:
            _save_with_names(exported.path, model, labels)
            return program.run("operators", "import", model, *program.option_words(options))
        except InputError as error:
            message = error.message.replace(str(model), str(options["name"]))
            problem = problem or type(error)(_with_place(message, exported.places), error.exit_code)
    assert problem
    raise problem from None


def _name_of(function: Callable[..., Any]) -> str:
    """The function's name; of a module, that of its class in lower case with underscores."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(function).__name__).lower() if isinstance(function, torch.nn.Module) else \
        getattr(function, "__name__", "")
    if not name.isidentifier():
        raise UsageError("name: the function has no name; give the operator's", 2)
    return name


def _identifier(label: str) -> str:
    return re.sub(r"\W", "_", label, flags=re.A)


def _save_with_names(exported: pathlib.Path, path: pathlib.Path, labels: List[str]) -> None:
    """The exported model with the function's names of inputs, and a module's own names of weights."""
    model = onnx.load(str(exported), load_external_data=False)
    graph = model.graph
    given = {node.input[0]: node for node in graph.node if node.op_type == "Identity" and node.input[0].startswith("arg.")}
    own = {given[f"arg.{number}"].output[0]: label for number, label in enumerate(labels)}
    names = {each: f"{each}.inner" for node in graph.node for each in node.output if each in labels}
    names.update(own)
    for weight in graph.initializer:
        name = _identifier(re.sub(r"^function\.", "", weight.name))
        names[weight.name] = f"{name}.weight" if name in names.values() else name
        weight.name = names[weight.name]
    for each, label in zip(graph.input, labels):
        each.name = label
    kept = [node for node in graph.node if node not in given.values()]
    del graph.node[:]
    graph.node.extend(kept)
    for node in graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]
        node.output[:] = [names.get(each, each) for each in node.output]
    onnx.save(model, str(path))


def _with_place(message: str, places: Mapping[str, str]) -> str:
    """The message about a node of the model, with the operation of the function."""
    node = re.search(r"node (\S+) \(", message)
    return f"{message} ({places[node[1]]})" if node and node[1] in places else message


def _with_ranges(lines: List[str], sizes: Dict[str, Size]) -> List[str]:
    """The definition under the condition that the sizes are in the ranges for which the function was traced."""
    bounds = [f"{size.minimum} <= {name}" for name, size in sizes.items() if size.minimum > 1]
    bounds += [f"{name} <= {size.maximum}" for name, size in sizes.items() if size.maximum is not None]
    if not bounds:
        return lines
    end = next(number for number, line in enumerate(lines) if line.startswith("  ") and not line.startswith("   "))
    return [*lines[:end], f"  where {', '.join(bounds)}", *lines[end:]]


__all__ = ["definition"]
