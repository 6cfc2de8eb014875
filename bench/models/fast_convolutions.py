#!/usr/bin/env python3
"""What a 3x3 convolution gains by fewer multiplications (Winograd's algorithm), written as ONNX nodes: `fast_convolutions.py`.

Tiles of m x m pixels of the result, m = 2 or 4, need (m + 2)^2 products of a pixel and a weight instead of 9 m^2: a convolution
with a constant kernel takes the tiles of the image apart, one product of matrices (or a convolution by groups) per place in a tile
combines the channels, and a product with a constant matrix puts the tiles together. Source: Lavin and Gray, Fast algorithms for
convolutional neural networks, 2015. Prints the time of the convolution and its ratio to that of each form, with one thread (median of
turns, processor time), and the largest difference relative to the largest value.
"""

import argparse
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TILES = {  # by the size of a tile: transformations of the image, the kernel and the result
    2: ([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
        [[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]],
        [[1, 1, 1, 0], [0, 1, -1, -1]]),
    4: ([[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]],
        [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]],
        [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]),
}


def session(nodes, weights, channels, size):
    """The nodes between two Relus, so that layouts are changed as between other operators."""
    constants = [numpy_helper.from_array(np.ascontiguousarray(value, np.int64 if value.dtype.kind == "i" else np.float32), name)
                 for name, value in weights.items()]
    nodes = [("Relu", ["x"], "image", {}), *nodes, ("Relu", ["result"], "y", {})]
    graph = helper.make_graph([helper.make_node(kind, inputs, [output], **attributes) for kind, inputs, output, attributes in nodes], "one",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, size, size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def direct(kernel, size):
    return session([("Conv", ["image", "kernel"], "result", {"pads": [1] * 4})], {"kernel": kernel}, kernel.shape[1], size)


def by_tiles(kernel, size, tile, by_groups):
    """`by_groups`: channels are combined by a convolution of groups instead of a product of matrices."""
    image, filters, result = (np.array(each, float) for each in TILES[tile])
    places, count, missing = (tile + 2) ** 2, -(-size // tile), -size % tile
    out_channels, channels = kernel.shape[:2]
    transformed = np.einsum("er,kcrs,fs->efkc", filters, kernel, filters).reshape(places, out_channels, channels)
    whole = count * tile
    nodes = [("Reshape", ["image", "planes"], "plane", {}),
             ("Conv", ["plane", "apart"], "tiles", {"strides": [tile] * 2, "pads": [1, 1, 1 + missing, 1 + missing]}),
             ("Transpose", ["tiles"], "by place", {"perm": [1, 0, 2, 3]}), ("Reshape", ["by place", "columns"], "operand", {}),
             ("Conv", ["operand", "kernel"], "products", {"group": places}) if by_groups else
             ("MatMul", ["kernel", "operand"], "products", {}),
             ("Reshape", ["products", "rows"], "row", {}), ("MatMul", ["together", "row"], "pixels", {}),
             ("Reshape", ["pixels", "blocks"], "block", {}), ("DepthToSpace", ["block"], "spread", {"blocksize": tile, "mode": "DCR"}),
             ("Reshape", ["spread", "size"], "whole", {}), ("Slice", ["whole", "start", "end", "axes"], "result", {})]
    weights = {"planes": np.array([channels, 1, size, size]), "columns": np.array([1, places * channels, count, count] if by_groups else
                                                                                  [places, channels, -1]),
               "apart": np.einsum("er,fs->efrs", image, image).reshape(places, 1, tile + 2, tile + 2),
               "kernel": transformed.reshape(-1, channels, 1, 1) if by_groups else transformed, "rows": np.array([places, -1]),
               "together": np.einsum("ae,bf->abef", result, result).reshape(tile * tile, places),
               "blocks": np.array([1, tile * tile, out_channels * count, count]), "size": np.array([1, out_channels, whole, whole]),
               "start": np.array([0, 0]), "end": np.array([size, size]), "axes": np.array([2, 3])}
    return session(nodes, weights, channels, size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3, help="for each row")
    given = parser.parse_args()
    forms = [(2, False), (2, True), (4, False), (4, True)]
    names = [f"{tile} x {tile}, {'groups' if groups else 'products'}" for tile, groups in forms]
    print(f"| channels | pixels | convolution, ms | {' | '.join(names)} | difference, 2 x 2 | 4 x 4 |\n|{'---|' * 9}")
    generator = np.random.default_rng(0)
    for channels, size in ((64, 56), (64, 112), (128, 28), (128, 56), (256, 14), (256, 28), (256, 64), (512, 7), (512, 14), (512, 32), (512, 64)):
        kernel = generator.standard_normal((channels, channels, 3, 3)) / np.sqrt(9 * channels)
        feeds = {"x": generator.standard_normal((1, channels, size, size)).astype(np.float32)}
        sessions = [direct(kernel, size), *(by_tiles(kernel, size, *form) for form in forms)]
        results = [each.run(None, feeds)[0] for each in sessions]
        times = [[] for _ in sessions]
        end = time.perf_counter() + given.seconds
        while time.perf_counter() < end:
            for each, found in zip(sessions, times):
                start = time.thread_time()
                each.run(None, feeds)
                found.append(time.thread_time() - start)
        medians = [float(np.median(each)) for each in times]
        differences = [np.abs(each - results[0]).max() / np.abs(results[0]).max() for each in results]
        ratios = " | ".join(f"{medians[0] / each:.2f}" for each in medians[1:])
        print(f"| {channels} | {size} x {size} | {medians[0] * 1e3:.2f} | {ratios} | {differences[1]:.0e} | {differences[3]:.0e} |", flush=True)


if __name__ == "__main__":
    main()
