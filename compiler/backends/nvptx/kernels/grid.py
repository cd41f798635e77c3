"""What a GPU kernel is launched with, and the intrinsics by which a thread learns who it is and talks to others.

A kernel function is `void NAME(inputs..., outputs..., workspace, numbers...)` on a one-dimensional grid.  Functions of
one kernel are launched one after the other, which is the only order between blocks that there is.

Emitted into a `LaunchModule` it is called by a larger launch, which does its blocks in turn: it is told which thread
of which block it is, and waits for as many threads as it is made for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from compiler.codegen import complex_numbers, element, signature
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I32, I64, SM_80, Builder, Module, Value, element_of, integer
from compiler.ir.types import ElementType

BLOCK = 256
"""Threads of a block: eight fill the 2048 of a multiprocessor."""
WARP = 32
"""Lanes of a warp."""
OWN_SHARED_BYTES = 48 * 1024
"""The most shared memory that functions have arrays in; for more a launch has to ask."""
Combine = Callable[[Emission, Sequence[Value], Sequence[Value]], list[Value]]
"""Emits one set of accumulators from two."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPU that kernels are emitted for.

    Attributes:
        capability: the compute capability, e.g. 80.
        shared_bytes: the shared memory of a multiprocessor, for all blocks that are on it at once.
        atomics: whether updates may be combined in any order.
        warp_groups: whether it has `wgmma`.
        share_all: whether kernels are cut as large ones are, however small, whether that pays or not.
    """

    capability: int
    shared_bytes: int
    atomics: bool = False
    warp_groups: bool = False
    share_all: bool = False

    @property
    def features(self) -> frozenset[str]:
        """Those for which something else is written: `SM_80` stands for it and all later ones."""
        return frozenset({SM_80} if self.capability >= 80 else ())


@dataclass(frozen=True, slots=True)
class Launch:
    """One function with its launch dimensions.

    Attributes:
        function: its name.
        blocks: how many.
        threads: of each block.
        numbers: what it is given behind the pointers.
        shared_bytes: shared memory that the launch asks for, beside the function's own arrays.
        leading: how many of the first blocks have more to do than the others; 0 where all are alike.
    """

    function: str
    blocks: int
    threads: int
    numbers: tuple[int, ...] = ()
    shared_bytes: int = 0
    leading: int = 0


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel in LLVM IR for the NVPTX target.

    Attributes:
        kernel: what it computes.
        launches: what is launched, in order.
        workspace_bytes: scratch memory of all launches.
        emit: writes it once more, into another module.
    """

    kernel: Kernel
    launches: tuple[Launch, ...]
    workspace_bytes: int
    emit: Callable[[Module], tuple[Launch, ...]]


_OWN = ((I32, "own.thread"), (I32, "own.block"))
"""What a part is told behind everything else."""
_SOME = 1
"""The number of the barrier for some of a launch's threads: at number 0 the others are waiting already."""
_FUNCTION_ATTRIBUTES = "alwaysinline convergent nounwind"
"""LLVM may double a call before it looks inside, and a barrier or shuffle must stay where all threads come by."""


@dataclass(slots=True)
class LaunchModule(Module):
    """A module in which kernels are functions of one launch, whose blocks have `whole` threads."""

    whole: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, module: Module, whole: int) -> LaunchModule:
        """A view of a module whose functions are launched from now on."""
        return cls(whole=whole, **{entry.name: getattr(module, entry.name) for entry in fields(module)})


def begin(  # noqa: PLR0913 - what a function is launched with
    module: Module,
    kernel: Kernel,
    threads: int,
    suffix: str = "",
    *,
    numbers: Sequence[str] = (),
    talks: bool = False,
    resident: int = 1,
) -> Builder:
    """Start one of a kernel's functions, for blocks of that many threads.

    Args:
        module: where the function goes.
        kernel: what it belongs to.
        threads: the threads of a block.
        suffix: sets the functions of one kernel apart.
        numbers: names of i64 arguments behind the pointers.
        talks: whether a thread reads what others wrote to the outputs or the workspace.  LLVM takes it that nobody
            but the thread itself writes where a `noalias` pointer points, barrier or not.
        resident: how many blocks a multiprocessor is to have registers for.
    """
    # Device memory comes in coarser units than the host's arrays: words of 16 bytes may be read.
    pointers = [(type_.replace("align 8", "align 16"), name) for type_, name in signature.parameters(kernel)]
    parameters = [*pointers, *((I64, name) for name in numbers)]
    if talks:
        parameters = [
            (type_ if "readonly" in type_ else type_.replace("noalias ", ""), name) for type_, name in parameters
        ]
    name = f"{kernel.name}{suffix}"
    if isinstance(module, LaunchModule):
        # Within one launch others may write wherever this one reads.
        shared = [(type_.replace("noalias ", "").replace("readonly ", ""), name) for type_, name in parameters]
        function = module.function(
            f"{name}.part", "void", [*shared, *_OWN], linkage="internal", attributes=_FUNCTION_ATTRIBUTES
        )
    else:
        # Asked for one block per multiprocessor at least: left to itself, ptxas spills registers to have room for more.
        attributes = f'nounwind "nvvm.maxntid"="{threads}" "nvvm.minctasm"="{resident}"'
        function = module.function(name, "void", parameters, linkage="ptx_kernel", attributes=attributes)
    function.threads = threads
    return Builder(function)


