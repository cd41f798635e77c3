"""Types of tensors as `tf.float32`: TensorFlow's numbers and names, and the types of NumPy that hold their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.tf import BY_NAME, DataType

_PYTHON: dict[Any, str] = {bool: "bool", int: "int32", float: "float32", complex: "complex64", str: "string"}
_OLDER = {"half": "float16", "float": "float32", "double": "float64"}


class DType:
    """A type of tensors."""

    __slots__ = ("_data_type", "_numpy")

    def __init__(self, data_type: DataType) -> None:
        self._data_type = data_type
        element_type = data_type.element_type
        self._numpy = object if element_type is None else element_type.dtype.type

    @property
    def data_type(self) -> DataType:
        """The type as graphs hold it."""
        return self._data_type

    @property
    def name(self) -> str:
        """The name as programs spell it."""
        return str(self._data_type)

    @property
    def as_datatype_enum(self) -> int:
        """The number in TensorFlow's files."""
        return self._data_type.number

    @property
    def as_numpy_dtype(self) -> Any:
        """The type of NumPy that holds its elements."""
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        """The type without the reference."""
        return _of_number(self._data_type.base.number)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 1 if self._numpy is object else np.dtype(self._numpy).itemsize

    @property
    def is_floating(self) -> bool:
        """Whether its elements are real numbers with fractions."""
        element_type = self._data_type.element_type
        return element_type is not None and element_type.is_float

    @property
    def is_complex(self) -> bool:
        """Whether its elements are complex numbers."""
        element_type = self._data_type.element_type
        return element_type is not None and element_type.is_complex

    @property
    def is_integer(self) -> bool:
        """Whether its elements are whole numbers."""
        element_type = self._data_type.element_type
        return element_type is not None and element_type.is_integer and not self.is_bool

    @property
    def is_unsigned(self) -> bool:
        """Whether its elements are whole numbers without a sign."""
        return self.is_integer and self.name.startswith("uint")

    @property
    def is_bool(self) -> bool:
        """Whether its elements are true or false."""
        return self.name == "bool"

    @property
    def min(self) -> Any:
        """The least element."""
        return (np.iinfo if self.is_integer else np.finfo)(self._numpy).min

    @property
    def max(self) -> Any:
        """The greatest element."""
        return (np.iinfo if self.is_integer else np.finfo)(self._numpy).max

    def is_compatible_with(self, other: Any) -> bool:
        """Whether values of the other type may stand for it."""
        return as_dtype(other).data_type in (self._data_type, self._data_type.base)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self._data_type == other.data_type
        try:
            return other is not None and as_dtype(other).data_type == self._data_type
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._data_type.number

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


_MADE: dict[int, DType] = {}


def _of_number(number: int) -> DType:
    if number not in _MADE:
        _MADE[number] = DType(DataType(number))
    return _MADE[number]


def of_data_type(data_type: DataType) -> DType:
    """The type that graphs hold as this one."""
    return _of_number(data_type.number)


def as_dtype(type_value: Any) -> DType:
    """The type that `type_value` names: itself, its name, its number, a type of NumPy's or Python's.

    Raises:
        TypeError: it names none.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, DataType):
        return of_data_type(type_value)
    if isinstance(type_value, int) and not isinstance(type_value, bool):
        return _of_number(type_value)
    name = _PYTHON.get(type_value) if isinstance(type_value, type) else None
    if name is None and isinstance(type_value, str):
        name = _OLDER.get(type_value, type_value).removesuffix("_ref")
    if name is None:
        try:
            name = np.dtype(type_value).name
        except TypeError:
            name = ""
    if name.startswith(("str", "bytes", "object")):
        name = "string"
    if name not in BY_NAME:
        raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")
    return of_data_type(BY_NAME[name])
