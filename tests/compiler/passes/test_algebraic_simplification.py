"""Algebraic simplification changes no bit of any value of the types of at most eight bits, but for those of a NaN."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import compiler
from compiler.diagnostics import CompilerError
from compiler.ir.numbers import bounds, integer_bounds
from compiler.ir.rewrite import Fuel
from compiler.ir.types import F8E8M0, TYPES, ElementType, Kind
from compiler.passes import algebraic_simplification
from compiler.passes.algebraic_simplification import RULES

SMALL = [name for name, type_ in TYPES.items() if 0 < type_.stored_bits <= 8]
UNARY = (
    "abs",
    "asin",
    "asinh",
    "atanh",
    "cbrt",
    "cosh",
    "cosine",
    "erf",
    "negate",
    "not",
    "sine",
    "sinh",
    "tan",
    "tanh",
)
BINARY = ("add", "and", "divide", "maximum", "minimum", "multiply", "or", "power", "subtract", "xor")
REDUCED = ("add", "and", "multiply", "or", "xor")  # NumPy leaves open which zero is the greatest of several
CONSTANTS = ("0", "-0", "1", "-1", "2", "nan", "inf", "-inf", "true", "false")
OTHERS = {"compare", "convert", "reduce", "select"}


def values(type_: ElementType) -> np.ndarray:
    """All values of a type."""
    if type_.kind is Kind.PRED:
        return np.array([False, True])
    if type_.is_float:
        return np.arange(1 << type_.bits, dtype=np.uint8).view(type_.dtype)
    low, high = integer_bounds(type_)
    return np.arange(low, high + 1).astype(type_.dtype)


def constants(type_: ElementType) -> tuple[str, ...]:
    """Texts of constants; not all are valid for the type."""
    extremes = bounds(type_) if type_.is_float or type_.is_integer else ()
    return (*CONSTANTS, *(str(extreme) for extreme in extremes))


def lines(name: str, count: int) -> Iterator[str]:
    """What the rules look for, as far as the type takes it; K is a constant."""
    t = f"{name}[{count}]"
    for outer, inner in product(UNARY, ("negate", "abs", "not")):
        yield f"a = {t} {inner}(x) ROOT r = {t} {outer}(a)"
    for opcode in BINARY:
        yield f"ROOT r = {t} {opcode}(x, x)"
        yield f"a = {t} negate(x) ROOT r = {t} {opcode}(a, y)"
        yield f"a = {t} negate(y) ROOT r = {t} {opcode}(x, a)"
        yield f"a = {t} broadcast(K), dimensions={{}} ROOT r = {t} {opcode}(x, a)"
        yield f"a = {t} broadcast(K), dimensions={{}} ROOT r = {t} {opcode}(a, x)"
    for direction, extreme in product(("GT", "LE", "LT", "GE"), ("maximum", "minimum")):
        yield (
            f"a = {t} broadcast(K), dimensions={{}} m = {t} {extreme}(x, a)"
            f" c = pred[{count}] compare(x, a), direction={direction} ROOT r = ({t}, pred[{count}]) tuple(m, c)"
        )
    yield f"ROOT r = {t} convert(x)"
    yield f"p = pred[] constant(true) a = pred[{count}] broadcast(p), dimensions={{}} ROOT r = {t} select(a, x, y)"
    for then, otherwise in product(("true", "false"), repeat=2):
        yield (
            f"t = pred[] constant({then}) a = pred[{count}] broadcast(t), dimensions={{}}"
            f" f = pred[] constant({otherwise}) b = pred[{count}] broadcast(f), dimensions={{}}"
            f" p = pred[{count}] compare(x, y), direction=LT ROOT r = pred[{count}] select(p, a, b)"
        )
    for opcode in REDUCED:
        yield f"a = {name}[{count},1] reshape(x) ROOT r = {t} reduce(a, K), dimensions={{1}}, to_apply={opcode}s"


def programs(name: str, count: int) -> Iterator[str]:
    """Valid programs of two arrays."""
    takes = f"a = {name}[] parameter(0) b = {name}[] parameter(1)"
    for line in lines(name, count):
        reducer = line.rpartition("to_apply=")[2].removesuffix("s") if "to_apply" in line else "add"
        called = f"{reducer}s {{ {takes} ROOT s = {name}[] {reducer}(a, b) }}" if "to_apply" in line else ""
        for constant in constants(TYPES[name]) if "K" in line else ("",):
            defined = f"k = {name}[] constant({constant})" if constant else ""
            text = f"""{called} ENTRY e {{ x = {name}[{count}] parameter(0) y = {name}[{count}] parameter(1)
              {defined} {line.replace("K", "k")} }}"""
            try:
                compiler.verify(compiler.parse(text))
            except CompilerError:
                continue
            yield text


def stands_for_nothing(array: np.ndarray, type_: ElementType) -> np.ndarray:
    """Where an array is NaN; of the type that has no zero also where it is least, as either may stand for one."""
    nothing = np.isnan(array.astype(np.float32))
    return nothing | (array.view(np.uint8) == 0) if type_ is F8E8M0 else nothing


def same_bits(left: np.ndarray, right: np.ndarray, type_: ElementType) -> bool:
    """Whether arrays are equal to the bit, where they are numbers."""
    differs = left.view(np.uint8) != right.view(np.uint8)
    if type_.is_float and left.dtype == type_.dtype:
        differs &= ~(stands_for_nothing(left, type_) & stands_for_nothing(right, type_))
    return not differs.any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SMALL)
def test_every_rule_keeps_every_value_of_small_types(name: str) -> None:
    type_ = TYPES[name]
    every = values(type_)
    x, y = (np.ascontiguousarray(grid).reshape(-1) for grid in np.meshgrid(every, every))
    applied = 0
    for text in programs(name, x.size):
        module = compiler.parse(text)
        changed = module.clone()
        if not algebraic_simplification.run(changed, Fuel()):
            continue
        applied += 1
        pairs = zip(compiler.interpret(module, x, y), compiler.interpret(changed, x, y), strict=True)
        assert all(same_bits(before, after, type_) for before, after in pairs), text
    assert applied


def test_every_opcode_with_rules_is_asked_for() -> None:
    assert set(RULES) == {*UNARY, *BINARY} | OTHERS
