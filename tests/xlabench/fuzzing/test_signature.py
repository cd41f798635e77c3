"""What failures are told apart by before they are reduced."""

import pytest

from xlabench.fuzzing.signature import LAYOUT, signature_of


@pytest.mark.parametrize("number", ["1", "4"])
def test_a_wrong_result_of_any_device_is_told_by_what_it_comes_of(number):
    text = "ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) z = f32[4] abs(x) t = (f32[4], f32[4]) tuple(x, y)"
    text += " ROOT r = ((f32[4], f32[4]), f32[4]) tuple(t, z) }"  # three arrays of each of two devices
    assert signature_of(text, "wrong", number) == ("tanh f32", "tuple")


def test_what_comes_of_how_inputs_lie_is_one_thing_whatever_is_computed_of_them():
    text = "ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] tanh(x) }"
    assert signature_of(text, "wrong", LAYOUT) == signature_of(text.replace("tanh", "abs"), "wrong", LAYOUT)
