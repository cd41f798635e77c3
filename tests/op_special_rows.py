"""Calls of ops on colours, on few bits, on vectors and diagonals, and of special functions of several numbers."""

import ml_dtypes
import numpy as np
from op_values import ints, numbers, scalar, specials

from compiler.graph import BY_NAME, AttributeList, tensor_of
from compiler.ir.types import F32

INT32, INT64 = BY_NAME["int32"], BY_NAME["int64"]
_FLOAT = np.float32


def colours(element_type):
    rng = np.random.default_rng(0)
    yield {}, [(rng.integers(0, 65, (2, 4, 3)) / 64).astype(element_type.dtype)]
    grey = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.25], [0.25, 0.5, 0.5], [0.5, 0.25, 0.5], [-1, 0.5, 2], [0, 1, 0]]
    yield {}, [np.array(grey, element_type.dtype)]
    yield {}, [np.zeros((0, 3), element_type.dtype)]


def changed(*amounts):
    def rows(element_type):
        for number, amount in enumerate(amounts):
            [image] = list(colours(element_type))[number % 2][1]
            yield {}, [image.reshape(1, *image.shape) if image.ndim == 2 else image, np.array(amount, _FLOAT)]

    return rows


def contrasts(element_type):
    yield {}, [numbers(element_type, 2, 3, 4, 3), np.array(0.5, _FLOAT)]
    yield {}, [numbers(element_type, 3, 4, 1), np.array(-2, _FLOAT)]


_WIDE = np.array([-7, -6, -2.125, -0.0625, -0.0, 0, 0.03125, 0.5, 1, 3.3, 5.9, 6, 6.5, 100], _FLOAT)


def few_bits(_element_type):
    yield {}, [_WIDE]
    yield {"min": -1.5, "max": 4.0, "num_bits": 3}, [_WIDE.reshape(2, 7)]
    yield {"min": 0.25, "max": 1.0, "narrow_range": True}, [_WIDE]
    yield {"min": -3.0, "max": -1.0, "num_bits": 4, "narrow_range": True}, [_WIDE]


def few_bits_back(element_type):
    for attributes, [x] in few_bits(element_type):
        yield attributes, [numbers(F32, *x.shape), x]


def few_bits_between(element_type):
    for attributes, [x] in few_bits(element_type):
        kept = {key: value for key, value in attributes.items() if key not in ("min", "max")}
        yield kept, [x, *(np.array(attributes.get(key, end), _FLOAT) for key, end in (("min", -6), ("max", 6)))]
    yield {}, [x, _NOTHING[0], _NOTHING[0]]


def few_bits_between_back(element_type):
    for attributes, given in few_bits_between(element_type):
        yield attributes, [numbers(F32, *given[0].shape), *given]


_NOTHING = np.array([0, 1, 0], _FLOAT)
"""Of three channels the second has a range."""
_LOW, _HIGH = np.array([-6, -1, 0.5], _FLOAT), np.array([6, 0.25, 2], _FLOAT)


def few_bits_by_channel(_element_type):
    x = np.resize(_WIDE, (2, 7, 3))
    yield {}, [x, _LOW, _HIGH]
    yield {"num_bits": 3, "narrow_range": True}, [x[0, 0], _LOW, _HIGH]
    yield {}, [x, _LOW * _NOTHING, _HIGH * _NOTHING]


def few_bits_by_channel_back(element_type):
    for attributes, given in few_bits_by_channel(element_type):
        yield attributes, [numbers(F32, *given[0].shape), *given]


