"""Compares what rulemill makes of nodes with what the runtimes compute: parts of batches that the clean-up changes, and models that the
definitions evaluate."""

import collections
import os
import re
import shutil
import subprocess

import numpy as np
import onnx
from binary import BINARY, ROOT, rulemill
from onnx import helper, numpy_helper

import operator_cases as cases
from size_programs import Program

ALONE = {"RULEMILL_PYTHON": ""}  # without a second look at the result of the clean-up
SIZES = ([0], [1], [2], [3], [0, 1, 2, 3, 5], [1, 2, 3, 17])  # of open dimensions, drawn for each
BATCH = 250  # items of a model
ROUNDING = 1e-2  # what the runtimes may differ by, where an attribute asks for a narrow type
FIXED = {"scales", "sizes", "roi", "axes", "shape", "pads", "repeats", "split", "k", "starts", "ends", "steps"}  # inputs of onnx's cases


# Items: parts of a batch


class Constants:
    """A case whose inputs are all constants: what is folded has the bits that the runtimes compute."""

    def __init__(self, case, prefix):
        self.case, self.prefix, self.opset = case, prefix, case.opset
        self.nodes, self.weights = [case.node(prefix)], case.tensors(prefix)
        self.outputs = [f"{prefix}o{j}" for j in range(case.outputs)]

    def infos(self):
        return []

    def truths(self):
        return cases.outputs_of(self.case)

    def compute(self, result):
        return self.truths() if folded(result) is not None else None

    def record(self, comparison, result, truths):
        if truths is None or isinstance(truths, Exception):
            return comparison.count(self, "left alone")
        known = {name: each for name, each in truths.items() if not isinstance(each, Exception)}
        agreeing = [name for name, each in known.items() if self.agrees(each, folded(result))]
        if known and len(agreeing) == len(known):
            return comparison.count(self, "folded")
        comparison.count(self, "wrong")
        what = "folded, though disputed" if agreeing else "folded otherwise" if known else "folded, though no runtime runs it"
        return comparison.fault((what, *self.key), f"{self}: {brief(folded(result))}", truths)

    def agrees(self, expected, found):
        return cases.is_same(expected, found)

    @property
    def key(self):
        return self.case.key, self.case.schema.since

    def kinds(self):
        return self.case.kinds()

    def __str__(self):
        return str(self.case)


class Published(Constants):
    """A case of the onnx package."""

    key = ("onnx's cases", 0)

    def __init__(self, case, prefix):
        proto = onnx.compose.add_prefix(case.model, prefix)
        self.case, self.opset = case, next(each.version for each in proto.opset_import if not each.domain)
        self.nodes, self.outputs = list(proto.graph.node), [each.name for each in proto.graph.output]
        self.weights = [*proto.graph.initializer, *(tensor(value, info.name) for info, value in zip(proto.graph.input, case.data_sets[0][0]))]

    def truths(self):
        return {"the case": [numpy_helper.to_array(tensor(each, "")) for each in self.case.data_sets[0][1]]}

    def agrees(self, expected, found):
        return cases.is_close(expected, found, 1e-6)  # numpy computed it

    def kinds(self):
        return []

    def __str__(self):
        return self.case.name


class Open(Constants):
    """A case whose tensors are inputs with open dimensions, equal sizes with one name: the bits stay at every size at which it runs."""

    def __init__(self, case, prefix):
        super().__init__(case, prefix)
        is_given = [case.is_data[int(each.name[len(prefix) + 1:])] for each in self.weights]
        self.given = [each for each, given in zip(self.weights, is_given) if given]
        self.weights = [each for each, given in zip(self.weights, is_given) if not given]
        self.dims = [[f"{prefix}d{d}" if d != 1 else 1 for d in each.dims] for each in self.given]

    def infos(self):
        return [helper.make_tensor_value_info(each.name, each.data_type, dims) for each, dims in zip(self.given, self.dims)]

    def feeds(self):
        """Inputs of the sizes of the case, and with one of them or all replaced."""
        own = {name: int(name.rpartition("d")[2]) for dims in self.dims for name in dims if isinstance(name, str)}
        changes = [{}, *({name: size} for name in own for size in (0, 1, 2)), dict.fromkeys(own, 0), dict.fromkeys(own, 1)]
        for sizes in ({**own, **change} for change in changes):
            arrays = [numpy_helper.to_array(each).ravel() if all(each.dims) else np.ones(1,
                                                                                         helper.tensor_dtype_to_np_dtype(each.data_type)) for each in self.given]
            yield {each.name: np.resize(array, [sizes.get(d, d) for d in dims]) for each, array, dims in zip(self.given, arrays, self.dims)}

    def compute(self, result):
        """Outputs before and after at all sizes; None if nothing changed."""
        if [each.SerializeToString() for each in self.nodes] == [each.SerializeToString() for each in result.graph.node[:-len(self.outputs)]]:
            return None
        before = cases.make_model(self.nodes, self.infos(), self.outputs, self.weights, self.opset)
        first = next(self.feeds())
        once, again = attempt(before, first), attempt(before, first)
        if not isinstance(once, Exception) and not cases.is_same(once, again):
            return None  # it is random
        return [[attempt(model, feeds) for model in (before, result)] for feeds in self.feeds()]

    def record(self, comparison, result, answers):
        if answers is None or isinstance(answers, Exception):
            return comparison.count(self, "left alone")
        for before, after in answers:
            if not isinstance(before, Exception) and (isinstance(after, Exception) or not cases.is_same(before, after)):
                comparison.count(self, "wrong")
                return comparison.fault(("changed", *self.key), str(self), {"before": before, "after": after})
        runs = any(not isinstance(before, Exception) for before, _ in answers)
        return comparison.count(self, "changed, the same bits") if runs else None


