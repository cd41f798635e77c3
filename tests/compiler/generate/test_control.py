"""Branches are drawn that take and yield several values, some of which are in tuples of their own."""

from __future__ import annotations

import compiler
from compiler.generate import RandomChoices, Space
from compiler.generate.control import RECIPES
from compiler.generate.scope import Program, Scope
from compiler.generate.table import step
from compiler.ir.module import Computation, Module
from compiler.ir.shape import TupleShape
from compiler.ir.types import F32

SPACE = Space(frozenset({"add", "multiply"}), frozenset({"f32", "s32"}), most_elements=16)


def drawn(seed):
    """A conditional, in a program that is valid."""
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    scope = Scope(Program(RandomChoices(seed), SPACE, module, step), module.entry, depth=0)
    module.entry.root = RECIPES["conditional"].draw(scope, "conditional", F32)
    module.sort_computations()
    compiler.verify(module)
    return next(one for one in module.entry.instructions if one.opcode == "conditional")


def is_nested(shape):
    return isinstance(shape, TupleShape) and any(isinstance(inner, TupleShape) for inner in shape.elements)


def test_branches_take_and_yield_tuples():
    found = [drawn(seed) for seed in range(60)]
    for shapes in ([one.shape for one in found], [one.operands[1].shape for one in found]):
        assert 0 < sum(map(is_nested, shapes)) < sum(isinstance(shape, TupleShape) for shape in shapes) < len(shapes)
