"""The smallest graph that still fails in the same way: nodes dropped, arrays made smaller, clusters with less in them.

The search is greedy like that of programs (`reduce`), over fewer kinds of edits, since what a graph is lowered to is
worth reducing by instructions only when a graph is not to blame.  A candidate is a graph that is lowered and that asks
for less: fewer nodes, then fewer elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from compiler import CompilerError
from compiler.tf import Node, PartialShape, Tensor, tensor_of
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.reduce import NOBODY, Progress, Reduction, Watcher
from xlabench.graphs.case import GraphCase, endpoint_at, fed_node, in_order, port_of, source_of
from xlabench.judging.tolerance import Array

Predicate = Callable[[Case], bool]
Values = Callable[[GraphCase], Mapping[str, Array]]
"""What stands at every place of a graph."""


def reduce(case: Case, is_bad: Predicate, values: Values, *, max_probes: int, watcher: Watcher = NOBODY) -> Reduction:
    """Make a graph that a program carries smaller for as long as the program stays bad.

    Args:
        case: the program that carries the graph.
        is_bad: whether a smaller one still shows it.
        values: what nodes' outputs are, to be put in their place.
        max_probes: questions at most.
        watcher: hears of each smaller one.
    """
    graph = GraphCase.of(case.module, case.inputs)
    assert graph is not None, "only programs that carry graphs are reduced here"
    search = _Search(case, graph.pruned(), is_bad, values, max_probes, watcher)
    search.run()
    is_spent = search.probes >= max_probes
    return Reduction(search.case, search.probes, is_spent, tuple(search.history), watcher.wants_an_end())


@dataclass(slots=True)
class _Search:
    case: Case
    graph: GraphCase
    is_bad: Predicate
    values: Values
    max_probes: int
    watcher: Watcher
    probes: int = 0
    history: list[Progress] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Every kind of edit, again and again until none helps."""
        while any(self._move(name, move) for name, move in _MOVES.items()):
            pass

    def _is_over(self) -> bool:
        return self.probes >= self.max_probes or self.watcher.wants_an_end()

    def _move(self, name: str, move: Callable[[GraphCase, Mapping[str, Array]], Iterator[GraphCase]]) -> bool:
        """Take every success of one kind of edit; after one the rest of that kind is proposed anew."""
        has_helped, is_new = False, True
        while is_new and not self._is_over():
            is_new = False
            for candidate in move(self.graph, self.values(self.graph)):
                if self._is_over():
                    break
                if self._try(name, candidate):
                    has_helped = is_new = True
                    break
        return has_helped

    def _try(self, name: str, candidate: GraphCase) -> bool:
        try:
            candidate = candidate.pruned()
            if _cost(candidate) >= _cost(self.graph):
                return False
            case = Case(*candidate.program(self.case.module.name))
        except (CompilerError, ValueError, KeyError):
            return False
        key = case.key()
        if key in self.seen:
            return False
        self.seen.add(key)
        self.probes += 1
        if not self.is_bad(case):
            return False
        self.case, self.graph = case, candidate
        self.history.append(Progress(name, self.probes, len(candidate.graph.nodes)))
        self.watcher.report(self.history[-1])
        return True


def _cost(graph: GraphCase) -> tuple[int, int, int, int]:
    """Nodes, edges and fetches, then elements."""
    nodes = [*graph.graph.nodes, *(node for function in graph.graph.functions for node in function.nodes)]
    constants = [value for node in nodes for value in node.attributes.values() if isinstance(value, Tensor)]
    elements = sum(value.size for value in constants) + sum(value.size for value in graph.values.values())
    fed = {source_of(text) for text in graph.values}
    ops = sum(node.op != "Const" and node.name not in fed for node in nodes)
    return ops, len(nodes), sum(len(node.inputs) for node in nodes) + len(graph.fetches), elements


