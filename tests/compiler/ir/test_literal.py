"""Literals are equal where every bit is."""

import numpy as np
import pytest

from compiler.ir.literal import Literal, array_literal, scalar_literal, tuple_literal
from compiler.ir.types import F32, S32

NAN = np.array(0x7FC00000, np.uint32).view(np.float32)
OTHER_NAN = np.array(0x7FC00001, np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [(0.0, -0.0, False), (NAN, NAN, True), (NAN, OTHER_NAN, False), (1.5, 1.5, True), (1.5, 2.5, False)],
)
def test_bits_decide(left, right, same):
    one, other = scalar_literal(left, F32), scalar_literal(right, F32)
    assert (one == other) is same
    assert not same or hash(one) == hash(other)


def test_a_type_and_dimensions_are_part_of_a_value():
    assert scalar_literal(0, F32) != scalar_literal(0, S32)
    assert array_literal([1, 2], S32) != array_literal([[1, 2]], S32)
    assert array_literal([], S32) == array_literal([], S32)


def test_equal_long_ones_hash_alike_whatever_order_they_lie_in():
    values = np.arange(10_000, dtype=np.int32).reshape(100, 100)
    assert hash(array_literal(values, S32)) == hash(array_literal(np.asfortranarray(values), S32))
    changed = values.copy()
    changed[37, 41] += 1
    assert array_literal(changed, S32) != array_literal(values, S32)


def test_a_tuple_is_elided_where_an_element_is():
    known = scalar_literal(1, S32)
    elided = Literal(known.shape)
    assert elided.elided
    assert tuple_literal((known, tuple_literal((elided,)))).elided
    assert not tuple_literal((known, tuple_literal(()))).elided
    assert elided != known
    assert tuple_literal((known,)) == tuple_literal((scalar_literal(1, S32),))
