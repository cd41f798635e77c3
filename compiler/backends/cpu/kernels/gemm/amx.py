"""Products of bf16 or 8-bit factors on the tile registers of AMX, ten and more times as fast as f32 in vectors.

A tile register holds 16 rows of 64 bytes; the unit multiplies rows of one with columns of another in groups of two bf16
or four 8-bit elements, a *word*.  So both factors become matrices of words: the left one is packed tile by tile, which
spreads a panel of rows evenly over L1, the right one like that of any product.  Sums stay in tile registers over all of
k.  As the instructions are defined, bf16 denormals count as zero; integers are exact.  Rows and columns behind the
edges are computed from whatever lies in the workspace and never stored.

The operating system lets a process use the tiles only when asked (once); the kernel asks before its first use.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from compiler.analysis.decision import YES, Decision, no
from compiler.backends.cpu.kernels.gemm.pack import Packer, Panels, Steps
from compiler.backends.cpu.kernels.gemm.product import Gemm, Narrow, Operand
from compiler.backends.cpu.kernels.gemm.share import Extent, Range, batches, blocks, share
from compiler.backends.cpu.kernels.gemm.vnni import WordPosition
from compiler.backends.cpu.machine import TILE_REQUEST, Machine
from compiler.codegen.llvm_ir import I8, I32, I64, PTR, Builder, Module, Value, integer, keep_rolled, vector_type, zero

# Rows and words per row of a tile register, and of the 2 x 2 of them that one step computes.
_TILE = 16
"""Rows of a tile register, and words of 4 bytes in each (Intel AMX: 16 rows of 64 bytes)."""
_BLOCK = 2 * _TILE
"""Rows and columns of the 2 x 2 tiles that one step computes: four of sums and four of factors are all eight
registers."""
_WORD_BYTES = 4
"""A word of a tile: two bf16 or four bytes."""
_RIGHT_BYTES = 1 << 20
"""Bytes of packed right panels that stay in the L2 cache, half of its 2 MiB on Sapphire Rapids."""
_GROUP = {"bfloat": 2, "i8": 4}
_BITS = {"bfloat": "i16", "i8": "i8"}
_SMALLEST = 16
"""The shortest side that fills a tile: its 16 rows, and as many words."""


def suits(gemm: Gemm, machine: Machine) -> Decision:
    """Whether the product can, and had better, be computed on the machine's tile registers."""
    left, right = gemm.lhs.narrow, gemm.rhs.narrow
    if left is None or right is None or left.type != right.type or left.type not in _GROUP:
        return no("factors are not both of bf16, or both of bytes")
    feature, accumulation = ("amx-bf16", "float") if left.type == "bfloat" else ("amx-int8", "i32")
    if gemm.type != accumulation:
        return no(f"tile registers do not add up in {gemm.type}")
    if not machine.has(feature):
        return no(f"the machine has no {feature}")
    if not machine.tiles:
        return no("the operating system does not let programs use tile registers")
    if min(gemm.m, gemm.n, gemm.k) < _SMALLEST:
        return no(f"a side is shorter than a tile, {_SMALLEST}")
    return YES


@dataclass(frozen=True, slots=True)
class _Words:
    """A factor as a matrix of words; `row` and `column` of its elements are those of the factor (left: k across)."""

    narrow: Narrow
    row_major: bool
    down: bool

    @property
    def group(self) -> int:
        return _GROUP[self.narrow.type]

    def word(self, b: Builder, where: WordPosition, count: int) -> Value:
        """The word at a position, of which `count` elements exist."""
        batch, index, step = where
        first = b.mul(step, integer(self.group))
        bits = _BITS[self.narrow.type]
        width = int(bits[1:])
        total = integer(0, I32)
        for position in range(count):
            k = b.add(first, integer(position))
            element = self.narrow.load(b, batch, *((k, index) if self.down else (index, k)))
            raw_bits = b.cast("zext", b.cast("bitcast", element, bits), I32)
            shifted = b.binary("shl", raw_bits, integer(position * width, I32))
            total = shifted if position == 0 else b.binary("or", total, shifted)
        return total

    def operand(self) -> Operand:
        """The whole words as rows along k, as packing takes them."""
        return Operand(lambda b, *where: self.word(b, WordPosition(*where), self.group), self.row_major)


class _TilePosition(NamedTuple):
    """A block of the result: its batch, and the numbers of its panels of rows and of columns."""

    batch: Value
    row: Value
    column: Value


