"""Models whose nodes PyTorch computes one by one, for the runtime `torch` of runtimes.py."""

import pathlib
import sys

import onnx
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rulemill import torch_calls, torch_operators

TYPES = {onnx.TensorProto.FLOAT: "tensor(float)", onnx.TensorProto.DOUBLE: "tensor(double)", onnx.TensorProto.FLOAT16: "tensor(float16)",
         onnx.TensorProto.INT64: "tensor(int64)", onnx.TensorProto.INT32: "tensor(int32)", onnx.TensorProto.BOOL: "tensor(bool)"}


class Info:
    """Name, type and shape of an input or output."""

    def __init__(self, value):
        kind = value.type.tensor_type
        self.name, self.type = value.name, TYPES.get(kind.elem_type, str(kind.elem_type))
        self.shape = [dim.dim_value or None for dim in kind.shape.dim]


class TorchSession:
    """`is_double`: whether numbers in floating point become those of 64 bits. `is_rounded`: whether inputs are rounded another way, which
    shows how far results are rounding alone, such as the gradient of a summand in front of a normalization."""

    def __init__(self, path, threads, is_double, is_rounded):
        model = onnx.load_model_from_string(path) if isinstance(path, bytes) else onnx.load(path)
        torch.set_num_threads(threads)
        self.graph, self.is_double, self.is_rounded = model.graph, is_double, is_rounded
        self.constants = {each.name: onnx.numpy_helper.to_array(each) for each in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = torch_calls.constant(node)
        unknown = {name for name in map(self._operator, self.graph.node) if name not in torch_operators.OPERATORS}
        if unknown := sorted(unknown - {"Cast", "Constant", "Identity"}):
            raise ValueError(f"no call of PyTorch is known for {', '.join(unknown)}")

    @staticmethod
    def _operator(node):
        return f"{node.domain}.{node.op_type}" if node.domain else node.op_type

    def get_inputs(self):
        return [Info(each) for each in self.graph.input]

    def get_outputs(self):
        return [Info(each) for each in self.graph.output]

    def _tensor(self, array):
        tensor = torch.from_numpy(array.copy())
        return tensor.double() if self.is_double and tensor.is_floating_point() else tensor

    def run(self, _, feeds):
        values = {name: self._tensor(array) for name, array in {**self.constants, **feeds}.items()}
        generator = torch.Generator().manual_seed(0)
        for name in feeds if self.is_rounded else ():
            if values[name].is_floating_point():
                values[name] *= 1 + 8 * torch.finfo(values[name].dtype).eps * torch.randn(values[name].shape, generator=generator).to(values[name].dtype)
        for node in self.graph.node:
            given = [values[name] if name else None for name in node.input]
            if node.op_type == "Constant":
                continue
            if node.op_type == "Identity":
                found = given
            elif node.op_type == "Cast":
                dtype = onnx.helper.tensor_dtype_to_np_dtype(node.attribute[0].i)
                found = [self._tensor(given[0].numpy().astype(dtype))]
            else:
                found = torch_operators.call(torch_calls.described(node, self.constants), given)
            values.update({name: tensor for name, tensor in zip(node.output, found) if name})
        return [values[each.name].contiguous().numpy() for each in self.graph.output]
