"""Scatter kernels: a launch that copies the operands, then one that applies the updates, by default without atomics.

Updates may hit the same element, and the combiner need not commute, so those that could are one thread's, which applies
them in order: the result is that of a sequential program, the same every time.  Updates that differ along a dimension
which leads to different elements in any case, such as the columns of rows that are added up, are different threads'.

Where the order is given up on request, each update is a thread's and an atomic operation, if there is one for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Gpu, Launch
from compiler.codegen import element, nest, scattering
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.ir.combiner import binary_opcode

_ATOMIC: dict[str, dict[str, str]] = {
    "add": {"float": "fadd", "signed": "add", "unsigned": "add"},
    "maximum": {"signed": "max", "unsigned": "umax"},
    "minimum": {"signed": "min", "unsigned": "umin"},
    **{opcode: {"signed": opcode, "unsigned": opcode} for opcode in ("and", "or", "xor")},
}
"""LLVM's operation for an opcode on a kind of numbers."""
_ATOMIC_BITS = (32, 64)


def emit(module: Module, kernel: Kernel, gpu: Gpu) -> EmittedKernel:
    """Emit a scatter kernel."""
    size = kernel.outputs[0].size
    if size == 0:
        return EmittedKernel(kernel, ())

    def copy(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        scattering.copy_element(kernel, emission, emission.opaque(number, size))

    copied = grid.for_each(module, kernel, size, copy, "_copy")
    if scattering.updates(kernel).size == 0:
        return EmittedKernel(kernel, (copied,))
    return EmittedKernel(kernel, (copied, _update(module, kernel, _atomic(kernel) if gpu.atomics else None)))


def _atomic(kernel: Kernel) -> scattering.Write | None:
    """How an element is updated at once; None where it cannot be."""
    (scatter,) = kernel.roots
    type_ = scatter.operands[0].array.element_type
    kind = "float" if type_.is_float else "signed" if element.is_signed(type_) else "unsigned"
    operation = _ATOMIC.get(binary_opcode(scatter.attributes["to_apply"]) or "", {}).get(kind)
    if operation is None or len(kernel.outputs) != 1 or type_.bits not in _ATOMIC_BITS:
        return None

    def write(emission: Emission, addresses: Sequence[Value], new: Sequence[Value]) -> None:
        order = f'syncscope("device") monotonic, align {type_.size_bytes}'
        emission.builder.emit(new[0].type, f"atomicrmw {operation} {addresses[0]}, {new[0]} {order}")

    return write


def _update(module: Module, kernel: Kernel, write: scattering.Write | None) -> Launch:
    dims = scattering.updates(kernel).dims
    parallel = [d for d in range(len(dims)) if write is not None or _is_parallel(kernel, d)]
    ordered = [d for d in range(len(dims)) if d not in parallel]
    threads, turns = (math.prod(dims[d] for d in part) for part in (parallel, ordered))

    def update(builder: Builder, number: Value) -> None:
        emission = Emission(builder)

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            at: dict[int, Index] = {}
            for part, value, count in ((parallel, number, threads), (ordered, counters[0], turns)):
                sizes = [dims[d] for d in part]
                at.update(zip(part, reshape(emission, (emission.opaque(value, count),), (count,), sizes), strict=True))
            scattering.apply_update(kernel, emission, tuple(at[d] for d in range(len(dims))), write)
            return []

        nest.nested(emission, [nest.all_of(turns)], [], step)

    return grid.for_each(module, kernel, threads, update, "_update")


def _is_parallel(kernel: Kernel, dimension: int) -> bool:
    """Whether updates that differ along a dimension of theirs never hit the same element."""
    attributes = kernel.roots[0].attributes
    if attributes.get("unique_indices", False):
        return True
    window: Sequence[int] = attributes.get("update_window_dims", ())
    if dimension in window:
        skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
        rank = kernel.outputs[0].rank
        operand_dims = [d for d in range(rank) if d not in skipped]
        # Where the window starts at an index, windows may overlap.
        return operand_dims[window.index(dimension)] not in attributes["scatter_dims_to_operand_dims"]
    batch = [d for d in range(scattering.updates(kernel).rank) if d not in window].index(dimension)
    indices_dim = batch + (batch >= attributes["index_vector_dim"])
    return indices_dim in attributes.get("scatter_indices_batching_dims", ())
