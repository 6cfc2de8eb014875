#!/usr/bin/env python3
"""Other optimizers of ONNX models: `peers.py OPTIMIZER MODEL OUT [TYPE [HEADS WIDTH]]` runs one of them with its default settings.

TYPE, HEADS and WIDTH are for onnxruntime.transformers, which cannot infer them. measure.py runs each optimizer in a process
of its own, because some of them end with a signal on some models.
"""

import subprocess
import sys
import time

import onnx


def slim(model, out, *_):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(model)), out)


def sim(model, out, *_):
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(model))[0], out)


def script(model, out, *_):
    import onnxscript.optimizer

    onnx.save(onnxscript.optimizer.optimize(onnx.load(model)), out)


def passes(model, out, *_):
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(model)), out)


def transformers(model, out, kind="bert", heads="0", width="0"):
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(model, kind, int(heads), int(width)).save_model_to_file(out)


OPTIMIZERS = {"onnxslim": slim, "onnxsim": sim, "onnxscript": script, "onnxoptimizer": passes, "transformers": transformers}


def run(name, model, out, settings=(), limit=300):
    """Runs an optimizer in a process; returns the elapsed seconds. Fails with its last line of errors."""
    start = time.perf_counter()
    try:
        process = subprocess.run([sys.executable, __file__, name, str(model), str(out), *settings], timeout=limit,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took more than {limit} s") from None
    if process.returncode != 0:  # a process ended by a signal prints nothing
        lines = process.stderr.strip().splitlines()
        raise RuntimeError(lines[-1][:200] if lines else f"ended with {process.returncode}")
    return time.perf_counter() - start


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in OPTIMIZERS:
        sys.exit(f"usage: peers.py {'|'.join(OPTIMIZERS)} MODEL OUT [TYPE [HEADS WIDTH]]")
    OPTIMIZERS[sys.argv[1]](*sys.argv[2:])
