"""What an op takes and gives, as TensorFlow registers it, in one line of text.

    x: T, y: T -> z: T; T: {floats ints uints}                  two tensors of one type
    values: N*T, axis: Tidx -> output: T; N: int; T: {any}; Tidx: {int32 int64} = int32
    ref: Ref(T), value: T -> output_ref: Ref(T); T: {any}       a variable of TensorFlow 1
    input: Tin[] -> output: Tout[]; Tin: list(type); Tout: list(type); f: func

Before `;` stand inputs and outputs, `N*T` being as many tensors as the attribute `N` says, `T[]` one for each type of
the attribute's list.  Behind it stand attributes with their kinds, types with those that are allowed, and defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compiler.graph import BY_NAME, Attribute, AttributeList, DataType, PartialShape, tensor_of

_SETS = {
    "floats": "bfloat16 float16 float32 float64",
    "complexes": "complex64 complex128",
    "ints": "int8 int16 int32 int64",
    "uints": "uint8 uint16 uint32 uint64",
    "index": "int32 int64",
    "quantized": "qint8 quint8 qint16 quint16 qint32",
}
_SETS["numbers"] = " ".join(_SETS[name] for name in ("floats", "complexes", "ints", "uints"))
_SETS["reals"] = " ".join(_SETS[name] for name in ("floats", "ints", "uints"))


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: one tensor, or as many as `number` or the list of types in `type` says.

    A reference is the variable itself, as ops of TensorFlow 1 hand it on.
    """

    name: str
    type: str
    number: str = ""
    is_list: bool = False
    is_reference: bool = False

    @property
    def is_one(self) -> bool:
        """Whether it is exactly one tensor."""
        return not self.number and not self.is_list


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """An attribute: its kind, the types that are allowed (empty: any), its default (None: it must be stated)."""

    name: str
    kind: str
    allowed: frozenset[DataType] = frozenset()
    default: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What an op takes and gives."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: dict[str, AttributeRow]


def signature(text: str) -> Signature:
    """Read a signature from its text."""
    ports, *rows = text.split(";")
    takes, gives = ports.split("->")
    attributes = [_attribute(row) for row in rows]
    return Signature(_ports(takes), _ports(gives), {row.name: row for row in attributes})


def _ports(text: str) -> tuple[Port, ...]:
    return tuple(_port(*(word.strip() for word in row.split(":"))) for row in text.split(",") if row.strip())


def _port(name: str, kind: str) -> Port:
    number, _, one = kind.rpartition("*")
    if one.startswith("Ref("):
        return Port(name, one[4:-1], number, is_reference=True)
    return Port(name, one.removesuffix("[]"), number, is_list=one.endswith("[]"))


def _attribute(row: str) -> AttributeRow:
    name, _, kind = (word.strip() for word in row.partition(":"))
    kind, _, default = (word.strip() for word in kind.partition("="))
    if kind.startswith("{"):
        return AttributeRow(name, "type", _types(kind.strip("{}")), BY_NAME[default] if default else None)
    return AttributeRow(name, kind, default=_default(kind, default) if default else None)


def _types(words: str) -> frozenset[DataType]:
    if words == "any":
        return frozenset()
    names = (name for word in words.split() for name in _SETS.get(word, word).split())
    return frozenset(BY_NAME[name] for name in names)


def _default(kind: str, text: str) -> Attribute:
    if kind.startswith("list("):
        words = text.strip("[]").split()
        inner = kind.removeprefix("list(").removesuffix(")")
        return AttributeList(
            {"int": "i", "type": "type", "shape": "shape"}[inner] if words else "", tuple(map(int, words))
        )
    written = _WRITTEN.get(kind)
    return text.strip("'").encode() if written is None else written(text)


_WRITTEN: dict[str, Callable[[str], Attribute]] = {
    "int": int,
    "float": float,
    "bool": lambda word: word == "true",
    "type": lambda word: BY_NAME[word],
    "shape": lambda _: PartialShape(None),
    "tensor": lambda words: tensor_of(np.array(words.strip("[]").split(), np.uint8)),
}
