"""Graphs to HLO: each node by its record, in the order in which they need each other, into one computation.

Calls of functions are written where they stand, so that constants reach into them; branches and bodies of loops become
computations of their own.  What a node needs as a value (a shape, an axis) is computed by the interpreter from the
instructions that were just written, if no parameter is among them: that is all there is of constant folding here.

Only nodes that the fetches need are looked at, by data or by control edges, and what has no lowering among them is
refused by its op.  Functions that call themselves, or stand too deep in each other, end as an error with their names;
so does a graph whose functions, written out, have more nodes than a program can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.diagnostics import InputError, ShapeError, UnsupportedError, did_you_mean
from compiler.expansion.expression import Expression, element
from compiler.graph import Attribute, Function, FunctionReference, Graph, Node, PlaceholderName
from compiler.graph.names import Endpoint, endpoint, is_control
from compiler.interpreter import evaluate_instruction
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import TupleShape
from compiler.ops import OPS, Trait, having
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Record

MOST_NODES = 200_000
"""Nodes that are lowered, those of functions as often as they are called."""
DEEPEST = 64
"""Functions that stand in each other."""

_UNKNOWN = having(Trait.RANDOM) | {"parameter"}


class Lowering:
    """What lowerings of nodes ask of each other; one for a program."""

    def __init__(self, graph: Graph, module: Module) -> None:
        self._functions = {function.name: function for function in graph.functions}
        self._module = module
        self._calls: list[str] = []
        self._left = MOST_NODES
        self._values: dict[Instruction, Array | None] = {}

    def count(self) -> None:
        """One more node.

        Raises:
            UnsupportedError: there are too many.
        """
        self._left -= 1
        if self._left < 0:
            said = f"its functions, written out, have more than {MOST_NODES:,} nodes"
            raise UnsupportedError("the graph", "the lowering to HLO", said)

    def is_function(self, name: str) -> bool:
        """Whether the library has a function of that name."""
        return name in self._functions

    def value(self, expression: Expression) -> Array | None:
        """The value, if it depends on nothing that is not known when the graph is compiled."""
        stack = [expression.instruction]
        while stack:
            instruction = stack[-1]
            waiting = [operand for operand in instruction.operands if operand not in self._values]
            if instruction not in self._values and not waiting:
                self._values[instruction] = self._evaluated(instruction)
            if waiting:
                stack += waiting
            else:
                stack.pop()
        return self._values[expression.instruction]

    def _evaluated(self, instruction: Instruction) -> Array | None:
        operands = [self._values[operand] for operand in instruction.operands]
        if instruction.opcode in _UNKNOWN or OPS[instruction.opcode].evaluate is None:
            return None
        if any(operand is None for operand in operands):
            return None
        value: Array = evaluate_instruction(instruction, operands)  # type: ignore[assignment, arg-type]  # or a tuple
        return value

    def written(
        self, node: Node, record: Record, inputs: Sequence[Expression], computation: Computation
    ) -> dict[str, list[Expression]]:
        """The outputs of a node by its record, by their names."""
        operation = Operation(node, record.signature, inputs, computation, self)
        try:
            results = record.lower(operation)
        except ShapeError as error:
            raise operation.invalid(str(error)) from error
        listed = [results] if isinstance(results, Expression) else list(results or ())
        named: dict[str, list[Expression]] = {}
        for port, result in zip(record.signature.outputs, listed, strict=True):
            named[port.name] = [result] if isinstance(result, Expression) else list(result)
        return named

    def inline(self, function: FunctionReference, inputs: Sequence[Expression], caller: Operation) -> list[Expression]:
        """The results of a function on inputs, written where the caller is."""
        return [one for part in self.call(function, inputs, caller).values() for one in part]

    def call(
        self, function: FunctionReference, inputs: Sequence[Expression], caller: Operation
    ) -> dict[str, list[Expression]]:
        """The same by the names of the function's outputs."""
        called = self._entered(function, caller)
        try:
            given = dict(_arguments(called, inputs, function.attributes, caller))
            where = f"function {called.name!r}, "
            body = Body(self, called.nodes, caller.computation, given, where, function.attributes)
            body.run([*called.returns.values(), *(f"^{name}" for name in called.control_returns.values())])
            return {result.name: body.at(called.returns[result.name]) for result in called.outputs}
        finally:
            self._calls.pop()

    def computation(
        self,
        function: FunctionReference,
        inputs: Sequence[Expression],
        caller: Operation,
        known: Mapping[int, Array],
        results: Sequence[int] | None = None,
    ) -> Computation:
        """A computation of one tuple, the inputs that are not known, that gives a tuple, all or some of the results."""
        made = self._module.add_computation(Computation(function.name))
        shapes = tuple(one.instruction.shape for number, one in enumerate(inputs) if number not in known)
        state = parameter(made, 0, TupleShape(shapes))
        inner = Operation(caller.node, caller.signature, (), made, self, checked=False)
        parts = iter(range(len(shapes)))
        given = [
            inner.constant(known[number], one.type) if number in known else Expression(element(state, next(parts)))
            for number, one in enumerate(inputs)
        ]
        outputs = self.inline(function, given, inner)
        kept = outputs if results is None else [outputs[number] for number in results]
        made.root = build(made, "tuple", [one.instruction for one in kept])
        return made

    def passed_on(self, function: FunctionReference, caller: Operation) -> Sequence[int]:
        """The inputs of a function that are its results of the same number."""
        called = self._called(function.name, caller)
        by_name = {node.name: node for node in called.nodes}
        found = []
        for number, (argument, result) in enumerate(zip(called.inputs, called.outputs, strict=False)):
            text = called.returns.get(result.name, "")
            for _ in called.nodes:  # through nodes that pass on what they take, of which there are no more than these
                place = endpoint(text, in_function=True)
                node = by_name.get(place.node) if place else None
                if node is None or node.op != "Identity" or not node.inputs:
                    break
                text = node.inputs[0]
            if text.partition(":")[0] == argument.name:
                found.append(number)
        return found

    def _called(self, name: str, caller: Operation) -> Function:
        called = self._functions.get(name)
        if called is None:
            raise caller.invalid(f"the library has no function {name!r}" + did_you_mean(name, self._functions))
        return called

    def _entered(self, function: FunctionReference, caller: Operation) -> Function:
        called = self._called(function.name, caller)
        if called.name in self._calls:
            cycle = " -> ".join([*self._calls[self._calls.index(called.name) :], called.name])
            raise caller.unsupported(f"functions that call themselves: {cycle}")
        if len(self._calls) >= DEEPEST:
            raise caller.unsupported(f"functions stand more than {DEEPEST} deep in each other")
        self._calls.append(called.name)
        return called


