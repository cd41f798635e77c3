"""A zero has a sign where the language gives it one and no implementation may choose; elsewhere either is right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import compiler

_KNOWN = {
    "negate": "ROOT r = T[2] negate(x)",
    "abs": "s = T[2] maximum(x, x)  ROOT r = T[2] abs(s)",
    "add": "z = T[2] constant({0, 0})  ROOT r = T[2] add(x, z)",
    "subtract": "z = T[2] constant({-0.0, -0.0})  ROOT r = T[2] subtract(x, z)",
    "after a sum": "s = T[2] add(x, x)  ROOT r = T[2] negate(s)",
    "multiply": "ROOT r = T[2] multiply(x, y)",
    "divide": "ROOT r = T[2] divide(x, y)",
    "moved": "v = T[2] reverse(x), dimensions={0}  ROOT r = T[2,3] broadcast(v), dimensions={0}",
    "chosen": "p = pred[2] compare(x, y), direction=LT  n = T[2] negate(x)  ROOT r = T[2] select(p, n, x)",
    "from integers": "i = s32[2] convert(x)  ROOT r = T[2] convert(i)",
    "parts": "c = c64[2] complex(f, f)  i = f32[2] imag(c)  ROOT r = T[2] convert(i)",
}
_OPEN = {
    "maximum": "ROOT r = T[2] maximum(x, x)",
    "after a maximum": "s = T[2] maximum(x, x)  ROOT r = T[2] add(s, s)",
    "sum with a predicate": """p = pred[2] compare(x, y), direction=GT  q = T[2] convert(p)
      ROOT r = T[2] add(x, q)""",
    "product with a predicate": """p = pred[2] compare(x, y), direction=GT  q = T[2] convert(p)
      ROOT r = T[2] multiply(x, q)""",
    "reduce": "m = T[2,1] reshape(x)  z = T[] constant(-0.0)  ROOT r = T[2] reduce(m, z), dimensions={1}, to_apply=sum",
}


def _allows_the_other_sign(entry: str, element_type: str, dtype: type) -> bool:
    text = f"""sum {{ a = T[] parameter(0)  b = T[] parameter(1)  ROOT s = T[] add(a, b) }}
    ENTRY e {{ x = T[2] parameter(0)  y = T[2] parameter(1)  f = f32[2] convert(x)  {entry} }}"""
    inputs = [np.array([0.0, -0.0], dtype), np.array([3.0, 3.0], dtype)]
    module = compiler.parse(text.replace("T[", f"{element_type}["))
    [expected], [wide] = compiler.interpret(module, *inputs), compiler.interpret(module, *inputs, wide=True)
    assert wide.allows(expected).all()
    return bool(wide.allows(-expected).any())


@pytest.mark.parametrize(("element_type", "dtype"), [("f32", np.float32), ("bf16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize("entry", [*_KNOWN, *_OPEN])
def test_whose_zeros_have_a_sign(entry, element_type, dtype):
    program = (_KNOWN | _OPEN)[entry]
    assert _allows_the_other_sign(program, element_type, dtype) is (entry in _OPEN)


def test_types_with_one_zero_have_none():
    assert _allows_the_other_sign("ROOT r = T[2] negate(x)", "f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz)


def test_devices_add_up_what_they_exchange_in_any_order_and_from_any_zero():
    text = """HloModule m, replica_count=2
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
    ENTRY e { x = f32[2] parameter(0)  n = f32[2] negate(x)
      ROOT y = f32[2] all-reduce(n), to_apply=add }"""
    inputs = [np.zeros(2, np.float32)] * 2
    module = compiler.parse(text)
    expected, found = compiler.interpret(module, *inputs), compiler.interpret(module, *inputs, wide=True)
    for wide, own in zip(found, expected, strict=True):
        assert wide.allows(own).all()
        assert wide.allows(-own).all()


@pytest.mark.parametrize("entry", ["s = f32[2] negate(x)", "s = f32[2] maximum(x, x)"])
def test_bits_of_a_zero_are_known_where_its_sign_is(entry):
    text = f"ENTRY e {{ x = f32[2] parameter(0)  {entry}  ROOT r = s32[2] bitcast-convert(s) }}"
    [wide] = compiler.interpret(compiler.parse(text), np.array([0.0, 3.0], np.float32), wide=True)
    assert wide.undecided.tolist() == ["maximum" in entry, False]
