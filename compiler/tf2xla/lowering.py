"""Graphs to HLO: each node by its record, in the order in which they need each other, into one computation.

Calls of functions are written where they stand, so that constants reach into them; branches and bodies of loops become
computations of their own.  What a node needs as a value (a shape, an axis) is computed by the interpreter from the
instructions that were just written, if no parameter is among them, or one between limits that decide it (`limits`):
that is all there is of constant folding here.

Only nodes that the fetches need are looked at, by data or by control edges, and what has no lowering among them is
refused by its op.  Functions that call themselves, or stand too deep in each other, end as an error with their names;
so does a graph whose functions, written out, have more nodes than a program can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.diagnostics import ShapeError, UnsupportedError, did_you_mean
from compiler.expansion.expression import Expression
from compiler.graph import Attribute, Function, FunctionReference, Graph, Node
from compiler.graph.names import endpoint
from compiler.interpreter import evaluate_instruction
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS, having
from compiler.ops import Trait as OpTrait
from compiler.ops.build import parameter
from compiler.tf2xla.body import Body
from compiler.tf2xla.limits import Limits, decided, limits_of
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.record import Record, Trait
from compiler.tf2xla.sizes import is_sized
from compiler.tf2xla.tracing import Tracer
from compiler.tf2xla.values import Value
from compiler.tf2xla.variables import Variables

MOST_NODES = 200_000
"""Nodes that are lowered, those of functions as often as they are called."""
DEEPEST = 64
"""Functions that stand in each other."""

_UNKNOWN = having(OpTrait.RANDOM) | {"parameter"}


class Lowering:
    """What lowerings of nodes ask of each other; one for a program."""

    def __init__(
        self,
        graph: Graph,
        module: Module,
        initialised: Mapping[str, ArrayShape] | None = None,
        room: Mapping[str, int] | None = None,
        *,
        is_bounded: bool = False,
    ) -> None:
        """Prepare to lower a graph.

        Args:
            graph: whose functions are called.
            module: the program, whose entry is there.
            initialised: variables that have values, None where all that are declared have.
            room: how many elements stacks must have room for, where that has been counted.
            is_bounded: whether the program may have sizes that values decide.
        """
        self.is_bounded = is_bounded
        self._functions = {function.name: function for function in graph.functions}
        self.variables = Variables(initialised, self._parameter, room)
        self.tracer = Tracer(module, self.variables, self._functions, self.inline)
        self._entry = module.entry
        self._calls: list[str] = []
        self._left = MOST_NODES
        self._values: dict[Instruction, Array | None] = {}
        self._limits: dict[Instruction, Limits] = {}

    def _parameter(self, name: str, shape: ArrayShape) -> Expression:
        entry = self._entry
        return Expression(parameter(entry, len(entry.parameters), shape, name=identifier(name)))

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
            return self._decided(instruction)
        if any(operand is None for operand in operands):
            return self._decided(instruction)
        value: Array = evaluate_instruction(instruction, operands)  # type: ignore[assignment, arg-type]  # or a tuple
        return value

    def _decided(self, instruction: Instruction) -> Array | None:
        """The value of what depends on something unknown, where limits leave one only."""
        shape = instruction.shape
        if not isinstance(shape, ArrayShape) or not shape.element_type.is_integer or shape.is_dynamic:
            return None
        given = [self._limits_of(operand) for operand in instruction.operands]
        self._limits[instruction] = limits_of(instruction, given)
        return decided(self._limits[instruction], instruction.array.dims)

    def _limits_of(self, operand: Instruction) -> Limits | None:
        value = self._values[operand]
        return self._limits.get(operand) if value is None else (value, value)

    def written(
        self, node: Node, record: Record, inputs: Sequence[Value], computation: Computation
    ) -> dict[str, list[Value]]:
        """The outputs of a node by its record, by their names.

        Args:
            node: of the graph.
            record: of its op.
            inputs: of the node.
            computation: where instructions are added.

        Raises:
            InputError: the node makes no sense.
        """
        is_left_out = Trait.CHECK in record.traits and not record.signature.outputs
        operation = Operation(node, record.signature, inputs, computation, self, checked=not is_left_out)
        if Trait.SIZED not in record.traits and any(isinstance(one, Expression) and is_sized(one) for one in inputs):
            raise operation.unsupported("values decide a size of what it takes, and its lowering has sizes in it")
        try:
            results = record.lower(operation)
        except ShapeError as error:
            raise operation.invalid(str(error)) from error
        listed = list(results or ()) if isinstance(results, Sequence | None) else [results]
        named: dict[str, list[Value]] = {}
        for port, result in zip(record.signature.outputs, listed, strict=True):
            named[port.name] = list(result) if isinstance(result, Sequence) else [result]
        return named

    def inline(self, function: FunctionReference, inputs: Sequence[Value], caller: Operation) -> list[Value]:
        """The results of a function on inputs, written where the caller is."""
        return [one for output in self.call(function, inputs, caller).values() for one in output]

    def call(self, function: FunctionReference, inputs: Sequence[Value], caller: Operation) -> dict[str, list[Value]]:
        """The results of a function on inputs, by their names.

        Args:
            function: what is called.
            inputs: for its arguments.
            caller: the node that calls.
        """
        called = self._entered(function, caller)
        try:
            given = dict(_arguments(called, inputs, function.attributes, caller))
            where = f"function {called.name!r}, "
            body = Body(self, called.nodes, caller.computation, given, where, function.attributes)
            body.run([*called.returns.values(), *(f"^{name}" for name in called.control_returns.values())])
            return {result.name: body.at(called.returns[result.name]) for result in called.outputs}
        finally:
            self._calls.pop()

    def passed_on(self, function: FunctionReference, caller: Operation) -> Sequence[int]:
        """The inputs of a function that are its results of the same number."""
        called = self._called(function.name, caller)
        by_name = {node.name: node for node in called.nodes}
        found = []
        for number, (argument, result) in enumerate(zip(called.inputs, called.outputs, strict=False)):
            text = called.returns.get(result.name, "")
            for _ in called.nodes:  # through nodes that pass on what they take, of which there are no more than these
                source = endpoint(text, in_function=True)
                node = by_name.get(source.node) if source else None
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
    called: Function, inputs: Sequence[Value], attributes: Mapping[str, Attribute], caller: Operation
) -> Iterator[tuple[str, list[Value]]]:
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


def identifier(name: str) -> str:
    """A name that HLO text can spell."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_.-") else "_" for one in name) or "graph"
