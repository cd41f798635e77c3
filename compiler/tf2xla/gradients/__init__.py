"""How ops are differentiated, in terms of ops: one formula for each, by family, as TensorFlow has them.

A formula takes the node and the gradients of its outputs, and gives those of its inputs in order, None where nothing
goes through; what it leaves out at the end has none.
"""

from compiler.tf2xla.gradients import (
    activations,
    blocks,
    decompositions,
    diagonals,
    elementwise,
    images,
    indexing,
    linear,
    movement,
    neural,
    normalization,
    products,
    projections,
    quantization,
    random,
    reductions,
    resizing,
    special,
    spectra,
    state,
    structure,
    tensor_arrays,
    vectors,
)
from compiler.tf2xla.record import Differentiate

GRADIENTS: dict[str, Differentiate] = {
    name: formula
    for family in (
        activations,
        elementwise,
        images,
        indexing,
        linear,
        movement,
        neural,
        products,
        random,
        reductions,
        state,
        structure,
        tensor_arrays,
        blocks,
        decompositions,
        diagonals,
        resizing,
        projections,
        special,
        spectra,
        normalization,
        quantization,
        vectors,
    )
    for name, formula in family.GRADIENTS.items()
}
"""Every formula, by the op's name."""
