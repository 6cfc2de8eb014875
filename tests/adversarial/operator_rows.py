"""What each operator is compared at: for each attribute and input the values that it takes in turns, the first of them in an ordinary
node. A tuple is a tensor of these dimensions, in the case's element type; None is absent; other values are as they are. Values of
attributes that a row does not name follow from the schema. "data" has combinations of the first inputs, "outputs" counts of results."""

import numpy as np

SHAPES = [((2, 3),), ((),), ((3,),), ((0,),), ((1,),), ((1, 3, 1),), ((2, 0, 3),), ((2, 3, 4),)]
PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3)), ((2, 3), ()), ((0,), (1,)), ((0, 3), (3,)), ((1, 1), (3,)),
         ((), ()), ((2, 0), (2, 1)), ((1,), (1, 1)), ((2, 3), (2,)), ((3, 1, 2), (1, 2))]
LISTS = [((2, 3), (2, 3)), ((2, 3),), ((2, 3), (3,), ()), ((0, 3), (1, 3)), ((), ()), ((1,), (1, 1)), ((2, 3), (1, 3), (2, 1))]
AXIS = [None, 0, 1, -1, -2, 2, -3, 3, 7]
MAX32, MAX64, MIN64 = 2 ** 31 - 1, 2 ** 63 - 1, -2 ** 63
IMAGES = [((1, 2, 4, 5),), ((1, 4, 6, 6),), ((2, 4, 1, 1),), ((1, 4, 7),), ((1, 3, 4, 4, 4),), ((0, 2, 4, 4),)]


def array(*values, dtype=np.int64):
    return np.array(values, dtype)


