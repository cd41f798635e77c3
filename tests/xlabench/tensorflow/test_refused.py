"""What is refused says why, and what to do instead."""

import pytest

from xlabench.tensorflow import namespace
from xlabench.tensorflow.refused import REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why_in_a_sentence(name):
    assert not REFUSED[name].endswith(".")
    assert " " in REFUSED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_says_what_is_instead(name):
    with pytest.raises(AttributeError, match=f"tf.{name}: "):
        namespace.resolve(name)
