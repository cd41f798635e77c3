"""`tf.graph_util`: the nodes that results need, with what a session holds in the place of variables.

What reads a variable then takes a constant.  A resource that goes into a function, or is written, stays no constant; so
that is refused by the name of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.tf import RECORDS, Attribute, Node, Tensor, message_class, needed, tensor_of, to_binary
from compiler.tf import Graph as Definition
from xlabench.tensorflow.framework.imported import definition_of

_RESOURCE, _REFERENCES = "VarHandleOp", frozenset({"Variable", "VariableV2"})
_READ = "ReadVariableOp"


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The nodes of a `tf.GraphDef` that some need, by the names of these.

    Raises:
        TypeError: names are not given as a list.
        ValueError: a name is none of the graph's.
    """
    return _message(_needed(definition_of(graph_def), dest_nodes))


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """The nodes that results need, as a `tf.GraphDef` with constants in the place of variables.

    Args:
        sess: the session that says what variables hold.
        input_graph_def: a `tf.GraphDef`, or a graph.
        output_node_names: the nodes that give results.
        variable_names_whitelist: the variables that become constants, None for all.
        variable_names_blacklist: variables that become none.

    Raises:
        TypeError: names are not given as a list.
        ValueError: a name is none of the graph's, or a variable cannot become a constant.
        FailedPreconditionError: a variable has no value.
    """
    definition = _needed(definition_of(input_graph_def), output_node_names)
    names = [
        node.name
        for node in definition.nodes
        if node.op in _REFERENCES | {_RESOURCE}
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and node.name not in (variable_names_blacklist or ())
    ]
    reads = _reads(sess.graph)
    missing = next((one for one in names if one not in reads), None)
    if missing is not None:
        raise ValueError(f"variable {missing!r} is not read in the session's graph, so that nothing says what it holds")
    found = sess.run({name: reads[name] for name in names}) if names else {}
    constants = {name: tensor_of(np.asarray(value)) for name, value in found.items()}
    return _message(replace(definition, nodes=_Frozen(definition, constants).nodes()))


def _needed(definition: Definition, names: Sequence[str]) -> Definition:
    if isinstance(names, str):
        raise TypeError("dest_nodes must be an iterable of strings.")
    known = {node.name for node in definition.nodes}
    unknown = next((one for one in names if one not in known), None)
    if unknown is not None:
        raise ValueError(f"{unknown} is not in graph")
    kept = needed(definition.nodes, names)
    return replace(definition, nodes=[node for node in definition.nodes if node.name in kept])


def _reads(graph: Any) -> dict[str, Any]:
    """For each variable of a graph a tensor of what it holds."""
    found = {}
    for operation in graph.get_operations():
        if operation.type in _REFERENCES:
            found[operation.name] = operation.outputs[0]
        elif operation.type == _READ:
            found.setdefault(operation.inputs[0].op.name, operation.outputs[0])
    return found


def _message(definition: Definition) -> Any:
    return message_class("GraphDef").FromString(to_binary(definition))


class _Frozen:
    """The nodes of a graph in which some variables are constants."""

    def __init__(self, definition: Definition, constants: Mapping[str, Tensor]) -> None:
        self._definition = definition
        self._constants = constants
        self._of = dict(constants)
        """What handles are of, by the names of the nodes that pass them on too."""

    def nodes(self) -> list[Node]:
        """All of them, in their order."""
        rest = list(self._definition.nodes)
        by_name = {node.name: node for node in rest}
        for node in rest:
            passed, seen = node, set[str]()
            while passed.op == "Identity" and passed.name not in seen:
                seen.add(passed.name)
                passed = by_name[_source(passed.inputs[0])]
            if passed.op == _RESOURCE and passed.name in self._constants:
                self._of[node.name] = self._constants[passed.name]
        return [made for node in rest for made in self._made(node)]

    def _made(self, node: Node) -> list[Node]:
        constant = self._constants.get(node.name)
        if constant is not None:
            return [Node(node.name, "Const", node.inputs, node.device, {"dtype": constant.type, "value": constant})]
        taken = next((self._of[_source(text)] for text in node.data_inputs if _source(text) in self._of), None)
        if taken is None or not (node.name in self._of or _takes_handle(node)):
            return [node]
        make = _WITHOUT_HANDLE.get(node.op)
        if make is None:
            raise ValueError(f"node {node.name!r} ({node.op}) takes a variable, which can be no constant there")
        return make(node, taken)


def _takes_handle(node: Node) -> bool:
    """Whether a node must have a variable, not what it holds."""
    record = RECORDS.get(node.op)
    ports = () if record is None else record.signature.inputs
    return any(port.type == "resource" or port.is_reference or port.is_list for port in ports)


def _source(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def _identity(node: Node, constant: Tensor) -> list[Node]:
    return [replace(node, op="Identity", attributes={"T": constant.type})]


def _shape(node: Node, constant: Tensor) -> list[Node]:
    attributes: dict[str, Attribute] = {"T": constant.type}
    if "out_type" in node.attributes:
        attributes["out_type"] = node.attributes["out_type"]
    return [replace(node, op="Shape", attributes=attributes)]


def _gather(node: Node, constant: Tensor) -> list[Node]:
    at = tensor_of(np.int32(node.attributes.get("batch_dims", 0)).reshape(()))  # type: ignore[arg-type]  # a number
    axis = Node(f"{node.name}/axis", "Const", (), node.device, {"dtype": at.type, "value": at})
    stated = {"Tparams": constant.type, "Tindices": node.attributes["Tindices"], "Taxis": at.type}
    stated["batch_dims"] = node.attributes.get("batch_dims", 0)
    data = list(node.data_inputs)
    inputs = (*data, axis.name, *node.inputs[len(data) :])
    return [axis, replace(node, op="GatherV2", inputs=inputs, attributes=dict(stated))]


_WITHOUT_HANDLE: Mapping[str, Callable[[Node, Tensor], list[Node]]] = {
    "Identity": _identity,
    _READ: _identity,
    "VariableShape": _shape,
    "ResourceGather": _gather,
}
"""Ops that take a variable, as others that take what it holds."""
