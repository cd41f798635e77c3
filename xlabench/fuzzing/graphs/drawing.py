"""Draws graphs from the records of ops: any op that has a lowering, on arrays that are there, as its record takes them.

A drawer adds op after op to a graph; what a record refuses is drawn anew.  Ops that call functions, variables, and
branches of control are drawn by `structures`, since no signature says what goes together there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.tf import (
    BY_NAME,
    RECORDS,
    ArrayShape,
    CompilerError,
    DataType,
    NoGradientError,
    NotConstantError,
    PartialShape,
    Port,
    Record,
    Trait,
    lower,
    tensor_of,
)
from xlabench.fuzzing.graphs import backward, operands
from xlabench.fuzzing.graphs.operands import Array, Dims, Generator
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.tensor import Tensor

TYPES = (
    *("float32", "float32", "float32", "float64", "float16", "bfloat16"),
    *("int32", "int64", "uint8", "int8", "bool", "complex64"),
)
EVERY_TYPE = (*TYPES, "uint16", "uint32", "uint64", "int16", "complex128")
_ALWAYS = ("int32", "bool")
_TRIES, _MOST_ELEMENTS, _MOST_FEEDS = 8, 256, 6
SAME_SHAPE, _NEW_SOURCE, _FROM_CONSTANT, _KEEP_DEFAULT, _CONTROL = 0.7, 0.15, 0.35, 0.7, 0.1
"""How often inputs of one op have one shape, and what else is done how often."""
_FED_VALUE, _COMPUTED_VALUE = 0.15, 0.3
_NOT_DRAWN = Trait.HOST | Trait.COLLECTIVE | Trait.CHECK | Trait.CALLS | Trait.STATEFUL
_BY_THEMSELVES = frozenset({"Const", "Placeholder", "NoOp", "Switch", "Merge", "ControlTrigger", "ConcatOffset"})
REFUSED = (CompilerError, NoGradientError, ValueError)
"""How ops say that what was drawn does not go together; all else is a bug of theirs, which a campaign is to find."""


def _is_plain(record: Record) -> bool:
    ports = (*record.signature.inputs, *record.signature.outputs)
    kinds = {port.type for port in ports}
    attributes = record.signature.attributes.values()
    return (
        record.name not in _BY_THEMSELVES
        and not record.name.startswith(("Xla", "_"))  # messages and functions; names that no user's node may have
        and not record.traits & _NOT_DRAWN
        and kinds.isdisjoint({"resource", "variant", "string"})
        and not any(port.is_reference or port.is_list for port in ports)
        and not any(row.allowed and all(one.is_quantized for one in row.allowed) for row in attributes)
    )


PLAIN: tuple[str, ...] = tuple(sorted(name for name, record in RECORDS.items() if _is_plain(record)))
"""The ops that are drawn by their signatures."""


@dataclass(slots=True)
class Fed:
    """What a graph is fed with: types and sizes, and the values of what must be known, a constant yet."""

    shapes: dict[str, tuple[DataType, Dims]] = field(default_factory=dict)
    known: dict[str, Array] = field(default_factory=dict)


class Drawer:
    """Adds random ops to a graph; `pool` holds the arrays that are there, `open_ends` those of open sizes."""

    def __init__(self, graph: Graph, rng: Generator, types: Sequence[str], ops: Sequence[str], fed: Fed) -> None:
        self.graph, self.rng, self.types, self.ops, self.fed = graph, rng, types, ops, fed
        self.pool: list[Tensor] = []
        self.open_ends: list[Tensor] = []

    def op(self) -> Tensor | None:
        """Add one op; its first output, or None where nothing fitted."""
        for _ in range(_TRIES):
            name = str(self.rng.choice(self.ops))
            made = self.attempt(name)
            if made:
                return made[0]
        return None

    def attempt(self, name: str) -> list[Tensor]:
        """Add a node of an op; its outputs, none where its record refuses what was drawn."""
        try:
            made = self._add(name)
            self._check_lowering(made)
        except REFUSED:
            return []
        kept = [one for one in made if dims_of(one) is not None and _count(one) <= _MOST_ELEMENTS]
        self.pool += kept
        open_ends = [one for one in made if dims_of(one) is None]
        self.open_ends += open_ends
        return kept + open_ends

    def _check_lowering(self, made: Sequence[Tensor]) -> None:
        """Lower an op whose result has no sizes though what it takes has: a graph may hold what has no lowering.

        Raises:
            UnsupportedError: there is none.
        """
        opened = [one.output for one in made if dims_of(one) is None]
        feeds = {}
        for given in (one for output in opened for one in output.built.inputs):
            element_type, dims = given.type.element_type, given.shape.static
            if element_type is None or dims is None:
                return
            feeds[given.text] = ArrayShape(element_type, dims) if given.value is None else given.value
        for output in opened:
            with suppress(NotConstantError):
                lower(self.graph.definition, feeds, [output.text])

    def source(self, kind: str, dims: Dims) -> Tensor:
        """A new array: fed, or a constant."""
        is_inside = self.graph.is_function
        if is_inside or len(self.fed.shapes) >= _MOST_FEEDS or self.rng.random() < _FROM_CONSTANT:
            return self.constant(_values(self.rng, kind, dims))
        made = self.create("Placeholder", [], dtype=BY_NAME[kind], shape=list(dims))[0]
        self.fed.shapes[made.op.name] = BY_NAME[kind], dims
        self.pool.append(made)
        return made

    def constant(self, value: Array) -> Tensor:
        """A constant."""
        tensor = tensor_of(value)
        return self.create("Const", [], dtype=tensor.type, value=tensor)[0]

    def create(self, op: str, inputs: Sequence[Any], **attributes: Any) -> list[Tensor]:
        """A node of an op.

        Args:
            op: TensorFlow's.
            inputs: of the node; a list for each that takes several.
            attributes: by name.
        """
        waits = []
        if self.pool and op not in ("Const", "Placeholder") and self.rng.random() < _CONTROL:
            waits = [self.any().op]
        with self.graph.as_default(), self.graph.control_dependencies(self._own(waits)):
            return self.graph.create(op, inputs, attributes, op).outputs

    def _own(self, waits: Sequence[Any]) -> list[Any]:
        return [one for one in waits if one.graph is self.graph]

    def any(self) -> Tensor:
        """Some array, a new one more often than an old one.

        Raises:
            ValueError: there is none.
        """
        if not self.pool:
            raise ValueError("no array that is small enough was drawn")
        share = float(self.rng.random()) ** 0.5
        return self.pool[int(share * len(self.pool))]

    def of(self, allowed: Callable[[str], bool], dims: Dims | None = None) -> Tensor:
        """An array of a type, and of dimensions if they are given: one that is there, or a new one.

        Raises:
            ValueError: no type that is drawn is allowed.
        """
        fitting = [
            one for one in self.pool if allowed(one.dtype.base_dtype.name) and (dims is None or dims_of(one) == dims)
        ]
        if fitting and self.rng.random() >= _NEW_SOURCE:
            return fitting[int(self.rng.integers(len(fitting)))]
        kinds = [one for one in self.types if allowed(one)] or [one for one in EVERY_TYPE if allowed(one)]
        if not kinds:
            raise ValueError("no type that is drawn is allowed")
        return self.source(str(self.rng.choice(kinds)), operands.some_dims(self.rng) if dims is None else dims)

    def _add(self, name: str) -> list[Tensor]:
        if name in backward.FORWARD:
            made = self._add(backward.FORWARD[name])
            taken, shared = backward.taken(
                name, made, lambda kind, dims: self.of(lambda one: one == kind, dims), self.constant
            )
            return self.create(name, taken, **shared)
        record = RECORDS[name]
        attributes = self._attributes(record)
        shapes = self._shapes(name, attributes)
        chosen: dict[str, str] = {}
        inputs: list[Any] = []
        several = int(self.rng.integers(1, 3))
        for port in record.signature.inputs:
            if port.name in record.constants:
                given = self._known(record, port, chosen, self._first(record, inputs))
            else:
                given = self._array(record, port, chosen, shapes.pop(0) if shapes else None, inputs)
            inputs.append([given] * several if port.number else given)
        for row in record.signature.attributes.values():
            if row.kind == "type" and row.name not in chosen and row.name not in attributes:
                attributes[row.name] = self._type(record, row.name)
        if name in ("Split", "Unpack"):
            attributes |= self._count_of(name, inputs)
        if name in ("PlaceholderWithDefault", "EnsureShape"):
            attributes["shape"] = PartialShape(dims_of(inputs[0]))
        return self.create(name, inputs, **attributes)

    def _first(self, record: Record, inputs: Sequence[Any]) -> Dims:
        """The dimensions that a known value is about; of an op that takes it first, those of what it takes next."""
        for one in inputs:
            tensor = one[0] if isinstance(one, list) else one
            if dims_of(tensor):
                return dims_of(tensor) or ()
        return (2, 3) if len(record.signature.inputs) > 1 else ()

    def _array(
        self, record: Record, port: Port, chosen: dict[str, str], wanted: Dims | None, inputs: Sequence[Any]
    ) -> Tensor:
        """An array for an input, of the type that its other inputs have already."""
        row = record.signature.attributes.get(port.type)
        kind = chosen.get(port.type)
        if row is None:
            allowed = lambda name: name == port.type  # noqa: E731
        elif kind is not None:
            allowed = lambda name: name == kind  # noqa: E731
        else:
            allowed = lambda name: name in EVERY_TYPE and (not row.allowed or BY_NAME[name] in row.allowed)  # noqa: E731
        if wanted is None and inputs and self.rng.random() < SAME_SHAPE:
            before = inputs[0][0] if isinstance(inputs[0], list) else inputs[0]
            wanted = dims_of(before)
        found = self.of(allowed, wanted)
        if row is not None:
            chosen[port.type] = found.dtype.base_dtype.name
        return found

    def _known(self, record: Record, port: Port, chosen: dict[str, str], dims: Dims) -> Tensor:
        """A value that must be known: a constant, computed of constants or of shapes, or fed."""
        value = operands.known_value(record.name, port.name, self.rng, dims)
        if value is None:
            raise ValueError(f"no value for {record.name}.{port.name}")
        row = record.signature.attributes.get(port.type)
        kinds = [one for one in ("int32", "int64") if row is None or not row.allowed or BY_NAME[one] in row.allowed]
        if row is not None and not kinds:
            kinds = ["float32"]
        own = port.type if port.type in ("bool", "float32", "int64") else "int32"
        kind = chosen.setdefault(port.type, own if row is None else str(self.rng.choice(kinds)))
        array = np.asarray(value).astype(dtype_of(kind))
        how = self.rng.random()
        if how < _FED_VALUE and not self.graph.is_function:
            made = self.constant(array)  # while the graph is drawn: what it decides could not be told otherwise
            self.fed.known[made.op.name] = array
            return made
        if how < _FED_VALUE + _COMPUTED_VALUE and kind.startswith("int"):
            return self._computed(array, dims)
        return self.constant(array)

    def _computed(self, array: Array, dims: Dims) -> Tensor:
        """A value that follows from others that are known, or from a shape."""
        beside = self.constant(np.ones_like(array))
        if array.ndim == 1 and tuple(array) == dims and self.pool:
            like = [one for one in self.pool if dims_of(one) == dims]
            if like:
                return self.create("Shape", [like[0]], out_type=tensor_of(array).type)[0]
        return self.create("AddV2", [self.constant(array - 1), beside])[0]

    def _shapes(self, name: str, attributes: Mapping[str, Any]) -> list[Dims | None]:
        if name == "Einsum":
            takes = str(attributes["equation"]).partition("->")[0].split(",")
            return [*operands.sizes(" ".join(takes), self.rng)]
        return [*operands.sizes(operands.SHAPES[name], self.rng)] if name in operands.SHAPES else []

    def _attributes(self, record: Record) -> dict[str, Any]:
        found: dict[str, Any] = dict(operands.window(record.name, self.rng))
        for row in record.signature.attributes.values():
            if (
                row.name in found
                or row.kind == "type"
                or (row.default is not None and self.rng.random() < _KEEP_DEFAULT)
            ):
                continue
            value = self._attribute(row.kind, row.name)
            if value is not None:
                found[row.name] = value
        return found

    def _attribute(self, kind: str, name: str) -> Any:
        if kind == "bool":
            return bool(self.rng.integers(2)) if name not in ("use_cudnn_on_gpu", "sorted") else None
        if kind == "int" and name in ("axis", "k", "depth_radius"):
            return int(self.rng.integers(0, 2))
        if kind == "int" and name.endswith("_mask"):
            return int(self.rng.integers(0, 4)) if name in ("begin_mask", "end_mask") else None
        if kind == "shape":
            return PartialShape(operands.some_dims(self.rng))
        if kind == "float":
            return float(np.float32(self.rng.random()))
        return str(self.rng.choice(operands.TEXTS[name])) if name in operands.TEXTS else None

    def _type(self, record: Record, name: str) -> DataType:
        row = record.signature.attributes[name]
        kinds = [one for one in (*self.types, *_ALWAYS) if not row.allowed or BY_NAME[one] in row.allowed]
        return BY_NAME[str(self.rng.choice(kinds))] if kinds else row.default  # type: ignore[return-value]

    def _count_of(self, name: str, inputs: Sequence[Any]) -> Mapping[str, Any]:
        dims = dims_of(inputs[-1]) or ()
        return {"num": dims[0] if dims else 1} if name == "Unpack" else {"num_split": 1 if not dims else dims[0]}


def dims_of(tensor: Tensor) -> Dims | None:
    """The sizes of an array, None where they are not all known."""
    return tensor.output.shape.static


def _count(tensor: Tensor) -> int:
    return int(np.prod(dims_of(tensor) or ()))


def dtype_of(kind: str) -> Any:
    """NumPy's type for one of TensorFlow's."""
    element_type = BY_NAME[kind].element_type
    assert element_type is not None
    return element_type.dtype


def _values(rng: Generator, kind: str, dims: Dims) -> Array:
    """Small numbers, now and then a special one."""
    dtype = dtype_of(kind)
    if kind == "bool":
        return np.asarray(rng.random(dims) < 0.5)
    values = rng.integers(-4, 5, dims) / (1 if "int" in kind else 2)
    if kind.startswith("u"):
        values = np.abs(values)
    array = np.array(values, dtype=dtype)
    if "float" in kind and array.size and rng.random() < 0.1:
        array.reshape(-1)[int(rng.integers(array.size))] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return array
