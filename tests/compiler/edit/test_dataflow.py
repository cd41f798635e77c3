"""Values that are given stand where they were computed."""

import numpy as np
import pytest
from edited_programs import MAIN, TEXT

import compiler
from compiler import edit


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


def test_given_values_stand_where_they_were_computed(module):
    x, y = np.arange(24, dtype=np.float32).reshape(6, 4), np.ones((6, 4), np.float32)
    values = {}
    expected = compiler.interpret(module, x, y, trace=lambda i, v: values.setdefault(edit.id_of(i), v))
    edited = edit.to_parameters(module, [MAIN["b"]])
    actual = compiler.interpret(edited.module, *(values[source] for source in edited.sources))
    assert [a.tolist() for a in actual] == [e.tolist() for e in expected]
