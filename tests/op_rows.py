"""Calls of ops that are no functions of one number or two: attributes, inputs and how many outputs, for a type."""

import numpy as np
from op_values import ints, numbers, scalar, specials

from compiler.graph import BY_NAME, AttributeList, PartialShape, tensor_of

INT32, INT64 = BY_NAME["int32"], BY_NAME["int64"]


def axes(element_type):
    x = numbers(element_type, 2, 3, 4)
    odd = specials(element_type)
    yield from (
        ({"keep_dims": keep}, [x, ints(*axes)])
        for axes, keep in (((0, 2), False), ((-1,), True), ((0,), True), ((0, 1, 2), True), ((), False))
    )
    yield {}, [odd[: odd.size // 2 * 2].reshape(2, -1), ints(1)]
    yield {}, [np.zeros((0, 3), element_type.dtype), ints(0)]
    yield {}, [np.zeros((0, 3), element_type.dtype), ints(1)]
    yield {}, [x[0, 0, 0], ints()]
    yield {"Tidx": INT64}, [x, np.array([1], np.int64)]
    yield {"keep_dims": True}, [np.zeros((0, 3), element_type.dtype), ints(0)]


def places(element_type):
    x = numbers(element_type, 3, 4)
    odd = specials(element_type)
    for axis in (0, 1, -1):
        yield {}, [x, scalar(axis)]
    yield {"output_type": INT32}, [np.concatenate([odd, odd]), scalar(0)]
    yield {}, [odd[::-1].copy(), scalar(0)]
    yield {}, [np.full(3, odd[-1]), scalar(0)]
    yield {}, [odd[-2:][::-1].copy(), scalar(0)]


def matrices(element_type):
    a, b = numbers(element_type, 3, 4), numbers(element_type, 4, 2, seed=1)
    yield {}, [a, b]
    yield {"transpose_a": True}, [a.T.copy(), b]
    yield {"transpose_b": True}, [a, b.T.copy()]
    yield {"transpose_a": True, "transpose_b": True}, [a.T.copy(), b.T.copy()]
    yield {}, [a[:, :0], b[:0]]
    yield {}, [a[:0], b]


def batches(element_type):
    x, y = numbers(element_type, 2, 3, 4), numbers(element_type, 2, 4, 2, seed=1)
    yield {}, [x, y]
    yield {"adj_x": True}, [np.swapaxes(x, 1, 2).copy(), y]
    yield {"adj_y": True}, [x, np.swapaxes(y, 1, 2).copy()]
    yield {}, [x[0], y[0]]
    yield {}, [x[:0], y[:0]]


def spread_batches(element_type):
    yield from batches(element_type)
    x, y = numbers(element_type, 2, 1, 3, 4), numbers(element_type, 5, 4, 2, seed=1)
    yield {}, [x, y]
    yield {}, [x, y[0]]


def selects(element_type):
    a, b = numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)
    mask = np.array([[True, False, True], [False, True, False]])
    yield {}, [mask, a, b]
    yield {}, [mask[0, 0], a, b]
    yield {}, [mask[:0], a[:0], b[:0]]


def old_selects(element_type):
    yield from selects(element_type)
    a, b = numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)
    yield {}, [np.array([True, False]), a, b]


def spread_selects(element_type):
    yield from selects(element_type)
    a, b = numbers(element_type, 2, 3), numbers(element_type, 3, seed=1)
    mask = np.array([[True], [False]])
    yield {}, [mask, a, b]
    yield {}, [mask[0, 0], a[0, 0], b]


def reshapes(element_type):
    x = numbers(element_type, 2, 3, 4)
    for dims in ((24,), (4, -1), (2, 1, 12), (-1,)):
        yield {}, [x, ints(*dims)]
    yield {}, [x[0, 0, 0], ints()]
    yield {}, [x[:0], ints(0, 5)]
    yield {}, [x[:0], ints(-1, 12)]
    yield {"Tshape": INT64}, [x, np.array([6, 4])]


def orders(element_type):
    x = numbers(element_type, 2, 3, 4)
    for order in ((2, 0, 1), (0, 1, 2), (-1, -2, -3)):
        yield {}, [x, ints(*order)]
    yield {}, [x[:0], ints(2, 1, 0)]
    yield {}, [x[0, 0, 0], ints()]