class Sizes(Program, Open):
    """A program that computes sizes."""

    key = ("programs of sizes", 0)

    def feeds(self):
        for number, sizes in enumerate(SIZES):
            yield super().feeds(number, sizes)

    def kinds(self):
        return []

    def __str__(self):
        return f"program {self.prefix.strip('s_')}, opset {self.opset}: " + " ".join(node.op_type for node in self.nodes)


def attempt(model, feeds):
    try:
        return cases.run_in_onnxruntime(model, feeds)
    except Exception as error:  # noqa: BLE001, the runtimes raise all kinds
        return RuntimeError(str(error)[:200])


def brief(outputs):
    return str(outputs) if isinstance(outputs, Exception) else str([(str(each.dtype), each.shape, each.ravel()[:6].tolist()) for each in outputs])


# Batches


def model_of(items):
    """The items in one model, each output read by a node that nothing removes."""
    kept = [helper.make_node("Keep", [name], [f"{name}_kept"], domain="keep") for item in items for name in item.outputs]
    columns = zip(*((item.nodes, item.infos(), item.weights) for item in items))
    nodes, infos, weights = ([each for part in column for each in part] for column in columns)
    return cases.make_model(nodes + kept, infos, [each.output[0] for each in kept], weights, items[0].opset, ["keep"])


def parts_of(model, items):
    """What the model computes of each item, as models whose last nodes are copies to the outputs."""
    sources = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Keep"}
    producers = {name: (place, node) for place, node in enumerate(model.graph.node) for name in node.output}
    stored = {each.name: each for each in model.graph.initializer}
    for item in items:
        wanted = [sources[f"{name}_kept"] for name in item.outputs]
        needed, open_names = {}, list(wanted)
        while open_names:
            found = producers.get(open_names.pop())
            if found and found[0] not in needed:
                needed[found[0]] = found[1]
                open_names += found[1].input
        nodes = [node for _, node in sorted(needed.items())]
        last = [helper.make_node("Identity", [name], [f"result{k}"]) for k, name in enumerate(wanted)]
        read = {name for node in [*nodes, *last] for name in node.input}
        yield cases.make_model([*nodes, *last], item.infos(), [each.output[0] for each in last],
                               [stored[name] for name in sorted(read & set(stored))], item.opset)


def folded(result):
    """The outputs of an item if all are stored; None if a node is left."""
    stored = {each.name: each for each in result.graph.initializer}
    names = [node.input[0] for node in result.graph.node]
    is_stored = len(names) == len(result.graph.output) and all(name in stored for name in names)
    return [numpy_helper.to_array(stored[name]) for name in names] if is_stored else None


