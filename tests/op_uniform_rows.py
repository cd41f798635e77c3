"""Calls of ops on whole numbers that stand for floats, which are made of their bits and read as these."""

import numpy as np
from op_case import Case
from op_values import numbers, specials
from op_xla_rows import message

from compiler.graph import BY_NAME, AttributeList, Node
from compiler.ir.types import F32, S8, S32
from compiler.tf2xla import RECORDS

Q8, U8, Q32 = (BY_NAME[name] for name in ("qint8", "quint8", "qint32"))
FLOAT = BY_NAME["float32"]
_RANGES = {Q8: (-128, 127), U8: (0, 255), Q32: (-(2**31), 2**31 - 1)}
_SCALES, _ZEROS = np.array([0.25, 1.5, 3e-3], np.float32), np.array([3, -7, 100], np.int32)


def _range(name, kind, axis=-1, narrow=0):
    low, high = _RANGES[kind]
    return {
        f"{name}quantization_axis": axis,
        f"{name}quantization_min_val": low + narrow,
        f"{name}quantization_max_val": high - narrow,
    }


def _one(scale, zero):
    return [np.array(scale, np.float32), np.array(zero, np.int32)]


def _called(name, number, kind, attributes, inputs, kinds):
    """A call; `kinds` are the types of the inputs and of the result that are no arrays' own."""
    *given, gives = kinds
    before = tuple(
        Node(f"made{n}", "Bitcast", (f"in{n}",), "", {"T": BY_NAME[str(one)[1:]], "type": one})
        for n, one in enumerate(given)
        if one is not None
    )
    quantized = [n for n, one in enumerate(given) if one is not None]
    takes = tuple(f"made{n}" if n in quantized else f"in{n}" for n in range(len(inputs)))
    ports = RECORDS[name].signature.inputs
    known = tuple(n for n, port in enumerate(ports) if port.name in RECORDS[name].constants)
    after = (Node("read", "Bitcast", ("op",), "", {"T": gives, "type": BY_NAME[str(gives)[1:]]}),) if gives else ()
    return Case(f"{name}/{kind}/{number}", name, attributes, inputs, 1, known, before, takes, after)


def _each(name, kind, calls):
    return [_called(name, number, kind, *one) for number, one in enumerate(calls)]


def quantized(name):
    x = specials(F32)
    x = np.concatenate([x[np.isfinite(x)], np.array([1e-40, 0.125, 0.375, -0.125, 1e5, -1e5], np.float32)])
    found = []
    for kind in (Q8, U8, Q32):
        types = {"Tin": FLOAT, "Tout": kind}
        calls = [
            ({**types, **_range("", kind)}, [x, *_one(0.25, 3)], [None, kind]),
            ({**types, **_range("", kind, narrow=1)}, [x[:0].reshape(0, 2), *_one(2e-3, -5)], [None, kind]),
            ({**types, **_range("", kind, 1)}, [np.resize(x, (4, 3, 2)), _SCALES, _ZEROS], [None, kind]),
            ({**types, **_range("", kind, 0)}, [np.resize(x, (3, 5)), _SCALES, _ZEROS], [None, kind]),
        ]
        found += _each(name, kind, calls)
    return found


def dequantized(name):
    found = []
    for kind in (Q8, U8, Q32):
        x, types = specials(kind.element_type), {"Tin": kind, "Tout": FLOAT}
        calls = [
            ({**types, **_range("", kind)}, [x, *_one(0.3, 3)], [kind, None]),
            ({**types, **_range("", kind)}, [x[:0], *_one(1e-3, -128)], [kind, None]),
            ({**types, **_range("", kind, 1)}, [np.resize(x, (2, 3, 4)), _SCALES, _ZEROS], [kind, None]),
        ]
        found += _each(name, kind, calls)
    return found


def requantized(name):
    found = []
    for kind in (Q8, Q32):
        x = specials(kind.element_type)
        x = x // 16 if kind is Q32 else x  # what overflows before it is multiplied is not defined in the kernel
        wide, types = np.resize(x, (3, 5)), {"Tin": kind, "Tout": Q8}
        for number, (axes, factors) in enumerate(
            (
                ((-1, -1), (_one(0.25, 3), _one(0.5, -1))),
                ((-1, -1), (_one(3e-9, 0), _one(40, 5))),
                ((-1, -1), (_one(1e9, 0), _one(1e-3, 5))),
                ((0, -1), ([_SCALES, _ZEROS], _one(0.125, 2))),
                ((-1, 0), (_one(0.125, 2), [_SCALES, _ZEROS])),
                ((0, 0), ([_SCALES, _ZEROS], [_SCALES[::-1].copy(), _ZEROS])),
            )
        ):
            stated = {**types, **_range("input_", kind, axes[0]), **_range("output_", Q8, axes[1])}
            found.append(_called(name, number, kind, stated, [wide, *factors[0], *factors[1]], [kind, Q8]))
    return found


def _three(axes, kinds):
    return {
        key: one
        for side, kind, axis in zip(("lhs_", "rhs_", "output_"), kinds, axes, strict=True)
        for key, one in _range(side, kind, axis).items()
    }


