import ml_dtypes
import numpy as np
import pytest

from xlabench.cases.literals_text import write_literals
from xlabench.errors import Undecidable

LITERALS = {
    "f32": (np.array([1.5, -0.0, np.inf, np.nan], np.float32), "f32s: 1.5 f32s: -0.0 f32s: inf f32s: nan"),
    "s64": (np.array([-(2**63)]), "s64s: -9223372036854775808"),
    "pred": (np.array([True, False]), "preds: true preds: false"),
    "c64": (np.array([1 + 2j], np.complex64), "c64s: 1.0 c64s: 2.0"),
    "bf16": (np.array([1], ml_dtypes.bfloat16), 'bf16s: "\\200\\077"'),
    "s4": (np.array([1, -2, 7], ml_dtypes.int4), 's4s: "\\001\\016\\007"'),  # as jaxlib writes constants of it
    "u2": (np.array([1, 3], ml_dtypes.uint2), 'u2s: "\\001\\003"'),
    "f4e2m1fn": (np.array([0.5, -6], ml_dtypes.float4_e2m1fn), 'f4e2m1fns: "\\001\\017"'),
    "u8": (np.array([7, 255], np.uint8), 'u8s: "\\007\\377"'),
}


@pytest.mark.parametrize(("array", "line"), LITERALS.values(), ids=LITERALS)
def test_values_stand_in_the_field_of_their_type(array, line):
    assert line in [text.strip() for text in write_literals([array], [], []).splitlines()]


def test_several_results_are_a_tuple():
    two = [np.zeros(2, np.float32), np.ones((1, 1), np.int32)]
    text = write_literals([], two, two[:1])
    assert text.count("tuple_literals {") == 2
    assert "element_type: S32 dimensions: 1 dimensions: 1 layout { minor_to_major: 1 minor_to_major: 0 }" in text
    assert "reference_result {" in text


def test_what_the_message_has_no_field_for_is_refused():
    with pytest.raises(Undecidable, match="f6e2m3fn"):
        write_literals([np.zeros(2, ml_dtypes.float6_e2m3fn)], [], [])
