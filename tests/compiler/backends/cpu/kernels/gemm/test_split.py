"""Products of few elements and long sums: split along k, right, and the same to the bit on any number of threads."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.backends.cpu import machine

_RESULTS = {"f32": "f32", "f64": "f64", "s32": "s32", "bf16": "f32", "s8": "s32", "c64": "c64"}
_FORMS = [
    ("", 1, 5, 7), ("l", 2, 16, 8), ("r", 1, 3, 9), ("lr", 1, 17, 9),
    ("", 1, 1, 1), ("r", 2, 1, 2), ("", 1, 2, 1), ("l", 2, 1, 5),
]  # fmt: skip


def program(kind, swapped, sizes):
    """A batch of products, to whose elements one is added."""
    batch, m, n, k = sizes
    left = [batch, k, m] if "l" in swapped else [batch, m, k]
    right = [batch, n, k] if "r" in swapped else [batch, k, n]
    result = f"{_RESULTS[kind]}{[batch, m, n]}"
    text = f"""ENTRY e {{ a = {kind}{left} parameter(0)  b = {kind}{right} parameter(1)
      d = {result} dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
        lhs_contracting_dims={{{1 if "l" in swapped else 2}}}, rhs_contracting_dims={{{2 if "r" in swapped else 1}}}
      one = {_RESULTS[kind]}[] constant({"(1, 0)" if kind == "c64" else 1})
      ones = {result} broadcast(one), dimensions={{}}  ROOT r = {result} add(d, ones) }}"""
    return text.replace(f"{[batch, m, n]}", f"[{batch},{m},{n}]"), left, right


def factor(kind, dims, seed):
    generator = np.random.default_rng(seed)
    if kind[0] == "s":
        return generator.integers(-100, 100, dims).astype("i1" if kind == "s8" else "i4")
    parts = generator.standard_normal(dims)
    if kind == "c64":
        return (parts + 1j * generator.standard_normal(dims)).astype(np.complex64)
    return parts.astype({"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", _RESULTS)
@pytest.mark.parametrize("form", _FORMS, ids=str)
def test_long_sums_are_split(kind, form, monkeypatch):
    monkeypatch.setattr(machine, "permits_tiles", lambda: False)  # what is computed on tiles is not split
    swapped, batch, m, n = form
    k = 33_001 if m * n <= 5 else 9_011
    text, left, right = program(kind, swapped, (batch, m, n, k))
    a, b = factor(kind, left, 1), factor(kind, right, 2)
    results = []
    for threads in (1, 3):
        executable = compiler.compile(text, backend="cpu", options=compiler.CompileOptions(threads=threads))
        # A product of complex vectors is a loop: as one of real matrices it would be packed.
        is_loop = kind == "c64" and m * n == 1
        assert any(name.endswith(".sum") for name in executable.image.kernels) != is_loop
        results.append(executable(a, b)[0])
    np.testing.assert_array_equal(*results)
    wide = np.complex128 if kind == "c64" else np.float64
    one = (a.swapaxes(1, 2) if "l" in swapped else a).astype(wide)
    other = (b.swapaxes(1, 2) if "r" in swapped else b).astype(wide)
    epsilon = {"f64": 2**-52, "s8": 0, "s32": 0}.get(kind, 2**-23)
    bound = epsilon * (2 * np.sqrt(k) + 4) * (np.abs(one) @ np.abs(other) + 1)
    assert (np.abs(results[0] - one @ other - 1) <= bound).all()
