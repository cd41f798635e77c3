"""Product kernels in tiles: slices of both operands stream through shared memory while those before are multiplied.

Each block makes one tile of the result, on tensor cores where `mma` has a form for the product (`tile_wgmma` where the
GPU has groups of warps and tiles are large, else `tile_mma`), else by ordinary arithmetic (`tile_plain`).  Shared
memory holds a slice for each of several stages: while one is multiplied the next ones are on their way (`tile_slice`),
so that one barrier for each slice does: behind it nobody reads the stage that is filled next.  Of what is copied by
`cp.async` fragments are in registers a step before they are multiplied, so that nobody waits for shared memory behind
the barrier either; groups of warps read slices themselves, and still one when the next is begun.  Blocks take tiles in
bands, whose operands the L2 cache keeps.

Prologues are evaluated where operands are loaded, the epilogue where an element is stored.  Sums are made in the order
of the depth, those of a few long ones in parts (`split`): results depend on the operands alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import mma, split, tile_mma, tile_plain, tile_wgmma
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Product, ResultPosition, all_of, inside
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout, Slice
from compiler.backends.nvptx.kernels.grid import Gpu, Launch
from compiler.backends.nvptx.kernels.strategy import Launches, Plan, planned
from compiler.backends.nvptx.kernels.teams.tree import power_of_two
from compiler.backends.strategy import Detail
from compiler.codegen.index import Emission, Index, Variable, constant, reshape, whole
from compiler.codegen.llvm_ir import I32, Builder, Module, Value, integer, keep_rolled

_MOST_STAGES = 4
"""Slices in shared memory at once: three on their way cover the 479 cycles of memory (H100, arXiv:2402.13499)."""
_MANY_SLICES = 2 * _MOST_STAGES
"""Slices from which on it pays to ask for shared memory for all stages."""
_AT_ONCE = 2
"""Blocks that there is still to be room for on a multiprocessor."""
_TAKEN_BYTES = 1024
"""Shared memory of each block that is the system's."""
_MANY_BLOCKS = 128
"""Blocks that keep a GPU busy: each has a multiprocessor to itself."""
_LOAD, _LAUNCH = 16.0, 500_000.0
"""What it takes to bring an element into shared memory, and to put parts of sums together, in multiply-adds."""
_FEW_THREADS = 256
"""Threads of a multiprocessor that may have 255 registers each, the most there are: 65,536 for all of them."""
_LONG_BODY = 40
"""Instructions beside the product beyond which large tiles would spill registers."""
_WIDE_BYTES = 8
"""Bytes of the types whose sums take two registers each."""
_LEAST_SLICES = 8
"""Slices that a part of a sum has at least."""
_FEWEST_SLICES = 2
"""The same where every kernel is to be shared."""
_LONG_SLICES = 32
"""Slices from which on a sum is worth parts: to put them together takes a launch, and that as long as some ten."""

Multiplier = tile_mma.TensorTile | tile_plain.PlainTile


