"""Calls of ops that put elements at places, order them, or see them as others."""

import numpy as np
from op_case import types_of
from op_values import ints, numbers, scalar, specials

from compiler.graph import BY_NAME, PartialShape

INT32, INT64 = BY_NAME["int32"], BY_NAME["int64"]
BACK = {"Tindices": INT32}


def segments(element_type):
    x = numbers(element_type, 4, 3)
    yield BACK, [x, ints(2, 0, 2, -1), scalar(4)]
    yield BACK, [x[0], ints(1, 1, 0), scalar(2)]
    yield {"Tindices": INT64}, [x, np.array([[0, 1, 1], [2, 0, 1], [1, 1, 1], [0, 0, 2]]), scalar(3)]
    yield BACK, [x[:0], ints(), scalar(2)]
    yield {**BACK, "Tnumsegments": INT64}, [x, ints(0, 0, 0, 0), np.array(1)]


def scatters(element_type):
    updates = numbers(element_type, 3, 2)
    yield BACK, [np.array([[4], [0], [2]], np.int32), updates, ints(5, 2)]
    yield BACK, [np.array([[1, 1], [0, 0]], np.int32), updates[0], ints(2, 3)]
    yield {"Tindices": INT64}, [np.array([[1], [1], [3]]), updates, np.array([4, 2])]
    yield BACK, [np.zeros((0, 1), np.int32), updates[:0], ints(3, 2)]


def whole_scatters(element_type):
    """No place twice where the kernels' order decides."""
    x, updates = numbers(element_type, 5, 2), numbers(element_type, 3, 2, seed=1)
    yield BACK, [x, np.array([[4], [0], [2]], np.int32), updates]
    yield BACK, [x, np.array([[1, 1], [0, 0]], np.int32), updates[0]]
    yield {"Tindices": INT64}, [x, np.array([[3]]), updates[:1]]
    yield BACK, [x, np.zeros((0, 1), np.int32), updates[:0]]


def stitches(element_type):
    x, y = numbers(element_type, 2, 3), numbers(element_type, 2, 2, 3, seed=1)
    yield {"N": 2}, [ints(3, 0), np.array([[1, 2], [5, 4]], np.int32), x, y]
    yield {"N": 2}, [ints(1), scalar(0), x[:1], x[1]]
    yield {"N": 2}, [ints(0, 1), ints(1, 2), x, y[0]]


def inverses(element_type):
    yield {}, [np.array([2, 0, 3, 1], element_type.dtype)]
    yield {}, [np.array([], element_type.dtype)]


def tops(element_type):
    x = numbers(element_type, 3, 5)
    for number in (3, 0, 5):
        yield {}, [x, scalar(number)], 2
    yield {"index_type": INT64}, [x[0], scalar(2)], 2
    whole = specials(element_type)
    yield {}, [whole[~np.isnan(whole.astype(np.float64))], scalar(4)], 2


def among(element_type):
    x = numbers(BY_NAME["float32"].element_type, 4, 5)
    odd = np.array([[1, np.inf, 2], [np.nan, 1, 2], [1, 2, 3], [3, 2, 2]], np.float32)
    for number in (1, 2, 4):
        yield {}, [x, np.array([0, 3, 4, 1], element_type.dtype), np.array(number, element_type.dtype)]
    yield {}, [x, np.array([-1, 5, 2, 100], element_type.dtype), np.array(5, element_type.dtype)]
    yield {}, [odd, np.array([0, 1, 2, 2], element_type.dtype), np.array(2, element_type.dtype)]


def stated_among(element_type):
    for _, (x, targets, number) in among(element_type):
        yield {"k": int(number)}, [x, targets]


def runs(element_type):
    x = numbers(element_type, 3, 5)
    for axis, exclusive, reverse in ((0, False, False), (1, True, False), (-1, False, True), (1, True, True)):
        yield {"exclusive": exclusive, "reverse": reverse}, [x, scalar(axis)]
    yield {}, [x[:, :0], scalar(1)]


