#!/usr/bin/env python3
"""Compares the patterns of Inductor with their replacements, as the installed torch registers them (docs/compilers.md):

    bench/inductor_patterns.py [--rules DB] [--json FILE] [--only TEXT]

Both are functions of Python: they are taken from the calls of register_replacement, called with the registered example inputs (random
numbers of these shapes, strides and types; a scalar is a number), and compared by `rulemill.torch.equal`. Functions that are registered for
several float types are compared in the first one, and in others if their results have different types in the first; dropout is 0, as in
the patterns that Inductor registers for inference."""

import argparse
import contextlib
import functools
import importlib
import inspect
import json
import pathlib
import sys
import time
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import rulemill.torch  # noqa: E402
import torch  # noqa: E402
from torch._inductor import pattern_matcher  # noqa: E402

# The functions that register patterns, by module of torch._inductor.fx_passes.
REGISTRARS = {"fuse_attention": "_sfdp_init", "misc_patterns": "_misc_patterns_init", "pad_mm": "_pad_mm_init",
              "freezing_patterns": "addmm_patterns_init", "post_grad": "lazy_init"}
MAX_SIZE = 16  # of a dimension; larger ones, which registration does not need either, become this
STATUSES = ("equal", "different", "not shown", "not expressible")


def registered():
    """Yields (file, search function, replacement function, example inputs, constants by name) of each registered pair."""
    found = []

    def record(file, *args, **kwargs):
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        constants = dict(given.get("scalar_workaround") or {})
        found.append((file, given["search_fn"], given["replace_fn"], list(given["example_inputs"]), constants))
        return True

    def record_named(file, _, *args, **kwargs):
        return record(file, *args, **kwargs)

    original = pattern_matcher.register_replacement
    for file, name in REGISTRARS.items():
        module = importlib.import_module(f"torch._inductor.fx_passes.{file}")
        registrar = inspect.unwrap(getattr(module, name))
        with contextlib.ExitStack() as stack:
            for attribute, replacement in (("register_replacement", record), ("gen_register_replacement", record_named)):
                if hasattr(module, attribute):
                    stack.enter_context(mock.patch.object(module, attribute, functools.partial(replacement, file)))
            registrar(*([torch.device("cpu")] if inspect.signature(registrar).parameters else []))
    return found


def example(name, value):
    """Random numbers like the example; a scalar is a number, and a mask has zeros and ones."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim() == 0:
        return 4.0  # its root is exact, which exporters of attention multiply by twice
    if max(value.shape) > MAX_SIZE:
        value = torch.empty([min(size, MAX_SIZE) for size in value.shape], dtype=value.dtype)
    values = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    if value.dtype == torch.bool:
        return values.copy_(torch.rand(value.shape) < 0.7)
    if name == "attn_mask":
        return values.copy_((torch.arange(values.numel()) % 3 != 1).reshape(values.shape))
    return values.copy_(torch.randn(value.shape)) if value.dtype.is_floating_point else values.zero_()


def without_constants(function, constants):
    """The function of the tensors alone, with its other arguments by name."""
    parameters = inspect.signature(function).parameters
    given = {name: 0.0 if name == "dropout_p" else value for name, value in constants.items() if name in parameters}
    return functools.partial(function, **given) if given else function


def compare(search, replace, inputs, constants, rules):
    """Returns the status and a reason."""
    try:
        found = rulemill.torch.equal(without_constants(search, constants), without_constants(replace, constants), inputs, rules=rules)
    except rulemill.Error as error:
        return "not expressible", error.message
    return found.status, found.place.partition(",")[0]  # the functions are torch's own, which have no line of a user


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", help="rule database; default: the default rules")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--only", default="", help="pairs whose name contains this")
    arguments = parser.parse_args()
    rows, seen = [], set()
    for file, search, replace, inputs, constants in registered():
        name = getattr(search, "__name__", str(search))
        shapes = [tuple(value.shape) if isinstance(value, torch.Tensor) else value for value in inputs]
        types = [str(value.dtype).removeprefix("torch.") for value in inputs if isinstance(value, torch.Tensor)]
        key = (name, str(shapes), types.count("bool"))
        if not seen.isdisjoint((key, (name, *types))) or arguments.only not in name:
            continue
        seen.add((name, *types))
        torch.manual_seed(0)
        begin = time.monotonic()
        examples = [example(*each) for each in zip(inspect.signature(search).parameters, inputs)]
        status, reason = compare(search, replace, examples, constants, arguments.rules)
        if "different types" not in reason:
            seen.add(key)
        rows.append({"file": file, "pattern": name, "shapes": shapes, "types": types, "status": status, "reason": reason,
                     "seconds": round(time.monotonic() - begin, 1)})
        print(f"| {file} | {name} | {types[0]} | {status} | {rows[-1]['seconds']} | {reason[:300]} |", flush=True)
        if arguments.json:
            text = json.dumps({"torch": torch.__version__, "results": rows}, indent=1)
            pathlib.Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    print("| file | pairs | " + " | ".join(STATUSES) + " | s |\n|" + "---|" * (len(STATUSES) + 3))
    for file in dict.fromkeys(row["file"] for row in rows):
        own = [row for row in rows if row["file"] == file]
        counts = [sum(row["status"] == status for row in own) for status in STATUSES]
        print(f"| {file} | {len(own)} | {' | '.join(map(str, counts))} | {sum(row['seconds'] for row in own):.0f} |")


if __name__ == "__main__":
    main()
