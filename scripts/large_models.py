"""Models of realistic size with random weights, for measuring time and coverage of the optimizer.

They follow the published networks layer by layer, in the form that exporters write. Written by `export_models.py --large`.
"""

import numpy as np


def convolution(builder, x, name, inputs, filters, kernel, stride=1, relu=True, bias=True):
    """kernel: a number or (rows, cols); padding keeps the size at stride 1."""
    rows, cols = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weight = builder.weight(f"{name}.weight", (filters, inputs, rows, cols), np.sqrt(2 / (inputs * rows * cols)))
    arguments = [x, weight] + ([builder.weight(f"{name}.bias", (filters,), 0.1)] if bias else [])
    pads = [rows // 2, cols // 2, rows // 2, cols // 2]
    y = builder.node("Conv", arguments, name, kernel_shape=[rows, cols], pads=pads, strides=[stride, stride],
                     dilations=[1, 1], group=1)
    return builder.node("Relu", [y], f"{name}.relu") if relu else y


def normalized(builder, x, name, inputs, filters, kernel, stride=1, relu=True):
    """Convolution without a bias, batch normalization, relu."""
    y = convolution(builder, x, name, inputs, filters, kernel, stride, relu=False, bias=False)
    scale, shift, mean = (builder.weight(f"{name}.{part}", (filters,), 0.2) for part in ("gamma", "beta", "mean"))
    spread = builder.weight(f"{name}.var", (filters,), 0.1, offset=1.0, positive=True)
    y = builder.node("BatchNormalization", [y, scale, shift, mean, spread], f"{name}.bn", epsilon=1e-5, momentum=0.9)
    return builder.node("Relu", [y], f"{name}.relu") if relu else y


def pool(builder, x, name, kind="MaxPool", kernel=3, stride=2, pad=0, **attributes):
    return builder.node(kind, [x], name, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, **attributes)


def classifier(builder, x, channels, classes=1000):
    y = builder.node("Flatten", [builder.node("GlobalAveragePool", [x], "pooled")], "flat", axis=1)
    weight, bias = builder.weight("fc.weight", (classes, channels), 0.02), builder.weight("fc.bias", (classes,), 0.02)
    builder.node("Gemm", [y, weight, bias], "scores", alpha=1.0, beta=1.0, transB=1)


def squeezenet(builder):
    """SqueezeNet 1.1: fire modules, whose expand layers concatenate 1x1 and 3x3 convolutions."""
    x = pool(builder, convolution(builder, "image", "stem", 3, 64, 3, stride=2), "pool1")
    channels = 64
    for number, (squeeze, expand) in enumerate([(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]):
        if number in (2, 4):
            x = pool(builder, x, f"pool{number}")
        name = f"fire{number}"
        x = convolution(builder, x, f"{name}.squeeze", channels, squeeze, 1)
        small = convolution(builder, x, f"{name}.expand1x1", squeeze, expand, 1)
        large = convolution(builder, x, f"{name}.expand3x3", squeeze, expand, 3)
        x = builder.node("Concat", [small, large], f"{name}.concat", axis=1)
        channels = 2 * expand
    convolution(builder, x, "head", channels, 1000, 1)
    builder.node("GlobalAveragePool", ["head.relu"], "scores")
    return {"image": [1, 3, 224, 224]}, {"scores": [1, 1000, 1, 1]}


def inception(builder):
    """Four modules of Inception-v3's first kind, with their stem."""
    x = normalized(builder, "image", "stem1", 3, 32, 3, stride=2)
    x = pool(builder, normalized(builder, x, "stem2", 32, 64, 3), "pool1")
    x = pool(builder, normalized(builder, normalized(builder, x, "stem3", 64, 80, 1), "stem4", 80, 192, 3), "pool2")
    channels = 192
    for number in range(4):
        name = f"mixed{number}"
        one = normalized(builder, x, f"{name}.one", channels, 64, 1)
        five = normalized(builder, normalized(builder, x, f"{name}.five1", channels, 48, 1), f"{name}.five2", 48, 64, 5)
        three = normalized(builder, x, f"{name}.three1", channels, 64, 1)
        three = normalized(builder, normalized(builder, three, f"{name}.three2", 64, 96, 3), f"{name}.three3", 96, 96, 3)
        pooled = pool(builder, x, f"{name}.pool", "AveragePool", 3, 1, 1, count_include_pad=1)
        pooled = normalized(builder, pooled, f"{name}.pooled", channels, 64, 1)
        x = builder.node("Concat", [one, five, three, pooled], f"{name}.concat", axis=1)
        channels = 288
    classifier(builder, x, channels)
    return {"image": [1, 3, 149, 149]}, {"scores": [1, 1000]}


def resnet50(builder):
    x = pool(builder, normalized(builder, "image", "stem", 3, 64, 7, stride=2), "pool", pad=1)
    channels = 64
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            stride = 2 if block == 0 and stage > 0 else 1
            y = normalized(builder, x, f"{name}.conv1", channels, width, 1)
            y = normalized(builder, y, f"{name}.conv2", width, width, 3, stride)
            y = normalized(builder, y, f"{name}.conv3", width, 4 * width, 1, relu=False)
            if block == 0:
                x = normalized(builder, x, f"{name}.down", channels, 4 * width, 1, stride, relu=False)
            channels = 4 * width
            x = builder.node("Relu", [builder.node("Add", [y, x], f"{name}.add")], f"{name}.relu")
    classifier(builder, x, channels)
    return {"image": [1, 3, 224, 224]}, {"scores": [1, 1000]}


def projection(builder, x, name, inner, outer):
    y = builder.node("MatMul", [x, builder.weight(f"{name}.weight", (inner, outer), 1 / np.sqrt(inner))], f"{name}.product")
    return builder.node("Add", [y, builder.weight(f"{name}.bias", (outer,), 0.1)], name)


def layer_norm(builder, x, name, width):
    """Layer norm as exporters write it before opset 17."""
    mean = builder.node("ReduceMean", [x], f"{name}.mean", axes=[-1])
    centred = builder.node("Sub", [x, mean], f"{name}.centred")
    square = builder.node("Pow", [centred, builder.scalar("two", 2.0)], f"{name}.square")
    spread = builder.node("Add", [builder.node("ReduceMean", [square], f"{name}.spread", axes=[-1]), builder.scalar("tiny", 1e-12)], f"{name}.shifted")
    y = builder.node("Div", [centred, builder.node("Sqrt", [spread], f"{name}.root")], f"{name}.unit")
    y = builder.node("Mul", [y, builder.weight(f"{name}.gamma", (width,), 0.1, offset=1.0)], f"{name}.scaled")
    return builder.node("Add", [y, builder.weight(f"{name}.beta", (width,), 0.1)], name)


def bert(builder, layers=2, width=768, heads=12, rows=128):
    """Encoder layers of BERT base on embedded tokens, for any batch size."""
    x = "tokens"
    for layer in range(layers):
        name = f"layer{layer}"
        split = {}
        for part, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            y = projection(builder, x, f"{name}.{part}", width, width)
            y = builder.node("Reshape", [y, builder.integers("heads", [0, 0, heads, width // heads])], f"{name}.{part}.heads")
            split[part] = builder.node("Transpose", [y], f"{name}.{part}.transposed", perm=perm)
        scores = builder.node("MatMul", [split["query"], split["key"]], f"{name}.scores")
        scores = builder.node("Div", [scores, builder.scalar("root", float(np.sqrt(width // heads)))], f"{name}.scaled")
        weights = builder.node("Softmax", [scores], f"{name}.weights", axis=-1)
        mixed = builder.node("MatMul", [weights, split["value"]], f"{name}.mixed")
        mixed = builder.node("Transpose", [mixed], f"{name}.mixed.transposed", perm=[0, 2, 1, 3])
        mixed = builder.node("Reshape", [mixed, builder.integers("joined", [0, 0, width])], f"{name}.joined")
        mixed = projection(builder, mixed, f"{name}.output", width, width)
        x = layer_norm(builder, builder.node("Add", [mixed, x], f"{name}.residual1"), f"{name}.norm1", width)
        hidden = projection(builder, x, f"{name}.hidden", width, 4 * width)
        error = builder.node("Erf", [builder.node("Div", [hidden, builder.scalar("sqrt2", float(np.sqrt(2)))], f"{name}.ratio")], f"{name}.erf")
        gate = builder.node("Add", [error, builder.scalar("one", 1.0)], f"{name}.gate")
        gelu = builder.node("Mul", [builder.node("Mul", [hidden, gate], f"{name}.gated"), builder.scalar("half", 0.5)], f"{name}.gelu")
        folded = projection(builder, gelu, f"{name}.folded", 4 * width, width)
        last = layer == layers - 1
        x = layer_norm(builder, builder.node("Add", [folded, x], f"{name}.residual2"), "states" if last else f"{name}.norm2", width)
    return {"tokens": ["batch", rows, width]}, {"states": ["batch", rows, width]}


def nasrnn(builder, steps=5, width=512):
    """The recurrent cell found by architecture search (Zoph and Le), unrolled."""
    state, memory = "state", None
    names = {}
    for part in range(8):
        for side in ("x", "h"):
            names[part, side] = builder.weight(f"{side}{part}", (width, width), 1 / np.sqrt(width))
    for step in range(steps):
        pre = lambda n: f"step{step}.{n}"
        gates = []
        for part in range(8):
            x = builder.node("MatMul", [f"input{step}", names[part, "x"]], pre(f"x{part}"))
            h = builder.node("MatMul", [state, names[part, "h"]], pre(f"h{part}"))
            kind = "Mul" if part == 3 else "Add"
            joined = builder.node(kind, [x, h], pre(f"joined{part}"))
            function = ["Sigmoid", "Relu", "Sigmoid", "Relu", "Tanh", "Sigmoid", "Tanh", "Sigmoid"][part]
            gates.append(builder.node(function, [joined], pre(f"gate{part}")))
        pairs = [builder.node("Tanh", [builder.node("Mul", gates[2 * i : 2 * i + 2], pre(f"pair{i}"))], pre(f"tanh{i}")) for i in range(4)]
        memory = builder.node("Add", [pairs[0], pairs[1]] if memory is None else [pairs[0], memory], pre("memory"))
        other = builder.node("Mul", [pairs[2], pairs[3]], pre("other"))
        last = step == steps - 1
        state = builder.node("Tanh", [builder.node("Mul", [memory, other], pre("product"))], "result" if last else pre("state"))
    inputs = {f"input{step}": [1, width] for step in range(steps)}
    return {**inputs, "state": [1, width]}, {"result": [1, width]}


LARGE = {"squeezenet": squeezenet, "inception": inception, "resnet50": resnet50, "bert": bert, "nasrnn": nasrnn}
