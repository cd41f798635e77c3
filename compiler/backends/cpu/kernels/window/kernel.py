"""reduce-window kernels: rows of results at a time, so that the innermost loop is contiguous and checks no bounds.

Small windows that never leave the array are unrolled over a row.  Otherwise a row of accumulators is held in L1, and
the window's points are gone through in order, each with the part of the row for which it lies inside.  Windows that
cover all there is up to the position itself are scans (`scan`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from compiler.backends.cpu.ir_text import size_of
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.cpu.kernels.window import scan, scan_long
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, Variable, digits
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.scanning import Direction, direction
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import combiner_of
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of

_CHUNK = 1024
"""Accumulators held at a time."""
_MOST_UNROLLED = 32
"""Points of a window that are written out: as many as vector registers of AVX-512."""
_STEP_NS = 0.04
"""Nanoseconds for an element of a window."""


_Form: TypeAlias = "Callable[[_Rows, Sequence[Index]], None]"
"""Emits a row at a position along the outer dimensions."""


class WindowGiven(Given):
    """A reduce-window kernel, with the direction that it scans in where it is a scan."""

    @cached_property
    def way(self) -> Direction | None:
        """The direction in which a scan goes."""
        return direction(self.kernel.roots[0])


def _scan_long(given: WindowGiven) -> Plan | Declined:
    """The plan of scans of few long rows."""
    return Declined(_NO_SCAN) if given.way is None else scan_long.decide(given, given.way)


def _scan(given: WindowGiven) -> Plan | Declined:
    """The plan of scans of some rows at a time."""
    return Declined(_NO_SCAN) if given.way is None else scan.decide(given, given.way)


def _unrolled(given: WindowGiven) -> Plan | Declined:
    """The plan where a window's points are written out over a row."""
    rows = _Extent.of(given.kernel)
    if not rows.is_inside:
        return Declined("windows reach beyond the array")
    if rows.points > _MOST_UNROLLED:
        return Declined(f"windows have more than {_MOST_UNROLLED} points")
    return _rows(given, rows, _Rows.unrolled)


def _held(given: WindowGiven) -> Plan:
    """The plan where accumulators of a row lie in L1."""
    return _rows(given, _Extent.of(given.kernel), _Rows.chunks)


def _scratch_bytes(window: Instruction) -> int:
    """The room for a thread's accumulators."""
    return _CHUNK * size_of(element.value_type(combiner_of(window).types[0]))


def _rows(given: WindowGiven, rows: _Extent, form: _Form) -> Plan:
    (instruction,) = given.kernel.roots
    work = _STEP_NS * instruction.array.size * rows.points
    scratch = given.threads * _scratch_bytes(instruction)

    def emit(module: Module) -> Functions:
        emitter = _Rows(module, given.kernel, rows)
        emitter.emit(form)
        return (emitter.builder.function.name,)

    return given.plan(emit, work, shared_bytes=scratch, details={"row": rows.row, "points": rows.points})


_NO_SCAN = "windows do not hold everything from one end of a dimension on"