class AmxNest:
    """Emits one product; `workspace_bytes` is what it needs per thread."""

    def __init__(self, name: str, gemm: Gemm, left: Narrow, right: Narrow) -> None:
        self.name = name
        self.gemm = gemm
        group = _GROUP[left.type]
        self.whole, self.rest = divmod(gemm.k, group)
        self.steps = -(-gemm.k // (group * _TILE)) * _TILE
        self.left = _Words(left, gemm.lhs.row_major, down=False)
        self.right = _Words(right, not gemm.rhs.row_major, down=True)
        self.rows, self.columns = -(-gemm.m // _BLOCK), -(-gemm.n // _BLOCK)
        per_panel = self.steps * _BLOCK * _WORD_BYTES
        held = min(self.columns, max(1, _RIGHT_BYTES // per_panel))
        self.column_block = -(-self.columns // -(-self.columns // held))
        plain = gemm.m % _BLOCK == 0 and gemm.n % _BLOCK == 0 and gemm.addend is None
        self.out = gemm.out if plain and gemm.out is not None and gemm.out.column == 1 else None
        last = gemm.n - (self.columns - 1) * _BLOCK
        self.panels = Panels(
            operand=self.right.operand(),
            type=I32,
            lanes=_TILE,
            width=_BLOCK,
            last=last,
            count=self.columns,
            depth=self.steps,
            pad=_BLOCK,
            whole=self.whole % _TILE == 0,
        )
        self.sizes = {
            "packed right": self.column_block * per_panel + _TILE * _WORD_BYTES,
            "packed left": per_panel,
            "staging": max(-(-self.panels.staging_elements // _TILE) * _TILE, _BLOCK * _TILE) * _WORD_BYTES,
            "sums": 0 if self.out else _BLOCK * _BLOCK * _WORD_BYTES,
        }
        """Bytes of what lies in a thread's workspace, one behind the other."""

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace per thread."""
        return sum(self.sizes.values())

    def emit(self, b: Builder, scratch: Value, threads: tuple[Value, Value]) -> None:
        """The whole nest, for one thread.

        Args:
            b: where code is emitted.
            scratch: the kernel's workspace.
            threads: the thread's number, and how many there are.
        """
        offsets = itertools.accumulate((0, *self.sizes.values()))
        packed_right, packed_left, staging, sums = (
            b.gep(I8, scratch, integer(offset)) for offset in list(offsets)[:-1]
        )
        packer = Packer(f"{self.name}.rhs", self.panels, staging)
        mine = share(b, Extent(self.gemm.batch, self.rows, self.columns), *threads)
        with b.when(mine.present(b), "present"):
            _configure(b)
            with (
                batches(b, mine) as (batch, rows),
                blocks(b, mine.columns, self.column_block, self.columns, "columns") as columns,
            ):
                self._pack_right(b, packer, (batch, columns), packed_right)
                with b.loop(rows.start, rows.stop, name="panel", nonempty=True) as row:
                    self._pack_left(b, packer, (batch, row.index), packed_left)
                    with b.loop(columns.start, columns.stop, name="tile", nonempty=True) as column:
                        where = _TilePosition(batch, row.index, column.index)
                        offset = b.mul(b.sub(column.index, columns.start), integer(self.steps * _BLOCK))
                        self._tile(b, where, (packed_left, b.gep(I32, packed_right, offset)), sums)
            b.intrinsic("x86.tilerelease", [], result="void")

    def _pack_right(self, b: Builder, packer: Packer, where: tuple[Value, Range], packed: Value) -> None:
        batch, columns = where
        if self.whole:
            packer.pack(b, Steps(batch, integer(0), integer(self.whole)), columns, packed)
        if self.whole == self.steps:
            return
        with b.loop(columns.start, columns.stop, name="rest", nonempty=True) as panel:
            offset = b.mul(b.sub(panel.index, columns.start), integer(self.steps))
            line = b.gep(I32, packed, b.mul(b.add(offset, integer(self.whole)), integer(_BLOCK)))
            b.clear_bytes(line, integer((self.steps - self.whole) * _BLOCK * _WORD_BYTES))
            if self.rest:
                first = b.mul(panel.index, integer(_BLOCK))
                count = b.smin(b.sub(integer(self.gemm.n), first), integer(_BLOCK))
                with b.loop(integer(0), count, name="column", nonempty=True) as column:
                    position = WordPosition(batch, b.add(first, column.index), integer(self.whole))
                    b.store(self.right.word(b, position, self.rest), b.gep(I32, line, column.index))

    def _pack_left(self, b: Builder, packer: Packer, where: tuple[Value, Value], packed: Value) -> None:
        batch, panel = where
        first = b.mul(panel, integer(_BLOCK))
        rows = Range(first, b.add(first, b.smin(b.sub(integer(self.gemm.m), first), integer(_BLOCK))))
        full = self.whole // _TILE
        if full:
            with b.loop(integer(0), integer(full), name="step", nonempty=True, metadata=keep_rolled(b.module)) as step:
                block = b.gep(I32, packed, b.mul(step.index, integer(_BLOCK * _TILE)))
                word = b.mul(step.index, integer(_TILE))
                if self.left.row_major:
                    self._copy_rows(b, (batch, word), rows, block)
                else:
                    self._turn_rows(b, packer, (batch, word), rows, block)
        if full * _TILE < self.steps:
            self._end_rows(b, batch, rows, b.gep(I32, packed, integer(full * _BLOCK * _TILE)))

    def _copy_rows(self, b: Builder, where: tuple[Value, Value], rows: Range, block: Value) -> None:
        """One tile's width of words along k, row by row."""
        batch, word = where
        array = self.left.narrow.array
        with b.loop(rows.start, rows.stop, name="row", nonempty=True, metadata=keep_rolled(b.module)) as row:
            line = b.gep(I32, block, b.mul(b.sub(row.index, rows.start), integer(_TILE)))
            if array is not None and array.column == 1:
                k = b.mul(word, integer(self.left.group))
                offset = b.add(b.mul(row.index, integer(array.row)), k)
                source = b.gep(self.left.narrow.type, array.base(b, batch), offset)
                words = b.load(vector_type(I32, _TILE), source, align=1)
                b.store(words, line, align=_WORD_BYTES)
            else:
                self._copy_words(b, WordPosition(batch, row.index, word), _TILE, line)

    def _copy_words(self, b: Builder, where: WordPosition, count: int, line: Value) -> None:
        batch, row, word = where
        with b.loop(integer(0), integer(count), name="word", nonempty=True) as lane:
            value = self.left.word(b, WordPosition(batch, row, b.add(word, lane.index)), self.left.group)
            b.store(value, b.gep(I32, line, lane.index))

    def _turn_rows(self, b: Builder, packer: Packer, where: tuple[Value, Value], rows: Range, block: Value) -> None:
        """The same where memory runs along rows: words are made side by side and transposed."""
        batch, word = where
        with b.loop(integer(0), integer(_TILE), name="word", nonempty=True, metadata=keep_rolled(b.module)) as lane:
            line = b.gep(I32, packer.staging, b.mul(lane.index, integer(_BLOCK)))
            with b.loop(rows.start, rows.stop, name="row", nonempty=True) as row:
                value = self.left.word(b, WordPosition(batch, row.index, b.add(word, lane.index)), self.left.group)
                b.store(value, b.gep(I32, line, b.sub(row.index, rows.start)))
        callee = packer.transposer(b.module, _TILE, _BLOCK, _TILE)
        b.call(callee, "void", [packer.staging, block, integer(_BLOCK)])

    def _end_rows(self, b: Builder, batch: Value, rows: Range, block: Value) -> None:
        """The last words of every row, filled up with zeros."""
        b.clear_bytes(block, integer(_BLOCK * _TILE * _WORD_BYTES))
        start = self.whole // _TILE * _TILE
        with b.loop(rows.start, rows.stop, name="row", nonempty=True) as row:
            line = b.gep(I32, block, b.mul(b.sub(row.index, rows.start), integer(_TILE)))
            if start < self.whole:
                self._copy_words(b, WordPosition(batch, row.index, integer(start)), self.whole - start, line)
            if self.rest:
                value = self.left.word(b, WordPosition(batch, row.index, integer(self.whole)), self.rest)
                b.store(value, b.gep(I32, line, integer(self.whole - start)))

    def _tile(self, b: Builder, where: _TilePosition, factors: tuple[Value, Value], sums: Value) -> None:
        batch, row, column = where
        gemm = self.gemm
        top, left = b.mul(row, integer(_BLOCK)), b.mul(column, integer(_BLOCK))
        if self.out is not None:
            offset = b.add(b.mul(top, integer(self.out.row)), left)
            b.call(self._kernel(b.module), "void", [*factors, b.gep(I32, self.out.base(b, batch), offset)])
            return
        b.call(self._kernel(b.module), "void", [*factors, sums])
        height = b.smin(b.sub(integer(gemm.m), top), integer(_BLOCK))
        width = b.smin(b.sub(integer(gemm.n), left), integer(_BLOCK))
        with b.loop(integer(0), height, name="row", nonempty=True, metadata=keep_rolled(b.module)) as i:
            line = b.gep(gemm.type, sums, b.mul(i.index, integer(_BLOCK)))
            with b.loop(integer(0), width, name="column", nonempty=True) as j:
                value = b.load(gemm.type, b.gep(gemm.type, line, j.index))
                gemm.store(b, batch, b.add(top, i.index), b.add(left, j.index), value)

    def _kernel(self, module: Module) -> str:
        """`void NAME(ptr lhs, ptr rhs, ptr out)`: 2 x 2 tiles over all of k."""
        name = f"{self.name}.tiles"
        if module.has_function(name):
            return f"@{name}"
        parameters = [(PTR, "lhs"), (PTR, "rhs"), (PTR, "out")]
        function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
        lhs, rhs, out = function.arguments
        b = Builder(function)
        row = _TILE * _WORD_BYTES
        out_row = (self.out.row if self.out else _BLOCK) * _WORD_BYTES
        for tile in range(4):
            b.intrinsic("x86.tilezero", [integer(tile, I8)], result="void")
        with b.loop(
            integer(0), integer(self.steps), step=_TILE, name="k", nonempty=True, metadata=keep_rolled(module)
        ) as loop:
            left = b.gep(I32, lhs, b.mul(loop.index, integer(_BLOCK)))
            right = b.gep(I32, rhs, b.mul(loop.index, integer(_BLOCK)))
            for half in range(2):
                _move(b, "loadd64", 4 + half, (b.gep(I32, left, integer(half * _TILE * _TILE)), row))
                _move(b, "loadd64", 6 + half, (b.gep(I32, right, integer(half * _TILE)), _BLOCK * _WORD_BYTES))
            for tile in range(4):
                numbers = [integer(number, I8) for number in (tile, 4 + tile // 2, 6 + tile % 2)]
                b.intrinsic(f"x86.{self._instruction()}", numbers, result="void")
        for tile in range(4):
            corner = b.gep(I8, out, integer(tile // 2 * _TILE * out_row + tile % 2 * _TILE * _WORD_BYTES))
            _move(b, "stored64", tile, (corner, out_row))
        b.ret()
        return f"@{name}"

    def _instruction(self) -> str:
        if self.left.narrow.type == "bfloat":
            return "tdpbf16ps"
        signs = ("s" if narrow.signed else "u" for narrow in (self.left.narrow, self.right.narrow))
        return f"tdpb{''.join(signs)}d"


def _move(b: Builder, direction: str, tile: int, at: tuple[Value, int]) -> None:
    address, row = at
    b.intrinsic(f"x86.tile{direction}", [integer(tile, I8), address, integer(row)], result="void")


def _configure(b: Builder) -> None:
    """Ask for permission if nobody has yet, and make all eight tile registers 16 rows of 64 bytes.

    Threads that ask at once only ask more than once.
    """
    asked = b.module.define_global("gemm.tiles.asked", "internal global i8 0")
    with b.when(b.compare("eq", b.load(I8, asked, align=1, shared=True), zero(I8)), "ask"):
        b.module.declare("syscall", "i64", [I64, "..."])
        numbers = [integer(number) for number in TILE_REQUEST]
        b.call("@syscall", "i64 (i64, ...)", numbers)
        b.store(integer(1, I8), asked, align=1, shared=True)
    # Palette 1; then bytes per row as 16-bit numbers, and rows as bytes, for 8 of 16 registers.
    words = [1, 0, 0, 0, 0, 0, 0, 0] + [64] * 8 + [0] * 8 + [_TILE | _TILE << 8] * 4 + [0] * 4
    body = ", ".join(f"i16 {word}" for word in words)
    configuration = b.module.define_global(
        "gemm.tiles.configuration", f"internal constant [32 x i16] [{body}], align 64"
    )
    b.intrinsic("x86.ldtilecfg", [configuration], result="void")
