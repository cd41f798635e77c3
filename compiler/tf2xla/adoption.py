"""The nodes of a whole graph taken into one that is being built, whatever they are.

Builders know what they have made.  Graphs of files also hold loops of TensorFlow 1, whose edges lead back to a `Merge`
that is there first, and ops that no record has, which stay until something asks to run them.  Of either no more than
types is known; those of an op without a record are what others take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.graph import BY_NAME, DataType, Node
from compiler.graph.names import endpoint
from compiler.tf2xla.builder import Builder, in_order
from compiler.tf2xla.node_types import Library, input_types
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.signature import Port, Signature

_NOBODY_KNOWS = BY_NAME["variant"]
"""The type of an output that nothing takes of which the type is known."""
_INPUTS = "inputs"


def adopt_all(builder: Builder, nodes: Sequence[Node]) -> None:
    """Take nodes that stand in any order, and take from each other or from what is there.

    Args:
        builder: whose graph holds their functions already.
        nodes: with names that are free.

    Raises:
        InputError: a node takes what is not there, or makes no sense.
    """
    library = {function.name: function for function in builder.graph.functions}
    wanted = _wanted(nodes, library)
    later = []
    for node in in_order(nodes):
        is_known = node.op in RECORDS or node.op in library
        if is_known and all(_source(text) in builder.built for text in node.data_inputs):
            builder.adopt(node)
            continue
        signature = builder.signature(node.op) if is_known else _by_users(wanted.get(node.name, {}))
        later.append(builder.adopt_open(node, signature))
    for built in later:
        inputs = [builder.output(text) for text in built.node.data_inputs]
        is_known = bool(built.signature.inputs)
        built.takes = builder.by_port(built.node, built.signature, inputs) if is_known else {_INPUTS: inputs}


def _source(text: str) -> str:
    return text.partition(":")[0]


def _wanted(nodes: Sequence[Node], library: Library) -> dict[str, dict[int, DataType]]:
    """What nodes take of others: of each the types by the numbers of outputs."""
    found: dict[str, dict[int, DataType]] = {}
    for node in nodes:
        for text, kind in zip(node.data_inputs, input_types(node, library), strict=False):
            source = endpoint(text)
            if source is not None:
                found.setdefault(source.node, {}).setdefault(source.port, kind or _NOBODY_KNOWS)
    return found


def _by_users(taken: Mapping[int, DataType]) -> Signature:
    """An op that nobody knows, by what others take of it."""
    types = [taken.get(number, _NOBODY_KNOWS) for number in range(max(taken, default=-1) + 1)]
    ports = [Port(f"output_{n}", str(one.base), is_reference=one.is_reference) for n, one in enumerate(types)]
    return Signature((), tuple(ports), {})
