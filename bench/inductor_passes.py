#!/usr/bin/env python3
"""Compares the graphs before and after each graph pass of Inductor, on the reference modules of KernelBench:

    bench/inductor_passes.py KERNELBENCH/KernelBench --json FILE [--levels 1 2 3] [--only TEXT] [--settings default frozen more] [--part 0/1]
    bench/inductor_passes.py --table FILE…

KERNELBENCH is a clone of its repository. Modules are made small as bench/kernelbench.py makes them, and compiled by torch for the CPU, without
gradients, up to the generation of code. A graph is noted wherever torch's own GraphTransformObserver begins or ends, and around a few passes
without one; what changes between two of these places is a pass, too, such as the decompositions. Two graphs of the same calls are `unchanged`;
others are compared by `rulemill.torch.equal`, for all values of inputs and weights (frozen: for the weights as they are), and what it does not show
is run in float64. `frozen`: with
Inductor's freezing; `more`: with the passes that it has but does not run by default. Each module has a process, with 45 s of processor
time. --part K/N: each Nth module. --table prints what `bench/results/inductor-passes-2026-12-01.md` has."""

import argparse
import collections
import contextlib
import copy
import functools
import importlib
import json
import multiprocessing
import pathlib
import re
import resource
import sys
import time
import warnings
from unittest import mock

import torch
from kernelbench import ROOT, smallest

sys.path.insert(0, str(ROOT / "python"))
import rulemill.torch  # noqa: E402
from torch._inductor import compile_fx, config  # noqa: E402
from torch.fx.passes.graph_transform_observer import GraphTransformObserver  # noqa: E402

#: Seconds of processor time of each process.
LIMIT = 45
#: Seconds of one search for a proof.
SECONDS = 5
#: What the results of graphs that are not shown to be equal may differ by in float64.
APART = 1e-5
#: Functions of torch that change a graph without an observer: module and name.
UNOBSERVED = [("fx_passes.pre_grad", "numpy_compat_normalization"), ("fx_passes.pre_grad", "sink_cat_after_pointwise"),
              ("fx_passes.quantization", "quant_lift_up"), ("fx_passes.joint_graph", "canonicalize_aten_ir_passes"),
              ("fx_passes.joint_graph", "replace_random_passes"), ("compile_fx", "view_to_reshape"), ("freezing", "constant_fold"),
              ("freezing", "convert_conv_weights_to_channels_last")]
STAGES = {"pre_grad": "_recursive_pre_grad_passes", "joint": "_recursive_joint_graph_passes", "post_grad": "_recursive_post_grad_passes"}
#: Names of changes between the stages.
BEFORE = {"joint": "decompositions", "post_grad": "between joint and post_grad"}
SPLITS = dict.fromkeys(("normalization_pass", "remove_split_with_size_one_pass", "merge_getitem_cat_pass", "merge_stack_tahn_unbind_pass",
                        "merge_splits_pass", "mutate_cat_pass", "split_cat_pass", "unbind_stack_pass", "split_cat_to_slices_pass",
                        "unbind_cat_to_view_pass", "split_stack_to_cats_pass", "unbind_stack_to_slices_pass", "move_reshape_out_of_split_stack_pass",
                        "einsum_to_pointwise_pass", "batch_linear", "batch_linear_lhs", "batch_layernorm", "batch_tanh", "batch_sigmoid",
                        "batch_relu"), {})
AFTER = dict.fromkeys(("normalization_aten_pass", "split_cat_aten_pass", "split_cat_aten_pass", "select_cat_aten_pass", "unbind_stack_aten_pass",
                       "move_view_after_cat_aten_pass", "batch_aten_tanh", "batch_aten_sigmoid", "batch_aten_relu", "batch_linear_post_grad",
                       "batch_aten_add", "batch_aten_mul", "batch_aten_sub", "batch_aten_div", "decompose_mm_pass"), {})
SETTINGS = {"default": {}, "frozen": {"freezing": True, "cpp.weight_prepack": False},
            "more": {"pre_grad_fusion_options": SPLITS, "post_grad_fusion_options": AFTER, "efficient_conv_bn_eval_fx_passes": True}}


def copied(module):
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return torch.fx.GraphModule(module, graph)


class Compiled(Exception):
    """All passes ran."""


