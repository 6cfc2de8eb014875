"""Blocks of random models with images: batch, channels and two more dimensions."""

import numpy as np
from onnx import numpy_helper


def pick_image(b):
    """Returns a value with batch, a known number of channels, and two more dimensions; None if there is none."""
    x = b.pick(rank=4)
    return x if x is not None and isinstance(x.dims[1], int) and 0 not in x.dims[1:] else None


def window(d, kernel, pad, stride):
    """The size behind a window of a dimension."""
    change = 2 * pad - kernel
    if isinstance(d, int):
        return (d + change) // stride + 1
    return d if (change, stride) == (-1, 1) else f"({d}{change:+d})//{stride}+1"


def has_room(x, kernel, pad):
    return all(not isinstance(d, int) or d == 0 or d + 2 * pad >= kernel for d in x.dims[2:])


def conv(b, x, channels, kernel, pad, stride=1, group=1, bias=None):
    weight = b.weight([channels, x.dims[1] // group, kernel, kernel])
    arguments = [x, weight] + ([b.weight([channels])] if (b.rng.random() < 0.5 if bias is None else bias) else [])
    dims = [x.dims[0], channels, *(window(d, kernel, pad, stride) for d in x.dims[2:])]
    return b.node("Conv", arguments, dims, kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2, group=group)


def batch_norm(b, x):
    c = x.dims[1]
    parts = [b.weight([c]), b.weight([c]), b.weight([c]), b.weight([c], positive=True)]
    return b.node("BatchNormalization", [x, *parts], x.dims, epsilon=b.rng.choice([1e-5, 1e-3, 0.0]))


def image_conv(b):
    x = pick_image(b)
    if x is None:
        return False
    kernel = b.rng.choice([1, 1, 3, 3, 2, 5])
    pad = b.rng.choice([0, kernel // 2])
    if not has_room(x, kernel, pad):
        pad = kernel // 2 + 1
    channels = x.dims[1]
    group = b.rng.choice([1, 1, channels])
    y = conv(b, x, channels if group > 1 else b.size(), kernel, pad, b.rng.choice([1, 1, 2]), group)
    b.pool.append(batch_norm(b, y) if b.rng.random() < 0.4 else y)
    return True


def image_branches(b):
    """Parallel convolutions, norms and the identity, summed or joined."""
    x = pick_image(b)
    if x is None:
        return False
    channels, stride = b.rng.choice([x.dims[1], b.size()]), b.rng.choice([1, 1, 2])
    is_depthwise = b.rng.random() < 0.25
    if is_depthwise:
        channels = x.dims[1]
    branches = []
    for _ in range(b.rng.randrange(2, 4)):
        kernel = b.rng.choice([1, 3, 5])
        y = x
        if stride != 1 or channels != x.dims[1] or b.rng.random() < 0.75:
            y = conv(b, x, channels, kernel, kernel // 2, stride, channels if is_depthwise else 1)
        if b.rng.random() < 0.5:
            y = batch_norm(b, y)
        branches.append(y)
    dims = list(branches[0].dims)
    if b.rng.random() < 0.25:
        dims[1] *= len(branches)
        b.pool.append(b.node("Concat", branches, dims, axis=1))
    else:
        total = branches[0]
        for each in branches[1:]:
            total = b.node("Add", b.rng.sample([total, each], 2), dims)
        b.pool.append(total)
    return True


def image_norm(b):
    x = pick_image(b)
    if x is None:
        return False
    c = x.dims[1]
    choice = b.rng.randrange(4)
    if choice == 0:
        y = batch_norm(b, x)
    elif choice == 1:
        y = b.node(b.rng.choice(["Mul", "Add", "Sub", "Div"]), [x, b.weight([c, 1, 1], positive=True)], x.dims)
    elif choice == 2:
        y = b.node("InstanceNormalization", [x, b.weight([c]), b.weight([c])], x.dims, epsilon=1e-3)
    else:
        y = b.node("PRelu", [x, b.weight([c, 1, 1])], x.dims)
    b.pool.append(y)
    return True


def image_pool(b):
    x = pick_image(b)
    if x is None:
        return False
    choice, n, c = b.rng.randrange(6), *x.dims[:2]
    if choice == 0:
        y = b.node(b.rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], [n, c, 1, 1])
    elif choice == 1:
        y = b.reduce("ReduceMean", x, [2, 3], b.rng.random() < 0.5)
    elif choice == 2:
        dims = [n, c, *(2 * d if isinstance(d, int) else f"2*({d})" for d in x.dims[2:])]
        scales = b.constant([1, 1, 2, 2])
        b.weights[-1].CopyFrom(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), scales.name))
        y = b.node("Resize", [x, None, scales], dims, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    elif choice == 3:
        dims = [n, c, *(d + 2 if isinstance(d, int) else f"{d}+2" for d in x.dims[2:])]
        y = b.node("Pad", [x, b.ints(0, 0, 1, 1, 0, 0, 1, 1)], dims, mode="constant")
    else:
        kernel, stride = b.rng.choice([2, 3]), b.rng.choice([1, 2])
        pad = b.rng.choice([0, kernel // 2])
        if not has_room(x, kernel, pad):
            return False
        dims = [n, c, *(window(d, kernel, pad, stride) for d in x.dims[2:])]
        attributes = {"kernel_shape": [kernel] * 2, "pads": [pad] * 4, "strides": [stride] * 2}
        if choice == 4:
            attributes["count_include_pad"] = b.rng.randrange(2)
        y = b.node("AveragePool" if choice == 4 else "MaxPool", [x], dims, **attributes)
    b.pool.append(y)
    return True


def image_rare(b):
    x = pick_image(b)
    if x is None:
        return False
    n, c, h, w = x.dims
    choice = b.rng.randrange(5)
    if choice == 0:
        kernel, stride, out = b.rng.choice([2, 3]), b.rng.choice([1, 2]), b.size()
        dims = [stride * (d - 1) + kernel if isinstance(d, int) else f"{stride}*({d}-1)+{kernel}" for d in (h, w)]
        y = b.node("ConvTranspose", [x, b.weight([c, out, kernel, kernel])], [n, out, *dims], kernel_shape=[kernel] * 2, strides=[stride] * 2)
    elif choice == 1 and c % 4 == 0:
        dims = [2 * d if isinstance(d, int) else f"2*({d})" for d in (h, w)]
        y = b.node("DepthToSpace", [x], [n, c // 4, *dims], blocksize=2, mode=b.rng.choice(["DCR", "CRD"]))
    elif choice == 2:
        y = b.node("LRN", [x], x.dims, size=3, alpha=0.1, beta=0.75, bias=1.0)
    elif choice == 3 and all(isinstance(d, int) for d in (h, w)):
        y = b.node("Flatten", [x], [n, c * h * w], axis=1)
    else:
        y = b.node("GlobalAveragePool", [x], [n, c, 1, 1])
        y = b.node("Mul", [x, b.node("Sigmoid", [y], y.dims)], x.dims)  # as squeeze and excitation
    b.pool.append(y)
    return True


IMAGE_BLOCKS = (image_conv, image_conv, image_branches, image_branches, image_norm, image_norm, image_pool, image_pool, image_rare)
