"""Diagonals of matrices: what takes them out is differentiated by what puts them in."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output


def _stated(node: Built) -> dict[str, object]:
    return {name: node.attribute(name) for name in ("align",) if name in node.signature.attributes}


def _made(version: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Output:
        more = [node["k"], node["padding_value"].op("ZerosLike")] if version else []
        return g.op(f"MatrixDiagPart{version}", *more, **_stated(node))

    return formula


def _diagonal_gradient(version: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Output:
        more = [node["k"]] if version else []
        return node["input"].op("ZerosLike").op(f"MatrixSetDiag{version}", g, *more, **_stated(node))

    return formula


def _set(version: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        more = [node["k"]] if version else []
        nothing = node["diagonal"].op("ZerosLike")
        of_matrix = g.op(f"MatrixSetDiag{version}", nothing, *more, **_stated(node))
        zero = [node.constant(0, g.type.base)] if version else []
        return [of_matrix, g.op(f"MatrixDiagPart{version}", *more, *zero, **_stated(node))]

    return formula


GRADIENTS: dict[str, Differentiate] = {
    "Diag": lambda _node, g: g.op("DiagPart"),
    "DiagPart": lambda _node, g: g.op("Diag"),
    **{f"MatrixDiag{version}": _made(version) for version in ("", "V2", "V3")},
    **{f"MatrixDiagPart{version}": _diagonal_gradient(version) for version in ("", "V2", "V3")},
    **{f"MatrixSetDiag{version}": _set(version) for version in ("", "V2", "V3")},
}