def squeezes(element_type):
    x = numbers(element_type, 1, 3, 1)
    yield {}, [x]
    yield {"squeeze_dims": AttributeList("i", (0,))}, [x]
    yield {"squeeze_dims": AttributeList("i", (-1,))}, [x]


def expansions(element_type):
    x = numbers(element_type, 2, 3)
    for axis in (0, 1, 2, -1, -3):
        yield {}, [x, scalar(axis)]
    yield {}, [x[0, 0], scalar(0)]


def joins(element_type):
    x, y = numbers(element_type, 2, 3), numbers(element_type, 2, 2, seed=1)
    yield {"N": 2}, [x, y, scalar(1)]
    yield {"N": 3}, [x, x[:0], x[:1], scalar(0)]
    yield {"N": 2}, [x, y, scalar(-1)]
    yield {"N": 2, "Tidx": INT64}, [x, y, np.array(1)]


def old_joins(element_type):
    x, y = numbers(element_type, 2, 3), numbers(element_type, 2, 2, seed=1)
    yield {"N": 2}, [scalar(1), x, y]
    yield {"N": 2}, [scalar(0), x, x[:0]]


def packs(element_type):
    x, y = numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)
    for axis in (0, 1, 2, -1, -3):
        yield {"N": 2, "axis": axis}, [x, y]
    yield {"N": 1}, [x[0, 0]]
    yield {"N": 2}, [x[:0], y[:0]]


def unpacks(element_type):
    x = numbers(element_type, 2, 3)
    for axis, count in ((0, 2), (1, 3), (-1, 3)):
        yield {"num": count, "axis": axis}, [x], count
    yield {"num": 2}, [x[:, :0]], 2


def splits(element_type):
    x = numbers(element_type, 2, 6)
    for axis, count in ((1, 3), (-1, 2), (0, 2), (0, 1)):
        yield {"num_split": count}, [scalar(axis), x], count
    yield {"num_split": 3}, [scalar(1), x[:0]], 3


def uneven_splits(element_type):
    x = numbers(element_type, 2, 6)
    for sizes in ((1, 2, 3), (4, -1), (0, 6), (6,)):
        yield {"num_split": len(sizes)}, [x, np.array(sizes, np.int64), scalar(1)], len(sizes)
    yield {"num_split": 2, "Tlen": INT32}, [x, ints(1, 1), scalar(-2)], 2


def parts(element_type):
    x = numbers(element_type, 3, 4)
    for begin, size in (((1, 0), (2, 3)), ((0, 2), (-1, -1)), ((3, 0), (0, 4)), ((0, 0), (3, 4))):
        yield {"Index": INT32}, [x, ints(*begin), ints(*size)]
    yield {"Index": INT64}, [x, np.array([1, 1]), np.array([1, 2])]
    yield {"Index": INT32}, [x[0, 0], ints(), ints()]


def indexings(element_type):
    x = numbers(element_type, 3, 4, 5)
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")

    def one(begin, end, step, **given):
        return {"Index": INT32, **{mask: given.get(mask, 0) for mask in masks}}, [
            x,
            ints(*begin),
            ints(*end),
            ints(*step),
        ]

    yield one((0, 1), (2, 3), (1, 1))
    yield one((0, 1), (3, 4), (2, 2))
    yield one((-1, -1), (-4, -5), (-1, -2))
    yield one((0, 0), (0, 0), (1, 1), begin_mask=3, end_mask=3)
    yield one((0, 0), (0, 0), (-1, 1), begin_mask=3, end_mask=3)
    yield one((1,), (2,), (1,), shrink_axis_mask=1)
    yield one((-1, 0), (0, 2), (1, 1), shrink_axis_mask=1)
    yield one((0, 0, 1), (0, 0, 3), (1, 1, 1), ellipsis_mask=2, shrink_axis_mask=1)
    yield one((0, 0, 1), (0, 0, 3), (1, 1, 1), ellipsis_mask=1, new_axis_mask=2)
    yield one((0, 0, 0, 0), (0, 2, 2, 2), (1, 1, 1, 1), new_axis_mask=1)
    yield one((2, 0), (1, 100), (1, 1))
    yield one((-100, 50), (100, 60), (1, 1))
    yield one((), (), ())
    yield one((0,), (0,), (1,), ellipsis_mask=1)


