"""A graph with what it is run on, and the graphs that are parts of it: whatever looks for a fault cuts graphs here.

A case is a graph, a value for everything that it is fed with, the values of variables, and what is fetched.  As a
program it is a module that carries the graph, with inputs in the module's order; of values that must be compile-time
constants the module has none, since they are written into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np

from compiler import InputError, aot
from compiler.tf import (
    AttributeList,
    DataType,
    Function,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    Tensor,
    inside_loops,
    is_a,
    output_types,
    tensor_of,
)
from xlabench.tensorflow.runtime.calls import body_of

Array = np.ndarray[Any, Any]
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_NO_ARRAY = frozenset({"resource", "variant", "string"})


@dataclass(frozen=True, slots=True)
class GraphCase:
    """A graph and what it is run on.

    Attributes:
        graph: the graph.
        values: what is fed, by the places of outputs (`x`, `x:1`).
        variables: what variables hold, by their names.
        fetches: outputs of nodes, and nodes (`^node`) that only run.
    """

    graph: Graph
    values: Mapping[str, Array]
    fetches: tuple[str, ...]
    variables: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Any, inputs: Sequence[Array]) -> GraphCase | None:
        """The case that a program with its inputs is; None where it carries no graph."""
        carried = aot.carried_by(module)
        if carried is None:
            return None
        count = len(carried.feeds)
        known = {name: one for name, one in carried.known.items() if carried.graph.node(name).op not in VARIABLES}
        fed = dict(zip(carried.feeds, inputs[:count], strict=True))
        held = dict(zip(carried.reads, inputs[count:], strict=True))
        return cls(carried.graph, {**known, **fed}, carried.fetches, held)

    def program(self, name: str = "graph") -> tuple[Any, tuple[Array, ...]]:
        """The module, which carries the graph, and its inputs.

        Raises:
            InputError: a variable is read of which no value is known, or a node makes no sense.
            UnsupportedError: a node has no lowering.
        """
        case = self.pruned()
        lowered = aot.lower_with_graph(aot.with_values(case.graph, {}), case.values, case.fetches, name)
        held = {one: self.variables.get(one, lowered.initial.get(one)) for one in lowered.reads}
        missing = [one for one, value in held.items() if value is None]
        if missing:
            raise InputError(f"variable {missing[0]!r} is read, and no value of it is known")
        inputs = [case.values[text] for text in lowered.inputs]
        return lowered.module, (*inputs, *(value for value in held.values() if value is not None))

    def pruned(self) -> GraphCase:
        """The part of the graph that fetches need: nodes, feeds and functions."""
        by_name = {node.name: node for node in self.graph.nodes}
        needed: set[str] = set()
        runs: set[str] = set()
        stack = list(self.fetches)
        fed = {endpoint_at(source_of(text), port_of(text)) for text in self.values}
        while stack:
            text = stack.pop()
            name = source_of(text)
            needed.add(name)
            if name not in runs and endpoint_at(name, port_of(text)) not in fed:
                runs.add(name)
                stack += by_name[name].inputs
        kept = [node for node in self.graph.nodes if node.name in needed]
        nodes = [node if node.name in runs else replace(node, inputs=()) for node in kept]
        values = {text: value for text, value in self.values.items() if source_of(text) in needed}
        graph = replace(self.graph, nodes=nodes, functions=_called(self.graph, nodes))
        return replace(self, graph=graph, values=values)

    @property
    def library(self) -> Mapping[str, Function]:
        """The functions by name."""
        return {function.name: function for function in self.graph.functions}

    def outputs(self, node: Node) -> list[str]:
        """The places of a node's outputs that are arrays."""
        types = output_types(node, self.library) or ()
        return [endpoint_at(node.name, n) for n, one in enumerate(types) if one is not None and _is_array(one)]

    @property
    def constants(self) -> Mapping[str, Array]:
        """The values of constants, where they are numbers."""
        held = ((node.name, node.attributes.get("value")) for node in self.graph.nodes if node.op == "Const")
        return {name: one.array() for name, one in held if isinstance(one, Tensor) and one.stated is not None}

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Every array outside of loops that is not fed, after those that it is made of, dead or not."""
        inside = inside_loops(self.graph.nodes)
        nodes = [node for node in in_order(self.graph.nodes) if node.op != "Const" and node.name not in inside]
        fed = {endpoint_at(source_of(text), port_of(text)) for text in self.values}
        return tuple(endpoint for node in nodes for endpoint in self.outputs(node) if endpoint not in fed)

    def opened(self) -> GraphCase:
        """The case with every array of the graph fetched that is always there, each after those that it is made of."""
        dead = self.may_be_dead
        runs = tuple(text for text in self.fetches if text.startswith("^"))
        return replace(self, fetches=(*(text for text in self.endpoints if source_of(text) not in dead), *runs))

    @property
    def may_be_dead(self) -> set[str]:
        """The nodes that run on one side of a `Switch` only."""
        return _may_be_dead(in_order(self.graph.nodes))

    def subgraph(
        self, names: Iterable[str], found: Mapping[str, Array], *, feeds_constants: bool = False
    ) -> GraphCase | None:
        """Some nodes alone, on the values that they get in the whole; None where one of these is no array.

        Args:
            names: the nodes.
            found: what stands at the places of the graph.
            feeds_constants: whether constants around them are fed, and what is taken twice is fed twice, so that a
                lowering knows no more than of any values.
        """
        inside = set(names)
        nodes = [node for node in self.graph.nodes if node.name in inside]
        taken = [text for node in nodes for text in node.data_inputs if source_of(text) not in inside]
        values: dict[str, Array] = {}
        stands: dict[str, Iterator[str]] = {}
        made: list[Node] = []
        for text, count in Counter(endpoint_at(source_of(text), port_of(text)) for text in taken).items():
            source = self.graph.node(source_of(text))
            is_fed = feeds_constants and text in found
            if source.op in VARIABLES or (source.op == "Const" and not source.inputs and not is_fed):
                made.append(replace(source, inputs=()))  # what it waits for is not there
                continue
            value = found.get(text, self.values.get(text))
            if value is None:
                return None
            given = [f"given_{len(values) + n}" for n in range(count if feeds_constants else 1)]
            stands[text] = cycle(given)
            values.update(dict.fromkeys(given, value))
            made += [fed_node(name, value) for name in given]
        kept = [replace(node, inputs=tuple(_taken(node, inside, stands))) for node in nodes]
        fetches = [endpoint for node in nodes for endpoint in self.outputs(node)]
        runs = [f"^{node.name}" for node in nodes if not self.outputs(node)]
        graph = replace(self.graph, nodes=[*made, *kept])
        return GraphCase(graph, values, (*fetches, *runs), self.variables).pruned()

    def body(self, node: Node, found: Mapping[str, Array]) -> GraphCase | None:
        """The first function that a node calls, as a graph on what the node gives it; None where it calls none."""
        taken = [found.get(endpoint_at(source_of(text), port_of(text))) for text in node.data_inputs]
        chosen = _chosen(node, taken)
        function = self.library.get(chosen.name) if chosen else None
        if chosen is None or function is None:
            return None
        given = taken[len(taken) - len(function.inputs) :]
        if any(value is None for value in given) or any(not one.is_one for one in function.inputs):
            return None
        graph, entries, exits = body_of(function, chosen, self.library)
        values = dict(zip(entries, given, strict=True))
        nodes = [
            fed_node(one.name, values[one.name])  # type: ignore[arg-type]  # none is None
            if one.name in values
            else one
            for one in graph.nodes
            if one.name not in exits
        ]
        fetches = tuple(one.inputs[0] for one in graph.nodes if one.name in exits)
        return GraphCase(replace(graph, nodes=nodes), values, fetches, self.variables)  # type: ignore[arg-type]


def _may_be_dead(nodes: Sequence[Node]) -> set[str]:
    """The nodes, in order, that run on one side of a `Switch` only; a `Merge` does where all that it takes does."""
    sides: dict[str, frozenset[tuple[str, int]]] = {}
    asked: dict[str, str] = {}
    for node in nodes:
        found = [sides.get(source_of(text), frozenset()) | _side(asked, text) for text in node.inputs]
        combined = frozenset.intersection if is_a(node, "Merge") else frozenset.union
        sides[node.name] = combined(*found) if found else frozenset()
        if is_a(node, "Switch"):
            asked[node.name] = node.inputs[1]
    return {name for name, found in sides.items() if found or name in asked}


def _side(asked: Mapping[str, str], text: str) -> set[tuple[str, int]]:
    """The side of a `Switch` that an input is, by what that asks."""
    predicate = None if text.startswith("^") else asked.get(source_of(text))
    return set() if predicate is None else {(predicate, port_of(text))}


def fed_node(name: str, value: Array) -> Node:
    """A placeholder for a value."""
    kind = tensor_of(value).type
    return Node(name, "Placeholder", (), "", {"dtype": kind, "shape": PartialShape(value.shape)})


def source_of(text: str) -> str:
    """The node that an input names."""
    return text.removeprefix("^").partition(":")[0]


def port_of(text: str) -> int:
    """The number of the output that an input names."""
    return int(text.partition(":")[2] or 0)


def endpoint_at(name: str, port: int) -> str:
    """An output, as an input of a node names it."""
    return f"{name}:{port}" if port else name


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Nodes after those that they take from or wait for."""
    by_name = {node.name: node for node in nodes}
    done: dict[str, Node] = {}
    for first in nodes:
        stack = [first]
        while stack:
            node = stack[-1]
            waits = [name for name in map(source_of, node.inputs) if name in by_name and name not in done]
            if waits and len(stack) <= len(nodes):
                stack.append(by_name[waits[0]])
            else:
                done.setdefault(stack.pop().name, node)
    return list(done.values())


