"""Dots of complex numbers, as real products of twice the columns and twice the depth, which take no more multiply-adds.

Complex numbers lie in memory as pairs of real ones, so the left factor and the result are real matrices as they are,
with real and imaginary parts in turn.  The right factor becomes, for every number, the two by two real matrix that
multiplies pairs the way the number does; it is made while it is packed.

Either factor may be the left one, as a b = b a for numbers: the better one is that whose numbers follow one another
along k, which is read as it is.
"""

from __future__ import annotations

from compiler.analysis.decision import Decision, no, unless
from compiler.backends.cpu.kernels.dot.kernel import plan_of
from compiler.backends.cpu.kernels.dot.product import Product
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Array, Gemm, Operand, VectorLoad
from compiler.backends.cpu.kernels.strategy import Given, Plan
from compiler.backends.strategy import Declined
from compiler.codegen import complex_numbers, element
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, floating, integer, vector_type
from compiler.codegen.product import Factor, accumulation_type, factor
from compiler.codegen.signature import arguments
from compiler.ir.module import Instruction

_FEW = 4
"""Rows or columns up to which a product counts as matrix times vector."""


def suits(kernel: Kernel) -> Decision:
    """Whether a kernel is nothing but a dot of complex numbers, and of more than vectors, which are only read once."""
    root = kernel.roots[0]
    if root.opcode != "dot" or not root.array.element_type.is_complex:
        return no("it is no dot of complex numbers")
    if factor(root, 0).count(factor(root, 0).free) == factor(root, 1).count(factor(root, 1).free) == 1:
        return no("vectors are read only once")
    given = {leaf for leaf, _ in kernel.leaves}
    straight = accumulation_type(root) is root.array.element_type and given.issuperset(root.operands)
    return unless(not straight, "factors are converted before they are multiplied")


def decide(given: Given) -> Plan | Declined:
    """The plan of such a kernel."""
    suited = suits(given.kernel)
    if not suited:
        return Declined(suited.reason)
    return plan_of(given, _ComplexProduct(given.kernel, given.kernel.roots[0]))


class _ComplexProduct(Product):
    """The real product that a complex dot amounts to, or that of the exchanged factors."""

    def __init__(self, kernel: Kernel, dot: Instruction) -> None:
        factors = factor(dot, 0), factor(dot, 1)
        self.exchanged = _exchanges(*factors)
        super().__init__(kernel, dot, *(factors[::-1] if self.exchanged else factors))

    def gemm(self) -> Gemm:
        """The matrix product."""
        type_ = element.value_type(element.component_type(self.type))
        m, n = self.lhs.count(self.lhs.free), self.rhs.count(self.rhs.free)
        out = self._result()
        return Gemm(
            batch=self.batch,
            m=m,
            n=2 * n,
            k=2 * self.lhs.count(self.lhs.depth),
            type=type_,
            lhs=self._left(),
            rhs=self._right(type_),
            store=self._store_component,
            out=Array(out.base, 2 * out.row, 1) if not self.exchanged or n == 1 else None,
            exchanged=self.exchanged,
        )

    def _left(self) -> Operand:
        """The left factor: real and imaginary parts in turn along k."""

        def load(b: Builder, batch: Value, row: Value, column: Value) -> Value:
            number = self.operands[0].load(b, batch, row, _half(b, column))
            real, imaginary = complex_numbers.taken_apart(b, [number])
            return b.select(_is_odd(b, column), imaginary, real)

        array = self.operands[0].array()
        plain = Array(array.base, 2 * array.row, 1) if array is not None and array.column == 1 else None
        return Operand(load, _runs(self.lhs), plain)

    def _right(self, type_: str) -> Operand:
        """The right factor: for the number a + bi the rows (a, b) and (-b, a)."""

        def load(b: Builder, batch: Value, row: Value, column: Value) -> Value:
            number = self.operands[1].load(b, batch, _half(b, row), _half(b, column))
            real, imaginary = complex_numbers.taken_apart(b, [number])
            lower, right = _is_odd(b, row), _is_odd(b, column)
            other = b.select(lower, b.unary("fneg", imaginary), imaginary)
            return b.select(b.binary("xor", lower, right), other, real)

        array = self.operands[1].array()
        runs_down = _runs(self.rhs)
        return Operand(
            load, not runs_down, vector=_pairs(array, type_, along=not runs_down) if array is not None else None
        )

    def _store_component(self, b: Builder, batch: Value, row: Value, column: Value, value: Value) -> None:
        m, n = self.lhs.count(self.lhs.free), self.rhs.count(self.rhs.free)
        if self.exchanged:
            component = b.binary("and", column, integer(1))
            line, position = b.add(b.mul(batch, integer(n)), _half(b, column)), b.add(b.mul(row, integer(2)), component)
            offset = b.add(b.mul(line, integer(2 * m)), position)
        else:
            offset = b.add(b.mul(b.add(b.mul(batch, integer(m)), row), integer(2 * n)), column)
        b.store(value, b.gep(value.type, arguments(self.kernel).outputs[0], offset))


def _exchanges(lhs: Factor, rhs: Factor) -> bool:
    """Whether the right factor of a dot is the better left one.

    Where only the right one runs along k, or only few rows would use each of its numbers, it is.  A factor that does
    not run along k is loaded number by number, and so is the result of exchanged factors stored.
    """
    rows, columns, depth = lhs.count(lhs.free), rhs.count(rhs.free), lhs.count(lhs.depth)
    if _runs(lhs):
        return _runs(rhs) and rows <= _FEW
    stored = rows * columns if rows > 1 else 0
    return stored + (0 if _runs(rhs) else columns * depth) < rows * depth


def _runs(factor: Factor) -> bool:
    """Whether neighbours in memory are neighbours along k."""
    return factor.instruction.array.rank - 1 not in factor.free


def _pairs(array: Array, type_: str, *, along: bool) -> VectorLoad | None:
    """Vectors of the real matrix of a factor whose numbers are neighbours along a row, or else down a column.

    Strides alone do not tell which: in a matrix of one column both are 1.
    """
    if (array.column if along else array.row) != 1:
        return None

    def load(b: Builder, batch: Value, row: Value, column: Value, lanes: int) -> Value:
        # The index across the run tells which of its numbers' two rows, or columns, is wanted; the run starts evenly.
        across, run, stride = (row, column, array.row) if along else (column, row, array.column)
        offset = b.add(b.mul(_half(b, across), integer(2 * stride)), run)
        address = b.gep(type_, array.base(b, batch), offset)
        numbers = b.load(vector_type(type_, lanes), address, align=ELEMENT_BYTES[type_])
        swapped = b.shuffle(numbers, None, [lane ^ 1 for lane in range(lanes)])
        odd = _is_odd(b, across)
        if along:
            return b.select(odd, _negated(b, swapped, 0), numbers)
        return b.select(odd, swapped, _negated(b, numbers, 1))

    return load


def _negated(b: Builder, numbers: Value, parity: int) -> Value:
    """The vector with the sign changed in every lane of that parity."""
    lanes = int(numbers.type[1:].split(" ")[0])
    type_ = numbers.type[numbers.type.index(" x ") + 3 : -1]
    signs = ", ".join(str(floating(-1.0 if lane % 2 == parity else 1.0, type_)) for lane in range(lanes))
    return b.binary("fmul", numbers, Value(numbers.type, f"<{signs}>"))


def _half(b: Builder, index: Value) -> Value:
    return b.binary("lshr", index, integer(1))


def _is_odd(b: Builder, index: Value) -> Value:
    return b.cast("trunc", index, "i1")
