"""Packing: copying a factor into the order in which the register tile reads it, converting on the way.

The right factor's panels hold, for every step along k, the elements of one register tile side by side.  Where
neighbours in memory are neighbours in the panel, they are copied, in vectors if the operand has some, else by a plain
loop over `load` that LLVM vectorises.  Otherwise rows run along k: they are read in vectors (from a staging buffer when
they must be converted first) and transposed in registers.  The left factor is read element by element: its rows along k
are packed as they are, only closer together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.micro import load_lanes
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Operand
from compiler.backends.cpu.kernels.gemm.share import Range
from compiler.backends.cpu.kernels.vectors.transposition import transpose
from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, integer, keep_rolled, vector_type, zero

_MANY_PANELS = 8
"""Panels beside which the last, lower one is a small share: an eighth at most goes element by element."""
_CHUNK_BYTES = 16
"""Bytes that are moved at a time where rows are cut: the narrowest vector register, which every CPU has."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Up to `width` rows of a factor with at most `depth` steps, packed one behind the other.

    With `whole`, steps always come in multiples of `lanes`.  A routine is told the pitch.
    """

    operand: Operand
    type: str
    lanes: int
    width: int
    depth: int
    whole: bool
    told_pitch: Value | None = None

    @property
    def pitch(self) -> int:
        """Elements from one row to the next: so many that rows fall into different sets of L1."""
        return (-(-self.depth // self.lanes) + 1) * self.lanes

    @property
    def panel_elements(self) -> int:
        """The size of the rows."""
        return self.width * self.pitch

    def copy(self, b: Builder, steps: Steps, rows: Range, target: Value) -> None:
        """Pack a range of at least one row.

        Args:
            b: where code is emitted.
            steps: which part of k is packed.
            rows: which rows.
            target: where the panel goes.
        """
        vector, pitch = self.operand.adjacent(self.type), self.told_pitch or integer(self.pitch)
        with b.loop(rows.start, rows.stop, name="row", nonempty=True) as row:
            line = b.gep(self.type, target, b.mul(b.sub(row.index, rows.start), pitch))
            whole = integer(0)
            if vector is not None:
                whole = _whole(b, steps.count, self.lanes)
                with b.loop(integer(0), whole, step=self.lanes, name="copy") as step:
                    k = b.add(steps.start, step.index)
                    value = vector(b, steps.batch, row.index, k, self.lanes)
                    b.store(value, b.gep(self.type, line, step.index), align=ELEMENT_BYTES[self.type])
                if self.whole:
                    return
            metadata = keep_rolled(b.module, scalar=True) if vector is not None else ""
            with b.loop(whole, steps.count, name="rest", metadata=metadata) as step:
                value = self.operand.load(b, steps.batch, row.index, b.add(steps.start, step.index))
                b.store(value, b.gep(self.type, line, step.index))


def _whole(b: Builder, count: Value, lanes: int) -> Value:
    literal = count.literal
    return b.binary("and", count, integer(-lanes)) if literal is None else integer(literal - literal % lanes)


@dataclass(frozen=True, slots=True)
class Panels:
    """A factor cut into `count` panels of `width` rows, of which the last one has `last`; its columns run along k.

    (The right factor is packed as its own transpose.)  At most `depth` steps are packed at a time.  With `pad`, rows
    are filled up to a multiple of it (to one of `lanes` with zeros).  With `whole`, steps always come in multiples of
    `lanes`.  With `most`, no panel starts behind that row: the last one is as wide as the others and overlaps the one
    before.  The room of `head` steps stays free before each panel's first step, and that of `gap` behind its last,
    which keeps a step's places in all panels out of one set of the caches.  What is copied in vectors is asked for
    `ahead` steps before: the hardware does not see it coming where each step lies in a page of its own.  A routine is
    told the size of a panel, and behind which row none starts.
    """

    operand: Operand
    type: str
    lanes: int
    width: int
    last: int
    count: int
    depth: int
    pad: int
    whole: bool
    most: int | None = None
    head: int = 0
    gap: int = 0
    ahead: int = 0
    told_size: Value | None = None
    told_most: Value | None = None

    def first(self, b: Builder, panel: Value) -> Value:
        """The first row of a panel."""
        row, most = b.mul(panel, integer(self.width)), self.told_most
        if most is None and self.most is not None:
            most = integer(self.most)
        return row if most is None else b.smin(row, most)

    def behind(self, b: Builder, panels: Value) -> Value:
        """Elements that so many packed panels take."""
        return b.mul(panels, self.told_size or integer(self.panel_elements))

    def pitch(self, rows: int) -> int:
        """Elements from one step to the next in a panel of so many rows."""
        return -(-rows // self.pad) * self.pad if self.pad else self.width

    @property
    def transposes(self) -> bool:
        """Whether rows lie along k in memory and are long enough for vectors."""
        return self.operand.row_major and self.depth >= self.lanes

    @property
    def copies(self) -> bool:
        """Whether the rows of a step can be read in vectors."""
        return not self.operand.row_major and self.operand.adjacent(self.type) is not None

    def transposes_panel(self, rows: int) -> bool:
        """Whether a panel is transposed in vectors; a low last one among many is not worth code of its own."""
        return self.transposes and (rows == self.width or self.count < _MANY_PANELS)

    @property
    def stages(self) -> bool:
        """Whether rows must be converted, or gathered, before they can be read in vectors."""
        array = self.operand.array
        return self.transposes and (array is None or array.column != 1)

    @property
    def staging(self) -> Rows:
        """The rows of a panel as they are before they are transposed."""
        return Rows(self.operand, self.type, self.lanes, self.width, self.depth, self.whole)

    @property
    def staging_elements(self) -> int:
        """The size of the staging buffer."""
        return self.staging.panel_elements if self.stages else 0

    @property
    def panel_elements(self) -> int:
        """The size of one packed panel, without the slack of `lanes` elements that packing may write behind it."""
        return (self.depth + self.head + self.gap) * self.pitch(self.width)


@dataclass(frozen=True, slots=True)
class Steps:
    """A part of a factor that is packed at a time: one batch, and steps `start` to `start + count` along k."""

    batch: Value
    start: Value
    count: Value


@dataclass(frozen=True, slots=True)
class Packer:
    """Emits the packing of one factor; `staging` is a buffer of `staging_elements`."""

    name: str
    panels: Panels
    staging: Value

    def pack(self, b: Builder, steps: Steps, panels: Range, target: Value) -> None:
        """Pack a range of panels, one behind the other, the first step of the first to `target`.

        Args:
            b: where code is emitted.
            steps: the batch and the steps along k.
            panels: the first panel, and the one behind the last.
            target: the address for the first step of the first panel.
        """
        shape = self.panels
        uniform = shape.last == shape.width
        if shape.count > 1 or uniform:
            stop = panels.stop if uniform else b.smin(panels.stop, integer(shape.count - 1))
            self._pack_full(b, steps, Range(panels.start, stop), target)
        if not uniform:
            last = integer(shape.count - 1)
            with b.when(b.compare("sgt", panels.stop, last), "last"):
                offset = shape.behind(b, b.sub(last, panels.start))
                self._pack_panel(b, steps, last, b.gep(shape.type, target, offset), shape.last)

    def _pack_full(self, b: Builder, steps: Steps, panels: Range, target: Value) -> None:
        shape = self.panels
        uniform = shape.last == shape.width
        if shape.transposes:
            with b.loop(panels.start, panels.stop, name="panel", nonempty=uniform) as panel:
                offset = shape.behind(b, b.sub(panel.index, panels.start))
                address = b.gep(shape.type, target, offset)
                self._pack_panel(b, steps, panel.index, address, shape.width)
            return
        # Steps outside, panels inside: memory is read in long runs.
        with b.loop(integer(0), steps.count, name="pack", nonempty=True, metadata=keep_rolled(b.module)) as step:
            line = b.gep(shape.type, target, b.mul(step.index, integer(shape.pitch(shape.width))))
            with b.loop(
                panels.start, panels.stop, name="panel", nonempty=uniform, metadata=keep_rolled(b.module)
            ) as panel:
                offset = shape.behind(b, b.sub(panel.index, panels.start))
                first = shape.first(b, panel.index)
                self._copy_step(b, steps, (step.index, first), b.gep(shape.type, line, offset), shape.width)

    def _pack_panel(self, b: Builder, steps: Steps, panel: Value, target: Value, rows: int) -> None:
        first = self.panels.first(b, panel)
        if self.panels.transposes_panel(rows):
            self._transpose(b, steps, first, target, rows)
            return
        with b.loop(integer(0), steps.count, name="pack", nonempty=True, metadata=keep_rolled(b.module)) as step:
            offset = b.mul(step.index, integer(self.panels.pitch(rows)))
            line = b.gep(self.panels.type, target, offset)
            self._copy_step(b, steps, (step.index, first), line, rows)

    def _copy_step(self, b: Builder, steps: Steps, where: tuple[Value, Value], line: Value, rows: int) -> None:
        shape = self.panels
        step, first = where
        if shape.copies:
            self._copy_vectors(b, steps, where, line, rows)
            return
        metadata = keep_rolled(b.module, scalar=True) if shape.transposes else ""
        with b.loop(integer(0), integer(rows), name="row", nonempty=True, metadata=metadata) as row:
            value = shape.operand.load(b, steps.batch, b.add(first, row.index), b.add(steps.start, step))
            b.store(value, b.gep(shape.type, line, row.index))
        if shape.pad and rows < shape.pitch(rows):
            with b.loop(integer(rows), integer(shape.pitch(rows)), name="pad", nonempty=True) as row:
                b.store(zero(shape.type), b.gep(shape.type, line, row.index))

    def _copy_vectors(self, b: Builder, steps: Steps, where: tuple[Value, Value], line: Value, rows: int) -> None:
        shape, array = self.panels, self.panels.operand.array
        vector = shape.operand.adjacent(shape.type)
        if vector is None:
            raise AssertionError("only what can be read in vectors is copied in vectors")
        first, k = where[1], b.add(steps.start, where[0])
        lanes = math.gcd(shape.operand.run, shape.lanes)
        pitch = shape.pitch(rows) if shape.pad else rows
        for lane in range(rows, pitch, lanes) if lanes < shape.lanes else ():
            b.store(
                zero(vector_type(shape.type, lanes)),
                b.gep(shape.type, line, integer(lane)),
                align=ELEMENT_BYTES[shape.type],
            )
        for lane, count in _pieces(rows, lanes, whole=bool(shape.pad)):
            row = b.add(first, integer(lane))
            if shape.ahead and array is not None:
                later = array.offset(b, row, b.add(k, integer(shape.ahead)))
                b.prefetch(shape.type, array.base(b, steps.batch), later)
            if count & (count - 1) == 0:
                value = vector(b, steps.batch, row, k, count)
            elif array is not None:
                address = b.gep(shape.type, array.base(b, steps.batch), array.offset(b, row, k))
                value = load_lanes(b, shape.type, address, lanes, count)
            else:
                value = zero(vector_type(shape.type, lanes))
                for position in range(count):
                    element = shape.operand.load(b, steps.batch, b.add(row, integer(position)), k)
                    value = b.insert(value, element, position)
            b.store(value, b.gep(shape.type, line, integer(lane)), align=ELEMENT_BYTES[shape.type])

    def _transpose(self, b: Builder, steps: Steps, first: Value, target: Value, rows: int) -> None:
        source, stride = self._source(b, steps, first, rows)
        lanes, pitch, type_ = self.panels.lanes, self.panels.pitch(rows), self.panels.type
        # A group writes whole vectors.  What it writes beyond its rows belongs to the next step of the first group,
        # which is written later: going down from the last group, and up along k within each.
        for group in reversed(range(-(-rows // lanes))):
            height = min(lanes, rows - group * lanes)
            callee = self.transposer(b.module, height, stride, pitch)
            addresses = (
                b.gep(type_, source, integer(group * lanes * stride)),
                b.gep(type_, target, integer(group * lanes)),
            )
            b.call(callee, "void", [*addresses, steps.count])

    def _source(self, b: Builder, steps: Steps, first: Value, rows: int) -> tuple[Value, int]:
        """The address of the first row at the first step, and the distance between rows."""
        panels, array = self.panels, self.panels.operand.array
        if array is not None and not panels.stages:
            offset = b.add(b.mul(first, integer(array.row)), steps.start)
            return b.gep(panels.type, array.base(b, steps.batch), offset), array.row
        staging = panels.staging
        staging.copy(b, steps, Range(first, b.add(first, integer(rows))), self.staging)
        return self.staging, staging.pitch

    def transposer(self, module: Module, rows: int, stride: int, pitch: int) -> str:
        """`void NAME(ptr source, ptr target, i64 steps)`: from rows `stride` apart to vectors `pitch` apart.

        Args:
            module: where it is defined.
            rows: that become lanes.
            stride: elements from row to row of what is read.
            pitch: elements from step to step of what is written.
        """
        name = f"{self.name}.transpose.{rows}.{pitch}"
        if not module.has_function(name):
            _transposer(module, name, self.panels, _Layout(rows, stride, pitch))
        return f"@{name}"


class _Layout(NamedTuple):
    """So many rows, `stride` elements apart, become vectors that are `pitch` elements apart."""

    rows: int
    stride: int
    pitch: int


def _transposer(module: Module, name: str, panels: Panels, layout: _Layout) -> None:
    """Define `void NAME(ptr source, ptr target, i64 steps)`: write up to `lanes` rows, a vector of them per step."""
    rows, stride, pitch = layout
    type_, vector = panels.type, vector_type(panels.type, panels.lanes)
    size = ELEMENT_BYTES[type_]
    parameters = [(f"{PTR} noalias readonly", "source"), (f"{PTR} noalias", "target"), (I64, "steps")]
    function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
    source, target, steps = function.arguments
    b = Builder(function)
    chunk = _chunk(panels)
    whole = b.binary("and", steps, integer(-chunk))
    with b.loop(integer(0), whole, step=chunk, name="block", metadata=keep_rolled(module)) as block:
        here = b.gep(type_, source, block.index)
        line = b.gep(type_, target, b.mul(block.index, integer(pitch)))
        for step, column in enumerate(_turned(b, panels, here, (rows, stride))):
            b.store(column, b.gep(type_, line, integer(step * pitch)), align=size)
    if panels.whole:
        b.ret()
        return
    with b.loop(whole, steps, name="rest", metadata=keep_rolled(module)) as rest:
        here = b.gep(type_, source, rest.index)
        column = zero(vector)
        for row in range(rows):
            column = b.insert(column, b.load(type_, b.gep(type_, here, integer(row * stride))), row)
        b.store(column, b.gep(type_, target, b.mul(rest.index, integer(pitch))), align=size)
    b.ret()


def _pieces(rows: int, lanes: int, *, whole: bool) -> list[tuple[int, int]]:
    """Rows as (first, count): vectors, then what is left, as it is (`whole`) or in powers of two."""
    pieces, first = [], 0
    while first < rows:
        left = min(rows - first, lanes)
        count = left if whole else 1 << (left.bit_length() - 1)
        pieces.append((first, count))
        first += count
    return pieces


def _chunk(panels: Panels) -> int:
    """The steps of a block: as many as 16 bytes of a row hold, and no more than there are rows in a vector."""
    return min(_CHUNK_BYTES // ELEMENT_BYTES[panels.type], panels.lanes)


def _turned(b: Builder, panels: Panels, source: Value, layout: tuple[int, int]) -> list[Value]:
    """The next steps of up to `lanes` rows, as many as a block has: a vector of them per step.

    Row `4 i + j` (of 4-byte elements) becomes part `i` of vector `j`, so the steps are the columns of a small block in
    every part of the vectors.
    """
    rows, stride = layout
    type_, lanes = panels.type, panels.lanes
    chunk = _chunk(panels)
    piece = vector_type(type_, chunk)
    pieces = [
        b.load(piece, b.gep(type_, source, integer(row * stride)), align=ELEMENT_BYTES[type_])
        if row < rows
        else zero(piece)
        for row in range(lanes)
    ]
    vectors = []
    for number in range(chunk):
        vectors_, count = pieces[number::chunk], chunk
        while len(vectors_) > 1:
            count *= 2
            vectors_ = [b.shuffle(vectors_[n], vectors_[n + 1], range(count)) for n in range(0, len(vectors_), 2)]
        vectors.append(vectors_[0])
    return transpose(b, vectors)
