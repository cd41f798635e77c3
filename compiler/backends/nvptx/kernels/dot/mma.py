"""Tensor cores: the forms of `mma.sync` that products use, by the types of their operands.

In the fragments of every form lane `4 g + t` holds row (or column) `g`.  A register holds the elements that lie side by
side along the depth from `per * t` on; further registers continue 8 rows down, then `4 * per` along the depth.  Of the
result the lane holds columns `2 t` and `2 t + 1` of row `g`, then of row `g + 8` (PTX ISA, "Matrix fragments for mma").

Numbers of f32 are multiplied as they are by ordinary arithmetic; an explicit `algorithm` may ask for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels.dot.matrix_product import Product
from compiler.codegen.llvm_ir import I32, Builder, Value
from compiler.ir.types import BF16, F16, F32, F64, S8, U8, ElementType

CAPABILITY = 80
"""The first compute capability that has all forms, `ldmatrix` and `cp.async`."""
_LEAST = 16
"""Rows, columns and terms from which on tiles of `mma` are not mostly empty: its shapes are 8 to 32 long."""


@dataclass(frozen=True, slots=True)
class Mma:
    """A matrix multiply-accumulate instruction of a warp (`mma.sync`): types and shape of its fragments.

    Attributes:
        name: of the LLVM intrinsic, behind `llvm.nvvm.mma.`.
        types: what either operand is in shared memory.
        rows: of the result, which has 8 columns.
        depth: terms that one instruction sums.
        register: the LLVM type of a register of the operands' fragments.
        result: the LLVM type of an element of the result.
        rounding: an intrinsic that rounds an f32 to what is multiplied, "" where that is what lies in memory.
    """

    name: str
    types: tuple[ElementType, ElementType]
    rows: int
    depth: int
    register: str
    result: str
    rounding: str = ""

    @property
    def per(self) -> int:
        """Elements in a register."""
        return (8 if self.register == "double" else 4) // self.types[0].size_bytes

    @property
    def down(self) -> int:
        """Registers of a left fragment that lie 8 rows apart."""
        return self.rows // 8

    @property
    def far(self) -> int:
        """Registers of a fragment that follow each other along the depth."""
        return self.depth // (4 * self.per)

    @property
    def results(self) -> int:
        """Elements of the result in each lane."""
        return 2 * self.down

    def multiply(
        self, builder: Builder, left: Sequence[Value], right: Sequence[Value], totals: Sequence[Value]
    ) -> list[Value]:
        """The lane's part of `left * right + totals`.

        Args:
            builder: where code is emitted.
            left: the lane's part of the left fragment.
            right: the lane's part of the right one.
            totals: the lane's sums.
        """
        answer = f"{{ {', '.join([self.result] * self.results)} }}"
        given = [*left, *right, *totals]
        callee = builder.module.declare(f"llvm.nvvm.mma.{self.name}", answer, [value.type for value in given])
        # LLVM takes it for arithmetic, which might as well be done where only some lanes are.
        found = builder.call(callee, answer, given, attributes="convergent")
        return [builder.emit(self.result, f"extractvalue {found}, {number}") for number in range(self.results)]

    def rounded(self, builder: Builder, register: Value) -> Value:
        """A register as it is multiplied."""
        if not self.rounding:
            return register
        callee = builder.module.declare(f"llvm.nvvm.{self.rounding}", I32, ["float"])
        return builder.call(callee, I32, [builder.cast("bitcast", register, "float")])


def _halves(name: str, type_: ElementType, register: str) -> Mma:
    return Mma(f"m16n8k16.row.col.{name}", (type_, type_), 16, 16, register, "float")


def _bytes(name: str, left: ElementType, right: ElementType) -> Mma:
    return Mma(f"m16n8k32.row.col.{name}", (left, right), 16, 32, I32, I32)


_FORMS = {
    form.types: form
    for form in (
        _halves("bf16", BF16, I32),
        _halves("f32.f32", F16, "<2 x half>"),
        _bytes("s8", S8, S8),
        _bytes("s8.u8", S8, U8),
        _bytes("u8.s8", U8, S8),
        _bytes("u8", U8, U8),
        Mma("m8n8k4.row.col.f64", (F64, F64), 8, 4, "double", "double"),
    )
}
_TALL_CAPABILITY = 90
"""The first compute capability that multiplies f64 in forms of 16 rows."""
_TALL = Mma("m16n8k8.row.col.f64", (F64, F64), 16, 8, "double", "double")
"""The form of f64 there."""
_ROUNDED = {
    "dot_tf32_tf32_f32": Mma("m16n8k8.row.col.tf32", (F32, F32), 16, 8, I32, "float", "f2tf32.rna"),
    "dot_bf16_bf16_f32": _FORMS[BF16, BF16],
    "dot_f16_f16_f32": _FORMS[F16, F16],
}
"""Forms that round operands of f32 first, by the algorithm that asks for it."""


def find(product: Product, capability: int) -> Mma | None:
    """The form for a product; None where the GPU has none or the product is too small."""
    if capability < CAPABILITY or min(product.rows, product.columns, product.depth) < _LEAST:
        return None
    left, right = (product.source(side).array.element_type for side in product.sides)
    form = _FORMS.get((left, right))
    if form is not None and form.types == _TALL.types and capability >= _TALL_CAPABILITY:
        form = _TALL
    if left is F32 and right is F32:
        form = _ROUNDED.get(str(product.owner.attributes.get("algorithm", "")))
    return form if form is not None and form.result == product.value_type else None
