"""Shapes and literals as `ShapeProto` and `LiteralProto`.

An array without a layout has the default one, which is written: readers take a missing one for none at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import UnsupportedError
from compiler.ir.literal import Literal
from compiler.ir.shape import UNBOUNDED, ArrayShape, BufferShape, Layout, Shape, TupleShape, default_layout
from compiler.ir.types import ElementType, Kind
from compiler.proto.wire import Message

BY = "XLA's protocol buffers"
"""Who cannot say what is refused."""

_NO_SIZE = -(1 << 63)
"""XLA's `Shape::kUnboundedSize`, the least 64-bit integer."""
_WITHOUT_LITERALS = ("s1", "u1", "f6e2m3fn", "f6e3m2fn")
_LEVEL_TYPES = {"D": "DIM_DENSE", "C": "DIM_COMPRESSED", "S": "DIM_SINGLETON", "H": "DIM_LOOSE_COMPRESSED"}


def type_word(element_type: ElementType) -> str:
    """The word of `PrimitiveType`."""
    return "OPAQUE_TYPE" if element_type.name == "opaque" else element_type.name.upper()


def shape_proto(shape: Shape) -> Message:
    """A `ShapeProto`."""
    if isinstance(shape, TupleShape):
        return {"element_type": "TUPLE", "tuple_shapes": [shape_proto(element) for element in shape.elements]}
    if isinstance(shape, BufferShape):
        return {"element_type": "BUFFER", "tuple_shapes": [shape_proto(shape.array)]}
    message: dict[str, Any] = {
        "element_type": type_word(shape.element_type),
        "dimensions": [_NO_SIZE if size == UNBOUNDED else size for size in shape.dims],
        "is_dynamic_dimension": shape.dynamic or (False,) * shape.rank,
    }
    if shape.element_type.kind is not Kind.OPAQUE:
        message["layout"] = _layout_proto(shape.layout or default_layout(shape.rank))
    return message


def _layout_proto(layout: Layout) -> Message:
    message: dict[str, Any] = {
        "minor_to_major": layout.minor_to_major,
        "dim_level_types": [_LEVEL_TYPES[word[:1]] for word in layout.dim_level_types],
        "tiles": [{"dimensions": tile} for tile in layout.tiles],
        "tail_padding_alignment_in_elements": layout.tail_padding,
        "element_size_in_bits": layout.element_size_bits,
        "memory_space": layout.memory_space,
        "dynamic_shape_metadata_prefix_bytes": layout.metadata_prefix_bytes,
        "split_configs": [{"dimension": n, "split_indices": at} for n, at in layout.split_configs],
    }
    for name, word in (("index_primitive_type", layout.index_type), ("pointer_primitive_type", layout.pointer_type)):
        if word:
            message[name] = word.upper()
    if any(-1 in tile for tile in layout.tiles):
        raise UnsupportedError(f"layout {layout}", BY, "XLA reads no tile with a dimension that is combined, `*`")
    if any(len(word) > 1 for word in layout.dim_level_types):
        raise UnsupportedError(f"layout {layout}", BY, "dimensions that are not ordered or not unique have no field")
    if layout.physical_shape is not None:
        message["physical_shape"] = shape_proto(layout.physical_shape)
    return message


def program_shape(parameters: list[Shape], names: list[str], result: Shape) -> Message:
    """A `ProgramShapeProto`.

    Args:
        parameters: their shapes.
        names: their names.
        result: the shape of the result.
    """
    return {
        "parameters": [shape_proto(shape) for shape in parameters],
        "result": shape_proto(result),
        "parameter_names": names,
    }


def literal_proto(literal: Literal) -> Message:
    """A `LiteralProto`.

    Raises:
        UnsupportedError: the value was elided.
    """
    message: dict[str, Any] = {"shape": shape_proto(literal.shape)}
    if literal.elements is not None:
        message["tuple_literals"] = [literal_proto(element) for element in literal.elements]
        return message
    shape, array = literal.shape, literal.array
    if isinstance(shape, ArrayShape) and shape.element_type.kind is Kind.OPAQUE:
        return message  # a token has no value
    if array is None:
        raise UnsupportedError(f"constant of {shape} that was left out", BY, "its value, `{...}`, is not known")
    assert isinstance(shape, ArrayShape)
    if shape.element_type.name in _WITHOUT_LITERALS:
        raise UnsupportedError(f"constant of {shape}", BY, f"XLA reads no values of {shape.element_type}")
    name, values = _values(shape.element_type, _in_memory(array, shape.layout))
    message[name] = values
    if shape.is_dynamic:
        message["dynamic_sizes"] = shape.dims
    return message


def _in_memory(array: NDArray[Any], layout: Layout | None) -> NDArray[Any]:
    """The elements in the order in which they lie."""
    if layout is None or array.ndim < 2:
        return np.ascontiguousarray(array).reshape(-1)
    return np.ascontiguousarray(array.transpose(layout.minor_to_major[::-1])).reshape(-1)


def _values(element_type: ElementType, array: NDArray[Any]) -> tuple[str, Any]:
    """The field of a `LiteralProto` that holds elements of a type, and what it holds."""
    name = f"{element_type.name}s"
    if element_type.kind is Kind.PRED:
        return name, array.astype(np.uint8)
    if element_type.is_complex:
        return name, array.view(np.float32 if element_type.bits == 64 else np.float64)
    if (element_type.is_integer and element_type.bits >= 32) or element_type.name in ("f32", "f64"):
        return name, array
    if element_type.is_integer and element_type.bits < 8:
        return name, (array.view(np.uint8) & ((1 << element_type.bits) - 1)).tobytes()  # a byte each, without a sign
    return name, array.tobytes()
