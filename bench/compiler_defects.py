#!/usr/bin/env python3
"""Looks for defects of programs that run or rewrite ONNX models: `bench/compiler_defects.py --out FOLDER [MODEL.onnx…] [--seed 1] [--count 100]`.

Runs each model, and variants that `rulemill variants` proves equal to it, in onnxruntime at each level of optimization and in OpenVINO,
and the results of onnxslim, onnxsim, onnxscript and onnxoptimizer in onnxruntime without optimizations. Without MODEL, models come from
`defect_models.py` and, in turns, tests/adversarial/models.py. Outputs are compared with those that onnx.reference computes in float64,
within the errors of the model's own arithmetic (tests/adversarial/model_oracle.py). What differs, crashes, or refuses a model that
onnxruntime runs without optimizations is reduced to few nodes, and written once for each group: program, kind, and the optimizer of
onnxruntime without which it is gone, otherwise the operators that are left.

The programs are those of the Python that runs this; those that are missing are left out. RULEMILL names the binary."""

import argparse
import collections
import copy
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "adversarial"))
import defect_models
import model_oracle
import models as random_models

BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
LEVELS = {"onnxruntime basic": "ORT_ENABLE_BASIC", "onnxruntime extended": "ORT_ENABLE_EXTENDED", "onnxruntime all": "ORT_ENABLE_ALL"}
OPTIMIZERS = """BiasDropoutFusion BiasGeluFusion BiasSkipLayerNormFusion BiasSoftmaxFusion CastChainElimination CastElimination ClipQuantRewrite
    CommonSubexpressionElimination ConstantFolding ConstantSharing ConvActivationFusion ConvAddActivationFusion ConvAddFusion ConvBNFusion
    ConvMulFusion DivMulFusion DoubleQDQPairsRemover EliminateDropout EliminateIdentity EliminateSlice ExpandElimination FastGeluFusion
    FuseReluClip GatherSliceToSplitFusion GatherToSliceFusion GeluFusionL1 GeluFusionL2 GemmActivationFusion GemmSumFusion GemmTransposeFusion
    LayerNormFusionL1 LayerNormFusionL2 MatMulActivationFusion MatMulAddFusion MatMulScaleFusion MatMul_BatchNormalization_Fusion
    MatmulTransposeFusion NchwcTransformer NhwcTransformer NoopElimination NotWhereFusion Pad_Fusion PreShapeNodeElimination
    PropagateCastOps QDQPropagationTransformer QDQSelectorActionTransformer QuickGeluFusion ReluQuantRewrite ReshapeFusion
    SimplifiedLayerNormFusion SkipLayerNormFusion TransposeOptimizer UnsqueezeElimination WhereDummyDq""".split()
RUNTIME_ERRORS = [each for each in vars(onnxruntime.capi.onnxruntime_pybind11_state).values() if isinstance(each, type) and issubclass(each, Exception)]
TIMEOUT = 60  # seconds of all programs on one model
DRAWS = 2


def run_onnxruntime(model, level="ORT_DISABLE_ALL", without=()):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=list(without))
    names = {each.name for each in session.get_inputs()}  # rewriters drop those that nothing reads
    return lambda feeds: session.run(None, {name: values for name, values in feeds.items() if name in names})


def run_openvino(model):
    import openvino
    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", settings)
    names, known = [value.name for value in model.graph.input], {name for port in compiled.inputs for name in port.names}
    if len(compiled.inputs) < len(names):  # nothing reads some
        names = [name for name in names if name in known]
    return lambda feeds: [np.array(each) for each in compiled([feeds[name] for name in names]).to_tuple()]


def rewrite_with(program, model):
    if program == "onnxslim":
        import onnxslim
        return onnxslim.slim(model)
    if program == "onnxsim":
        import onnxsim
        return onnxsim.simplify(model)[0]
    if program == "onnxscript optimizer":
        import onnxscript.optimizer
        return onnxscript.optimizer.optimize(model)
    if program == "onnxscript rewriter":
        import onnxscript.rewriter
        return onnxscript.rewriter.rewrite(model)
    if program == "onnxscript optimize_for_ort":
        from onnxscript import ir
        from onnxscript.rewriter import ort_fusions
        return ir.serde.serialize_model(ort_fusions.optimize_for_ort(ir.serde.deserialize_model(model))[0])
    if program.startswith("onnxscript "):  # rules that are not applied by default
        import onnxscript.rewriter.rules.common
        rules = getattr(onnxscript.rewriter.rules.common, program.split()[1])
        return onnxscript.rewriter.rewrite(model, list(rules) if hasattr(rules, "rules") else [rules])
    import onnxoptimizer
    return onnxoptimizer.optimize(model)


PROGRAMS = [*LEVELS, *(name for name in ("openvino", "onnxslim", "onnxsim", "onnxscript optimizer", "onnxscript rewriter", "onnxoptimizer")
                       if importlib.util.find_spec(name.split()[0]))]


def prepare(program, model, without=()):
    """Returns a function from inputs to outputs."""
    if program in LEVELS:
        return run_onnxruntime(model, LEVELS[program], without)
    if program == "openvino":
        return run_openvino(model)
    return run_onnxruntime(rewrite_with(program, copy.deepcopy(model)))


