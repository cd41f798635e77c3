"""Steps of optimizers on gradients of rows: one for each row, however often a program took it.

A row that was taken twice has two gradients, which an op that keeps what it knows of a row (a momentum, a sum of
squares) must see as one; so they are added up first.  Adam's means of all rows move, those of rows without a gradient
too: what TensorFlow does there is no op of its own but a chain of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.control import group


def scattered(variable: Variable, rate: Tensor, gradient: IndexedSlices) -> Operation:
    """A step of a `variable` down the gradient, times `rate`, which may add to a row several times.

    `gradient` has rows of the variable.
    """
    values = output_of("Mul", output_of("Neg", gradient.values), rate)
    return apply(variable.writer("ResourceScatterAdd"), [variable.handle, gradient.indices, values], {})


def each_once(gradient: IndexedSlices) -> IndexedSlices:
    """The same gradient with the number of every row only once."""
    numbers, positions = apply("Unique", [gradient.indices], {"out_idx": "int32"}).outputs
    count = output_of("StridedSlice", output_of("Shape", numbers), [0], [1], [1], shrink_axis_mask=1)
    return IndexedSlices(
        output_of("UnsortedSegmentSum", gradient.values, positions, count), numbers, gradient.dense_shape
    )


def sparsely_applied(
    op: str, taken: Sequence[Any], gradient: IndexedSlices, at: int, attributes: Mapping[str, Any]
) -> Operation:
    """An op that takes a step of rows.

    Args:
        op: its name.
        taken: what it takes if the gradient is an array.
        gradient: rows.
        at: the number of the gradient in `taken`; the rows' numbers come behind it.
        attributes: of the op.
    """
    gradient = each_once(gradient)
    return apply(op, [*taken[:at], gradient.values, gradient.indices, *taken[at + 1 :]], attributes)


def adams(
    variable: Variable, slots: Sequence[Variable], numbers: Mapping[str, Tensor], gradient: IndexedSlices
) -> Operation:
    """Adam's step, in which only the rows of a gradient add to its means.

    Args:
        variable: what is trained.
        slots: the means of gradients and of their squares, as variables.
        numbers: `learning_rate`, `beta1`, `beta2`, `epsilon`, and the powers of the betas, as scalars.
        gradient: rows of the variable.
    """
    gradient = each_once(gradient)
    root = output_of("Sqrt", 1.0 - numbers["beta2_power"])
    rate = numbers["learning_rate"] * root / (1.0 - numbers["beta1_power"])
    pieces = {"beta1": gradient.values, "beta2": output_of("Mul", gradient.values, gradient.values)}
    means = []
    for slot, (word, piece) in zip(slots, pieces.items(), strict=True):
        kept = slot.assign(output_of("Mul", slot.value(), numbers[word]), read_value=False)
        with get_default_graph().control_dependencies([kept]):
            means.append(_added_to(slot, gradient.indices, output_of("Mul", piece, 1.0 - numbers[word])))
    step = rate * means[0] / (output_of("Sqrt", means[1]) + numbers["epsilon"])
    taken = variable.assign_sub(step, read_value=False)
    return group(taken, *(one.op for one in means))


def _added_to(slot: Variable, indices: Tensor, values: Tensor) -> Tensor:
    """What a variable holds after rows were added to."""
    added = apply(slot.writer("ResourceScatterAdd"), [slot.handle, indices, values], {})
    with get_default_graph().control_dependencies([added]):
        return slot.value()
