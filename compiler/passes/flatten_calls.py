"""Inline every `call` and `fusion`, and give each loop and branch computations of its own.

Both are functions without recursion, so a copy of the callee's body on the operands means the same; fusions that
another compiler decided on are undone, because our kernels are of our own forms.  Later passes then see one
computation, and buffer assignment may give each value one place.  What says no line of the user's source gets that of
the call, as what a library is made of does.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.analysis.effects import control_predecessors
from compiler.diagnostics import UnsupportedError
from compiler.ir.control import is_ordered, stand_in
from compiler.ir.module import Computation, Instruction, Module, inline, keep_control
from compiler.ir.rewrite import Fuel
from compiler.ir.source_lines import keeping_source

_CALLEE = {"call": "to_apply", "fusion": "calls"}
_CONTROL = {
    "while": ("condition", "body"),
    "conditional": ("true_computation", "false_computation", "branch_computations"),
}

_RUN = _CONTROL | {opcode: (name,) for opcode, name in _CALLEE.items()}
"""Where what an instruction runs is said, each of which is buffer assignment's once; calls that are ordered stay."""

MOST_INSTRUCTIONS = 1_000_000
"""How many instructions a computation may be with what it calls; unfolded programs that people have are a tenth."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    _refuse_unfolding(module)
    changed = False
    # Callees come before callers, so what is inlined holds no call any more.
    for computation in list(module.computations):
        awaited = control_predecessors(computation)
        for instruction in list(computation.instructions):
            ordered = instruction in awaited or is_ordered(instruction)
            if instruction.opcode in _CALLEE and not (ordered and instruction.opcode == "call"):
                changed |= _inline(computation, instruction, fuel)
        computation.sort()
    changed |= _separate(module, fuel)
    if changed:
        module.sort_computations()
    return changed


def _refuse_unfolding(module: Module) -> None:
    """Refuse a module of which too much would become: calls of calls of calls double with every depth."""
    sizes: dict[Computation, int] = {}
    for computation in module.computations:
        callees = [callee for i in computation.instructions if _copies_callees(i) for callee in i.called_computations()]
        sizes[computation] = len(computation.instructions) + sum(sizes[callee] for callee in callees)
    largest = max(sizes, key=sizes.__getitem__)
    if sizes[largest] > max(MOST_INSTRUCTIONS, sum(len(c.instructions) for c in module.computations)):
        reason = f"its calls unfold into {sizes[largest]:,} instructions, and {MOST_INSTRUCTIONS:,} are the most"
        raise UnsupportedError(f"computation {largest.name!r}", "flatten-calls", reason)


def _copies_callees(instruction: Instruction) -> bool:
    return instruction.opcode in _CALLEE or instruction.opcode in _CONTROL


def _inline(computation: Computation, call: Instruction, fuel: Fuel) -> bool:
    callee: Computation = call.attributes[_CALLEE[call.opcode]]
    if callee.attributes.get("execution_thread") or not fuel.spend(
        f"inline {call.opcode}", call, required=call.opcode == "fusion"
    ):
        return False
    result = inline(callee, call.operands, keeping_source(call, computation.add))
    call.replace_uses_with(result)
    if call.opcode == "fusion":  # which does nothing but compute
        stand_in(computation, call, result)
    computation.remove([call])
    return True


def _separate(module: Module, fuel: Fuel) -> bool:
    """Copy a computation that more than one loop, branch or call that stays runs; those of elements' bodies, too."""
    taken: set[Computation] = set()
    changed = False
    pending = [module.entry, *dict.fromkeys(_applied(module))]
    while pending:
        for instruction in pending.pop().instructions:
            for name in _RUN.get(instruction.opcode, ()):
                value = instruction.attributes.get(name)
                if value is None:
                    continue
                callees = value if isinstance(value, tuple) else (value,)
                fresh = []
                for callee in callees:
                    own = callee
                    if callee in taken and fuel.spend("copy shared computation", instruction, required=True):
                        own = module.add_computation(copy_computation(callee))
                        changed = True
                    taken.add(own)
                    fresh.append(own)
                    pending.append(own)
                instruction.attributes[name] = tuple(fresh) if isinstance(value, tuple) else fresh[0]
    return changed


def _applied(module: Module) -> Iterator[Computation]:
    """The computations that are applied to elements, which any number of instructions may share."""
    for instruction in module.instructions():
        if not _copies_callees(instruction):
            yield from instruction.called_computations()


def copy_computation(source: Computation) -> Computation:
    """A computation with the same body; what it calls is shared."""
    copy = Computation(source.name)
    copy.attributes = dict(source.attributes)
    copies: dict[Instruction, Instruction] = {}
    for instruction in source.instructions:
        copies[instruction] = copy.add(instruction.clone([copies[o] for o in instruction.operands]))
    keep_control(copies)
    copy.root = copies[source.root]
    return copy
