"""Boxes of images that do not overlap much, the ones with the best scores first.

How many there are depends on values: they are given out in an array of the size that is asked for, with zeros behind,
and what a host runs op by op cuts it.
"""

from __future__ import annotations

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, element, iota, rows_of
from compiler.expansion.matrices import only
from compiler.graph import PartialShape
from compiler.ir.types import F32, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.ordering import descending
from compiler.tf2xla.ops.reductions import moved
from compiler.tf2xla.record import Trait, record, table, with_shapes
from compiler.tf2xla.scattering import scattered


def _overlaps(boxes: Expression) -> Expression:
    """Of each two boxes the part of both of the part of either; corners may stand in any order."""
    count = boxes.dims[0]
    y0, x0, y1, x1 = (boxes.slice((0, count), (n, n + 1)).reshape(count) for n in range(4))
    corners = [(a.apply("minimum", b), a.apply("maximum", b)) for a, b in ((y0, y1), (x0, x1))]
    area = (corners[0][1] - corners[0][0]) * (corners[1][1] - corners[1][0])
    dims = (count, count)
    inside = None
    for low, high in corners:
        start = low.spread(dims, [0]).apply("maximum", low.spread(dims, [1]))
        end = high.spread(dims, [0]).apply("minimum", high.spread(dims, [1]))
        length = (end - start).apply("maximum", 0)
        inside = length if inside is None else inside * length
    assert inside is not None
    first, second = area.spread(dims, [0]), area.spread(dims, [1])
    found = inside / (first + second - inside)
    is_flat = first.compare("LE", 0) | second.compare("LE", 0)
    return is_flat.where(found.literal(0).spread(dims, ()), found)


def _padded(operation: Operation) -> list[Expression]:
    if not operation.attribute("pad_to_max_output_size"):
        raise operation.unsupported("how many boxes there are depends on values: set pad_to_max_output_size")
    return _chosen(operation)


def _known(operation: Operation) -> Expression:
    """Those that there are, where what they are chosen from is known when the graph is compiled."""
    numbers, count = _chosen(operation)
    known = operation.library.value(count)
    if known is None:
        raise operation.unsupported("how many boxes there are depends on values: take NonMaxSuppressionV4, padded")
    return numbers.slice((0, int(known)))


def _chosen(operation: Operation) -> list[Expression]:
    """The numbers of the boxes, with zeros behind, and how many there are."""
    boxes, scores = operation["boxes"].to(F32), operation["scores"].to(F32)
    count = boxes.dims[0] if boxes.dims else 0
    fits = boxes.dims == (count, 4) and scores.dims == (count,)
    operation.require(fits, lambda: f"{list(scores.dims)} are no scores of boxes {list(boxes.dims)}")
    most = operation.integer("max_output_size")
    operation.require(most >= 0, f"it asks for {most} boxes")
    if not count or not most:
        return [operation.full(0, S32, (most,)), operation.number(0, S32)]
    numbers = iota(operation.computation, S32, (count,))
    operands = [scores.instruction, numbers.instruction]
    order = descending(operation, F32)
    pair = build(operation.computation, "sort", operands, dimensions=(0,), is_stable=True, to_apply=order)
    ranked, numbers = (Expression(element(pair, n)) for n in (0, 1))
    overlap = _overlaps(rows_of(boxes, numbers.reshape(count, 1)))
    too_much = overlap.compare("GT", operation["iou_threshold"].to(F32))
    start = ranked.compare("GT", operation["score_threshold"].to(F32))

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        kept, too_much = state
        behind = iota(kept.instruction.computation, S32, (count,)).compare("GT", k)
        falls = _row(too_much, k) & behind & only(kept.reshape(1, count), k).reshape().spread((count,), ())
        return [kept & falls.apply("not"), too_much]

    kept = counted_loop("boxes", count, [start, too_much], step)[0]
    rank = kept.to(S32)
    by = 1
    while by < count:
        rank = rank + moved(rank, 0, by, 0, is_back=False)
        by *= 2
    total = rank.slice((count - 1, count)).reshape().apply("minimum", most)
    target = kept.where(rank - 1, rank.literal(most))
    return [scattered(operation.full(0, S32, (most,)), target.reshape(count, 1), numbers, None), total]


def _row(matrix: Expression, number: Expression) -> Expression:
    size = matrix.dims[1]
    zero = number.literal(0)
    operands = [matrix.instruction, number.instruction, zero.instruction]
    found = build(matrix.instruction.computation, "dynamic-slice", operands, dynamic_slice_sizes=(1, size))
    return Expression(found).reshape(size)


_GIVEN = "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold"
_TYPES = "T: {float16 float32} = float32; T_threshold: {float16 float32} = float32"
RECORDS = table(
    with_shapes(
        record(
            "NonMaxSuppressionV3",
            f"{_GIVEN} -> selected_indices: int32; {_TYPES}",
            _known,
            "The numbers of boxes that overlap no better one much.",
            ("max_output_size",),
            Trait.HOST,
        ),
        lambda _: [PartialShape((None,))],
    ),
    record(
        "NonMaxSuppressionV4",
        f"{_GIVEN} -> selected_indices: int32, valid_outputs: int32; {_TYPES}; pad_to_max_output_size: bool = false",
        _padded,
        "The numbers of boxes that overlap no better one much, and how many there are.",
        constants=("max_output_size",),
    ),
)
