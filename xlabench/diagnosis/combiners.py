"""Computations that the language lets an engine call in any order, as often as it likes, and what then is one answer.

A reduction's body that is made simpler than the program had it may depend on the order: then two right answers differ,
and a reduced program shows nothing.  So a reduction keeps to bodies that were there before (types aside, which change
neither way), and to those known to be free of order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.ops import Trait, having

COMBINING = having(Trait.COMBINES)
"""The opcodes whose bodies make one value of two, or as many of twice as many."""

_CALLERS = COMBINING | {"sort"}
_FREE_OF_ORDER = having(Trait.COMMUTATIVE) & having(Trait.ASSOCIATIVE)

Form = tuple[Any, ...]


def doubtful(module: Any) -> frozenset[Form]:
    """The forms of the bodies whose results may depend on the order of their calls."""
    return frozenset(_form(body) for _, body in callers(module))


def callers(module: Any) -> Iterator[tuple[Any, Any]]:
    """The instructions that call bodies whose results may depend on the order of calls, each with its body."""
    for instruction in module.instructions():
        if instruction.opcode in _CALLERS:
            for body in instruction.called_computations():
                if not _is_free_of_order(body):
                    yield instruction, body


def _is_free_of_order(body: Any) -> bool:
    results = body.root.operands if body.root.opcode == "tuple" else (body.root,)
    parameters, count = body.parameters, len(results)
    pairs = [{parameters[n], parameters[count + n]} for n in range(count)] if len(parameters) == 2 * count else []
    return [set(r.operands) for r in results] == pairs and all(r.opcode in _FREE_OF_ORDER for r in results)


def _form(body: Any) -> Form:
    """What a body computes from its parameters, written without names and types."""
    numbers = {instruction: number for number, instruction in enumerate(body.instructions)}
    return tuple(
        (
            i.opcode,
            i.attributes.get("parameter_number"),
            i.attributes.get("direction"),
            tuple(numbers[operand] for operand in i.operands),
            i.is_root,
        )
        for i in body.instructions
    )
