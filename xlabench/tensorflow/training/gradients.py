"""`tf.gradients` and `tf.hessians`, on the compiler's walk backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.tf import CompilerError, is_continuous
from compiler.tf import IndexedSlices as Rows
from compiler.tf import gradients as walk
from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.framework.tensor import Tensor


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _output(value: Any) -> Any:
    handle = getattr(value, "handle", None)
    return (handle if isinstance(handle, Tensor) else convert_to_tensor(value)).output


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Any]:
    """The gradient of the sum of all `ys` to each of `xs`, None where nothing leads from it to them.

    Args:
        ys: a tensor, or a list of them.
        xs: tensors and variables, or one of them.
        grad_ys: for each of `ys` the gradient to begin with, of its shape; None for ones, as is a None among them.
        name: of the scope of the nodes.
        colocate_gradients_with_ops: changes nothing.
        gate_gradients: whether the gradients of an op's inputs are used only when all of them are there.
        aggregation_method: changes nothing: gradients of one tensor are added by one op.
        stop_gradients: tensors, or one, through which no gradient goes; None for none.
        unconnected_gradients: `none`, or `zero` for zeros instead of None.

    Raises:
        LookupError: an op on the way has no gradient.
        ValueError: types do not go together.
    """
    wanted = _listed(xs)
    targets = [convert_to_tensor(one).output for one in _listed(ys)]
    is_zero = str(getattr(unconnected_gradients, "value", unconnected_gradients)) == "zero"
    if not any(is_continuous(one) for one in targets):
        return [output_of("ZerosLike", x) for x in wanted] if is_zero else [None] * len(wanted)
    starts = (
        None
        if grad_ys is None
        else [None if one is None else convert_to_tensor(one).output for one in _listed(grad_ys)]
    )
    stops = [] if stop_gradients is None else [_output(one) for one in _listed(stop_gradients)]
    graph = get_default_graph()
    try:
        found = walk(
            graph.builder, targets, [_output(one) for one in wanted], starts, stops, name, gated=gate_gradients
        )
    except CompilerError as error:
        if isinstance(error, LookupError):
            raise
        raise ValueError(str(error)) from error
    made = [_of(graph, one) for one in found]
    for x, gradient in zip(wanted, made, strict=True):
        if isinstance(gradient, Tensor) and gradient.shape.is_compatible_with(x.shape):
            gradient.set_shape(x.shape)
    if is_zero:
        made = [output_of("ZerosLike", x) if one is None else one for one, x in zip(made, wanted, strict=True)]
    return made


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """The second derivatives of the sum of all `ys`: for each of `xs`, of sizes S, an array of sizes S + S.

    Args:
        ys: a tensor, or a list of them.
        xs: tensors and variables of known sizes, or one of them.
        name: of the scope of the nodes.
        colocate_gradients_with_ops: changes nothing.
        gate_gradients: as of `gradients`.
        aggregation_method: changes nothing.

    Raises:
        ValueError: sizes are not known, or nothing leads from `ys` to one of `xs`.
    """
    found = []
    for x, first in zip(_listed(xs), gradients(ys, xs, gate_gradients=gate_gradients), strict=True):
        if first is None:
            raise ValueError(f"None values not supported: no gradient leads to {x}")
        sizes = x.shape.as_list()
        if None in sizes:
            raise ValueError(f"tf.hessians takes what has known sizes here: {x}")
        flat = output_of("Reshape", first, [-1])
        rows = [
            gradients(flat[number], x, gate_gradients=gate_gradients, unconnected_gradients="zero")[0]
            for number in range(x.shape.num_elements())
        ]
        stacked = output_of("Pack", rows) if rows else first
        found.append(output_of("Reshape", stacked, [*sizes, *sizes], name=name))
    return found


def _of(graph: Any, found: Any) -> Any:
    if isinstance(found, Rows):
        return IndexedSlices(*(graph.tensor_of(one) for one in (found.values, found.indices, found.sizes)))
    return None if found is None else graph.tensor_of(found)


def any_gradient(found: Sequence[Any]) -> bool:
    """Whether there is a gradient among these."""
    return any(one is not None for one in found)
