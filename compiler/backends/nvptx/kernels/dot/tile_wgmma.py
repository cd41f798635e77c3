"""Multiplying slices by warps in groups of four: `wgmma.mma_async`, which reads both operands from shared memory.

A group multiplies 64 rows by all columns of a tile, and goes on while it does: the slice before may still be read when
the next one is begun, so that one stage more is not free.  What `cp.async` wrote is seen by `wgmma` behind a fence
between the two ways into shared memory (`fence.proxy.async`).

Slices lie in lines of 128 bytes, eight of them in a pattern: word `c` of 16 bytes of line `l` is at `c ^ (l % 8)`, so
that neither those who write along a line nor those who read across lines meet in a bank.  Where neighbours are rows or
columns, a line has 64 of them, and the next 64 follow behind all terms (PTX ISA, "Asynchronous warpgroup level matrix
shared memory layout").  A descriptor says where that begins and how far patterns are apart.

Sums lie as those of `mma` with 16 rows do, the rows of a warp's below those of the warp before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import tile_mma
from compiler.backends.nvptx.kernels.dot.matrix_product import Product
from compiler.backends.nvptx.kernels.dot.mma import Mma
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import I64, Builder, Value, integer
from compiler.ir.types import BF16, F16, S8, U8

_LINE = 128
"""Bytes of a line: the widest pattern in which words are exchanged."""
_PATTERN = 8 * _LINE
"""Bytes after which a pattern repeats."""
_GROUP = 4
"""Warps of a group."""
_STEP_BYTES = 32
"""Bytes of a step along the depth, of any type."""
_NAMES = {BF16: "bf16", F16: "f16", S8: "s8", U8: "u8"}
"""The types that are multiplied as they lie, by their names in PTX."""
_UNIT = 16
"""What addresses and distances of descriptors are counted in, in bytes."""
_ADDRESSES = 0x3FFFF
"""The bits of an address in shared memory that a descriptor has."""
_EXCHANGED = 1 << 62
"""That words are exchanged in patterns of 128 bytes, in a descriptor."""


@dataclass(frozen=True, slots=True)
class Shape(tile_mma.Shape):
    """A block's tile of the result."""

    @property
    def work(self) -> float:
        """What a sum takes for each term, in multiply-adds of ordinary arithmetic."""
        return _WORK


_WORK = 0.055
"""As much less than `mma` takes as 682 TFLOP/s are more than 390 (bf16, 4096 by 4096, H100 SXM5)."""
_SHAPES = (Shape(128, 256, 8, 1, resident=1, line=_LINE),)
"""Two groups with 128 sums a thread: as many as leave registers for addresses."""


