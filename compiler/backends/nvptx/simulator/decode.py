"""From a kernel's text to a program: one closure per instruction, decoded once for all launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.async_copy import decode_async_copy, decode_copy_access
from compiler.backends.nvptx.simulator.atomics import decode_atomic
from compiler.backends.nvptx.simulator.batch import Action, nothing
from compiler.backends.nvptx.simulator.carry import decode_carry, has_carry
from compiler.backends.nvptx.simulator.compute import (
    decode_address_conversion,
    decode_is_space,
    decode_move,
    decode_pure,
    decode_set,
    decode_set_predicate,
)
from compiler.backends.nvptx.simulator.control import (
    decode_barrier,
    decode_guard,
    decode_indexed_jump,
    finish,
    guarded,
    jump,
    label_of,
    trap,
)
from compiler.backends.nvptx.simulator.flatten import FlatProgram, Placed, flatten
from compiler.backends.nvptx.simulator.matrix import decode_load_matrix, decode_matrix_access, decode_matrix_multiply
from compiler.backends.nvptx.simulator.operands import Operands, Slots
from compiler.backends.nvptx.simulator.order import in_order
from compiler.backends.nvptx.simulator.slicing import Values, sliced
from compiler.backends.nvptx.simulator.straight import straightened
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Function,
    Guard,
    Instruction,
    PtxModule,
    Symbol,
    Variable,
)
from compiler.backends.nvptx.simulator.transfer import decode_access, decode_load, decode_store
from compiler.backends.nvptx.simulator.warp import (
    decode_active_mask,
    decode_elect,
    decode_match,
    decode_reduction,
    decode_shuffle,
    decode_vote,
    decode_warp_barrier,
)
from compiler.backends.nvptx.simulator.warp_group import (
    decode_product_access,
    decode_proxy_fence,
    decode_warp_group,
    group_registers,
    touching,
)


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel ready to run."""

    kernel: Function
    instructions: tuple[Instruction, ...]
    names: tuple[str, ...]
    """Of each instruction the opcode with its modifiers."""
    actions: tuple[Action, ...]
    together: tuple[Action, ...]
    """The actions once more, with straight lines where they begin."""
    slots: Slots
    variables: Mapping[str, Variable]
    starts: frozenset[int]
    """The instructions that are jumped to."""
    granule: int
    """The smallest element that the kernel moves to or from shared or global memory; what races are tracked by."""


def decode(module: PtxModule, kernel: Function, values: Values = Values.ALL) -> Program:
    """Decode a kernel; what the simulator does not know is an `UnsupportedError` with the line.

    Args:
        module: where the functions are that it calls.
        kernel: the kernel.
        values: what it computes.
    """
    flat = in_order(flatten(module, kernel))
    slots = Slots(group_rows=group_registers(flat.placed))
    skipped = frozenset[int]()
    if values is not Values.ALL:
        skipped = sliced(flat.placed, keeps_global=values is Values.STORED).skipped
    actions = []
    for slots.number, placed in enumerate(flat.placed):
        decoder = _decode_access if slots.number in skipped else _decode_instruction
        actions.append(decoder(placed, slots, flat))
    instructions = tuple(placed.instruction for placed in flat.placed)
    starts = frozenset(flat.labels.values())
    together = straightened(actions, starts, slots.spans)
    names = tuple(instruction.name for instruction in instructions)
    return Program(
        kernel, instructions, names, tuple(actions), together, slots, flat.variables, starts, _granule(instructions)
    )


def hangs_on_memory(module: PtxModule, kernel: Function) -> bool:
    """Whether control or addresses of a kernel hang on what is in global memory."""
    return sliced(flatten(module, kernel).placed, keeps_global=False).reads_back


def _decode_access(placed: Placed, slots: Slots, flat: FlatProgram) -> Action:
    """An instruction of which no result is wanted."""
    operands = Operands(placed, slots, flat)
    decoder = _ACCESSES.get(placed.instruction.opcode)
    if decoder is None:
        return nothing
    action, chosen = decoder(operands), decode_guard(operands)
    return action if chosen is None else guarded(action, chosen)