def both_ways(*, is_new):
    """The same with how many bits as an attribute, or as an input."""

    def rows(element_type):
        x = numbers(element_type, 3, 4)
        low, high = np.array(-2, element_type.dtype), np.array(3, element_type.dtype)
        bits = {"num_bits": 8} if is_new else {}
        given = [] if is_new else [scalar(8)]
        yield {**bits, "range_given": False}, [x, low, high, *given]
        yield {**bits, "range_given": True}, [x, low, high, *given]
        yield (
            {**bits, "signed_input": False, "range_given": True, "narrow_range": True},
            [abs(x), low * 0, high, *given],
        )
        ends = [one * np.array([1, 2, 0.5, 1], element_type.dtype) for one in (low, high)]
        yield {**bits, "range_given": True, "axis": 1}, [x, *ends, *given]
        yield {**bits, "range_given": False, "axis": 0, "narrow_range": True}, [x, low, high, *given]
        if is_new:
            yield {"num_bits": 3, "range_given": False, "round_mode": b"HALF_UP"}, [x, low, high]

    return rows


def both_ways_back(element_type):
    x, g = numbers(element_type, 3, 4), numbers(element_type, 3, 4, seed=1)
    ends = [np.array(one, element_type.dtype) for one in (-2, 3)]
    yield {}, [g, x, *ends]
    yield {"axis": 1}, [g, x, *(np.array([1, 2, 0.5, 1], element_type.dtype) * one for one in ends)]


def crossed(element_type):
    yield {}, [numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)]
    yield {}, [numbers(element_type, 3), numbers(element_type, 3, seed=1)]
    yield {}, [numbers(element_type, 0, 3), numbers(element_type, 0, 3)]


def log_sums(element_type):
    x = numbers(element_type, 3, 4)
    yield {}, [x, scalar(1)]
    yield {"reverse": True}, [x, scalar(0)]
    yield {"exclusive": True}, [x, scalar(-1)]
    yield {"exclusive": True, "reverse": True}, [x, scalar(0)]
    yield {}, [np.array([-np.inf, -np.inf, 1, 2, -np.inf]).astype(element_type.dtype), scalar(0)]


def diagonals_times(element_type):
    rows = [numbers(element_type, 2, 1, 4, seed=n) for n in range(3)]
    yield {}, [*rows, numbers(element_type, 2, 4, 3, seed=3)]
    yield {}, [*(row[0, :, :1] for row in rows), numbers(element_type, 1, 2)]


def diagonals_solved(element_type):
    diagonals = numbers(element_type, 2, 3, 4) / 4
    diagonals[:, 1] += 9
    yield {}, [diagonals.astype(element_type.dtype), numbers(element_type, 2, 4, 3, seed=1)]
    yield {"partial_pivoting": False}, [diagonals[0].astype(element_type.dtype), numbers(element_type, 4, 1)]
    exchanged = np.array([[3, 2, 1, 0], [1, 1, 1, 1], [0, 4, 5, 6]]).astype(element_type.dtype)
    yield {}, [exchanged, numbers(element_type, 4, 2)]


def sparse(element_type):
    default = numbers(element_type)
    yield {"Tindices": INT32}, [ints(1, 3), ints(5), numbers(element_type, 2), default]
    yield {"Tindices": INT64}, [np.array([[0, 1], [2, 0]]), np.array([3, 2]), numbers(element_type, 2), default]
    yield {"Tindices": INT32}, [np.array([[1, 1]], np.int32), ints(2, 2), numbers(element_type), default]
    yield {"Tindices": INT32}, [scalar(2), ints(4), numbers(element_type, seed=1), default]


def sparse_by_dense(element_type):
    """Two elements in a row, one place twice, and none."""
    places = np.array([[0, 1], [2, 0], [2, 2], [2, 0]])
    values, x = numbers(element_type, 4), numbers(element_type, 3, 2, seed=1)
    sizes = np.array([4, 3])
    yield {"Tindices": INT64}, [places, values, sizes, x]
    yield {"Tindices": INT32, "adjoint_b": True}, [places.astype(np.int32), values, sizes, x.T.copy()]
    yield {"Tindices": INT64, "adjoint_a": True}, [places, values, np.array([3, 4]), x]
    yield {"Tindices": INT64, "adjoint_a": True, "adjoint_b": True}, [places, values, np.array([3, 4]), x.T.copy()]
    yield {"Tindices": INT64}, [places[:0], values[:0], sizes, x]


