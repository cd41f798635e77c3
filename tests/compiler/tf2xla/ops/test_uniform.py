"""What is said of whole numbers that stand for floats and makes no sense is refused, as the kernels refuse it."""

from dataclasses import replace

import numpy as np
import op_cases
import pytest

import compiler
from compiler.graph import AttributeList
from compiler.tf2xla import lower

CONV, DOT, SUM, FIRST = "UniformQuantizedConvolution", "UniformQuantizedDot", "UniformQuantizedAdd", "UniformRequantize"
WRONG = [
    (FIRST, 0, {}, {1: np.float32(0)}, "its input_scales must be positive, not 0.0"),
    (FIRST, 0, {}, {3: np.float32(np.inf)}, "go together as 0.0, which is no positive number"),
    (FIRST, 0, {"input_quantization_axis": 2}, {}, "its input_quantization_axis 2 is none of 2 dimensions"),
    (FIRST, 0, {"input_quantization_axis": 0}, {}, "its input_scales and input_zero_points must have the sizes"),
    (FIRST, 0, {"output_quantization_max_val": 1 << 31}, {}, "is not one of 32 bits"),
    (SUM, 3, {"lhs_quantization_axis": 0}, {2: np.ones(2, np.float32), 3: np.zeros(2, np.int32)}, "must be that of"),
    ("UniformQuantizedClipByValue", 0, {}, {1: np.zeros(3, np.int32)}, "its min and max must have the sizes"),
    (DOT, 0, {}, {1: np.zeros((3, 2), np.int8)}, "do not go together"),
    (DOT, 1, {"rhs_quantization_axis": 0}, {4: np.ones(4, np.float32), 5: np.zeros(4, np.int32)}, "must be -1 or 1"),
    (DOT, 2, {"rhs_quantization_axis": -1}, {4: np.float32(1), 5: np.int32(0)}, "the result has one"),
    (CONV, 0, {"padding": b"FULL"}, {}, "its padding b'FULL' has no meaning"),
    (CONV, 0, {"explicit_padding": AttributeList("i", (1,))}, {}, "explicit_padding is for the padding EXPLICIT"),
    (CONV, 2, {"explicit_padding": AttributeList("i", (1, -1, 0, 0))}, {}, "must be 4 numbers that are not negative"),
    (CONV, 0, {"window_strides": AttributeList("i", (1, 0))}, {}, "its window_strides must be 2 positive numbers"),
    (CONV, 0, {"dimension_numbers": b"\x1a\x02\x02\x02"}, {}, "do not name every dimension once"),
]


@pytest.mark.parametrize(("op", "number", "attributes", "inputs", "said"), WRONG)
def test_what_makes_no_sense_is_refused(op, number, attributes, inputs, said):
    case = next(one for one in op_cases.CASES_OF[op] if one.name.endswith(f"/{number}"))
    given = [np.asarray(inputs.get(n, one)) for n, one in enumerate(case.inputs)]
    wrong = replace(case, attributes={**case.attributes, **attributes}, inputs=given)
    with pytest.raises(compiler.InputError, match=said):
        lower(wrong.graph(), wrong.feeds(), wrong.fetches)
