"""`torch.compile(model, backend="rulemill")`: proved rules rewrite the graph, and Inductor compiles the result.

In inference, what rules computed from weights is constant, so weights are compared at each call: after a change the graph is rewritten
again, and at last left to Inductor. Where gradients are recorded, the joint graph of forward and backward is rewritten (torch_training),
in which weights are arguments like others. Whatever cannot be rewritten is compiled by Inductor as it is, and one
line says why. docs/python.md has the options."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from . import program
from .errors import Error

Compiled = Callable[..., Any]
#: The options of the backend, with their defaults; all others are Inductor's.
_OPTIONS: Dict[str, Any] = {"rules": None, "time_limit": 120.0, "log": None, "frozen": False}
#: How often a graph is rewritten for changed weights.
_MAX_REWRITES = 3
#: Of all weights of a graph.
_MAX_BYTES = 1 << 30
#: Integers by size: bits are compared, since a NaN is not equal to itself.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: Rewritings of this process, by digest.
_KEPT: Dict[str, Any] = {}

_logger = logging.getLogger("rulemill.torch")


class _Graph:
    """A graph of Dynamo, with what it takes to compile it by Inductor, rewritten or not."""

    def __init__(self, graph: torch.fx.GraphModule, options: Mapping[str, Any], patches: Mapping[str, Any]) -> None:
        # Inductor may change the graph that it is given, so what is rewritten is a copy.
        self._given, self._graph = graph, _copied(graph)
        self._options, self._patches = options, patches
        self._plain: Optional[Compiled] = None
        self._fast: Optional[Compiled] = None
        self._constants: Sequence[torch.Tensor] = ()
        self._weights: List[Tuple[int, torch.Tensor, int, torch.Tensor, Optional[torch.Tensor]]] = []
        self._rewrites = 0

    def compile(self, inputs: Sequence[Any], changed: bool = False) -> None:
        """Rewrites and compiles the graph for the weights among the inputs."""
        self._fast = None
        self._rewrites += 1
        if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs):
            self._compile_training(inputs)
            return
        try:
            with torch._guards.tracing(None):  # where tensors would be loaded without their elements
                found = self._rewriting(inputs)
        except Exception as error:  # whatever it is, Inductor compiles the graph as it was
            self._log(f"left to Inductor: {_reason(error)}")
        else:
            self._log(found.line)
            if found.graph is not None:
                self._compile_rewritten(found, inputs)
        if self._fast is None and not changed:
            self._plain = self._compiled(self._given, inputs)

    def _compile_training(self, inputs: Sequence[Any]) -> None:
        """Compiles a graph whose gradients are recorded: its weights are arguments like others."""
        patches, found = dict(self._patches), None
        try:
            from .torch_training import Partitioner
            _check(self._graph, inputs)
            rules = self._rules()
            found = Partitioner(inputs, rules, float(self._options["time_limit"]), _digest(self._graph, [], [], rules), _reason)
            patches["custom_partitioner_fn"] = found
        except Exception as error:  # whatever it is, Inductor compiles the graph as it was
            self._log(f"left to Inductor: {_reason(error)}")
        hits = _cached_graphs()
        self._plain = self._compiled(self._given, inputs, patches)
        if found is not None:
            found.inputs = ()
            self._log(found.line or ("as PyTorch's cache has it" if _cached_graphs() > hits else "left to Inductor: no result has a gradient"))

    def _rules(self) -> Optional[List[str]]:
        rules = self._options["rules"]
        return None if rules is None else [os.fspath(each) for each in ([rules] if isinstance(rules, (str, os.PathLike)) else rules)]

    def _rewriting(self, inputs: Sequence[Any]) -> Any:
        from . import torch_rewriting
        _check(self._graph, inputs)
        weights = _weights(self._graph, inputs)
        if sum(inputs[place].numel() * inputs[place].element_size() for place in weights) > _MAX_BYTES:
            raise Error(f"its weights have more than {_MAX_BYTES >> 20} MB")
        rules = self._rules()
        digest = _digest(self._graph, inputs, weights, rules)
        if digest not in _KEPT:
            found = _read(digest)
            if found is None:
                found = torch_rewriting.rewrite(self._graph, inputs, weights, rules, float(self._options["time_limit"]))
                _write(digest, found)
            _KEPT[digest] = found
        # Aliases keep the memory of the weights: what has another address is another weight. Versions do not tell of all changes: fused
        # optimizers, `data` and NumPy do not count.
        is_frozen = self._options["frozen"]
        self._weights = [(place, inputs[place], inputs[place]._version, inputs[place].detach(),
                          None if is_frozen else _bits(inputs[place]).clone()) for place in weights]
        return _KEPT[digest]

    def _compile_rewritten(self, found: Any, inputs: Sequence[torch.Tensor]) -> None:
        self._constants = found.constants
        with torch._guards.tracing(None):
            self._fast = self._compiled(_copied(found.graph), [*inputs, *found.constants])

    def _compiled(self, graph: torch.fx.GraphModule, inputs: Sequence[Any], patches: Optional[Mapping[str, Any]] = None) -> Compiled:
        from torch._inductor.compile_fx import compile_fx
        compiled: Any = compile_fx(graph, list(inputs), config_patches=dict(self._patches if patches is None else patches))
        return compiled  # type: ignore[no-any-return]

    def __call__(self, *inputs: Any) -> Any:
        if self._fast is not None and not self._same_weights(inputs):
            with torch._dynamo.utils.preserve_rng_state():
                self._change(inputs)
        if self._fast is not None:
            return self._fast(*inputs, *self._constants)
        if self._plain is None:
            self._plain = self._compiled(self._given, inputs)
        return self._plain(*inputs)

    def _same_weights(self, inputs: Sequence[Any]) -> bool:
        return all(inputs[place] is weight and weight._version == version and weight.data_ptr() == alias.data_ptr()
                   and (bits is None or torch.equal(_bits(weight), bits)) for place, weight, version, alias, bits in self._weights)

    def _change(self, inputs: Sequence[Any]) -> None:
        if self._rewrites < _MAX_REWRITES:
            self._log("weights have changed")
            self.compile(inputs, changed=True)
        else:
            self._log("left to Inductor: weights change often")
            self._fast = None

    def _log(self, line: str) -> None:
        log = self._options["log"]
        (log if callable(log) else print if log else _logger.info)(f"rulemill: {line}")


def _copied(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy of the graph, with the same tensors."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return torch.fx.GraphModule(module, graph)


def _check(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Raises Error if the graph is not one of tensors of known sizes on a CPU."""
    for tensor in inputs:
        if not isinstance(tensor, torch.Tensor):
            raise Error("it has open sizes")
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided or tensor.is_quantized:
            raise Error(f"expected strided tensors, found {type(tensor).__name__} with layout {tensor.layout}")
        if tensor.device.type != "cpu":
            raise Error(f"expected tensors on a CPU, found {tensor.device}")
        if tensor.is_complex() or tensor.is_conj() or tensor.is_neg() or tensor.numel() == 0:
            raise Error("an input is empty or complex")
    if any(node.op in ("get_attr", "call_module") for node in graph.graph.nodes):
        raise Error("it has modules or tensors of its own, whose changes are not seen")
    records = any(node.target is torch._C._set_grad_enabled and node.args[0] for node in graph.graph.nodes)
    if records and not torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
        raise Error("gradients are recorded in a part of it")
    if sum(tensor.numel() * tensor.element_size() for tensor in inputs) > _MAX_BYTES and torch.is_grad_enabled():
        raise Error(f"its arguments have more than {_MAX_BYTES >> 20} MB")
    if torch.is_autocast_enabled("cpu") or any(torch.amp.autocast_mode._enter_autocast is node.target for node in graph.graph.nodes):
        raise Error("types are chosen by autocast")


