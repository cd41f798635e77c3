"""The HLO of each cluster of a graph, for people to look at, as far as the graph says the sizes of what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.diagnostics import CompilerError
from compiler.graph import AttributeList, DataType, Graph, Node, PartialShape, Unset
from compiler.ir.shape import ArrayShape
from compiler.jit.attributes import COMPILED_KERNEL
from compiler.jit.encapsulate_subgraphs import encapsulate_subgraphs
from compiler.jit.options import Options
from compiler.jit.topology import Topology
from compiler.text.printer import to_text
from compiler.tf2xla import RECORDS, Feed, Resource, lower_function
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.node_types import RESOURCE, Library, attribute_problem, input_types, output_names, output_types

SHAPES = "_output_shapes"
"""The attribute that says the shapes of a node's outputs, where its op does not."""


def programs(marked: Graph, options: Options) -> Mapping[str, str]:
    """The text of each cluster's module, or why there is none, by the cluster's name.

    Args:
        marked: a graph whose nodes say which cluster they are in.
        options: where nodes run that name no device.
    """
    graph = encapsulate_subgraphs(marked, options)
    calls = [node for node in graph.nodes if node.attributes.get(COMPILED_KERNEL) is True]
    try:
        builder = Builder(replace(marked, nodes=_known(marked)))
    except CompilerError as error:
        return {call.name: f"what it takes is not known: {error}" for call in calls}
    return {call.name: _program(graph, call, builder) for call in calls}


def _known(graph: Graph) -> list[Node]:
    """The nodes of which shapes can be inferred: whose ops, and those of all that they take from, are known."""
    library: Library = {function.name: function for function in graph.functions}
    topology = Topology(graph)
    kept: dict[int, Node] = {}
    for number in reversed(topology.post_order()):
        node = _stated(topology.nodes[number])
        data = [edge.source for edge in topology.inputs[number] if not edge.is_control]
        is_known = number in topology.numbers and _makes_sense(node, library)
        if is_known and all(one in kept for one in data):
            kept[number] = replace(node, inputs=node.data_inputs)
    return list(kept.values())


def _makes_sense(node: Node, library: Library) -> bool:
    """Whether a node's op is known, and has what it takes."""
    record = RECORDS.get(node.op)
    if node.op not in library and (record is None or attribute_problem(node)):
        return False
    taken = input_types(node, library)
    takes_nothing = record is not None and bool(record.signature.inputs) and not taken
    types = (*taken, *(output_types(node, library) or (None,)))
    return None not in types and len(taken) == len(node.data_inputs) and not takes_nothing


def _stated(node: Node) -> Node:
    """A feed as a placeholder, of which sizes are known."""
    if node.op != "_Arg":
        return node
    shapes = node.attributes.get(SHAPES)
    shape = shapes.values[0] if isinstance(shapes, AttributeList) and shapes.values else PartialShape(None)
    return Node(node.name, "Placeholder", (), node.device, {"dtype": node.attributes.get("T", Unset()), "shape": shape})


def _program(graph: Graph, call: Node, builder: Builder) -> str:
    feeds: list[Feed] = []
    types = [argument.type for argument in graph.function(call.op).inputs]
    try:
        for text, data_type in zip(call.data_inputs, types, strict=True):
            feed = _feed(_origin(text, graph), builder, data_type)
            if feed is None:
                return f"the sizes of {text} are not known"
            feeds.append(feed)
        return to_text(lower_function(graph, call.op, feeds).module)
    except CompilerError as error:
        return str(error)


def _origin(text: str, graph: Graph) -> str:
    """What an input of a call is in the graph before there were calls."""
    name, _, port = text.partition(":")
    node = graph.node(name)
    if node.attributes.get(COMPILED_KERNEL) is not True:
        return text
    called = graph.function(node.op)
    source, _, output = called.returns[called.outputs[int(port or 0)].name].partition(":")
    inner = next(one for one in called.nodes if one.name == source)
    library = {function.name: function for function in graph.functions}
    return f"{source}:{output_names(inner, library).index(output)}"


def _feed(text: str, builder: Builder, data_type: DataType) -> Feed | None:
    """What is known of an argument; None if not enough."""
    output = builder.output(text)
    if data_type == RESOURCE:
        return _variable(output.built.node)
    if output.value is not None:
        return output.value
    sizes, element = output.shape.static, data_type.element_type
    return None if sizes is None or element is None else ArrayShape(element, sizes)


def _variable(node: Node) -> Resource | None:
    """A variable with what it is declared to hold."""
    shape, kind = node.attributes.get("shape"), node.attributes.get("dtype")
    sizes = shape.static if isinstance(shape, PartialShape) else None
    element = kind.element_type if isinstance(kind, DataType) else None
    return None if sizes is None or element is None else Resource(node.name, ArrayShape(element, sizes))