def sparse_products(element_type):
    kind = BY_NAME["bfloat16" if element_type is not F32 else "float32"]
    x, y = numbers(kind.element_type, 3, 4), numbers(F32, 4, 2, seed=1)
    yield {"Tb": BY_NAME["float32"]}, [x, y]
    yield {"Tb": BY_NAME["float32"], "transpose_a": True, "a_is_sparse": True}, [x.T.copy(), y]
    yield {"Tb": BY_NAME["float32"], "transpose_a": True, "transpose_b": True}, [x.T.copy(), y.T.copy()]


def dimensions(element_type):
    yield {}, [np.array([0, 1, 2, 3, -1, -4], element_type.dtype)]
    yield {"src_format": b"NCHW", "dst_format": b"HWNC"}, [np.array([[3, 1]], element_type.dtype)]


def rows_for_dimensions(element_type):
    yield {}, [np.array([7, 4, 9, 3], element_type.dtype)]
    yield {}, [np.arange(8).reshape(4, 2).astype(element_type.dtype)]
    yield {"src_format": b"NHWC", "dst_format": b"NCHW"}, [np.array([4, 9], element_type.dtype)]
    yield {"src_format": b"NHWC", "dst_format": b"WHCN"}, [np.arange(4).reshape(2, 2).astype(element_type.dtype)]


def near(element_type):
    x = specials(element_type)
    x = x[x == x]
    yield {}, [x, x + element_type.dtype.type(0)]
    yield {"tolerance": 0.5}, [x, (x * element_type.dtype.type(2)).astype(element_type.dtype)]


_PARAMETERS = np.array([-1, 0, 0.25, 1, 4, np.inf, np.nan])
_POINTS = np.array([-1, 0, 0.125, 1, 1.25, 7, np.inf, np.nan])


def incomplete(element_type):
    """Few points: each of them goes on until all are done."""
    a, x = _PARAMETERS.astype(element_type.dtype), _POINTS.astype(element_type.dtype)
    yield {}, [a[:, None], x[None]]
    yield {}, [a[:0], x[:0]]
    yield {}, [a[4], x[4]]


def betas(element_type):
    a, b, x = np.meshgrid([-1, 0.5, 2, np.nan], [0.0, 0.75, 9], [-1, 0, 0.25, 0.75, 1, 2, np.nan])
    yield {}, [one.astype(element_type.dtype) for one in (a, b, x)]
    yield {}, [a[0, :, 0].astype(element_type.dtype), *(np.array(one, element_type.dtype) for one in (2, 0.5))]


def zetas(element_type):
    x = np.array([-1, 0.5, 1, 1.25, 2, 3, 8, 31, np.nan]).astype(element_type.dtype)
    q = np.array([-2, -0.5, 0, 0.25, 1, 5.5, 40, np.nan]).astype(element_type.dtype)
    yield {}, [x[:, None], q[None]]


def derivatives(element_type):
    n = np.array([-1, 0, 0.5, 1, 2, 3, 7, np.nan]).astype(element_type.dtype)
    x = np.array([0.25, 1, 1.5, 4, 30, np.nan]).astype(element_type.dtype)
    yield {}, [n[:, None], x[None]]


def curves(element_type):
    """Points in every range of an approximation and at its ends, numbers below the least normal one, and none."""
    ends = [2, 2.5625**0.5, 3.25, 4, 5, 6.25, 8, 16, 32, 64]
    beyond = [1e-5, 1e-4, 2e-3, 0.75, 1.25, 1.75, 2.75, 4.5, 5.5, 11, 20, 45, 100, 1000, 36973, 36975]
    given = np.array([0, *ends, *np.nextafter(ends, 99), *beyond], element_type.dtype)
    with np.errstate(over="ignore"):
        ends = np.array([float(ml_dtypes.finfo(element_type.dtype).tiny) / 2, 2e9]).astype(element_type.dtype)
    x = np.concatenate([specials(element_type), given, -given, ends, -ends])
    yield {}, [x]
    yield {}, [np.zeros((2, 0), element_type.dtype)]
    yield {}, [np.array(0.75, element_type.dtype)]


