"""The graph of one run: what fetches need, with feeds and fetches as nodes of their own.

As TensorFlow's sessions do it, a feed becomes an `_Arg` that everybody takes instead, a fetch a `_Retval`; so what runs
depends on the graph alone, and clusters end where values come in or go out.
Who waits for a node whose first output is fed waits for nothing more than the feed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from compiler.diagnostics import InputError
from compiler.graph import Attribute, AttributeList, DataType, Graph, Node, PartialShape
from compiler.graph.names import Endpoint, endpoint
from compiler.jit.devices import DEFAULT_DEVICE
from compiler.tf2xla.node_types import Library, output_types, type_at


@dataclass(frozen=True, slots=True)
class Execution:
    """A graph to run.

    Attributes:
        graph: the part that fetches and targets need.
        feeds: the `_Arg` of each feed.
        fetches: the `_Retval` of each fetch.
    """

    graph: Graph
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]


def for_execution(
    graph: Graph,
    feeds: Sequence[str],
    fetches: Sequence[str],
    targets: Sequence[str] = (),
    device: str = DEFAULT_DEVICE,
) -> Execution:
    """The graph of a run.

    Args:
        graph: a graph that has been verified.
        feeds: outputs of nodes (`x`, `x:0`) that are given.
        fetches: outputs of nodes that are asked for.
        targets: nodes that are run.
        device: where values come in and go out.

    Raises:
        InputError: a feed, fetch or target is not there, or something is fed twice.
    """
    library: Library = {function.name: function for function in graph.functions}
    fed: dict[Endpoint, str] = {}
    added = []
    for number, text in enumerate(feeds):
        source, data_type = _endpoint(graph, text, library)
        if source in fed:
            raise InputError(f"{text!r} is fed twice")
        fed[source] = f"_arg_{source.node}_{source.port}_{number}"
        attributes: dict[str, Attribute] = {"T": data_type, "index": number}
        shape = graph.node(source.node).attributes.get("shape")
        if isinstance(shape, PartialShape) and not source.port:
            attributes["_output_shapes"] = AttributeList("shape", (shape,))
        added.append(Node(fed[source], "_Arg", (), device, attributes))

    def taken(text: str) -> str:
        source = endpoint(text)
        assert source is not None, "the graph is verified"
        if source.port < 0 and Endpoint(source.node, 0) in fed:
            return f"^{fed[Endpoint(source.node, 0)]}"
        return fed.get(source, text)

    nodes = [replace(node, inputs=tuple(map(taken, node.inputs))) for node in graph.nodes]
    results = []
    for number, text in enumerate(fetches):
        source, data_type = _endpoint(graph, text, library)
        name = f"_retval_{source.node}_{source.port}_{number}"
        results.append(Node(name, "_Retval", (taken(str(source)),), device, {"T": data_type, "index": number}))
    for name in targets:
        graph.node(name)
    nodes = [*nodes, *added, *results]
    names = needed(nodes, [*(one.name for one in results), *targets])
    kept = [node for node in nodes if node.name in names or node.op == "_Arg"]
    return Execution(replace(graph, nodes=kept), tuple(one.name for one in added), tuple(one.name for one in results))


def _endpoint(graph: Graph, text: str, library: Library) -> tuple[Endpoint, DataType]:
    """The output that a feed or fetch names, and its type."""
    source = endpoint(text)
    if source is None or source.port < 0:
        raise InputError(f"{text!r} names no output of a node: give it as node or node:port")
    node = graph.node(source.node)
    given = output_types(node, library)
    if given is not None and source.port >= len(given):
        raise InputError(f"{text!r}: {node.op} has {len(given)} outputs, counted from 0")
    found = type_at(given, source.port)
    return source, found.base if found else DataType(0)


def needed(nodes: Sequence[Node], wanted: Iterable[str]) -> set[str]:
    """The names of the nodes that some need, by their names, themselves among them."""
    by_name = {node.name: node for node in nodes}
    found: set[str] = set()
    stack = list(wanted)
    source: Callable[[str], str] = lambda text: text.removeprefix("^").partition(":")[0]  # noqa: E731
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += map(source, by_name[name].inputs)
    return found
