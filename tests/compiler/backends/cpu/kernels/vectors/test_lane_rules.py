"""Whatever is said to have a form on vectors finds, reduced along rows, what the reference finds."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.vectors import lane_rules
from compiler.codegen import scalar
from compiler.inputs import draw
from compiler.ops import OPS

OTHERWISE_TYPED = {"clamp", "compare", "convert", "is-finite", "select"}
OPCODES = sorted((lane_rules._OPCODES & scalar.RULES.keys()) - OTHERWISE_TYPED)
INTEGERS = {
    "and", "count-leading-zeros", "not", "or", "popcnt", "shift-left", "shift-right-arithmetic", "shift-right-logical",
    "xor",
}  # fmt: skip
EITHER = {"abs", "add", "maximum", "minimum", "multiply", "negate", "sign", "subtract"}
TYPES = {True: ("s8", "u16", "s32", "u64"), False: ("f16", "bf16", "f32", "f64")}

TEXT = """HloModule m
most {{
  a = {result}[] parameter(0)
  b = {result}[] parameter(1)
  ROOT c = {result}[] maximum(a, b)
}}
ENTRY e {{
{parameters}
  y = {result}[9,37] {opcode}({operands})
  least = {result}[] constant({least})
  ROOT r = {result}[9] reduce(y, least), dimensions={{1}}, to_apply=most
}}
"""


def cases():
    for opcode in OPCODES:
        kinds = [True] if opcode in INTEGERS else [True, False] if opcode in EITHER else [False]
        yield from ((opcode, name) for kind in kinds for name in TYPES[kind])


def run(opcode, name, arity):
    parameters = "\n".join(f"  x{n} = {name}[9,37] parameter({n})" for n in range(arity))
    operands = ", ".join(f"x{n}" for n in range(arity))
    least = "-inf" if name[0] in "fb" else "0"
    text = TEXT.format(parameters=parameters, opcode=opcode, operands=operands, result=name, least=least)
    module = compiler.parse(text)
    random = np.random.default_rng(len(opcode))
    kinds = [parameter.array.element_type.dtype for parameter in module.entry.parameters]
    drawn = random.uniform(0.05, 0.95, (2, 9, 37)) if name[0] in "fb" else random.integers(0, 100, (2, 9, 37))
    drawn = drawn + (opcode == "acosh")  # which is not defined below 1
    inputs = [array.astype(kind) for array, kind in zip(drawn, kinds, strict=False)]
    (found,), (expected,) = compiler.compile(module)(*inputs), compiler.interpret(module, *inputs)
    return found.astype(np.float64), expected.astype(np.float64)


@pytest.mark.parametrize(("opcode", "name"), list(cases()))
def test_a_rule_on_vectors_is_the_rule(opcode, name):
    found, expected = run(opcode, name, OPS[opcode].operands[0])

    tolerance = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-6}.get(name, 1e-14)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


CONVERTED = ("pred", "s4", "s8", "u16", "s32", "u32", "s64", "u64", "bf16", "f16", "f32", "f64", "f8e4m3fn")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["pred", "s8", "s32", "u64", "bf16", "f32", "f8e4m3fn"])
def test_what_is_converted_on_vectors_is_converted(target):
    combiner = "xor" if target == "pred" else "maximum"
    sources = [source for source in CONVERTED if source != target]
    lines = [
        f"x{n} = {source}[5,37] parameter({n}) c{n} = {target}[5,37] convert(x{n})"
        f" r{n} = {target}[5] reduce(c{n}, zero), dimensions={{1}}, to_apply=combine"
        for n, source in enumerate(sources)
    ]
    results, names = ", ".join(f"{target}[5]" for _ in sources), ", ".join(f"r{n}" for n in range(len(sources)))
    text = (
        f"combine {{ a = {target}[] parameter(0) b = {target}[] parameter(1) ROOT c = {target}[] {combiner}(a, b) }}\n"
        f"ENTRY e {{ zero = {target}[] constant(0) {' '.join(lines)} ROOT t = ({results}) tuple({names}) }}"
    )
    module = compiler.parse(text)
    inputs = draw(module, seed=5)
    expected, found = compiler.interpret(module, *inputs), compiler.compile(module)(*inputs)
    assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]
