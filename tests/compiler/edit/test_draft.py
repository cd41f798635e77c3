"""A draft is a copy; what it becomes has nothing unused and knows where its parameters come from."""

import pytest
from edited_programs import MAIN, TEXT

import compiler
from compiler.edit.draft import Draft, id_of
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import F32


@pytest.fixture
def module():
    return compiler.parse(TEXT)


def test_the_original_is_left_alone(module):
    before = compiler.to_text(module)
    draft = Draft.of(module)
    draft.module.entry.root = next(draft.find([MAIN["a"]]))
    draft.finish()
    assert compiler.to_text(module) == before


def test_what_nothing_uses_goes_and_what_is_gone_is_not_found(module):
    draft = Draft.of(module)
    (x,) = draft.find([MAIN["x"], ("main", "gone"), ("gone", "x")])
    draft.module.entry.root = x
    edited = draft.finish()
    assert [i.name for i in edited.module.instructions()] == ["x"]
    assert [c.name for c in edited.module.computations] == ["main"]
    assert edited.sources == (0,)


def test_parameters_are_numbered_again_and_new_ones_know_their_source(module):
    draft = Draft.of(module)
    given = draft.add_parameter(ArrayShape(F32, (2,)), MAIN["a"])
    (y,) = draft.find([MAIN["y"]])
    draft.module.entry.root = compiler.edit.draft.Instruction("tuple", TupleShape((given.shape, y.shape)), [given, y])
    draft.module.entry.add(draft.module.entry.root)
    edited = draft.finish()
    compiler.verify(edited.module)
    assert edited.sources == (1, MAIN["a"])
    assert [id_of(p)[0] for p in edited.module.entry.parameters] == ["main", "main"]
