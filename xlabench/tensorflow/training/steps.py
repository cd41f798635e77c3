"""The number of steps that were taken."""

from __future__ import annotations

from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import arrays


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