def _cached_graphs() -> int:
    return int(torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_hit"])


def _weights(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> List[int]:
    """The arguments that are parameters or buffers of modules, whose versions can be compared."""
    nodes = graph.graph.find_nodes(op="placeholder")
    static = [node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type") is not None for node in nodes]
    return [place for place, tensor in enumerate(inputs) if static[place] and not tensor.is_inference()]


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().view(_BITS[tensor.element_size()])


def _digest(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], weights: Sequence[int], rules: Optional[Sequence[str]]) -> str:
    """Of all that a rewriting depends on."""
    digest = hashlib.blake2b(digest_size=20)
    binary = program.path().stat()
    files = [pathlib.Path(rule) / "rules.rmdb" if os.path.isdir(rule) else pathlib.Path(rule) for rule in rules or ()]
    digest.update(repr((torch.__version__, program.version(), binary.st_size, binary.st_mtime_ns, str(graph.graph), list(weights),
                        [(tensor.shape, tensor.stride(), tensor.dtype) for tensor in inputs],
                        None if rules is None else [file.read_bytes() for file in files])).encode())
    for source in sorted(pathlib.Path(__file__).parent.glob("torch*.py")):
        digest.update(source.read_bytes())
    for place in weights:
        digest.update(inputs[place].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _folder() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(os.environ.get("RULEMILL_CACHE") or os.path.join(home, "rulemill")) / "torch"


def _read(digest: str) -> Any:
    try:
        return torch.load(_folder() / f"{digest}.pt", weights_only=False)
    except Exception:  # missing, or of another version
        return None


def _write(digest: str, found: Any) -> None:
    """Keeps a rewriting for other processes, if there is a folder to which it can be written."""
    with contextlib.suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=_folder(), delete=False) as file:
            torch.save(found, file)
        os.replace(file.name, _folder() / f"{digest}.pt")


def _reason(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text if isinstance(error, Error) or type(error).__name__ == "Refused" else f"{type(error).__name__}: {text}"


def backend(graph: torch.fx.GraphModule, inputs: Sequence[Any], *, options: Optional[Mapping[str, Any]] = None,
            mode: Optional[str] = None) -> Compiled:
    """Compiles a graph of Dynamo: `torch.compile(model, backend="rulemill", options={"log": True})`."""
    given = dict(options or {})
    own = {name: given.pop(name, default) for name, default in _OPTIONS.items()}
    if mode is not None:
        given = {**torch._inductor.list_mode_options(mode), **given}
    found = _Graph(graph, own, given)
    found.compile(inputs)
    return found


__all__ = ["backend"]
