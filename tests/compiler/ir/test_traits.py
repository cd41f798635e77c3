"""What opcodes are stands in their records; what stands elsewhere narrows that, and says why."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.ir.combiner import COMBINERS
from compiler.ops import OPS, Trait, having, narrowing

ROOT = Path(__file__).parents[3]
MOST_TABLES = 25
NOT_OF_HLO = (
    "compiler/ops",
    "compiler/tf2xla/ops",
    "compiler/backends/nvptx/simulator",
    "compiler/backends/cpu/c_names.py",
    "compiler/codegen/libcalls.py",
)
"""Where records are, and words of other languages."""
WORDS = {"add", "and", "or", "not", "xor", "call", "copy", "reduce", "compare", "fusion", "real", "select", "scatter"}
"""Opcodes that are words, or names of other things, too."""


def opcodes_in(node: ast.AST) -> list[str]:
    """The opcodes that literals below a node name."""
    strings = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [word for text in strings for word in text.split() if word in OPS]


def tables() -> list[tuple[str, ast.Assign, str]]:
    """Where a module gives a name to two opcodes or more; dispatch, a value for each, is something else."""
    found = []
    for path in sorted([*(ROOT / "compiler").rglob("*.py"), *(ROOT / "xlabench").rglob("*.py")]):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(NOT_OF_HLO):
            continue
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, following in zip(body, [*body[1:], ast.Pass()], strict=True):
            if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Dict | ast.Constant | ast.JoinedStr):
                continue
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "Kind":  # strategies have names
                continue
            named = opcodes_in(node.value)
            if len(named) >= 2 and not set(named) <= WORDS:
                is_said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                found.append((f"{place}:{node.lineno}", node, str(following.value.value) if is_said else ""))
    return found


@pytest.fixture(scope="module")
def known() -> list[tuple[str, ast.Assign, str]]:
    """Read once, and not before a test asks: all sources are."""
    return tables()


@pytest.mark.slow
def test_few_sets_of_opcodes_are_left_outside_the_records(known: list[tuple[str, ast.Assign, str]]) -> None:
    assert len(known) <= MOST_TABLES, [place for place, _, _ in known]


@pytest.mark.slow
def test_what_is_left_narrows_a_trait_and_says_why(known: list[tuple[str, ast.Assign, str]]) -> None:
    """A narrowing is compared with its trait when it is made: `narrowing` refuses what lacks it."""
    for place, node, why in known:
        called = {n.func.id for n in ast.walk(node.value) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert called & {"narrowing", "having"}, place
        assert why, f"{place}: say in a string below it why it is not the whole trait"


def test_a_narrowing_of_what_has_no_such_trait_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tanh cannot be a narrowing of .*MOVES"):
        narrowing(Trait.MOVES, "slice tanh")


@pytest.mark.parametrize("opcode", sorted(having(Trait.ODD | Trait.EVEN)))
def test_odd_and_even_functions_are(opcode: str) -> None:
    x = np.array([0.0, 0.25, 0.5, 0.875, 1.0], np.float64)
    module = compiler.parse(f"ENTRY e {{ x = f64[5] parameter(0) ROOT y = f64[5] {opcode}(x) }}")
    [there], [back] = compiler.interpret(module, x), compiler.interpret(module, -x)
    assert np.array_equal(back, -there if Trait.ODD in OPS[opcode].traits else there)


def evaluated(opcode: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    text = f"ENTRY e {{ x = s32[6] parameter(0) y = s32[6] parameter(1) ROOT z = s32[6] {opcode}(x, y) }}"
    return compiler.interpret(compiler.parse(text), left, right)[0]


X, Y, Z = (
    np.array(row, np.int32) for row in ([0, 1, -1, 7, -8, 2**31 - 1], [3, -5, 2, 7, 6, -4], [1, 9, -9, 0, 5, 77])
)
BINARY = sorted(
    opcode
    for opcode in having(Trait.ELEMENTWISE)
    if OPS[opcode].operands == (2, 2) and opcode not in {"atan2", "complex", "compare", "stochastic-convert"}
)


@pytest.mark.parametrize("opcode", BINARY)
def test_integers_know_whether_an_op_is_commutative_associative_or_idempotent(opcode: str) -> None:
    traits = OPS[opcode].traits
    commutes = np.array_equal(evaluated(opcode, X, Y), evaluated(opcode, Y, X))
    left, right = evaluated(opcode, evaluated(opcode, X, Y), Z), evaluated(opcode, X, evaluated(opcode, Y, Z))
    assert commutes == (Trait.COMMUTATIVE in traits)
    assert np.array_equal(left, right) == (Trait.ASSOCIATIVE in traits)
    assert np.array_equal(evaluated(opcode, X, X), X) == (Trait.IDEMPOTENT in traits)


def test_what_numpy_reduces_by_is_what_may_be_combined_in_any_order() -> None:
    assert having(Trait.ASSOCIATIVE) & having(Trait.COMMUTATIVE) == COMBINERS


@pytest.mark.parametrize("opcode", sorted(having(Trait.COMBINES)))
def test_what_combines_takes_a_computation(opcode: str) -> None:
    assert "to_apply" in OPS[opcode].required or {"select", "scatter"} <= set(OPS[opcode].required)


@pytest.mark.parametrize("opcode", sorted(having(Trait.VIEW | Trait.MOVES | Trait.GENERATES | Trait.SELECTS)))
def test_what_only_moves_rounds_nothing(opcode: str) -> None:
    assert Trait.EXACT in OPS[opcode].traits
    assert not OPS[opcode].traits & (Trait.APPROXIMATE | Trait.ACCUMULATES)
