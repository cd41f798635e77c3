"""Calls of TensorFlow's ops for each record and type: what `record_tensorflow.py` runs, and what tests are judged by.

A record of one number or two is called on every pair of special values; others have calls of their own below, and a
record without any is a failure of the tests.
"""

import op_fused_rows
import op_image_rows
import op_linear_rows
import op_made
import op_matrix_rows
import op_placed_rows
import op_random_rows
import op_rows
import op_space_rows
import op_special_rows
import op_state_rows
import op_stores
import op_uniform_rows
import op_xla_rows
from op_case import MOVED, Case, made, on_specials, rows_of, types_of
from op_made import FLOATS

from compiler.graph import BY_NAME
from compiler.tf2xla import RECORDS, Trait
from compiler.tf2xla.ops import convolution, training


def _real(name):
    """The kernels' order of numbers has no complex ones."""
    return [one for one in types_of(name) if not one.element_type.is_complex]


def elementwise() -> list[str]:
    """The records of one number or two, called on special values."""
    return [
        name
        for name, record in RECORDS.items()
        if name not in CALLS
        and 1 <= len(record.signature.inputs) <= 2
        and not record.constants
        and not record.traits & (Trait.HOST | Trait.COLLECTIVE)
        and all(port.type != "variant" for port in (*record.signature.inputs, *record.signature.outputs))
        and not any(port.is_reference or port.type == "resource" for port in record.signature.inputs)
        and all(port.is_one and port.type == record.signature.inputs[0].type for port in record.signature.inputs)
        and len(record.signature.outputs) == 1
    ]


def cases() -> list[Case]:
    """Every call."""
    found: list[Case] = []
    for name in RECORDS:
        if name in CALLS:
            found += CALLS[name](name)
        elif name in elementwise():
            found += on_specials(name)
    return found


def _named(names):
    return [BY_NAME[name] for name in names]


