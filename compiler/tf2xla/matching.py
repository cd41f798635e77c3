"""Inputs of a node matched with its op's signature: which attributes follow; what is refused, in TensorFlow's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.diagnostics import InputError
from compiler.graph import (
    BY_NAME,
    Attribute,
    AttributeList,
    DataType,
    FunctionReference,
    PartialShape,
    Tensor,
    tensor_of,
)
from compiler.graph.attributes import shown
from compiler.tf2xla.signature import Port, Signature
from compiler.tf2xla.terms import Given, Maker, Output

_LISTED = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape", "func": "func"}


class ArgumentTypeError(InputError, TypeError):
    """An input that has another type than its op takes."""


def attribute_of(kind: str, value: Any) -> Attribute:
    """A Python value as an attribute of a kind; one of no kind says its own."""
    if kind.startswith("list("):
        if isinstance(value, AttributeList):
            return value
        inner = kind.removeprefix("list(").removesuffix(")")
        return AttributeList(_LISTED[inner] if len(value) else "", tuple(attribute_of(inner, one) for one in value))
    convert = _CONVERT.get(kind)
    if convert is not None:
        made: Attribute = convert(value)
        return made
    return value.encode() if isinstance(value, str) else value


def _shape(value: Any) -> PartialShape:
    if value is None or isinstance(value, PartialShape):
        return value or PartialShape(None)
    return PartialShape(tuple(None if one is None else int(one) for one in value))


_CONVERT: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "string": lambda value: value.encode() if isinstance(value, str) else value,
    "type": lambda value: BY_NAME[value] if isinstance(value, str) else value,
    "shape": _shape,
    "tensor": lambda value: value if isinstance(value, Tensor) else tensor_of(np.asarray(value)),
    "func": lambda value: FunctionReference(value) if isinstance(value, str) else value,
}


def matched(
    maker: Maker, op: str, name: str, signature: Signature, inputs: Sequence[Given], stated: Mapping[str, Attribute]
) -> tuple[dict[str, Sequence[Output]], dict[str, Attribute]]:
    """The outputs that each input is, and the attributes that follow from them.

    Args:
        maker: makes constants of values.
        op: the op's name.
        name: the node's.
        signature: the op's.
        inputs: outputs, values, or lists of these.
        stated: attributes that are given.

    Raises:
        InputError: there are more or fewer than the signature has.
        ArgumentTypeError: one has a type that it must not have.
    """
    if len(inputs) != len(signature.inputs):
        names = ", ".join(port.name for port in signature.inputs)
        raise InputError(f"{op} takes {len(signature.inputs)} inputs ({names}), {len(inputs)} are given")
    match = _Match(op, name, signature, dict(stated))
    for port, given in zip(signature.inputs, inputs, strict=True):
        match.read(port, given)
    return match.made(maker, inputs), match.inferred


class _Match:
    """The attributes that are known so far, and which inputs said so."""

    def __init__(self, op: str, name: str, signature: Signature, stated: dict[str, Attribute]) -> None:
        self._op = op
        self._name = name
        self._signature = signature
        self._stated = stated
        self._said: dict[str, str] = {}
        self.inferred: dict[str, Attribute] = {}

    def read(self, port: Port, given: Given) -> None:
        """What the types of outputs among an input say."""
        if not port.is_one:
            if isinstance(given, Output) or not isinstance(given, Sequence):
                raise ArgumentTypeError(
                    f"Expected list for '{port.name}' argument to '{self._op}' Op, not {_shown(given)}."
                )
            if port.number:
                self._infer(port.number, len(given), port)
        if port.is_list:
            return
        listed = [given] if port.is_one else given
        types = [one.type.base for one in listed if isinstance(one, Output)]
        if len(set(types)) > 1:
            shown = ", ".join(map(str, types))
            raise ArgumentTypeError(
                f"Tensors in list passed to '{port.name}' of '{self._op}' Op have types [{shown}] that don't all match."
            )
        if types:
            self._check(port, types[0])

    def _check(self, port: Port, found: DataType) -> None:
        """A type against what the signature, the attributes and other inputs say."""
        head = f"Input '{port.name}' of '{self._op}' Op has type {found!s} that does not match"
        row = self._signature.attributes.get(port.type)
        if row is None:
            if BY_NAME[port.type] != found:
                raise ArgumentTypeError(f"{head} expected type of {port.type}.")
            return
        if row.allowed and found not in row.allowed:
            allowed = ", ".join(sorted(map(str, row.allowed)))
            raise ArgumentTypeError(
                f"Value passed to parameter '{port.name}' has DataType {found} not in list of allowed values: {allowed}"
            )
        known = self.inferred.get(port.type, self._stated.get(port.type))
        if known is not None and known != found:
            said = self._said.get(port.type)
            of = f"type {shown(known)} of argument '{said}'" if said else f"attribute '{port.type}', {shown(known)}"
            raise ArgumentTypeError(f"{head} {of}.")
        self._infer(port.type, found, port)

    def _infer(self, attribute: str, value: Attribute, port: Port) -> None:
        known = self.inferred.get(attribute, self._stated.get(attribute))
        if known is not None and known != value:
            raise InputError(
                f"{self._op} ({self._name}): input '{port.name}' says {shown(value)} for attribute '{attribute}', "
                f"not {shown(known)}"
            )
        self.inferred[attribute] = value
        self._said.setdefault(attribute, port.name)

    def made(self, maker: Maker, inputs: Sequence[Given]) -> dict[str, Sequence[Output]]:
        """Every input as outputs: what is none becomes a constant."""
        takes: dict[str, Sequence[Output]] = {}
        for port, given in zip(self._signature.inputs, inputs, strict=True):
            listed = [given] if port.is_one else list(given)
            takes[port.name] = found = [
                one if isinstance(one, Output) else self._constant(maker, port, one) for one in listed
            ]
            if port.is_list:
                self._infer(port.type, AttributeList("type", tuple(one.type.base for one in found)), port)
            elif found and port.type in self._signature.attributes:
                self._check(port, found[0].type.base)
        return takes

    def _constant(self, maker: Maker, port: Port, value: Any) -> Output:
        with maker.scope(f"{self._name}/"):
            return maker.constant(value, self._type(port), name=port.name)

    def _type(self, port: Port) -> DataType | None:
        """The type that a number becomes, None for the one that it has by itself."""
        if port.is_list:
            return None
        row = self._signature.attributes.get(port.type)
        if row is None:
            return BY_NAME[port.type]
        known = self.inferred.get(port.type, self._stated.get(port.type, row.default))
        return known if isinstance(known, DataType) else None


def _shown(given: Given) -> str:
    return "a single Tensor" if isinstance(given, Output) else type(given).__name__
