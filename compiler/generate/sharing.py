"""Equal reducers as one computation that several instructions call, as most frontends have it.

What a pass does to a computation it does to all who call it; one that takes it for a caller's own shows only where
there are others.
"""

from __future__ import annotations

from compiler.generate.choices import Choices, chance
from compiler.ir.module import Computation, Module

_SHARED_PERCENT = 50
"""How often all equal ones are one."""
_WITHOUT_A_BODY = 3  # instructions of a computation that is one operation on its two parameters


def share(module: Module, choices: Choices) -> None:
    """Now and then let all that do one and the same to two values be one computation."""
    alike: dict[tuple[str, str], list[Computation]] = {}
    for computation in module.computations:
        root = computation.root
        is_plain = len(computation.instructions) == _WITHOUT_A_BODY and not root.meaning
        if computation is not module.entry and is_plain and list(root.operands) == computation.parameters:
            alike.setdefault((root.opcode, str(root.shape)), []).append(computation)
    replaced: dict[object, Computation] = {}
    for first, *others in alike.values():
        if others and chance(choices, _SHARED_PERCENT):
            replaced |= dict.fromkeys(others, first)
    for instruction in module.instructions() if replaced else ():
        for name in instruction.attributes:
            value = instruction.attributes[name]
            if isinstance(value, Computation):
                instruction.attributes[name] = replaced.get(value, value)
    module.computations = [computation for computation in module.computations if computation not in replaced]
