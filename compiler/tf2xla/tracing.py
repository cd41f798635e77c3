"""Functions as computations of their own, for branches and loops.

A computation takes one tuple: the inputs whose values are not known, then the variables that the function may use; it
gives a tuple of its results, then these variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.expansion.expression import Expression, element
from compiler.graph import Function, FunctionReference
from compiler.ir.module import Computation, Module
from compiler.ir.shape import TupleShape
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.random_numbers import KEEP_GENERATORS, generator_name, initial_state
from compiler.tf2xla.values import Handle, Traced, Value, arrays_of, rebuilt
from compiler.tf2xla.variables import Variables, variable_name

Inline = Callable[[FunctionReference, Sequence[Value], Operation], list[Value]]


class Tracer:
    """What writes computations of one program."""

    def __init__(self, module: Module, variables: Variables, library: Mapping[str, Function], inline: Inline) -> None:
        self._module = module
        self._variables = variables
        self._library = library
        self._inline = inline

    def carried(self, functions: Sequence[FunctionReference], inputs: Sequence[Value]) -> tuple[str, ...]:
        """The variables that functions on inputs may use, and that have values."""
        names = [name for one in inputs if isinstance(one, Handle) for name in self._variables.under(one.name)]
        seen: set[str] = set()
        names += [name for one in functions for name in self._made_in(one.name, seen)]
        return tuple(name for name in dict.fromkeys(names) if self._variables.shape(name) is not None)

    def _made_in(self, function: str, seen: set[str]) -> Iterator[str]:
        """The variables that nodes of a function, and of those that it calls, are."""
        called = self._library.get(function)
        if called is None or function in seen:
            return
        seen.add(function)
        for node in called.nodes:
            name = variable_name(node)
            if name is not None:
                yield name
            if node.op in KEEP_GENERATORS:
                seeds = (node.attributes.get(key, 0) for key in ("seed", "seed2"))
                self._variables.keep(generator_name(node.name), initial_state(*seeds))  # type: ignore[arg-type]  # ints
                yield generator_name(node.name)
            for value in (FunctionReference(node.op), *node.attributes.values()):
                for one in (value, *getattr(value, "values", ())):
                    if isinstance(one, FunctionReference):
                        yield from self._made_in(one.name, seen)

    def traced(
        self,
        function: FunctionReference,
        inputs: Sequence[Value],
        caller: Operation,
        known: Mapping[int, Array],
        carried: Sequence[str],
        results: Sequence[int] | None = None,
    ) -> Traced:
        """A function on inputs, of which some are known, giving all or some of its results.

        Args:
            function: what is traced.
            inputs: for its arguments.
            caller: the node that calls.
            known: values of those of the inputs that are known, by number.
            carried: names of the variables that it takes and gives.
            results: numbers of those that are wanted; None for all.
        """
        made = self._module.add_computation(Computation(function.name))
        held = [self._variables.read(name) for name in carried]
        arrays = [*arrays_of([one for n, one in enumerate(inputs) if n not in known]), *held]
        state = parameter(made, 0, TupleShape(tuple(one.instruction.shape for one in arrays)))
        inner = Operation(caller.node, caller.signature, (), made, caller.library, checked=False)
        pieces = (Expression(element(state, number)) for number in range(len(arrays)))
        given: list[Value] = []
        for number, one in enumerate(inputs):
            if number in known and isinstance(one, Expression):
                given.append(inner.constant(known[number], one.type))
            else:
                given.append(rebuilt(one, pieces))
        own = list(pieces)
        with self._variables.inside(carried, own) as pushed:
            outputs = self._inline(function, given, inner)
            after = [self._variables.read(name) for name in carried]
        kept = outputs if results is None else [outputs[number] for number in results]
        made.root = build(made, "tuple", [one.instruction for one in (*arrays_of(kept), *after)])
        changed = frozenset(name for name, a, b in zip(carried, own, after, strict=True) if a is not b)
        return Traced(made, kept, changed, pushed)
