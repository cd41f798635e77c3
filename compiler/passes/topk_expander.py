"""Replace top-k by a sort of each row with its indices, of which the first k are kept.

topk orders floats by their total order and breaks ties by the lower index; a stable sort of (value, index) by the value
does the same.  XLA's custom call of that name is the same op.
"""

from __future__ import annotations

from compiler.expansion.replacement import expand
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Attributes, Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, TupleShape, leaves
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build, parameter
from compiler.ops.sorting import check_order


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, {"topk": _topk, "custom-call": _custom_call})


def _topk(topk: Instruction) -> Instruction:
    return _sorted(topk, topk.attributes["k"], is_largest=topk.attributes.get("largest", True))


def _custom_call(call: Instruction) -> Instruction | None:
    is_topk = call.attributes["custom_call_target"] == "TopK" and len(call.operands) == 1
    if not is_topk or not isinstance(call.shape, TupleShape):
        return None
    return _sorted(call, next(leaves(call.shape)).dims[-1], is_largest=True)


def _sorted(topk: Instruction, k: int, *, is_largest: bool) -> Instruction:
    check_order(topk)
    (operand,), computation = topk.operands, topk.computation
    assert computation.module is not None
    shape = operand.array
    last = shape.rank - 1
    order = _comparator(computation.module, shape.element_type, is_largest=is_largest)
    numbers = build(computation, "iota", shape=ArrayShape(S32, shape.dims), iota_dimension=last)
    ordered = build(
        computation, "sort", [operand, numbers], dimensions=(last,), to_apply=order, is_stable=True, name=topk.name
    )
    kept = [SliceDimension(0, size) for size in (*shape.dims[:-1], k)]
    results = [build(computation, "get-tuple-element", [ordered], index=index) for index in (0, 1)]
    return build(computation, "tuple", [build(computation, "slice", [result], slice=tuple(kept)) for result in results])


def _comparator(module: Module, element_type: ElementType, *, is_largest: bool) -> Computation:
    """Whether the first value goes before the second; parameters are two values and two indices."""
    computation = Computation("topk.order")
    types = (element_type, element_type, S32, S32)
    left, right, *_ = (parameter(computation, number, ArrayShape(type_, ())) for number, type_ in enumerate(types))
    attributes: Attributes = {"direction": "GT" if is_largest else "LT"}
    if element_type.is_float:
        attributes["type"] = "TOTALORDER"
    computation.root = build(computation, "compare", [left, right], **attributes)
    return module.add_computation(computation)
