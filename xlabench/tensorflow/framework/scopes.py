"""Functions of the namespace that open scopes of the default graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from xlabench.tensorflow.framework.graph import Graph, get_default_graph


@contextmanager
def name_scope(name: Any, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """Names of nodes that begin with `name`, or with `default_name` where that is None.

    The graph is that of the tensors `values`, the default one where there are none.
    """
    graph = next((one.graph for one in values or () if isinstance(getattr(one, "graph", None), Graph)), None)
    chosen = graph or get_default_graph()
    with chosen.as_default(), chosen.name_scope(name if name is not None else default_name) as scope:
        yield scope


def op_scope(values: Any, name: Any, default_name: str | None = None) -> AbstractContextManager[str]:
    """The same as `name_scope` under its older name, the tensors `values` coming first.

    `name` and `default_name` are as there.
    """
    return name_scope(name, default_name, values)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Nodes are to run there."""
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Nodes wait for these."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Nodes are to run where another does."""
    return get_default_graph().colocate_with(op, ignore_existing)
