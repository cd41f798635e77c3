"""What the text of LLVM IR says of types and operands, for what is done to finished functions."""

from __future__ import annotations

_SIZES = {"ptr": 8, "double": 8, "float": 4, "half": 2, "bfloat": 2}
"""Bytes of the types that do not name their bits."""


def leading_type(text: str) -> str:
    """The type with which a text begins."""
    if text[0] not in "<[{":
        return text.split(" ")[0]
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "<[{") - (character in ">]}")
        if not depth:
            return text[: position + 1]
    raise AssertionError(text)


def size_of(type_: str) -> int:
    """How many bytes a type takes in memory."""
    if type_[0] in "<[":
        count, _, of = type_[1:-1].partition(" x ")
        return -(-int(count) // 8) if type_[0] == "<" and of == "i1" else int(count) * size_of(of)
    if type_[0] == "{":
        return sum(size_of(element) for element in split(type_[1:-1].strip()))
    return _SIZES.get(type_) or -(-int(type_[1:]) // 8)


def split(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    elements, depth = [""], 0
    for character in text:
        depth += (character in "<[{(") - (character in ">]})")
        if character == "," and not depth:
            elements.append("")
        else:
            elements[-1] += character
    return [element.strip() for element in elements if element.strip()]
