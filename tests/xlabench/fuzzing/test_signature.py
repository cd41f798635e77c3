"""What failures are told apart by before they are reduced."""

import pytest

from xlabench.fuzzing.signature import signature_of


@pytest.mark.parametrize("number", ["1", "4"])
def test_a_wrong_result_of_any_device_is_told_by_what_it_comes_of(number):
    text = "ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) z = f32[4] abs(x) t = (f32[4], f32[4]) tuple(x, y)"
    text += " ROOT r = ((f32[4], f32[4]), f32[4]) tuple(t, z) }"  # three arrays of each of two devices
    assert signature_of(text, "wrong", number) == ("tanh f32", "tuple")
