"""Loops that cannot end: what a step of a reduction must not make of those that do.

Little is smaller than a loop without its counting, and all that is learnt of it, after the whole time there is, is that
the reference gives no result.
"""

from __future__ import annotations

from typing import Any

import compiler


def is_endless(module: compiler.Module) -> bool:
    """Whether some condition looks only at what no iteration changes, except for a constant that ends the loop."""
    return any(i.opcode == "while" and _is_stuck(i) for i in module.instructions())


def _is_stuck(loop: Any) -> bool:
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    (given,) = body.parameters
    if body.root is given:
        return True
    looks = condition.parameters[0].users
    if body.root.opcode != "tuple" or any(look.opcode != "get-tuple-element" for look in looks):
        return False
    return all(_stays(body.root.operands[i], given, i, condition) for i in {look.attributes["index"] for look in looks})


def _stays(value: Any, given: Any, index: int, condition: Any) -> bool:
    """Whether an element of the state is the same in all iterations, and not a truth value that ends the loop."""
    if value.opcode == "constant":
        return condition.root.opcode != "get-tuple-element" or bool(value.literal.array)
    return value.opcode == "get-tuple-element" and value.operands[0] is given and value.attributes["index"] == index
