"""Every move makes valid cases of what it finds, and what is cheaper is what a reader has less of."""

import numpy as np
import pytest
from edited_programs import TEXT

import compiler
from xlabench.diagnosis.case import Case, recorded
from xlabench.diagnosis.moves import LAST, MOVES, cost, instruction_count


@pytest.fixture(scope="module")
def case():
    values = np.arange(24, dtype=np.float32).reshape(6, 4)
    return Case(compiler.parse(TEXT), (values, values + 1))


@pytest.fixture(scope="module")
def values(case):
    return recorded(case).last


@pytest.mark.parametrize("move", [*MOVES, *LAST], ids=lambda move: move.name)
def test_what_a_move_makes_is_valid_and_leaves_the_case_alone(move, case, values):
    before = case.text()
    items = list(move.items(case, values))
    for item in items[:6]:
        assert move.applies(case, item)
        made = move.apply(case, [item], values)
        if made is not None:
            compiler.verify(made.module)
            assert len(made.inputs) == len(made.module.entry.parameters)
    if move.together and len(items) > 1:
        made = move.apply(case, items, values)
        assert made is None or compiler.verify(made.module) is None
    assert case.text() == before


def test_every_move_but_one_of_sizes_finds_something_to_do(case, values):
    idle = {move.name for move in (*MOVES, *LAST) if not list(move.items(case, values))}
    assert idle <= {"open", "constants", "alike", "types"}


def small(text):
    module = compiler.parse(text)
    return Case(module, tuple(np.zeros(p.array.dims, p.array.element_type.dtype) for p in module.entry.parameters))


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ("x = f32[2] parameter(0)  ROOT y = f32[2] abs(x)", "x = f32[9] parameter(0)  ROOT y = f32[9] abs(x)"),
        ("x = f32[2] parameter(0)  ROOT y = f32[2] abs(x)", "x = s4[2] parameter(0)  ROOT y = s4[2] abs(x)"),
        (
            "x = f32[9] parameter(0)  ROOT y = f32[9] abs(x)",
            "x = f32[2] parameter(0)  z = f32[2] abs(x)  ROOT y = f32[2] abs(z)",
        ),
    ],
)
def test_instructions_count_before_sizes_and_these_before_types(cheaper, dearer):
    assert cost(small(f"ENTRY e {{ {cheaper} }}")) < cost(small(f"ENTRY e {{ {dearer} }}"))


def test_parameters_are_nothing_that_a_reader_has_to_understand():
    assert instruction_count(compiler.parse("ENTRY e { x = f32[] parameter(0)  ROOT y = f32[] abs(x) }")) == 1
