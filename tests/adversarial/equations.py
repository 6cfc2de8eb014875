"""Equations between expressions of ONNX operators, as models. A row: dimensions of the variables | an expression | an equal one. Numbers and
lists are constants; f(x; a, b) has its attributes as keywords, and [1] after a node is its second output."""

import ast

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from operator_cases import make_model

ROWS = """
x:2,3 y:2,3 | Sub(x, y) | Add(x, Neg(y))
x:2,3 y:2,3 | Div(x, Exp(y)) | Mul(x, Reciprocal(Exp(y)))
x:2,3 y:3 | Add(x, y) | Add(y, x)
x:2,3 y:3 | Mul(x, y) | Mul(y, x)
x:2,3 y:2,3 z:2,3 | Sum(x, y, z) | Add(Add(x, y), z)
x:2,3 y:2,3 z:2,3 | Add(Add(x, y), z) | Add(x, Add(y, z))
x:2,3 y:2,3 z:2,3 | Mul(Mul(x, y), z) | Mul(x, Mul(y, z))
x:2,3 y:2,3 z:2,3 | Mul(x, Add(y, z)) | Add(Mul(x, y), Mul(x, z))
x:2,3 y:2,3 | Mean(x, y) | Div(Add(x, y), 2.0)
x:2,3 y:2,3 | Max(x, y) | Max(y, x)
x:2,3 y:2,3 z:2,3 | Max(x, y, z) | Max(Max(x, y), z)
x:2,3 y:2,3 | Min(x, y) | Neg(Max(Neg(x), Neg(y)))
x:2,3 | Relu(x) | Max(x, 0.0)
x:2,3 | Relu(x) | Clip(x, 0.0)
x:2,3 | LeakyRelu(x, alpha=0.1) | Max(x, Mul(x, 0.1))
x:2,3 | Clip(x, -1.0, 1.0) | Min(Max(x, -1.0), 1.0)
x:2,3 | Clip(x, 0.0, 6.0) | Min(Relu(x), 6.0)
x:2,3 | Mul(x, x) | Pow(x, 2.0)
x:2,3 | Mul(Mul(x, x), x) | Pow(x, 3.0)
x:2,3 | Neg(Neg(x)) | Identity(x)
x:2,3 | Mul(x, 1.0) | x
x:2,3 | Add(x, 0.0) | x
x:2,3 | Div(x, 4.0) | Mul(x, 0.25)
x:2,3 | Sub(x, 1.5) | Add(x, -1.5)
x:2,3 | Add(x, x) | Mul(x, 2.0)
x:2,3 | Neg(x) | Mul(x, -1.0)
x:2,3 | Neg(x) | Sub(0.0, x)
x:2,3 | Mul(Mul(x, 2.0), 3.0) | Mul(x, 6.0)
x:2,3 | Add(Add(x, 1.0), 2.0) | Add(x, 3.0)
x:2,3 | Sigmoid(x) | Reciprocal(Add(Exp(Neg(x)), 1.0))
x:2,3 | Softsign(x) | Div(x, Add(Abs(x), 1.0))
x:2,3 | HardSwish(x) | Mul(x, HardSigmoid(x, alpha=0.16666667, beta=0.5))
x:2,3 | Softplus(x) | Log(Add(Exp(x), 1.0))
x:2,3 | Mish(x) | Mul(x, Tanh(Softplus(x)))
x:2,3 | Abs(x) | Max(x, Neg(x))
x:2,3 | Gelu(x) | Mul(Mul(x, 0.5), Add(Erf(Div(x, 1.4142135)), 1.0))
x:2,3 | Swish(x) | Mul(x, Sigmoid(x))
x:2,3 | PRelu(x, [0.25]) | LeakyRelu(x, alpha=0.25)
x:2,3 | Softmax(x) | Div(Exp(x), ReduceSum(Exp(x), [-1]))
x:2,3 | LogSoftmax(x) | Log(Softmax(x))
x:2,3 | Softmax(x, axis=-1) | Softmax(x, axis=1)
x:2,3,4 | Softmax(x, axis=1) | Transpose(Softmax(Transpose(x, perm=[0, 2, 1]), axis=2), perm=[0, 2, 1])
x:2,3,4 | ReduceSum(x, [1, 2]) | ReduceSum(ReduceSum(x, [2]), [1])
x:2,3,4 | ReduceSum(x, [1], keepdims=0) | Squeeze(ReduceSum(x, [1]), [1])
x:2,3,4 | ReduceMean(x, [1]) | Div(ReduceSum(x, [1]), 3.0)
x:2,3,4 | ReduceMax(x, [1, 2], keepdims=0) | ReduceMax(ReduceMax(x, [2], keepdims=0), [1], keepdims=0)
x:2,3 | ReduceSumSquare(x, [1]) | ReduceSum(Mul(x, x), [1])
x:2,3 | ReduceL2(x, [1]) | Sqrt(ReduceSum(Mul(x, x), [1]))
x:2,3 | ReduceL1(x, [1]) | ReduceSum(Abs(x), [1])
x:2,3 | ReduceLogSumExp(x, [1]) | Log(ReduceSum(Exp(x), [1]))
x:2,3 | ReduceLogSum(Exp(x), [1]) | Log(ReduceSum(Exp(x), [1]))
x:2,3 | ReduceSum(Mul(x, 3.0), [1]) | Mul(ReduceSum(x, [1]), 3.0)
x:2,3 | ReduceSum(x) | ReduceSum(x, [0, 1])
x:1,2,4,4 | GlobalAveragePool(x) | ReduceMean(x, [2, 3])
x:1,2,4,4 | GlobalMaxPool(x) | ReduceMax(x, [2, 3])
x:1,2,4,4 | AveragePool(x, kernel_shape=[4, 4]) | GlobalAveragePool(x)
x:1,2,4,4 | MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]) | MaxPool(x, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])
x:1,2,4,4 | MaxPool(x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]) | MaxPool(x, kernel_shape=[3, 3], auto_pad='SAME_UPPER')
x:1,2,4,4 | MaxPool(x, kernel_shape=[2, 2]) | MaxPool(x, kernel_shape=[2, 2], auto_pad='VALID')
x:1,2,4,4 | AveragePool(Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), kernel_shape=[3, 3]) | AveragePool(x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
x:1,2,4,4 w:3,2,3,3 | Conv(x, w, pads=[1, 1, 1, 1]) | Conv(Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), w)
x:1,2,4,4 w:3,2,3,3 | Conv(x, w, pads=[1, 1, 1, 1]) | Conv(x, w, auto_pad='SAME_LOWER')
x:1,2,4,4 w:3,2,3,3 b:3 | Conv(x, w, b) | Add(Conv(x, w), Reshape(b, [1, 3, 1, 1]))
x:1,2,4,4 w:3,2,3,3 | Conv(x, w) | Conv(x, w, kernel_shape=[3, 3], strides=[1, 1], dilations=[1, 1], group=1)
x:1,2,4,4 w:3,2,3,3 | Conv(Mul(x, 2.0), w) | Mul(Conv(x, w), 2.0)
x:1,2,4,4 w:3,2,3,3 | Neg(Conv(x, w)) | Conv(x, Neg(w))
x:1,2,4,4 w:3,2,3,3 v:3,2,3,3 | Add(Conv(x, w), Conv(x, v)) | Conv(x, Add(w, v))
x:1,2,4,4 s:2 b:2 m:2 | BatchNormalization(x, s, b, m, [1.0, 2.0], epsilon=0.5) | Add(Mul(Sub(x, Reshape(m, [1, 2, 1, 1])), Reshape(Div(s, Sqrt([1.5, 2.5])), [1, 2, 1, 1])), Reshape(b, [1, 2, 1, 1]))
x:2,3 w:3,4 | MatMul(x, w) | Gemm(x, w)
x:2,3 w:3,4 b:4 | Gemm(x, w, b) | Add(MatMul(x, w), b)
x:2,3 w:3,4 b:4 | Gemm(x, w, b, alpha=0.5, beta=2.0) | Add(Mul(MatMul(x, w), 0.5), Mul(b, 2.0))
x:3,2 w:4,3 | Gemm(x, w, transA=1, transB=1) | MatMul(Transpose(x), Transpose(w))
x:2,3 w:3,4 | MatMul(x, w) | Transpose(MatMul(Transpose(w), Transpose(x)))
x:2,3 w:3,4 | MatMul(x, w) | Einsum(x, w, equation='ij,jk->ik')
x:2,3 w:3,4 v:4,2 | MatMul(MatMul(x, w), v) | MatMul(x, MatMul(w, v))
x:2,3 w:3,4 v:3,4 | Add(MatMul(x, w), MatMul(x, v)) | MatMul(x, Add(w, v))
x:2,3 w:3,4 v:3,2 | Concat(MatMul(x, w), MatMul(x, v), axis=1) | MatMul(x, Concat(w, v, axis=1))
x:2,2,3 w:3,4 | MatMul(x, w) | Reshape(MatMul(Reshape(x, [4, 3]), w), [2, 2, 4])
x:2,3 w:3,4 | MatMul(Mul(x, 0.5), w) | Mul(MatMul(x, w), 0.5)
x:2,3 | Transpose(Transpose(x)) | x
x:2,3,4 | Transpose(Transpose(x, perm=[0, 2, 1]), perm=[2, 0, 1]) | Transpose(x, perm=[1, 0, 2])
x:2,3,4 | Transpose(x, perm=[2, 1, 0]) | Transpose(x)
x:2,3 y:2,3 | Transpose(Add(x, y)) | Add(Transpose(x), Transpose(y))
x:2,3 | Transpose(Relu(x)) | Relu(Transpose(x))
x:2,6 | Reshape(Reshape(x, [3, 4]), [4, 3]) | Reshape(x, [4, 3])
x:2,6 | Reshape(x, [2, 2, 3]) | Reshape(x, [0, 2, -1])
x:2,6 | Reshape(x, [12]) | Reshape(x, [-1])
x:2,3,4 | Flatten(x) | Reshape(x, [2, 12])
x:2,3,4 | Flatten(x, axis=2) | Reshape(x, [6, 4])
x:2,3,4 | Flatten(x, axis=-1) | Flatten(x, axis=2)
x:2,3 | Squeeze(Unsqueeze(x, [1]), [1]) | x
x:2,3 | Unsqueeze(x, [0, 2]) | Unsqueeze(Unsqueeze(x, [0]), [2])
x:2,3 | Unsqueeze(x, [-1]) | Reshape(x, [2, 3, 1])
x:1,3,1 | Squeeze(x) | Squeeze(x, [0, 2])
x:1,3,1 | Squeeze(x, [-1]) | Reshape(x, [1, 3])
x:2,3 y:2,4 | Split(Concat(x, y, axis=1), [3, 4], axis=1) | x
x:2,3 y:2,4 | Split(Concat(x, y, axis=1), [3, 4], axis=1)[1] | y
x:2,6 | Concat(Split(x, [2, 4], axis=1), Split(x, [2, 4], axis=1)[1], axis=1) | x
x:2,6 | Split(x, [2, 4], axis=1)[1] | Slice(x, [2], [6], [1])
x:2,6 | Split(x, [2, 4], axis=-1) | Split(x, [2, 4], axis=1)
x:2,6 | Slice(x, [1], [4], [1]) | Slice(Slice(x, [1], [6], [1]), [0], [3], [1])
x:2,6 | Slice(x, [-5], [-2], [-1]) | Slice(x, [1], [4], [1])
x:2,6 | Slice(x, [1], [4], [1]) | Slice(x, [1], [4], [1], [1])
x:2,6 | Slice(x, [0], [6], [1]) | x
x:2,6 | Slice(x, [1], [3], [1]) | Gather(x, [1, 2], axis=1)
x:2,6 | Gather(x, 1, axis=1) | Squeeze(Gather(x, [1], axis=1), [1])
x:2,6 | Gather(x, [-1, 0], axis=-1) | Gather(x, [5, 0], axis=1)
x:2,1 | Expand(x, [2, 3]) | Tile(x, [1, 3])
x:2,1 | Expand(x, [2, 3]) | Concat(x, x, x, axis=1)
x:2,1 | Expand(x, [2, 3]) | Mul(x, [1.0, 1.0, 1.0])
x:2,3 | Tile(x, [2, 1]) | Concat(x, x, axis=0)
x:2,3 y:3 | Add(x, y) | Add(x, Expand(y, [2, 3]))
x:2,3 y:2,2 z:2,1 | Concat(x, y, z, axis=1) | Concat(Concat(x, y, axis=1), z, axis=1)
x:2,3 y:2,3 | Relu(Concat(x, y, axis=0)) | Concat(Relu(x), Relu(y), axis=0)
x:2,3 y:2,3 | Concat(x, y, axis=-1) | Concat(x, y, axis=1)
x:2,3 | Pad(x, [0, 1, 0, 0]) | Concat([[0.0], [0.0]], x, axis=1)
x:2,3 | Pad(Pad(x, [0, 1, 0, 0]), [0, 0, 0, 2]) | Pad(x, [0, 1, 0, 2])
x:2,3 | Pad(x, [0, 0, 0, 0]) | x
x:1,4,2,2 | DepthToSpace(x, blocksize=2) | Reshape(Transpose(Reshape(x, [1, 2, 2, 1, 2, 2]), perm=[0, 3, 4, 1, 5, 2]), [1, 1, 4, 4])
x:1,1,4,4 | SpaceToDepth(x, blocksize=2) | Reshape(Transpose(Reshape(x, [1, 1, 2, 2, 2, 2]), perm=[0, 3, 5, 1, 2, 4]), [1, 4, 2, 2])
x:2,3 y:2,3 | Where(Less(x, y), x, y) | Min(x, y)
x:2,3 y:2,3 | Where(Not(Less(x, y)), x, y) | Where(Less(x, y), y, x)
x:2,3 y:2,3 | Greater(x, y) | Less(y, x)
x:2,3 y:2,3 | LessOrEqual(x, y) | GreaterOrEqual(y, x)
x:2,3 y:2,3 | Not(Greater(x, y)) | LessOrEqual(x, y)
x:2,3 y:2,3 | And(Less(x, y), Greater(x, 0.0)) | And(Greater(x, 0.0), Less(x, y))
x:2,3 y:2,3 | Not(And(Less(x, y), Greater(x, 0.0))) | Or(Not(Less(x, y)), Not(Greater(x, 0.0)))
x:2,3 | Cast(Cast(x, to=1), to=1) | x
x:2,3 | Dropout(x) | x
x:2,3 s:3 b:3 | LayerNormalization(x, s, b) | Add(LayerNormalization(x, s), b)
x:2,3 s:3 | LayerNormalization(x, s, epsilon=0.5) | Mul(Div(Sub(x, ReduceMean(x, [1])), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x, [1])), 2.0), [1]), 0.5))), s)
x:2,3 s:3 | RMSNormalization(x, s, epsilon=0.5) | Mul(Div(x, Sqrt(Add(ReduceMean(Mul(x, x), [1]), 0.5))), s)
x:2,3 s:3 | LayerNormalization(x, s, axis=-1) | LayerNormalization(x, s, axis=1)
x:2,3,4 s:3 b:3 | InstanceNormalization(x, s, b, epsilon=0.5) | Add(Mul(Div(Sub(x, ReduceMean(x, [2])), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x, [2])), 2.0), [2]), 0.5))), Reshape(s, [3, 1])), Reshape(b, [3, 1]))
x:2,3 | LpNormalization(x, axis=1) | Div(x, ReduceL2(x, [1]))
x:2,3 | CumSum(x, 1) | MatMul(x, [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
x:2,3 | CumSum(x, -1) | CumSum(x, 1)
x:2,3 | Sqrt(Mul(x, x)) | Abs(x)
x:2,3 | Exp(Add(x, 1.0)) | Mul(Exp(x), 2.7182817)
x:2,3 | Tanh(Neg(x)) | Neg(Tanh(x))
x:2,3 | Sub(1.0, Sigmoid(x)) | Sigmoid(Neg(x))
x:2,3 y:2,3 | microsoft.FusedMatMul(x, y, transB=1, alpha=0.5) | Mul(MatMul(x, Transpose(y)), 0.5)
x:2,3 y:3 | microsoft.BiasGelu(x, y) | Gelu(Add(x, y))
x:2,3 | microsoft.QuickGelu(x) | Mul(x, Sigmoid(Mul(x, 1.702)))
x:2,3 | microsoft.FastGelu(x) | Gelu(x, approximate='tanh')
x:1,2,3 y:1,2,3 s:3 b:3 | microsoft.SkipLayerNormalization(x, y, s, b, epsilon=0.5) | LayerNormalization(Add(x, y), s, b, epsilon=0.5)
x:1,2,3 y:1,2,3 s:3 | microsoft.SkipSimplifiedLayerNormalization(x, y, s, epsilon=0.5) | RMSNormalization(Add(x, y), s, epsilon=0.5)
x:2,3 y:3,4 b:4 | microsoft.FusedGemm(x, y, b, activation='Relu') | Relu(Gemm(x, y, b))
x:1,2,4,4 w:3,2,3,3 b:3 | microsoft.FusedConv(x, w, b, activation='Relu') | Relu(Conv(x, w, b))
"""


