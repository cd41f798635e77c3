"""Deadness: under which conditions of `Switch` nodes the outputs of each node are alive.

`Switch` gives its value to one of two outputs and a dead tensor to the other; a node is dead if anything that it takes
or waits for is; `Merge` gives what is alive of its inputs.  A cluster runs as a whole, so that what it holds must be
alive at the same times, and what it takes too.

Values that go round in a loop are alive as `Merge` says, whose formula holds itself.  The nodes of a loop are walked
twice: first such a `Merge` is a symbol; then, where what comes back is the symbol and a condition that does not hold
the symbol, the pair of where it begins and that condition stands for it, under the name of the frames, since one
formula means another thing in each.

Loops of several values are alive together as a rule.  So all `Merge` of a frame are one symbol at first; if all become
the same pair, that was right.  Otherwise each is walked again with a symbol of its own.  For that the nodes of
outermost frames are walked one frame after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.diagnostics import InputError
from compiler.graph import Tensor
from compiler.graph.frames import is_a
from compiler.jit.predicates import Kind, Predicate, Predicates
from compiler.jit.topology import CONTROL, Edge, Topology

_RECEIVERS = ("_Recv", "_HostRecv")
_MOST_BRANCHES = 1_000
"""Outputs of a `_SwitchN` that are told apart: an attribute may say any number, and each has a predicate."""


class Deadness:
    """The formulas of a graph's tensors."""

    def __init__(self, topology: Topology) -> None:
        """Walk the graph.

        Raises:
            InputError: a value comes back to a `Merge` in two ways.
        """
        self._topology = topology
        self._frames = topology.frames()
        self._formulas = Predicates()
        self._of: dict[tuple[int, int], Predicate] = {}
        self._run()

    def of(self, number: int, port: int = CONTROL) -> Predicate:
        """When an output is alive, or a node."""
        return self._of.get((number, port)) or self._of[number, CONTROL]

    def inputs_differ(self, number: int) -> bool:
        """Whether some of what a node takes or waits for may be dead while other is not."""
        return len(set(self._inputs(number))) > 1

    def _frame(self, number: int) -> str:
        return self._frames.name(self._topology.nodes[number].name)

    def _path(self, number: int) -> list[str]:
        return self._frames.path(self._topology.nodes[number].name)

    def _run(self) -> None:
        frames = self._topology.grouped(lambda number: (self._path(number) or [f"{number}"])[-1])
        for members in frames.values():
            inside = bool(self._path(members[0]))
            if not (inside and self._walk(members, together=True)):
                self._walk(members, together=False)

    def _walk(self, members: Sequence[int], *, together: bool) -> bool:
        """Walk nodes twice; whether what was taken for alive together is."""
        first: dict[str, int] | None = {} if together else None
        again: set[int] = set()
        for number in members:
            self._visit(number, again, first)
        again = {
            edge.target
            for number in members
            for edge in self._topology.outputs[number]
            if self._topology.is_back_edge(edge) and is_a(self._topology.nodes[edge.target], "Merge")
        }
        for number in members:
            if number in again:
                self._visit(number, again, first)
        if not together or self._agree(members):
            return True
        for number in members:
            for port in (CONTROL, *range(self._ports(number))):
                self._of.pop((number, port), None)
        return False

    def _agree(self, members: Sequence[int]) -> bool:
        """Whether the values of each loop among nodes are alive together."""
        found: dict[str, Predicate] = {}
        for number in members:
            if is_a(self._topology.nodes[number], "Merge") and any(
                map(self._topology.is_back_edge, self._topology.inputs[number])
            ):
                formula = self.of(number)
                if formula.kind is not Kind.LOOP or found.setdefault(self._frame(number), formula) is not formula:
                    return False
        return True

    def _visit(self, number: int, again: set[int], first: dict[str, int] | None) -> None:
        node = self._topology.nodes[number]
        before = {key: self._of.get(key) for key in self._keys(number)}
        if is_a(node, "Switch") or node.op == "_SwitchN":
            self._switch(number)
        elif is_a(node, "Merge"):
            self._merge(number, first)
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
        return [(number, port) for port in (CONTROL, *range(self._ports(number)))]

    def _ports(self, number: int) -> int:
        """How many outputs of a node have formulas of their own."""
        node = self._topology.nodes[number]
        count = node.attributes.get("num_outs", 0)
        if node.op == "_SwitchN":
            return min(count, _MOST_BRANCHES) if isinstance(count, int) else 0
        return 2 if is_a(node, "Switch") else 0

    def _set(self, number: int, formula: Predicate) -> None:
        self._of[number, CONTROL] = formula

    def _input(self, edge: Edge) -> Predicate:
        """When an input is alive; what comes back otherwise than to a `Merge` is not known yet, and a symbol."""
        if (edge.source, CONTROL) not in self._of:
            return self._formulas.symbol(self._named(edge), is_value=False)
        return self.of(edge.source, edge.port)

    def _inputs(self, number: int) -> Iterator[Predicate]:
        return (self._input(edge) for edge in self._topology.inputs[number])

    def _switch(self, number: int) -> None:
        inputs = list(self._inputs(number))
        condition = next((edge for edge in self._topology.inputs[number] if edge.slot == 1), None)
        if condition is None:
            name = self._topology.nodes[number].name
            raise InputError(f"node {name!r} (Switch): it takes a value and a condition, and has no second input")
        self._set(number, self._formulas.all_of(inputs))
        if is_a(self._topology.nodes[number], "Switch"):
            chosen = self._condition(condition)
            self._of[number, 0] = self._formulas.all_of([*inputs, self._formulas.no(chosen)])
            self._of[number, 1] = self._formulas.all_of([*inputs, chosen])
            return
        last = self._ports(number) - 1
        for port in range(last + 1):
            chosen = self._formulas.symbol(f"{self._named(condition)}={port}", is_value=False)
            self._of[number, port] = self._formulas.all_of([*inputs, chosen] if port < last else inputs)
            inputs.append(self._formulas.no(chosen))

    def _named(self, edge: Edge) -> str:
        return f"{self._topology.nodes[edge.source].name}:{edge.port}"

    def _condition(self, edge: Edge) -> Predicate:
        """That a condition is true."""
        node = self._topology.nodes[edge.source]
        value = node.attributes.get("value") if node.op == "Const" else None
        if isinstance(value, Tensor) and value.stated is not None and not value.dims:
            return self._formulas.true if value.array().item() else self._formulas.false
        return self._formulas.symbol(self._named(edge), is_value=True)

    def _merge(self, number: int, first: dict[str, int] | None) -> None:
        """When a `Merge` is alive; what it only waits for does not count."""
        node = self._topology.nodes[number]
        data = [edge for edge in self._topology.inputs[number] if not edge.is_control]
        back = [edge for edge in data if self._topology.is_back_edge(edge)]
        if len(back) > 1:
            names = " and ".join(self._topology.nodes[edge.source].name for edge in back)
            raise InputError(f"node {node.name!r} (Merge): a value comes back to it from {names}; from one it may")
        before = self._of.get((number, CONTROL))
        if before is None and back and (back[0].source, CONTROL) not in self._of:
            like = number if first is None else first.setdefault(self._frame(number), number)
            self._set(number, self._formulas.symbol(f"{self._topology.nodes[like].name}:0", is_value=False))
        elif before is None:
            self._set(number, self._formulas.any_of([self._input(edge) for edge in data]))
        elif before.kind is Kind.SYMBOL and back:
            step = self._step(before, self._input(back[0]))
            if step is not None:
                start = self._formulas.any_of([self._input(edge) for edge in data if edge is not back[0]])
                self._set(number, self._formulas.loop(start, step, self._path(number)))

    def _step(self, symbol: Predicate, back: Predicate) -> Predicate | None:
        """What a formula asks beside a symbol that it asks; None if it does not ask it, or holds it otherwise too."""
        if back.kind is not Kind.AND or symbol not in back.operands:
            return None
        others = [one for one in back.operands if one is not symbol]
        if any(symbol in one.subpredicates() for one in others):
            return None
        return self._formulas.all_of(others)
