"""A node as its lowering sees it: inputs by name, attributes with their defaults, and the ways to refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression, number
from compiler.graph import BY_NAME, Attribute, AttributeList, DataType, FunctionReference, Node, PartialShape
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.types import ElementType
from compiler.ops.build import constant
from compiler.tf2xla.signature import Port, Signature
from compiler.tf2xla.values import KIND_WORDS, Absent, Handle, Optional, Store, Table, TensorList, Traced, Value
from compiler.tf2xla.variables import Variables

Array = NDArray[Any]
_PYTHON = {"int": int, "float": float, "bool": bool, "string": bytes, "type": DataType, "shape": PartialShape}


class NotConstantError(InputError):
    """A value that must be known when the graph is compiled, and is not."""


class Traces(Protocol):
    """What writes functions as computations of their own."""

    def carried(self, functions: Sequence[FunctionReference], inputs: Sequence[Value]) -> tuple[str, ...]:
        """The variables that functions on inputs may use, and that have values."""

    def traced(  # what a computation depends on
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


class Library(Protocol):
    """What a lowering asks of the one who lowers the rest."""

    @property
    def is_bounded(self) -> bool:
        """Whether a program may have sizes that values decide, up to a bound."""

    @property
    def variables(self) -> Variables:
        """The values that variables hold at this point of the lowering."""

    @property
    def tracer(self) -> Traces:
        """Who writes functions as computations."""

    def inline(self, function: FunctionReference, inputs: Sequence[Value], caller: Operation) -> list[Value]:
        """The results of a function on inputs, written where the caller is."""

    def value(self, expression: Expression) -> Array | None:
        """The value, if it depends on nothing that is not known when the graph is compiled."""

    def passed_on(self, function: FunctionReference, caller: Operation) -> Sequence[int]:
        """The inputs of a function that are its results of the same number."""


class Operation:
    """One node on its inputs."""

    def __init__(
        self,
        node: Node,
        signature: Signature,
        inputs: Sequence[Value],
        computation: Computation,
        library: Library,
        *,
        checked: bool = True,
    ) -> None:
        """Give every input of the signature its tensors, unless it is not `checked`, as only a name for messages is.

        Raises:
            InputError: there are too few or too many, or one has another type than the signature says.
        """
        self.node = node
        self.signature = signature
        self.computation = computation
        self.library = library
        self._inputs: dict[str, list[Value]] = {}
        if not checked:
            return
        pending = list(inputs)
        for port in signature.inputs:
            count = self.count(port)
            if count > len(pending):
                raise self.invalid(f"it takes {port.name!r}, which is not given: it has {len(inputs)} inputs")
            given, pending = pending[:count], pending[count:]
            types = self._stated(port, count)
            self._inputs[port.name] = [self._valued(one, kind) for one, kind in zip(given, types, strict=True)]
            self._check_types(port, self._inputs[port.name], types)
        if pending:
            raise self.invalid(f"it has {len(pending)} more inputs than it takes")

    def __getitem__(self, name: str) -> Expression:
        """An input that is one tensor."""
        return self._array(name, self._inputs[name][0])

    def list(self, name: str) -> list[Expression]:
        """An input that is several tensors."""
        return [self._array(name, one) for one in self._inputs[name]]

    def items(self, name: str) -> Sequence[Value]:
        """An input as it is: arrays, variables, lists."""
        return self._inputs[name]

    def variable(self, name: str) -> Handle:
        """An input that is a variable.

        Raises:
            InputError: it is none.
        """
        value = self._inputs[name][0]
        if not isinstance(value, Handle) or isinstance(value, Store | Table):
            raise self.invalid(f"its input {name!r} must be a variable")
        return value

    def store(self, name: str, *, is_stack: bool = False) -> Store:
        """An input that is a TensorArray, or a stack.

        Raises:
            InputError: it is none.
        """
        value = self._inputs[name][0]
        if not isinstance(value, Store) or value.is_stack != is_stack:
            raise self.invalid(f"its input {name!r} must be a {'stack' if is_stack else 'TensorArray'}")
        return value

    def table(self, name: str) -> Table:
        """An input that is a table of keys.

        Raises:
            InputError: it is none.
        """
        value = self._inputs[name][0]
        if not isinstance(value, Table):
            raise self.invalid(f"its input {name!r} must be a table of keys")
        return value

    def tensor_list(self, name: str) -> TensorList:
        """An input that is a list of tensors.

        Raises:
            InputError: it is none.
        """
        value = self._inputs[name][0]
        if not isinstance(value, TensorList):
            raise self.invalid(f"its input {name!r} must be a list of tensors")
        return value

    def read(self, name: str) -> Expression:
        """What the variable holds that an input is."""
        return self.library.variables.read(self.variable(name).name)

    def write(self, name: str, value: Expression) -> None:
        """Let the variable that an input is hold a value."""
        self.library.variables.write(self.variable(name).name, value)

    def _array(self, name: str, value: Value) -> Expression:
        if not isinstance(value, Expression):
            raise self.invalid(f"its input {name!r} is {KIND_WORDS[type(value)]}, not an array")
        return value

    def _valued(self, value: Value, data_type: DataType) -> Value:
        """What a variable of TensorFlow 1 holds, where its value is wanted."""
        if isinstance(value, Handle) and value.is_reference and not data_type.is_reference:
            return self.library.variables.read(value.name)
        return value

    @property
    def module(self) -> Module:
        """The program that is written."""
        assert self.computation.module is not None
        return self.computation.module

    def attribute(self, name: str) -> Any:
        """An attribute's value, or its default; of a list the values.

        Raises:
            InputError: it must be stated, or is of another kind.
        """
        row = self.signature.attributes[name]
        value: Attribute | None = self.node.attributes.get(name, row.default)
        if value is None:
            raise self.invalid(f"its attribute {name!r} is missing")
        if row.kind.startswith("list("):
            if not isinstance(value, AttributeList):
                raise self.invalid(f"its attribute {name!r} must be a {row.kind}")
            return value.values
        wanted = _PYTHON.get(row.kind)
        if wanted is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
            raise self.invalid(f"its attribute {name!r} must be of the kind {row.kind}")
        if row.kind == "func" and not isinstance(value, FunctionReference):
            raise self.invalid(f"its attribute {name!r} must be a function")
        if row.kind == "float":
            return float(np.float32(value))  # type: ignore[arg-type]  # of that kind: files hold no more digits
        if isinstance(value, DataType) and row.allowed and value.base not in row.allowed:
            allowed = ", ".join(sorted(map(str, row.allowed)))
            raise self.invalid(f"its attribute {name!r} is {value}, which is none of {allowed}")
        return value

    def type(self, name: str) -> ElementType:
        """The element type that an attribute names.

        Raises:
            UnsupportedError: HLO has none for it.
        """
        return self._element_type(self.attribute(name))

    def types(self, name: str) -> tuple[ElementType, ...]:
        """The element types that an attribute lists."""
        return tuple(self._element_type(one) for one in self.attribute(name))

    def _element_type(self, data_type: DataType) -> ElementType:
        found = data_type.element_type
        if found is None:
            raise self.unsupported(f"HLO has no type for {data_type}")
        return found

    def count(self, port: Port) -> int:
        """How many tensors a port is."""
        if port.is_one:
            return 1
        return int(self.attribute(port.number)) if port.number else len(self.attribute(port.type))

    def value(self, name: str) -> Array:
        """The value of an input that must be known when the graph is compiled.

        Raises:
            InputError: it is not.
        """
        return self.values(name)[0]

    def values(self, name: str) -> Sequence[Array]:
        """The values of an input that is several tensors and must be known when the graph is compiled.

        Raises:
            NotConstantError: they are not known.
        """
        found = []
        for expression in self.list(name):
            value = self.library.value(expression)
            if value is None:
                raise self.not_constant(name)
            found.append(value)
        return found

    def integers(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """The numbers of an input that must be known: a vector, or a scalar as one number.

        Args:
            name: the input's.
            count: how many numbers there must be; None for any.

        Raises:
            InputError: it has more dimensions, or another count.
        """
        value = self.value(name)
        if value.ndim > 1:
            raise self.invalid(f"its input {name!r} must be a vector, and has the sizes {list(value.shape)}")
        found = tuple(int(one) for one in value.reshape(-1))
        self.require(count in (None, len(found)), lambda: f"its {name} must be {count} numbers, not {list(found)}")
        return found

    def integer(self, name: str) -> int:
        """The one number of an input that must be known, a scalar, or a vector as earlier versions write it."""
        numbers = self.integers(name)
        self.require(len(numbers) == 1, f"its input {name!r} must be one number, not {len(numbers)}")
        return numbers[0]

    def number(self, value: complex, element_type: ElementType) -> Expression:
        """A scalar constant of the computation."""
        return number(self.computation, value, element_type)

    def constant(self, array: Any, element_type: ElementType) -> Expression:
        """An array of values as a constant of the computation."""
        return Expression(constant(self.computation, array_literal(array, element_type)))

    def full(self, value: complex, element_type: ElementType, dims: Sequence[int]) -> Expression:
        """An array of one number everywhere.

        Args:
            value: the number.
            element_type: of the array.
            dims: of the array.
        """
        return self.number(value, element_type).spread(dims, ())

    def axis(self, axis: int, rank: int, what: str = "axis") -> int:
        """An axis counted from the front, where a negative one is counted from the back.

        Args:
            axis: the axis, negative from the back.
            rank: of the array.
            what: its name in messages.

        Raises:
            InputError: there is no such axis.
        """
        if not -rank <= axis < rank:
            raise self.invalid(f"its {what} {axis} is none of an array with {rank} dimensions")
        return axis % rank if rank else 0

    def require(self, condition: object, said: str | Callable[[], str]) -> None:
        """Raise what `invalid` makes of the message unless the condition holds."""
        if not condition:
            raise self.invalid(said if isinstance(said, str) else said())

    def invalid(self, said: str) -> InputError:
        """The error to raise where the node makes no sense."""
        return InputError(f"node {self.node.name!r} ({self.node.op}): {said}")

    def unsupported(self, reason: str) -> UnsupportedError:
        """The error to raise where the node makes sense and has no meaning here."""
        return UnsupportedError(f"op {self.node.op} (node {self.node.name!r})", "the lowering to HLO", reason)

    def not_constant(self, name: str) -> NotConstantError:
        """The error to raise where an input's value must be known and is not."""
        names = [port.name for port in self.signature.inputs]
        said = self.invalid(
            f"input {names.index(name)}, {name!r}, must be a compile-time constant: sizes and "
            "dimensions follow from it; feed it as a value, or make it of constants and shapes"
        )
        return NotConstantError(str(said))

    def _stated(self, port: Port, count: int) -> Sequence[DataType]:
        """The types that a port's tensors must have."""
        if port.is_list:
            return tuple(self.attribute(port.type))
        one = self.attribute(port.type) if port.type in self.signature.attributes else BY_NAME[port.type]
        return [one.reference if port.is_reference else one] * count

    def _check_types(self, port: Port, given: Sequence[Value], types: Sequence[DataType]) -> None:
        for value, data_type in zip(given, types, strict=True):
            if isinstance(value, Absent):
                continue  # who runs on that side does not look at it
            kind = Handle if data_type.is_reference else _KINDS.get(str(data_type))
            if kind is not None or isinstance(value, Handle):
                fits = isinstance(value, kind or Expression)
            else:
                fits = self._element_type(data_type) is getattr(value, "type", None)
            if not fits:
                found = value.type if isinstance(value, Expression) else KIND_WORDS[type(value)]
                raise self.invalid(f"its input {port.name!r} must be {data_type}, and is {found}")


_KINDS: dict[str, type | tuple[type, ...]] = {"resource": Handle, "variant": (TensorList, Optional)}