def slices_changed(element_type):
    at = [ints(0, 1), ints(2, 4), ints(1, 1)]
    x = numbers(element_type, 3, 5)
    yield {"Index": INT32}, [x, *at, numbers(element_type, 2, 3, seed=1)]
    yield {"Index": INT32}, [x, *at, numbers(element_type, 3, seed=1)]
    yield {"Index": INT32, "shrink_axis_mask": 1}, [x, ints(1), ints(2), ints(1), numbers(element_type, 5, seed=1)]
    whole = {"begin_mask": 3, "end_mask": 3, "Index": INT64}
    yield whole, [x, *(np.array(one) for one in ([0, 0], [0, 0], [2, -2])), numbers(element_type, 2, 3, seed=1)]
    yield {"Index": INT32, "ellipsis_mask": 1}, [x, ints(0, 4), ints(0, 5), ints(1, 1), numbers(element_type, seed=1)]


def deep_scatters(element_type):
    """No place twice: the kernels may take them in any order."""
    x = numbers(element_type, 4, 3)
    yield {"Tindices": INT32}, [x, np.array([[0, 2], [3, 1]], np.int32), numbers(element_type, 2, seed=1)]
    yield {"Tindices": INT64}, [x, np.array([[2], [0]]), numbers(element_type, 2, 3, seed=1)]
    yield {"Tindices": INT32}, [x, np.zeros((0, 1), np.int32), numbers(element_type, 0, 3)]


def partitions(element_type):
    x = numbers(element_type, 5, 2)
    yield {"num_partitions": 3}, [x, ints(2, 0, 2, 0, 0)], 3
    yield {"num_partitions": 2}, [x, np.array([[1, 0], [0, 0], [1, 1], [0, 1], [1, 0]], np.int32)], 2


def differences(element_type):
    yield {"out_idx": INT32}, [np.array([3, 1, 2, 3, 4], element_type.dtype), np.array([1, 4, 9], element_type.dtype)]
    yield {"out_idx": INT64}, [np.array([3, 1], element_type.dtype), np.array([], element_type.dtype)]


def counted_segments(element_type):
    x = numbers(element_type, 5, 2)
    yield {"Tindices": INT32}, [x, ints(0, 0, 1, 3, 3), scalar(5)]


def truths(element_type):
    for array in (
        specials(element_type)[0].reshape(()),
        specials(element_type)[1].reshape(()),
        numbers(element_type, 0),
    ):
        yield {}, [array]


def nearly(element_type):
    x = np.array([[3, -1, 2.5, 7, 0.5], [1, 4, -2, 0, 9]]).astype(element_type.dtype)
    yield {"k": 3}, [x]
    yield {"k": 1, "reduction_dimension": 0, "is_max_k": False}, [x]


def boxes(element_type):
    corners = [[0, 0, 1, 1], [0, 0.125, 1, 1.125], [0, 2, 1, 3], [0, 0, 0.875, 1], [3, 3, 2, 2], [1, 1, 1, 1]]
    scores = np.array([0.75, 0.5, 0.5, 0.875, 0.125, 0.25], element_type.dtype)
    stated = {"pad_to_max_output_size": True, "T_threshold": BY_NAME["float32"]}
    for most, overlap, least in ((2, 0.5, 0.1875), (8, 0.5, 0), (3, 0.875, 0.5)):
        limits = [np.array(one, _FLOAT) for one in (overlap, least)]
        yield stated, [np.array(corners, element_type.dtype), scores, scalar(most), *limits]
    nothing = [np.zeros((0, 4), element_type.dtype), np.zeros(0, element_type.dtype), scalar(2)]
    yield stated, [*nothing, *(np.array(one, _FLOAT) for one in (0.5, 0))]


