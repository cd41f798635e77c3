"""EncapsulateSubgraphs: each cluster becomes a function of the library, and one node that calls it.

What a cluster takes from outside are the function's arguments: first the values that must be compile-time constants,
then the others, then variables, because that is the order in which who compiles it asks.  What is taken from a cluster
are its results; nodes that do something without giving anything run because the function says so.  Who waited for a
node of a cluster waits for the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.graph import Argument, DataType, Function, Graph, Node
from compiler.graph.names import Names, argument_name
from compiler.jit.attributes import (
    CLUSTER,
    COMPILED_KERNEL,
    CONSTANT_ARGS,
    REFERENCE_VARS,
    RESOURCE_ARGS,
    cluster_of,
)
from compiler.jit.devices import device_of, pick_device
from compiler.jit.options import Options
from compiler.jit.resource_safety import Access, access_of
from compiler.jit.topology import SINK, SOURCE, Edge, Topology
from compiler.tf2xla import RECORDS, Trait, known_arguments
from compiler.tf2xla.node_types import (
    RESOURCE,
    Library,
    input_types,
    is_reference,
    output_names,
    output_types,
    type_at,
)


def encapsulate_subgraphs(graph: Graph, options: Options) -> Graph:
    """The graph with a call for each cluster, and a function for it in the library.

    Raises:
        InputError: a node names no device.
    """
    if not any(cluster_of(node) for node in graph.nodes):
        return graph
    return _Encapsulator(graph, options).run()


class _Encapsulator:
    """A graph whose clusters become functions."""

    def __init__(self, graph: Graph, options: Options) -> None:
        self._graph = graph
        self._options = options
        self._library: Library = {function.name: function for function in graph.functions}
        self._topology = Topology(graph)
        self._clusters: dict[str, list[int]] = {}
        for number in self._topology.numbers:
            name = cluster_of(self._topology.nodes[number])
            if name:
                self._clusters.setdefault(name, []).append(number)
        functions = Names(self._library)
        nodes = Names(node.name for node in graph.nodes if not cluster_of(node))
        self._functions = {name: functions.free(name) for name in self._clusters}
        self._calls = {name: nodes.free(name) for name in self._clusters}
        self._references = self._near_references()

    def run(self) -> Graph:
        """Make functions, then calls, then let the rest of the graph take from these."""
        results = {name: self._results(members) for name, members in self._clusters.items()}
        given = {
            output: f"{self._calls[name]}:{number}" if number else self._calls[name]
            for name, outputs in results.items()
            for number, output in enumerate(outputs)
        }
        calls, functions = [], []
        for name, members in self._clusters.items():
            arguments = self._arguments(members)
            function, outputs = self._ordered(self._function(name, members, arguments, results[name]), [*arguments])
            functions.append(function)
            calls.append(self._call(name, members, function, [self._taken(output, given) for output in outputs]))
        kept = [self._outside(number, given) for number in self._topology.numbers if not self._cluster(number)]
        return replace(self._graph, nodes=[*kept, *calls], functions=[*self._graph.functions, *functions])

    def _cluster(self, number: int) -> str:
        return cluster_of(self._topology.nodes[number])

    def _results(self, members: Sequence[int]) -> list[tuple[int, int]]:
        """What others take from a cluster: outputs of nodes."""
        leaving = (
            edge
            for number in members
            for edge in self._topology.outputs[number]
            if not edge.is_control and self._cluster(edge.target) != self._cluster(number)
        )
        return list(dict.fromkeys((edge.source, edge.port) for edge in leaving))

    def _arguments(self, members: Sequence[int]) -> dict[tuple[int, int], DataType]:
        """What a cluster takes, with its types: those that its nodes take, where the graph gives references."""
        found: dict[tuple[int, int], DataType] = {}
        for number in members:
            for edge in self._topology.inputs[number]:
                if not edge.is_control and self._cluster(edge.source) != self._cluster(number):
                    found.setdefault((edge.source, edge.port), self._type(edge))
        return found

    def _type(self, edge: Edge) -> DataType:
        found = type_at(input_types(self._topology.nodes[edge.target], self._library), edge.slot)
        found = found or type_at(output_types(self._topology.nodes[edge.source], self._library), edge.port)
        return found.base if found else DataType(0)

    def _function(
        self,
        name: str,
        members: Sequence[int],
        arguments: Mapping[tuple[int, int], DataType],
        results: Sequence[tuple[int, int]],
    ) -> Function:
        inside = {self._topology.nodes[number].name for number in members}
        names = Names(inside)
        spelled = {source: names.free(argument_name(self._spelled(source, "arg"))) for source in arguments}
        body = [self._inside(number, spelled) for number in members]
        outputs, returns = [], {}
        own = Names()
        for source in results:
            kind = type_at(output_types(self._topology.nodes[source[0]], self._library), source[1])
            result = Argument(own.free(argument_name(self._spelled(source, "retval"))), kind or DataType(0))
            outputs.append(result)
            returns[result.name] = self._output(source)
        effects = {
            self._topology.nodes[number].name: self._topology.nodes[number].name
            for number in members
            if self._has_effect(number)
        }
        takes = tuple(Argument(spelled[source], data_type) for source, data_type in arguments.items())
        return Function(self._functions[name], takes, tuple(outputs), body, returns, effects)

    def _ordered(
        self, function: Function, sources: Sequence[tuple[int, int]]
    ) -> tuple[Function, list[tuple[int, int]]]:
        """The function with its arguments in the order in which it is compiled, and what they are."""
        known = known_arguments(Graph([], [*self._graph.functions, function]), function.name)

        def rank(number: int) -> int:
            return 0 if number in known else 2 if function.inputs[number].type == RESOURCE else 1

        order = sorted(range(len(sources)), key=rank)
        return replace(function, inputs=tuple(function.inputs[number] for number in order)), [sources[n] for n in order]

    def _spelled(self, source: tuple[int, int], what: str) -> str:
        return f"{self._topology.nodes[source[0]].name}_{source[1]}_{what}"

    def _output(self, source: tuple[int, int]) -> str:
        """How the body of a function spells an output of one of its nodes."""
        node = self._topology.nodes[source[0]]
        return f"{node.name}:{output_names(node, self._library)[source[1]]}"

    def _inside(self, number: int, spelled: Mapping[tuple[int, int], str]) -> Node:
        """A node of a cluster as the function has it."""
        node = self._topology.nodes[number]
        data, waits = [], []
        for edge in self._topology.inputs[number]:
            is_inside = self._cluster(edge.source) == self._cluster(number)
            if edge.is_control:
                waits += [f"^{self._topology.nodes[edge.source].name}"] if is_inside else []
            elif is_inside:
                data.append(self._output((edge.source, edge.port)))
            else:
                data.append(spelled[edge.source, edge.port])
        attributes = {name: value for name, value in node.attributes.items() if name != CLUSTER}
        return replace(node, inputs=(*data, *waits), attributes=attributes)

    def _has_effect(self, number: int) -> bool:
        node = self._topology.nodes[number]
        record = RECORDS.get(node.op)
        stateful = record is not None and Trait.STATEFUL in record.traits
        return stateful or Access.WRITE in access_of(node, self._library)

    def _call(self, name: str, members: Sequence[int], function: Function, inputs: Sequence[str]) -> Node:
        waits = self._waits(members)
        nodes = [self._topology.nodes[number] for number in members]
        picked = pick_device(
            {device_of(node.device, self._options.default_device) for node in nodes}, allow_mixing=True
        )
        call = Node(
            self._calls[name],
            function.name,
            (*inputs, *(f"^{one}" for one in waits)),
            str(picked) if picked else nodes[0].device,
        )
        known = known_arguments(Graph([], [*self._graph.functions, function]), function.name)
        resources = sum(argument.type == RESOURCE for argument in function.inputs)
        call.attributes = {
            COMPILED_KERNEL: True,
            CONSTANT_ARGS: sum(function.inputs[number].type != RESOURCE for number in known),
            RESOURCE_ARGS: resources,
            REFERENCE_VARS: any(number in self._references for number in members),
        }
        return call

    def _waits(self, members: Sequence[int]) -> list[str]:
        """The nodes, or calls, that a cluster waits for."""
        found: dict[str, None] = {}
        for number in members:
            for edge in self._topology.inputs[number]:
                if edge.is_control and edge.source != SOURCE and self._cluster(edge.source) != self._cluster(number):
                    found[self._name(edge.source)] = None
        return list(found)

    def _name(self, number: int) -> str:
        """The name that a node, or the call which it is in, has afterwards."""
        cluster = self._cluster(number)
        return self._calls[cluster] if cluster else self._topology.nodes[number].name

    def _taken(self, source: tuple[int, int], given: Mapping[tuple[int, int], str]) -> str:
        name = self._topology.nodes[source[0]].name
        return given.get(source) or (f"{name}:{source[1]}" if source[1] else name)

    def _outside(self, number: int, given: Mapping[tuple[int, int], str]) -> Node:
        """A node that is in no cluster, as the new graph has it."""
        data: list[str] = []
        waits: dict[str, None] = {}
        for edge in self._topology.inputs[number]:
            if not edge.is_control:
                data.append(self._taken((edge.source, edge.port), given))
            elif edge.source != SOURCE:
                waits[f"^{self._name(edge.source)}"] = None
        return replace(self._topology.nodes[number], inputs=(*data, *waits))

    def _near_references(self) -> frozenset[int]:
        """The nodes that take references to variables, give some, or stand before or behind one that does."""
        seeds = [
            number
            for number in self._topology.numbers
            if any(map(is_reference, output_types(self._topology.nodes[number], self._library) or ()))
        ]
        near: set[int] = set()
        for seed in seeds:
            near |= {*self._topology.reached(seed, lambda one: [edge.target for edge in self._topology.outputs[one]])}
            near |= {*self._topology.reached(seed, lambda one: [edge.source for edge in self._topology.inputs[one]])}
        return frozenset(near - {SOURCE, SINK})
