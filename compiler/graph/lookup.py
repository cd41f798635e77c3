"""Tables of keys that a graph fills with constants, as `IntegerLookup` does: then they are constants themselves.

Who fills a table is run once, before everything else, and is no part of what is compiled; so its keys and values are
written to the table's own node, where they go wherever that goes.  A SavedModel fills tables in functions, which it
calls with handles and constants.  A table that is filled twice with different things, or with what is no constant,
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.diagnostics import InputError
from compiler.graph.attributes import FunctionReference
from compiler.graph.graph import Graph, Node
from compiler.graph.names import endpoint
from compiler.graph.tensors import Tensor

TABLE = "HashTableV2"
TABLE_KEYS, TABLE_VALUES = "_keys", "_values"
"""Attributes of a table's node: what it is filled with."""
_FILLS = frozenset({"LookupTableImportV2", "InitializeTableV2"})
_PASSES_ON = frozenset({"Identity"})
_DEEPEST = 4
"""Functions that stand in each other, so far as who fills a table is looked for in them."""

Array = np.ndarray[Any, Any]
Given = Mapping[str, Node | None]
_Filled = tuple[Tensor, Tensor] | None


def sorted_entries(keys: Array, values: Array) -> tuple[Array, Array]:
    """What a table is filled with, each key once, the least first.

    Args:
        keys: a vector.
        values: one for each.

    Raises:
        InputError: they are none, or not as many as each other, or a key has two values.
    """
    if keys.ndim != 1 or keys.shape != values.shape:
        raise InputError(f"keys of the sizes {list(keys.shape)} and values of {list(values.shape)} do not go together")
    if not keys.size:
        raise InputError("a table must be filled with something")
    found, first, which = np.unique(keys, return_index=True, return_inverse=True)
    differs = values[first][which] != values
    if differs.any():
        number = int(np.argmax(differs))
        before, after = values[first][which][number], values[number]
        raise InputError(f"its key {keys[number]} has two values, {before} and {after}")
    return found, values[first]


def with_constant_tables(graph: Graph) -> Graph:
    """The graph, in which tables that are filled with constants say with what."""
    if all(node.op != TABLE for node in graph.nodes):
        return graph
    found: dict[str, set[_Filled]] = {}
    for table, *filled in _Search(graph).fills(graph.nodes, {}, 0):
        if table is not None and table.op == TABLE:
            keys, values = (None if one is None else one.attributes.get("value") for one in filled)
            is_known = isinstance(keys, Tensor) and isinstance(values, Tensor)
            found.setdefault(table.name, set()).add((keys, values) if is_known else None)  # type: ignore[arg-type]
    return replace(graph, nodes=[_with(node, found.get(node.name, set())) for node in graph.nodes])


def _with(node: Node, what: set[_Filled]) -> Node:
    only = next(iter(what)) if len(what) == 1 else None
    if only is None:
        return node
    return replace(node, attributes={**node.attributes, TABLE_KEYS: only[0], TABLE_VALUES: only[1]})


class _Search:
    """Looks for who fills tables; into a function once for what it is given."""

    def __init__(self, graph: Graph) -> None:
        self._library = {one.name: one for one in graph.functions}
        self._seen: set[tuple[str | None, ...]] = set()

    def fills(self, nodes: Sequence[Node], given: Given, depth: int) -> Iterator[list[Node | None]]:
        """Table, keys and values of each node that fills a table, in a graph, or a function that is given arguments."""
        by_name = {node.name: node for node in nodes}
        for node in nodes:
            inputs = [_source(text, by_name, given, in_function=depth > 0) for text in node.data_inputs]
            if node.op in _FILLS and len(inputs) == len(("table", "keys", "values")):
                yield inputs
            called = self._library.get(_callee(node))
            known = _callee(node), *(None if one is None else one.name for one in inputs)
            if called is not None and depth < _DEEPEST and known not in self._seen:
                self._seen.add(known)
                names = (argument.name for argument in called.inputs)
                yield from self.fills(called.nodes, dict(zip(names, inputs, strict=False)), depth + 1)


def _source(text: str, by_name: Mapping[str, Node], given: Given, *, in_function: bool) -> Node | None:
    """The node that reaches an input through nodes that pass on what they take."""
    for _ in range(len(by_name) + 1):
        found = endpoint(text, in_function=in_function)
        if found is None or found.node in given:
            return given[found.node] if found else None
        node = by_name.get(found.node)
        if node is None or node.op not in _PASSES_ON or not node.inputs:
            return node
        text = node.inputs[0]
    return None


def _callee(node: Node) -> str:
    reference = node.attributes.get("f")
    return reference.name if isinstance(reference, FunctionReference) else node.op
