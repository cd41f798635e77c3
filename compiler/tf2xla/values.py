"""What outputs of nodes are while a graph is lowered: arrays, variables, lists of arrays.

A variable is its name: what it holds changes as the program goes on (`variables.py`).  A list of tensors is an array
with one more dimension, and how many of its rows are in use, so that it can pass through loops; of which sizes its
elements are may be said by the first that is put in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from compiler.diagnostics import InputError
from compiler.expansion.expression import Expression
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType


@dataclass(frozen=True, slots=True)
class Resource:
    """A variable that is fed to a graph, or to a function, in place of one of its own.

    Attributes:
        name: what it is called among variables.
        shape: its type and sizes, None where it is not initialised.
    """

    name: str
    shape: ArrayShape | None = None


@dataclass(frozen=True, slots=True)
class Handle:
    """A variable as a value."""

    name: str
    type: ElementType | None
    is_reference: bool = False
    """Whether it stands for its value where a value is wanted, as variables of TensorFlow 1 do."""


@dataclass(frozen=True, slots=True)
class Store(Handle):
    """What ops keep arrays of one type in for one run: a TensorArray, or a stack.

    Attributes:
        size: how many there may be.
        adds: whether what is put is added to what is there, as gradients are.
        is_stack: whether it is a stack.
    """

    size: int = 0
    adds: bool = False
    is_stack: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table(Handle):
    """A table of keys that is a constant; one of a name is like another.

    Attributes:
        keys: each once, the least first.
        values: one for each.
    """

    keys: np.ndarray[Any, Any] = field(kw_only=True)
    values: np.ndarray[Any, Any] = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class TensorList:
    """A list of arrays of one type and sizes.

    Attributes:
        type: of the elements.
        most: how many there may be.
        buffer: [most, sizes of an element], None as long as nobody knows these sizes.
        count: s32, how many there are.
        grows: whether nobody says how many there may be, so that one more makes room for itself.
        is_full: whether there are as many as there may be, for all that is known.
        each: what every element is that was put in, where it is the same known value; empty where nothing was put in,
            None where elements differ or are not known.
        is_nested: whether its elements are no arrays but lists, or optionals, of which nobody asks the type.
        element: such an element, of which kinds and sizes count, and not what it holds; None as long as nobody knows.
        rows: in place of `buffer`, one array for each that such an element is made of.
    """

    type: ElementType
    most: int
    buffer: Expression | None
    count: Expression
    grows: bool = False
    is_full: bool = False
    each: tuple[np.ndarray[Any, Any], ...] | None = None
    is_nested: bool = False
    element: Value | None = None
    rows: tuple[Expression, ...] = ()

    @property
    def held(self) -> tuple[Expression, ...]:
        """The arrays that its elements are in, of which each has a row for every element."""
        return self.rows if self.buffer is None else (self.buffer,)

    def holding(self, arrays: Sequence[Expression]) -> TensorList:
        """The list with other arrays, if it has any."""
        if self.is_nested:
            return replace(self, rows=tuple(arrays))
        return replace(self, buffer=arrays[0] if arrays else None)


@dataclass(frozen=True, slots=True)
class Optional:
    """Values that a branch keeps for its gradient; another branch gives none, which is `Absent`, or other ones.

    Attributes:
        values: what is kept.
        others: what it holds instead where others ran of the branches that it may come from; each is zeros elsewhere.
    """

    values: tuple[Value, ...]
    others: tuple[Optional, ...] = ()

    @property
    def kinds(self) -> tuple[Optional, ...]:
        """Everything that it may be."""
        return (Optional(self.values), *self.others)


@dataclass(frozen=True, slots=True)
class Absent:
    """What is not there, because another branch runs: nobody looks at it, whatever it is."""


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of tensors as a feed or a fetch: two arrays, its rows and how many of them are in use."""

    type: ElementType
    most: int
    dims: tuple[int, ...]


