"""Types and partial shapes of a new node's outputs, without a shape rule for each op: its lowering says them.

The node is lowered twice into a program that nobody runs, every size that is not known being one number in the first
and another in the second: a size of the result that differs is not known.  Values that follow from sizes alone are
known there, too, each for its number, so that `Reshape(x, Shape(y))` has the shape of y.  Where a lowering refuses
such sizes, since one that is not known meets one that is (`[?] + [5]`), they are all set to 1, or to one of the known
sizes, and what is that of the result is not known; where it refuses them all, nothing is known.  Shapes that are known
are no trial: what is refused of them is an error of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.diagnostics import CompilerError, InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import BY_NAME, DataType, Function, Graph, PartialShape
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ops.build import constant, parameter
from compiler.tf2xla.lowering import Lowering
from compiler.tf2xla.operation import NotConstantError
from compiler.tf2xla.record import Record
from compiler.tf2xla.signature import Port
from compiler.tf2xla.terms import UNKNOWN, Built, Output, Trial
from compiler.tf2xla.values import Handle, Value, no_handle

_SIZES = (12, 24)
"""What sizes that are not known are tried with: numbers that have many divisors."""
_LARGEST_VALUE = 256
"""Elements of the values that are followed."""

Trials = tuple[Trial, ...]
Facts = tuple[PartialShape, Trials]


def types_of(built: Built, ports: Sequence[Port]) -> list[tuple[Port, list[DataType]]]:
    """The ports with the types of their tensors."""
    found = []
    for port in ports:
        if port.is_list:
            listed = list(built.attribute(port.type))
        else:
            named = port.type in built.signature.attributes
            one = built.attribute(port.type) if named else BY_NAME[port.type]
            count = built.attribute(port.number) if port.number else 1
            listed = [one.reference if port.is_reference else one.base] * count
        found.append((port, listed))
    return found


def trials_of(shape: PartialShape) -> Trials:
    """What a tensor of a shape is tried with."""
    if shape.dims is None:
        return ()
    return tuple(Trial(_filled(shape.dims, size)) for size in _SIZES)


def _filled(dims: Sequence[int | None], size: int) -> tuple[int, ...]:
    return tuple(size if one is None else one for one in dims)


class Inference:
    """Shapes of nodes; what was found of a node is kept for others like it."""

    def __init__(self, functions: Callable[[], Mapping[str, Function]]) -> None:
        """Infer with the functions that a library holds when they are asked for."""
        self._functions = functions
        self._found: dict[object, list[Facts]] = {}

    def shapes(self, built: Built, record: Record | None, types: Sequence[DataType]) -> list[Facts]:
        """Shape and trials of each output.

        Args:
            built: the node.
            record: of its op, None where there is none.
            types: of its outputs.

        Raises:
            InputError: shapes are known, and the op refuses them.
        """
        if record is not None and record.shapes is not None:
            shapes = record.shapes(built)
            if any(one is None for one in shapes):
                raise InputError(f"node {built.node.name!r} ({built.node.op}): its attribute 'shape' is missing")
            return [(shape, trials_of(shape)) for shape in shapes]
        nothing: list[Facts] = [(UNKNOWN, ())] * len(types)
        inputs = built.inputs
        if record is None or any(one.element_type is None for one in types):
            return nothing
        if any(not one.trials or _type_of(one) is None for one in inputs):
            return nothing
        if built.node.op == "Const":
            return self._tried(built, record, inputs, len(types))
        key = self._key(built, inputs)
        if key not in self._found:
            self._found[key] = self._tried(built, record, inputs, len(types))
        return self._found[key]

    def _key(self, built: Built, inputs: Sequence[Output]) -> object:
        """What the shapes depend on."""
        attributes = tuple(sorted((name, str(value)) for name, value in built.node.attributes.items()))
        known = tuple(_seen(one) for one in inputs)
        return built.node.op, attributes, known

    def _tried(self, built: Built, record: Record, inputs: Sequence[Output], count: int) -> list[Facts]:
        nothing: list[Facts] = [(UNKNOWN, ())] * count
        is_static = all(one.shape.static is not None for one in inputs)
        try:
            first, second = ([one.trials[number] for one in inputs] for number in (0, 1))
            trials = self._trial(built, record, first)
            others = trials if all(map(_is_same, first, second)) else self._trial(built, record, second)
            return [_agreed(one, other) for one, other in zip(trials, others, strict=True)]
        except (NotConstantError, UnsupportedError):
            return nothing
        except CompilerError:
            if is_static:
                raise
        for size, given in self._others(inputs):
            try:
                return [_doubtful(one, size) for one in self._trial(built, record, given)]
            except CompilerError:
                continue
        return nothing

    def _others(self, inputs: Sequence[Output]) -> Iterator[tuple[int, list[Trial]]]:
        """Other sizes for those that are not known, and what is tried with them."""
        dims = [one.shape.dims or () for one in inputs]
        for size in dict.fromkeys([_SIZES[0], 1, *(size for own in dims for size in own if size is not None)]):
            yield size, [Trial(_filled(own, size), one.value) for one, own in zip(inputs, dims, strict=True)]

    def _trial(self, built: Built, record: Record, given: Sequence[Trial]) -> list[Trial]:
        """The outputs for one choice of sizes."""
        module, entry = Module("trial"), Computation("main")
        module.entry = module.add_computation(entry)
        lowering = Lowering(Graph([], list(self._functions().values())), module)
        expressions: list[Value] = []
        for number, (trial, output) in enumerate(zip(given, built.inputs, strict=True)):
            element_type = _type_of(output)
            assert element_type is not None
            if output.holds is not None or output.type.is_reference:
                lowering.variables.declare(str(number), ArrayShape(element_type, trial.dims))
                expressions.append(Handle(str(number), element_type, output.type.is_reference))
            elif trial.value is not None:
                expressions.append(Expression(constant(entry, array_literal(trial.value, element_type))))
            else:
                expressions.append(Expression(parameter(entry, number, ArrayShape(element_type, trial.dims))))
        results = lowering.written(built.node, record, expressions, entry)
        return [self._result(lowering, one) for values_ in results.values() for one in values_]

    def _result(self, lowering: Lowering, value: Value) -> Trial:
        if isinstance(value, Handle):  # a reference handed on
            shape = lowering.variables.shape(value.name)
            return Trial(() if shape is None else shape.dims)
        expression = no_handle(value, "a result")
        is_small = math.prod(expression.dims) <= _LARGEST_VALUE
        return Trial(expression.dims, lowering.value(expression) if is_small else None)


def _type_of(output: Output) -> ElementType | None:
    return (output.holds or output.type).element_type


def held_by(built: Built) -> tuple[DataType | None, Trials]:
    """What the variable is that a node gives out: declared by its attributes, or that of an input."""
    if built.node.op == "VarHandleOp":
        return built.attribute("dtype"), trials_of(built.attribute("shape"))
    types, shapes = (built.attribute(f"_handle_{what}") or () for what in ("dtypes", "shapes"))
    if types:
        return types[0], trials_of(shapes[0]) if shapes else ()
    return next(((one.holds, one.trials) for one in built.inputs if one.holds is not None), (None, ()))


def _seen(output: Output) -> object:
    return (
        output.type,
        output.holds,
        tuple((trial.dims, None if trial.value is None else trial.value.tobytes()) for trial in output.trials),
    )


def _is_same(first: Trial, second: Trial) -> bool:
    """Whether a tensor is the same in both trials: then what is made of such tensors is, too."""
    if first.value is None or second.value is None:
        return first.dims == second.dims and first.value is second.value
    return first.dims == second.dims and first.value.tobytes() == second.value.tobytes()


def _agreed(first: Trial, second: Trial) -> Facts:
    if len(first.dims) != len(second.dims):
        return UNKNOWN, ()
    dims = tuple(a if a == b else None for a, b in zip(first.dims, second.dims, strict=True))
    return PartialShape(dims), (first, second)


def _doubtful(trial: Trial, size: int) -> Facts:
    """Sizes found in a program where all that is not known has one size."""
    shape = PartialShape(tuple(None if one == size else one for one in trial.dims))
    return shape, trials_of(shape)
