"""The decisions about a convolution: its register tile, bands of the copy, blocks of features, what is not copied."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from compiler.backends.cpu.kernels.convolution.phases import Phase, PhaseDimension
from compiler.backends.cpu.kernels.convolution.plan import (
    Form,
    Plan,
    Shape,
    Source,
    Step,
    TileSize,
    Walk,
    in_words,
    shape_of,
    strides,
)
from compiler.backends.cpu.kernels.convolution.vnni import narrowed
from compiler.backends.cpu.machine import Machine
from compiler.codegen import element
from compiler.codegen.kernel import Kernel
from compiler.ir.module import Instruction

_COLLISION = 2048
"""Bytes at multiples of which rows lie in the same sets of the L1 cache."""
_BANDS_PER_THREAD = 2
"""Bands for each thread, so that one that comes late leaves half of its share to others."""
_FEWEST_STEPS = 64
"""Multiply-adds of a register tile, beside which storing it, 2 cycles a vector, is 3 %; flat from 16 to 256
(`reports/measured/2026-11-26-constants`)."""
_LOAD_CYCLES = 0.05
"""Cycles for a load of a vector that a tile repeats, beside an FMA."""
_MOST_VECTORS = 4
"""Vectors of features that a tile holds side by side."""


@dataclass(frozen=True, slots=True)
class _OutputDimension:
    """A dimension of positions: of the result, of the input, its size, and the input elements from one to the next."""

    out: int
    lhs: int
    count: int
    stride: int


def plans(kernel: Kernel, convolution: Instruction, machine: Machine, threads: int) -> list[Plan]:
    """The plans of a `kernel`'s `convolution` on a `machine` with so many threads, one a phase."""
    shape = _shape_on(machine, kernel, convolution)
    output_dims = _output_dims_of(shape)
    lanes = machine.vector_bits // 8 // shape.size
    if shape.form == "features":
        lanes = min(lanes, max(4, 1 << (shape.outputs - 1).bit_length()))
    flattened = _flattened(shape, output_dims)
    banded = _banded(output_dims, shape)
    counts = [output_dim.count for output_dim in output_dims]
    # Few pieces of work: no tile may be higher than one thread's chunk.
    counts[banded] = -(-counts[banded] // -(-threads // _outer_items(shape)))
    is_whole = output_dims[-1].count % counts[-1] == 0
    boxes, rows, vectors = _tile(shape, counts, (lanes, machine), flattened, is_whole=is_whole)
    draft = _Draft(kernel, shape, machine, output_dims, boxes, banded, flattened)
    block = draft.block(lanes)
    return draft.plans(TileSize(lanes, vectors, rows), block, draft.band(block, threads))


def walks(kernel: Kernel, convolution: Instruction, machine: Machine) -> bool:
    """Whether a `kernel`'s `convolution` on a `machine` has any dimension to go along; single elements have none."""
    return bool(_output_dims_of(_shape_on(machine, kernel, convolution)))


def _shape_on(machine: Machine, kernel: Kernel, convolution: Instruction) -> Shape:
    return in_words(shape_of(convolution), narrowed(kernel, convolution, machine))


def _outer_items(shape: Shape) -> int:
    """Pieces of work that there are before positions are cut into bands."""
    return shape.groups * (shape.batch if shape.batch_is_outer else 1)


def _output_dims_of(shape: Shape) -> list[_OutputDimension]:
    labels = shape.labels
    found = [
        _OutputDimension(out, lhs, shape.output_counts[out], dimension.stride)
        for out, lhs, dimension in zip(labels.output_spatial, labels.input_spatial, shape.window, strict=True)
    ]
    if not shape.batch_is_outer and shape.lane_dim != labels.input_batch:
        found.append(_OutputDimension(labels.output_batch, labels.input_batch, shape.batch, 1))
    found.sort(key=lambda output_dim: output_dim.lhs)
    return [output_dim for output_dim in found if output_dim.count > 1] or found[-1:]


def _flattened(shape: Shape, output_dims: list[_OutputDimension]) -> int:
    """How many of the last dimensions are walked as one run of form `places`, what lies between rows included."""
    if shape.form != "places" or len(output_dims) == 1:
        return 1
    previous, last = output_dims[-2:]
    return 2 if previous.lhs == last.lhs - 1 and previous.stride == 1 else 1


def _banded(output_dims: list[_OutputDimension], shape: Shape) -> int:
    """Which dimension is cut into bands: the outermost, or the batch where it is longer and inside."""
    inner = [n for n, output_dim in enumerate(output_dims) if output_dim.out == shape.labels.output_batch]
    if inner and output_dims[inner[0]].count >= max(output_dim.count for output_dim in output_dims):
        return inner[0]
    return next((n for n, output_dim in enumerate(output_dims) if output_dim.out != shape.labels.output_batch), 0)


def _cycles(form: Form, machine: Machine, rows: int, vectors: int) -> float:
    """Of one step of a tile: by multiply-adds, by loads (those that are not aligned count twice), by latency."""
    loads = {"features": rows + vectors, "places": rows + 2 * vectors, "lanes": rows * vectors + vectors}[form]
    return max(rows * vectors / 2, loads / 2, machine.multiply_add_cycles) + loads * _LOAD_CYCLES


class _Tile(NamedTuple):
    """How much of each dimension of positions a tile covers, its rows and its vectors."""

    boxes: tuple[int, ...]
    rows: int
    vectors: int


def _tile(shape: Shape, counts: list[int], vectors_of: tuple[int, Machine], flattened: int, *, is_whole: bool) -> _Tile:
    """The cheapest tile; `is_whole` says that all chunks of the last dimension are as long as its count."""
    lanes, machine = vectors_of
    best, least = None, math.inf
    widest = _MOST_VECTORS if shape.form == "places" else min(_MOST_VECTORS, -(-shape.outputs // lanes))
    # In form lanes everything is read in vectors; neighbouring ones share pages and prefetching.
    for vectors in range(widest if shape.form == "lanes" else 1, widest + 1):
        most = (machine.vector_registers - vectors - 1) // vectors
        if shape.form == "places":
            boxes = (1,) * len(counts)
            rows = _even(shape.outputs, most)
            across = -(-_run(shape, counts, flattened) // (vectors * lanes))
            cost = across * _rounded(shape.outputs, rows) * _cycles(shape.form, machine, rows, vectors)
        else:
            boxes = _boxes(counts, most, is_whole=is_whole)
            rows = math.prod(boxes)
            full, rest = divmod(-(-shape.outputs // lanes), vectors)
            width = full * _cycles(shape.form, machine, rows, vectors) + (
                _cycles(shape.form, machine, rows, rest) if rest else 0.0
            )
            cost = math.prod(map(_rounded, counts, boxes)) * width
        if best is None or cost < least:
            best, least = _Tile(boxes, rows, vectors), cost
    assert best is not None
    return best


def _run(shape: Shape, counts: list[int], flattened: int) -> int:
    """The length of one run of form `places`, with what lies between its rows."""
    if flattened == 1:
        return counts[-1]
    dimension = shape.copied[shape.labels.input_spatial.index(shape.lhs.array.rank - 1)]
    return (counts[-2] - 1) * (counts[-1] + (dimension.size - 1) * dimension.rhs_dilate) + counts[-1]


def _rounded(count: int, multiple: int) -> float:
    """How many tiles' work a dimension is; a lower last one costs a little more than its share."""
    whole, rest = divmod(count, multiple)
    return whole + (min(1.0, rest / multiple + 0.15) if rest else 0.0)


def _even(count: int, most: int) -> int:
    return -(-count // -(-count // max(1, most)))


def _boxes(counts: list[int], most: int, *, is_whole: bool) -> tuple[int, ...]:
    """All of the last dimension and some of the one before, or some of the last: of one of them may less be left."""
    boxes = [1] * len(counts)
    boxes[-1] = _even(counts[-1], most)
    if boxes[-1] == counts[-1] and is_whole and len(counts) > 1:
        boxes[-2] = _even(counts[-2], most // boxes[-1])
    return tuple(boxes)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is decided before blocks and bands are."""

    kernel: Kernel
    shape: Shape
    machine: Machine
    output_dims: list[_OutputDimension]
    boxes: tuple[int, ...]
    banded: int
    flattened: int

    @property
    def _half_cache(self) -> int:
        """Bytes that a padded copy of a band may have, and a packed panel of weights beside it."""
        return self.machine.l2_bytes // 2

    def sources(self, block: int, band: int) -> list[Source]:
        """The dimensions of the copy."""
        shape, labels = self.shape, self.shape.labels
        by_lhs = {output_dim.lhs: (number, output_dim) for number, output_dim in enumerate(self.output_dims)}
        result = []
        for dim in range(shape.lhs.array.rank):
            size = shape.extent(dim)
            number, output_dim = by_lhs.get(dim, (-1, None))
            banded = number == self.banded and output_dim is not None and band < output_dim.count
            count = band if banded else output_dim.count if output_dim else 1
            if dim == shape.lane_dim:
                role: Literal["batch", "feature"] = "feature" if dim == labels.input_feature else "batch"
                result.append(Source(shape.outputs, size, role, repeat=shape.outputs // size))
            elif dim == labels.input_feature:
                result.append(Source(block, size, "feature"))
            elif dim == labels.input_batch:
                result.append(Source(count, size, "batch", banded=banded))
            else:
                dimension = shape.copied[labels.input_spatial.index(dim)]
                extent = (count - 1) * dimension.stride + (dimension.size - 1) * dimension.rhs_dilate + 1
                result.append(
                    Source(extent, size, "space", dimension.pad_low, dimension.lhs_dilate, dimension.stride, banded)
                )
        return result

    def block(self, lanes: int) -> int:
        """The input features summed at a time: as many as keep weights and copy near.

        It decides the order of sums, so it depends on nothing that the number of threads has a say in.
        """
        shape = self.shape
        wide = min(shape.outputs, _MOST_VECTORS * lanes) * shape.size
        divisors = [n for n in range(shape.inputs, 0, -1) if shape.inputs % n == 0]
        enough = [n for n in divisors if shape.taps * n >= min(_FEWEST_STEPS, shape.taps * shape.inputs)]
        for block in enough:
            copied = 0 if self.patch_direct else math.prod(source.extent for source in self.sources(block, 1))
            if max(shape.taps * block * wide, copied * shape.size) <= self._half_cache:
                return block
        return enough[-1]

    def band(self, block: int, threads: int) -> int:
        """The positions in a band: few enough for L2, and for every thread to get some."""
        shape, unit, count = self.shape, self.boxes[self.banded], self.output_dims[self.banded].count
        others = math.prod(output_dim.count for output_dim in self.output_dims) // count
        band = -(-count // -(-_BANDS_PER_THREAD * threads // _outer_items(shape)))
        while band > unit:
            copied = 0 if self.patch_direct else math.prod(source.extent for source in self.sources(block, band))
            sums = 0 if self.out_direct else band * others * shape.outputs
            if (copied + sums) * shape.size <= self._half_cache:
                break
            band = max(unit, band // 2 if band > 4 * unit else band - unit)
        return min(count, -(-band // unit) * unit)

    @property
    def patch_direct(self) -> bool:
        """Whether the input can be read where it lies."""
        shape = self.shape
        if shape.form == "places" or not self._is_plain(shape.lhs):
            return False
        if shape.lane_dim is not None and shape.outputs != shape.lhs.array.dims[shape.lane_dim]:
            return False
        for dim, out_dim in zip(shape.labels.input_spatial, shape.labels.output_spatial, strict=True):
            dimension = shape.copied[shape.labels.input_spatial.index(dim)]
            reach = (shape.output_counts[out_dim] - 1) * dimension.stride + (dimension.size - 1) * dimension.rhs_dilate
            if (
                dimension.pad_low > 0
                or dimension.lhs_dilate > 1
                or reach - dimension.pad_low >= shape.lhs.array.dims[dim]
            ):
                return False
        return True

    @property
    def out_direct(self) -> bool:
        """Whether sums are stored to the result as they are."""
        shape = self.shape
        plain = self.kernel.roots == (shape.instruction,)
        type_ = shape.instruction.array.element_type
        same = element.value_type(type_) == shape.type == element.storage_type(type_)
        last = shape.labels.output_feature == shape.instruction.array.rank - 1
        return plain and same and last and shape.form != "places"

    def _is_plain(self, operand: Instruction) -> bool:
        type_ = operand.array.element_type
        same = element.value_type(type_) == self.shape.type == element.storage_type(type_)
        return same and operand in dict(self.kernel.leaves)

    def weights_direct(self, panels: int) -> bool:
        """Whether the weights can, and had better, be read where they lie."""
        shape = self.shape
        rhs = shape.rhs.array
        if shape.form == "places" or not self._is_plain(shape.rhs) or len(shape.phases) > 1:
            return False
        if shape.labels.kernel_output_feature != rhs.rank - 1:
            return False
        pitch = rhs.dims[-1] * shape.size
        is_cached = rhs.size * shape.size <= self.machine.l2_bytes
        return panels == 1 or (is_cached and pitch % _COLLISION != 0)

    def plans(self, tile: TileSize, block: int, band: int) -> list[Plan]:
        """Everything, phase by phase.

        Args:
            tile: what registers hold of a result.
            block: features of the input that are summed up at a time.
            band: positions along the banded dimension whose input is copied at a time.
        """
        found: list[Plan] = []
        for phase in self.shape.phases:
            start = found[-1].weight_start + found[-1].weight_elements if found else 0
            found.append(self._plan(phase, tile, (block, band), start))
        return found

    def _plan(self, phase: Phase, tile: TileSize, sizes: tuple[int, int], weight_start: int) -> Plan:
        shape, labels = self.shape, self.shape.labels
        (lanes, vectors, rows), (block, band) = tile, sizes
        sources = self.sources(block, band)
        patch = strides(shape.lhs.array.dims if self.patch_direct else [source.extent for source in sources])
        out = strides(shape.instruction.array.dims)
        phase_dims = dict(zip(labels.output_spatial, phase, strict=True))
        phase_dims[labels.output_batch] = PhaseDimension(count=shape.batch)
        walks = tuple(
            Walk(
                dim=output_dim.out,
                count=phase_dims[output_dim.out].count,
                patch=output_dim.stride * patch[output_dim.lhs],
                out=out[output_dim.out] * phase_dims[output_dim.out].every,
                box=min(box, phase_dims[output_dim.out].count),
            )
            for output_dim, box in zip(self.output_dims, self.boxes, strict=True)
        )
        panel = rows if shape.form == "places" else vectors * lanes
        direct = self.weights_direct(-(-shape.outputs // panel))
        flat = 0
        if shape.form == "places":
            counts = [band if n == self.banded else walk.count for n, walk in enumerate(walks)]
            flat = 1 + sum((c - 1) * w.patch for c, w in list(zip(counts, walks, strict=True))[-self.flattened :])
        patch_start = sum(
            phase_dim.skipped * patch[dim] for phase_dim, dim in zip(phase, labels.input_spatial, strict=True)
        )
        out_start = sum(phase_dim.first * out[dim] for phase_dim, dim in zip(phase, labels.output_spatial, strict=True))
        return Plan(
            shape=shape,
            lanes=lanes,
            vectors=vectors,
            rows=rows,
            walks=walks,
            banded=self.banded,
            band=band,
            block=block,
            sources=tuple(sources),
            steps=_steps(shape, phase, patch, block, strides(shape.rhs.array.dims) if direct else None, panel),
            patch_direct=self.patch_direct,
            weights_direct=direct,
            out_direct=self.out_direct,
            flattened=self.flattened,
            flat=flat,
            phase=phase,
            patch_start=patch_start,
            out_start=out_start,
            weight_start=weight_start,
        )


def _steps(
    shape: Shape, phase: Phase, patch: list[int], block: int, weights: list[int] | None, panel: int
) -> tuple[Step, ...]:
    """The dimensions of the sum, those far apart in the copy outermost; packed weights follow the same order."""
    labels = shape.labels
    found = [
        (one.taps, dimension.rhs_dilate * patch[lhs], rhs, dimension.reversal)
        for one, lhs, rhs, dimension in zip(
            phase, labels.input_spatial, labels.kernel_spatial, shape.window, strict=True
        )
    ]
    if shape.lane_dim != labels.input_feature:
        found.append((block, patch[labels.input_feature], labels.kernel_input_feature, False))
    found.sort(key=lambda step: -step[1])
    steps = []
    for number, (count, distance, rhs, backwards) in enumerate(found):
        if weights is None:
            weight = panel * math.prod(later[0] for later in found[number + 1 :])
        else:
            weight = -weights[rhs] if backwards else weights[rhs]
        steps.append(Step(count, distance, weight, rhs))
    return tuple(steps)


def merged(steps: tuple[Step, ...]) -> list[Step]:
    """The steps of a sum merged into as few loops as can be; none where nothing is summed."""
    if any(step.count == 0 for step in steps):
        return []
    result: list[Step] = []
    for step in steps:
        if step.count == 1:
            continue
        if result:
            # Where the loop outside goes on just where this one ends, in both operands, they are one.
            outer = result[-1]
            if outer.patch == step.patch * step.count and outer.weight == step.weight * step.count:
                result[-1] = replace(step, count=outer.count * step.count)
                continue
        result.append(step)
    return result or [Step(count=1, patch=0, weight=0, dim=-1)]