def pads(element_type):
    x = numbers(element_type, 2, 3)
    for rows in (((1, 2), (0, 1)), ((0, 0), (0, 0))):
        yield {}, [x, np.array(rows, np.int32)]
    yield {}, [x[:0], np.array([[1, 0], [0, 0]], np.int32)]
    yield {"Tpaddings": INT64}, [x, np.array([[0, 1], [1, 0]])]


def valued_pads(element_type):
    for attributes, (x, rows) in pads(element_type):
        yield attributes, [x, rows, specials(element_type)[1].reshape(())]


def mirrors(element_type):
    x = numbers(element_type, 3, 4)
    for mode, rows in (
        (b"REFLECT", ((1, 2), (3, 0))),
        (b"SYMMETRIC", ((3, 1), (0, 4))),
        (b"REFLECT", ((0, 0), (0, 0))),
    ):
        yield {"mode": mode}, [x, np.array(rows, np.int32)]


def tiles(element_type):
    x = numbers(element_type, 2, 3)
    for times in ((2, 1), (1, 3), (2, 2), (0, 1), (1, 1)):
        yield {}, [x, ints(*times)]
    yield {}, [x[0, 0], ints()]


def spreads(element_type):
    x = numbers(element_type, 2, 1)
    for dims in ((2, 3), (4, 2, 3), (2, 1), (2, 0)):
        yield {}, [x, ints(*dims)]
    yield {}, [x[0, 0], ints(2, 2)]


def reversals(element_type):
    x = numbers(element_type, 2, 3)
    for axes in ((0,), (1,), (-1, 0), ()):
        yield {}, [x, ints(*axes)]


def gathers(element_type):
    x, stated = numbers(element_type, 3, 4, 2), {"Tindices": INT32, "Taxis": INT32}
    deep = np.array([[0, 1], [3, 2]], np.int32)
    for axis, indices in ((0, ints(2, 0, 2)), (1, ints(3, 0)), (-1, scalar(1)), (1, deep)):
        yield stated, [x, indices, scalar(axis)]
    yield {"Tindices": INT64, "Taxis": INT32}, [x, np.array([1, 2]), scalar(0)]
    yield stated, [x, ints(), scalar(0)]
    batched, both = np.array([[0, 3], [1, 1], [2, 0]], np.int32), np.arange(12, dtype=np.int32).reshape(3, 4) % 2
    yield {**stated, "batch_dims": 1}, [x, batched, scalar(1)]
    yield {**stated, "batch_dims": 1}, [x, batched % 2, scalar(2)]
    yield from (({**stated, "batch_dims": batch}, [x, both, scalar(-1)]) for batch in (-1, -2, 2))


def old_gathers(element_type):
    x = numbers(element_type, 3, 4)
    yield {"Tindices": INT32}, [x, ints(2, 0, 2)]
    yield {"Tindices": INT64}, [x, np.array([[1, 2]])]


def deep_gathers(element_type):
    x = numbers(element_type, 3, 4)
    yield {"Tindices": INT32}, [x, np.array([[0, 1], [2, 3]], np.int32)]
    yield {"Tindices": INT32}, [x, np.array([[[2]], [[0]]], np.int32)]
    yield {"Tindices": INT64}, [x, np.zeros((2, 0), np.int64)]
    yield {"Tindices": INT32}, [x, np.zeros((0, 2), np.int32)]


def hot(element_type):
    on, off = specials(element_type)[[1, 0]]
    for axis in (-1, 0, 1):
        yield {"TI": INT32, "axis": axis}, [np.array([[0, 2], [-1, 5]], np.int32), scalar(3), on, off]
    yield {"TI": INT64}, [np.array(1), scalar(2), on, off]
    yield {"TI": INT64}, [np.array([1, 0]), scalar(0), on, off]
    yield {"TI": BY_NAME["uint8"]}, [np.array([1, 255], np.uint8), scalar(300), on, off]


def fills(element_type):
    one = specials(element_type)[1].reshape(())
    for dims in ((2, 3), (), (0, 2)):
        yield {"index_type": INT32}, [ints(*dims), one]
    yield {"index_type": INT64}, [np.array([4]), one]


