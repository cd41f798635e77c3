"""Fragments of other programs, planted among what is drawn: their parameters are values at hand, their results others'.

Programs that were written to make a rule fire, or taken from real ones, hold what choices put together once in a
million programs.  Planted into a body, a branch or the entry they meet what they never stood beside: operands that are
the same, constants, slices of each other, and users besides their own.
"""

from __future__ import annotations

from compiler.generate.choices import chance
from compiler.generate.derived import derived
from compiler.generate.scope import Scope
from compiler.generate.sized import at_its_bounds
from compiler.ir import csr, meanings
from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Instruction, Module
from compiler.ir.shape import ArrayShape, is_static_array, leaves
from compiler.ops import Trait, having
from compiler.plan import device_count, looks_beyond

_NEW_PERCENT, _DERIVED_PERCENT = 55, 40
"""How often an operand of a fragment is a new value, and how often one derived from the newest."""
_HEADER = frozenset({"replica_count", "entry_computation_layout", "is_scheduled", "frontend_attributes"})
_PROMISES = ("indices_are_sorted", "unique_indices")
"""What the fragment's own values kept, and others need not."""
_HOST = having(Trait.SIDE_EFFECT | Trait.RANDOM) - {"custom-call"}


def is_fragment(module: Module) -> bool:
    """Whether a program may be planted in others: it takes arrays, and all that it does is in its instructions.

    Nobody checks the indices of sparse matrices, so what finds such in other values makes no program of them; and where
    functions are called, some engines cannot be asked, of whatever stands beside.
    """
    takes_arrays = all(is_static_array(parameter.shape) for parameter in module.entry.parameters)
    has_own_header = bool(module.attributes.keys() - _HEADER)
    return takes_arrays and not has_own_header and not any(map(_is_bound, module.instructions()))


def _is_bound(instruction: Instruction) -> bool:
    """Whether it acts on a host, on indices that nobody checks, or by a function of the caller."""
    if instruction.opcode != "custom-call":
        return instruction.opcode in _HOST
    return bool(csr.is_product(instruction)) or meanings.given(instruction)


def plant(scope: Scope, fragment: Module) -> Instruction | None:
    """Add what a fragment does to a computation; None where there is no room, or it is for other devices."""
    program = scope.program
    if not _suits(fragment, program.devices, scope.depth):
        return None
    sizes = [leaf.size for i in fragment.instructions() for leaf in leaves(i.shape)]
    if max(sizes, default=0) > program.room():
        return None
    copy = fragment.clone()
    for instruction in copy.instructions():
        for name in (PREDECESSORS, *_PROMISES):
            instruction.attributes.pop(name, None)
    for computation in copy.computations:
        if computation is not copy.entry:
            program.module.add_computation(computation)
    made: dict[Instruction, Instruction] = {}
    for instruction in copy.entry.instructions:
        if instruction.opcode == "parameter":
            made[instruction] = _given(scope, instruction.array)
            continue
        made[instruction] = scope.adopt(instruction.clone([made[operand] for operand in instruction.operands]))
    return _offered(scope, made[copy.entry.root])


def _suits(fragment: Module, devices: int, depth: int) -> bool:
    """Whether a fragment is for so many devices, and may stand so deep: where some of them exchange all come by."""
    if devices == 1:
        return device_count(fragment) == 1
    exchanging = any(looks_beyond(instruction) for instruction in fragment.instructions())
    return not exchanging or (device_count(fragment) == devices and not depth)


def _given(scope: Scope, shape: ArrayShape) -> Instruction:
    """A value for a parameter: mostly one that nobody knows, else one at hand, or one that is made of the newest."""
    bare = ArrayShape(shape.element_type, shape.dims)
    if chance(scope.choices, _NEW_PERCENT):
        return scope.unknown(bare)
    made = derived(scope, scope.values[-1], bare) if scope.values and chance(scope.choices, _DERIVED_PERCENT) else None
    return made or scope.like(bare)


def _offered(scope: Scope, root: Instruction) -> Instruction | None:
    """The arrays of a fragment's result, for those that follow; the last of them."""
    last = None
    for index, leaf in enumerate(getattr(root.shape, "elements", (root.shape,))):
        if not isinstance(leaf, ArrayShape):
            continue
        element = root if root.shape is leaf else scope.build("get-tuple-element", [root], index=index)
        last = at_its_bounds(scope, element) if leaf.is_dynamic else element
    return last