def same_each(
    left: tuple[np.ndarray[Any, Any], ...] | None, right: tuple[np.ndarray[Any, Any], ...] | None
) -> tuple[np.ndarray[Any, Any], ...] | None:
    """What every element of two lists is, as `TensorList.each`."""
    if not left or not right:
        return None if left is None or right is None else left or right
    return left if np.array_equal(left[0], right[0]) else None


Value = Expression | Handle | TensorList | Optional | Absent


def common_kind(left: Value | None, right: Value | None) -> Value | None:
    """What is true of two elements of a list of lists: which lists in them are full, and of one value."""
    match left, right:
        case TensorList(), TensorList():
            element, each = common_kind(left.element, right.element), same_each(left.each, right.each)
            return replace(left, is_full=left.is_full and right.is_full, each=each, element=element)
        case Optional(), Optional():
            kinds = [_common_values(*pair) for pair in zip(left.kinds, right.kinds, strict=True)]
            return Optional(kinds[0].values, tuple(kinds[1:]))
        case _:
            return right if left is None else left


def _common_values(left: Optional, right: Optional) -> Optional:
    pairs = zip(left.values, right.values, strict=True)
    return Optional(tuple(one for pair in pairs if (one := common_kind(*pair)) is not None))


def known_of_lists(value: Value | None) -> list[tuple[bool, bool, bool]]:
    """What is known of the lists that an element of a list of lists is made of: full, of one value, of nothing."""
    if isinstance(value, Optional):
        return [one for kind in value.kinds for inner in kind.values for one in known_of_lists(inner)]
    if not isinstance(value, TensorList):
        return []
    return [(value.is_full, value.each is None, not value.each), *known_of_lists(value.element)]


KIND_WORDS: Mapping[type, str] = {
    Handle: "a variable",
    Store: "a TensorArray or a stack",
    Table: "a table of keys",
    TensorList: "a list of tensors",
    Optional: "an optional",
    Absent: "nothing",
}
"""What messages call values that are no arrays."""


def arrays_in(value: Value) -> list[Expression]:
    """The arrays that a value is made of where it passes through a loop or a branch."""
    match value:
        case Expression():
            return [value]
        case TensorList():
            return [*value.held, value.count]
        case Optional():
            return [*arrays_of(value.values), *arrays_of(value.others)]
        case Handle() | Absent():
            return []


def rebuilt(like: Value, arrays: Iterator[Expression]) -> Value:
    """A value as another, made of the next of these arrays."""
    match like:
        case Expression():
            return next(arrays)
        case TensorList():
            held = [next(arrays) for _ in like.held]
            return replace(like.holding(held), count=next(arrays))
        case Optional():
            values = tuple(rebuilt(one, arrays) for one in like.values)
            others = tuple(Optional(tuple(rebuilt(one, arrays) for one in other.values)) for other in like.others)
            return Optional(values, others)
        case Handle() | Absent():
            return like


def arrays_of(values: Sequence[Value]) -> list[Expression]:
    """The arrays of all values."""
    return [one for value in values for one in arrays_in(value)]


@dataclass(frozen=True, slots=True)
class Traced:
    """A function as a computation.

    Attributes:
        computation: takes and gives a tuple.
        results: what it gives, as values in it.
        changed: the variables that it writes.
        pushed: how many elements it pushes to each stack at most.
    """

    computation: Computation
    results: Sequence[Value]
    changed: frozenset[str]
    pushed: Mapping[str, int]


def checked_same(values: Sequence[Value], others: Sequence[Value]) -> bool:
    """Whether values have the same kinds, types and sizes."""

    def seen(value: Value) -> object:
        if isinstance(value, Handle):
            return value
        return type(value), [(one.type, one.dims) for one in arrays_of([value])]

    return [seen(one) for one in values] == [seen(one) for one in others]


def no_handle(value: Value, what: str) -> Expression:
    """A value that must be an array.

    Raises:
        InputError: it is a variable, a list, or may not be there.
    """
    if not isinstance(value, Expression):
        raise InputError(f"{what}: it is {KIND_WORDS[type(value)]}, not an array")
    return value
