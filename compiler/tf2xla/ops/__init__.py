"""One record for each op, by family, and the table of them all."""

from dataclasses import replace

from compiler.tf2xla.gradients import GRADIENTS
from compiler.tf2xla.ops import (
    binary,
    blocks,
    calls,
    choices,
    collective,
    colours,
    complexes,
    control,
    convolution,
    counting,
    decompositions,
    diagonals,
    gamma,
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
    quantization,
    random,
    reductions,
    resizing,
    scatters,
    selection,
    shapes,
    special,
    state,
    structure,
    training,
    transforms,
    unary,
    variable_parts,
    vectors,
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
    choices,
    special,
    gamma,
    colours,
    quantization,
    vectors,
    variable_parts,
)

RECORDS: dict[str, Record] = {
    name: replace(record, gradient=GRADIENTS.get(name))
    for family in _FAMILIES
    for name, record in family.RECORDS.items()
}
"""Every op's record."""
