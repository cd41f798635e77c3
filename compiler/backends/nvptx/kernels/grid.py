"""What a GPU kernel is launched with, and the intrinsics by which a thread learns who it is and talks to others.

A kernel function is `void NAME(inputs..., outputs..., workspace)` on a one-dimensional grid.  Functions of one kernel
are launched one after the other, which is the only order between blocks that there is.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.codegen import signature
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I32, I64, Builder, Module, Value, element_of, integer

BLOCK = 256
WARP = 32


@dataclass(frozen=True, slots=True)
class Launch:
    """One function with its launch dimensions: blocks of threads."""

    function: str
    blocks: int
    threads: int


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel in LLVM IR for the NVPTX target: launches in order, and bytes of workspace."""

    kernel: Kernel
    launches: tuple[Launch, ...]
    workspace_bytes: int = 0


def begin(module: Module, kernel: Kernel, threads: int, suffix: str = "") -> Builder:
    """Start one of a kernel's functions, for blocks of that many threads."""
    name = f"{kernel.name}{suffix}"
    attributes = f'nounwind "nvvm.maxntid"="{threads}"'
    function = module.function(name, "void", signature.parameters(kernel), linkage="ptx_kernel", attributes=attributes)
    return Builder(function)


def thread(builder: Builder) -> Value:
    """The number of the thread in its block, as i64."""
    return _register(builder, "tid.x")


def block(builder: Builder) -> Value:
    """The number of the block, as i64."""
    return _register(builder, "ctaid.x")


def _register(builder: Builder, name: str) -> Value:
    callee = builder.module.declare(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])
    return builder.cast("zext", builder.call(callee, I32, []), I64)


def linear_thread(builder: Builder, threads: int) -> Value:
    """The number of the thread in the grid, as i64."""
    return builder.add(builder.mul(block(builder), integer(threads)), thread(builder))


def barrier(builder: Builder) -> None:
    """Wait for all threads of the block."""
    callee = builder.module.declare("llvm.nvvm.barrier.cta.sync.aligned.all", "void", [I32], "convergent nounwind")
    builder.call(callee, "void", [integer(0, I32)])


def shared_array(module: Module, name: str, element: str, count: int) -> Value:
    """An array in the block's shared memory."""
    definition = f"internal addrspace(3) global [{count} x {element}] poison, align 16"
    return Value("ptr addrspace(3)", module.define_global(name, definition).name)


def shuffle_down(builder: Builder, value: Value, distance: int, lanes: int) -> Value:
    """The value that the thread `distance` lanes further up holds; the first `lanes` lanes of the warp take part."""
    width = {"i1": 1, "float": 32, "double": 64}.get(value.type) or int(element_of(value.type)[1:])
    if width == 64:
        pair = builder.cast("bitcast", value, "<2 x i32>")
        low, high = (_shuffle(builder, builder.extract(pair, lane), distance, lanes) for lane in (0, 1))
        joined = builder.insert(builder.insert(Value("<2 x i32>", "poison"), low, 0), high, 1)
        return builder.cast("bitcast", joined, value.type)
    if width == 32:
        moved = _shuffle(builder, builder.cast("bitcast", value, I32), distance, lanes)
        return builder.cast("bitcast", moved, value.type)
    return builder.cast("trunc", _shuffle(builder, builder.cast("zext", value, I32), distance, lanes), value.type)


def _shuffle(builder: Builder, value: Value, distance: int, lanes: int) -> Value:
    callee = builder.module.declare("llvm.nvvm.shfl.sync.down.i32", I32, [I32, I32, I32, I32], "convergent nounwind")
    lanes = min(lanes, WARP)
    mask = -1 if lanes == WARP else (1 << lanes) - 1
    # The segment mask keeps the source inside the lanes that take part; past its end a lane gets its own value.
    clamp = (WARP - lanes) << 8 | (WARP - 1)
    arguments = [integer(mask, I32), value, integer(distance, I32), integer(clamp, I32)]
    return builder.call(callee, I32, arguments)


def blocks_for(elements: int, threads: int) -> int:
    """Blocks that give every element a thread."""
    return -(-elements // threads)
