"""`tf.errors`: what goes wrong while a graph runs, with TensorFlow's classes and codes."""

from __future__ import annotations

from typing import Any, ClassVar


class NotHereError(NotImplementedError):
    """Something that TensorFlow has and this has not; the message says what to do instead."""


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


def _error(name: str, number: int, doc: str) -> type[OpError]:
    return type(name, (OpError,), {"code": number, "__doc__": doc, "__module__": __name__})


CancelledError = _error("CancelledError", 1, "It was cancelled.")
UnknownError = _error("UnknownError", 2, "Nobody knows.")
InvalidArgumentError = _error("InvalidArgumentError", 3, "It takes something else than it was given.")
DeadlineExceededError = _error("DeadlineExceededError", 4, "It took too long.")
NotFoundError = _error("NotFoundError", 5, "Something is not there.")
AlreadyExistsError = _error("AlreadyExistsError", 6, "Something is there already.")
PermissionDeniedError = _error("PermissionDeniedError", 7, "It may not be done.")
ResourceExhaustedError = _error("ResourceExhaustedError", 8, "There is not enough of something.")
FailedPreconditionError = _error("FailedPreconditionError", 9, "Something had to be done before.")
AbortedError = _error("AbortedError", 10, "It was given up.")
OutOfRangeError = _error("OutOfRangeError", 11, "It goes beyond the end.")
UnimplementedError = _error("UnimplementedError", 12, "It is not done here.")
InternalError = _error("InternalError", 13, "A bug of ours.")
UnavailableError = _error("UnavailableError", 14, "Somebody is not there.")
DataLossError = _error("DataLossError", 15, "Data are lost.")

OK = 0
CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = 1, 2, 3, 4, 5, 6
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = 7, 8, 9, 10, 11
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = 12, 13, 14, 15, 16
