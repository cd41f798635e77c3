"""`tf.TensorShape` and `tf.Dimension`: sizes of which some may be unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.tf import PartialShape


class Dimension:
    """A size that may be unknown; what is computed from an unknown one is unknown."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: int | None = value.value if isinstance(value, Dimension) else None if value is None else int(value)

    def __int__(self) -> int:
        if self.value is None:
            raise TypeError("__int__ returned non-int (type NoneType)")
        return self.value

    __index__ = __int__

    def __eq__(self, other: object) -> Any:
        mine, others = self.value, _size(other)
        return None if mine is None or others is None else mine == others

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return None if same is None else not same

    def __hash__(self) -> int:
        return hash(self.value)

    def __add__(self, other: object) -> Dimension:
        return _both(self, other, int.__add__)

    def __sub__(self, other: object) -> Dimension:
        return _both(self, other, int.__sub__)

    def __mul__(self, other: object) -> Dimension:
        return _both(self, other, int.__mul__)

    def __floordiv__(self, other: object) -> Dimension:
        return _both(self, other, int.__floordiv__)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def _size(value: Any) -> int | None:
    return value.value if isinstance(value, Dimension) else value


def _both(left: Dimension, right: object, function: Any) -> Dimension:
    mine, others = left.value, _size(right)
    return Dimension(None if mine is None or others is None else function(mine, others))


class TensorShape:
    """Sizes; `dims` is None where not even their number is known."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Any) -> None:
        self._dims: tuple[int | None, ...] | None
        if dims is None or isinstance(dims, TensorShape):
            self._dims = None if dims is None else dims.partial.dims
        elif isinstance(dims, PartialShape):
            self._dims = dims.dims
        else:
            listed = dims if isinstance(dims, Sequence) or hasattr(dims, "__iter__") else [dims]
            self._dims = tuple(Dimension(one).value for one in listed)
        if self._dims is not None and any(one is not None and one < 0 for one in self._dims):
            raise ValueError(f"Dimension {min(one for one in self._dims if one is not None)} must be >= 0")

    @property
    def partial(self) -> PartialShape:
        """The sizes as graphs hold them."""
        return PartialShape(self._dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes."""
        return None if self._dims is None else [Dimension(one) for one in self._dims]

    @property
    def rank(self) -> int | None:
        """The number of dimensions."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions."""
        return self.rank

    def as_list(self) -> list[int | None]:
        """The sizes as a list.

        Raises:
            ValueError: their number is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """The number of elements, None where it is unknown."""
        if self._dims is None or None in self._dims:
            return None
        total = 1
        for size in self._dims:
            total *= size or 0
        return total

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one array may have both."""
        mine, others = self._dims, TensorShape(other).partial.dims
        if mine is None or others is None:
            return True
        return len(mine) == len(others) and all(
            a is None or b is None or a == b for a, b in zip(mine, others, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless one array may have both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """What is known by either.

        Raises:
            ValueError: they do not go together.
        """
        self.assert_is_compatible_with(other)
        mine, others = self._dims, TensorShape(other).partial.dims
        if mine is None or others is None:
            return TensorShape(others if mine is None else mine)
        return TensorShape([b if a is None else a for a, b in zip(mine, others, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """The sizes of both in a row."""
        mine, others = self._dims, TensorShape(other).partial.dims
        return TensorShape(None if mine is None or others is None else mine + others)

    def __iter__(self) -> Iterator[Dimension]:
        return iter([Dimension(one) for one in self.as_list()])

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else Dimension(self._dims[key])

    def __bool__(self) -> bool:
        return self._dims is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other).partial.dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else [Dimension(d) for d in self._dims]})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return str(self._dims).replace("None", "?")


def as_shape(value: Any) -> TensorShape:
    """Sizes as `TensorShape`."""
    return value if isinstance(value, TensorShape) else TensorShape(value)
