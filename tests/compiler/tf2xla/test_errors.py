"""A gradient that is not there is bad input, and what Python programs catch from TensorFlow."""

import pytest

import compiler
from compiler.tf2xla.errors import NoGradientError


@pytest.mark.parametrize("kind", [LookupError, compiler.InputError, compiler.CompilerError])
def test_a_gradient_that_is_not_there_is_caught_as(kind):
    with pytest.raises(kind, match="op X has no gradient"):
        raise NoGradientError("op X has no gradient")
