"""Programs of one kernel and what they must agree with, for tests that go through all forms of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import compiler
from compiler import CompileOptions
from compiler.ir.types import TYPES
from xlabench.judging.differ import Agreement, compare

Array = np.ndarray[Any, np.dtype[Any]]


def values(element_type: str, dims: Sequence[int], seed: int = 3) -> Array:
    """Random numbers of a type, small where they are integers."""
    rng, dtype = np.random.default_rng(seed), TYPES[element_type].dtype
    if element_type == "pred":
        return rng.random(dims) < 0.7
    if element_type[0] in "su":
        return rng.integers(0 if element_type[0] == "u" else -9, 9, dims).astype(dtype)
    if element_type[0] == "c":
        return (rng.standard_normal(dims) + 1j * rng.standard_normal(dims)).astype(dtype)
    return rng.standard_normal(dims).astype(dtype)


def check(text: str, inputs: Sequence[Array]) -> None:
    """Compiled results with and without fusion, on one and two threads, are those of the interpreter."""
    module = compiler.parse("HloModule m\n" + text)
    expected = compiler.interpret(module, *inputs)
    bits = set()
    for fusion, count in ((True, 1), (True, 2), (False, 2)):
        options = CompileOptions(fusion=fusion, threads=count, opt=1, verify_each=True)
        actual = compiler.compile(module, "cpu", options)(*inputs)
        comparison = compare(expected, actual)
        assert comparison.agreement is not Agreement.WRONG, comparison
        bits.add((fusion, tuple(result.tobytes() for result in actual)))
    assert len(bits) == 2, "results depend on the number of threads"


def shape(element_type: str, dims: Sequence[int]) -> str:
    return f"{element_type}[{','.join(map(str, dims))}]"


def listed(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def kept(dims: Sequence[int], reduced: Sequence[int]) -> list[int]:
    return [size for d, size in enumerate(dims) if d not in reduced]


def reducer(opcode: str, element_type: str) -> str:
    scalar = f"{element_type}[]"
    return f"f {{ a = {scalar} parameter(0)  b = {scalar} parameter(1)  ROOT r = {scalar} {opcode}(a, b) }}\n"


def spelled(text: str, shapes: Mapping[str, str]) -> str:
    """Lines of HLO of instructions two spaces apart, each after its shape, for which a name may stand."""
    for name, stated in shapes.items():
        text = text.replace(f"= {name} ", f"= {stated} ").replace(f"{name}, {name})", f"{stated}, {stated})")
    return text.replace("  ", "\n ")


def strategies(program: compiler.Module | str) -> list[str]:
    """The strategies that a program's kernels get on this machine."""
    return [kernel.strategy for kernel in compiler.decide(program).kernels]
