"""Functions of the library op by op: calls, branches and loops, each body a plan of its own.

What is not compiled runs its functions here: the fall-back of a cluster, and control flow outside of clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from compiler.tf import (
    RECORDS,
    Function,
    FunctionReference,
    Graph,
    Node,
    PlaceholderName,
    Trait,
    needed,
    output_names,
)
from xlabench.tensorflow.runtime import executor, plan
from xlabench.tensorflow.runtime.kernels import Kernel
from xlabench.tensorflow.runtime.placement import assign_devices
from xlabench.tensorflow.runtime.plan import FUNCTION, Around
from xlabench.tensorflow.runtime.steps import Plan

Run = Callable[[Sequence[Any]], Sequence[Any]]


class FunctionBody(NamedTuple):
    """A function as a graph, and the names of its arguments' nodes and of its results'."""

    graph: Graph
    entries: list[str]
    exits: list[str]


def body_of(function: Function, reference: FunctionReference, library: Mapping[str, Function]) -> FunctionBody:
    """A function as a graph, with an `_Arg` for each argument and a `_Retval` for each result.

    As in TensorFlow, what no result needs is left out, but what has effects: an op may be there that cannot run.

    Args:
        function: what is called.
        reference: how: with which attributes.
        library: the functions that it may call.
    """
    taken = {node.name for node in function.nodes}
    arguments = {one.name: _free(f"_arg_{one.name}", taken) for one in function.inputs}
    by_name = {node.name: node for node in function.nodes}

    def spelled(text: str) -> str:
        if text.startswith("^"):
            return f"^{arguments.get(text[1:], text[1:])}"
        name, _, output = text.partition(":")
        if name in arguments and name not in by_name:
            return arguments[name]
        number = _number(by_name[name], output, library)
        return f"{name}:{number}" if number else name

    nodes = [
        replace(
            node,
            inputs=tuple(spelled(text) for text in node.inputs),
            attributes={key: _bound(value, reference) for key, value in node.attributes.items()},
        )
        for node in function.nodes
    ]
    entries = [Node(name, "_Arg") for name in arguments.values()]
    exits = [
        Node(_free(f"_retval_{one.name}", taken), "_Retval", (spelled(function.returns[one.name]),))
        for one in function.outputs
    ]
    runs = [node.name for node in nodes if node.name in function.control_returns.values() or _has_effect(node)]
    names = needed([*entries, *nodes, *exits], [*runs, *(one.name for one in exits)])
    graph = Graph([*entries, *(node for node in nodes if node.name in names), *exits], list(library.values()))
    return FunctionBody(graph, [one.name for one in entries], [one.name for one in exits])


def _has_effect(node: Node) -> bool:
    """Whether a node does more than give values, as far as it is known."""
    record = RECORDS.get(node.op)
    return record is None or Trait.STATEFUL in record.traits


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _number(node: Node, output: str, library: Mapping[str, Function]) -> int:
    """Which output of a node a function means by a name and a number."""
    if output.isdigit() or not output:
        return int(output or 0)
    names = output_names(node, library)
    wanted = output if ":" in output else f"{output}:0"
    if not names:  # of an op without a record, which says so where it is to run
        return int(wanted.rpartition(":")[2])
    return names.index(wanted)


def _bound(value: Any, reference: FunctionReference) -> Any:
    return reference.attributes.get(value.name, value) if isinstance(value, PlaceholderName) else value


def _callee(node: Node, attribute: str, graph: Graph, around: Around) -> Run:
    reference = node.attributes[attribute]
    assert isinstance(reference, FunctionReference)
    return callee(reference, node.device, graph, around)


def callee(reference: FunctionReference, device: str, graph: Graph, around: Around) -> Run:
    """What runs a function, planned when it is first called.

    Args:
        reference: the function, and its attributes.
        device: where its nodes run that say nothing else.
        graph: whose library has it.
        around: what a plan depends on besides.
    """
    library = {one.name: one for one in graph.functions}
    made: list[Plan] = []

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        if not made:
            body, entries, exits = body_of(graph.function(reference.name), reference, library)
            for one in body.nodes:
                one.device = device if one.op in ("_Arg", "_Retval") or not one.device else one.device
            assign_devices(body.nodes, around.devices, is_soft=around.is_soft)
            made.append(plan.of_graph(body, entries, exits, around))
        return executor.run(made[0], inputs)

    return run


def _call(node: Node, graph: Graph, around: Around) -> Kernel:
    return _callee(node, "f", graph, around)


def _called(node: Node, graph: Graph, around: Around) -> Kernel:
    """A node whose op is a function of the library."""
    return callee(FunctionReference(node.op, node.attributes), node.device, graph, around)


def _is_true(value: Any) -> bool:
    return bool(value) if not value.ndim else value.size > 0


def _if(node: Node, graph: Graph, around: Around) -> Kernel:
    then, otherwise = (_callee(node, name, graph, around) for name in ("then_branch", "else_branch"))
    return lambda inputs: (then if _is_true(inputs[0]) else otherwise)(inputs[1:])


def _case(node: Node, graph: Graph, around: Around) -> Kernel:
    listed = getattr(node.attributes["branches"], "values", ())
    branches = [callee(one, node.device, graph, around) for one in listed]

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        number = int(inputs[0])
        return branches[number if 0 <= number < len(branches) else -1](inputs[1:])

    return kernel


def _while(node: Node, graph: Graph, around: Around) -> Kernel:
    condition, body = (_callee(node, name, graph, around) for name in ("cond", "body"))

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        state = list(inputs)
        while _is_true(condition(state)[0]):
            state = list(body(state))
        return state

    return kernel


CALLS: Mapping[str, Callable[[Node, Graph, Around], Kernel]] = {
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
    "If": _if,
    "StatelessIf": _if,
    "Case": _case,
    "StatelessCase": _case,
    "While": _while,
    "StatelessWhile": _while,
    FUNCTION: _called,
}
"""Ops that run functions of the library."""