def _arguments(
    called: Function, inputs: Sequence[Expression], attributes: Mapping[str, Attribute], caller: Operation
) -> Iterator[tuple[str, list[Expression]]]:
    """What a function's arguments are on these inputs; one argument may be several tensors, or none."""
    pending = list(inputs)
    for argument in called.inputs:
        count = 1
        if not argument.is_one:
            stated = attributes.get(argument.number_attribute or argument.list_attribute)
            count = stated if isinstance(stated, int) else len(getattr(stated, "values", ()))
        if len(pending) < count:
            break
        yield argument.name, pending[:count]
        pending = pending[count:]
    else:
        if not pending:
            return
    raise caller.invalid(f"function {called.name!r} takes other inputs than the {len(inputs)} given")


class Body:
    """Nodes of a graph, or of a function, that become instructions of one computation."""

    def __init__(
        self,
        lowering: Lowering,
        nodes: Sequence[Node],
        computation: Computation,
        given: Mapping[str, Sequence[Expression | None]],
        where: str = "",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Prepare to lower.

        Args:
            lowering: the whole of which this is a part.
            nodes: those of a graph or of a function.
            computation: where instructions are written.
            given: outputs of nodes (None: not that one), or a function's arguments, that are there.
            where: how messages begin.
            attributes: of a function what its caller gives, None of a graph.
        """
        self._lowering = lowering
        self._nodes = {node.name: node for node in nodes}
        self._computation = computation
        self._given = given
        self._where = where
        self._attributes = attributes
        self._outputs: dict[str, dict[str, list[Expression]]] = {}

    @property
    def _in_function(self) -> bool:
        return self._attributes is not None

    def run(self, wanted: Sequence[str]) -> None:
        """Lower every node that these outputs (`^node`: nodes) need."""
        stack: list[tuple[str, Iterator[str]]] = [("", iter(wanted))]
        while stack:
            name, pending = stack[-1]
            following = next((source for text in pending for source in self._needed(text)), None)
            if following is not None:
                node = self._nodes[following]
                self._outputs[following] = {}  # it is under way: a graph without cycles asks for it once
                stack.append((following, iter(node.inputs)))
                continue
            stack.pop()
            if name:
                self._outputs[name] = self._lowered(self._nodes[name])

    def at(self, text: str) -> list[Expression]:
        """What an input names: one tensor, or all of an output that is several where no number is stated."""
        place = self._place(text)
        if self._is_given(place):
            part = [one for one in self._given[place.node] if one is not None]
            is_all = self._in_function and ":" not in text
            return (
                part if is_all else [part[self._checked(place, len(part))]] if self._in_function else self._fed(place)
            )
        outputs = self._outputs[place.node]
        if not place.output:
            every = [one for part in outputs.values() for one in part]
            return [every[self._checked(place, len(every))]]
        if place.output not in outputs:
            raise InputError(f"{self._where}{text!r}: {self._nodes[place.node].op} has no output {place.output!r}")
        part = outputs[place.output]
        return part if text.count(":") < 2 else [part[self._checked(place, len(part))]]

    def _fed(self, place: Endpoint) -> list[Expression]:
        fed = self._given[place.node][place.port]
        assert fed is not None
        return [fed]

    def _is_given(self, place: Endpoint) -> bool:
        """Whether nothing has to be lowered for it; a fed node has happened, too, for those that wait for it."""
        given = self._given.get(place.node)
        if given is None or self._in_function or place.port < 0:
            return given is not None
        return place.port < len(given) and given[place.port] is not None

    def _checked(self, place: Endpoint, count: int) -> int:
        if place.port >= count:
            raise InputError(f"{self._where}{str(place)!r}: node {place.node!r} has {count} outputs, counted from 0")
        return place.port

    def _place(self, text: str) -> Endpoint:
        place = endpoint(text, in_function=self._in_function)
        if place is None or (place.node not in self._nodes and place.node not in self._given):
            raise InputError(f"{self._where}no node gives {text!r}" + did_you_mean(text.partition(":")[0], self._nodes))
        return place

    def _needed(self, text: str) -> Iterator[str]:
        """The node of an input, if it is not lowered yet and nobody gives its output."""
        place = self._place(text) if not is_control(text) else Endpoint(text[1:], -1)
        if self._is_given(place) or place.node in self._outputs:
            return
        if place.node not in self._nodes:
            raise InputError(f"{self._where}no node is named {place.node!r}" + did_you_mean(place.node, self._nodes))
        yield place.node

    def _lowered(self, node: Node) -> dict[str, list[Expression]]:
        self._lowering.count()
        node = self._bound(node)
        record = RECORDS.get(node.op)
        inputs = [one for text in node.data_inputs for one in self.at(text)]
        first = len(self._computation.instructions)
        outputs = self._call(node, inputs) if record is None else self._written(node, record, inputs)
        notes = (("op_type", node.op), ("op_name", node.name))
        for instruction in self._computation.instructions[first:]:
            instruction.attributes.setdefault("metadata", notes)
        return outputs

    def _bound(self, node: Node) -> Node:
        """The node with the attributes that the function's caller gives."""
        if not self._attributes or not any(isinstance(value, PlaceholderName) for value in node.attributes.values()):
            return node
        bound = {
            name: self._attributes.get(value.name, value) if isinstance(value, PlaceholderName) else value
            for name, value in node.attributes.items()
        }
        return replace(node, attributes=bound)

    def _call(self, node: Node, inputs: Sequence[Expression]) -> dict[str, list[Expression]]:
        """A node whose op is a function of the library."""
        if not self._lowering.is_function(node.op):
            what = f"op {node.op} ({self._where}node {node.name!r})"
            raise UnsupportedError(what, "the lowering to HLO", "no record has it" + did_you_mean(node.op, RECORDS))
        caller = Operation(
            node, RECORDS["PartitionedCall"].signature, (), self._computation, self._lowering, checked=False
        )
        return self._lowering.call(FunctionReference(node.op, node.attributes), inputs, caller)

    def _written(self, node: Node, record: Record, inputs: Sequence[Expression]) -> dict[str, list[Expression]]:
        return self._lowering.written(node, record, inputs, self._computation)


def without_unused(computation: Computation) -> None:
    """Drop what neither the result nor a parameter needs: shapes that were computed on the way."""
    needed = {computation.root, *computation.parameters}
    stack = [computation.root]
    while stack:
        for operand in stack.pop().operands:
            if operand not in needed:
                needed.add(operand)
                stack.append(operand)
    computation.remove([i for i in computation.instructions if i not in needed])