INTEGERS = [BY_NAME[name] for name in ("int32", "int64", "uint32", "uint64")]
CALLS = {
    "Merge": op_made.sides,
    "DeviceIndex": op_made.devices,
    "OptionalGetValue": op_made.optionals,
    "Dequantize": op_made.quantized,
    **op_stores.ROWS,
    **op_uniform_rows.ROWS,
    "Einsum": rows_of(op_linear_rows.products, [BY_NAME[one] for one in ("float32", "int32", "complex64")]),
    **dict.fromkeys(("CheckNumerics", "CheckNumericsV2"), rows_of(op_rows.checked)),
    **{
        f"TensorList{name}": op_made.lists
        for name in ("Stack", "Length", "GetItem", "ElementShape", "Gather", "ConcatV2")
    },
    "Const": rows_of(op_rows.constants, attribute="dtype"),
    "PlaceholderWithDefault": rows_of(op_rows.defaults, attribute="dtype"),
    "IdentityN": rows_of(op_rows.many, [BY_NAME["float32"]], attribute=""),
    "LeakyRelu": rows_of(op_rows.leaks),
    "Select": rows_of(op_rows.old_selects),
    "SelectV2": rows_of(op_rows.spread_selects),
    "Cast": op_made.casts,
    "AddN": rows_of(op_rows.sums),
    "ClipByValue": lambda name: made(name, op_rows.clips, _real(name)),
    "MatMul": rows_of(op_rows.matrices),
    "BatchMatMul": rows_of(op_rows.batches),
    "BatchMatMulV2": rows_of(op_rows.spread_batches),
    "BatchMatMulV3": rows_of(op_matrix_rows.mixed_batches, attribute="Tout"),
    **dict.fromkeys(("Sum", "Mean", "Prod", "EuclideanNorm", "Max", "Min", "All", "Any"), rows_of(op_rows.axes)),
    **dict.fromkeys(("ArgMax", "ArgMin"), rows_of(op_rows.places)),
    **dict.fromkeys(("Shape", "Size"), rows_of(op_rows.asked_in_64)),
    "ShapeN": rows_of(op_rows.asked_of_many),
    "Rank": rows_of(op_rows.asked),
    "Fill": rows_of(op_rows.fills),
    "Range": rows_of(op_rows.ranges, attribute="Tidx"),
    "LinSpace": rows_of(op_rows.lines),
    "BroadcastArgs": rows_of(op_rows.pairs_of_sizes(1)),
    "BroadcastGradientArgs": rows_of(op_rows.pairs_of_sizes(2)),
    "Reshape": rows_of(op_rows.reshapes),
    "Transpose": rows_of(op_rows.orders),
    "ExpandDims": rows_of(op_rows.expansions),
    "Squeeze": rows_of(op_rows.squeezes),
    "ConcatV2": rows_of(op_rows.joins),
    "Concat": rows_of(op_rows.old_joins),
    "Pack": rows_of(op_rows.packs),
    "Unpack": rows_of(op_rows.unpacks),
    "Split": rows_of(op_rows.splits),
    "SplitV": rows_of(op_rows.uneven_splits),
    "Slice": rows_of(op_rows.parts),
    "StridedSlice": rows_of(op_rows.indexings),
    "Pad": rows_of(op_rows.pads),
    "PadV2": rows_of(op_rows.valued_pads),
    "MirrorPad": rows_of(op_rows.mirrors),
    "Tile": rows_of(op_rows.tiles),
    "BroadcastTo": rows_of(op_rows.spreads),
    "ReverseV2": rows_of(op_rows.reversals, [BY_NAME[one] for one in MOVED]),
    "GatherV2": rows_of(op_rows.gathers, attribute="Tparams"),
    "Gather": rows_of(op_rows.old_gathers, attribute="Tparams"),
    "GatherNd": rows_of(op_rows.deep_gathers, attribute="Tparams"),
    "OneHot": rows_of(op_rows.hot),
    "Softmax": rows_of(op_rows.logits),
    "LogSoftmax": rows_of(op_rows.logits),
    "SoftmaxCrossEntropyWithLogits": rows_of(op_rows.losses),
    "SparseSoftmaxCrossEntropyWithLogits": rows_of(op_rows.numbered_losses),
    "BiasAdd": rows_of(op_rows.biases),
    "BiasAddV1": rows_of(op_rows.plain_biases),
    "BiasAddGrad": rows_of(op_rows.bias_gradients),
    **{name: rows_of(op_placed_rows.segments) for name in RECORDS if name.startswith("UnsortedSegment")},
    **{name: rows_of(op_placed_rows.whole_scatters) for name in RECORDS if name.startswith("TensorScatter")},
    "ParallelDynamicStitch": lambda name: made(name, lambda kind: list(op_placed_rows.stitches(kind))[:2]),
    **dict.fromkeys(("Cumsum", "Cumprod"), rows_of(op_placed_rows.runs)),
    "ConcatOffset": rows_of(op_placed_rows.offsets, attribute="shape_type"),
    **dict.fromkeys(("Real", "Imag", "ComplexAbs", "Angle"), rows_of(op_placed_rows.complex_parts)),
    **{name: rows_of(op_image_rows.convolutions(name)) for name in convolution.RECORDS},
    "FusedBatchNorm": rows_of(op_image_rows.normalised(2, None)),
    # Of numbers of 16 bits the kernels leave what is kept for gradients as the memory was.
    "FusedBatchNormV2": rows_of(op_image_rows.normalised(2, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormV3": rows_of(op_image_rows.normalised(3, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormGrad": rows_of(op_image_rows.normalised_back(2, None)),
    "FusedBatchNormGradV2": rows_of(op_image_rows.normalised_back(2, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormGradV3": rows_of(op_image_rows.normalised_back(3, FLOATS[0]), FLOATS[:1]),
    **{name: rows_of(op_space_rows.convolutions(name)) for name in convolution.RECORDS if name.startswith("Conv3D")},
    "SelfAdjointEigV2": rows_of(op_matrix_rows.spectra("compute_v")),
    "Svd": rows_of(op_matrix_rows.spectra("compute_uv")),
    **{
        f"{kind}{suffix}": rows_of(rows(count), attribute=attribute)
        for count, suffix in ((1, ""), (2, "2D"), (3, "3D"))
        for kind, rows, attribute in (
            ("FFT", op_matrix_rows.transformed, "Tcomplex"),
            ("IFFT", op_matrix_rows.transformed, "Tcomplex"),
            ("RFFT", op_matrix_rows.of_real, "Treal"),
            ("IRFFT", op_matrix_rows.to_real, "Tcomplex"),
        )
    },
    **dict.fromkeys(("LowerBound", "UpperBound"), rows_of(op_matrix_rows.among, FLOATS[:1])),
    **{name: rows_of(op_matrix_rows.segments) for name in RECORDS if name.startswith("Segment")},
    "UnravelIndex": rows_of(op_matrix_rows.numbered, attribute="Tidx"),
    "ToBool": rows_of(op_special_rows.truths),
    "Empty": rows_of(op_rows.empties, attribute="dtype"),
    **{
        name: rows_of(rows)
        for family in (op_placed_rows, op_image_rows, op_linear_rows, op_space_rows, op_matrix_rows, op_special_rows)
        for name, rows in family.ROWS.items()
    },
    **{name: rows_of(rows, FLOATS[:1]) for name, rows in op_fused_rows.ROWS.items()},
    "ImageProjectiveTransformV3": rows_of(op_space_rows.projected, attribute="dtype"),
    "ListDiff": rows_of(op_special_rows.ROWS["ListDiff"], [BY_NAME["int32"], BY_NAME["int64"], FLOATS[0]]),
    "SparseMatMul": rows_of(op_special_rows.ROWS["SparseMatMul"], attribute="Ta"),
    **dict.fromkeys(
        ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"),
        rows_of(op_random_rows.seeded, FLOATS, attribute="dtype"),
    ),
    "StatelessRandomUniformFullInt": rows_of(op_random_rows.seeded, attribute="dtype"),
    "StatelessRandomUniformInt": rows_of(op_random_rows.bounded(op_random_rows.seeded), attribute="dtype"),
    **dict.fromkeys(
        ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"),
        rows_of(op_random_rows.keyed, FLOATS, attribute="dtype"),
    ),
    "StatelessRandomUniformFullIntV2": rows_of(op_random_rows.keyed, attribute="dtype"),
    "StatelessRandomUniformIntV2": rows_of(op_random_rows.bounded(op_random_rows.keyed), attribute="dtype"),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"),
        rows_of(op_random_rows.stated, FLOATS, attribute="dtype"),
    ),
    "RandomGamma": rows_of(op_random_rows.gammas),
    "StatelessRandomGammaV2": rows_of(op_random_rows.seeded_gammas, attribute="dtype"),
    "StatelessRandomGammaV3": rows_of(op_random_rows.keyed_gammas, attribute="dtype"),
    "RandomUniformInt": rows_of(op_random_rows.stated_between, attribute="Tout"),
    **dict.fromkeys(
        ("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"),
        rows_of(op_random_rows.seeds, attribute="Tseed"),
    ),
    "StatelessRandomGetAlg": rows_of(op_random_rows.nothing, FLOATS[:1], attribute=""),
    **{name: rows_of(rows, _named(op_xla_rows.TYPES.get(name, ()))) for name, rows in op_xla_rows.ROWS.items()},
    "XlaConvV2": rows_of(op_xla_rows.KEYED["XlaConvV2"], FLOATS[:1], attribute="LhsT"),
    "XlaRngBitGenerator": rows_of(
        op_xla_rows.KEYED["XlaRngBitGenerator"], _named(["uint32", "uint64"]), attribute="dtype"
    ),
    "XlaKeyValueSort": rows_of(op_xla_rows.KEYED["XlaKeyValueSort"], attribute="K"),
    "Multinomial": rows_of(op_random_rows.choices, FLOATS),
    "StatelessMultinomial": rows_of(op_random_rows.seeded_choices, FLOATS),
    "RandomShuffle": rows_of(op_random_rows.orders),
    **dict.fromkeys(
        ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"),
        rows_of(op_random_rows.held, FLOATS, attribute="dtype"),
    ),
    "StatefulUniformFullInt": rows_of(op_random_rows.held, INTEGERS, attribute="dtype"),
    "StatefulUniformInt": rows_of(op_random_rows.held_between, INTEGERS, attribute="dtype"),
    "RngSkip": rows_of(op_random_rows.skips, FLOATS[:1], attribute=""),
    "RngReadAndSkip": rows_of(op_random_rows.read_and_skips, FLOATS[:1], attribute=""),
    "ReadVariableOp": rows_of(op_state_rows.held, attribute="dtype"),
    "VarIsInitializedOp": rows_of(op_state_rows.held, [BY_NAME["float32"]], attribute=""),
    "IsVariableInitialized": rows_of(op_state_rows.held, attribute="dtype"),
    **{
        name: rows_of(op_image_rows.pieces(name), FLOATS[:1] if name.endswith("Boxes") else None)
        for name in ("CropAndResize", "CropAndResizeGradImage", "CropAndResizeGradBoxes")
    },
    "BatchNormWithGlobalNormalization": rows_of(op_image_rows.globally, FLOATS[:1]),
    **{f"SparseSegment{name}": rows_of(op_matrix_rows.taken_segments) for name in ("Sum", "Mean", "SqrtN")},
    "RefIdentity": rows_of(op_state_rows.held),
    "CountUpTo": rows_of(op_state_rows.counts),
    "VariableShape": rows_of(op_state_rows.sizes, [BY_NAME["int32"], BY_NAME["int64"]], attribute="out_type"),
    **dict.fromkeys(
        ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"),
        rows_of(op_state_rows.assigned, attribute="dtype"),
    ),
    **dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), rows_of(op_state_rows.assigned)),
    "ResourceGather": rows_of(op_state_rows.batched_rows, attribute="dtype"),
    "ResourceGatherNd": rows_of(op_state_rows.deep_rows, attribute="dtype"),
    **{
        name: rows_of(op_state_rows.scatters, attribute="dtype")
        for name in RECORDS
        if name.startswith("ResourceScatter") and "ScatterNd" not in name
    },
    **{
        name: rows_of(op_state_rows.scatters)
        for name in RECORDS
        if f"Resource{name}" in RECORDS and "Scatter" in name and "ScatterNd" not in name
    },
    **{name: rows_of(op_state_rows.steps(name), FLOATS) for name in training.RECORDS},
}
"""Calls of records that are no functions of one number or two."""

CASES_OF: dict[str, list[Case]] = {}
"""Every call, by its op."""
for _case in cases():
    CASES_OF.setdefault(_case.op, []).append(_case)
