"""Loops of frames become `While`: what TensorFlow's `functionalize_while` does.

A loop of TensorFlow 1 has this form, once for each of its variables:

    merge = Merge(Enter(start), NextIteration(value))
    left, going_on = Switch(merge, LoopCond(test))
    Exit(left)

`test` is computed from what the `Merge` give, `value` from what the `Switch` let through; what does not change comes
in by an `Enter` that is constant.  All that enters is the state of a `While`, the variables first, and each may leave
once, several times or never.  What has another form has no meaning as a `While`, and is refused with what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.diagnostics import UnsupportedError
from compiler.graph import BY_NAME, AttributeList, DataType, Node
from compiler.graph.frames import Frame, in_order, is_a, source_of
from compiler.graph.names import Endpoint, Names, endpoint, is_control
from compiler.tf2xla.flat_functions import argument, argument_type, result


@dataclass(frozen=True, slots=True)
class Loop:
    """A frame as a `While`, whose functions are still to be made.

    Attributes:
        node: the `While`, under the name of what stood for the frame.
        moved: for outputs of what stood for the frame those of the `While`.
        test: the nodes of its condition, as flat functions have them.
        step: the nodes of its body.
    """

    node: Node
    moved: Mapping[str, str]
    test: Sequence[Node]
    step: Sequence[Node]


@dataclass(frozen=True, slots=True)
class _Variable:
    """What goes from one iteration to the next."""

    enter: Node
    merge: Node
    next: Node


def loop_of(frame: Frame, nodes: Sequence[Node]) -> Loop:
    """A frame as a loop.

    Args:
        frame: the frame.
        nodes: those inside, in which loops inside are functions already.

    Raises:
        UnsupportedError: its nodes have another form.
    """
    return _Reader(replace(frame, nodes=nodes)).loop()


class _Reader:
    """A frame that is read."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._nodes = {node.name: node for node in frame.nodes}
        self._names = Names(self._nodes)
        tests = frame.all("LoopCond")
        if len(tests) != 1:
            raise self._refused(f"it has {len(tests)} LoopCond, and must have one")
        self._test = tests[0]
        self._variables = list(self._find_variables())
        entered = {one.enter.name for one in self._variables}
        self._constants = [node for node in frame.all("Enter") if node.name not in entered]
        for node in self._constants:
            if node.attributes.get("is_constant") is not True:
                raise self._refused(f"Enter {node.name!r} is not constant, and no Merge takes what it gives")
        self._state = [*(one.enter for one in self._variables), *self._constants]
        self._given = {one.merge.name: one.enter.name for one in self._variables}
        self._gates = {node.name: self._variable_of(node) for node in self._gates_of_the_loop()}
        self._require_ends()

    def _find_variables(self) -> Iterator[_Variable]:
        for merge in self._frame.all("Merge"):
            sources = [self._nodes[source_of(text)] for text in merge.inputs]
            enters, nexts = ([one for one in sources if is_a(one, kind)] for kind in ("Enter", "NextIteration"))
            if not enters and not nexts:
                continue  # it ends a branch
            if len(enters) != 1 or len(nexts) != 1 or len(sources) != 2:
                found = ", ".join(one.op for one in sources)
                raise self._refused(f"Merge {merge.name!r} takes {found}, and not one Enter and one NextIteration")
            yield _Variable(enters[0], merge, nexts[0])

    def _gates_of_the_loop(self) -> Iterator[Node]:
        return (node for node in self._frame.all("Switch") if source_of(node.inputs[1]) == self._test.name)

    def _variable_of(self, gate: Node) -> str:
        """The `Enter` of the variable that a Switch lets through."""
        found = self._given.get(str(endpoint(gate.inputs[0])))
        if found is None:
            raise self._refused(f"Switch {gate.name!r} asks LoopCond, and takes no variable of the loop")
        return found

    def _require_ends(self) -> None:
        """Let nothing go on to the next iteration that LoopCond does not let through: it would for ever."""
        inside = [replace(node, inputs=()) if is_a(node, "Enter") else node for node in self._frame.nodes]
        let_through = set(self._gates)
        for node in in_order(inside):
            if node.name not in self._given and any(source_of(text) in let_through for text in node.inputs):
                let_through.add(node.name)
        for one in self._variables:
            if one.next.name not in let_through:
                raise self._refused(f"NextIteration {one.next.name!r} goes on whatever LoopCond says")

    def loop(self) -> Loop:
        """The frame as a `While`."""
        numbers = {enter.name: number for number, enter in enumerate(self._state)}
        entered = [node.name for node in self._frame.all("Enter")]
        stands_for = self._frame.node
        takes = [stands_for.data_inputs[entered.index(enter.name)] for enter in self._state]
        waits = [text for text in stands_for.inputs if is_control(text)]
        attributes = {
            "T": AttributeList("type", tuple(map(argument_type, self._state))),
            "parallel_iterations": self._state[0].attributes.get("parallel_iterations", 10),
        }
        node = Node(stands_for.name, "While", (*takes, *waits), stands_for.device, attributes)
        exits = enumerate(map(self._left, self._frame.all("Exit")))
        moved = {str(Endpoint(node.name, port)): str(Endpoint(node.name, numbers[name])) for port, name in exits}
        steps = [(argument_type(one.enter), self._taken(one.next)) for one in self._variables]
        steps += [(argument_type(enter), [enter.name]) for enter in self._constants]
        test = self._function([(BY_NAME["bool"], self._taken(self._test))])
        return Loop(node, moved, test, self._function(steps))

    def _left(self, leaves: Node) -> str:
        """The `Enter` of the variable that an Exit lets out."""
        source = endpoint(leaves.inputs[0])
        assert source is not None, "the graph is verified"
        if source.node not in self._gates or source.port != 0:
            raise self._refused(
                f"Exit {leaves.name!r} takes {leaves.inputs[0]!r}, which no Switch lets out of the loop"
            )
        return self._gates[source.node]

    def _taken(self, node: Node) -> list[str]:
        return list(self._inside(node.inputs))

    def _function(self, results: Sequence[tuple[DataType, Sequence[str]]]) -> list[Node]:
        """The nodes that compute these results, with arguments for the state."""
        arguments = [argument(one.name, argument_type(one), number) for number, one in enumerate(self._state)]
        given = {one.name for one in arguments}
        needed: dict[str, Node] = {}
        stack = [text for _, texts in results for text in texts]
        while stack:
            name = source_of(stack.pop())
            if name not in given and name not in needed:
                needed[name] = replace(self._nodes[name], inputs=tuple(self._taken(self._nodes[name])))
                stack += needed[name].inputs
        inner = [needed[node.name] for node in self._frame.nodes if node.name in needed]
        ends = [
            result(self._names.free("retval"), texts, data_type, number)
            for number, (data_type, texts) in enumerate(results)
        ]
        return [*arguments, *inner, *ends]

    def _inside(self, inputs: Iterable[str]) -> Iterator[str]:
        """What is taken in an iteration: of a variable what the iteration is given."""
        for text in inputs:
            source = endpoint(text)
            assert source is not None, "the graph is verified"
            node = self._nodes[source.node]
            is_begin = source.node in self._given or source.node in self._gates or is_a(node, "Enter")
            is_first = is_a(node, "Enter") and node not in self._constants
            if is_control(text) and not is_first:
                if not is_begin and node is not self._test:
                    yield text
            elif node is self._test:
                yield from self._inside(node.data_inputs)
            elif source.node in self._gates and source.port == 1:
                yield self._gates[source.node]
            elif source.node in self._given and source.port == 0:
                yield self._given[source.node]
            elif (is_begin and node not in self._constants) or is_a(node, "NextIteration"):
                raise self._refused(f"output {text!r} is taken inside, where only Merge may take it, or nobody")
            else:
                yield text

    def _refused(self, reason: str) -> UnsupportedError:
        return UnsupportedError(f"frame {self._frame.name!r}", "the lowering to HLO", reason)
