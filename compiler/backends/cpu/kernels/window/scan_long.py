"""Scans of few long rows, in three parts: each block's total, from these where each block starts, then the blocks.

Blocks are of a length that does not depend on the number of threads, so nor do the results.  A total starts from the
block's first element, since the reducer need not have an identity.
"""

from __future__ import annotations

from typing import NamedTuple

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS
from compiler.backends.cpu.kernels.strategy import Functions, Given, Plan
from compiler.backends.cpu.kernels.window.scan import CHAINS, STEP_NS, Extent, Scan, ScanPosition
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import element, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, Value, integer
from compiler.codegen.reduction import REASSOCIATE
from compiler.codegen.scanning import Direction
from compiler.codegen.signature import arguments, elemental_of
from compiler.codegen.windows import combiner_of

_STEPS = 1024
"""Elements of a block that one thread scans: 4 KiB of f32, an eighth of an L1 cache."""
_LONG = 8 * _STEPS
"""Elements of a row from which on there are blocks enough to share: every element is added twice then."""


def decide(given: Given, way: Direction) -> Plan | Declined:
    """The plan of a scan of few long rows."""
    kernel, extent = given.kernel, Extent.of(given.kernel, way)
    if extent.inner > 1:
        return Declined("it goes along an outer dimension")
    if extent.length < _LONG:
        return Declined(f"rows have fewer than {_LONG} elements")
    if not 0 < extent.outer < CHAINS // 2:
        return Declined("there are rows enough to scan several at a time")

    def emit(module: Module) -> Functions:
        scans = [_Blocks(module, kernel, way, extent, suffix) for suffix in (".totals", ".starts", "")]
        scans[0].totals()
        scans[1].starts()
        scans[2].scan()
        return tuple(scan_.builder.function.name for scan_ in scans)

    # A value for each whole block, and for the steps that are left of each row.
    totals = extent.outer * (extent.length // _STEPS + 1) * combiner_of(kernel.roots[0]).types[0].size_bytes
    work = STEP_NS * kernel.outputs[0].size
    details: dict[str, Detail] = {"extent": [extent.outer, extent.length], "block": _STEPS}
    return given.plan(emit, work, shared_bytes=totals, details=details)


class _Block(NamedTuple):
    """Steps of a row: where their total is kept, the row, and the first step."""

    total: Value
    row: Value
    first: Value


class _Blocks(Scan):
    """Emits one part: each row is seen as whole blocks of steps, and the steps that are left."""

    def __init__(self, module: Module, kernel: Kernel, way: Direction, extent: Extent, suffix: str) -> None:
        super().__init__(module, kernel, way, extent, suffix)
        self.count, self.rest = divmod(self.length, _STEPS)

    def totals(self) -> None:
        """The total of each whole block."""
        b = self.builder
        chunk = nest.share(b, self.outer * self.count, THREAD, THREADS)
        with b.loop(chunk.start, chunk.stop, name="block") as block:
            ((number, row, first),) = self._blocks(block.index, 1)
            start = [self._element(row, first)]
            with b.loop(integer(1), integer(_STEPS), carried=start, name="step", nonempty=True) as loop:
                value = self._element(row, b.add(first, loop.index))
                values = elemental_of(self.kernel, Emission(b))
                loop.carry(*self.combiner.combine(values, loop.carried, [value], flags=REASSOCIATE))
            self._save(number, loop.results[0])
        b.ret()

    def starts(self) -> None:
        """Put in each total's place what the block starts from, and at the end what is left starts from."""
        b = self.builder
        chunk = nest.share(b, self.outer, THREAD, THREADS)
        with b.loop(chunk.start, chunk.stop, name="row") as row:
            first = b.mul(row.index, integer(self.count + 1))
            with b.loop(integer(0), integer(self.count), carried=[self.start()], name="block", nonempty=True) as loop:
                slot = b.add(first, loop.index)
                total = self._load(slot)
                self._save(slot, loop.carried[0])
                values = elemental_of(self.kernel, Emission(b))
                loop.carry(*self.combiner.combine(values, loop.carried, [total], flags=""))
            self._save(b.add(first, integer(self.count)), loop.results[0])
        b.ret()

    def scan(self) -> None:
        """All blocks, then what is left of each row."""

        def chains(first: Value, count: int) -> None:
            blocks = self._blocks(first, count)
            self.run([(row, step) for _, row, step in blocks], _STEPS, [self._load(slot) for slot, _, _ in blocks])

        self.in_chains(self.outer * self.count, chains)
        b = self.builder
        if self.rest:
            chunk = nest.share(b, self.outer, THREAD, THREADS)
            with b.loop(chunk.start, chunk.stop, name="row") as row:
                start = self._load(b.add(b.mul(row.index, integer(self.count + 1)), integer(self.count)))
                self.run([(row.index, integer(self.count * _STEPS))], self.rest, [start])
        b.ret()

    def _blocks(self, first: Value, count: int) -> list[_Block]:
        """Neighbouring blocks."""
        b, found = self.builder, []
        for number in range(count):
            block = b.add(first, integer(number))
            row = b.binary("udiv", block, integer(self.count))
            within = b.sub(block, b.mul(row, integer(self.count)))
            found.append(_Block(b.add(block, row), row, b.mul(within, integer(_STEPS))))
        return found

    def _element(self, row: Value, step: Value) -> Value:
        """The element of a step, in the form of a total."""
        emission = Emission(self.builder)
        values = elemental_of(self.kernel, emission)
        return values.value(self.array, tuple(self.indices(emission, ScanPosition(row, self.position(step), None))))

    def _address(self, index: Value) -> Value:
        type_ = element.storage_type(self.combiner.types[0])
        return self.builder.gep(type_, arguments(self.kernel).workspace, index)

    def _load(self, index: Value) -> Value:
        return element.load(self.builder, self.combiner.types[0], self._address(index))

    def _save(self, index: Value, value: Value) -> None:
        element.store(self.builder, self.combiner.types[0], value, self._address(index))
