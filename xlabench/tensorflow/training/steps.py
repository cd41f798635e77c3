"""The number of steps that were taken, and learning rates that follow from it."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import arrays
from xlabench.tensorflow.ops.math import cast


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The number of steps, None where nobody counts."""
    found = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    return found[0] if found else None


def create_global_step(graph: Graph | None = None) -> Variable:
    """Count steps.

    Raises:
        ValueError: somebody does.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        names = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP]
        return Variable(lambda: arrays.zeros([], "int64"), trainable=False, collections=names, name="global_step")


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The number of steps, counted from now on where nobody does."""
    return get_global_step(graph) or create_global_step(graph)


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """A learning rate that falls by a factor in so many steps: rate * factor ^ (step / steps).

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: how many steps have been taken, a number or a variable.
        decay_steps: in how many steps it falls by the factor.
        decay_rate: the factor.
        staircase: whether it falls all at once when these are over.
        name: of the scope of the nodes, None for `ExponentialDecay`.
    """
    with get_default_graph().name_scope(name or "ExponentialDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        power = cast(global_step, rate.dtype) / cast(convert_to_tensor(decay_steps), rate.dtype)
        if staircase:
            power = apply("Floor", [power], {}).outputs[0]
        factor = apply("Pow", [convert_to_tensor(decay_rate, rate.dtype), power], {}).outputs[0]
        return apply("Mul", [rate, factor], {}, scope).outputs[0]
