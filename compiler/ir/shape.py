"""Shapes: arrays with element type, dimensions and layout, and tuples of shapes.

A layout says how an array lies in memory; it never changes what a program means.  `UNBOUNDED` marks a dimension whose
size is not known at all (`?`); a dynamic dimension with a bound (`<=N`) has that bound in `dims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from compiler.ir.types import TYPES, ElementType, Kind

UNBOUNDED = -1
"""The size of a dimension of which nothing is known; XLA's own, `kUnboundedSize`, is the least 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Dimensions from the fastest varying to the slowest, and what else XLA writes into a layout's braces.

    `tiles` hold one tuple each, with -1 where XLA writes `*`; `split_configs` are (dimension, indices).
    """

    minor_to_major: tuple[int, ...]
    dim_level_types: tuple[str, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    tail_padding: int = 1
    index_type: str = ""
    pointer_type: str = ""
    element_size_bits: int = 0
    memory_space: int = 0
    split_configs: tuple[tuple[int, tuple[int, ...]], ...] = ()
    physical_shape: Shape | None = None
    metadata_prefix_bytes: int = 0

    def __str__(self) -> str:
        properties = "".join(self._properties())
        order = ",".join(map(str, self.minor_to_major))
        return "{" + order + (f":{properties}" if properties else "") + "}"

    def _properties(self) -> Iterator[str]:
        if self.dim_level_types:
            yield f"D({','.join(self.dim_level_types)})"
        for position, tile in enumerate(self.tiles):
            yield ("" if position else "T") + f"({','.join('*' if size == -1 else str(size) for size in tile)})"
        plain: tuple[tuple[str, str | int, str | int], ...] = (
            ("L", self.tail_padding, 1),
            ("#", self.index_type, ""),
            ("*", self.pointer_type, ""),
            ("E", self.element_size_bits, 0),
            ("S", self.memory_space, 0),
        )
        yield from (f"{letter}({value})" for letter, value, default in plain if value != default)
        if self.split_configs:
            yield "SC" + "".join(f"({dimension}:{','.join(map(str, at))})" for dimension, at in self.split_configs)
        if self.physical_shape is not None:
            yield f"P({self.physical_shape})"
        if self.metadata_prefix_bytes:
            yield f"M({self.metadata_prefix_bytes})"


def default_layout(rank: int) -> Layout:
    """Row-major, the layout that an array has when none is written."""
    return Layout(tuple(range(rank - 1, -1, -1)))


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """An array: element type, dimensions, which of them are dynamic (empty: none), layout (None: not stated)."""

    element_type: ElementType
    dims: tuple[int, ...]
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None

    def __str__(self) -> str:
        dims = self.dims
        if self.dynamic:
            text = ",".join(
                "?" if size == UNBOUNDED else f"<={size}" if is_dynamic else str(size)
                for size, is_dynamic in zip(dims, self.dynamic, strict=True)
            )
        else:
            text = ",".join(map(str, dims))
        layout = str(self.layout) if self.layout is not None and (dims or self.layout != _SCALAR) else ""
        return f"{self.element_type.name}[{text}]{layout}"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """The number of elements (at most, where dimensions are dynamic)."""
        return math.prod(self.dims)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return self.size * self.element_type.size_bytes

    @property
    def is_dynamic(self) -> bool:
        """Whether any dimension is dynamic."""
        return any(self.dynamic)

    def with_layout(self, layout: Layout | None) -> ArrayShape:
        """The same array with another layout."""
        return replace(self, layout=layout)

    def with_type(self, element_type: ElementType) -> ArrayShape:
        """The same dimensions and layout with another element type."""
        return replace(self, element_type=element_type)

    def with_dims(self, dims: tuple[int, ...]) -> ArrayShape:
        """An array of the same type with other, static dimensions and no layout."""
        return ArrayShape(self.element_type, dims)


@dataclass(frozen=True, slots=True)
class TupleShape:
    """A tuple of shapes, nested at will."""

    elements: tuple[Shape, ...]

    def __str__(self) -> str:
        elements = [
            f"/*index={index}*/{element}" if index and index % 5 == 0 else str(element)
            for index, element in enumerate(self.elements)
        ]
        return f"({', '.join(elements)})"

    @property
    def size_bytes(self) -> int:
        """Bytes of all leaves."""
        return sum(element.size_bytes for element in self.elements)


@dataclass(frozen=True, slots=True)
class BufferShape:
    """`b(shape)`: a mutable buffer that holds an array."""

    array: ArrayShape

    def __str__(self) -> str:
        return f"b({self.array})"

    @property
    def size_bytes(self) -> int:
        """Bytes of the array held."""
        return self.array.size_bytes


Shape = ArrayShape | TupleShape | BufferShape

_SCALAR = Layout(())
TOKEN_SHAPE = ArrayShape(TYPES["token"], ())


def is_static_array(shape: Shape) -> bool:
    """Whether a value of the shape is one array whose size is known."""
    return isinstance(shape, ArrayShape) and not shape.is_dynamic and shape.element_type.kind is not Kind.OPAQUE


def fault_of(shape: Any) -> str:
    """What is wrong with what should be a shape, "" where it is one: arrays have types, sizes and one mark for each."""
    if isinstance(shape, TupleShape):
        elements: Any = shape.elements
        return next(filter(None, map(fault_of, elements)), "") if isinstance(elements, tuple) else f"holds {elements!r}"
    array: Any = shape.array if isinstance(shape, BufferShape) else shape
    if not isinstance(array, ArrayShape):
        return f"{array!r} is none"
    fields: tuple[Any, Any, Any] = (array.element_type, array.dims, array.dynamic)  # whatever their types say
    kind, dims, dynamic = fields
    if not isinstance(kind, ElementType):
        return f"{kind!r} is no element type"
    if not isinstance(dims, tuple) or not all(map(_is_size, dims)):
        return f"{dims!r} are no dimensions"
    if dynamic and len(dynamic) != len(dims):
        return f"{dynamic!r} does not say which of {dims!r} are dynamic"
    return ""


def _is_size(size: object) -> bool:
    """Whether it is the size of a dimension, NumPy's integers and what is not known included."""
    return isinstance(size, int | Integral) and int(size) >= UNBOUNDED  # an abstract class takes its time


def leaves(shape: Shape) -> Iterator[ArrayShape]:
    """The arrays of a shape in order, tuples flattened."""
    if isinstance(shape, TupleShape):
        for element in shape.elements:
            yield from leaves(element)
    else:
        yield shape.array if isinstance(shape, BufferShape) else shape


def leaves_at(shape: Shape) -> Iterator[tuple[tuple[int, ...], ArrayShape | BufferShape]]:
    """What a shape is made of that is no tuple, in order, and the numbers of the elements in which it lies."""
    if not isinstance(shape, TupleShape):
        yield (), shape
        return
    for number, element in enumerate(shape.elements):
        yield from (((number, *path), leaf) for path, leaf in leaves_at(element))


def without_layout(shape: Shape) -> Shape:
    """The shape with no layouts stated: what matters to a program's meaning."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(without_layout, shape.elements)))
    if isinstance(shape, BufferShape):
        return BufferShape(shape.array.with_layout(None))
    return shape if shape.layout is None else shape.with_layout(None)


def compatible(left: Shape, right: Shape) -> bool:
    """Whether two shapes are the same but for layouts."""
    return left is right or without_layout(left) == without_layout(right)
