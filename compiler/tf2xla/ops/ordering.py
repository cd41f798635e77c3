"""The greatest elements, and whether one is among them; NaN is neither greater nor less than any."""

from __future__ import annotations

from compiler.expansion.expression import Expression, element, iota
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table


def _greatest(operation: Operation) -> list[Expression]:
    count = operation.integer("k")
    return _first(operation, count, operation.type("index_type"))


def _nearly_greatest(operation: Operation) -> list[Expression]:
    """All of them: nothing here is gained by leaving some out."""
    if not operation.attribute("aggregate_to_topk") or operation.attribute("reduction_input_size_override") >= 0:
        raise operation.unsupported("there are no parts here of which each has its greatest")
    axis = operation.axis(operation.attribute("reduction_dimension"), len(operation["input"].dims))
    return _first(operation, operation.attribute("k"), S32, axis, is_greatest=operation.attribute("is_max_k"))


def _of_rank(operation: Operation) -> Expression:
    """The element that as many of its row are less than as it is said, or greater."""
    x, number = operation["input"], operation.integer("n")
    operation.require(x.dims and 0 <= number < x.dims[-1], lambda: f"rows of {list(x.dims)} have no element {number}")
    ordered, _ = _first(operation, number + 1, S32, is_greatest=operation.attribute("reverse"))
    kept = ((0, size) for size in x.dims[:-1])
    return ordered.slice(*kept, (number, number + 1)).reshape(*x.dims[:-1])


def _first(
    operation: Operation, count: int, index_type: ElementType, axis: int = -1, *, is_greatest: bool = True
) -> list[Expression]:
    """The greatest of each row, or the least, in order, of equal ones the first."""
    x = operation["input"]
    operation.require(x.dims, "it takes rows, not a scalar")
    last = axis % len(x.dims)
    fits = 0 <= count <= x.dims[last]
    operation.require(fits, lambda: f"it takes the {count} greatest of {x.dims[last]}")
    positions = iota(operation.computation, S32, x.dims, last)
    pair = build(
        operation.computation,
        "sort",
        [x.instruction, positions.instruction],
        dimensions=(last,),
        is_stable=True,
        to_apply=descending(operation, x.type, "GT" if is_greatest else "LT"),
    )
    kept = [(0, count if number == last else size) for number, size in enumerate(x.dims)]
    values, indices = (Expression(element(pair, number)).slice(*kept) for number in (0, 1))
    return [values, indices.to(index_type)]


def descending(operation: Operation, element_type: ElementType, direction: str = "GT") -> Computation:
    """The order of numbers with their places, the greatest first.

    Args:
        operation: whose module gets the computation.
        element_type: of the numbers.
        direction: of the comparison, `LT` for the least first.
    """
    order = Computation("descending")
    kinds = [ArrayShape(kind, ()) for kind in (element_type, element_type, S32, S32)]
    left, right, *_ = [Expression(parameter(order, number, kind)) for number, kind in enumerate(kinds)]
    order.root = left.compare(direction, right).instruction
    return operation.module.add_computation(order)


def _among(operation: Operation) -> Expression:
    return _is_among(operation, operation["k"])


def _among_stated(operation: Operation) -> Expression:
    targets = operation["targets"]
    return _is_among(operation, targets.literal(operation.attribute("k")))


def _is_among(operation: Operation, count: Expression) -> Expression:
    """Whether fewer than k elements of its row are greater than the target, which must be there and finite.

    An element that is not finite makes its row false, as it does in the kernels.
    """
    x, targets = operation["predictions"], operation["targets"]
    fits = len(x.dims) == 2 and targets.dims == x.dims[:1]
    operation.require(fits, lambda: f"{list(targets.dims)} are not the targets of rows of {list(x.dims)}")
    positions = iota(operation.computation, targets.type, x.dims, 1)
    hot = targets.spread(x.dims, [0]).compare("EQ", positions)
    chosen = hot.where(x, x.literal(0).spread(x.dims, ())).sum(1)
    ahead = x.compare("GT", chosen.spread(x.dims, [0]))
    number = ahead.to(count.type).sum(1)
    inside = targets.compare("GE", 0) & targets.compare("LT", x.dims[1])
    all_finite = x.apply("is-finite").to(S32).sum(1).compare("EQ", x.dims[1])
    return number.compare("LT", count) & inside & all_finite


RECORDS = table(
    record(
        "TopKV2",
        "input: T, k: Tk -> values: T, indices: index_type; sorted: bool = true; T: {reals}; "
        "Tk: {index int16} = int32; index_type: {index int16} = int32",
        _greatest,
        "The greatest of each row, and where they stand.",
        constants=("k",),
    ),
    record(
        "ApproxTopK",
        "input: T -> values: T, indices: int32; k: int; reduction_dimension: int = -1; recall_target: float = 0.95; "
        "is_max_k: bool = true; reduction_input_size_override: int = -1; aggregate_to_topk: bool = true; "
        "T: {bfloat16 float16 float32}",
        _nearly_greatest,
        "The greatest, or the least, along a dimension, nearly all of them.",
    ),
    record(
        "NthElement",
        "input: T, n: int32 -> values: T; reverse: bool = false; T: {reals}",
        _of_rank,
        "The element of each row that comes at a place in its order.",
        constants=("n",),
    ),
    record(
        "InTopKV2",
        "predictions: float32, targets: T, k: T -> precision: bool; T: {index} = int32",
        _among,
        "Whether a target is among the greatest of its row.",
    ),
    record(
        "InTopK",
        "predictions: float32, targets: T -> precision: bool; k: int; T: {index} = int32",
        _among_stated,
        "The same, under its older name.",
    ),
)
