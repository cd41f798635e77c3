"""What ops take that is not just any array: shapes that go together, values that must be compile-time constants.

An op that stands in no table here takes arrays of one shape, or such as spread over each other; of what the record
refuses then another draw is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Generator = np.random.Generator
Dims = tuple[int, ...]

LARGEST_DIM = 5
_MOST_RANK = 3
_PARTITIONS = 3
"""Into how many arrays rows are put."""

SHAPES: Mapping[str, str] = {
    "MatMul": "mk kn",
    "BatchMatMul": "bmk bkn",
    "BatchMatMulV2": "bmk bkn",
    "BatchMatMulV3": "bmk bkn",
    "BiasAdd": "bmc c",
    "BiasAddV1": "mc c",
    "Conv": "bhwc yxco",
    "Conv2D": "bhwc yxco",
    "DepthwiseConv2dNative": "bhwc yxco",
    "Dilation2D": "bhwc yxc",
    "MaxPool": "bhwc",
    "AvgPool": "bhwc",
    "MaxPoolV2": "bhwc",
    "MaxPoolWithArgmax": "bhwc",
    "AdjustHue": "bhw3 ",
    "AdjustSaturation": "bhw3 ",
    "ImageProjectiveTransformV3": "bhwc 18",
    "QuantizeAndDequantizeV3": "bc  ",
    "QuantizeAndDequantizeV4Grad": "bc bc  ",
    "StatelessMultinomial": "bc 2",
    "FakeQuantWithMinMaxVars": "bc  ",
    "FakeQuantWithMinMaxVarsGradient": "bc bc  ",
    "FakeQuantWithMinMaxVarsPerChannel": "bc c c",
    "FakeQuantWithMinMaxVarsPerChannelGradient": "bc bc c c",
    "AdjustContrastv2": "bhwc ",
    "DynamicPartition": "bc",
    "NonMaxSuppressionV4": "m4 m  ",
    "SparseToDense": "m1 m ",
    "SparseTensorDenseMatMul": "m2 m 55",
    "Conv3D": "bdhwc yyxco",
    "MaxPool3D": "bdhwc",
    "AvgPool3D": "bdhwc",
    "ExtractImagePatches": "bhwc",
    "DepthToSpace": "bhw4",
    "SpaceToDepth": "b44c",
    "SpaceToBatch": "b44c",
    "SpaceToBatchND": "b44c",
    "BatchToSpace": "4hwc",
    "BatchToSpaceND": "4hwc",
    "ResizeNearestNeighbor": "bhwc",
    "ResizeBilinear": "bhwc",
    "ResizeBicubic": "bhwc",
    "ResizeArea": "bhwc",
    "ResizeNearestNeighborGrad": "bhwc",
    "ResizeBilinearGrad": "bhwc bijc",
    "ResizeBicubicGrad": "bhwc bijc",
    "ScaleAndTranslate": "bhwc",
    "ScaleAndTranslateGrad": "bhwc bijc",
    "LRN": "bhwc",
    "FusedBatchNorm": "bhwc c c c c",
    "FusedBatchNormV2": "bhwc c c c c",
    "FusedBatchNormV3": "bhwc c c c c",
    "Softmax": "bc",
    "LogSoftmax": "bc",
    "SoftmaxCrossEntropyWithLogits": "bc bc",
    "SparseSoftmaxCrossEntropyWithLogits": "bc b",
    "MatrixTriangularSolve": "nn nm",
    "Cholesky": "nn",
    "MatrixBandPart": "mn  ",
    "MatrixSolve": "nn nm",
    "TridiagonalSolve": "3m mn",
    "TridiagonalMatMul": "1m 1m 1m mn",
    "MatrixInverse": "nn",
    "Lu": "nn",
    "MatrixDeterminant": "nn",
    "SelfAdjointEigV2": "nn",
    "DiagPart": "nn",
    "MatrixDiagPartV2": "mn ",
    "MatrixDiagPartV3": "mn ",
    "MatrixDiagV2": "n ",
    "MatrixDiagV3": "n ",
    "MatrixSetDiag": "nn n",
    "MatrixSetDiagV2": "nn n",
    "MatrixSetDiagV3": "nn n",
    "RFFT": "bc",
    "RFFT2D": "bhw",
    "RFFT3D": "bhw",
    "IRFFT": "bc",
    "IRFFT2D": "bhw",
    "IRFFT3D": "bhw",
    "Reverse": "bc",
    "ReverseSequence": "bc b",
    "SegmentSum": "bc",
    "SegmentMean": "bc",
    "SegmentProd": "bc",
    "SegmentMax": "bc",
    "SegmentMin": "bc",
    "InTopK": "bc b",
    "InTopKV2": "bc b ",
    "Gather": "bc m",
    "GatherV2": "bc m",
    "GatherNd": "bc m1",
    "TensorScatterUpdate": "bc m1 mc",
    "TensorScatterAdd": "bc m1 mc",
    "TensorScatterSub": "bc m1 mc",
    "TensorScatterMax": "bc m1 mc",
    "TensorScatterMin": "bc m1 mc",
    "ScatterNd": "m1 mc",
    "UnsortedSegmentSum": "bc b",
    "UnsortedSegmentProd": "bc b",
    "UnsortedSegmentMax": "bc b",
    "UnsortedSegmentMin": "bc b",
    "ClipByValue": "bc  ",
    "TopKV2": "bc",
    "BatchNormWithGlobalNormalization": "bhwc c c c c",
    "CropAndResize": "bhwc m4 m",
    "NthElement": "bc",
    "HistogramFixedWidth": "bc 2",
    "MirrorPad": "bc",
    "SplitV": "bc",
    "Fill": "",
    "PadV2": "bc ",
    "OneHot": "bc  ",
    "Slice": "bc 2",
    "DynamicStitch": "bc",
    "ParallelDynamicStitch": "bc",
    "InvertPermutation": "n",
    "FusedBatchNormGrad": "bhwc bhwc c c c",
    "FusedBatchNormGradV2": "bhwc bhwc c c c",
    "FusedBatchNormGradV3": "bhwc bhwc c c c c",
    "LRNGrad": "bhwc bhwc bhwc",
    "StatelessRandomUniform": "2",
    "StatelessRandomNormal": "2",
    "StatelessTruncatedNormal": "2",
    "StatelessRandomUniformInt": "2  ",
    "StatelessRandomUniformFullInt": "2",
    "StatelessRandomUniformV2": "1 2",
    "StatelessRandomNormalV2": "1 2",
    "StatelessTruncatedNormalV2": "1 2",
    "StatelessRandomUniformIntV2": "1 2  ",
    "StatelessRandomUniformFullIntV2": "1 2",
    "StatelessRandomGammaV2": "2 c",
    "StatelessRandomGammaV3": "1 2 c",
    "StatelessRandomGetKeyCounter": "2",
    "StatelessRandomGetKeyCounterAlg": "2",
}
"""The dimensions of an op's inputs, a letter each and the same letter the same size, digits themselves."""

EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->i", "i,j->ij", "ijk->k", "ij,j->")
"""Of `Einsum`; their inputs have the dimensions that they say."""

TEXTS: Mapping[str, tuple[str, ...]] = {
    "padding": ("SAME", "VALID"),
    "data_format": ("NHWC",),
    "mode": ("REFLECT", "SYMMETRIC"),
    "equation": EQUATIONS,
    "interpolation": ("NEAREST", "BILINEAR"),
    "fill_mode": ("CONSTANT", "REFLECT", "WRAP", "NEAREST"),
}
"""Values of attributes that are texts."""


def sizes(text: str, rng: Generator) -> list[Dims]:
    """Dimensions for each input of an op in `SHAPES`."""
    drawn: dict[str, int] = {}
    found = []
    for word in text.split(" "):
        dims = [int(one) if one.isdigit() else drawn.setdefault(one, _size(one, rng)) for one in word]
        found.append(tuple(dims))
    return found


def _size(letter: str, rng: Generator) -> int:
    low, high = (1, 2) if letter in "yxo" else (2, LARGEST_DIM)
    return int(rng.integers(low, high, endpoint=True))


def some_dims(rng: Generator) -> Dims:
    """Dimensions of an array."""
    rank = int(rng.integers(_MOST_RANK, endpoint=True))
    return tuple(int(rng.integers(1, LARGEST_DIM)) for _ in range(rank))


