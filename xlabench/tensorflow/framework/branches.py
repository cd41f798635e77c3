"""`If` of two functions of the library.

Variables need it as well as `tf.cond`: what they are worth before and after they have a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf import FunctionReference
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.functions import Traced, all_captures, free_name
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Operation, Tensor


def one_of(graph: Graph, condition: Tensor, branches: Sequence[Traced], scope: str) -> list[Tensor]:
    """What the first of two functions gives where a condition holds, and the second where it does not.

    Args:
        graph: where the `If` is, and the functions that it names.
        condition: a boolean scalar.
        branches: they give as many tensors, of the same types.
        scope: the name, with a slash behind it.
    """
    captures = all_captures(*branches)
    word = scope.rstrip("/").replace("/", "_")
    references = []
    for branch, kind in zip(branches, ("true", "false"), strict=True):
        function = branch.function(free_name(graph, f"{word}_{kind}"), captures)
        graph.builder.graph.functions.append(function)
        references.append(FunctionReference(function.name))
    types = [one.dtype.base_dtype for one in branches[0].results]
    shapes = [_common(a.shape, b.shape) for a, b in zip(branches[0].results, branches[1].results, strict=True)]
    attributes = {
        "Tout": types,
        "then_branch": references[0],
        "else_branch": references[1],
        "output_shapes": shapes,
    }
    op = "If" if any(branch.is_stateful for branch in branches) else "StatelessIf"
    operation = apply(op, [condition, captures], attributes, scope)
    return shaped(operation, shapes)


def _common(first: TensorShape, second: TensorShape) -> TensorShape:
    """What is known of a shape that is one of two."""
    if first.rank is None or first.rank != second.rank:
        return TensorShape(None)
    pairs = zip(first.as_list(), second.as_list(), strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])


def shaped(operation: Operation, shapes: Sequence[TensorShape]) -> list[Tensor]:
    """Its outputs, which have these shapes where nothing says otherwise."""
    for output, shape in zip(operation.outputs, shapes, strict=True):
        if output.shape.is_compatible_with(shape):
            output.set_shape(shape)
    return operation.outputs
