"""`tf.compat.v1` is the namespace itself."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.compat import v1


def test_names_are_those_of_the_namespace():
    assert {"Session", "placeholder", "train", "float32"} <= set(dir(v1))
    assert v1.Session is tf.Session is tf.compat.v1.Session
    assert v1.float32 is tf.float32


def test_what_there_is_not_is_refused_with_what_is():
    with pytest.raises(AttributeError, match="placeholdr"):
        _ = v1.placeholdr
    with pytest.raises(AttributeError, match="__wrapped__"):
        _ = v1.__wrapped__
