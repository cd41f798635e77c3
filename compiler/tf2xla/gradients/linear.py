"""Products by letters, and equations of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.gradients.products import without_spread
from compiler.tf2xla.gradients.spreading import conj, rank_of, sizes, unspread
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output


def _einsum(node: Built, g: Output) -> Sequence[Gradient]:
    """Of each input the product of the result's gradient with the other, by the letters that it has."""
    left, _, result = node.attribute("equation").decode().replace(" ", "").partition("->")
    terms, inputs = left.split(","), node.inputs
    found: list[Gradient] = []
    for number, (x, term) in enumerate(zip(inputs, terms, strict=True)):
        others = [n for n in range(len(inputs)) if n != number]
        given = [g, *(conj(inputs[n]) for n in others)]
        there = [result, *(terms[n] for n in others)]
        known = set("".join(there).replace("...", ""))
        kept = [letter for letter in term.replace("...", "_") if letter == "_" or letter in known]
        spelled = "".join(kept).replace("_", "...")
        equation = f"{','.join(there)}->{spelled}".encode()
        gradient = node.maker.add("Einsum", given, equation=equation).output
        found.append(_spread(node, gradient, x, term, spelled))
    return found


def _spread(node: Built, gradient: Output, x: Output, term: str, spelled: str) -> Gradient:
    """Back in the sizes of the input: letters that it alone has were summed."""
    if spelled == term:
        return unspread(node, (x, gradient), (gradient, None))[0] if "..." in term else gradient
    front, _, back = term.partition("...")
    for axis, letter in enumerate(front):
        if letter not in spelled:
            gradient = gradient.op("ExpandDims", axis)
    for axis, letter in enumerate(reversed(back), 1):
        if letter not in spelled:
            gradient = gradient.op("ExpandDims", -axis)
    return gradient.op("BroadcastTo", sizes(x))


def _lower_half(x: Output) -> Output:
    return x.op("MatrixBandPart", -1, 0)


def _product(x: Output, y: Output, *, adj_x: bool = False, adj_y: bool = False) -> Output:
    return x.op("BatchMatMulV2", y, adj_x=adj_x, adj_y=adj_y)


def _cholesky(node: Built, g: Output) -> Output:
    """By Iain Murray's formula: L^-H Phi(L^H G) L^-1, symmetric, half of its diagonal."""
    factor = node.output
    rank = rank_of(node, factor)
    middle = _lower_half(_product(factor, g, adj_x=True))
    diagonal = middle.op("MatrixBandPart", 0, 0)
    middle = middle - diagonal * 0.5
    first = factor.op("MatrixTriangularSolve", middle, adjoint=True)
    turned = conj(first.op("Transpose", [*range(rank - 2), rank - 1, rank - 2]))
    second = factor.op("MatrixTriangularSolve", turned, adjoint=True)
    return (second + conj(second.op("Transpose", [*range(rank - 2), rank - 1, rank - 2]))) * 0.5


def _solved(node: Built, g: Output) -> Sequence[Gradient]:
    """To the right-hand side the solution of the adjoint equations; to the matrix the product with the solution."""
    a, x = node["matrix"], node.output
    lower, adjoint = node.attribute("lower"), node.attribute("adjoint")
    of_b = a.op("MatrixTriangularSolve", g, lower=lower, adjoint=not adjoint)
    of_a = -(_product(x, of_b, adj_y=True) if adjoint else _product(of_b, x, adj_y=True))
    half = _lower_half(of_a) if lower else of_a.op("MatrixBandPart", 0, -1)
    return without_spread(node, [half, of_b])


GRADIENTS: dict[str, Differentiate] = {
    **dict.fromkeys(("Einsum", "XlaEinsum"), _einsum),
    "Cholesky": _cholesky,
    "MatrixTriangularSolve": _solved,
}