def ranges(element_type):
    rows = [(0, 5, 1), (2, 11, 3), (3, 3, 1)]
    rows += [(5, 0, -2)] if element_type.is_float or element_type.is_signed else []
    rows += [(0, 1, 0.25), (0.5, 2, 0.5), (1, 0, -0.125)] if element_type.is_float else []
    for row in rows:
        yield {}, [np.array(one).astype(element_type.dtype) for one in row]


def lines(element_type):
    for start, stop, count in ((0, 1, 5), (2, -2, 3), (1, 1, 1), (0, 10, 4)):
        yield {"Tidx": INT32}, [np.array(one).astype(element_type.dtype) for one in (start, stop)] + [scalar(count)]


def asked(element_type):
    for array in (numbers(element_type, 2, 3), numbers(element_type), numbers(element_type, 0, 2)):
        yield {}, [array]


def asked_in_64(element_type):
    yield from asked(element_type)
    yield {"out_type": INT64}, [numbers(element_type, 2, 3)]


def asked_of_many(element_type):
    yield {"N": 2}, [numbers(element_type, 2, 3), numbers(element_type)], 2


def pairs_of_sizes(outputs):
    def rows(element_type):
        for left, right in (((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((4,), (4,)), ((1, 1), (1,))):
            yield {}, [np.array(left, element_type.dtype), np.array(right, element_type.dtype)], outputs

    return rows


def logits(element_type):
    rows = np.array([[0, 1, 2], [30, -30, 0], [-1, -1, -1], [5, 5.5, 4]]).astype(element_type.dtype)
    yield {}, [rows]
    yield {}, [rows[0]]
    yield {}, [rows.reshape(2, 2, 3)]
    yield {}, [rows[:0]]


def losses(element_type):
    (rows,) = next(logits(element_type))[1]
    labels = np.array([[0, 1, 0], [0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 1]]).astype(element_type.dtype)
    yield {}, [rows, labels], 2
    yield {}, [rows, labels[:1]], 2
    yield {}, [rows[:0], labels[:0]], 2


def numbered_losses(element_type):
    (rows,) = next(logits(element_type))[1]
    yield {}, [rows, np.array([0, 2, 1, 1])], 2
    yield {"Tlabels": INT32}, [rows, ints(0, 2, 1, 1)], 2


def biases(element_type):
    x = numbers(element_type, 2, 3, 2, 4)
    yield {}, [x, numbers(element_type, 4, seed=1)]
    yield {"data_format": b"NCHW"}, [x, numbers(element_type, 3, seed=1)]
    yield {}, [x[0, 0], numbers(element_type, 4, seed=1)]
    yield {}, [x[:0], numbers(element_type, 4, seed=1)]


def plain_biases(element_type):
    x = numbers(element_type, 2, 3)
    yield {}, [x, numbers(element_type, 3, seed=1)]


def bias_gradients(element_type):
    x = numbers(element_type, 2, 3, 2, 4)
    yield {}, [x]
    yield {"data_format": b"NCHW"}, [x]
    yield {}, [x[0, 0]]


def sums(element_type):
    x, y = numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)
    yield {"N": 2}, [x, y]
    yield {"N": 1}, [x]
    yield {"N": 3}, [x[0, 0], y[0, 0], x[1, 1]]


def clips(element_type):
    x = specials(element_type)
    low, high = np.array(1 if not element_type.is_signed else -1), np.array(2)
    yield {}, [x, low.astype(x.dtype), high.astype(x.dtype)]


def leaks(element_type):
    yield {}, [specials(element_type)]
    yield {"alpha": 1.5}, [specials(element_type)]
    yield {"alpha": -0.5}, [specials(element_type)]


def constants(element_type):
    for array in (numbers(element_type, 2, 3), numbers(element_type), numbers(element_type, 0, 2)):
        yield {"value": tensor_of(array)}, []


def defaults(element_type):
    yield {"shape": PartialShape(None)}, [numbers(element_type, 2, 3)]
    yield {"shape": PartialShape((2, 3))}, [numbers(element_type, 2, 3)]


def many(element_type):
    x, y = numbers(element_type, 2, 3), ints(1, 2)
    yield {"T": AttributeList("type", (tensor_of(x).type, INT32))}, [x, y], 2


def checked(element_type):
    yield {"message": b"wrong"}, [numbers(element_type, 2, 3)]


def empties(_element_type):
    yield {"init": True}, [np.array([2, 3], np.int32)]
