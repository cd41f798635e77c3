"""When the outputs of each node are alive.

`Switch` gives its value to one of two outputs and a dead tensor to the other; a node is dead if anything that it takes
or waits for is; `Merge` gives what is alive of its inputs.  A cluster runs as a whole, so that what it holds must be
alive at the same times, and what it takes too.

Values that go round in a loop are alive as `Merge` says, whose formula holds itself.  The graph is walked twice: first
such a `Merge` is a symbol; then, where what comes back is the symbol and a condition that does not hold the symbol, the
pair of where it begins and that condition stands for it, under the name of the frames, since one formula means another
thing in each.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import InputError
from compiler.jit.cycles import frames_of
from compiler.jit.predicates import Kind, Predicate, Predicates
from compiler.jit.topology import CONTROL, Edge, Topology, is_a

_RECEIVERS = ("_Recv", "_HostRecv")


class Deadness:
    """The formulas of a graph's tensors."""

    def __init__(self, topology: Topology) -> None:
        """Walk the graph.

        Raises:
            InputError: a value comes back to a `Merge` in two ways.
        """
        self._topology = topology
        self._frames = frames_of(topology)
        self._formulas = Predicates()
        self._of: dict[tuple[int, int], Predicate] = {}
        self._run()

    def of(self, number: int, port: int = CONTROL) -> Predicate:
        """When an output is alive, or a node."""
        return self._of.get((number, port)) or self._of[number, CONTROL]

    def inputs_differ(self, number: int) -> bool:
        """Whether some of what a node takes or waits for may be dead while other is not."""
        return len(set(self._inputs(number))) > 1

    def _run(self) -> None:
        order = self._topology.post_order()[::-1]
        again: set[int] = set()
        for number in order:
            self._visit(number, again)
        again = {
            edge.target
            for number in order
            for edge in self._topology.outputs[number]
            if self._topology.is_back_edge(edge) and is_a(self._topology.nodes[edge.target], "Merge")
        }
        for number in order:
            if number in again:
                self._visit(number, again)

    def _visit(self, number: int, again: set[int]) -> None:
        node = self._topology.nodes[number]
        before = {key: self._of.get(key) for key in self._keys(number)}
        if is_a(node, "Switch"):
            self._switch(number)
        elif is_a(node, "Merge"):
            self._merge(number)
        elif node.op == "ControlTrigger":
            self._set(number, self._formulas.true)
        else:
            inputs = list(self._inputs(number))
            if node.op in _RECEIVERS:
                inputs.append(self._formulas.symbol(f"{node.name}:0", is_value=False))
            self._set(number, self._formulas.all_of(inputs))
        if any(self._of.get(key) is not value for key, value in before.items()):
            again |= {edge.target for edge in self._topology.outputs[number] if not self._topology.is_back_edge(edge)}

    def _keys(self, number: int) -> list[tuple[int, int]]:
        return [(number, port) for port in (CONTROL, 0, 1)]

    def _set(self, number: int, formula: Predicate) -> None:
        self._of[number, CONTROL] = formula

    def _input(self, edge: Edge) -> Predicate:
        """When an input is alive; what comes back otherwise than to a `Merge` is not known yet, and a symbol."""
        if (edge.source, CONTROL) not in self._of:
            return self._formulas.symbol(f"{self._topology.nodes[edge.source].name}:{edge.port}", is_value=False)
        return self.of(edge.source, edge.port)

    def _inputs(self, number: int) -> Iterator[Predicate]:
        return (self._input(edge) for edge in self._topology.inputs[number])

    def _switch(self, number: int) -> None:
        inputs = list(self._inputs(number))
        condition = next(edge for edge in self._topology.inputs[number] if edge.slot == 1)
        name = f"{self._topology.nodes[condition.source].name}:{condition.port}"
        chosen = self._formulas.symbol(name, is_value=True)
        self._of[number, 0] = self._formulas.all_of([*inputs, self._formulas.no(chosen)])
        self._of[number, 1] = self._formulas.all_of([*inputs, chosen])
        self._set(number, self._formulas.all_of(inputs))

    def _merge(self, number: int) -> None:
        """When a `Merge` is alive; what it only waits for does not count."""
        node = self._topology.nodes[number]
        data = [edge for edge in self._topology.inputs[number] if not edge.is_control]
        back = [edge for edge in data if self._topology.is_back_edge(edge)]
        if len(back) > 1:
            names = " and ".join(self._topology.nodes[edge.source].name for edge in back)
            raise InputError(f"node {node.name!r} (Merge): a value comes back to it from {names}; from one it may")
        before = self._of.get((number, CONTROL))
        if before is None and back and (back[0].source, CONTROL) not in self._of:
            self._set(number, self._formulas.symbol(f"{node.name}:0", is_value=False))
        elif before is None:
            self._set(number, self._formulas.any_of([self._input(edge) for edge in data]))
        elif before.kind is Kind.SYMBOL and back:
            step = self._step(before, self._input(back[0]))
            if step is not None:
                start = self._formulas.any_of([self._input(edge) for edge in data if edge is not back[0]])
                self._set(number, self._formulas.loop(start, step, self._frames.path(number)))

    def _step(self, symbol: Predicate, back: Predicate) -> Predicate | None:
        """What a formula asks beside a symbol that it asks; None if it does not ask it, or holds it otherwise too."""
        if back.kind is not Kind.AND or symbol not in back.operands:
            return None
        others = [one for one in back.operands if one is not symbol]
        if any(symbol in one.parts() for one in others):
            return None
        return self._formulas.all_of(others)
