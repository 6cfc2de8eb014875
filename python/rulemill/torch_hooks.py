"""What of torch's exporter is replaced while a function is exported: its messages, its table of operators, its lines of sources. Where a
private part of torch is missing, exporting is slower, or tells fewer lines."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import pathlib
import warnings
from typing import Any, Callable, Iterator, Tuple
from unittest import mock

import torch


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the exporter's own lines: what matters is in the error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def registry_made_once() -> Iterator[None]:
    """torch makes its table of all operators for each export, which takes longer than the rest."""
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry
        made = ONNXRegistry.from_torchlib
    except (ImportError, AttributeError):
        yield
        return
    kept = staticmethod(lambda *args, **kwargs: _registry(made, args, tuple(sorted(kwargs.items()))))
    with mock.patch.object(ONNXRegistry, "from_torchlib", kept):
        yield


@functools.lru_cache(maxsize=4)
def _registry(make: Callable[..., Any], args: Tuple[Any, ...], kwargs: Tuple[Any, ...]) -> Any:
    return make(*args, **dict(kwargs))


@contextlib.contextmanager
def frames_of_users() -> Iterator[None]:
    """Nodes get the lines of all functions, not only those of functions called `forward`."""
    if not hasattr(torch.fx.Tracer, "_filter_traceback_frames"):
        yield
        return

    def frames(_: Any, summary: Any) -> Any:
        own = (str(pathlib.Path(torch.__file__).parent), str(pathlib.Path(__file__).parent), "<string>", "<eval_with_key>")
        return type(summary).from_list([frame for frame in summary if not frame.filename.startswith(own)][-1:])

    with mock.patch.object(torch.fx.proxy.TracerBase, "_filter_traceback_frames", frames):
        yield


__all__ = ["frames_of_users", "quiet", "registry_made_once"]
