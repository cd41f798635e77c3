"""One record for each op, by family, and the table of them all."""

from dataclasses import replace

from compiler.tf2xla.gradients import GRADIENTS
from compiler.tf2xla.ops import (
    binary,
    blocks,
    calls,
    collective,
    complexes,
    control,
    convolution,
    counting,
    decompositions,
    diagonals,
    indexing,
    linear,
    lists,
    movement,
    neural,
    normalization,
    ordering,
    pieces,
    pooling,
    products,
    random,
    reductions,
    resizing,
    scatters,
    selection,
    shapes,
    state,
    structure,
    training,
    transforms,
    unary,
)
from compiler.tf2xla.record import Record

_FAMILIES = (
    structure,
    unary,
    complexes,
    binary,
    selection,
    products,
    reductions,
    shapes,
    movement,
    pieces,
    indexing,
    scatters,
    ordering,
    neural,
    calls,
    state,
    training,
    convolution,
    pooling,
    normalization,
    random,
    lists,
    control,
    collective,
    linear,
    decompositions,
    blocks,
    diagonals,
    resizing,
    counting,
    transforms,
)

RECORDS: dict[str, Record] = {
    name: replace(record, gradient=GRADIENTS.get(name))
    for family in _FAMILIES
    for name, record in family.RECORDS.items()
}
"""Every op's record."""