def _shape_like(rng: Generator, dims: Dims) -> Any:
    """The same elements otherwise: dimensions whose product is that of some."""
    count = int(np.prod(dims))
    divisors = [one for one in range(1, count + 1) if count % one == 0]
    first = int(rng.choice(divisors))
    return [(first, count // first), (count,), (1, *dims), (first, 1, -1)][int(rng.integers(4))]


def _axis(rng: Generator, dims: Dims) -> Any:
    return int(rng.integers(-len(dims), len(dims))) if dims else 0


def _axes(rng: Generator, dims: Dims) -> Any:
    count = int(rng.integers(len(dims), endpoint=True))
    chosen = rng.permutation(len(dims))[:count]
    return [int(one) - (len(dims) if rng.random() < 0.3 else 0) for one in chosen]


def _permutation(rng: Generator, dims: Dims) -> Any:
    return [int(one) for one in rng.permutation(len(dims))]


def _per_dim(low: int, high: int) -> Callable[[Generator, Dims], Any]:
    return lambda rng, dims: [int(one) for one in rng.integers(low, high, len(dims), endpoint=True)]


def _paddings(rng: Generator, dims: Dims) -> Any:
    return rng.integers(0, 2, (len(dims), 2)).tolist()


def _slice_sizes(rng: Generator, dims: Dims) -> Any:
    return [int(rng.integers(1, size, endpoint=True)) if rng.random() < 0.7 else -1 for size in dims]


def _broader(rng: Generator, dims: Dims) -> Any:
    wide = [int(rng.integers(1, LARGEST_DIM)) if size == 1 else size for size in dims]
    return [2, *wide] if rng.random() < 0.3 else wide


def _number(low: int, high: int) -> Callable[[Generator, Dims], Any]:
    return lambda rng, _dims: int(rng.integers(low, high, endpoint=True))


def _new_dims(rng: Generator, _dims: Dims) -> Any:
    return list(some_dims(rng))


def _lengths(count: int, *, is_half: bool = False) -> Callable[[Generator, Dims], Any]:
    """The lengths of a transform of the last dimensions, from its own elements, or from those of the result."""

    def draw(_rng: Generator, dims: Dims) -> Any:
        last = list(dims[-count:])
        return [*last[:-1], max(1, 2 * (last[-1] - 1))] if is_half and last else last

    return draw


def _segments(rng: Generator, dims: Dims) -> Any:
    return sorted(int(one) for one in rng.integers(0, LARGEST_DIM, dims[0] if dims else 1))


def _ones_and_others(rng: Generator, _dims: Dims) -> Any:
    """Dimensions that go together with all others so drawn."""
    return rng.choice([1, LARGEST_DIM], int(rng.integers(_MOST_RANK, endpoint=True)))


def _short(rng: Generator, _dims: Dims) -> Any:
    return rng.integers(-2, 3, int(rng.integers(LARGEST_DIM)))


def _image_size(rng: Generator, _dims: Dims) -> Any:
    return [int(one) for one in rng.integers(1, 2 * LARGEST_DIM, 2)]


def _always(value: Any) -> Callable[[Generator, Dims], Any]:
    return lambda _rng, _dims: value


_RESIZED = (
    "ResizeNearestNeighbor",
    "ResizeBilinear",
    "ResizeBicubic",
    "ResizeArea",
    "ResizeNearestNeighborGrad",
    "ScaleAndTranslate",
)
_DIAGONALS = (
    "MatrixDiagPartV2",
    "MatrixDiagPartV3",
    "MatrixDiagV2",
    "MatrixDiagV3",
    "MatrixSetDiagV2",
    "MatrixSetDiagV3",
)
_DRAWN = ("StatelessRandomGamma", "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
KNOWN: Mapping[str, Callable[[Generator, Dims], Any]] = {
    "reduction_indices": _axes,
    "axis": _axis,
    "dimension": _axis,
    "dim": _axis,
    "split_dim": _axis,
    "concat_dim": _axis,
    "ReverseV2.axis": _axes,
    "shape": _shape_like,
    "BroadcastTo.shape": _broader,
    "ScatterNd.shape": lambda _rng, _dims: [LARGEST_DIM, LARGEST_DIM],
    "dims": _new_dims,
    **{f"{op}.shape": _new_dims for op in SHAPES if op.startswith(_DRAWN)},
    "perm": _permutation,
    "begin": _per_dim(0, 1),
    "end": _per_dim(-1, LARGEST_DIM),
    "strides": _per_dim(1, 2),
    "size": _slice_sizes,
    "paddings": _paddings,
    "multiples": _per_dim(1, 2),
    "depth": _number(1, LARGEST_DIM),
    "k": _number(1, 2),
    "n": _number(0, 1),
    "nbins": _number(1, LARGEST_DIM),
    "num_segments": _number(1, LARGEST_DIM),
    "num": _number(1, LARGEST_DIM),
    "start": _number(-2, 2),
    "limit": _number(3, LARGEST_DIM),
    "delta": _number(1, 2),
    "stop": _number(3, LARGEST_DIM),
    "shift": _number(-2, 2),
    "alg": _number(1, 1),
    "num_elements": _number(1, LARGEST_DIM),
    "size_splits": lambda _rng, _dims: [1, -1],
    "SplitV.split_dim": lambda _rng, _dims: 0,
    "indices": lambda rng, dims: [int(one) for one in rng.permutation(dims[0] if dims else 1)],
    "s0": _ones_and_others,
    "s1": _ones_and_others,
    "DynamicPartition.partitions": lambda rng, dims: rng.integers(0, _PARTITIONS, dims[:1]),
    "ListDiff.x": _short,
    "ListDiff.y": _short,
    "max_output_size": _number(1, LARGEST_DIM),
    "segment_ids": _segments,
    "ImageProjectiveTransformV3.output_shape": _image_size,
    "scale": lambda rng, _dims: [float(one) / 2 for one in rng.integers(1, 5, 2)],
    "translation": lambda rng, _dims: [float(one) / 2 for one in rng.integers(-1, 2, 2)],
    "fill_value": _number(-2, 2),
    "num_bits": _number(2, 8),
    "num_samples": _number(1, LARGEST_DIM),
    "SparseToDense.output_shape": _always([LARGEST_DIM]),
    "SparseTensorDenseMatMul.a_shape": _always([LARGEST_DIM, LARGEST_DIM]),
    "Reverse.dims": lambda rng, dims: [bool(one) for one in rng.integers(0, 2, len(dims))],
    "block_shape": _always([2, 2]),
    "crops": _always([[0, 0], [0, 0]]),
    "SpaceToBatch.paddings": _always([[0, 0], [0, 0]]),
    "SpaceToBatchND.paddings": _always([[0, 0], [0, 0]]),
    "ksize": _always([1, 2, 2, 1]),
    "MaxPoolV2.strides": _always([1, 1, 2, 1]),
    "num_rows": _always(-1),
    "num_cols": _always(-1),
    **{f"{op}.size": _image_size for op in _RESIZED},
    "CropAndResize.crop_size": _image_size,
    **{f"{op}.k": _always(0) for op in _DIAGONALS},
    **{f"RFFT{name}.fft_length": _lengths(count) for name, count in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"IRFFT{name}.fft_length": _lengths(count, is_half=True) for name, count in (("", 1), ("2D", 2), ("3D", 3))},
}
"""Values for inputs that must be compile-time constants, by the input's name, or the op's and that; what they are
about is the dimensions of the op's first array."""


def known_value(op: str, port: str, rng: Generator, dims: Dims) -> Any:
    """A value for an input that must be known; None where nothing here says which.

    Args:
        op: TensorFlow's.
        port: the input's name.
        rng: what is drawn by.
        dims: of the op's first array.
    """
    draw = KNOWN.get(f"{op}.{port}", KNOWN.get(port))
    return None if draw is None else draw(rng, dims)


_STATED: Mapping[str, Mapping[str, Any]] = {
    "SplitV": {"num_split": 2},
    "Unpack": {},
    "DynamicPartition": {"num_partitions": _PARTITIONS},
    "NonMaxSuppressionV4": {"pad_to_max_output_size": True},
    "MaxPoolV2": {},
    "ReverseSequence": {"seq_dim": 1},
    "Bucketize": {"boundaries": [-1.5, 0.0, 0.5, 2.0]},
    **{op: {"block_size": 2} for op in ("DepthToSpace", "SpaceToDepth", "SpaceToBatch", "BatchToSpace")},
    "Dilation2D": {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]},
    "ExtractImagePatches": {"ksizes": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1]},
}
"""Attributes that have no default, where they are not windows."""


def window(op: str, rng: Generator) -> Mapping[str, Any]:
    """Attributes of an op that have no default; of those that look at windows, their steps and sizes."""
    if op in _STATED or ("Pool" not in op and "Conv" not in op):
        return _STATED.get(op, {})
    dims = 3 if "3D" in op else 2
    along = int(rng.integers(1, 2, endpoint=True))
    found: dict[str, Any] = {"strides": [1, *[along] * dims, 1]}
    if "Pool" in op:
        found["ksize"] = [1, *(int(one) for one in rng.integers(1, 2, dims, endpoint=True)), 1]
    return found
