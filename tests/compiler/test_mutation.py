"""Every mutation keeps every bit of what the reference says, on the programs of the suite and on generated ones."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import compiler
from compiler.generate import RandomChoices
from compiler.mutation import MUTATIONS, mutate
from xlabench.cases import inputs
from xlabench.cases.inputs import DTYPES
from xlabench.cases.suite import load_suite
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import finfo

SMALL = 50_000
ENABLING = {"rotate-concatenation": ("split-and-join",), "nest-concatenation": ("split-and-join",)}


@cache
def programs():
    """The suite's programs, in their small forms, with inputs and results."""
    found = []
    for program in load_suite("smoke").programs:
        path = program.variant("nvptx:sim").path
        module = compiler.parse(path.read_text(encoding="utf-8"))
        recipe = inputs.recipe_beside(path)
        arrays = recipe.make() if recipe else inputs.generate(module, 0)
        if sum(array.size for array in arrays) <= SMALL:
            found.append((module, arrays, compiler.interpret(module, *arrays)))
    assert len(found) >= 8
    return found


def check(mutant, arrays, expected):
    compiler.verify(mutant)
    assert compiler.parse(compiler.to_text(mutant)) == mutant
    comparison = compare(expected, compiler.interpret(mutant, *arrays))
    assert comparison.agreement == "bitwise", f"{comparison.describe()}\n{compiler.to_text(mutant)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_it_applies_in_the_smoke_suite_and_changes_no_bit(name):
    made = 0
    for seed, (module, arrays, expected) in enumerate(programs()):
        enabled, _ = mutate(module, RandomChoices(seed), count=2, among=ENABLING.get(name, (name,)))
        mutant, applied = mutate(enabled, RandomChoices(seed), count=1, among=(name,))
        made += len(applied)
        check(mutant, arrays, expected)
    assert made


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_it_changes_no_bit_of_generated_programs(name):
    for number in range(12):
        case = draw_case(PROFILES["discovery"], 1, number)
        mutant, _ = mutate(case.module, RandomChoices(number), count=2, among=(name,))
        check(mutant, case.inputs, compiler.interpret(case.module, *case.inputs))


@pytest.mark.slow
@example(611, "discovery", 1)
@example(6007, "discovery", 2)
@given(st.integers(0, 10_000), st.sampled_from(sorted(PROFILES)), st.integers(1, 8))
@settings(max_examples=60)
def test_many_at_once_change_no_bit(number, profile, count):
    case = draw_case(PROFILES[profile], 2, number)
    mutant, applied = mutate(case.module, RandomChoices(number), count=count)
    assert len(applied) <= count
    check(mutant, case.inputs, compiler.interpret(case.module, *case.inputs))


def test_fewer_are_the_first_of_more():
    module, *_ = programs()[-1]
    before = compiler.to_text(module)
    _, whole = mutate(module, RandomChoices(3), count=9)
    for count in range(9):
        mutant, applied = mutate(module, RandomChoices(3), count=count)
        assert applied == whole[: len(applied)]
        assert compiler.to_text(mutate(module, RandomChoices(3), count=count)[0]) == compiler.to_text(mutant)
    assert compiler.to_text(module) == before


@pytest.mark.slow
@pytest.mark.parametrize("element_type", ["bf16", "f16", "f32", "f64"])
def test_special_values_pass_through_every_mutation(element_type):
    module = compiler.parse(f"ENTRY main {{ x = {element_type}[9] parameter(0) ROOT y = {element_type}[9] copy(x) }}")
    dtype = DTYPES[element_type]
    limits = finfo(dtype)
    sizes = [
        0.0,
        np.inf,
        np.nan,
        1.5,
        limits.smallest_subnormal,
        3 * limits.smallest_subnormal,
        limits.tiny,
        limits.max,
    ]
    array = np.array([*sizes, -0.0], np.float64).astype(dtype)
    for name in MUTATIONS:
        for seed in range(3):
            check(mutate(module, RandomChoices(seed), count=1, among=(name,))[0], [array], [array])


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_bitcast_finds_its_elements_where_they_were(name):
    module = compiler.parse("""ENTRY main { x = s32[6,9] parameter(0) columns = s32[6,9]{0,1} copy(x)
      ROOT y = s32[27,2]{1,0} bitcast(columns) }""")
    x = np.arange(54, dtype=np.int32).reshape(6, 9)
    for number in range(8):
        mutant, _ = mutate(module, RandomChoices(number), count=1, among=(name,))
        check(mutant, [x], compiler.interpret(module, x))