def listed(name):
    """Two arrays of one type, which are a list and become an array of arrays, or the other way round."""

    def rows(element_type):
        x, y = numbers(element_type, 2, 3), numbers(element_type, 0)
        yield {"N": 2, name: AttributeList("type", (tensor_of(x).type,) * 2)}, [x, y], 2

    return rows


def grouped(_element_type):
    for device, first in ((0, 1), (3, -1), (2, (1 << 31) - 1)):
        yield {}, [np.array([[0, 1], [3, 2]], np.int32), scalar(device), scalar(first)]
    yield {}, [np.array([[0, 1], [3, 2]], np.int32), scalar(4), scalar(1)]
    yield {}, [np.array([[0, 1]], np.int32), scalar(1), scalar(0)]


def words(_element_type):
    x = np.array([[0, 1, 0x01020304], [0xFF00FF00, 0xFFFFFFFF, 0x7F80FE01]], np.uint32)
    for low, high, turned in ((0.0, 255.0, False), (-1.5, 2.25, True)):
        yield {"min_range": low, "max_range": high, "mode": b"MIN_COMBINED", "transpose_output": turned}, [x]
    yield {"min_range": 0.0, "max_range": 1.0, "mode": b"MIN_COMBINED", "transpose_output": False}, [x[0, :0]]


_FAKE = "FakeQuantWithMinMax"
ROWS = {
    "DynamicPartition": partitions,
    "ListDiff": differences,
    "NonMaxSuppressionV4": boxes,
    "ApproxTopK": nearly,
    **{f"Segment{name}V2": counted_segments for name in ("Sum", "Prod", "Max", "Min")},
    **dict.fromkeys(("RGBToHSV", "HSVToRGB"), colours),
    "AdjustHue": changed(0.25, -0.75, 0.0, 1.5),
    "AdjustSaturation": changed(0.5, 3.0, 0.0),
    "AdjustContrastv2": contrasts,
    f"{_FAKE}Args": few_bits,
    f"{_FAKE}ArgsGradient": few_bits_back,
    f"{_FAKE}Vars": few_bits_between,
    f"{_FAKE}VarsGradient": few_bits_between_back,
    f"{_FAKE}VarsPerChannel": few_bits_by_channel,
    f"{_FAKE}VarsPerChannelGradient": few_bits_by_channel_back,
    "QuantizeAndDequantizeV2": both_ways(is_new=True),
    "QuantizeAndDequantizeV3": both_ways(is_new=False),
    "QuantizeAndDequantizeV4": both_ways(is_new=True),
    "QuantizeAndDequantizeV4Grad": both_ways_back,
    "Cross": crossed,
    "CumulativeLogsumexp": log_sums,
    "TridiagonalMatMul": diagonals_times,
    "TridiagonalSolve": diagonals_solved,
    "SparseToDense": sparse,
    "SparseTensorDenseMatMul": sparse_by_dense,
    "SparseMatMul": sparse_products,
    "DataFormatDimMap": dimensions,
    "DataFormatVecPermute": rows_for_dimensions,
    "ApproximateEqual": near,
    **dict.fromkeys(("Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad"), incomplete),
    **{f"Bessel{one}": curves for one in ("J0", "J1", "Y0", "Y1", "K0", "K1", "K0e", "K1e")},
    **dict.fromkeys(("Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"), curves),
    "_ArrayToList": listed("out_types"),
    "_ListToArray": listed("Tin"),
    "CollectiveAssignGroupV2": grouped,
    "XlaDequantize": words,
    "Betainc": betas,
    "Zeta": zetas,
    "Polygamma": derivatives,
    **dict.fromkeys(("ResourceStridedSliceAssign", "StridedSliceAssign", "TensorStridedSliceUpdate"), slices_changed),
    **{
        f"{prefix}ScatterNd{name}": deep_scatters
        for prefix in ("", "Resource")
        for name in ("Update", "Add", "Sub", "Max", "Min")
    },
}
