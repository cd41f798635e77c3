"""Replace top-k by a sort of each row with its indices, of which the first k are kept.

topk orders floats by their total order and breaks ties by the lower index; a stable sort of (value, index) by the value
does the same.
"""

from __future__ import annotations

from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Attributes, Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build, parameter


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in list(module.computations):
        for topk in [i for i in computation.instructions if i.opcode == "topk"]:
            if fuel.spend("topk to sort", topk, required=True):
                topk.replace_uses_with(_expand(module, computation, topk))
                computation.sort()
                computation.remove([topk])
                changed = True
    return changed


def _expand(module: Module, computation: Computation, topk: Instruction) -> Instruction:
    (operand,) = topk.operands
    shape = operand.array
    last = shape.rank - 1
    order = _comparator(module, shape.element_type, is_largest=topk.attributes.get("largest", True))
    numbers = build(computation, "iota", shape=ArrayShape(S32, shape.dims), iota_dimension=last)
    ordered = build(
        computation, "sort", [operand, numbers], dimensions=(last,), to_apply=order, is_stable=True, name=topk.name
    )
    kept = [SliceDimension(0, size) for size in (*shape.dims[:-1], topk.attributes["k"])]
    parts = [build(computation, "get-tuple-element", [ordered], index=index) for index in (0, 1)]
    return build(computation, "tuple", [build(computation, "slice", [part], slice=tuple(kept)) for part in parts])


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
