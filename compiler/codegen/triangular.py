"""The pieces that cholesky and triangular-solve kernels are emitted from on either back end; sums are in f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from compiler.codegen import element
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.diagnostics import UnsupportedError
from compiler.ir.types import F64, ElementType

SUM = "contract reassoc"
"""The fast-math flags of sums."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in memory, read and written as f64; `address` takes row and column."""

    builder: Builder
    element_type: ElementType
    address: Callable[[Value, Value], Value]

    def load(self, row: Value, column: Value) -> Value:
        """Read an element."""
        value = element.load(self.builder, self.element_type, self.address(row, column))
        return element.convert(self.builder, value, self.element_type, F64)

    def store(self, row: Value, column: Value, value: Value) -> None:
        """Write an element.

        Args:
            row: the index of the row.
            column: that of the column.
            value: the element.
        """
        narrow = element.convert(self.builder, value, F64, self.element_type)
        element.store(self.builder, self.element_type, narrow, self.address(row, column))


class System(NamedTuple):
    """A system `a x = b` of a batch: the triangular `a`, `b` as it is given, and `x` where it is sought."""

    factor: Matrix
    right: Matrix
    solution: Matrix


def matrix(builder: Builder, kernel: Kernel, pointer: Value, dims: tuple[int, int], number: Value) -> Matrix:
    """The row-major matrix of that number in a batch that lies at a pointer.

    Args:
        builder: where code is emitted.
        kernel: whose elements' type it has.
        pointer: where the batch begins.
        dims: rows and columns.
        number: of the matrix in the batch.
    """
    rows, columns = dims
    element_type = _real(kernel)
    type_ = element.storage_type(element_type)
    base = builder.gep(type_, pointer, builder.mul(number, integer(rows * columns)))
    return Matrix(
        builder,
        element_type,
        lambda row, column: builder.gep(type_, base, builder.add(builder.mul(row, integer(columns)), column)),
    )


def transposed(given: Matrix) -> Matrix:
    """The same elements with rows and columns exchanged."""
    return Matrix(given.builder, given.element_type, lambda row, column: given.address(column, row))


def pivot_root(builder: Builder, rest: Value) -> Value:
    """The root of what is left of a diagonal element; NaN where that is not positive, as 0 is, which has a root."""
    type_ = rest.type
    root = builder.overloaded("sqrt", [rest])
    is_positive = builder.compare("ogt", rest, floating(0.0, type_))
    return builder.select(is_positive, root, floating(math.nan, type_))


def rest(start: Value, factor: Matrix, row: Value, column: Value) -> Value:
    """An element of a matrix less the product of two rows of its factor, up to the column.

    Args:
        start: the element of the matrix.
        factor: the factor as far as it is there.
        row: of the element.
        column: of the element, and how many terms there are.
    """
    builder = factor.builder
    with builder.loop(integer(0), column, carried=[start], name="sum") as loop:
        left, right = factor.load(row, loop.index), factor.load(column, loop.index)
        loop.carry(builder.binary("fsub", loop.carried[0], builder.binary("fmul", left, right, SUM), SUM))
    return loop.results[0]


def _real(kernel: Kernel) -> ElementType:
    element_type = kernel.outputs[0].element_type
    if not element_type.is_float:
        reason = "only of real matrices so far"
        raise UnsupportedError(f"{kernel.instruction.opcode} of {element_type}", "code generation", reason)
    return element_type


class Factorisation:
    """A cholesky kernel: `batch` matrices of `size` rows, read as if the lower factor were asked for."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        (root,) = kernel.roots
        self.element_type = _real(kernel)
        self.size = root.array.dims[-1]
        self.batch = math.prod(root.array.dims[:-2])
        self.is_lower = bool(root.attributes.get("lower", False))
        self.source = _pointers(kernel)[0]

    def matrices(self, builder: Builder, number: Value) -> tuple[Matrix, Matrix]:
        """The matrix of that number and its factor."""
        pointers = self.source, arguments(self.kernel).outputs[0]
        dims = self.size, self.size
        source, target = (matrix(builder, self.kernel, pointer, dims, number) for pointer in pointers)
        return (source, target) if self.is_lower else (transposed(source), transposed(target))


class Substitution:
    """A triangular-solve kernel: `sides` right-hand sides, each solved on its own as `a x = b`."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        (root,) = kernel.roots
        self.element_type = _real(kernel)
        attributes, dims = root.attributes, root.array.dims
        self.left_side = bool(attributes.get("left_side", False))
        is_transposed = attributes.get("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"
        # x a = b is a' x' = b'.
        self.is_transposed = is_transposed == self.left_side
        self.is_lower = bool(attributes.get("lower", False)) != self.is_transposed
        self.unit_diagonal = bool(attributes.get("unit_diagonal", False))
        self.dims: tuple[int, int] = (dims[-2], dims[-1])
        self.size, self.columns = self.dims if self.left_side else self.dims[::-1]
        self.sides = math.prod(dims[:-2]) * self.columns
        self.pointers = _pointers(kernel)

    def matrices(self, builder: Builder, number: Value) -> System:
        """The system of that number in the batch."""
        factor = matrix(builder, self.kernel, self.pointers[0], (self.size, self.size), number)
        if self.is_transposed:
            factor = transposed(factor)
        output = arguments(self.kernel).outputs[0]
        right, solution = (matrix(builder, self.kernel, p, self.dims, number) for p in (self.pointers[1], output))
        if not self.left_side:
            right, solution = transposed(right), transposed(solution)
        return System(factor, right, solution)

    def solve(self, builder: Builder, side: Value) -> None:
        """Solve for the right-hand side of that number."""
        number, column = builder.udivrem(side, integer(max(1, self.columns)))
        factor, right, solution = self.matrices(builder, number)
        with builder.loop(integer(0), integer(self.size), name="unknown") as step:
            row = step.index if self.is_lower else builder.sub(integer(self.size - 1), step.index)
            known = (integer(0), row) if self.is_lower else (builder.add(row, integer(1)), integer(self.size))
            with builder.loop(*known, carried=[right.load(row, column)], name="sum") as inner:
                left = factor.load(row, inner.index)
                product = builder.binary("fmul", left, solution.load(inner.index, column), SUM)
                inner.carry(builder.binary("fsub", inner.carried[0], product, SUM))
            value = inner.results[0]
            if not self.unit_diagonal:
                value = builder.binary("fdiv", value, factor.load(row, row))
            solution.store(row, column, value)


def _pointers(kernel: Kernel) -> list[Value]:
    """Where the operands lie."""
    (root,) = kernel.roots
    numbers, inputs = dict(kernel.leaves), arguments(kernel).inputs
    return [inputs[numbers[operand]] for operand in root.operands]
