"""`tf.errors`: what goes wrong while a graph runs, with TensorFlow's classes and codes."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar


class NotHereError(NotImplementedError):
    """Something that TensorFlow has and this has not; the message says what to do instead."""


class OpError(Exception):
    """An error of a node.

    Attributes:
        message: what is wrong.
        op: the operation, None where there is none.
        node_def: its node.
        error_code: the code, as `tf.errors` has them.
    """

    code: ClassVar[int] = 2

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = self.code if error_code is None else error_code

    def __str__(self) -> str:
        return self.message


class InvalidArgumentError(OpError):
    """It takes something else than it was given."""

    code = 3


class NotFoundError(OpError):
    """Something is not there."""

    code = 5


class FailedPreconditionError(OpError):
    """Something had to be done before."""

    code = 9


class OutOfRangeError(OpError):
    """There is no more of it."""

    code = 11


class UnimplementedError(OpError):
    """It is not done here."""

    code = 12


class InternalError(OpError):
    """What ought not to happen did."""

    code = 13


class DataLossError(OpError):
    """What is kept cannot be read."""

    code = 15


_CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""TensorFlow's codes in the order of their numbers; each but the first is the code of a class."""


@cache
def __getattr__(name: str) -> Any:
    """A code, or the class of errors of a code, of those that nothing here raises."""
    if name in _CODES:
        return _CODES.index(name)
    classes = {"".join(map(str.capitalize, code.split("_"))) + "Error": code for code in _CODES[1:]}
    if name not in classes:
        raise AttributeError(f"tf.errors.{name}: it is not there; there are {', '.join(classes)}")
    said = {"code": _CODES.index(classes[name]), "__doc__": f"The error of {classes[name]}.", "__module__": __name__}
    return type(name, (OpError,), said)
