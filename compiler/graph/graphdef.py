"""Graphs to and from the messages `GraphDef`, `FunctionDef` and `NodeDef`."""

from __future__ import annotations

from compiler.graph.attrdef import attributes_of, write_attributes
from compiler.graph.graph import Argument, Function, Graph, Node
from compiler.graph.messages import Message, rest_of, started_from
from compiler.graph.types import DataType


def graph_of(read: Message, filename: str) -> Graph:
    """The graph of a `GraphDef`.

    Raises:
        InputError: an attribute makes no sense.
    """
    library = read.library
    return Graph(
        [_node_of(node, f"{filename}: node {node.name!r}") for node in read.node],
        [_function_of(function, filename) for function in library.function],
        read.versions.producer,
        read.versions.min_consumer,
        rest_of(read, "node", "library", "versions"),
        rest_of(library, "function"),
        rest_of(read.versions, "producer", "min_consumer"),
    )


def message_of(graph: Graph) -> Message:
    """The `GraphDef` of a graph."""
    made = started_from("GraphDef", graph.rest)
    made.node.extend(map(_node_message, graph.nodes))
    if graph.functions or graph.library_rest:
        made.library.CopyFrom(started_from("FunctionDefLibrary", graph.library_rest))
        made.library.function.extend(map(_function_message, graph.functions))
    if graph.producer or graph.min_consumer or graph.versions_rest:
        made.versions.CopyFrom(
            started_from("VersionDef", graph.versions_rest, producer=graph.producer, min_consumer=graph.min_consumer)
        )
    return made


def _node_of(read: Message, where: str) -> Node:
    return Node(
        read.name,
        read.op,
        tuple(read.input),
        read.device,
        attributes_of(read.attr, where),
        rest_of(read, "name", "op", "input", "device", "attr"),
    )


def _node_message(node: Node) -> Message:
    made = started_from("NodeDef", node.rest, name=node.name, op=node.op, device=node.device)
    made.input.extend(node.inputs)
    write_attributes(made.attr, node.attributes)
    return made


def _function_of(read: Message, filename: str) -> Function:
    signature = read.signature
    where = f"{filename}: function {signature.name!r}"
    return Function(
        signature.name,
        tuple(map(_argument_of, signature.input_arg)),
        tuple(map(_argument_of, signature.output_arg)),
        [_node_of(node, f"{where}, node {node.name!r}") for node in read.node_def],
        dict(sorted(read.ret.items())),
        dict(sorted(read.control_ret.items())),
        attributes_of(read.attr, where),
        rest_of(signature, "name", "input_arg", "output_arg"),
        rest_of(read, "signature", "node_def", "ret", "control_ret", "attr"),
    )


def _function_message(function: Function) -> Message:
    made = started_from("FunctionDef", function.rest)
    made.signature.CopyFrom(started_from("OpDef", function.signature_rest, name=function.name))
    made.signature.input_arg.extend(map(_argument_message, function.inputs))
    made.signature.output_arg.extend(map(_argument_message, function.outputs))
    made.node_def.extend(map(_node_message, function.nodes))
    made.ret.update(function.returns)
    made.control_ret.update(function.control_returns)
    write_attributes(made.attr, function.attributes)
    return made


def _argument_of(read: Message) -> Argument:
    return Argument(
        read.name,
        DataType(read.type),
        read.type_attr,
        read.number_attr,
        read.type_list_attr,
        rest_of(read, "name", "type", "type_attr", "number_attr", "type_list_attr"),
    )


def _argument_message(argument: Argument) -> Message:
    return started_from(
        "OpDef.ArgDef",
        argument.rest,
        name=argument.name,
        type=argument.type.number,
        type_attr=argument.type_attribute,
        number_attr=argument.number_attribute,
        type_list_attr=argument.list_attribute,
    )
