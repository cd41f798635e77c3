"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.gradients.spreading import conj
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Output

# Of each factor: first and second factor of its gradient (g: the result's), and which of them are transposed.
_TRANSPOSED = {
    (False, False): (("g", "b", False, True), ("a", "g", True, False)),
    (False, True): (("g", "b", False, False), ("g", "a", True, False)),
    (True, False): (("b", "g", False, True), ("a", "g", False, False)),
    (True, True): (("b", "g", True, True), ("g", "a", True, True)),
}


def _matrices(node: Built, g: Output) -> Sequence[Output]:
    rows = _TRANSPOSED[node.attribute("transpose_a"), node.attribute("transpose_b")]
    given = {"a": conj(node["a"]), "b": conj(node["b"]), "g": g}
    return [
        given[left].op("MatMul", given[right], transpose_a=turns_left, transpose_b=turns_right)
        for left, right, turns_left, turns_right in rows
    ]


def _batches(op: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Sequence[Output | None]:
        x, y = node.inputs
        rows = _TRANSPOSED[node.attribute("adj_x"), node.attribute("adj_y")]
        given = {"a": x, "b": y, "g": g}
        gradients = [
            given[left].op(op, given[right], adj_x=turns_left, adj_y=turns_right)
            for left, right, turns_left, turns_right in rows
        ]
        return gradients if op == "BatchMatMul" else without_spread(node, gradients)

    return formula


def without_spread(node: Built, gradients: Sequence[Output]) -> Sequence[Output | None]:
    """Summed along batches that one was spread over; its last two dimensions are its own."""
    x, y = node.inputs
    if x.shape.static is not None and y.shape.static is not None and x.shape.static[:-2] == y.shape.static[:-2]:
        return gradients
    sizes = [one.op("Shape") for one in (x, y)]
    batches = [one.op("StridedSlice", [0], [-2], [1], begin_mask=1) for one in sizes]
    along = node.maker.add("BroadcastGradientArgs", *batches).outputs
    return [
        gradient.op("Sum", axes).op("Reshape", size)
        for gradient, axes, size in zip(gradients, along, sizes, strict=True)
    ]


GRADIENTS: dict[str, Differentiate] = {
    "MatMul": _matrices,
    "BatchMatMul": _batches("BatchMatMul"),
    **dict.fromkeys(("BatchMatMulV2", "BatchMatMulV3"), _batches("BatchMatMulV2")),
}
