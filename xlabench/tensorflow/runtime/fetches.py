"""Fetches of any structure: lists, tuples, named tuples, dictionaries and records, with tensors, operations and names.

A structure is taken apart into its leaves, and what a run gives for them is put together again in the same structure;
an operation gives None, and a leaf that stands there twice runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.tensor import Tensor

Build = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Fetches:
    """What a run is asked for.

    Attributes:
        tensors: the tensors, each once.
        targets: names of operations that only run.
        build: the structure, from the tensors' values.
    """

    tensors: tuple[Tensor, ...]
    targets: tuple[str, ...]
    build: Build


def of(graph: Graph, fetches: Any) -> Fetches:
    """Take a structure apart.

    Raises:
        TypeError: something in it is nothing that can be fetched.
        ValueError: something is not in the graph.
    """
    tensors: dict[str, tuple[int, Tensor]] = {}
    targets: dict[str, None] = {}
    build = _built(graph, fetches, tensors, targets)
    return Fetches(tuple(one for _, one in tensors.values()), tuple(targets), build)


def _built(graph: Graph, fetch: Any, tensors: dict[str, tuple[int, Tensor]], targets: dict[str, None]) -> Build:
    if fetch is None:
        raise TypeError(f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}". Cannot be None')
    if isinstance(fetch, Mapping):
        keys = list(fetch)
        builds = [_built(graph, fetch[key], tensors, targets) for key in keys]
        make: Any = type(fetch)
        return lambda values: make(zip(keys, (build(values) for build in builds), strict=True))
    if isinstance(fetch, list | tuple):
        builds = [_built(graph, one, tensors, targets) for one in fetch]
        if hasattr(fetch, "_fields"):
            named: Any = type(fetch)
            return lambda values: named(*[build(values) for build in builds])
        plain = type(fetch)
        return lambda values: plain([build(values) for build in builds])
    if hasattr(fetch, "fetch_components"):
        return _built(graph, fetch.fetch_components, tensors, targets)
    return _leaf(graph, fetch, tensors, targets)


def _leaf(graph: Graph, fetch: Any, tensors: dict[str, tuple[int, Tensor]], targets: dict[str, None]) -> Build:
    try:
        found = graph.as_graph_element(fetch)
    except TypeError as error:
        kind = type(fetch).__name__
        said = f'Argument `fetch` = {fetch} has invalid type "{kind}" must be a string or Tensor. ({error})'
        raise TypeError(said) from None  # it says what the other said
    except (ValueError, KeyError) as error:
        raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})") from None
    if not isinstance(found, Tensor):
        targets[found.name] = None
        return _none
    found = _held(graph, found)
    number, _ = tensors.setdefault(found.name, (len(tensors), found))
    return lambda values: values[number]


def _held(graph: Graph, found: Tensor) -> Tensor:
    """What is fetched by the name of a variable: what it holds, as of TensorFlow 1's variables, which are references.

    Raises:
        ValueError: the graph has no node that reads it.
    """
    if found.op.type != "VarHandleOp":
        return found
    try:
        read: Tensor = graph.get_tensor_by_name(f"{found.op.name}/Read/ReadVariableOp:0")
    except KeyError as error:
        raise ValueError(f"{found} is a variable that no node reads, so that it cannot be fetched") from error
    return read


def _none(_values: Sequence[Any]) -> None:
    return None