def for_each(  # noqa: PLR0913 - as `begin`, with the work and its size
    module: Module,
    kernel: Kernel,
    count: int,
    body: Callable[[Builder, Value], None],
    suffix: str = "",
    *,
    numbers: Sequence[tuple[str, int]] = (),
    talks: bool = False,
) -> Launch:
    """Emit a function that does `body` for every number below `count`, which is not 0, a thread for each.

    Args:
        module: where the function is defined.
        kernel: gives name and parameters.
        count: threads.
        body: emits what a thread does with its number.
        suffix: what tells the function from the kernel's others.
        numbers: further parameters, with the values that they are launched with.
        talks: whether threads of a block wait for each other.
    """
    threads = min(BLOCK, count)
    builder = begin(module, kernel, threads, suffix, numbers=[name for name, _ in numbers], talks=talks)
    number = linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(count)), "inside"):
        body(builder, number)
    builder.ret()
    return Launch(builder.function.name, blocks_for(count, threads), threads, tuple(value for _, value in numbers))


@contextmanager
def strided(builder: Builder, start: Value, stop: Value, threads: int, name: str = "stride") -> Iterator[Value]:
    """A loop in which the threads of a block share the numbers from `start` to `stop`, a block's width apart.

    Args:
        builder: where code is emitted.
        start: the first number, an i64.
        stop: the one behind the last.
        threads: of a block.
        name: of the loop's labels.
    """
    with builder.loop(builder.add(start, thread(builder)), stop, step=threads, name=name) as loop:
        yield loop.index


def thread(builder: Builder) -> Value:
    """The number of the thread in its block, as i64."""
    return _number(builder, "tid.x", 0)


def block(builder: Builder) -> Value:
    """The number of the block, as i64."""
    return _number(builder, "ctaid.x", 1)


def _number(builder: Builder, register: str, argument: int) -> Value:
    """A number that a register holds, or that a part is told."""
    if isinstance(builder.module, LaunchModule):
        type_, name = _OWN[argument]
        return builder.cast("zext", Value(type_, f"%{name}"), I64)
    callee = builder.module.declare(f"llvm.nvvm.read.ptx.sreg.{register}", I32, [])
    return builder.cast("zext", builder.call(callee, I32, []), I64)


def linear_thread(builder: Builder, threads: int) -> Value:
    """The number of the thread in the grid, as i64."""
    return builder.add(builder.mul(block(builder), integer(threads)), thread(builder))


def barrier(builder: Builder) -> None:
    """Wait for all threads of the block."""
    function, module = builder.function, builder.module
    function.waits = True
    if isinstance(module, LaunchModule) and function.threads < module.whole:
        some_wait(builder, function.threads)
        return
    callee = builder.module.declare("llvm.nvvm.barrier.cta.sync.aligned.all", "void", [I32], "convergent nounwind")
    builder.call(callee, "void", [integer(0, I32)])


def some_wait(builder: Builder, threads: int) -> None:
    """Wait for the first threads of the block, a multiple of a warp, while the others wait elsewhere."""
    name = "llvm.nvvm.barrier.cta.sync.aligned.count"
    callee = builder.module.declare(name, "void", [I32, I32], "convergent nounwind")
    builder.call(callee, "void", [integer(_SOME, I32), integer(threads, I32)])


def shared_array(builder: Builder, name: str, type_: ElementType, count: int) -> Value:
    """An array of the function in the block's shared memory.

    Args:
        builder: of the function.
        name: what it is called.
        type_: of its elements.
        count: how many there are.
    """
    definition = f"internal addrspace(3) global [{count} x {element.storage_type(type_)}] poison, align 16"
    array = builder.module.define_global(name, definition).name
    builder.function.shared[array] = count * type_.size_bytes
    return Value("ptr addrspace(3)", array)


def asked_memory(module: Module, alignment: int = 16) -> Value:
    """The shared memory that a launch asks for, one and the same for all functions of a module."""
    definition = f"external addrspace(3) global [0 x i8], align {alignment}"
    return Value("ptr addrspace(3)", module.define_global("asked", definition).name)


def reduce_lanes(
    emission: Emission, values: Sequence[Value], combine: Combine, width: int, lanes: int = WARP
) -> list[Value]:
    """Combine the values of each `width` neighbouring lanes, a power of two, in order; right in the first of those.

    Args:
        emission: where code is emitted.
        values: of the lane.
        combine: combines values of two lanes.
        width: lanes whose values are combined.
        lanes: of the warp that take part, the first ones.
    """
    builder, result, distance = emission.builder, list(values), 1
    while distance < width:
        others = [_shuffle_any(builder, value, "down", distance, (width, lanes)) for value in result]
        result = combine(emission, result, others)
        distance *= 2
    return result


