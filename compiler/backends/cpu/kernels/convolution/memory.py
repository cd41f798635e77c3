"""The workspace of a convolution: what lies where, and what is put there before any tile.

That is packed weights, and what the sums of phases start from.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.convolution.pack import pack_weights
from compiler.backends.cpu.kernels.convolution.plan import Plan
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines


@dataclass(frozen=True, slots=True)
class Layout:
    """The offsets of a convolution's buffers in the workspace, in bytes.

    Once: the weights of all phases, then, where sums start from them, zero times those of each, or corrections.  For
    each thread: a copy, sums, and what sums start from if not from corrections; `row` is the size of that for a phase.
    """

    weights: int
    nothings: int
    patch: int
    sums: int
    starts: int
    row: int

    @staticmethod
    def of(plans: Sequence[Plan]) -> Layout:
        """The layout of all that the phases of a convolution need."""
        first = plans[0]
        patch = 0 if first.patch_direct else first.patch_elements
        sums = 0 if first.out_direct else max(plan.partial_sums().size for plan in plans) + first.columns
        weights = 0 if first.weights_direct else sum(plan.weight_elements for plan in plans) + first.columns
        row = first.shape.groups * first.shape.outputs + first.columns if first.shape.starts else 0
        sizes = [whole_lines(count * first.shape.size) for count in (weights, patch, sums, row)]
        rows = sizes[3] * len(plans)
        return Layout(sizes[0], rows, sizes[1], sizes[2], 0 if first.shape.corrected else rows, sizes[3])

    @property
    def shared(self) -> int:
        """Bytes that all threads use."""
        return self.weights + self.nothings

    @property
    def own(self) -> int:
        """Bytes that each thread has for itself."""
        return self.patch + self.sums + self.starts

    def workspace_bytes(self, threads: int) -> int:
        """Bytes of a kernel's workspace for that many threads."""
        return self.shared + threads * self.own


def emit_packing(module: Module, kernel: Kernel, plans: Sequence[Plan], layout: Layout) -> str:
    """Define the function that packs the weights of all phases; returns its name.

    Args:
        module: where the function goes.
        kernel: the convolution.
        plans: one for each phase.
        layout: where each phase's part of the workspace begins.
    """
    b = Builder(begin(module, kernel, ".weights"))
    workspace = arguments(kernel).workspace
    for number, plan in enumerate(plans):
        chunk = nest.share(b, plan.shape.groups * plan.panels, THREAD, THREADS)
        weights = b.gep(plan.shape.type, workspace, integer(plan.weight_start))
        nothings = b.gep(I8, workspace, integer(layout.weights + number * layout.row)) if plan.shape.starts else None
        pack_weights(b, kernel, plan, (weights, nothings), (chunk.start, chunk.stop))
    b.ret()
    return b.function.name


def emit_starts(b: Builder, plan: Plan, phases: int, memory: tuple[Value, Value], layout: Layout) -> None:
    """Emit the initial sums of each phase: zero times the weights of all others, which may be NaN.

    Args:
        b: where code is emitted.
        plan: of one phase.
        phases: how many there are.
        memory: the kernel's workspace, with what was packed, and a thread's scratch memory, where the starts go.
        layout: what lies where in both.
    """
    workspace, scratch = memory
    type_ = plan.shape.type
    rows = [b.gep(I8, workspace, integer(layout.weights + number * layout.row)) for number in range(phases)]
    out = [b.gep(I8, scratch, integer(layout.patch + layout.sums + n * layout.row)) for n in range(phases)]
    with b.loop(integer(0), integer(plan.shape.groups * plan.shape.outputs), name="feature", nonempty=True) as feature:
        values = [b.load(type_, b.gep(type_, row, feature.index)) for row in rows]
        for number, address in enumerate(out):
            others = [value for other, value in enumerate(values) if other != number]
            total = functools.reduce(lambda one, other: b.binary("fadd", one, other), others)
            b.store(total, b.gep(type_, address, feature.index))