def _earlier(graph: GraphCase, values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """One array inside of the graph fetched in place of everything, the first that there is."""
    fed = {source_of(text) for text in graph.values}
    for node in in_order(graph.graph.nodes):
        if node.op != "Const" and node.name not in fed:
            yield from (replace(graph, fetches=(output,)) for output in graph.outputs(node) if output in values)


def _fewer_fetches(graph: GraphCase, _values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """One fetch alone, or all but one."""
    if len(graph.fetches) > 1:
        yield from (replace(graph, fetches=(one,)) for one in graph.fetches)
        yield from (replace(graph, fetches=tuple(x for x in graph.fetches if x != one)) for one in graph.fetches)


def _cut(graph: GraphCase, values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """What a node gives as something that is fed; from the end, since that drops most."""
    for node in reversed(in_order(graph.graph.nodes)):
        outputs = graph.outputs(node)
        if not outputs or node.op in ("Const", "Placeholder") or any(output not in values for output in outputs):
            continue
        yield _fed(graph, {output: values[output] for output in outputs}, node)


def _fed(graph: GraphCase, given: Mapping[str, Array], node: Node) -> GraphCase:
    """The graph with a node's outputs fed, and nothing of the node left."""
    names = {output: f"{node.name}_value_{port_of(output)}" for output in given}
    made = [fed_node(names[output], value) for output, value in given.items()]
    nodes = [
        replace(one, inputs=tuple(_instead(text, names, node.name) for text in one.inputs))
        for one in graph.graph.nodes
        if one is not node
    ]
    nodes = [replace(one, inputs=tuple(filter(None, one.inputs))) for one in nodes]
    fetches = tuple(text for text in graph.fetches if source_of(text) != node.name)
    values = {**graph.values, **{names[output]: value for output, value in given.items()}}
    return replace(graph, graph=replace(graph.graph, nodes=[*made, *nodes]), fetches=fetches, values=values)


def _instead(text: str, names: Mapping[str, str], gone: str) -> str:
    if text.startswith("^"):
        return "" if text[1:] == gone else text
    return names.get(endpoint_at(source_of(text), port_of(text)), text)


def _passed(graph: GraphCase, values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """One of a node's inputs in place of what it gives, where that is alike."""
    for node in reversed(in_order(graph.graph.nodes)):
        outputs = graph.outputs(node)
        if len(outputs) != 1 or outputs[0] not in values:
            continue
        for text in node.data_inputs:
            given = values.get(endpoint_at(source_of(text), port_of(text)))
            if given is not None and (given.dtype, given.shape) == (values[outputs[0]].dtype, values[outputs[0]].shape):
                yield _replaced(graph, node, text)


def _replaced(graph: GraphCase, node: Node, text: str) -> GraphCase:
    nodes = [
        replace(one, inputs=tuple(filter(None, (_instead(x, {node.name: text}, node.name) for x in one.inputs))))
        for one in graph.graph.nodes
    ]
    fetches = tuple(text if one in (node.name, f"{node.name}:0") else one for one in graph.fetches)
    return replace(graph, graph=replace(graph.graph, nodes=nodes), fetches=tuple(dict.fromkeys(fetches)))


def _without_waits(graph: GraphCase, _values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """A node that waits for nothing, or that nothing more is asked of."""
    for node in graph.graph.nodes:
        if any(text.startswith("^") for text in node.inputs):
            nodes = [replace(one, inputs=one.data_inputs) if one is node else one for one in graph.graph.nodes]
            yield replace(graph, graph=replace(graph.graph, nodes=nodes))


def _smaller(graph: GraphCase, _values: Mapping[str, Array]) -> Iterator[GraphCase]:
    """One size of arrays made one, or half, wherever it stands."""
    sizes = {size for value in graph.values.values() for size in value.shape}
    for size in sorted(sizes - {0, 1}, reverse=True):
        for less in dict.fromkeys((1, size // 2)):
            yield _resized(graph, size, less)


def _resized(graph: GraphCase, size: int, less: int) -> GraphCase:
    def cut(value: Array) -> Array:
        return value[tuple(slice(less) if one == size else slice(None) for one in value.shape)]

    def changed(value: object) -> object:
        if isinstance(value, Tensor) and value.stated is not None:
            array = cut(value.array())
            return tensor_of(
                np.where(array == size, less, array).astype(array.dtype) if array.dtype.kind == "i" else array
            )
        if isinstance(value, PartialShape) and value.dims is not None:
            return PartialShape(tuple(less if one == size else one for one in value.dims))
        return value

    nodes = [
        replace(node, attributes={name: changed(value) for name, value in node.attributes.items()})  # type: ignore[misc]
        for node in graph.graph.nodes
    ]
    values = {name: cut(value) for name, value in graph.values.items()}
    held = {name: cut(value) for name, value in graph.variables.items()}
    return replace(graph, graph=replace(graph.graph, nodes=nodes), values=values, variables=held)


_MOVES: Mapping[str, Callable[[GraphCase, Mapping[str, Array]], Iterator[GraphCase]]] = {
    "earlier": _earlier,
    "fewer fetches": _fewer_fetches,
    "cut": _cut,
    "passed": _passed,
    "without waits": _without_waits,
    "smaller": _smaller,
}
