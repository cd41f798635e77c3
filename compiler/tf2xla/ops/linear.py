"""Products by an equation of letters, and equations of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.expansion.expression import Expression, iota
from compiler.expansion.matrices import conjugate
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import common_dims, spread
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.reducing import total

_ELLIPSIS = "..."
_FIRST_HIDDEN = 0x391  # a letter that no equation has


@dataclass(frozen=True, slots=True)
class Equation:
    """Letters for the dimensions of each input and of the result; what an ellipsis stands for has letters, too."""

    inputs: tuple[str, ...]
    result: str


def equation_of(operation: Operation, ranks: Sequence[int]) -> Equation:
    """The node's equation, with letters for what an ellipsis stands for.

    Raises:
        InputError: it is none, or does not go with inputs of these ranks.
    """
    text = operation.attribute("equation").decode().replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    operation.require(arrow, f"its equation {text!r} must say what the result is")
    operation.require(len(terms) == len(ranks), f"its equation {text!r} is about {len(terms)} inputs, not {len(ranks)}")
    hidden = [rank - len(term.replace(_ELLIPSIS, "")) for term, rank in zip(terms, ranks, strict=True)]
    fits = all(count >= 0 and (_ELLIPSIS in term or not count) for term, count in zip(terms, hidden, strict=True))
    operation.require(fits, f"its equation {text!r} does not go with inputs of {list(ranks)} dimensions")
    most = max(hidden, default=0)
    letters = "".join(chr(_FIRST_HIDDEN + number) for number in range(most))
    spelled = [term.replace(_ELLIPSIS, letters[most - count :]) for term, count in zip(terms, hidden, strict=True)]
    result = right.replace(_ELLIPSIS, letters)
    operation.require(set(result) <= set("".join(spelled)), f"a letter of the result of {text!r} is in no input")
    return Equation(tuple(spelled), result)


def _einsum(operation: Operation) -> Expression:
    return einsum(operation, operation.list("inputs"))


def einsum(operation: Operation, inputs: Sequence[Expression]) -> Expression:
    """The product of one array or two by the node's equation.

    Raises:
        UnsupportedError: there are more than two arrays.
    """
    if len(inputs) not in (1, 2):
        raise operation.unsupported(f"kernels take one input or two, not {len(inputs)}")
    equation = equation_of(operation, [len(one.dims) for one in inputs])
    given = [_diagonal(operation, one, term) for one, term in zip(inputs, equation.inputs, strict=True)]
    terms, result = [term for _, term in given], "".join(dict.fromkeys(equation.result))
    kept = [
        _summed(one, term, set(result).union(*(other for n, other in enumerate(terms) if n != number)))
        for number, (one, term) in enumerate(given)
    ]
    x, term = kept[0] if len(kept) == 1 else _product(operation, kept[0], kept[1], result)
    x = x.transpose(*(term.index(letter) for letter in result))
    return x if result == equation.result else _on_diagonal(operation, x, result, equation.result)


def _same_positions(operation: Operation, dims: Sequence[int], term: str) -> Expression:
    """Where dimensions of one letter have the same index."""
    same = operation.full(1, PRED, dims)
    for axis, letter in enumerate(term):
        first = term.index(letter)
        if first < axis:
            positions = [iota(operation.computation, S32, dims, one) for one in (first, axis)]
            same = same & positions[0].compare("EQ", positions[1])
    return same


def _diagonal(operation: Operation, x: Expression, term: str) -> tuple[Expression, str]:
    """Of dimensions that have the same letter the elements where their indices are the same."""
    letters = "".join(dict.fromkeys(term))
    if letters == term:
        return x, term
    for axis, letter in enumerate(term):
        size = x.dims[term.index(letter)]
        operation.require(x.dims[axis] == size, f"dimensions of {size} and of {x.dims[axis]} have the same letter")
    chosen = _same_positions(operation, x.dims, term).where(x, x.literal(0))
    return chosen.sum(*(axis for axis, letter in enumerate(term) if term.index(letter) < axis)), letters


def _on_diagonal(operation: Operation, x: Expression, letters: str, term: str) -> Expression:
    """The other way: zeros but where the indices of dimensions that have the same letter are the same."""
    dims = [x.dims[letters.index(letter)] for letter in term]
    spread_out = x.spread(dims, [term.index(letter) for letter in letters])
    return _same_positions(operation, dims, term).where(spread_out, x.literal(0))


def _summed(x: Expression, term: str, wanted: set[str]) -> tuple[Expression, str]:
    """Without the letters that nobody else asks for."""
    axes = tuple(axis for axis, letter in enumerate(term) if letter not in wanted)
    return (total(x, axes) if axes else x), "".join(letter for letter in term if letter in wanted)


def _product(
    operation: Operation, left: tuple[Expression, str], right: tuple[Expression, str], result: str
) -> tuple[Expression, str]:
    """The sums over what both have and the result has not; what all three have is a batch."""
    (x, first), (y, second) = left, right
    batch = [letter for letter in first if letter in second and letter in result]
    inner = [letter for letter in first if letter in second and letter not in result]
    sizes = {letter: (x.dims[first.index(letter)], y.dims[second.index(letter)]) for letter in (*batch, *inner)}
    for letter, (a, b) in sizes.items():
        fits = a == b or (letter in batch and 1 in (a, b))
        operation.require(fits, f"dimensions of {a} and of {b} elements have the same letter")
    x, y = (
        _widened(one, term, {letter: max(pair) if 0 not in pair else 0 for letter, pair in sizes.items()})
        for one, term in ((x, first), (y, second))
    )
    attributes: dict[str, Any] = {
        f"{side}_{kind}_dims": tuple(term.index(letter) for letter in letters)
        for side, term in (("lhs", first), ("rhs", second))
        for kind, letters in (("batch", batch), ("contracting", inner))
        if letters or kind == "contracting"
    }
    found = Expression(build(operation.computation, "dot", [x.instruction, y.instruction], **attributes))
    rest = [letter for term in (first, second) for letter in term if letter not in (*batch, *inner)]
    return found, "".join([*batch, *rest])


def _widened(x: Expression, term: str, sizes: dict[str, int]) -> Expression:
    """A batch of one element spread to the other's."""
    return spread(x, [sizes.get(letter, size) for letter, size in zip(term, x.dims, strict=True)])