def spread_lanes(builder: Builder, values: Sequence[Value], width: int, lanes: int = WARP) -> list[Value]:
    """The values of the first of each `width` neighbouring lanes, in all of those.

    Args:
        builder: where code is emitted.
        values: of the lane.
        width: lanes that get the same values.
        lanes: of the warp that take part, the first ones.
    """
    return [_shuffle_any(builder, value, "idx", 0, (width, lanes)) for value in values] if width > 1 else list(values)


def from_lane(builder: Builder, value: Value, lane: int) -> Value:
    """The value that a lane of the warp holds, in all of them.

    Args:
        builder: where code is emitted.
        value: of each lane.
        lane: the number of the one that is asked.
    """
    return _shuffle_any(builder, value, "idx", lane, (WARP, WARP))


def shuffle_across(builder: Builder, value: Value, mask: int) -> Value:
    """The value that the lane holds whose number differs by a mask.

    Args:
        builder: where code is emitted.
        value: of each lane.
        mask: in which the numbers of two lanes differ.
    """
    return _shuffle_any(builder, value, "bfly", mask, (WARP, WARP))


def shuffle_up(builder: Builder, value: Value, distance: int) -> Value:
    """The value that the lane `distance` further down holds; the first lanes of the warp get their own.

    Args:
        builder: where code is emitted.
        value: of each lane.
        distance: lanes.
    """
    return _shuffle_any(builder, value, "up", distance, (WARP, WARP))


def ballot(builder: Builder, vote: Value) -> Value:
    """A bit for each lane of the warp, of 32: whether a value is true there."""
    name = "llvm.nvvm.vote.ballot.sync"
    callee = builder.module.declare(name, I32, [I32, "i1"], "convergent nounwind")
    return builder.call(callee, I32, [integer(-1, I32), vote])


def _shuffle_any(builder: Builder, value: Value, mode: str, amount: int, extent: tuple[int, int]) -> Value:
    """A value of any width from another lane; of a complex one both parts."""
    if value.type.startswith("{"):
        components = [complex_numbers.component(builder, value, number) for number in (0, 1)]
        return complex_numbers.pair(builder, *(_shuffle_any(builder, p, mode, amount, extent) for p in components))
    if value.type == "double":
        # By these names no instruction is needed: LLVM puts halves of integers together by shifts.
        halves = [builder.call(_half(builder, half), I32, [value]) for half in ("lo", "hi")]
        return _double(builder, *(_shuffle(builder, half, mode, amount, extent) for half in halves))
    width = {"i1": 1, "float": 32}.get(value.type) or int(element_of(value.type)[1:])
    if width == 64:
        moved = _shuffle_any(builder, builder.cast("bitcast", value, "double"), mode, amount, extent)
        return builder.cast("bitcast", moved, value.type)
    if width == 32:
        moved = _shuffle(builder, builder.cast("bitcast", value, I32), mode, amount, extent)
        return builder.cast("bitcast", moved, value.type)
    return builder.cast("trunc", _shuffle(builder, builder.cast("zext", value, I32), mode, amount, extent), value.type)


def joined(builder: Builder, low: Value, high: Value) -> Value:
    """An integer of 64 bits of its halves, by no instruction: two registers are one.

    Args:
        builder: where code is emitted.
        low: the lower 32 bits.
        high: the upper ones.
    """
    return builder.cast("bitcast", _double(builder, low, high), I64)


def _double(builder: Builder, low: Value, high: Value) -> Value:
    """A double of the halves of its bits."""
    return builder.call(builder.module.declare("llvm.nvvm.lohi.i2d", "double", [I32, I32]), "double", [low, high])


def _half(builder: Builder, half: str) -> str:
    """What takes one half of the bits of a double."""
    return builder.module.declare(f"llvm.nvvm.d2i.{half}", I32, ["double"])


def _shuffle(builder: Builder, value: Value, mode: str, amount: int, extent: tuple[int, int]) -> Value:
    """A 32-bit value from further up (`down`), down (`up`), across (`bfly`), or a lane (`idx`) of the segment.

    `extent` is how wide segments are, and how many lanes of the warp take part.
    """
    width, lanes = extent
    name = f"llvm.nvvm.shfl.sync.{mode}.i32"
    callee = builder.module.declare(name, I32, [I32, I32, I32, I32], "convergent nounwind")
    mask = -1 if lanes == WARP else (1 << lanes) - 1
    # Past the end of its segment a lane gets its own value.
    clamp = (WARP - width) << 8 | (0 if mode == "up" else WARP - 1)
    return builder.call(callee, I32, [integer(mask, I32), value, integer(amount, I32), integer(clamp, I32)])


def blocks_for(elements: int, threads: int) -> int:
    """Blocks that give every element a thread."""
    return -(-elements // threads)