REDUCE_WINDOW = Kind(
    (
        Strategy("scan in blocks", _scan_long),
        Strategy("scan", _scan),
        Strategy("windows unrolled", _unrolled),
        Strategy("windows point by point", _held),
    ),
    WindowGiven,
)
"""reduce-window kernels."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """Rows of results, which are the last dimensions that the window leaves alone, or else the last one.

    Attributes:
        dims: of the array.
        out: dimensions of the result.
        window: the window.
        trailing: how many dimensions it leaves alone.
    """

    dims: tuple[int, ...]
    out: tuple[int, ...]
    window: tuple[WindowDimension, ...]
    trailing: int

    @staticmethod
    def of(kernel: Kernel) -> _Extent:
        """The rows of a kernel."""
        (instruction,) = kernel.roots
        dims = instruction.operands[0].array.dims
        window = tuple(window_of(instruction, len(dims)))
        plain = itertools.takewhile(lambda dimension: dimension == WindowDimension(), reversed(window))
        return _Extent(dims, instruction.array.dims, window, len(list(plain)))

    @property
    def outer(self) -> int:
        """Dimensions around rows."""
        return len(self.dims) - max(1, self.trailing)

    @property
    def row(self) -> int:
        """Results of a row."""
        return math.prod(self.out[self.outer :])

    @property
    def points(self) -> int:
        """Elements of a window."""
        return math.prod(dimension.size for dimension in self.window)

    @property
    def is_inside(self) -> bool:
        """Whether every point of every window is an element."""
        dimensions = zip(self.window, self.dims, self.out, strict=True)
        return all(
            p.pad_low <= 0 and (o - 1) * p.stride + (p.size - 1) * p.rhs_dilate - p.pad_low < n
            for p, n, o in dimensions
        )


class _Chunk(NamedTuple):
    """Elements of a row from `start` up to `stop`, whose accumulators lie at `held`."""

    start: Value
    stop: Value
    held: Value


class _Rows:
    """Emits one thread's rows."""

    def __init__(self, module: Module, kernel: Kernel, extent: _Extent) -> None:
        (instruction,) = kernel.roots
        self.kernel = kernel
        self.array, self.initial = instruction.operands
        self.dims, self.out, self.window = extent.dims, extent.out, extent.window
        self.row, self.outer, self.trailing = extent.row, extent.outer, extent.trailing
        self.combiner = combiner_of(instruction)
        self.type = element.value_type(self.combiner.types[0])
        self.scratch_bytes = _scratch_bytes(instruction)
        self.builder = Builder(begin(module, kernel))

    def emit(self, form: _Form) -> None:
        """Everything."""
        b = self.builder
        sizes = self.out[: self.outer]
        count = math.prod(sizes)
        chunk = nest.share(b, count, THREAD, THREADS)
        with b.loop(chunk.start, chunk.stop, name="row", metadata=keep_rolled(b.module)) as row:
            emission = Emission(b)
            at = nest.coordinates(emission, emission.opaque(row.index, count), sizes)
            positions = [emission.opaque(emission.value(i), n) for i, n in zip(at, sizes, strict=True)]
            form(self, positions)
        b.ret()

    def _values(self, emission: Emission) -> Elemental:
        return elemental_of(self.kernel, emission)

    def unrolled(self, positions: Sequence[Index]) -> None:
        """A row whose windows' points are written out."""
        b = self.builder
        with b.loop(integer(0), integer(self.row), name="element", nonempty=True) as loop:
            emission = Emission(b)
            values = self._values(emission)
            along = digits(Variable(loop.index, self.row), self.out[self.outer :])
            total = [values.value(self.initial, ())]
            for point in itertools.product(*(range(dimension.size) for dimension in self.window)):
                source = tuple(
                    position.times(dimension.stride).plus(t * dimension.rhs_dilate - dimension.pad_low)
                    for position, dimension, t in zip((*positions, *along), self.window, point, strict=True)
                )
                total = self.combiner.combine(values, total, [values.value(self.array, source)], flags="")
            self._store(emission, values, total, [*positions, *along])

    def _store(self, emission: Emission, values: Elemental, total: list[Value], at: Sequence[Index]) -> None:
        (root,) = self.kernel.roots
        (result,) = self.combiner.finish(values, total)
        offset = Index()
        for index, size in zip(at, self.out, strict=True):
            offset = offset.times(size) + index
        store(emission, root.array, result, arguments(self.kernel).outputs[0], offset)

    def chunks(self, positions: Sequence[Index]) -> None:
        """A row in chunks of accumulators, to which the window's points are added one by one."""
        b, row = self.builder, self.row
        own = b.mul(THREAD, integer(self.scratch_bytes))
        held = b.gep(I8, arguments(self.kernel).workspace, own)
        with b.loop(
            integer(0), integer(row), step=_CHUNK, name="chunk", nonempty=True, metadata=keep_rolled(b.module)
        ) as chunk:
            stop = b.smin(b.add(chunk.index, integer(_CHUNK)), integer(row))
            length = b.sub(stop, chunk.index)
            with b.loop(integer(0), length, name="start", nonempty=True) as loop:
                start = self._values(Emission(b)).value(self.initial, ())
                b.store(start, b.gep(self.type, held, loop.index))
            self._points(0, positions, [], _Chunk(chunk.index, stop, held))
            with b.loop(integer(0), length, name="finish", nonempty=True) as loop:
                emission = Emission(b)
                total = b.load(self.type, b.gep(self.type, held, loop.index))
                along = digits(Variable(b.add(chunk.index, loop.index), row), self.out[self.outer :])
                self._store(emission, self._values(emission), [total], [*positions, *along])

    def _points(self, dim: int, positions: Sequence[Index], source: list[Index], chunk: _Chunk) -> None:
        """Loops over the window's points that lie inside, in order."""
        b, emission = self.builder, Emission(self.builder)
        if dim == self.outer:
            if self.trailing:
                self._add_row(source, None, chunk)
                return
            with b.loop(
                integer(0), integer(self.window[dim].size), name="point", metadata=keep_rolled(b.module)
            ) as point:
                self._add_row(source, point.index, chunk)
            return
        dimension, size = self.window[dim], self.dims[dim]
        first = b.sub(b.mul(emission.value(positions[dim]), integer(dimension.stride)), integer(dimension.pad_low))
        start = self._ceiling(b.sub(integer(0), first), dimension.rhs_dilate)
        stop = self._ceiling(b.sub(integer(size), first), dimension.rhs_dilate)
        stop = b.smin(stop, integer(dimension.size))
        with b.loop(start, stop, name="point", metadata=keep_rolled(b.module)) as point:
            position = b.add(first, b.mul(point.index, integer(dimension.rhs_dilate)))
            self._points(dim + 1, positions, [*source, Emission(b).opaque(position, size)], chunk)

    def _ceiling(self, value: Value, divisor: int) -> Value:
        """`value / divisor` rounded up, at least 0."""
        b = self.builder
        raised = b.smax(b.add(value, integer(divisor - 1)), integer(0))
        return b.binary("udiv", raised, integer(divisor))

    def _add_row(self, source: list[Index], point: Value | None, chunk: _Chunk) -> None:
        """Combine one point of the window into every accumulator whose window has it inside."""
        b = self.builder
        start, stop, held = chunk
        shift = integer(0)
        dimension = self.window[self.outer]
        if point is not None:
            shift = b.sub(b.mul(point, integer(dimension.rhs_dilate)), integer(dimension.pad_low))
            first = self._ceiling(b.sub(integer(0), shift), dimension.stride)
            past = self._ceiling(b.sub(integer(self.dims[-1]), shift), dimension.stride)
            begin_ = b.smax(start, first)
            end = b.smin(stop, past)
        else:
            begin_, end = start, stop
        with b.loop(begin_, end, name="element") as loop:
            emission = Emission(b)
            values = self._values(emission)
            if point is None:
                along = list(digits(Variable(loop.index, self.row), self.dims[self.outer :]))
            else:
                moved = b.add(b.mul(loop.index, integer(dimension.stride)), shift)
                along = [emission.opaque(moved, self.dims[-1])]
            address = b.gep(self.type, held, b.sub(loop.index, start))
            found = values.value(self.array, (*source, *along))
            (total,) = self.combiner.combine(values, [b.load(self.type, address)], [found], flags="")
            b.store(total, address)
