import pytest

import xlabench.tensorflow as tf


def test_codes_and_classes_are_those_of_tensorflow():
    codes = [
        (tf.errors.OK, "OK"),
        (tf.errors.NOT_FOUND, "NotFoundError"),
        (tf.errors.UNAUTHENTICATED, "UnauthenticatedError"),
    ]
    assert [number for number, _ in codes] == [0, 5, 16]
    error = tf.errors.NotFoundError(None, None, "not found")
    assert isinstance(error, tf.errors.OpError)
    assert (error.error_code, error.message, str(error), error.node_def, error.op) == (
        5,
        *["not found"] * 2,
        None,
        None,
    )
    assert tf.errors.NotFoundError is tf.errors.NotFoundError
    assert tf.errors.InvalidArgumentError.code == tf.errors.INVALID_ARGUMENT
    with pytest.raises(AttributeError, match="it is not there; there are CancelledError"):
        _ = tf.errors.NothingError
