"""Python values as tensors: `tf.constant`, `tf.convert_to_tensor`, and the types that numbers become.

Numbers of Python are int32 (int64 where they do not fit), float32 or bool, arrays of NumPy what they are; where a type
is asked for a number must be one of it, so that 1.5 is never made an int32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from compiler.tf import Tensor as TensorValue
from compiler.tf import tensor_of
from xlabench.tensorflow.framework.dtypes import DType, as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.shapes import Dimension, TensorShape
from xlabench.tensorflow.framework.structures import leaves
from xlabench.tensorflow.framework.tensor import Tensor

_KINDS = {"b": ("bool",), "i": ("int", "bool-no"), "f": ("float",), "c": ("complex",)}
_NARROW = {"float64": "float32", "complex128": "complex64"}


def is_symbolic(value: Any) -> bool:
    """Whether a value is, or holds, something of a graph."""
    if hasattr(value, "dense_tensor"):
        return True
    return isinstance(value, list | tuple) and any(is_symbolic(one) for one in value)


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Tensor:
    """A value as a tensor.

    Args:
        value: a tensor, a variable, a number, an array, or lists of them.
        dtype: the type that it must have.
        name: the name of the constant, if one is made.
        preferred_dtype: the type that it has if that can be.
        dtype_hint: the same.

    Raises:
        TypeError: a number is none of the type.
        ValueError: a tensor has another type, or lists have no shape.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if hasattr(value, "dense_tensor"):
        found: Tensor = value.dense_tensor(wanted, name or "")
        return found
    if is_symbolic(value):
        return _packed(value, wanted, name or "packed")
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    if wanted is None and hint is not None:
        try:
            return constant(value, as_dtype(hint).base_dtype, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, wanted, name=name or "Const")


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A constant.

    Args:
        value: a number, text, an array, or lists of them.
        dtype: its type; None for that of the value: of Python's numbers float32, int32 or int64.
        shape: its sizes; None for those of the value. Where they hold more elements the last of the value is repeated.
        name: of the node.
        verify_shape: whether the value must have these sizes itself.

    Raises:
        TypeError: a number is none of the type.
        ValueError: there are more elements than the shape has.
    """
    tensor = tensor_value(value, dtype, shape, is_exact=verify_shape)
    attributes: dict[str, Any] = {"dtype": tensor.type, "value": tensor}
    return get_default_graph().create("Const", [], attributes, name or "Const").outputs[0]


def tensor_value(value: Any, dtype: Any = None, shape: Any = None, *, is_exact: bool = False) -> TensorValue:
    """A Python value as graphs hold it, of type `dtype` and `shape`, where these are not None.

    Where the shape holds more elements the last is repeated, unless sizes must be those of the value itself
    (`is_exact`).

    Raises:
        ValueError: there are more elements than the shape has, none to fill it with, or the value has other sizes.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, TensorValue):
        return value
    if (wanted is not None and wanted.name == "string") or _holds_text(value):
        return _strings(value, wanted)
    array = array_of(value, wanted)
    if shape is None:
        return tensor_of(array)
    dims = tuple(TensorShape(shape).as_list())
    count = int(np.prod(dims, dtype=np.int64))  # type: ignore[arg-type]  # constants have sizes
    if array.size > count or (is_exact and array.shape != dims):
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {array.size}.")
    if array.size < count:
        flat = array.reshape(-1)
        if not flat.size:
            raise ValueError(f"A constant of the shape {dims} needs at least one element")
        array = np.concatenate([flat, np.repeat(flat[-1:], count - flat.size)])
    return tensor_of(array.reshape(dims))  # type: ignore[arg-type]  # constants have sizes


