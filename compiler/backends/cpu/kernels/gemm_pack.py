"""Packing: copying a factor into the order in which the register tile reads it, converting on the way.

A packed panel holds, for every step along k, the elements of one register tile side by side.  Where neighbours in
memory are neighbours in the panel, a plain loop over the caller's `load` does it and LLVM vectorises it.  Otherwise
rows run along k: they are read in vectors (from a staging buffer when they must be converted first) and transposed in
registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.gemm_micro import load_lanes
from compiler.backends.cpu.kernels.gemm_plan import ELEMENT_BYTES, Operand
from compiler.backends.cpu.kernels.gemm_share import Range, minimum
from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, integer, keep_rolled, vector_type, zero

_MANY_PANELS = 8


@dataclass(frozen=True, slots=True)
class Panels:
    """A factor cut into `count` panels of `width` rows, of which the last one has `last`; its columns run along k.

    (The right factor is packed as its own transpose.)  At most `depth` steps are packed at a time.  With `pad`, rows
    are filled up to a multiple of it (to one of `lanes` with zeros).  With `whole`, steps always come in multiples of
    `lanes`.
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

    def pitch(self, rows: int) -> int:
        """Elements from one step to the next in a panel of so many rows."""
        return -(-rows // self.pad) * self.pad if self.pad else self.width

    @property
    def transposes(self) -> bool:
        """Whether rows lie along k in memory and are long enough for vectors."""
        return self.operand.row_major and self.depth >= self.lanes

    @property
    def copies(self) -> bool:
        """Whether the rows of a step are adjacent elements of a plain array."""
        return self.operand.array is not None and self.operand.array.row == 1

    def transposes_panel(self, rows: int) -> bool:
        """Whether a panel is transposed in vectors; a low last one among many is not worth code of its own."""
        return self.transposes and (rows == self.width or self.count < _MANY_PANELS)

    @property
    def stages(self) -> bool:
        """Whether rows must be converted, or gathered, before they can be read in vectors."""
        array = self.operand.array
        return self.transposes and (array is None or array.column != 1)

    @property
    def staging_pitch(self) -> int:
        """Elements from one row to the next in the staging buffer."""
        return -(-self.depth // self.lanes) * self.lanes

    @property
    def staging_elements(self) -> int:
        """The size of the staging buffer."""
        return self.width * self.staging_pitch if self.stages else 0

    @property
    def panel_elements(self) -> int:
        """The size of one packed panel, without the slack of `lanes` elements that packing may write behind it."""
        return self.depth * self.pitch(self.width)


@dataclass(frozen=True, slots=True)
class Steps:
    """What is packed at a time: one batch, and steps `start` to `start + count` along k."""

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
        """Pack a range of panels to `target`, one behind the other; only one at a time without `pad`."""
        shape = self.panels
        uniform = shape.last == shape.width
        if shape.count > 1 or uniform:
            stop = panels.stop if uniform else minimum(b, panels.stop, shape.count - 1)
            self._pack_full(b, steps, Range(panels.start, stop), target)
        if not uniform:
            last = integer(shape.count - 1)
            with b.when(b.compare("sgt", panels.stop, last), "last"):
                offset = b.mul(b.sub(last, panels.start), integer(shape.panel_elements))
                self._pack_panel(b, steps, last, b.gep(shape.type, target, offset), shape.last)

    def _pack_full(self, b: Builder, steps: Steps, panels: Range, target: Value) -> None:
        shape = self.panels
        uniform = shape.last == shape.width
        if shape.transposes:
            with b.loop(panels.start, panels.stop, name="panel", nonempty=uniform) as panel:
                offset = b.mul(b.sub(panel.index, panels.start), integer(shape.panel_elements))
                address = b.gep(shape.type, target, offset)
                self._pack_panel(b, steps, panel.index, address, shape.width)
            return
        # Steps outside, panels inside: memory is read in long runs.
        with b.loop(integer(0), steps.count, name="pack", nonempty=True, metadata=keep_rolled(b.module)) as step:
            line = b.gep(shape.type, target, b.mul(step.index, integer(shape.pitch(shape.width))))
            with b.loop(
                panels.start, panels.stop, name="panel", nonempty=uniform, metadata=keep_rolled(b.module)
            ) as panel:
                offset = b.mul(b.sub(panel.index, panels.start), integer(shape.panel_elements))
                first = b.mul(panel.index, integer(shape.width))
                self._copy_step(b, steps, (step.index, first), b.gep(shape.type, line, offset), shape.width)

    def _pack_panel(self, b: Builder, steps: Steps, panel: Value, target: Value, rows: int) -> None:
        first = b.mul(panel, integer(self.panels.width))
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
        if array is None:
            raise AssertionError("only plain arrays are copied in vectors")
        step, first = where
        offset = b.add(first, b.mul(b.add(steps.start, step), integer(array.column)))
        source = b.gep(shape.type, array.base(b, steps.batch), offset)
        for lane in range(0, rows, shape.lanes):
            address = b.gep(shape.type, source, integer(lane))
            value = load_lanes(b, shape.type, address, shape.lanes, rows - lane)
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
        with b.loop(integer(0), integer(rows), name="stage", nonempty=True) as row:
            line = b.gep(panels.type, self.staging, b.mul(row.index, integer(panels.staging_pitch)))
            with b.loop(integer(0), steps.count, name="step") as step:
                where = b.add(first, row.index), b.add(steps.start, step.index)
                value = panels.operand.load(b, steps.batch, *where)
                b.store(value, b.gep(panels.type, line, step.index))
        return self.staging, panels.staging_pitch

    def transposer(self, module: Module, rows: int, stride: int, pitch: int) -> str:
        """`void NAME(ptr source, ptr target, i64 steps)`: from rows `stride` apart to vectors `pitch` apart."""
        name = f"{self.name}.transpose.{rows}.{pitch}"
        if not module.has_function(name):
            _transposer(module, name, self.panels, (rows, stride, pitch))
        return f"@{name}"


def _transposer(module: Module, name: str, panels: Panels, layout: tuple[int, int, int]) -> None:
    """Define `void NAME(ptr source, ptr target, i64 steps)`: write up to `lanes` rows, a vector of them per step."""
    rows, stride, pitch = layout
    lanes, type_, vector = panels.lanes, panels.type, vector_type(panels.type, panels.lanes)
    size = ELEMENT_BYTES[type_]
    parameters = [(f"{PTR} noalias readonly", "source"), (f"{PTR} noalias", "target"), (I64, "steps")]
    function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
    source, target, steps = function.arguments
    b = Builder(function)
    whole = b.binary("and", steps, integer(-lanes))
    with b.loop(integer(0), whole, step=lanes, name="block", metadata=keep_rolled(module)) as block:
        here = b.gep(type_, source, block.index)
        vectors = [b.load(vector, b.gep(type_, here, integer(row * stride)), align=size) for row in range(rows)]
        vectors += [zero(vector)] * (lanes - rows)
        line = b.gep(type_, target, b.mul(block.index, integer(pitch)))
        for step, column in enumerate(transpose(b, vectors)):
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


def transpose(b: Builder, rows: list[Value]) -> list[Value]:
    """The columns of a square block given as vectors: log2 rounds, each of which exchanges blocks of half the size."""
    lanes = len(rows)
    distance = lanes // 2
    while distance:
        upper = [lane if not lane & distance else lane - distance + lanes for lane in range(lanes)]
        lower = [lane + distance if not lane & distance else lane + lanes for lane in range(lanes)]
        for row in range(lanes):
            if not row & distance:
                pair = rows[row], rows[row + distance]
                rows[row], rows[row + distance] = b.shuffle(*pair, upper), b.shuffle(*pair, lower)
        distance //= 2
    return rows