class Expression:
    """Nodes of an expression in Python's syntax."""

    def __init__(self, text, variables):
        self.nodes, self.weights, self.known, self.variables = [], [], {}, variables
        self.result = self.value(ast.parse(text, mode="eval").body)

    def value(self, tree, integer=False):
        key = ast.dump(tree) + str(integer)
        if key not in self.known:
            self.known[key] = self.made(tree, integer)
        return self.known[key]

    def made(self, tree, integer):
        if isinstance(tree, ast.Name):
            return tree.id
        if isinstance(tree, ast.Subscript):
            return self.value(tree.value) + f"_{ast.literal_eval(tree.slice)}"
        if not isinstance(tree, ast.Call):
            array = np.array(ast.literal_eval(tree))
            self.weights.append(numpy_helper.from_array(array.astype(np.float32 if array.dtype.kind == "f" else np.int64), f"c{len(self.weights)}"))
            return self.weights[-1].name
        domain = "com.microsoft" if isinstance(tree.func, ast.Attribute) else ""
        op_type = tree.func.attr if domain else tree.func.id
        inputs, name = [self.value(each) for each in tree.args], f"v{len(self.nodes)}"
        attributes = {each.arg: ast.literal_eval(each.value) for each in tree.keywords}
        results = [name, f"{name}_1"] if op_type == "Split" else [name]
        self.nodes.append(helper.make_node(op_type, inputs, results, domain=domain, **attributes))
        return name

    def model(self, opset):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in self.variables.items()]
        nodes = [*self.nodes, helper.make_node("Identity", [self.result], ["result"])]
        return make_model(nodes, inputs, ["result"], self.weights, opset)


def equations():
    """Yields the text of each row, its variables, and both expressions as texts."""
    for row in ROWS.strip().splitlines():
        variables, before, after = map(str.strip, row.split("|"))
        dims = {name: [int(each) for each in text.split(",")] for name, text in (each.split(":") for each in variables.split())}
        yield row, dims, before, after


def models_of(variables, before, after, opset):
    return [Expression(text, variables).model(opset) for text in (before, after)]