class Comparison:
    """Counts of what was compared by key, the kinds of values that were, and faults."""

    def __init__(self, folder):
        self.folder, self.faults = folder, collections.Counter()
        self.table, self.kinds = collections.defaultdict(collections.Counter), collections.defaultdict(set)

    def fault(self, group, text, truths):
        self.faults[group] += 1
        if self.faults[group] <= 2:
            print(f"{' '.join(map(str, group))}: {text}; " + "; ".join(f"{name}: {brief(each)}" for name, each in truths.items()), flush=True)

    def count(self, item, what):
        self.table[item.key][what] += 1
        if what != "left alone":
            self.kinds[item.key].update(item.kinds())

    def clean_up(self, items):
        """Compares the items before and after the clean-up, in models of many items."""
        by_opset = collections.defaultdict(list)
        for item in items:
            by_opset[item.opset].append(item)
        for group in by_opset.values():
            for at in range(0, len(group), BATCH):
                for part, model in self.cleaned(group[at:at + BATCH]):
                    pairs = list(zip(part, parts_of(model, part)))
                    for (item, result), answer in zip(pairs, cases.isolated(lambda pair: pair[0].compute(pair[1]), pairs)):
                        item.record(self, result, answer)

    def cleaned(self, items):
        """Yields groups of items with their cleaned model, without items that rulemill refuses."""
        before, after = self.folder / "before.onnx", self.folder / "after.onnx"
        onnx.save(model_of(items), before)
        process = rulemill("optimize", before, "--only-clean", "--out", after, env=ALONE)
        if process.returncode == 0:
            yield items, onnx.load(after)
        elif len(items) > 1:
            # The message names an operator, if not the node.
            named = [item for item in items if any(f" {node.op_type}: " in process.stderr for node in item.nodes)]
            others = [item for item in items if item not in named]
            for part in (named, others) if named and others else (items[::2], items[1::2]):
                yield from self.cleaned(part)
        elif process.returncode not in (1, 3):
            self.fault(("exit code", process.returncode), f"{items[0]}: {process.stderr.strip()}", {})
        else:
            self.count(items[0], "refused")

    def define(self, items):
        """Evaluates by the definitions, as models whose tensors of float32 are inputs; what is covered is what the runtimes compute."""
        root, written = self.folder / "cases", {}
        shutil.rmtree(root, ignore_errors=True)
        for item, truths in zip(items, cases.isolated(lambda item: item.truths(), items)):
            known = [] if isinstance(truths, Exception) else [each for each in truths.values() if not isinstance(each, Exception)]
            if known:
                name = f"{len(written):06}"
                write_case(item.case, known[0], root / name)
                written[name] = item, truths, len(known) == 2 and not cases.is_close(*known, ROUNDING)
        for name, difference in self.defined(root, sorted(written)).items():
            item, truths, is_disputed = written[name]
            if difference is None:
                self.count(item, "left alone")
            elif difference == "" and not is_disputed:
                self.count(item, "defined")
            else:
                self.count(item, "wrong")
                self.fault(("defined, though disputed" if is_disputed else "defined otherwise", *item.key), f"{item}: {difference}", truths)

    def defined(self, root, names):
        """Returns by name None for what no definition covers, empty text for what agrees, and else the difference."""
        chosen = self.folder / "chosen"
        shutil.rmtree(chosen, ignore_errors=True)
        chosen.mkdir()
        for name in names:
            (chosen / name).symlink_to(root / name)
        process = subprocess.run([BINARY.parent / "test_optimize", "[onnx]"], cwd=ROOT, capture_output=True, text=True, check=False,
                                 env={**os.environ, "RULEMILL": str(BINARY), "RULEMILL_ONNX_CASES": str(chosen)})
        if "ONNX operator tests: " in process.stdout:
            found = re.findall(r"^(passed|FAILED) ([^\s:]+)(.*)", process.stdout, re.MULTILINE)
            return dict.fromkeys(names) | {name: "" if verdict == "passed" else text for verdict, name, text in found}
        if len(names) == 1:
            return {names[0]: f"exit code {process.returncode}: " + " ".join(process.stdout.split())[:300]}
        return self.defined(root, names[::2]) | self.defined(root, names[1::2])


# Cases as files


def tensor(value, name):
    made = onnx.TensorProto()
    made.CopyFrom(value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), name))
    made.name = name
    return made


def write_model(folder, model, inputs, outputs):
    """Writes a model, its inputs that are no constants, and the expected outputs."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for k, each in enumerate(values):
            (data / f"{kind}_{k}.pb").write_bytes(each.SerializeToString())
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def write_case(case, outputs, folder):
    if not isinstance(case, cases.Case):
        return write_published(case, folder)
    model = case.model(lambda i: case.is_data[i] and case.inputs[i].dtype == np.float32)
    for info, value in zip(model.graph.output, outputs):
        info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    inputs = [tensor(case.inputs[int(info.name[1:])], info.name) for info in model.graph.input]
    return write_model(folder, model, inputs, [tensor(value, info.name) for value, info in zip(outputs, model.graph.output)])


def write_published(case, folder):
    """Inputs that are not tensors of a network (shapes, axes, scales) are constants, because the model defines a computation only then."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = {info.name: tensor(value, info.name) for info, value in zip(model.graph.input, case.data_sets[0][0])}
    fixed = {name for name, each in inputs.items() if each.data_type != onnx.TensorProto.FLOAT or name in FIXED}
    for info in [each for each in model.graph.input if each.name in fixed]:
        model.graph.initializer.append(inputs[info.name])
        model.graph.input.remove(info)
    outputs = [tensor(value, info.name) for value, info in zip(case.data_sets[0][1], model.graph.output)]
    write_model(folder, model, [each for name, each in inputs.items() if name not in fixed], outputs)
