"""`tf.contrib.compiler.jit`: a scope whose ops are compiled, or are not, whatever else is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xlabench.tensorflow.framework.graph import get_default_graph

_KEY = "jit_scope"


@dataclass(slots=True)
class _Scopes:
    """The scopes of a graph: how many there were, and how many are open."""

    count: int = 0
    depth: int = 0


@contextmanager
def experimental_jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True,
    separate_compiled_gradients: bool = False,
) -> Iterator[None]:
    """Ops in the scope are compiled, if they can be; what cannot be runs as it would elsewhere.

    Args:
        compile_ops: whether, or a function that says it of a node.
        separate_compiled_gradients: whether gradients of the scope's ops are compiled by themselves.
    """
    graph = get_default_graph()
    counter = graph.scopes.setdefault(_KEY, _Scopes())
    attributes: dict[str, Any] = {
        "_XlaCompile": (lambda node: bool(compile_ops(node))) if callable(compile_ops) else bool(compile_ops),
        "_XlaSeparateCompiledGradients": bool(separate_compiled_gradients),
    }
    if not counter.depth:
        attributes["_XlaScope"] = f"jit_scope_{counter.count}".encode()
        counter.count += 1
    counter.depth += 1
    try:
        with graph.attributes(attributes):
            yield
    finally:
        counter.depth -= 1