def array_of(value: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    """A Python value as an array of the type that it has, or is to have.

    Raises:
        TypeError: it is none of the type.
        ValueError: it has no shape.
    """
    if isinstance(value, TensorShape):
        value = [int(one) for one in _known(value)]
    if value is None:
        raise ValueError("None values not supported.")
    is_numpy = isinstance(value, np.ndarray | np.generic)
    try:
        array = np.asarray(_plain(value))
    except ValueError as error:
        raise ValueError(f"Can't convert non-rectangular Python sequence to Tensor: {error}") from error
    if array.dtype == object:
        raise TypeError(
            f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a supported type."
        )
    if wanted is None:
        return array if is_numpy else _narrowed(array)
    return _as_type(array, value, wanted, is_numpy=is_numpy)


def _as_type(array: np.ndarray[Any, Any], value: Any, wanted: DType, *, is_numpy: bool) -> np.ndarray[Any, Any]:
    target = np.dtype(wanted.as_numpy_dtype)
    kind = array.dtype.kind
    fits = (
        (wanted.is_bool and (kind == "b" or not array.size))
        or (wanted.is_integer and kind in "iu")
        or (wanted.is_floating and kind in "fiu")
        or (wanted.is_complex and kind in "cfiu")
        or not array.size
        or array.dtype == target
        or (is_numpy and wanted.is_floating and kind == "V")
    )
    if not fits:
        first = _first_of(value)
        raise TypeError(f"Expected {wanted.name}, but got {first!r} of type '{type(first).__name__}'.")
    if wanted.is_integer and array.size and kind in "iu":
        low, high = int(wanted.min), int(wanted.max)
        if int(array.min()) < low or int(array.max()) > high:
            raise TypeError(f"Expected {wanted.name}, but {array.min()} to {array.max()} does not fit into it.")
    with np.errstate(all="ignore"):
        return array.astype(target)


def _narrowed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of Python in the types that TensorFlow gives them."""
    if array.dtype == np.int64 or array.dtype == np.uint64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    with np.errstate(over="ignore"):
        return array.astype(_NARROW.get(array.dtype.name, array.dtype))


def _plain(value: Any) -> Any:
    if isinstance(value, Dimension):
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _known(shape: TensorShape) -> Iterable[Dimension]:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    return shape


def _first_of(value: Any) -> Any:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return value


def _holds_text(value: Any) -> bool:
    first = _first_of(value)
    return isinstance(first, str | bytes) or (isinstance(first, np.ndarray | np.generic) and first.dtype.kind in "SUO")


def texts_of(value: Any) -> np.ndarray[Any, Any]:
    """Texts, or bytes, as a tensor of strings holds them."""
    array = np.asarray(value, dtype=object)
    flat = [one.encode() if isinstance(one, str) else one for one in array.reshape(-1)]
    return np.array([*flat, None], dtype=object)[:-1].reshape(
        array.shape
    )  # or one of bytes would be no array of objects


def _strings(value: Any, wanted: DType | None) -> TensorValue:
    array = texts_of(value)
    flat = array.reshape(-1).tolist()
    wrong = next((one for one in flat if not isinstance(one, bytes)), None)
    if wrong is not None or (wanted is not None and wanted.name != "string"):
        said = wanted.name if wanted is not None else "string"
        first = _first_of(value) if wrong is None else wrong
        raise TypeError(f"Expected {said}, but got {first!r} of type '{type(first).__name__}'.")
    return TensorValue(as_dtype("string").data_type, array.shape, strings=tuple(flat))


def _packed(values: Sequence[Any], dtype: DType | None, name: str) -> Tensor:
    """Lists in which there are tensors: stacked."""
    tensors = [one for one in leaves(values) if hasattr(one, "dense_tensor")]
    wanted = dtype or tensors[0].dtype.base_dtype
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        elements = [
            _packed(one, wanted, str(n)) if isinstance(one, list | tuple) and is_symbolic(one)
            else convert_to_tensor(one, wanted, str(n))
            for n, one in enumerate(values)
        ]  # fmt: skip
        attributes = {"N": len(elements), "T": wanted.data_type, "axis": 0}
        return graph.create("Pack", [elements], attributes, scope).outputs[0]