class Chain:
    """The graphs of one compilation in order, each with the name of what led to it."""

    def __init__(self):
        self.graphs, self._depth, self._stage = [], 0, []

    def note(self, graph, after):
        module = graph if isinstance(graph, torch.fx.GraphModule) else graph.owning_module
        if self._depth or module is None or any(node.op == "call_module" for node in module.graph.nodes):
            return
        try:
            self.graphs.append((after, copied(module)))
        except SyntaxError:  # the text of the graph is no program of Python
            self.graphs.append((after, None))

    @contextlib.contextmanager
    def stage(self, name):
        self._stage.append(name)
        yield
        self._stage.pop()

    @contextlib.contextmanager
    def around(self, name, graph, result=lambda: None):
        name = ".".join([*self._stage[-1:], name])
        self.note(graph, f"before {name}")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        given = result()
        self.note(given if isinstance(given, (torch.fx.GraphModule, torch.fx.Graph)) else graph, name)

    def hooks(self):
        """What replaces parts of torch while it compiles."""
        chain = self

        def entered(observer):
            observer.noted = chain.around(observer.passname, observer.gm)
            observer.noted.__enter__()
            return observer

        def left(observer, kind, error, trace):
            observer.noted.__exit__(kind, error, trace)

        def around(function, name, graph, *args, **kwargs):
            found = []
            with chain.around(name, graph, lambda: found[0]):
                found.append(function(graph, *args, **kwargs))
            return found[0]

        def staged(function, name, graph, *args, **kwargs):
            with chain.stage(name):
                chain.note(graph, BEFORE.get(name, f"before {name}"))
                found = function(graph, *args, **kwargs)
                chain.note(found if isinstance(found, torch.fx.GraphModule) else graph, f"end of {name}")
            if name == "post_grad":
                raise Compiled
            return found

        def frozen(function, name, *args, **kwargs):
            found = function(*args, **kwargs)
            chain.graphs.append(("", None))  # weights are constants from here on
            return found

        patches = [mock.patch.object(GraphTransformObserver, "__enter__", entered), mock.patch.object(GraphTransformObserver, "__exit__", left)]
        replaced = [(module, name, around, name) for module, name in UNOBSERVED]
        replaced += [("compile_fx", function, staged, stage) for stage, function in STAGES.items()]
        replaced.append(("freezing", "freezing_passes", staged, "freezing"))
        replaced.append(("freezing", "replace_params_with_constants", frozen, ""))
        for module, name, replacement, label in replaced:
            owner = importlib.import_module(f"torch._inductor.{module}")
            patches.append(mock.patch.object(owner, name, functools.partial(replacement, getattr(owner, name), label)))
        return patches

    def pairs(self):
        """Names of passes with the graphs before and after."""
        for (_, before), (name, after) in zip(self.graphs, self.graphs[1:]):
            inputs = {len(graph.graph.find_nodes(op="placeholder")) for graph in (before, after) if graph is not None}
            if before is not None and after is not None and len(inputs) == 1:  # of the others weights became arguments or constants
                yield name, before, after


def chains(model, arguments, settings):
    """The graphs of each compilation of a module."""
    found = []

    def backend(graph, inputs):
        chain = Chain()
        kept = copied(graph)  # as the passes change the graph
        with contextlib.ExitStack() as stack:
            for patch in chain.hooks():
                stack.enter_context(patch)
            with contextlib.suppress(Compiled):
                try:
                    compile_fx.compile_fx(graph, inputs)
                except Exception as error:  # noqa: BLE001 (torch wraps what its compilers raise)
                    if not isinstance(getattr(error, "inner_exception", error), Compiled) and "Compiled" not in repr(error):
                        raise
        found.append((chain, inputs))
        return kept.forward

    torch._dynamo.reset()
    with torch.no_grad(), config.patch({"force_disable_caches": True, **settings}):
        torch.compile(model, backend=backend)(*arguments)
    return found


#: Numbers of all calls that were seen, by what they are computed from.
_NUMBERS = {}


def calls(graph):
    """What identifies a graph: its calls by what they are computed from. In their order, if a call may change something in place."""
    places, known = {}, {}
    pure = all(node.op != "call_method" and (node.op != "call_function" or isinstance(node.target, torch._ops.OpOverload) and
                                             not node.target._schema.is_mutable or node.target.__module__ == "_operator" and
                                             node.target.__name__ == "getitem") for node in graph.graph.nodes)
    inputs = 0
    for node in graph.graph.nodes:
        target = str(node.target)
        if node.op == "get_attr":
            target = str(id(functools.reduce(getattr, node.target.split("."), graph)))
        if node.op == "placeholder":
            target, inputs = str(inputs), inputs + 1
        if node.op == "output":
            target = "output"
        args = repr(torch.fx.node.map_arg((node.args, sorted(node.kwargs.items())), lambda each: _Place(places[each])))
        places[node] = known.setdefault((node.op, target, args, 0 if pure else len(known)), len(known))
    if not pure:
        return list(known)
    keys = {place: key for key, place in known.items()}

    numbers = {}
    for place in sorted(keys):
        op, target, args, _ = keys[place]
        args = re.sub(r"%(\d+)", lambda found: f"#{numbers[int(found[1])]}", args)
        numbers[place] = _NUMBERS.setdefault((op, target, args), len(_NUMBERS))
    return numbers[places[next(iter(graph.graph.find_nodes(op="output")))]]


class _Place(int):
    def __repr__(self):
        return f"%{int(self)}"


def inputs_of(graph, given):
    """Tensors for the placeholders: those that torch was given if they have the shapes."""
    values = [node.meta.get("val", node.meta.get("example_value")) for node in graph.graph.find_nodes(op="placeholder")]
    if len(values) == len(given) and all(value is None or value.shape == each.shape for value, each in zip(values, given)):
        return [each.detach() for each in given]
    result = []
    for value in values:
        generator = torch.Generator().manual_seed(len(result))
        result.append(torch.randn(value.shape, generator=generator).to(value.dtype) if value.dtype.is_floating_point
                      else next(each for each in given if each.shape == value.shape and each.dtype == value.dtype).detach())
    return result


