"""One record for each op, by family, and the table of them all."""

from dataclasses import replace

from compiler.tf2xla.gradients import GRADIENTS
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
    state,
    structure,
    training,
    unary,
)
from compiler.tf2xla.record import Record

_FAMILIES = (
    structure,
    unary,
    binary,
    selection,
    products,
    reductions,
    shapes,
    movement,
    indexing,
    neural,
    calls,
    state,
    training,
)

RECORDS: dict[str, Record] = {
    name: replace(record, gradient=GRADIENTS.get(name))
    for family in _FAMILIES
    for name, record in family.RECORDS.items()
}
"""Every op's record."""
