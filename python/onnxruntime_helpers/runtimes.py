"""The runtimes in which models are timed and compared: onnxruntime, its providers for a GPU, and OpenVINO and PyTorch where they are installed.

A runtime is a function of a model's path and a number of threads. It returns an object with the methods of an onnxruntime session that
the helpers use: get_inputs(), get_outputs() and run(None, feeds)."""

import functools
import time

import onnxruntime

from models import CannotRun, one_line, session

TYPES = {"f32": "tensor(float)", "f64": "tensor(double)", "f16": "tensor(float16)", "i64": "tensor(int64)", "i32": "tensor(int32)",
         "u8": "tensor(uint8)", "i8": "tensor(int8)", "boolean": "tensor(bool)"}


class Info:
    """Name, type and shape of an input or output; dynamic dimensions are None."""

    def __init__(self, port):
        self.name = port.get_any_name()
        element_type = port.get_element_type().get_type_name()
        self.type = TYPES.get(element_type, element_type)
        shape = port.get_partial_shape()
        self.shape = [None if dim.is_dynamic else dim.get_length() for dim in shape] if shape.rank.is_static else []


class OpenvinoSession:
    """A model as OpenVINO compiles it for the CPU, in the types that the model states."""

    def __init__(self, path, threads):
        core = import_openvino().Core()
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        self.model = core.compile_model(core.read_model(path), "CPU", settings)
        self.request = self.model.create_infer_request()
        self.names = {name for port in self.model.inputs for name in port.get_names()}

    def get_inputs(self):
        return [Info(port) for port in self.model.inputs]

    def get_outputs(self):
        return [Info(port) for port in self.model.outputs]

    def run(self, _, feeds):
        results = self.request.infer({name: values for name, values in feeds.items() if name in self.names})
        return [results[port] for port in self.model.outputs]


def torch_session(path, threads, optimized=True, is_double=False):
    """A model, without open sizes, as PyTorch computes its nodes one by one."""
    try:
        from torch_nodes import TorchSession
    except ImportError as error:
        raise CannotRun(f"PyTorch cannot be imported: {one_line(error)}")
    return TorchSession(path, threads, is_double, not optimized)


def import_openvino():
    try:
        import openvino
    except ImportError as error:
        raise CannotRun(f"OpenVINO cannot be imported: {one_line(error)}")
    return openvino


# Nodes that a provider does not support run in the ones after it.
PROVIDERS = {"cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"],
             "tensorrt": ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]}


def provider_session(name, path, threads):
    """A session of onnxruntime on a GPU. Its run() copies inputs to the GPU and outputs back."""
    check_provider(name)
    model = session(path, threads, providers=PROVIDERS[name])
    if PROVIDERS[name][0] not in model.get_providers():  # onnxruntime only logs it, and goes on with the next one
        raise CannotRun(f"onnxruntime cannot use {PROVIDERS[name][0]} on this machine")
    return model


def check_provider(name):
    available = onnxruntime.get_available_providers()
    if PROVIDERS[name][0] not in available:
        raise CannotRun(f"onnxruntime {onnxruntime.__version__} has no {PROVIDERS[name][0]}, only {', '.join(available)}")


RUNTIMES = {"onnxruntime": session, "openvino": OpenvinoSession, "torch": torch_session,
            **{name: functools.partial(provider_session, name) for name in PROVIDERS}}


def runtime_of(query):
    return RUNTIMES[query.get("runtime", "onnxruntime")]


def clock_of(query):
    """With one thread its processor time, which other processes affect less; on a GPU the thread only waits."""
    is_on_gpu = query.get("runtime") in PROVIDERS
    return time.thread_time if query["threads"] == 1 and not is_on_gpu else time.perf_counter


def smallest_model():
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise CannotRun("its Python has no onnx, which --provider needs")
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "smallest", types[:1], types[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def why_unusable(query):
    """Returns an empty text if the runtime can be used."""
    try:
        if query["runtime"] == "openvino":
            import_openvino()
        elif query["runtime"] == "torch":
            torch_session(smallest_model(), 1)
        elif query["runtime"] in PROVIDERS:
            provider_session(query["runtime"], smallest_model(), 1)
        return ""
    except CannotRun as error:
        return str(error)


def add_name(answer, query):
    """Adds the name and version of another runtime than onnxruntime on the CPU, whose name a helper sends when it starts."""
    name = query.get("runtime")
    if name == "torch":
        answer["runtime"] = "PyTorch"
    if name == "openvino":
        try:
            answer["runtime"] = f"openvino {import_openvino().__version__.partition('-')[0]}"
        except CannotRun:
            answer["runtime"] = "openvino"
    elif name in PROVIDERS:
        answer["runtime"] = f"onnxruntime {onnxruntime.__version__} with {PROVIDERS[name][0]}"
    return answer