def sums(name):
    x, y = (numbers(S32, *dims, seed=n) * 1000 for n, dims in enumerate(((2, 3), (3,))))
    vectors, alike = [_SCALES, _ZEROS], [_SCALES[::-1].copy(), _ZEROS[::-1].copy()]
    one = [*_one(0.25, 3), *_one(0.5, -1), *_one(0.125, 7)]
    calls = [
        ((-1, -1, -1), x, y, one),
        ((-1, -1, -1), x[:, :1], x[:1], one),
        ((-1, -1, -1), np.array(5, np.int32), x[:0], one),
        ((1, 1, 1), x, -x, [*vectors, *alike, *vectors]),
        ((1, 0, -1), x, y, [*vectors, *alike, *_one(0.125, 7)]),
    ]
    return _each(
        name,
        Q32,
        [({"T": Q32, **_three(axes, (Q32,) * 3)}, [a, b, *given], [Q32, Q32, Q32]) for axes, a, b, given in calls],
    )


def limited(name):
    x = np.resize(specials(S32), (3, 5))
    ends = [np.array(one, np.int32) for one in (-5, 90)]
    lists = [np.array(one, np.int32) for one in ([-5, 0, 2], [90, 1, 1])]
    calls = [
        ({"T": Q32, **_range("", Q32)}, [x, *ends, *_one(0.5, 3)], [Q32, Q32, Q32, Q32]),
        ({"T": Q32, **_range("", Q32, 0)}, [x, *lists, _SCALES, _ZEROS], [Q32, Q32, Q32, Q32]),
    ]
    return _each(name, Q32, calls)


_MIXED = {"Tin": Q8, "Tout": Q32}
_AS_MATRIX = [Q8, Q8, Q32]


def products(name):
    x, y = numbers(S8, 2, 4) * 12, numbers(S8, 4, 3, seed=1) * 11
    calls = [
        ((-1, -1, -1), [x, y, *_one(0.25, 3), *_one(0.5, -1), *_one(0.003, 7)]),
        ((-1, 1, -1), [x, y, *_one(0.25, 3), _SCALES, _ZEROS, *_one(0.01, 7)]),
        ((-1, 1, 1), [x, y, *_one(0.25, -128), _SCALES, _ZEROS, _SCALES[::-1].copy(), _ZEROS]),
        ((-1, -1, -1), [x[:, :0], y[:0], *_one(0.25, 3), *_one(0.5, -1), *_one(0.003, 7)]),
    ]
    return _each(name, Q8, [({**_MIXED, **_three(axes, (Q8, Q8, Q32))}, inputs, _AS_MATRIX) for axes, inputs in calls])


def _ints(*values):
    return AttributeList("i", values)


_LAST = message(f1=0, f2=3, f3=(1, 2), f4=2, f5=3, f6=(0, 1), f7=0, f8=3, f9=(1, 2))
"""Channels behind, filters with their channels behind, as TensorFlow has images."""


def convolutions(name):
    x, y = numbers(S8, 2, 4, 5, 4) * 12, numbers(S8, 6, 4, 2, 3, seed=1) * 11
    one = [*_one(0.25, 3), *_one(0.5, -1), *_one(0.003, 7)]
    filters = np.resize(_SCALES, 6), np.resize(_ZEROS, 6)
    none = (-1, -1, -1)
    calls = [
        (none, {"padding": b"VALID"}, [x, y, *one]),
        (none, {"padding": b"SAME", "window_strides": _ints(2, 1), "rhs_dilation": _ints(1, 2)}, [x, y, *one]),
        (
            none,
            {"padding": b"EXPLICIT", "explicit_padding": _ints(1, 0, 2, 3), "lhs_dilation": _ints(2, 3)},
            [x, y, *one],
        ),
        (none, {"padding": b"VALID", "feature_group_count": 2}, [x, y[:, :2].copy(), *one]),
        (none, {"padding": b"SAME", "batch_group_count": 2}, [x, y, *one]),
        ((-1, 0, -1), {"padding": b"SAME"}, [x, y, *one[:2], *filters, *one[4:]]),
        ((-1, 0, 1), {"padding": b"VALID"}, [x, y, *one[:2], *filters, filters[0][::-1].copy(), filters[1]]),
        (
            none,
            {"padding": b"SAME", "dimension_numbers": _LAST},
            [numbers(S8, 1, 4, 3, 2) * 12, numbers(S8, 3, 2, 2, 4, seed=1) * 11, *one],
        ),
        (
            (-1, 3, 3),
            {"padding": b"VALID", "dimension_numbers": _LAST},
            [
                numbers(S8, 1, 4, 3, 2) * 12,
                numbers(S8, 3, 2, 2, 3, seed=1) * 11,
                *one[:2],
                _SCALES,
                _ZEROS,
                _SCALES,
                _ZEROS,
            ],
        ),
        (none, {"padding": b"VALID"}, [x[0], y[:, :, 0].copy()[:, :4], *one]),
    ]
    return _each(
        name,
        Q8,
        [({**_MIXED, **_three(axes, (Q8, Q8, Q32)), **stated}, inputs, _AS_MATRIX) for axes, stated, inputs in calls],
    )


ROWS = {
    "UniformQuantize": quantized,
    "UniformDequantize": dequantized,
    "UniformRequantize": requantized,
    "UniformQuantizedAdd": sums,
    "UniformQuantizedClipByValue": limited,
    "UniformQuantizedDot": products,
    "UniformQuantizedConvolution": convolutions,
}
