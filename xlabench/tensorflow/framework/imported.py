"""`tf.import_graph_def`: the nodes of a graph that a file holds, or another program made, in one that is being built.

They come with all that TensorFlow 1 writes: references to variables, loops of frames, ops of which no record is there,
which are passed by as long as no run needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compiler.tf import (
    AttributeList,
    CompilerError,
    Node,
    adopt_all,
    message_class,
    parse_graph,
    require_protobuf,
)
from compiler.tf import Graph as Definition
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor

_MESSAGES = frozenset({"GraphDef", "MetaGraphDef", "VariableDef"})
_CLASS = "_class"
_COLOCATED = b"loc:@"


def __getattr__(name: str) -> Any:
    """A class of messages that hold graphs."""
    if name not in _MESSAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return message_class(name)


def definition_of(given: Any) -> Definition:
    """A graph, a message that holds one, or its bytes, as the compiler has it.

    Raises:
        TypeError: it is none.
        ValueError: it makes no sense.
    """
    if isinstance(given, Graph):
        return given.definition
    require_protobuf("a GraphDef")
    if not isinstance(given, message_class("GraphDef")):
        raise TypeError(f"Argument `graph_def` must be a GraphDef proto, not {type(given).__name__}.")
    try:
        return parse_graph(given.SerializeToString(), "graph_def")
    except CompilerError as error:
        raise ValueError(str(error)) from error


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a graph to the default one.

    Args:
        graph_def: a `tf.GraphDef`.
        input_map: tensors, by names of the graph, that its nodes take instead.
        return_elements: names of tensors and operations that are given.
        name: the scope of the nodes, by default `import`; none with an empty one.
        op_dict: changes nothing.
        producer_op_list: changes nothing.

    Returns:
        What `return_elements` names, None where nothing is named.

    Raises:
        TypeError: an argument is of no kind that is meant.
        ValueError: the graph makes no sense, a name of it is taken, or `input_map` or `return_elements` names what is
            not in it.
    """
    definition = definition_of(graph_def)
    graph = get_default_graph()
    given = {_output(key): graph.as_graph_element(value) for key, value in (input_map or {}).items()}
    names = {node.name for node in definition.nodes}
    asked = list(return_elements or ())
    unknown = [text for text in (*given, *asked) if text.removeprefix("^").partition(":")[0] not in names]
    if unknown:
        word = "input_map" if unknown[0] in given else "return_elements"
        raise ValueError(f"{word} names {unknown[0]!r}, which is not in graph_def.")
    with graph.name_scope("import" if name is None else name) as scope, graph.control_dependencies(None):
        _check_free(graph, [f"{scope}{one.name}" for one in definition.nodes])
        known = {one.name for one in graph.builder.graph.functions}
        graph.builder.graph.functions += [one for one in definition.functions if one.name not in known]
        try:
            adopt_all(graph.builder, [_moved(node, scope, given) for node in definition.nodes])
        except CompilerError as error:
            raise ValueError(str(error)) from error
    if return_elements is None:
        return None
    return [given.get(text) or graph.as_graph_element(f"{scope}{text}") for text in asked]


def _check_free(graph: Graph, names: Sequence[str]) -> None:
    taken = next((one for one in names if one in graph.operations), None)
    if taken is not None:
        raise ValueError(f"Node name '{taken}' already exists in the Graph")


def _output(text: str) -> str:
    """The name of an output in the one form that keys have."""
    return text if ":" in text or text.startswith("^") else f"{text}:0"


def _moved(node: Node, scope: str, given: Mapping[str, Tensor]) -> Node:
    """A node under its name in a scope, taking what is given in place of what it names."""
    attributes = dict(node.attributes)
    locations = attributes.get(_CLASS)
    if isinstance(locations, AttributeList) and scope:
        moved = tuple(_in_scope(one, scope) for one in locations.values)
        attributes[_CLASS] = AttributeList(locations.kind, moved)
    return replace(
        node,
        name=f"{scope}{node.name}",
        inputs=tuple(_input(text, scope, given) for text in node.inputs),
        attributes=attributes,
    )


def _in_scope(location: Any, scope: str) -> Any:
    is_node = isinstance(location, bytes) and location.startswith(_COLOCATED)
    return _COLOCATED + scope.encode() + location.removeprefix(_COLOCATED) if is_node else location


def _input(text: str, scope: str, given: Mapping[str, Any]) -> str:
    if text.startswith("^"):
        replaced = given.get(text)
        return f"^{scope}{text[1:]}" if replaced is None else f"^{getattr(replaced, 'op', replaced).name}"
    replaced = given.get(_output(text))
    return f"{scope}{text}" if replaced is None else replaced.output.text