def compared(pairs, known):
    """What was found about each change of a graph; `known`: what was found before, by the calls of both graphs."""
    results = []
    for name, before, after, given in pairs:
        begin = time.process_time() + children()
        keys = calls(before), calls(after)
        if keys[0] == keys[1]:
            results.append({"pass": name, "status": "unchanged", "reason": "", "seconds": 0.0})
            continue
        if repr(keys) in known:
            results.append({**known[repr(keys)], "pass": name, "seconds": 0.0})
            continue
        try:
            found = rulemill.torch.equal(before, after, inputs_of(before, given), time_limit=SECONDS)
            status, reason = found.status, str(found) if found.status != "equal" else "; ".join(found.notes)
        except rulemill.Error as error:
            status, reason = "not expressible", error.message
        except Exception as error:  # noqa: BLE001
            status, reason = "not expressible", f"{type(error).__name__}: {error}"
        reason = reason.partition(", inductor_passes.py")[0]
        apart = in_float64(before, after, inputs_of(before, given)) if status in ("not shown", "not expressible") else None
        if apart is not None and apart > APART:
            status, reason = "different", f"in float64 by {apart:.1e} of the largest element"
        results.append({"pass": name, "status": status, "reason": reason[:600], "seconds": round(time.process_time() + children() - begin, 2),
                        **({"before": before.code, "after": after.code} if status != "equal" else {})})
        known[repr(keys)] = results[-1]
    return results


def in_float64(before, after, inputs):
    """How far the results of both are apart in float64, of the largest element; None where one does not run so."""
    try:
        results = []
        for graph in (copied(before), copied(after)):
            graph = copy.deepcopy(graph).double()
            with torch.no_grad():
                results.append(graph(*(each.double() if each.is_floating_point() else each.clone() for each in inputs)))
        return max(((a.double() - b.double()).abs().max() / (a.double().abs().max() + 1e-30)).item() for a, b in zip(*results))
    except Exception:  # noqa: BLE001 (whatever the graphs raise)
        return None


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def examine(path, names, results):
    """Puts what became of a module's passes with each of these settings, or the reason why it was not compiled, into `results`."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    warnings.simplefilter("ignore")
    known = {}
    for name in names:
        try:
            _, model, arguments = smallest(path)
            found = chains(model, arguments, SETTINGS[name])
            results.put(compared([(*pair, given) for chain, given in found for pair in chain.pairs()], known))
        except Exception as error:  # noqa: BLE001
            results.put(f"{type(error).__name__}: {error}".split("\n")[0])


def one(path, names):
    """Yields what became of a module with each of these settings."""
    results = multiprocessing.SimpleQueue()
    process = multiprocessing.Process(target=examine, args=(path, names, results))
    process.start()
    for _ in names:
        while process.is_alive() and results.empty():
            process.join(0.1)
        yield f"it ended early, or after {LIMIT} s" if results.empty() else results.get()
    process.join()


def table(results):
    """The lines of the table: by setting and pass."""
    rows = collections.defaultdict(collections.Counter)
    for module in results:
        for each in module["passes"] if isinstance(module["passes"], list) else []:
            row = rows[module["setting"], each["pass"]]
            row[each["status"]] += 1
            row["seconds"] += each["seconds"]
    statuses = ("equal", "different", "not shown", "not expressible")
    lines = ["| setting | pass | changes | " + " | ".join(statuses) + " | s |", "|---|---|" + "---|" * 6]
    for (setting, name), row in rows.items():
        changes = sum(row[status] for status in statuses)
        if changes:
            lines.append(f"| {setting} | {name} | {changes} | " + " | ".join(str(row[status]) for status in statuses) + f" | {row['seconds']:.0f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", default="")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table([each for path in options.table for each in json.loads(path.read_text())])))
        return
    if options.folder is None or not (options.folder / "level1").is_dir():
        parser.error(f"{options.folder}: expected the folder with level1")
    torch.set_num_threads(1)
    part, parts = map(int, options.part.split("/"))
    results, number = [], 0
    for level in options.levels:
        for path in sorted(options.folder.glob(f"level{level}/*.py"), key=lambda each: int(each.stem.split("_")[0])):
            number += 1
            if options.only not in path.stem or number % parts != part:
                continue
            for setting, passes in zip(options.settings, one(path, options.settings)):
                results.append({"setting": setting, "level": level, "module": path.stem, "passes": passes})
                shown = passes if isinstance(passes, str) else "; ".join(
                    f"{each['pass']}: {each['status']}" + (f" ({each['reason']})" if each["status"] != "equal" else "")
                    for each in passes if each["status"] != "unchanged").replace("\n", " ")
                print(setting, level, path.stem, shown[:1500], sep="\t", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
