"""CloneConstantsForBetterClustering: a small constant for each who takes it.

A constant that several take can be in one cluster only, which the others would then wait for, and take an argument from
that they could have known.  Only what lives on the host is copied, since there it costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.graph import Graph, Node, Tensor
from compiler.graph.names import Names, is_control
from compiler.jit.devices import device_of
from compiler.jit.options import Options

SMALL = 16
"""Elements of a constant that is not small any more."""

_IN_PLACE = ("InplaceUpdate", "InplaceAdd", "InplaceSub")  # they write to what they take, constants too


def clone_constants(graph: Graph, options: Options) -> None:
    """Copy small constants of the graph; the last who takes one keeps it."""
    if any(node.op in _IN_PLACE for node in graph.nodes):
        return
    small = {node.name: node for node in graph.nodes if _is_small(node, options)}
    uses = dict.fromkeys(small, 0)
    for node in graph.nodes:
        for text in node.inputs:
            name = _source(text)
            if name in uses:
                uses[name] += 1
    names = Names(node.name for node in graph.nodes)
    number = 0
    for node in list(graph.nodes):
        inputs = []
        for text in node.inputs:
            name = _source(text)
            if is_control(text) or uses.get(name, 1) == 1:
                inputs.append(text)
                continue
            clone = names.free(f"{name}/clone_{number}")
            number += 1
            uses[name] -= 1
            graph.nodes.append(replace(small[name], name=clone, attributes=dict(small[name].attributes)))
            inputs.append(clone)
        node.inputs = tuple(inputs)


def _source(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def _is_small(node: Node, options: Options) -> bool:
    value = node.attributes.get("value")
    if node.op != "Const" or not isinstance(value, Tensor) or value.size >= SMALL:
        return False
    return device_of(node.device, options.default_device).type == "CPU"