def parts_back(element_type):
    for number, (begin, end, strides, masks) in enumerate(
        (
            ([1, 0], [3, 4], [1, 2], {}),
            ([0, 3], [4, 0], [1, -2], {"begin_mask": 1, "end_mask": 1}),
            ([2], [3], [1], {"shrink_axis_mask": 1}),
            ([0, 1], [0, 3], [1, 1], {"ellipsis_mask": 1}),
            ([0, 0], [0, 0], [1, 1], {"new_axis_mask": 1, "begin_mask": 2, "end_mask": 2}),
            ([3, 1], [1, 1], [1, 1], {}),
        )
    ):
        index = np.zeros((4, 5))
        dims = index[_python(begin, end, strides, masks)].shape
        given = [ints(4, 5), ints(*begin), ints(*end), ints(*strides), numbers(element_type, *dims, seed=number)]
        yield {"Index": INT32, **masks}, given


def _python(begin, end, strides, masks):
    """The same index as Python writes it."""
    index = []
    for number, row in enumerate(zip(begin, end, strides, strict=True)):
        first, last, step = row

        def has(name, number=number):
            return masks.get(f"{name}_mask", 0) >> number & 1

        if has("ellipsis"):
            index.append(...)
        elif has("new_axis"):
            index.append(None)
        elif has("shrink_axis"):
            index.append(first)
        else:
            index.append(slice(None if has("begin") else first, None if has("end") else last, step))
    return tuple(index)


def mirrors_back(element_type):
    x = numbers(element_type, 6, 7)
    for mode in ("REFLECT", "SYMMETRIC"):
        yield {"mode": mode.encode()}, [x, np.array([[1, 1], [2, 0]], np.int32)]
        yield {"mode": mode.encode(), "Tpaddings": INT64}, [x[0], np.array([[2, 2]])]


def offsets(element_type):
    dtype = element_type.dtype
    yield {"N": 2}, [scalar(1), np.array([2, 3], dtype), np.array([2, 5], dtype)], 2
    yield {"N": 3}, [scalar(-1), *[np.array([4], dtype)] * 3], 3


def bands(element_type):
    x = numbers(element_type, 2, 4, 5)
    for below, above in ((0, 0), (1, 2), (-1, 1), (2, -1), (-1, -1)):
        yield {}, [x, np.array(below), np.array(above)]


def turns(element_type):
    x = numbers(element_type, 3, 4)
    types = {"Tshift": INT32, "Taxis": INT32}
    for shifts, axes in (((1,), (0,)), ((-3, 6), (1, 0)), ((2, 3), (1, 1)), ((0,), (-1,))):
        yield types, [x, ints(*shifts), ints(*axes)]


def ensured(element_type):
    yield {"shape": PartialShape((None, 3))}, [numbers(element_type, 2, 3)]
    yield {"shape": PartialShape(None)}, [numbers(element_type)]


def complexes(element_type):
    parts = specials(element_type)
    target = "complex64" if element_type.bits == 32 else "complex128"
    yield {"Tout": BY_NAME[target]}, [parts[:, None], parts[None]]


def complex_parts(element_type):
    target = "float32" if element_type.bits == 64 else "float64"
    yield {"Tout": BY_NAME[target]}, [specials(element_type)]


def leaks_back(element_type):
    x, g = (one.copy() for one in np.meshgrid(specials(element_type)[:18], specials(element_type)[:18], indexing="ij"))
    yield {}, [g, x]
    yield {"alpha": 0.5}, [g, x]


def bits(element_type):
    x = numbers(element_type, 3, 8)
    for target in types_of("Bitcast", "type"):
        kind = target.element_type
        if kind.is_complex or element_type.is_complex or kind.bits // element_type.bits > 8:
            continue
        ratio = max(1, kind.bits // element_type.bits)
        yield {"type": target}, [x[:, :ratio]]


def ranked(element_type):
    for number in (0, 2):
        for reverse in (False, True):
            yield {"reverse": reverse}, [numbers(element_type, 2, 3, 5), scalar(number)]


ROWS = {
    "ScatterNd": scatters,
    "DynamicStitch": stitches,
    "InvertPermutation": inverses,
    "TopKV2": tops,
    "NthElement": ranked,
    "InTopKV2": among,
    "InTopK": stated_among,
    "StridedSliceGrad": parts_back,
    "MirrorPadGrad": mirrors_back,
    "MatrixBandPart": bands,
    "Roll": turns,
    "EnsureShape": ensured,
    "Complex": complexes,
    "LeakyReluGrad": leaks_back,
    "Bitcast": bits,
}
"""The calls of ops whose type is that of the attribute `T`, in all its types."""