def _square(operation: Operation, x: Expression) -> None:
    fits = len(x.dims) >= 2 and x.dims[-1] == x.dims[-2]
    operation.require(fits, lambda: f"it takes square matrices, not arrays of the sizes {list(x.dims)}")


def _cholesky(operation: Operation) -> Expression:
    """L with A = L L^H; of A the lower half is looked at, and above the diagonal L is 0."""
    x = operation["input"]
    _square(operation, x)
    if 0 in x.dims:
        return x
    factor = Expression(build(operation.computation, "cholesky", [x.instruction], lower=True))
    rank = len(x.dims)
    row, column = (_index(operation, x, axis) for axis in (rank - 2, rank - 1))
    return row.compare("GE", column).where(factor, factor.literal(0))


def _index(operation: Operation, x: Expression, axis: int) -> Expression:
    return iota(operation.computation, S32, x.dims, axis)


def _solved(operation: Operation) -> Expression:
    """X with A X = B, or A^H X = B, A being triangular."""
    a, b = operation["matrix"], operation["rhs"]
    _square(operation, a)
    fits = len(b.dims) >= 2 and b.dims[-2] == a.dims[-1]
    operation.require(fits, lambda: f"matrices of the sizes {list(a.dims)} and {list(b.dims)} do not go together")
    batch = common_dims(operation, a.dims[:-2], b.dims[:-2])
    a, b = (spread(one, (*batch, *one.dims[-2:])) for one in (a, b))
    if 0 in b.dims:
        return b
    turned = "NO_TRANSPOSE"
    if operation.attribute("adjoint"):
        a, turned = conjugate(a), "TRANSPOSE"
    lower = operation.attribute("lower")
    attributes: dict[str, Any] = {"left_side": True, "lower": lower, "unit_diagonal": False, "transpose_a": turned}
    return Expression(build(operation.computation, "triangular-solve", [a.instruction, b.instruction], **attributes))


RECORDS = table(
    record("Einsum", "inputs: N*T -> output: T; equation: string; N: int; T: {any}", _einsum, "A product by letters."),
    record(
        "Cholesky",
        "input: T -> output: T; T: {float16 float32 float64 complexes}",
        _cholesky,
        "The triangular root of a positive matrix.",
    ),
    record(
        "MatrixTriangularSolve",
        "matrix: T, rhs: T -> output: T; lower: bool = true; adjoint: bool = false; T: {floats complexes}",
        _solved,
        "The solution of triangular equations.",
    ),
)