@dataclass(frozen=True, slots=True)
class _Plan:
    """A tile that a product may be made in: on tensor cores by a form of theirs, else by ordinary arithmetic."""

    shape: tile_mma.Shape | tile_plain.Shape
    threads: int
    layouts: tuple[Layout, Layout]
    form: mma.Mma | None = None
    share_all: bool = False

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.shape.rows

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return self.shape.columns

    @property
    def depth(self) -> int:
        """Terms of the sums that a stage holds."""
        return self.layouts[0].depth

    def blocks(self, product: Product) -> int:
        """How many tiles a product has."""
        down, across = self.tiles(product)
        return product.batch * down * across

    def tiles(self, product: Product) -> tuple[int, int]:
        """How many tiles a result has down and across."""
        return -(-product.rows // self.rows), -(-product.columns // self.columns)

    def band(self, product: Product) -> int:
        """How many tiles lie below each other in the bands in which blocks take them, column by column.

        Blocks that run at once then read about as much of either operand, the least that so many can: a power of two.
        """
        down, _ = self.tiles(product)
        most = math.isqrt(_MANY_BLOCKS * self.columns // self.rows)
        return min(down & -down, power_of_two(max(1, most)))

    def chunks(self, product: Product) -> tuple[int, int]:
        """How many parts sums are made in, and how many slices each has."""
        slices = -(-product.depth // self.depth)
        least = _LEAST_SLICES if slices >= _LONG_SLICES else slices
        least = min(least, _FEWEST_SLICES) if self.share_all else least
        return split.chunks(self.blocks(product), _MANY_BLOCKS, slices, least)

    @property
    def stage_bytes(self) -> int:
        """Shared memory of one stage."""
        return sum(layout.size * layout.type.size_bytes for layout in self.layouts)

    def asked_stages(self, product: Product, gpu: Gpu) -> int:
        """Stages for which a launch may ask for shared memory, where sums are long enough for that to pay."""
        if self.chunks(product)[1] < _MANY_SLICES and not self.share_all:
            return 0
        at_once = self.shape.resident if isinstance(self.shape, tile_mma.Shape) else _AT_ONCE
        return (gpu.shared_bytes // at_once - _TAKEN_BYTES) // self.stage_bytes

    def has_room(self, product: Product, gpu: Gpu) -> bool:
        """Whether two stages fit into a function's own shared memory, or all into what a launch asks for."""
        return 2 * self.stage_bytes <= grid.OWN_SHARED_BYTES or self.asked_stages(product, gpu) >= _MOST_STAGES

    def slices(self, product: Product, gpu: Gpu) -> list[Slice]:
        """What brings in the slices of both operands."""
        return [
            Slice(product, side, layout, self.threads, gpu.capability)
            for side, layout in zip(product.sides, self.layouts, strict=True)
        ]

    def multiplier(self, emission: Emission, product: Product) -> Multiplier:
        """The arithmetic."""
        if isinstance(self.shape, tile_plain.Shape):
            return tile_plain.PlainTile(emission, product, self.shape, self.layouts)
        assert self.form is not None
        if isinstance(self.shape, tile_wgmma.Shape):
            return tile_wgmma.GroupTile(emission, self.form, self.shape, self.layouts)
        return tile_mma.TensorTile(emission, self.form, self.shape, self.layouts)

    def cost(self, product: Product) -> float:
        """What the multiprocessor with the most tiles does, edges included, and a second launch, in multiply-adds."""
        chunks, slices = self.chunks(product)
        rounds = -(-self.blocks(product) * chunks // _MANY_BLOCKS)
        loads = _LOAD * (1 / self.rows + 1 / self.columns)
        terms = rounds * slices * self.depth * self.rows * self.columns
        return terms * (self.shape.work + loads) + (_LAUNCH if chunks > 1 else 0.0)


def _plans(product: Product, form: mma.Mma | None, gpu: Gpu) -> Iterator[_Plan]:
    """What may be chosen, the largest tile first."""
    if form is None:
        for plain in tile_plain.shapes(product.type):
            yield _Plan(plain, tile_plain.THREADS, tile_plain.layouts(product, plain), share_all=gpu.share_all)
        return
    for groups in tile_wgmma.shapes(form) if gpu.warp_groups else ():
        both = tile_wgmma.layouts(form, product, groups)
        if both is not None:
            found = _Plan(groups, groups.threads, both, form, gpu.share_all)
            if all(slice_.is_whole for slice_ in found.slices(product, gpu)):
                yield found
    for shape in tile_mma.shapes(form):
        found = _Plan(shape, shape.threads, tile_mma.layouts(form, product, shape), form, gpu.share_all)
        if not shape.is_copied or all(slice_.is_asynchronous for slice_ in found.slices(product, gpu)):
            yield found


def _choose(product: Product, form: mma.Mma | None, gpu: Gpu) -> _Plan:
    """The tile that keeps the multiprocessors busy for the shortest time; of two that do alike that of fewer parts.

    Where much is computed beside the product, that is one of the smallest.  Where every kernel is to be shared, each
    has its turn, by the product's sizes; warp groups have theirs wherever there are any.
    """
    plans = [plan for plan in _plans(product, form, gpu) if plan.has_room(product, gpu)]
    if _is_long(product):
        least = min(plan.rows * plan.columns for plan in plans)
        plans = [plan for plan in plans if plan.rows * plan.columns == least]
    if gpu.share_all:
        first = isinstance(plans[0].shape, tile_wgmma.Shape)
        return plans[0 if first else (product.rows + product.columns + product.depth) % len(plans)]
    return min(plans, key=lambda plan: (plan.cost(product), plan.chunks(product)))


def _is_long(product: Product) -> bool:
    """Whether what is computed beside the product wants many registers."""
    return sum(1 for _ in product.kernel.body()) > _LONG_BODY


def _resident(product: Product, plan: _Plan, gpu: Gpu) -> int:
    """How many blocks are to fit into a multiprocessor: of two the one multiplies while the other waits at a barrier.

    On tensor cores tiles may need no more than their share of the registers, but take a few more unless asked not to.
    """
    if not isinstance(plan.shape, tile_mma.Shape) or _is_long(product) or product.type.size_bytes >= _WIDE_BYTES:
        return 1
    # Pieces narrower than a register are many, each with conditions of its own.
    return 1 if any(slice_.is_narrow for slice_ in plan.slices(product, gpu)) else plan.shape.resident


def plan(product: Product, gpu: Gpu) -> Plan:
    """The plan of a product in tiles."""
    tile = _choose(product, mma.find(product, gpu.capability), gpu)
    chunks, _ = tile.chunks(product)
    details: dict[str, Detail] = {
        "tile": [tile.rows, tile.columns, tile.depth],
        "threads": tile.threads,
        "parts": chunks,
        "tensor_cores": tile.form is not None,
        "warp_groups": isinstance(tile.shape, tile_wgmma.Shape),
    }
    return planned(
        lambda module: _emit(module, product, tile, gpu),
        workspace_bytes=split.partial_bytes(product, chunks),
        details=details,
    )


def _emit(module: Module, product: Product, plan: _Plan, gpu: Gpu) -> Launches:
    builder = grid.begin(module, product.kernel, plan.threads, resident=_resident(product, plan, gpu))
    kernel = _TileKernel(builder, product, plan, gpu)
    kernel.store(kernel.sums())
    builder.ret()
    blocks = kernel.chunks * kernel.blocks
    launch = Launch(builder.function.name, blocks, plan.threads, shared_bytes=kernel.asked_bytes)
    return split.finished(module, product, launch, kernel.chunks)


class _TileKernel:
    """One block's work."""

    def __init__(self, builder: Builder, product: Product, plan: _Plan, gpu: Gpu) -> None:
        self.product = product
        self.plan = plan
        self.emission = emission = Emission(builder)
        down, across = plan.tiles(product)
        band = plan.band(product)
        sizes = (product.batch, down // band, across, band)
        self.blocks = plan.blocks(product)
        self.tile = plan.multiplier(emission, product)
        self.chunks, self.count = plan.chunks(product)
        block, all_sizes = self.chunks * self.blocks, (self.chunks, *sizes)
        found = reshape(emission, (emission.opaque(grid.block(builder), block),), (block,), all_sizes)
        self.chunk, self.batch, upper, column, lower = (
            emission.opaque(emission.value(index), size) for index, size in zip(found, all_sizes, strict=True)
        )
        self.start = (upper.times(band) + lower).times(plan.rows), column.times(plan.columns)
        self.slices = plan.slices(product, gpu)
        self.is_asynchronous = any(slice_.is_asynchronous for slice_ in self.slices)
        threads = plan.threads * _resident(product, plan, gpu)
        self.is_ahead = threads <= _FEW_THREADS and all(slice_.is_asynchronous for slice_ in self.slices)
        self.stages = self._stages(gpu)
        self.ahead = self.stages - 1 - self.tile.unfinished
        shared_bytes = self.stages * plan.stage_bytes
        self.asked_bytes = shared_bytes if shared_bytes + self.tile.own_bytes > grid.OWN_SHARED_BYTES else 0
        self.shared = self._asked(builder) if self.asked_bytes else self._own(builder)

    def _stages(self, gpu: Gpu) -> int:
        """How many slices of each operand shared memory holds: where copies go by themselves, more than two."""
        if not self.is_asynchronous:
            return 2
        own = (grid.OWN_SHARED_BYTES - self.tile.own_bytes) // self.plan.stage_bytes
        return power_of_two(min(_MOST_STAGES, max(own, self.plan.asked_stages(self.product, gpu))))

    def _own(self, builder: Builder) -> list[Value]:
        """Arrays of the function for the slices of both operands."""
        return [
            grid.shared_array(builder, f"{self.product.kernel.name}.{name}", layout.type, self.stages * layout.size)
            for name, layout in zip(("lhs", "rhs"), self.plan.layouts, strict=True)
        ]

    def _asked(self, builder: Builder) -> list[Value]:
        """The same in memory that the launch asks for."""
        left, _ = self.plan.layouts
        start = grid.asked_memory(builder.module, left.alignment)
        return [start, builder.gep(left.stored, start, integer(self.stages * left.size))]

    def sums(self) -> list[Value]:
        """The thread's sums, slice by slice."""
        emission, builder = self.emission, self.emission.builder
        for number in range(self.ahead):
            emission.enter()
            self._put(integer(number), self._fetch(integer(number)))
            emission.leave()
        start = self.tile.start()
        if self.is_ahead and isinstance(self.tile, tile_mma.TensorTile) and not self.tile.unfinished:
            return self._sums_by_steps(self.tile, start)
        # Unrolled, instructions that have all sums for operands would fill the code.
        rolled = keep_rolled(builder.module) if self.tile.unfinished else ""
        with builder.loop(
            integer(0), integer(self.count), carried=start, name="slice", metadata=rolled, nonempty=True
        ) as loop:
            emission.enter()
            self._meet()
            following = builder.add(loop.index, integer(self.ahead))
            registers = self._fetch(following)
            totals = self.tile.multiply(emission, self._stage(loop.index), loop.carried)
            self._put(following, registers)
            loop.carry(*totals)
            emission.leave()
        return self.tile.finished(builder, loop.results)

    def _sums_by_steps(self, tile: tile_mma.TensorTile, start: list[Value]) -> list[Value]:
        """The sums where fragments are in registers a step before they are multiplied, beyond a slice's end too."""
        emission, builder, steps = self.emission, self.emission.builder, tile.steps
        self._meet()
        emission.enter()
        first = tile.load(emission, self._stage(integer(0)), 0)
        emission.leave()
        # Unrolled, slices with their conditions would need more registers than there are.
        rolled = keep_rolled(builder.module)
        with builder.loop(
            integer(0), integer(self.count), carried=[*start, *first], name="slice", metadata=rolled, nonempty=True
        ) as loop:
            emission.enter()
            totals, fragments = loop.carried[: len(start)], loop.carried[len(start) :]
            following, stages = builder.add(loop.index, integer(self.stages - 1)), self._stage(loop.index)
            for step in range(1, steps + 1):
                if step == steps:
                    self._meet()
                    stages = self._stage(builder.add(loop.index, integer(1)))
                loaded = tile.load(emission, stages, step % steps)
                if step == 1:
                    self._fetch(following)
                totals, fragments = tile.multiply_step(emission, fragments, totals), loaded
            loop.carry(*totals, *fragments)
            emission.leave()
        return loop.results[: len(start)]

    def _meet(self) -> None:
        """Wait until all threads have brought in the slice that is multiplied next, and have read the one before."""
        self._asynchronous("wait.group", integer(self.ahead - 1, I32))
        self.tile.meet(self.emission.builder)
        grid.barrier(self.emission.builder)

    def _fetch(self, number: Value) -> list[list[Value]]:
        """Start to bring in a slice of each operand; what goes by registers is returned."""
        # Slices behind the last one have nothing inside the operands; those behind a part's are not multiplied.
        last = self.count + self.stages
        first = whole(Variable(number, last)) if number.literal is None else constant(number.literal)
        depth, stages = (self.chunk.times(self.count) + first).times(self.tile.depth), self._stage(number)
        registers = [
            slice_.fetch(self.emission, FactorPosition(self.batch, start, depth), stage)
            for slice_, start, stage in zip(self.slices, self.start, stages, strict=True)
        ]
        self._asynchronous("commit.group")
        return registers

    def _put(self, number: Value, registers: Sequence[list[Value]]) -> None:
        for slice_, values, stage in zip(self.slices, registers, self._stage(number), strict=True):
            slice_.put(self.emission, values, stage)

    def _stage(self, number: Value) -> list[Value]:
        """Where the slices of that number lie in shared memory."""
        builder = self.emission.builder
        stage = builder.binary("and", number, integer(self.stages - 1))
        return [
            builder.gep(layout.stored, shared, builder.mul(stage, integer(layout.size)))
            for layout, shared in zip(self.plan.layouts, self.shared, strict=True)
        ]

    def _asynchronous(self, name: str, *arguments: Value) -> None:
        """Close a group of `cp.async`, or wait for all groups but the last few, where there are any."""
        if self.is_asynchronous:
            builder = self.emission.builder
            callee = builder.module.declare(f"llvm.nvvm.cp.async.{name}", "void", [value.type for value in arguments])
            builder.call(callee, "void", arguments)

    def store(self, totals: Sequence[Value]) -> None:
        """Store the thread's sums, but for what lies beyond the result's edges."""
        for run in self.tile.results(totals):
            row, column = self.start[0] + run.row, self.start[1] + run.column
            if self.product.columns % len(run.sums):
                for number, value in enumerate(run.sums):
                    self._store_run((row, column.plus(number)), [value])
            else:
                self._store_run((row, column), run.sums)

    def _store_run(self, at: tuple[Index, Index], values: Sequence[Value]) -> None:
        """Store neighbours of which all or none are inside."""
        emission, product = self.emission, self.product
        condition = all_of(emission.builder, inside(emission, [(at[0], product.rows), (at[1], product.columns)]))
        with emission.builder.when(condition, "inside") if condition else nullcontext():
            emission.enter()
            row, column = (
                emission.opaque(emission.value(index), bound)
                for index, bound in zip(at, (product.rows, product.columns), strict=True)
            )
            for number, value in enumerate(values):
                position = ResultPosition(self.batch, row, column.plus(number))
                split.store(product, emission, value, position, self.chunk, self.chunks)
            emission.leave()