def draw(model, number):
    numbers = np.random.default_rng(number)
    feeds = {}
    for value in model.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = [each.dim_value if each.HasField("dim_value") else 2 + number for each in value.type.tensor_type.shape.dim]
        if dtype.kind == "f":
            feeds[value.name] = np.asarray(numbers.standard_normal(dims) * (1 + number)).astype(dtype)
        else:
            feeds[value.name] = np.asarray(numbers.integers(0 if dtype.kind in "ub" else -4, 2 if dtype.kind == "b" else 5, dims)).astype(dtype)
    return feeds


class Truth:
    """What a model computes, on a few inputs."""

    def __init__(self, model):
        self.oracle = model_oracle.Oracle(model, collections.Counter())
        self.before = run_onnxruntime(model)
        self.feeds = [draw(model, number) for number in range(DRAWS)]
        self.runs = []
        for number, feeds in enumerate(self.feeds):
            wide = {name: values.astype(np.float64) if values.dtype.kind == "f" else values for name, values in feeds.items()}
            roundings = [model_oracle.exact, model_oracle.nearest, *(model_oracle.RandomRounding([number, each]) for each in range(3))]
            reference, *own = [self.oracle.evaluator.run(wide, each) for each in roundings]
            self.runs.append((reference, own, self.before(feeds)))

    def difference(self, outputs, number, widest=None):
        """Returns how outputs differ, empty if they do not."""
        reference, own, before = self.runs[number]
        try:
            for i, element in enumerate(self.oracle.elements):
                after = outputs[i]
                if after.shape != reference[i].shape or after.dtype != before[i].dtype:
                    return f"{before[i].dtype}{list(reference[i].shape)} became {after.dtype}{list(after.shape)}"
                if widest and element == onnx.TensorProto.DOUBLE:
                    element, after = widest, after.astype(np.float32)
                mine = [run[i] for run in own] + ([] if outputs is before else [before[i]])
                self.oracle.compare_output(element, reference[i], mine, after, is_run=outputs is not before)
        except model_oracle.Different as error:
            return str(error)
        return ""


def compare(model, programs, without=()):
    """Returns (kind, message) of each program that is wrong about the model; None if there is no reference."""
    warnings.simplefilter("ignore")
    found = {}
    try:
        with np.errstate(all="ignore"):
            truth = Truth(model)
            for number in range(DRAWS):
                if why := truth.difference(truth.runs[number][2], number):
                    return {"onnxruntime disabled": ("differs", why)} if "onnxruntime disabled" in programs else None
    except Exception as error:
        is_limit = "NOT_IMPLEMENTED" in str(error) or not isinstance(error, tuple(RUNTIME_ERRORS))
        return {"onnxruntime disabled": ("refuses", short(error))} if "onnxruntime disabled" in programs and not is_limit else None
    for program in programs:
        if program == "onnxruntime disabled":
            continue
        try:
            run = prepare(program, model, without)
            for number, feeds in enumerate(truth.feeds):
                # OpenVINO computes float64 in float32, as its documentation says.
                why = truth.difference(run(feeds), number, onnx.TensorProto.FLOAT if program == "openvino" else None)
                if why:
                    found[program] = ("differs", why)
                    break
        except Exception as error:
            found[program] = ("refuses", short(error))
    return found


def short(error):
    return f"{type(error).__name__}: " + " ".join(str(error).split())[-300:]


def answer(pipe, model, programs, without):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    pipe.send(compare(model, programs, without))
    os._exit(0)


def compare_in_process(model, programs, without=()):
    """As compare(), of programs that may crash or not end."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=answer, args=(theirs, model, programs, without))
    process.start()
    theirs.close()
    try:
        if ours.poll(TIMEOUT):
            return ours.recv()
        kind = "does not end"
    except EOFError:
        kind = "crashes"
    finally:
        process.kill()
        process.join()
    if len(programs) > 1:
        found = [compare_in_process(model, [program], without) or {} for program in programs]
        return {name: what for each in found for name, what in each.items()}
    return {programs[0]: (kind, f"exit code {process.exitcode}")}


def pruned(model, outputs, inputs=()):
    """Returns the part of a model that computes outputs, from these values as further inputs; None if it is invalid."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {value.name: value for value in [*inferred.graph.value_info, *inferred.graph.output, *inferred.graph.input]}
    needed, nodes = set(outputs), []
    for node in reversed(model.graph.node):
        if needed & (set(node.output) - set(inputs) - {""}):
            nodes.insert(0, node)
            needed |= set(node.input)
    if not nodes or not all(name in types for name in [*outputs, *inputs]):
        return None
    stored = [each for each in model.graph.initializer if each.name in needed and each.name not in inputs]
    given = [types[name] for name in dict.fromkeys([*(value.name for value in model.graph.input), *inputs]) if name in needed]
    part = helper.make_model(helper.make_graph(nodes, "reduced", given, [types[name] for name in outputs], stored),
                             opset_imports=model.opset_import, ir_version=model.ir_version)
    return part if model_oracle.attempt(onnx.checker.check_model, part, True)[1] == "" else None


