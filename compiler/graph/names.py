"""Names: of what nodes take (`node`, `node:2`, `^node`, in functions `node:output:2` and `argument`), and of files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")
"""The files of which a SavedModel's folder has one."""

_PORT = re.compile(r"(0|[1-9][0-9]{0,8})\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\\/>-]*\Z", re.ASCII)


class Endpoint(NamedTuple):
    """One output of a node: its number, among those of the output argument `output` where a function names one."""

    node: str
    port: int
    output: str = ""

    def __str__(self) -> str:
        named = f"{self.node}:{self.output}" if self.output else self.node
        return f"{named}:{self.port}" if self.port or self.output else named


def is_control(text: str) -> bool:
    """Whether an input is a control edge: it waits for a node, and takes nothing from it."""
    return text.startswith("^")


def endpoint(text: str, *, in_function: bool = False) -> Endpoint | None:
    """The node and output that an input names; None where the text is none of the forms.

    A control input's endpoint has port -1.
    """
    if is_control(text):
        return Endpoint(text[1:], -1) if _NAME.match(text, 1) else None
    node, *more = text.split(":")
    if not _NAME.match(node) or len(more) > (2 if in_function else 1):
        return None
    output = more.pop(0) if in_function and more and not _PORT.match(more[0]) else ""
    if len(more) > 1 or any(not _PORT.match(one) for one in more):
        return None
    return Endpoint(node, int(more[0]) if more else 0, output)


def is_name(text: str) -> bool:
    """Whether a node may have that name."""
    return _NAME.match(text) is not None


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Begin with some."""
        self._taken = set(taken)

    def free(self, name: str) -> str:
        """The name, or else the name with a number; it is taken then."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found


def argument_name(name: str) -> str:
    """A name as arguments of functions are spelled: small letters, digits and `_`, a letter first."""
    spelled = re.sub(r"[^a-z0-9_]", "_", name.lower(), flags=re.ASCII)
    return re.sub(r"^[0-9_]+", "", spelled, flags=re.ASCII) or "unknown"