def rows():
    table = {}

    def add(names, **row):
        for name in names.split():
            table[name] = row

    unary = """Identity Abs Neg Sign Ceil Floor Round Sqrt Reciprocal Exp Log Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh
               Relu Sigmoid Tanh Softplus Softsign HardSwish Mish Not IsNaN IsInf Elu Selu Celu LeakyRelu ThresholdedRelu HardSigmoid
               Shrink Swish com.microsoft.QuickGelu com.microsoft.Gelu NonZero Size Hardmax_ """
    add(unary.replace("Hardmax_", ""), data=SHAPES)
    add("Gelu", data=SHAPES, approximate=[None, "none", "tanh", "", "Tanh"])
    add("Add Sub Mul Div Pow Mod And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual PRelu", data=PAIRS, axis=[None, 0, 1, -1],
        broadcast=[None, 0, 1])
    add("Max Min Sum Mean", data=LISTS)
    add("Concat", data=[*LISTS, ((2, 3), (2, 0)), ((0,), (3,), (2,)), ((1, 2, 3), (1, 1, 3))], axis=[1, 0, *AXIS])
    add("Where", data=[(*each, (3,)) for each in PAIRS] + [(*each, ()) for each in PAIRS])
    add("Clip", data=SHAPES, min=[None, 0, -1, 2, MAX32, (), (1,), (3,)], max=[None, 0, -1, 1, 6, MAX32, (), (1,)])
    add("Cast", data=SHAPES, to=[1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 8, 0, 99], saturate=[None, 0, 1], round_mode=[None, "up"])
    add("CastLike", data=SHAPES, target_type=[np.zeros(2, t) for t in ("f4", "f8", "f2", "i8", "i4", "u1", "i1", "?")],
        saturate=[None, 0, 1], round_mode=[None, "up"])
    add("EyeLike", data=[((2, 3),), ((3, 3),), ((4, 2),), ((0, 3),), ((1, 1),), ((3,),)], dtype=[None, 1, 11, 7, 6, 9, 10, 8, 0],
        k=[None, 0, 1, -1, 2, -3, 7, MAX64, MIN64])
    add("Trilu", data=[((2, 3),), ((3, 3),), ((4, 2),), ((2, 3, 4),), ((0, 3),), ((1, 1),), ((2, 0, 3),), ((3,),)], upper=[None, 1, 0, 2, -1],
        k=[None, *map(np.array, (0, 1, -1, 2, -3, 7, MAX64, MIN64)), array(0), array(1)])
    add("Dropout", data=SHAPES, ratio=[None, 0.0, 0.5, 1.0, -1.0], training_mode=[None, np.array(False), np.array(True), np.array([False])],
        is_test=[None, 0, 1], seed=[None, 0, 7], outputs=[1, 2])

    axes = [None, [0], [], [-1], [1], [0, 1], [1, 0], [-1, 0], [0, 0], [0, -2], [2], [-3], [5], [0, 1, 2], [MAX64], [MIN64]]
    add("ReduceSum ReduceMax ReduceMin ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp",
        data=[((3,),), *SHAPES, ((1, 3),), ((1,),)], axes=axes, keepdims=[None, 1, 0, 2, -1], noop_with_empty_axes=[None, 0, 1, 2])
    add("ArgMax ArgMin", data=[*SHAPES, ((1, 3),)], axis=AXIS, keepdims=[None, 1, 0, 2], select_last_index=[None, 0, 1])
    add("Softmax LogSoftmax Hardmax", data=[((2, 3),), ((2, 3, 4),), *SHAPES], axis=AXIS)
    add("CumSum", data=SHAPES, axis=[0, *map(np.array, (1, -1, -2, 2, 7)), array(0), np.array(0, np.int32)], reverse=[None, 0, 1, 2],
        exclusive=[None, 0, 1, 2])
    add("LpNormalization", data=SHAPES, axis=AXIS, p=[None, 1, 2, 3, 0])
    add("MeanVarianceNormalization", data=[*IMAGES, ((2, 3),)], axes=[None, [0, 2, 3], [0, 1, 2, 3], [1], [-1], [], [0, -1], [1, 1]])

    add("Flatten", data=[((2, 3, 4),), *SHAPES], axis=AXIS)
    add("Squeeze", data=[((1, 3, 1),), ((1,),), ((1, 1),), ((2, 3),), ((),), ((1, 0),)], axes=[*axes, [0, 2], [0, -1], [2, 0], [-3, -1]])
    add("Unsqueeze", data=[((2, 3),), ((3,),), ((),), ((0,),)], axes=[[0], *axes, [0, 2], [0, -1], [2, 0], [-1, -2], [3], [-4]])
    add("Transpose", data=[((2, 3),), ((2, 3, 4),), ((3,),), ((),), ((2, 0, 3),), ((1, 3, 1),), ((2, 2),)],
        perm=[None, [1, 0], [0, 1], [-1, 0], [0, -1], [-1, -2], [0, 0], [], [0], [2, 0, 1], [0, 1, 2], [2, -2, 0], [-1, 0, 1], [0, 2]])
    shapes = [[6], [3, 2], [-1], [0, -1], [-1, 0], [0, 0], [2, 3], [1, 2, 3], [], [1], [-1, 2], [-1, -1], [0], [2, 0, -1], [0, 3], [5],
              [2, -3], [-2, 3], [0, 0, 0], [1, 0], [6, 1, 1], [2, 3, 1, 0], [MAX64], [3, MIN64], [2 ** 32, 2 ** 32], [-1, 2 ** 32, 2 ** 32]]
    add("Reshape", data=[((2, 3),), ((6,),), ((2, 0, 3),), ((0,),), ((),), ((1, 6),), ((2, 1, 3),)], shape=shapes, allowzero=[None, 0, 1, 2])
    add("Expand", data=[((3, 1),), ((),), ((1,),), ((1, 1),), ((3,),), ((0,),), ((1, 0),)],
        shape=[[3, 4], [2, 3, 4], [], [1], [3, 1], [3, 0], [0], [1, 1, 1], [5, 1], [-1], [3, -1], [2, 1], [0, 3, 1], [1, 3], [3], [2, 3]])
    add("Tile", data=[((2, 3),), ((1, 3),), ((3,),), ((1,),), ((),), ((0, 2),), ((1, 1),)],
        repeats=[[1, 2], [1, 1], [2, 3], [0, 1], [3], [], [1], [-1, 1], [0], [1, 2, 1]], tiles=[None, 2], axis=[None, 0, 1])
    add("ConstantOfShape", input=[[2, 3], [], [0], [2, 0], [1], [-1], [3], [2, -1]],
        value=[None, array(0.0, dtype="f4"), array(7), array(-1), array(1.5, dtype="f8"), array(1, dtype="i4"), array(True, dtype="?"),
               array(200, dtype="u1"), array(1, dtype="f2"), np.array(5), array(-0.0, dtype="f4"), array(1, 2), array(3, dtype="i1")])
    add("Shape", data=[((2, 3, 4),), *SHAPES], start=[None, 0, 1, -1, 2, 3, -9, 9, -2], end=[None, 0, 1, -1, 2, 3, -9, 9, -3, 4])
    numbers = [0, 1, 5, -5, 3, 10, 100, MAX64, MIN64, 2 ** 40]
    scalars = [np.array(each) for each in numbers] + [np.array(2, "i4"), np.array(1.5, "f4"), np.array(0.1, "f8"), array(5)]
    add("Range", start=[np.array(0), *scalars], limit=[np.array(7), *scalars], delta=[np.array(1), *scalars, np.array(-1), np.array(-2),
                                                                                      np.array(4)])
    positions = [[0], [1], [-1], [2], [-2], [3], [-4], [MAX32], [MAX64], [MIN64], [-MAX32 - 1], [-5], [7], [-6]]
    add("Slice", data=[((5,),), ((5, 3),), ((1,),), ((0,),), ((2, 3),), ((),), ((2, 3, 4),)],
        starts=[*positions, [0, 1], [-1, 0], [], [1, 2]], ends=[[3], *positions, [3, 2], [MAX64, MAX64], [], [-9, 1]],
        axes=[None, [0], [-1], [1], [0, 1], [1, 0], [-1, -2], [-1, 0], [0, 0], [], [2], [0, -1]],
        steps=[None, [1], [2], [-1], [-2], [3], [0], [MAX64], [MIN64], [-MAX64], [1, 1], [-1, 2], [2, -1], []])
    indices = [np.array(0), array(0, 2), array(-1), array([0, 1], [-1, 0]), array(), np.array(-3), array(0, dtype="i4"), array(3), array(-4),
               array([0], [1]), np.array(1), np.zeros((2, 0), "i8"), array(0, 0, 0)]
    add("Gather", data=[((3, 2),), ((3,),), ((1, 3, 2),), ((0, 3),), ((),), ((1,),), ((3, 0),)], indices=indices, axis=AXIS)
    add("GatherElements", data=[((3, 2),), ((3,),), ((2, 3),), ((),), ((0, 3),), ((1, 3),)],
        indices=[array([0, 1]), array([0, -1], [2, 0], [1, 1]), array(0, 2), array(-3, 1), array([0]), np.array(0), array([2], [0]),
                 array([0, 1], [1, 0], [0, 0], [1, 1]), array(), np.zeros((0, 2), "i8"), array([3, 0]), array([0, 0, 0])], axis=AXIS)
    add("ScatterND", data=[((3, 2),), ((3,),)], indices=[array([0], [2]), array([0, 1], [1, 0]), array([-1], [0]), array([1], [1]),
                                                        array([0], [1], [2]), np.zeros((0, 1), "i8"), array([3], [0]), array(0)],
        updates=[(2, 2), (2,), (3, 2), (3,), (0, 2), (1, 2)], reduction=[None, "none", "add", "mul", "max", "min"])
    add("Split", data=[((6, 4),), ((6,),), ((2, 6),), ((5,),), ((0,),), ((1,),), ((),)],
        split=[None, [3, 3], [2, 4], [6, 0], [1, 2, 3], [6], [7, -1], [2, 2], [], [0, 6], [2 ** 62] * 3 + [2 ** 62 + 6], [2, 2, 2]], axis=AXIS,
        num_outputs=[None, 2, 3, 1, 4, 0, -1], outputs=[2, 1, 3, 4])
    pads = [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 2, 0], [-1, 0, 0, 0], [0, -1, 1, 0], [1, 1], [0, 0], [-1, 1], [2, 2], [0, 1, 0, 0, 0, 1],
            [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, -1, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0], [], [3, 3, 3, 3], [0, 0, 2, 2, 0, 0, 0, 0], [1, 2]]
    add("Pad", data=[((2, 3),), ((3,),), ((1, 1, 3, 3),), ((0, 3),), ((),), ((1, 3),)], pads=pads, paddings=[None, *pads], value=[None, 0.0, 1.5,
        -1.0],
        constant_value=[None, 0, 2, -1, (), (1,)], axes=[None, [0], [1], [-1], [0, 1], [1, 0], [2, 3], [], [0, 0]],
        mode=[None, "constant", "reflect", "edge", "wrap", ""])
    add("OneHot", data=[], indices=[array(0, 2, 1), np.array(1), array(-1, 3, 7), array([0], [1]), array(), array(0.0, 1.0, dtype="f4"),
                                    array(0, 2, dtype="i4"), array(-4, -5)],
        depth=[np.array(3), array(3), np.array(1), np.array(0), np.array(3.0, "f4"), np.array(-1), np.array(4, "i4")],
        values=[array(0.0, 1.0, dtype="f4"), array(2.0, -1.0, dtype="f4"), array(1, 0), array(5, 7, dtype="i4")], axis=[None, *AXIS])
    add("DepthToSpace", data=[((1, 8, 2, 3),), ((1, 4, 1, 1),), ((0, 4, 2, 2),), ((1, 9, 2, 2),)], blocksize=[2, 1, 3, 0, -2, 4],
        mode=[None, "DCR", "CRD", ""])
    add("SpaceToDepth", data=[((1, 2, 4, 6),), ((1, 1, 2, 2),), ((0, 1, 2, 2),), ((1, 1, 3, 3),)], blocksize=[2, 1, 3, 0, -2, 4],
        mode=[None, "DCR", "CRD"])

    add("MatMul", data=[((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 4)),
                        ((2, 1, 2, 3), (1, 3, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 1)), ((2, 2, 2), (2, 2, 2)), ((5, 2, 3), (1,
                            3, 4)),
                        ((2, 3), (2, 3))])
    factors = [None, 1.0, 0.0, 0.5, -2.0]
    products = [((2, 3), (3, 4), (4,)), ((2, 3), (3, 4)), ((2, 3), (3, 4), (2, 4)), ((2, 3), (3, 4), ()), ((2, 3), (3, 4), (2, 1)), ((2, 3), (3,
        4), (1, 4)),
                ((3, 2), (3, 4), (1,)), ((2, 3), (4, 3), (4,)), ((3, 2), (4, 3), (4,)), ((3, 3), (3, 3), (3,)), ((2, 0), (0, 4), (4,)), ((0, 3),
                    (3, 4), (4,)),
                ((3, 3), (3, 3), (3, 3)), ((1, 1), (1, 1), (1, 1)), ((3, 3), (3, 3))]
    flags = [None, 0, 1, 2, -1]
    add("Gemm", data=products, alpha=factors, beta=factors, transA=flags, transB=flags, broadcast=[None, 0, 1])
    activation = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Softplus", "Softsign", "Clip", "Elu", "", None]
    add("com.microsoft.FusedGemm", data=products, alpha=factors, beta=factors, transA=flags, transB=flags, activation=activation,
        activation_alpha=[None, 0.5, 0.0, -1.0], activation_beta=[None, 0.5, 0.0, -1.0], activation_gamma=[None, 0.5])
    add("com.microsoft.FusedMatMul", data=[((2, 3), (3, 4)), ((3, 3), (3, 3)), ((2, 3, 3), (3, 3)), ((2, 3, 3), (2, 3, 3)), ((3, 3), (2, 3, 3)),
                                           ((3,), (3,)),
                                           ((3,), (3, 3)), ((3, 3), (3,)), ((2, 2, 3, 3), (2, 2, 3, 3)), ((3, 3, 3), (3, 3, 3))],
        alpha=factors, transA=flags, transB=flags, transBatchA=flags, transBatchB=flags)
    add("Einsum", data=[((2, 3), (3, 4)), ((3, 3), (3, 3)), ((2, 3), (2, 3)), ((2, 3, 4), (2, 4, 3)), ((2, 3),), ((3, 3),), ((3,), (3,)), ((2, 1),
        (1, 3)), ((), ())],
        equation=["ij,jk->ik", "ij,jk", "ij,ij->ij", "ij,ij", "ij,ij->", "bij,bjk->bik", "ij->ji", "ii->i", "ii", "ij->i", "i,i->", "i,j->ij",
                  "i,i->i",
                  " ij , jk -> ik ", "...ij,...jk->...ik", "bij,bjk->ik", "ij,ji->", "ij,kj->ik", "ij->", "ji", "ab,bc->ca", ",->", "ij,jk->kij",
                  "...j->...",
                  "bij, bkj -> bik", "Ij,jk->Ik", "ij,jk->ikk"])

    kernels = [[3, 3], [1, 1], [2, 3], [2], [3], [2, 2, 2], [], [4, 5], [6, 6]]
    windows = {"kernel_shape": kernels, "strides": [None, [1, 1], [2, 1], [2, 2], [2], [1, 1, 1], [0, 1], [3, 3]],
               "pads": [None, [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 2], [0, 1], [1, 1], [0, 0, 0, 1, 1, 1], [-1, 0, 0, 0], [2, 2, 2, 2]],
               "dilations": [None, [1, 1], [2, 1], [2, 2], [2], [1, 1, 1]], "auto_pad": [None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""]}
    pooled = [((1, 2, 5, 5),), ((1, 2, 4, 6),), ((2, 1, 6),), ((1, 1, 4, 4, 4),), ((1, 1, 7, 4),), ((1, 1, 1, 1),), ((0, 2, 4, 4),), ((1, 1, 3,
        0),)]
    add("AveragePool", data=pooled, **windows, ceil_mode=[None, 0, 1, 2], count_include_pad=[None, 0, 1, 2])
    add("MaxPool", data=pooled, **windows, ceil_mode=[None, 0, 1, 2], storage_order=[None, 0, 1], outputs=[1, 2])
    add("LpPool", data=pooled, **windows, ceil_mode=[None, 0, 1, 2], p=[None, 1, 2, 3])
    add("GlobalAveragePool GlobalMaxPool", data=[*IMAGES, ((2, 3),), ((1, 2, 0),)])
    convolutions = [((1, 2, 5, 5), (3, 2, 3, 3)), ((1, 2, 5, 5), (3, 2, 3, 3), (3,)), ((1, 4, 4, 6), (4, 2, 1, 1)), ((1, 4, 5, 5), (4, 1, 3, 3),
        (4,)), ((2, 2, 6), (3, 2, 2)),
                    ((1, 1, 4, 4, 4), (2, 1, 2, 2, 2)), ((1, 2, 4, 5), (2, 2, 2, 3)), ((0, 2, 4, 4), (1, 2, 1, 1)), ((1, 2, 1, 1), (2, 2, 1, 1)),
                    ((1, 2, 6, 6), (2, 2, 3, 3)),
                    ((1, 2, 3, 3), (2, 2, 3, 3))]
    convolved = {**windows, "kernel_shape": [None, *kernels], "group": [None, 1, 2, 4, 0]}
    add("Conv", data=convolutions, **convolved)
    add("com.microsoft.FusedConv", data=[*convolutions, ((1, 2, 5, 5), (3, 2, 3, 3), (3,), (1, 3, 3, 3)), ((1, 2, 5, 5), (3, 2, 3, 3), None, (1, 3,
        3, 3))], **convolved,
        activation=activation, activation_params=[None, [0.5], [0.5, 0.25], [0.0, 6.0], []])
    add("ConvTranspose", data=[((1, 2, 3, 3), (2, 3, 3, 3)), ((1, 2, 3, 3), (2, 3, 3, 3), (3,)), ((1, 4, 3, 4), (4, 1, 2, 2)), ((2, 2, 4), (2, 3,
        2)), ((1, 2, 1, 1), (2, 2, 1, 1))],
        **convolved, output_padding=[None, [0, 0], [1, 1], [1, 0], [0]], output_shape=[None, [5, 5], [6, 6], [7, 5], [4], [2, 2]])
    scales = [None, array(1, 1, 2, 2, dtype="f4"), array(1, 1, 1, 1, dtype="f4"), array(1, 1, 0.5, 0.5, dtype="f4"), array(1, 1, 2, 3, dtype="f4"),
              array(1, 1, 1.5, 2.5, dtype="f4"), array(1, 1, 0.6, 1, dtype="f4"), array(1, 2, 2, 2, dtype="f4"), array(2, 2, dtype="f4"),
              array(dtype="f4"),
              array(1, 1, 0, 2, dtype="f4")]
    add("Upsample", data=[((1, 1, 2, 3),), ((1, 2, 4, 4),)], scales=scales[1:] + [[1.0, 1.0, 2.0, 2.0]], mode=[None, "nearest", "linear",
        "bilinear"],
        height_scale=[None, 2.0], width_scale=[None, 2.0])
    add("Resize", data=[((1, 1, 2, 4),), ((1, 1, 4, 4),), ((1, 2, 4, 5),), ((1, 1, 1, 1),), ((2, 2),), ((1, 1, 5),)],
        roi=[None, array(0, 0, 0, 0, 1, 1, 1, 1, dtype="f4"), array(0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9, dtype="f4"), array(dtype="f4")],
        scales=scales[1:] + [None],
        sizes=[None, [1, 1, 4, 8], [1, 1, 2, 4], [1, 1, 1, 2], [1, 1, 3, 3], [4, 8], [1, 1, 7, 1], [2, 2, 4, 4], [], [1, 1, 0, 4]], axes=[None, [2,
            3], [3, 2], [-2, -1], [0, 1, 2, 3], []],
        mode=[None, "nearest", "linear", "cubic"], coordinate_transformation_mode=[None, "half_pixel", "asymmetric", "pytorch_half_pixel",
                                                                                   "align_corners", "tf_crop_and_resize",
                                                                                  "half_pixel_symmetric", "tf_half_pixel_for_nn"],
        nearest_mode=[None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"], keep_aspect_ratio_policy=[None, "stretch", "not_larger",
            "not_smaller"])

    statistics = [((2, 3, 4), (3,), (3,), (3,), (3,)), ((2, 3), (3,), (3,), (3,), (3,)), ((1, 2, 2, 3), (2,), (2,), (2,), (2,)), ((0, 3), (3,),
        (3,), (3,), (3,)), ((4,), (1,), (1,), (1,), (1,))]
    add("BatchNormalization", data=statistics, training_mode=[None, 0, 1], is_test=[None, 0, 1], spatial=[None, 0, 1], outputs=[1, 3, 5],
        consumed_inputs=[None, [0, 0, 0, 1, 1]])
    add("InstanceNormalization", data=[((2, 3, 4), (3,), (3,)), ((1, 2, 2, 3), (2,), (2,)), ((2, 3), (3,), (3,)), ((1, 1, 1), (1,), (1,))],
        consumed_inputs=[None])
    add("LayerNormalization", data=[((2, 3), (3,), (3,)), ((2, 3), (3,)), ((2, 3, 4), (4,), (4,)), ((2, 3, 4), (3, 4), (3, 4)), ((2, 3), (2, 3)),
                                    ((2, 3), (1,)), ((2, 3), ()), ((2, 1), (1,)),
                                    ((2, 3, 4), (3, 1), (3, 4)), ((3,), (3,)), ((0, 3), (3,))], axis=AXIS, stash_type=[None, 1, 11, 10],
                                    outputs=[1, 2, 3])
    add("RMSNormalization", data=[((2, 3), (3,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3), (2, 3)), ((2, 3), (1,)), ((2, 3), ()), ((3,),
        (3,)), ((0, 3), (3,)), ((2, 3, 4), (3, 1))],
        axis=AXIS, stash_type=[None, 1, 11])
    add("SimplifiedLayerNormalization", data=[((2, 3), (3,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3), (1,)), ((3,), (3,)), ((2, 3), (2,
        3)), ((2, 3, 4), (3, 1))], axis=AXIS,
        stash_type=[None, 1, 11], outputs=[1, 2])
    add("com.microsoft.SkipLayerNormalization", data=[((1, 2, 3), (1, 2, 3), (3,), (3,)), ((1, 2, 3), (1, 2, 3), (3,)), ((1, 2, 3), (1, 2, 3),
        (3,), (3,), (3,)), ((1, 2, 3), (1, 2, 3), (3,), None, (3,)),
                                                      ((2, 3), (2, 3), (3,), (3,)), ((2, 2, 3), (1, 2, 3), (3,), (3,)), ((2, 2, 3), (2, 3), (3,),
                                                          (3,)), ((3,), (3,), (3,))], outputs=[1, 2, 3, 4])
    add("com.microsoft.SkipSimplifiedLayerNormalization", data=[((1, 2, 3), (1, 2, 3), (3,)), ((1, 2, 3), (1, 2, 3), (3,), (3,)), ((2, 3), (2, 3),
        (3,)), ((2, 2, 3), (1, 2, 3), (3,)),
                                                                ((2, 2, 3), (2, 3), (3,))], outputs=[1, 2, 3, 4])
    add("GroupNormalization", data=[((2, 4, 3), (4,), (4,)), ((1, 4, 2, 2), (4,), (4,)), ((2, 4, 3), (2,), (2,)), ((1, 2, 2, 2), (2,), (2,)), ((1,
        1, 2, 2), (1,), (1,))], num_groups=[2, 1, 4, 3, 0],
        stash_type=[None, 1, 11])
    add("LRN", data=[*IMAGES, ((1, 5, 2, 2),), ((2, 3),)], size=[3, 1, 2, 5, 0], bias=[None, 1.0, 2.0, 0.5], alpha=[None, 0.0001, 0.5], beta=[None,
        0.75, 0.5])
    add("com.microsoft.BiasGelu", data=[((2, 3), (3,)), ((2, 2, 3), (3,)), ((3,), (3,)), ((2, 3), (1,)), ((2, 3), ()), ((2, 3), (2, 3))])
    add("com.microsoft.FastGelu", data=[((2, 3),), ((2, 3), (3,)), ((2, 2, 3), (3,)), ((3,), (3,)), ((),), ((2, 3), (1,))])

    caches = [(5, 2), (5, 1), (1, 2), (1, 3, 2), (2, 3, 2), (1, 3, 1), (2, 3, 1)]
    add("RotaryEmbedding", data=[((1, 2, 3, 4), (1, 3, 2), (1, 3, 2)), ((1, 3, 8), (1, 3, 2), (1, 3, 2)), ((2, 2, 3, 4), (2, 3, 2), (2, 3, 2)),
                                 ((1, 2, 3, 4), (5, 2), (5, 2)),
                                 ((1, 3, 8), (5, 2), (5, 2)), ((1, 2, 3, 4), (1, 3, 1), (1, 3, 1)), ((1, 3, 8), (1, 3, 4), (1, 3, 4)), ((1, 2, 3,
                                     4), (5, 1), (5, 1))],
        position_ids=[None, array([0, 1, 2]), array([2, 0, 4]), array([0, 1, 2], [2, 1, 0])], interleaved=[None, 0, 1], num_heads=[None, 0, 1, 2,
            4], rotary_embedding_dim=[None, 0, 2, 4])
    add("com.microsoft.RotaryEmbedding", data=[((1, 2, 3, 4), array([0, 1, 2]), (5, 2), (5, 2)), ((1, 3, 8), array([0, 1, 2]), (5, 2), (5, 2)),
                                               ((1, 3, 8), array([2, 0, 4]), (5, 4), (5, 4)),
                                               ((2, 2, 3, 4), array([0, 1, 2], [1, 2, 3]), (5, 2), (5, 2)), ((1, 3, 8), array(0), (5, 2), (5, 2)),
                                               ((1, 3, 8), array(2), (5, 4), (5, 4)),
                                               ((1, 2, 3, 4), array([0, 1, 2]), (5, 1), (5, 1))],
        interleaved=[None, 0, 1], num_heads=[None, 0, 1, 2, 4], rotary_embedding_dim=[None, 0, 2, 4], scale=[None, 1.0, 0.5],
        is_packed_batching=[None, 0, 1])
    four, three = (1, 2, 3, 4), (1, 3, 8)
    add("Attention", data=[(four, four, four), (three, three, three), ((1, 2, 2, 4), four, four), ((1, 4, 3, 4), four, four), ((1, 2, 8), three,
        three), ((2, 2, 3, 4),) * 3, ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 5))],
        attn_mask=[None, (3, 3), (1, 1, 3, 3), (1, 2, 3, 3), (1, 3), np.array([[True, False, True]] * 3), (2, 3), (3, 5), (3, 2)],
        past_key=[None, (1, 2, 2, 4)], past_value=[None, (1, 2, 2, 4)], nonpad_kv_seqlen=[None, array(3), array(2)], is_causal=[None, 0, 1],
        scale=[None, 0.0, 0.5, 1.0, -1.0],
        softcap=[None, 0.0, 2.0, 0.5], q_num_heads=[None, 2, 1, 4], kv_num_heads=[None, 2, 1, 4], qk_matmul_output_mode=[None, 0, 1, 2, 3],
        softmax_precision=[None, 1, 11, 10],
        left_window_size=[None, -1, 1], right_window_size=[None, -1, 1], outputs=[1, 3, 4])
    add("com.microsoft.MultiHeadAttention", data=[(three, three, three), ((1, 2, 8), three, three), ((2, 3, 8),) * 3, (three, four, four)],
        bias=[None, (24,)], key_padding_mask=[None, np.array([[1, 1, 0]], "i4"), np.array([2], "i4")], attention_bias=[None, (1, 2, 3, 3), (1, 1,
            3, 3), (1, 2, 3, 5)],
        past_key=[None, (1, 2, 2, 4)], past_value=[None, (1, 2, 2, 4)], past_sequence_length=[None], cache_indirection=[None], num_heads=[2, 1, 4],
        scale=[None, 0.0, 0.5, 1.0, -1.0],
        unidirectional=[None, 0, 1], mask_filter_value=[None, -10000.0, -1.0], outputs=[1, 3])
    add("com.microsoft.Attention", data=[((1, 3, 8), (8, 24), (24,)), ((1, 3, 8), (8, 12), (12,)), ((2, 3, 4), (4, 12), (12,)), ((1, 3, 8), (8,
        24))],
        mask_index=[None, array(3, dtype="i4"), array([1, 1, 0], dtype="i4")], past=[None, (2, 1, 2, 2, 4)], attention_bias=[None, (1, 2, 3, 3),
            (1, 1, 3, 3)], past_sequence_length=[None],
        num_heads=[2, 1, 4], scale=[None, 0.0, 0.5, 1.0, -1.0], unidirectional=[None, 0, 1], mask_filter_value=[None, -10000.0], do_rotary=[None,
            0, 1], rotary_embedding_dim=[None, 0],
        past_present_share_buffer=[None, 0], qkv_hidden_sizes=[None, [8, 8, 8], [4, 4, 8], [4, 4, 4]], outputs=[1, 2])
    return table
