"""A module that carries the graph that it was lowered from, so that it can be run as a graph as well.

Who holds a graph against its own module (op by op, in clusters, whole) needs both, and everything between them hands on
text: so the graph is an attribute of the module's header, like what other front ends leave there.  What edits a module
keeps its header; a graph is therefore given back only while the module is still what it was lowered to.

A feed whose value must be a compile-time constant is no parameter: its value is written to its node.

A small graph is compressed.  One with many weights is not: they hardly shrink, and so what a reader unpacks is never
much more than the text that it was given, however hostile.  Its module is told by the bytes of its weights, since
decimals of millions of numbers take longer to write than the graph to run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError
from compiler.edit import canonical_text
from compiler.graph import Graph, Tensor, parse_graph, tensor_of, to_binary, verify
from compiler.graph.names import endpoint
from compiler.ir.literal import Literal
from compiler.ir.module import Module
from compiler.tf2xla import Lowered, lower, output_count

Array = NDArray[Any]
ATTRIBUTE = "frontend_attributes"
KEY = "tensorflow_graph"
VALUE = "_value"
"""The attribute of a node that holds the value that it is fed with, or of a variable the value that it has."""
_MOST_PACKED = 1 << 24
"""Bytes of the largest graph that is compressed; what is compressed may grow to twice that when it is read."""
_LONG = 1024
"""Arrays of more elements than this are told by their bytes."""

_ON_TEXT = "the graph that the program carries"


@dataclass(frozen=True, slots=True)
class Carried:
    """A graph, and what the module that carries it takes and gives.

    Attributes:
        graph: the graph; values that are no parameters are written to its nodes.
        feeds: the outputs of nodes that are the module's first parameters.
        reads: the variables that are the others.
        fetches: the outputs of nodes that are its first results, and nodes (`^node`) that only run.
        writes: the variables that are the others.
    """

    graph: Graph
    feeds: tuple[str, ...]
    reads: tuple[str, ...]
    fetches: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def known(self) -> Mapping[str, Array]:
        """The feeds that have values, by the names of their nodes."""
        held = ((node, node.attributes.get(VALUE)) for node in self.graph.nodes)
        return {node.name: value.array() for node, value in held if isinstance(value, Tensor)}


def lower_with_graph(graph: Graph, feeds: Mapping[str, Any], fetches: Sequence[str], name: str = "graph") -> Lowered:
    """Lower a graph as `lower` does, to a module that carries it; raises as that does.

    Args:
        graph: the graph.
        feeds: shapes or values, by name.
        fetches: names of outputs.
        name: what the module is called.
    """
    feeds = {text: np.asarray(feed) if isinstance(feed, np.generic) else feed for text, feed in feeds.items()}
    lowered = lower(graph, feeds, fetches, name)
    endpoints = ((text, endpoint(text)) for text, feed in feeds.items() if isinstance(feed, np.ndarray))
    known = {source.node: feeds[text] for text, source in endpoints if source and text not in lowered.inputs}
    carried = Carried(with_values(graph, known), lowered.inputs, lowered.reads, tuple(fetches), lowered.writes)
    carry(lowered.module, carried)
    return lowered


def with_values(graph: Graph, values: Mapping[str, Array]) -> Graph:
    """The graph with values on some of its nodes."""
    nodes = [
        replace(node, attributes={**node.attributes, VALUE: tensor_of(values[node.name])})
        if node.name in values
        else node
        for node in graph.nodes
    ]
    return replace(graph, nodes=nodes)


def carry(module: Module, carried: Carried) -> None:
    """Let a module carry its graph.

    Raises:
        UnsupportedError: the library `protobuf` is not installed, or the graph takes more than the 2 GiB of a message.
    """
    encoded = to_binary(carried.graph)
    sides = {name: getattr(carried, name) for name in ("feeds", "reads", "fetches", "writes")}
    header = json.dumps({**sides, "of": _digest(module)}, sort_keys=True).encode()
    data = header + b"\n" + encoded
    text = base64.b64encode(zlib.compress(data) if len(encoded) <= _MOST_PACKED else data).decode()
    module.attributes[ATTRIBUTE] = (*_others(module), (KEY, text))


def carried_by(module: Module) -> Carried | None:
    """The graph that a module carries; None where there is none, or the module was changed since.

    Raises:
        InputError: it cannot be read.
        VerifyError: the graph breaks rules.
        UnsupportedError: the library `protobuf` is not installed.
    """
    text = dict(module.attributes.get(ATTRIBUTE, ())).get(KEY)
    if text is None:
        return None
    try:
        header, _, encoded = _unpacked(base64.b64decode(text, validate=True)).partition(b"\n")
        stated = json.loads(header)
        sides = {name: tuple(map(str, stated[name])) for name in ("feeds", "reads", "fetches", "writes")}
    except (ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
        raise InputError(f"{_ON_TEXT}: it cannot be read: {error}") from error
    if stated.get("of") != _digest(module):
        return None
    graph = parse_graph(encoded, _ON_TEXT)
    verify(graph, output_count, _ON_TEXT)
    return Carried(graph, **sides)


def without_graph(module: Module) -> Module:
    """A copy of a module that carries no graph."""
    copy = module.clone()
    others = _others(copy)
    copy.attributes.pop(ATTRIBUTE, None)
    if others:
        copy.attributes[ATTRIBUTE] = others
    return copy


def _unpacked(data: bytes) -> bytes:
    """What a module carries, whether it was compressed or not: a header begins as no compressed data does."""
    if data.startswith(b"{"):
        return data
    unpacking = zlib.decompressobj()
    unpacked = unpacking.decompress(data, 2 * _MOST_PACKED)
    if unpacking.unconsumed_tail:
        raise InputError(f"{_ON_TEXT}: what is compressed in it grows to more than {2 * _MOST_PACKED:,} bytes")
    return unpacked


def _others(module: Module) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in module.attributes.get(ATTRIBUTE, ()) if pair[0] != KEY)


def _digest(module: Module) -> str:
    """Equal for modules that are equal but for names, notes and layouts."""
    copy = without_graph(module)
    weights = hashlib.sha256()
    for instruction in copy.instructions():
        literal = instruction.attributes.get("literal")
        if isinstance(literal, Literal) and _is_long(literal):
            weights.update(_plain_bytes(literal))
            instruction.attributes["literal"] = Literal(literal.shape)
    return hashlib.sha256(canonical_text(copy).encode() + weights.digest()).hexdigest()


def _is_long(literal: Literal) -> bool:
    return literal.array is not None and literal.array.size > _LONG


def _plain_bytes(literal: Literal) -> bytes:
    """The bytes of an array, whose NaNs, of which text keeps not every payload, are all alike."""
    array = np.array(literal.array)
    is_nan = array != array  # NaNs, of whatever type
    if is_nan.any():
        array[is_nan] = np.nan
    return array.tobytes()
