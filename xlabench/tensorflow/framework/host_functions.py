"""Functions of Python that graphs call, by the tokens that their nodes hold.

A node holds data only, so that a graph can be written; the function is found by its token in the process that made it,
as long as its graph is there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from xlabench.tensorflow.framework.graph import Graph

_KEPT = "host_functions"
_NUMBERS = count()


class HostFunction:
    """A function; an object of its own, since not every function can be held weakly."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


_BY_TOKEN: WeakValueDictionary[str, HostFunction] = WeakValueDictionary()


def token_of(function: Callable[..., Any], graph: Graph) -> str:
    """A new token for a function, which is kept as long as the graph is."""
    token = f"pyfunc_{next(_NUMBERS)}"
    made = _BY_TOKEN[token] = HostFunction(function)
    graph.scopes.setdefault(_KEPT, []).append(made)
    return token


def function_of(token: str) -> Callable[..., Any] | None:
    """The function of a token, None where this process has not made it."""
    found = _BY_TOKEN.get(token)
    return None if found is None else found.call
