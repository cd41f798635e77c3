"""Control flow of TensorFlow 1 becomes functions: what TensorFlow's `functionalize_control_flow` does.

HLO has no values that are not there, and no cycles.  So before a graph is lowered each of its loops becomes a `While`,
the innermost first, and then what stands between `Switch` and `Merge` an `If`; in the bodies of functions, and in those
of the functions that are made so, as well.  Only what fetches need is looked at, as everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import Graph, Node
from compiler.graph.frames import folded, in_order, is_a, source_of, with_outputs
from compiler.graph.names import Names, endpoint, is_control
from compiler.tf2xla.deadness import Paths
from compiler.tf2xla.flat_functions import RESULT, FunctionLibrary, argument, argument_type
from compiler.tf2xla.functionalize_cond import without_switches
from compiler.tf2xla.functionalize_while import loop_of

_KINDS = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")


def functionalize(graph: Graph, fetches: Sequence[str], fed: Collection[str] = ()) -> tuple[Graph, list[str]]:
    """A graph that has been verified without control flow of TensorFlow 1, and what its fetches are called in it.

    Args:
        graph: the graph, which stays as it is.
        fetches: outputs of nodes; `^node` for what is only run.
        fed: the outputs that are given, behind which nothing is looked at.

    Raises:
        InputError: a graph makes no sense: nodes that take values of several loops, or of both sides of a branch.
        UnsupportedError: a loop or branch has a form that has no meaning as a function.
    """
    library = FunctionLibrary(graph.functions)
    for function in graph.functions:
        if _has_any(function.nodes):
            library.functions[function.name] = library.rewritten(
                function, _functionalized(library.opened(function), library)
            )
    nodes, wanted = graph.nodes, list(fetches)
    if _has_any(nodes):
        nodes, wanted = _fetched(nodes, wanted, fed, library)
    return replace(graph, nodes=nodes, functions=list(library.functions.values())), wanted


def _has_any(nodes: Sequence[Node]) -> bool:
    return any(is_a(node, kind) for node in nodes for kind in _KINDS)


def _fetched(
    nodes: Sequence[Node], fetches: Sequence[str], fed: Collection[str], library: FunctionLibrary
) -> tuple[list[Node], list[str]]:
    """What fetches need, and how they are named afterwards."""
    for text in fetches:
        if endpoint(text) is None:
            raise InputError(f"no node gives {text!r}")
    names = Names(node.name for node in nodes)
    results = [Node(names.free("fetch"), RESULT, (text,)) for text in fetches]
    found = _functionalized(_needed([*nodes, *results], {str(endpoint(text)) for text in fed}), library)
    taken = {node.name: node.inputs[0] for node in found if node.op == RESULT}
    return [node for node in found if node.op != RESULT], [taken[one.name] for one in results]


def _needed(nodes: Sequence[Node], fed: Collection[str]) -> list[Node]:
    """The nodes that results need; behind those that are fed, whatever they are, there is nothing."""
    by_name = {node.name: node for node in nodes}
    runs: set[str] = set()
    seen: set[str] = set()
    stack = [text for node in nodes if node.op == RESULT for text in node.inputs]
    while stack:
        text = stack.pop()
        name = source_of(text)
        if name not in by_name:
            raise InputError(f"no node gives {text!r}")
        seen.add(name)
        is_given = name in fed if is_control(text) else str(endpoint(text)) in fed
        if not is_given and name not in runs:
            runs.add(name)
            stack += by_name[name].inputs
    kept = (node for node in nodes if node.name in seen or node.op == RESULT)
    return [node if node.name in runs or node.op == RESULT else _given(node) for node in kept]


def _given(node: Node) -> Node:
    is_control_flow = any(is_a(node, kind) for kind in _KINDS)
    return argument(node.name, argument_type(node), 0) if is_control_flow else replace(node, inputs=())


def _functionalized(nodes: Sequence[Node], library: FunctionLibrary) -> list[Node]:
    """Nodes, with arguments and results, without control flow of TensorFlow 1."""
    outer, frames = folded(nodes)
    loops: dict[str, Node] = {}
    moved: dict[str, str] = {}

    def with_loops(inside: Sequence[Node]) -> list[Node]:
        return [with_outputs(loops.get(node.name, node), moved) for node in inside]

    for name, frame in frames.items():
        loop = loop_of(frame, with_loops(frame.nodes))
        functions = {
            key: library.add(f"{name}_{key}", _without_branches(body, library))
            for key, body in (("cond", loop.test), ("body", loop.step))
        }
        loops[name] = replace(loop.node, attributes={**loop.node.attributes, **functions})
        moved |= loop.moved
    return _without_branches(with_loops(outer), library)


def _without_branches(nodes: Sequence[Node], library: FunctionLibrary) -> list[Node]:
    """Let no result be there on one side of a branch only, and branches be functions."""
    paths = Paths(in_order(nodes))
    for node in nodes:
        if node.op == RESULT and node.data_inputs and paths.at(text := node.inputs[0]):
            reason = "it is there on one side of a Switch only, and is taken without a Merge"
            raise UnsupportedError(f"output {text!r}", "the lowering to HLO", reason)
    return without_switches(nodes, library)