def _taken(node: Node, inside: set[str], stands: Mapping[str, Iterator[str]]) -> Iterable[str]:
    for text in node.inputs:
        if text.startswith("^"):
            if source_of(text) in inside:
                yield text
        else:
            given = stands.get(endpoint_at(source_of(text), port_of(text)))
            yield text if given is None else next(given)


def _is_array(kind: DataType) -> bool:
    return str(kind) not in _NO_ARRAY and not str(kind).endswith("_ref")


def _chosen(node: Node, taken: Sequence[Array | None]) -> FunctionReference | None:
    """The function that a node calls, first, on these inputs."""
    stated = node.attributes
    branches = stated.get("branches")
    if isinstance(branches, AttributeList) and taken and taken[0] is not None:
        number = int(taken[0])
        found: object = branches.values[number if 0 <= number < len(branches.values) else -1]
    elif "then_branch" in stated and taken and taken[0] is not None:
        found = stated["then_branch" if bool(np.any(taken[0])) else "else_branch"]
    else:
        found = stated.get("body", stated.get("f"))
    return found if isinstance(found, FunctionReference) else None


def _called(graph: Graph, nodes: Sequence[Node]) -> list[Function]:
    """The functions that nodes call, directly or not."""
    library = {function.name: function for function in graph.functions}
    needed: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        held = [
            one
            for value in node.attributes.values()
            for one in (value.values if isinstance(value, AttributeList) else (value,))
        ]
        names = [node.op, *(one.name for one in held if isinstance(one, FunctionReference))]
        for name in names:
            if name in library and name not in needed:
                needed.add(name)
                stack += library[name].nodes
    return [function for function in graph.functions if function.name in needed]
