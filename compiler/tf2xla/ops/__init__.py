"""One record for each op, by family, and the table of them all."""

from compiler.tf2xla.ops import (
    binary,
    calls,
    indexing,
    movement,
    neural,
    products,
    reductions,
    selection,
    shapes,
    structure,
    unary,
)
from compiler.tf2xla.record import Record

_FAMILIES = (structure, unary, binary, selection, products, reductions, shapes, movement, indexing, neural, calls)

RECORDS: dict[str, Record] = {name: record for family in _FAMILIES for name, record in family.RECORDS.items()}
"""Every op's record."""
