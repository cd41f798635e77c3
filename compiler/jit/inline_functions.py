"""Calls of functions written out, before clusters are looked for, as TensorFlow does it.

A call is a cluster only as a whole, and not at all if it uses variables, so that the program of a `tf.function`, or of
a SavedModel, which is one call, would not be clustered.  A function that must be compiled, or asks to stay, stays.

The body's nodes stand under the call's name.  What the call waited for, those of them wait for that take nothing or an
argument; who waited for the call waits for all that the function says it runs, and for what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.diagnostics import UnsupportedError
from compiler.graph import Attribute, Function, FunctionReference, Graph, Node, PlaceholderName
from compiler.graph.names import Names, endpoint, is_control
from compiler.jit.attributes import COMPILE, MUST_COMPILE
from compiler.tf2xla.node_types import Library, output_names

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
"""Ops that call the function of their attribute `f`."""
MOST_NODES = 200_000
"""Nodes of a graph with its functions written out: graphs that double at every call end here, at some seconds."""
DEEPEST = 64
"""Functions that call one another: beyond, one calls itself, which an inliner would never see the end of."""

_STAYS = (COMPILE, MUST_COMPILE, "_noinline")


def inline_functions(graph: Graph) -> Graph:
    """The graph with the calls of functions written out.

    Raises:
        UnsupportedError: functions call themselves, or written out they have more nodes than a graph can.
    """
    library: Library = {function.name: function for function in graph.functions}
    for _ in range(DEEPEST):
        calls = [node for node in graph.nodes if _called(node, library) is not None]
        if not calls:
            return graph
        graph = _Inliner(graph, library).run()
        if len(graph.nodes) > MOST_NODES:
            said = f"written out, they have more than {MOST_NODES:,} nodes"
            raise UnsupportedError("functions of the graph", "clustering", said)
    names = ", ".join(dict.fromkeys(str(_called(node, library)) for node in calls))
    raise UnsupportedError(f"function {names}", "clustering", f"it calls itself, or stands more than {DEEPEST} deep")


def _called(node: Node, library: Library) -> str | None:
    """The function that a node calls and that is to be written out, by name."""
    reference = node.attributes.get("f") if node.op in CALLS else None
    name = reference.name if isinstance(reference, FunctionReference) else node.op
    called = library.get(name)
    if called is None or any(
        truth.get(one) is True for truth in (node.attributes, called.attributes) for one in _STAYS
    ):
        return None
    ports = (*called.inputs, *called.outputs)
    can = len(called.inputs) == len(node.data_inputs) and all(port.is_one for port in ports)
    return name if can and _is_spelled(called, library) else None


def _is_spelled(called: Function, library: Library) -> bool:
    """Whether it is known which output each name in a body means."""
    outputs = {node.name: output_names(node, library) for node in called.nodes}
    texts = (*called.returns.values(), *(text for node in called.nodes for text in node.inputs))
    sources = (endpoint(text, in_function=True) for text in texts)
    return all(
        source is not None and (not source.output or f"{source.output}:{source.port}" in outputs.get(source.node, ()))
        for source in sources
    )


class _Inliner:
    """A graph whose calls are written out once; calls among what they hold are left."""

    def __init__(self, graph: Graph, library: Library) -> None:
        self._graph = graph
        self._library = library
        self._names = Names(node.name for node in graph.nodes)
        self._nodes: list[Node] = []
        self._moved: dict[str, str] = {}
        waited = {text for node in graph.nodes for text in node.inputs if is_control(text)}
        self._waited = {text[1:] for text in waited}

    def run(self) -> Graph:
        """Write out every call."""
        for node in self._graph.nodes:
            name = _called(node, self._library)
            if name is None:
                self._nodes.append(node)
            else:
                self._write_out(node, self._library[name])
        nodes = [replace(node, inputs=tuple(self._resolved(text) for text in node.inputs)) for node in self._nodes]
        return replace(self._graph, nodes=nodes)

    def _write_out(self, call: Node, called: Function) -> None:
        reference = call.attributes.get("f")
        given = reference.attributes if isinstance(reference, FunctionReference) else call.attributes
        names = {node.name: self._names.free(f"{call.name}/{node.name}") for node in called.nodes}
        takes = dict(zip((argument.name for argument in called.inputs), call.data_inputs, strict=True))
        outputs = {node.name: output_names(node, self._library) for node in called.nodes}
        waits = call.inputs[len(call.data_inputs) :]

        def translated(text: str) -> str:
            found = endpoint(text, in_function=True)
            assert found is not None, "the graph is verified"
            if is_control(text):
                source = names.get(found.node) or takes[found.node].partition(":")[0]
                return f"^{source}"
            if found.node in takes:
                return takes[found.node]
            port = outputs[found.node].index(f"{found.output}:{found.port}") if found.output else found.port
            return f"{names[found.node]}:{port}" if port else names[found.node]

        for node in called.nodes:
            inputs = tuple(map(translated, node.inputs))
            begins = not inputs or any(text.removeprefix("^").partition(":")[0] in takes for text in node.inputs)
            attributes = {key: _bound(value, given) for key, value in node.attributes.items()}
            more = waits if begins else ()
            self._nodes.append(
                replace(
                    node,
                    name=names[node.name],
                    inputs=(*inputs, *(text for text in more if text not in inputs)),
                    device=node.device or call.device,
                    attributes=attributes,
                )
            )
        results = [translated(called.returns[result.name]) for result in called.outputs]
        self._moved |= {f"{call.name}:{port}": text for port, text in enumerate(results)}
        if call.name in self._waited:
            ran = [f"^{names[one]}" for one in called.control_returns.values()]
            ran += [f"^{text.partition(':')[0]}" for text in results]
            end = self._names.free(f"{call.name}/output_control_node")
            self._nodes.append(Node(end, "NoOp", tuple(dict.fromkeys((*ran, *waits))), call.device))
            self._moved[f"^{call.name}"] = f"^{end}"

    def _resolved(self, text: str) -> str:
        """An input without calls: a function may hand through what is another call's."""
        for _ in range(len(self._moved) + 1):
            key = text if is_control(text) or ":" in text else f"{text}:0"
            if key not in self._moved:
                break
            text = self._moved[key]
        return text


def _bound(value: Attribute, given: Mapping[str, Attribute]) -> Attribute:
    """An attribute in a body, with what the call gives for it."""
    return given.get(value.name, value) if isinstance(value, PlaceholderName) else value
