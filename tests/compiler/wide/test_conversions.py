"""What a known number becomes in a narrower type is known as well: of an exact tie the even neighbour."""

import numpy as np
import pytest
from wide_results import wide

import compiler
from compiler.ir.numbers import narrow
from compiler.ir.types import F64, TYPES, Kind

NARROW = [
    name for name, kind in TYPES.items() if kind.kind is Kind.FLOAT and 8 <= kind.bits <= 32 and name != "f8e8m0fnu"
]


def ties(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers amid two neighbours of a type; and the neighbours that are not even."""
    kind = TYPES[name].dtype
    bits = np.dtype(f"u{kind.itemsize}")
    one = int(np.ones((), kind).view(bits))
    codes = np.arange(one, one + 9, dtype=bits)
    numbers = codes.view(kind).astype(np.float64)
    low = codes[:-1] % 2 == 0
    return (numbers[:-1] + numbers[1:]) / 2, np.where(low, numbers[1:], numbers[:-1])


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("source", ["f64", "f32"])
def test_an_exact_tie_is_the_even_neighbour(name: str, source: str) -> None:
    if name == "f32" == source:
        return
    given, wrong = ties(name)
    lines = (f"x = {source}[8] parameter(0)", f"ROOT y = {name}[8] convert(x)")
    (found,) = wide(*lines, inputs=(given.astype(TYPES[source].dtype),))
    assert found.allows(narrow(given, TYPES[name])).all()
    assert not found.allows(wrong.astype(TYPES[name].dtype)).any()


def test_a_number_may_stay_what_it_was_and_may_be_rounded_twice() -> None:
    x = np.array([1.1, 1 + 2**-8 + 2**-40])
    for way in ("", "f32", "bf16"):
        lines = [f"w = {way}[2] convert(x)", "ROOT y = f64[2] convert(w)"] if way else ["ROOT y = f64[2] copy(x)"]
        module = compiler.parse("\n".join(["HloModule m", "ENTRY e {", "x = f64[2] parameter(0)", *lines, "}"]))
        (result,) = compiler.interpret(module, x)
        halved = narrow(narrow(result, TYPES["f32"]).astype(F64.dtype), TYPES["bf16"]) if way else result
        (bound,) = wide("x = f64[2] parameter(0)", "n = bf16[2] convert(x)", "ROOT y = f64[2] convert(n)", inputs=(x,))
        assert bound.allows(halved.astype(np.float64)).all()


def test_a_tie_of_what_is_not_known_exactly_is_open() -> None:
    lines = ("x = f32[1] parameter(0)", "y = f32[1] exponential(x)", "ROOT z = f8e4m3fn[1] convert(y)")
    (found,) = wide(*lines, inputs=(np.array([0.0], np.float32),))
    assert found.allows(np.array([1.0], np.float32)).all()
    assert found.bound[0] > 0
