#!/usr/bin/env python3
"""Optimized before or after quantization: `quantized.py MODEL.onnx … [--seconds S] [--calibrations N] [-- OPTION…]`.

Quantizes each model and its optimized form to 8 bits by onnxruntime.quantization (QDQ, per channel, calibrated on random inputs),
optimizes the quantized model, and prints a Markdown table. Times are processor time of one thread in onnxruntime, in turns; factors are
times as fast as the float model, medians. Errors are the root of the mean squared difference from the float model's outputs, divided by
that of the outputs, on inputs that were not used for calibration. RULEMILL names the binary; `-- OPTION…` are options of `optimize`.
"""

import argparse
import pathlib
import sys
import tempfile

import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import measure
import turns

FORMS = ("optimized", "quantized", "optimized, then quantized", "quantized, then optimized")
TESTS = 8  # inputs on which errors are measured
HEAD = f"| model | float, ms | {' | '.join(f'{form}: factor, error' for form in FORMS)} | nodes |\n|{'---|' * (3 + len(FORMS))}"


class Random(CalibrationDataReader):
    def __init__(self, model, count):
        runner = turns.session(model)
        self.inputs = iter([turns.feeds(runner, 1000 + seed, {}) for seed in range(count)])

    def get_next(self):
        return next(self.inputs, None)


def quantize(model, out, count):
    prepared = out.with_suffix(".prepared.onnx")  # with onnxruntime's own basic optimizations, as its documentation recommends
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(out), Random(model, count), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return out


def optimize(model, out, options):
    measure.optimize(model, out, options)
    return out


def error(reference, other):
    difference = sum(float(((a - b) ** 2).sum()) for each, its in zip(reference, other) for a, b in zip(each, its))
    return (difference / sum(float((a**2).sum()) for each in reference for a in each)) ** 0.5


def compared(model, folder, given):
    """Returns times and errors by form; the first form is the model itself."""
    optimized = optimize(model, folder / "optimized.onnx", given.options)
    quantized = quantize(model, folder / "quantized.onnx", given.calibrations)
    forms = dict(zip(("model", *FORMS), (model, optimized, quantized, quantize(optimized, folder / "both.onnx", given.calibrations),
                                         optimize(quantized, folder / "again.onnx", given.options))))
    runners = {form: turns.session(path) for form, path in forms.items()}
    found = turns.compared(turns.in_turns(runners, turns.feeds(runners["model"], 0, {}), given.seconds))
    inputs = [turns.feeds(runners["model"], seed, {}) for seed in range(TESTS)]
    outputs = {form: [runner.run(None, fed) for fed in inputs] for form, runner in runners.items()}
    for form, path in forms.items():
        found[form]["error"] = error(outputs["model"], outputs[form])
        found[form]["nodes"] = len(onnx.load(path, load_external_data=False).graph.node)
    return found


def line(name, found):
    cells = [f"{found[form]['ratio']:.2f}, {found[form]['error']:.1e}" for form in FORMS]
    nodes = " → ".join(str(found[form]["nodes"]) for form in ("quantized", "optimized, then quantized", "quantized, then optimized"))
    return f"| {name} | {found['model']['milliseconds']:.1f} | {' | '.join(cells)} | {nodes} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=8, help="duration of running the forms of one model in turns")
    parser.add_argument("--calibrations", type=int, default=16, help="inputs from which the ranges of values are taken")
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:cut])
    given.options = arguments[cut + 1:]
    for path in [measure.BINARY, *given.models]:
        if not pathlib.Path(path).is_file():
            sys.exit(f"{path}: no such file; the program is that of scripts/build.sh, or RULEMILL names it")
    print(HEAD, flush=True)
    for model in given.models:
        with tempfile.TemporaryDirectory() as folder:
            print(line(model.stem, compared(model, pathlib.Path(folder), given)), flush=True)


if __name__ == "__main__":
    main()
