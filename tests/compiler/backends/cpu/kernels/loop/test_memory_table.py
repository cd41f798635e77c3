"""Chains on 16 bits looked up in tables: every bit pattern, results of every width, bit for bit the reference's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import spelled
from xlabench.judging.differ import Agreement, compare

DIMS = (5, 65539)
SILU = "a = T tanh(x)  b = T add(a, one)  c = T multiply(x, b)"
TO_F32 = "f = F convert(x)  a = F tanh(f)  b = F add(a, ones)"

# What is computed, the results, and where chains end; `x` and `y` are the parameters, F is f32, P is pred.
CASES = {
    "one result": (SILU, ["c"], {"c"}),
    "with another operand": (f"{SILU}  d = T multiply(c, y)", ["d"], {"c"}),
    "on the way": (f"{SILU}  d = T multiply(a, y)", ["c", "d"], {"a"}),
    "not from memory": ("x2 = T add(x, y)  a = T tanh(x2)  b = T multiply(a, x2)", ["b"], {"b"}),
    "wider": (TO_F32, ["b"], {"b"}),
    "wider and back": (f"{TO_F32}  g = F multiply(b, f)  h = T convert(g)", ["h"], {"h"}),
    "a truth value": (f"{SILU}  p = P compare(c, one), direction=GT", ["p"], {"p"}),
    "a choice": (f"{SILU}  p = P compare(c, one), direction=GT  s = T select(p, c, x)", ["s"], {"s"}),
    "a byte": (f"{TO_F32}  g = s8[5,65539] convert(b)", ["g"], {"g"}),
    "too wide": ("f = D convert(x)  a = D tanh(f)", ["a"], set()),
    "two arguments": ("z = T add(x, y)  w = T multiply(z, y)", ["w"], set()),
    "cheap": ("a = T add(x, one)", ["a"], set()),
    "moved on the way": ("a = T tanh(x)  v = T reverse(a), dimensions={1}  b = T tanh(v)", ["b"], {"a", "b"}),
}


def program(kind: str, body: str, results: list[str]) -> compiler.Module:
    shapes = {"T": f"{kind}[5,65539]", "F": "f32[5,65539]", "P": "pred[5,65539]", "D": "f64[5,65539]"}
    text = f"x = T parameter(0)  y = T parameter(1)  o = {kind}[] constant(1)  one = T broadcast(o), dimensions={{}}"
    text = f"{text}  of = f32[] constant(1)  ones = F broadcast(of), dimensions={{}}  {body}"
    lines = spelled(text, shapes)
    made = {line.partition(" =")[0].strip(): line.partition("= ")[2].partition(" ")[0] for line in lines.splitlines()}
    root = f"ROOT r = ({', '.join(made[name] for name in results)}) tuple({', '.join(results)})"
    return compiler.parse(f"HloModule m\nENTRY e {{\n{lines}\n{root}\n}}")


def values(kind: str, seed: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Every number of the type at least once, in no order."""
    count = DIMS[0] * DIMS[1]
    bits = np.concatenate([np.arange(1 << 16), np.random.default_rng(seed).integers(0, 1 << 16, count - (1 << 16))])
    shuffled = np.random.default_rng(seed).permutation(bits).astype(np.uint16)
    return shuffled.view(TYPES[kind].dtype).reshape(DIMS)


def ends(module: compiler.Module, **options: Any) -> set[str]:
    """The names of what is looked up."""
    kernels = compiler.decide(module, options=CompileOptions(**options)).kernels
    return {name for kernel in kernels for name in kernel.details.get("tables", ())}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_looked_up_is_what_the_reference_computes(case, kind):
    body, results, expected = CASES[case]
    module, inputs = program(kind, body, results), (values(kind, 1), values(kind, 2))
    wanted = compiler.interpret(module, *inputs)
    for threads in (1, 2):
        found = compiler.compile(module, options=CompileOptions(threads=threads))(*inputs)
        agreement = compare(wanted, found).agreement
        assert agreement is Agreement.BITWISE or (not expected and agreement is Agreement.WITHIN)
    assert ends(module) == expected


@pytest.mark.parametrize("kind", ["s16", "u16"])
def test_integers_are_arguments_too(kind):
    module, inputs = program(kind, TO_F32, ["b"]), (values(kind, 1), values(kind, 2))
    (found,) = compiler.compile(module)(*inputs)
    assert compare(compiler.interpret(module, *inputs), [found]).agreement is Agreement.BITWISE
    assert ends(module) == {"b"}


def test_a_table_is_made_where_there_are_many_more_elements_than_entries():
    body, results, _ = CASES["one result"]
    text = compiler.to_text(program("bf16", body, results)).replace("5,65539", "3,65539")
    assert ends(compiler.parse(text)) == set()


@pytest.mark.slow
def test_without_fusion_a_function_alone_is_looked_up():
    module, inputs = program("bf16", SILU, ["c"]), (values("bf16", 1), values("bf16", 2))
    (found,) = compiler.compile(module, options=CompileOptions(fusion=False))(*inputs)
    assert compare(compiler.interpret(module, *inputs), [found]).agreement is Agreement.BITWISE
    assert ends(module, fusion=False) == {"a"}
