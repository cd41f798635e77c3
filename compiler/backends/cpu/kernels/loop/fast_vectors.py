"""Loops of functions that have a cheaper form for small arguments, in vectors that the kernel writes.

A sine of f64 is a hundred instructions: LLVM's vectoriser, and all that is behind it, took longer over one loop of five
such functions than XLA takes over the whole program.  Here several vectors at once are one long value, which selection
of instructions takes apart.  A few functions are written out; more are called as routines of that value, each compiled
once, in the same time.

As other loops with such functions do, these run in blocks: if an argument in a block was too large for the cheaper
forms, the block is done again, element by element, with the others, which are always called.
"""

from __future__ import annotations

from compiler.analysis.opcodes import FUNCTIONS
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.loop import written_vectors
from compiler.backends.cpu.kernels.loop.given import LoopGiven, body_of, has_fast_path
from compiler.backends.cpu.kernels.loop.plain import BLOCK, share_arguments
from compiler.backends.cpu.kernels.strategy import Functions, Plan
from compiler.backends.cpu.kernels.vectors.lanes import Lanes, at_lane
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import nest
from compiler.codegen.index import Emission, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import RoutineLaneBuilder
from compiler.codegen.llvm_ir import I1, Module, Value, integer, keep_rolled, splat

_AT_ONCE = 32
"""Elements that are computed at once: of f32 two vectors were as fast as LLVM's loops, of f64 four (Zen 4, 11-26)."""
_MOST = 4
"""Vectors of them at most: two arguments of more would not be in registers."""
_FEW = 3
"""Functions of a kernel up to which they are written out: a call of each would take a twentieth longer (11-26)."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where vectors are written."""
    width = _width(given)
    if isinstance(width, Declined):
        return width
    count, calls = min(_MOST, _AT_ONCE // width), _calls(given.kernel)

    def emit(module: Module) -> Functions:
        return _emit(module, given, Lanes(width * count, 1, whole=True), parallel=plan.parallel)

    details: dict[str, Detail] = {
        "loops": given.group.loops,
        "lanes": width,
        "at once": count,
        "calls": calls,
        "block": BLOCK,
    }
    plan = given.plan(emit, given.cost_ns, details=details)
    return plan


def _width(given: LoopGiven) -> int | Declined:
    """The elements of a vector, or why the loop is LLVM's."""
    kernel, loops = given.kernel, given.group.loops
    if len(loops) > 1 or not has_fast_path(kernel, loops[0]):
        return Declined("it is not one loop of functions that have a cheaper form")
    if loops[0] % BLOCK:
        return Declined(f"its elements are not whole blocks of {BLOCK}")
    if share_arguments(kernel):
        return Declined("its functions are of the same numbers, and LLVM computes once what is the same in them")
    unlike = written_vectors.unlike(kernel, cheap=True)
    if unlike:
        return Declined(unlike)
    lanes = Lanes.choose(given.machine.has, [i.array for i in kernel.body()], loops[0])
    assert lanes is not None, "a block is longer than a vector"
    return lanes.width


def _calls(kernel: Kernel) -> bool:
    """Whether it has so many functions that they are called."""
    return sum(instruction.opcode in FUNCTIONS for instruction in kernel.body()) > _FEW


def _emit(module: Module, given: LoopGiven, lanes: Lanes, *, parallel: bool) -> Functions:
    function = begin(module, given.kernel)
    b, body = RoutineLaneBuilder(function), body_of(given.kernel)
    (length,) = given.group.loops
    chunk = nest.share(b, length, THREAD, THREADS, align=BLOCK) if parallel else nest.all_of(length)
    rolled = keep_rolled(module)
    with b.loop(chunk.start, chunk.stop, step=BLOCK, name="block", nonempty=chunk.nonempty, metadata=rolled) as block:
        stop, none = b.add(block.index, integer(BLOCK)), integer(0, f"i{lanes.width}")
        b.calls_functions = _calls(given.kernel)
        with b.loop(
            block.index, stop, step=lanes.width, carried=[none], nonempty=True, metadata=keep_rolled(module)
        ) as loop:
            lane = lanes.lane(b, loop.index, length)
            emission = Emission(b, lane=lane, slow=splat(Value(I1, "false"), lanes.width))
            body(emission, [at_lane(lane)])
            loop.carry(b.binary("or", loop.carried[0], b.emit(none.type, f"bitcast {emission.slow} to {none.type}")))
        b.calls_functions = True
        with (
            b.when(b.compare("ne", loop.results[0], none), "slow"),
            b.loop(block.index, stop, nonempty=True, metadata=keep_rolled(module), scalar=True) as again,
        ):
            body(Emission(b), [whole(Variable(again.index, length))])
    b.ret()
    return (function.name,)
