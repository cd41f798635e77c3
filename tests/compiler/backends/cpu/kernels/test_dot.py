"""Products whose dimensions are not one run, or to which something is added, in small integers, exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from parts import every

import compiler

DTYPES = {"f32": np.float32, "f64": np.float64, "s32": np.int32}
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 17, 32, 48, 80)
_MOST = 1 << 16


def drawn_dot(rng):
    """A dot as einsum writes it, e.g. `kac,bk->acb`, and the sizes of its letters."""
    groups = [[chr(97 + 4 * group + n) for n in range(rng.choice([1, 2, 2, 3]))] for group in range(3)]
    rows, columns, depth = groups
    batch = ["z"] if rng.random() < 0.3 else []
    sizes = {letter: int(rng.choice(SIZES)) for group in groups for letter in group} | dict.fromkeys(batch, 3)
    factors = [batch + rows + depth, batch + columns + depth]
    for letters in factors:
        while math.prod(sizes[letter] for letter in letters) > _MOST:
            largest = max(letters, key=sizes.__getitem__)
            sizes[largest] = max(1, sizes[largest] // 4)
    left, right = ("".join(rng.permutation(letters)) for letters in factors)
    free = [[letter for letter in side if letter in group] for side, group in ((left, rows), (right, columns))]
    return left, right, "".join([*batch, *free[0], *free[1]]), sizes, depth, batch


def dot_text(rng, element_type):
    """The dot, of a slice or of all of its operands."""
    left, right, result, sizes, depth, batch = drawn_dot(rng)
    lines, arrays, names = [], [], []
    for number, letters in enumerate((left, right)):
        dims = [sizes[letter] for letter in letters]
        first = [int(rng.integers(0, 3)) * int(rng.random() < 0.2) for _ in dims]
        whole = [size + 2 * start for size, start in zip(dims, first, strict=True)]
        lines.append(f"  p{number} = {element_type}[{','.join(map(str, whole))}] parameter({number})")
        values = rng.standard_normal(whole) if element_type[0] == "f" else rng.integers(-9, 9, whole)
        arrays.append(values.astype(DTYPES[element_type]))
        names.append(f"p{number}")
        if any(first):
            parts = ", ".join(f"[{start}:{start + size}]" for start, size in zip(first, dims, strict=True))
            lines.append(
                f"  s{number} = {element_type}[{','.join(map(str, dims))}] slice(p{number}), slice={{{parts}}}"
            )
            names[-1] = f"s{number}"
    kept = [
        array[tuple(slice((n - sizes[c]) // 2, (n + sizes[c]) // 2) for n, c in zip(array.shape, letters, strict=True))]
        for array, letters in zip(arrays, (left, right), strict=True)
    ]
    attributes = []
    for side, letters in (("lhs", left), ("rhs", right)):
        attributes += [f"{side}_batch_dims={{{','.join(str(letters.index(c)) for c in batch)}}}"] if batch else []
        attributes += [f"{side}_contracting_dims={{{','.join(str(letters.index(c)) for c in depth)}}}"]
    dims = ",".join(str(sizes[c]) for c in result)
    lines.append(f"  ROOT r = {element_type}[{dims}] dot({', '.join(names)}), {', '.join(sorted(attributes))}")
    wide = [array.astype(np.float64) for array in kept]
    return "\n".join(["ENTRY e {", *lines, "}"]), arrays, (f"{left},{right}->{result}", wide)


@pytest.mark.slow
@pytest.mark.usefixtures("each_cpu")
@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("seed", every(3, range(12)))
def test_dots_over_dimensions_in_any_order_are_right(seed, element_type):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        text, arrays, (equation, wide) = dot_text(rng, element_type)
        expected = np.einsum(equation, *wide)
        most = np.einsum(equation, *map(np.abs, wide))
        bound = most * (1e-6 if element_type == "f32" else 1e-14) * 8

        found = [
            compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*arrays)[0] for threads in (1, 2)
        ]

        assert np.array_equal(*found), text
        assert (np.abs(found[0] - expected) <= bound).all(), text


@pytest.mark.parametrize("run", [12, 20, 56])
def test_columns_in_runs_of_no_whole_vectors_are_packed_in_shorter_ones(run):
    rng = np.random.default_rng(run)
    left, right = rng.standard_normal((5, 24, run)).astype(np.float32), rng.standard_normal((24, 7)).astype(np.float32)
    text = f"""ENTRY m {{
      l = f32[5,24,{run}] parameter(0)
      r = f32[24,7] parameter(1)
      ROOT d = f32[7,5,{run}] dot(r, l), lhs_contracting_dims={{0}}, rhs_contracting_dims={{1}}
    }}"""
    executable = compiler.compile(text)
    assert f"load <{math.gcd(run, 16)} x float>" in executable.artifacts["ir-no-opt.ll"]
    np.testing.assert_allclose(executable(left, right)[0], np.einsum("hk,bhw->kbw", right, left), rtol=1e-5, atol=1e-5)


# The factors, the result, what is added before it has the result's form, how it gets that, and the dot's attributes.
_PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
_BATCH = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
CASES = {
    "as it is": ("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[40,70]", "copy(c)", _PLAIN),
    "spread over rows": ("f32[41,33]", "f32[33,70]", "f32[41,70]", "f32[70]", "broadcast(c), dimensions={1}", _PLAIN),
    "spread over columns": (
        "f32[41,33]",
        "f32[33,70]",
        "f32[41,70]",
        "f32[41]",
        "broadcast(c), dimensions={0}",
        _PLAIN,
    ),
    "one number": ("f64[19,33]", "f64[33,21]", "f64[19,21]", "f64[]", "broadcast(c), dimensions={}", _PLAIN),
    "transposed": ("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[70,40]", "transpose(c), dimensions={1,0}", _PLAIN),
    "part of more": (
        *("f32[40,33]", "f32[33,70]", "f32[40,70]", "f32[50,90]"),
        *("slice(c), slice={[5:45], [7:77]}", _PLAIN),
    ),
    "in blocks": ("f32[13,5000]", "f32[5000,300]", "f32[13,300]", "f32[300]", "broadcast(c), dimensions={1}", _PLAIN),
    "a batch": ("f32[3,40,33]", "f32[3,33,70]", "f32[3,40,70]", "f32[3,70]", "broadcast(c), dimensions={0,2}", _BATCH),
    "a vector": ("f32[40,33]", "f32[33,1]", "f32[40,1]", "f32[40,1]", "copy(c)", _PLAIN),
    "bytes": ("s8[40,33]", "s8[33,70]", "s32[40,70]", "s32[70]", "broadcast(c), dimensions={1}", _PLAIN),
    "bf16": ("bf16[40,34]", "bf16[34,70]", "f32[40,70]", "f32[40,70]", "copy(c)", _PLAIN),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", ["d, s", "s, d"])
def test_what_is_added_to_a_product(name, order):
    lhs, rhs, out, given, formed, attributes = CASES[name]
    source = (
        f"ENTRY e {{\n  a = {lhs} parameter(0)\n  b = {rhs} parameter(1)\n  c = {given} parameter(2)\n"
        f"  d = {out} dot(a, b), {attributes}\n  s = {out} {formed}\n  ROOT r = {out} add({order})\n}}\n"
    )
    module = compiler.parse(source)
    generator = np.random.default_rng(3)
    arrays = [parameter.array for parameter in module.entry.parameters]
    inputs = [generator.integers(-4, 5, array.dims).astype(array.element_type.dtype) for array in arrays]
    (expected,) = compiler.interpret(module, *inputs)
    for threads in (1, 2):
        (result,) = compiler.compile(source, options=compiler.CompileOptions(threads=threads))(*inputs)
        np.testing.assert_array_equal(result, expected)