@dataclass(frozen=True, slots=True)
class PatternLayout(Layout):
    """A slice in lines of 128 bytes, whose words are exchanged."""

    @property
    def _along(self) -> int:
        """Elements of a line."""
        return _LINE // self.type.size_bytes

    @property
    def size(self) -> int:
        """Elements of a slice."""
        return self.width * self.depth

    @property
    def alignment(self) -> int:
        """The bytes that a slice begins at a multiple of."""
        return _PATTERN

    def number(self, emission: Emission, position: Index, depth: Index) -> Value:
        """The number of an element in the slice.

        Args:
            emission: where code is emitted, with what is known there.
            position: its row or column.
            depth: its term.
        """
        builder, line, along, size = emission.builder, depth, position, self.type.size_bytes
        start = integer(0)
        if self.is_deep:
            line, along = position, depth
        else:
            block, along = emission.divide(position, self._along)
            start = emission.value(block.times(self.depth * self._along))
        plain = emission.value(line.times(self._along) + along)
        # Of the line's number the last three bits, at the word's.
        exchange = builder.binary("and", builder.binary("lshr", plain, integer(3)), integer(7 * _UNIT // size))
        return builder.add(start, builder.binary("xor", plain, exchange))


def shapes(form: Mma) -> tuple[Shape, ...]:
    """Tiles to choose from, of types that are multiplied as they lie."""
    return _SHAPES if all(type_ in _NAMES for type_ in form.types) else ()


def layouts(form: Mma, product: Product, shape: Shape) -> tuple[PatternLayout, PatternLayout] | None:
    """The layouts of both operands' slices in shared memory; None where bytes lie across the depth.

    Args:
        form: the instruction of single warps for the same types.
        product: what is multiplied.
        shape: rows and columns of a tile.
    """
    if form.types[0].size_bytes == 1 and not all(side.is_deep for side in product.sides):
        return None
    left, right = (
        PatternLayout(type_, width, shape.line // type_.size_bytes, side.is_deep, 0)
        for side, type_, width in zip(product.sides, form.types, (shape.rows, shape.columns), strict=True)
    )
    return left, right


class GroupTile(tile_mma.TensorTile):
    """A thread's share of a block's tile, and the arithmetic on it."""

    def __init__(self, emission: Emission, form: Mma, shape: Shape, both: tuple[Layout, Layout]) -> None:
        super().__init__(emission, form, shape, both)
        self._columns = shape.columns
        group, _ = emission.divide(emission.opaque(grid.thread(emission.builder), shape.threads), _GROUP * grid.WARP)
        # As far apart are 64 rows of lines of their own, and 64 that are neighbours with a line for each term.
        self._offset = emission.value(group.times(64 * _LINE))

    @property
    def unfinished(self) -> int:
        """Slices that may still be read when the next one is multiplied: the one before."""
        return 1

    def meet(self, builder: Builder) -> None:
        """Show what was copied to `wgmma`, and wait until all slices but the last are multiplied."""
        _call(builder, "fence.proxy.async.shared::cta;")
        _call(builder, f"wgmma.wait_group.sync.aligned {self.unfinished};")

    def finished(self, builder: Builder, totals: list[Value]) -> list[Value]:
        """The sums when all slices are multiplied."""
        # What is given back is not read before.
        return _summed(builder, "wgmma.wait_group.sync.aligned 0;", [], totals)

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Begin to add the products of the slices at `stages`, left and right, to the sums.

        Args:
            emission: where code is emitted, with what is known there.
            stages: the addresses of both slices in shared memory.
            totals: a thread's sums so far.
        """
        builder, found = emission.builder, list(totals)
        left, right = (self._descriptor(builder, number, stage) for number, stage in enumerate(stages))
        text = self._instruction(len(found))
        for step in range(self.steps):
            both = [
                builder.add(descriptor, integer(step * _step_bytes(layout) // _UNIT))
                for descriptor, layout in zip((left, right), self.layouts, strict=True)
            ]
            # In one text with the first product, so that nothing is written to its registers behind the fence.
            found = _summed(builder, text if step else f"wgmma.fence.sync.aligned; {text}", both, found)
        _call(builder, "wgmma.commit_group.sync.aligned;")
        return found

    def _descriptor(self, builder: Builder, number: int, stage: Value) -> Value:
        """What says where the rows of the thread's group, or the columns, are in shared memory."""
        address = builder.cast("ptrtoint", stage, I64)
        if number == 0:
            address = builder.add(address, self._offset)
        # From 64 neighbours to the next, which needs nobody where lines are along the depth, and between patterns.
        far, near = self.layouts[number].depth * _LINE // _UNIT, _PATTERN // _UNIT
        start = builder.udivrem(builder.binary("and", address, integer(_ADDRESSES)), integer(_UNIT))[0]
        return builder.binary("or", start, integer(far << 16 | near << 32 | _EXCHANGED))

    def _instruction(self, sums: int) -> str:
        """The instruction of a step, that many sums of a thread being its first operands."""
        left, right = self.form.types
        shape = f"m64n{self._columns}k{self.form.depth}"
        result = "f32" if self.form.result == "float" else "s32"
        registers = ", ".join(f"${number}" for number in range(sums))
        # Sums are added to, no factor is negated, and operands whose neighbours are rows or columns are turned over.
        how = ["1"]
        if result == "f32":
            how += ["1", "1", *(str(int(not layout.is_deep)) for layout in self.layouts)]
        name = f"wgmma.mma_async.sync.aligned.{shape}.{result}.{_NAMES[left]}.{_NAMES[right]}"
        return f"{name} {{{registers}}}, ${sums}, ${sums + 1}, {', '.join(how)};"


def _step_bytes(layout: Layout) -> int:
    """The bytes from a step along the depth to the next."""
    return _STEP_BYTES if layout.is_deep else _STEP_BYTES // layout.type.size_bytes * _LINE


def _call(builder: Builder, text: str) -> None:
    """An instruction without operands that all threads of a warp come by."""
    builder.call(f'asm sideeffect "{text}", "~{{memory}}"', "void", [], attributes="convergent")


def _summed(builder: Builder, text: str, given: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
    """The sums behind an instruction that changes them where they are, given some numbers of 64 bits beside.

    Args:
        builder: where code is emitted.
        text: the instruction, whose first operands are the sums.
        given: its other operands.
        totals: the sums before.
    """
    count, type_ = len(totals), totals[0].type
    letter = "f" if type_ == "float" else "r"
    constraints = [*[f"={letter}"] * count, *"l" * len(given), *map(str, range(count)), "~{memory}"]
    callee = f'asm sideeffect "{text}", "{",".join(constraints)}"'
    answer = f"{{ {', '.join([type_] * count)} }}"
    found = builder.call(callee, answer, [*given, *totals], attributes="convergent")
    return [builder.emit(type_, f"extractvalue {found}, {number}") for number in range(count)]
