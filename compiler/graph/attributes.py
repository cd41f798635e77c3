"""Values of attributes: the kinds that TensorFlow's `AttrValue` has, each a type of its own in Python.

| kind         | here                  | kind          | here                |
|--------------|-----------------------|---------------|---------------------|
| `s`          | `bytes`               | `shape`       | `PartialShape`      |
| `i`          | `int`                 | `tensor`      | `Tensor`            |
| `f`          | `float`               | `list`        | `AttributeList`     |
| `b`          | `bool`                | `func`        | `FunctionReference` |
| `type`       | `DataType`            | `placeholder` | `PlaceholderName`   |
| none of them | `Unset`               |               |                     |

A value keeps its kind: an `int` is written as `i` even where it would do as an `f`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.graph.shapes import PartialShape
from compiler.graph.tensors import Tensor
from compiler.graph.types import DataType

_LONGEST = 60
"""Characters of an attribute's value in a message, and numbers of a list that are looked at for them."""


LISTS = ("s", "i", "f", "b", "type", "shape", "tensor", "func", "")
"""What elements of lists can be: the fields of AttrValue.ListValue (TensorFlow, attr_value.proto); "" is not said."""


@dataclass(frozen=True, slots=True)
class AttributeList:
    """A list: the kind of its elements (empty where the list is, and does not say), and they themselves."""

    kind: str
    values: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        """Refuse what no file could hold, where it is made and not where it is written."""
        if self.kind not in LISTS:
            raise ValueError(f"{self.kind!r} is no kind of list: {', '.join(LISTS)}")


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function, or an op, by name, with the values of its own attributes."""

    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaceholderName:
    """In the body of a function: the value that its caller gives to the function's attribute of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Unset:
    """No value, and what a file holds in its place that is unknown here, serialised."""

    rest: bytes = b""


Attribute = (
    bytes
    | int
    | float
    | bool
    | DataType
    | PartialShape
    | Tensor
    | AttributeList
    | FunctionReference
    | PlaceholderName
    | Unset
)
"""The value of an attribute."""


def shown(value: Attribute) -> str:
    """A value on one line, long ones shortened."""
    match value:
        case AttributeList():
            text = "[" + ", ".join(shown(one) for one in value.values[:_LONGEST]) + "]"
        case FunctionReference():
            attributes = ", ".join(f"{name}={shown(one)}" for name, one in sorted(value.attributes.items()))
            text = f"@{value.name}" + (f"({attributes})" if attributes else "")
        case PlaceholderName():
            text = f"${value.name}"
        case Unset():
            text = "unset"
        case bytes():
            text = repr(value)[1:]
        case bool():
            text = str(value).lower()
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
