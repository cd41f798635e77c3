"""One record per opcode, by family, and the table of them all."""

from compiler.ir.opdef import Op
from compiler.ir.traits import Trait
from compiler.ops import (
    arithmetic,
    asynchronous,
    batch_norm,
    bitwise,
    collective,
    control,
    conversion,
    convolution,
    custom_call,
    data_movement,
    dynamic_sizes,
    gather_scatter,
    grouped_dot,
    host,
    linear_algebra,
    random,
    reduction,
    scan,
    selection,
    sorting,
    structure,
    transcendental,
    window,
)
from compiler.ops.transcendental import share_steps

_FAMILIES = (
    arithmetic,
    transcendental,
    bitwise,
    selection,
    conversion,
    data_movement,
    dynamic_sizes,
    gather_scatter,
    sorting,
    reduction,
    window,
    scan,
    linear_algebra,
    grouped_dot,
    convolution,
    batch_norm,
    random,
    structure,
    control,
    asynchronous,
    collective,
    host,
    custom_call,
)

OPS: dict[str, Op] = {opcode: op for family in _FAMILIES for opcode, op in family.OPS.items()}
"""Every opcode's record."""


def having(traits: Trait) -> frozenset[str]:
    """The opcodes that have a trait; of several, any of them."""
    return frozenset(opcode for opcode, op in OPS.items() if op.traits & traits)


def narrowing(traits: Trait, opcodes: str) -> frozenset[str]:
    """Some of the opcodes that have a trait, by their names in one string.

    It is for what is true of our code, or of where it is asked, and not of the language: beside it stands why.

    Raises:
        ValueError: one of them has no such trait.
    """
    names = frozenset(opcodes.split())
    if not names <= (known := having(traits)):
        raise ValueError(f"{', '.join(sorted(names - known))} cannot be a narrowing of {traits}: without that trait")
    return names


__all__ = ["OPS", "Trait", "having", "narrowing", "share_steps"]
