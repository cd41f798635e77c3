"""Computations that the language lets an engine call in any order, as often as it likes, and what then is one answer.

A reduction's body that is made simpler than the program had it may depend on the order: then two right answers differ,
and a reduced program shows nothing.  So a reduction keeps to bodies that were there before (types aside, which change
neither way), and to those known to be free of order.
"""

from __future__ import annotations

from typing import Any

_CALLERS = frozenset({
    "reduce", "reduce-window", "scatter", "select-and-scatter", "sort", "all-reduce", "reduce-scatter",
})  # fmt: skip
_FREE_OF_ORDER = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})

Form = tuple[Any, ...]


def doubtful(module: Any) -> frozenset[Form]:
    """The forms of the bodies whose results may depend on the order of their calls."""
    bodies = {body for i in module.instructions() if i.opcode in _CALLERS for body in i.called_computations()}
    return frozenset(_form(body) for body in bodies if not _is_free_of_order(body))


def _is_free_of_order(body: Any) -> bool:
    root, parameters = body.root, body.parameters
    return root.opcode in _FREE_OF_ORDER and len(parameters) == 2 and set(root.operands) == set(parameters)


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