def _granule(instructions: tuple[Instruction, ...]) -> int:
    sizes = [
        max(1, TYPE_BITS.get(i.modifiers[-1], 32) // 8)
        for i in instructions
        if i.opcode in ("ld", "st", "atom", "red") and not {"const", "param", "local"} & set(i.modifiers)
    ]
    return min([4, *sizes])


def _decode_instruction(placed: Placed, slots: Slots, flat: FlatProgram) -> Action:
    operands = Operands(placed, slots, flat)
    instruction = placed.instruction
    if len(instruction.modifiers) < _LEAST_MODIFIERS.get(instruction.opcode, 0):
        operands.unsupported("the opcode is incomplete")
    if placed.jump is not None:
        return _decode_jump_of_call(operands, flat.labels[placed.jump])
    chosen = decode_guard(operands)
    match instruction.opcode:
        case "bra":
            return jump(_target(operands, flat, label_of(operands, 0)), chosen)
        case "brx":
            return decode_indexed_jump(operands, _table(operands, flat), chosen)
        case "ret" | "exit":
            return finish(chosen)
        case "bar" | "barrier" if "warp" not in instruction.modifiers:
            if chosen is not None:
                operands.unsupported("a barrier under a predicate; branch around it")
            return decode_barrier(operands)
    decoder = decode_carry if has_carry(instruction) else DECODERS.get(instruction.opcode, decode_pure)
    action = touching(decoder(operands), operands)
    return action if chosen is None else guarded(action, chosen)


def _decode_jump_of_call(operands: Operands, end: int) -> Action:
    """A `ret` in an expanded function jumps to its end; a `call` jumps there where its guard does not hold.

    Where blocks have been put in order, a `bra` goes where the text went on.
    """
    chosen = decode_guard(operands)
    if operands.instruction.opcode in ("ret", "bra"):
        return jump(end, chosen)
    guard = operands.instruction.guard
    if guard is None:
        return nothing
    opposite = operands.instruction._replace(guard=Guard(guard.register, not guard.negated))
    skips = Operands(operands.placed._replace(instruction=opposite), operands.slots, operands.program)
    return jump(end, decode_guard(skips))


def _target(operands: Operands, flat: FlatProgram, label: str) -> int:
    if label not in flat.labels:
        operands.fail(f"no label {label.rpartition('/')[2]!r} in this function")
    return flat.labels[label]


def _table(operands: Operands, flat: FlatProgram) -> list[int]:
    name = operands[1]
    tables = operands.scope.function.branch_tables
    if not isinstance(name, Symbol) or name.name not in tables:
        operands.fail("brx.idx wants the label of a .branchtargets list")
    assert isinstance(name, Symbol)
    return [_target(operands, flat, operands.scope.prefix + label) for label in tables[name.name]]


# So many words at least follow these opcodes; the decoders may then look at them.
_LEAST_MODIFIERS: Mapping[str, int] = {
    **dict.fromkeys(("mov", "ld", "ldu", "st", "cvta", "isspacep", "addc", "subc", "madc"), 1),
    **dict.fromkeys(("setp", "atom", "red", "slct", "testp"), 2),
    **dict.fromkeys(("set", "shfl", "vote", "match", "redux"), 3),
    "ldmatrix": 4,
    "wgmma": 3,
    "mma": 7,
}

DECODERS: Mapping[str, Callable[[Operands], Action]] = {
    "mov": decode_move,
    "setp": decode_set_predicate,
    "set": decode_set,
    "cvta": decode_address_conversion,
    "isspacep": decode_is_space,
    "ld": decode_load,
    "ldu": decode_load,
    "st": decode_store,
    "atom": decode_atomic,
    "red": decode_atomic,
    "cp": decode_async_copy,
    "shfl": decode_shuffle,
    "vote": decode_vote,
    "match": decode_match,
    "redux": decode_reduction,
    "activemask": decode_active_mask,
    "elect": decode_elect,
    "bar": decode_warp_barrier,
    "barrier": decode_warp_barrier,
    "mma": decode_matrix_multiply,
    "ldmatrix": decode_load_matrix,
    "wgmma": decode_warp_group,
    "fence": decode_proxy_fence,
    "trap": lambda _: trap,
    **dict.fromkeys(
        ("membar", "prefetch", "prefetchu", "nanosleep", "applypriority", "discard", "pmevent"),
        lambda _: nothing,
    ),
    **dict.fromkeys(("griddepcontrol",), lambda _: nothing),
}
"""What makes an action of an instruction, by its opcode; those that are not here only compute."""
_ACCESSES: Mapping[str, Callable[[Operands], Action]] = {
    **dict.fromkeys(("ld", "ldu", "st"), decode_access),
    "cp": decode_copy_access,
    "ldmatrix": decode_matrix_access,
    "wgmma": decode_product_access,
}
"""What makes an action of an instruction of which only the addresses are wanted."""