def smaller(model):
    """Yields models with fewer nodes or outputs."""
    outputs = [value.name for value in model.graph.output]
    values = [name for node in model.graph.node for name in node.output if name and node.op_type != "Constant"]
    for name in values:
        if [name] != outputs:
            yield pruned(model, [name])
    for name in reversed(values):
        if name not in outputs:
            yield pruned(model, outputs, [name])
    for node in model.graph.node:
        for source in node.input[:1]:
            bypassed = copy.deepcopy(model)
            for other in bypassed.graph.node:
                for i, name in enumerate(other.input):
                    if name in node.output:
                        other.input[i] = source
            if not set(node.output) & set(outputs):
                yield pruned(bypassed, outputs)
        for attribute in node.attribute:
            plain = copy.deepcopy(model)
            for other in plain.graph.node:
                if other.output == node.output:
                    other.attribute.remove(attribute)
            yield pruned(plain, outputs)


def signature(what):
    return what and (what[0], re.sub(r"[^A-Za-z]+", " ", what[1])[:40] if what[0] == "refuses" else "")


def reduce(model, program, what):
    """Returns the smallest model found on which the program is wrong in the same way."""
    size = lambda each: (sum(node.op_type != "Constant" for node in each.graph.node), len(each.graph.output), len(each.SerializeToString()))
    steps = 0
    while steps < 300:
        for candidate in smaller(model):
            steps += 1
            if candidate is None or size(candidate) >= size(model):
                continue
            if signature((compare_in_process(candidate, [program]) or {}).get(program)) == signature(what):
                model = candidate
                break
        else:
            return model
    return model


def responsible(model, program):
    """Returns the optimizers of onnxruntime without which the program is right, otherwise the operators of the model."""
    if program in LEVELS:
        found = [name for name in OPTIMIZERS if not (compare_in_process(model, [program], [name]) or {}).get(program)]
        if found:
            return " ".join(found)
    return " ".join(node.op_type for node in model.graph.node if node.op_type != "Constant")


def variants(model, count, seed, rules):
    """Returns models that are proved equal to a model."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.onnx"
        onnx.save(model, file)
        words = [BINARY, "variants", file, "--count", count, "--seed", seed, "--out", f"{folder}/out", *(["--rules", rules] if rules else [])]
        subprocess.run(list(map(str, words)), capture_output=True, timeout=600, check=False)
        return [onnx.load(each) for each in sorted(pathlib.Path(folder).glob("out/*.onnx"))]


class Campaign:
    def __init__(self, given):
        self.given, self.groups, self.counts, self.seen = given, {}, collections.Counter(), collections.Counter()
        given.out.mkdir(parents=True, exist_ok=True)

    def check(self, model, origin):
        self.counts["models"] += 1
        programs = self.given.only or PROGRAMS
        found = compare_in_process(model, programs)
        if found is None:
            self.counts["models without a reference"] += 1
        for program, what in (found or {}).items():
            if program in LEVELS and any(name in (found or {}) for name in list(LEVELS)[:list(LEVELS).index(program)]):
                continue  # a lower level is wrong, too
            self.counts[f"{program} {what[0]}"] += 1
            self.seen[program, signature(what)] += 1
            if self.seen[program, signature(what)] <= (2 if what[0] == "refuses" else 40):
                self.report(model, program, what, origin)

    def report(self, model, program, what, origin):
        model = reduce(model, program, what)
        what = (compare_in_process(model, [program]) or {}).get(program, what)
        group = f"{program}: {what[0]}: {responsible(model, program)}"
        if self.groups.setdefault(group, []):
            return self.groups[group].append(origin)
        self.groups[group].append(origin)
        print(f"{group}\n  {origin}: {what[1]}\n  " + onnx.printer.to_text(model).replace("\n", "\n  "), flush=True)
        name = re.sub(r"[^a-z0-9]+", "_", group.lower())[:80]
        onnx.save(model, self.given.out / f"{name}.onnx")
        return None


def sources(given):
    for path in given.models:
        yield str(path), onnx.load(path)
    if not given.models:
        for seed in range(given.seed, given.seed + given.count):
            yield f"seed {seed}", defect_models.generate(seed) if seed % 4 else random_models.generate(seed)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("defects"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--variants", type=int, default=0, help="of each model")
    parser.add_argument("--rules", type=pathlib.Path, help="rule database of the variants; default: the default rules")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", action="append", choices=["onnxruntime disabled", *PROGRAMS])
    given = parser.parse_args()
    campaign, start = Campaign(given), time.monotonic()
    for origin, model in sources(given):
        if time.monotonic() - start > given.seconds:
            break
        campaign.check(model, origin)
        for number, each in enumerate(variants(model, given.variants, given.seed, given.rules) if given.variants else ()):
            campaign.check(each, f"{origin}, variant {number + 1}")
    print(f"{dict(campaign.counts)}; {time.monotonic() - start:.0f} s")
    (given.out / "groups.json").write_text(json.dumps(campaign.groups, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
